//! The maps of real machines in `traces/phys`, which are part of the project.

use super::fault::MapError;
use super::form::parse;
use super::map::MemoryMap;

/// A map with its provenance.
#[derive(Clone, Copy, Debug)]
pub struct RealMap {
    /// Name of the map, one word.
    pub name: &'static str,
    /// Name of the file in `traces/phys`.
    pub file: &'static str,
    /// Contents of the file: `# key: value` lines of provenance, then the map.
    pub text: &'static str,
}

/// All real maps.
pub const REAL_MAPS: [RealMap; 5] = [
    RealMap {
        name: "developer-vm",
        file: "developer-vm.map",
        text: include_str!("../../traces/phys/developer-vm.map"),
    },
    RealMap {
        name: "laptop",
        file: "laptop.map",
        text: include_str!("../../traces/phys/laptop.map"),
    },
    RealMap {
        name: "two-socket",
        file: "two-socket.map",
        text: include_str!("../../traces/phys/two-socket.map"),
    },
    RealMap {
        name: "arm64-server",
        file: "arm64-server.map",
        text: include_str!("../../traces/phys/arm64-server.map"),
    },
    RealMap {
        name: "virtio-mem",
        file: "virtio-mem.iomem",
        text: include_str!("../../traces/phys/virtio-mem.iomem"),
    },
];

impl RealMap {
    /// Parses the map.
    ///
    /// # Errors
    /// None for the maps of [`REAL_MAPS`]; a test reads them all.
    pub fn map(&self) -> Result<MemoryMap, MapError> {
        parse(self.file, self.text.as_bytes())
    }
}
