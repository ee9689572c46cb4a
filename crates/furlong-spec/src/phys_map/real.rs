//! The maps of real machines that come with the project, in `traces/phys`.
#![forbid(unsafe_code)]

use super::fault::MapError;
use super::form::parse;
use super::map::MemoryMap;
use super::text::provenance;

/// A map in the form of its source, with where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct RealMap {
    /// One word.
    pub name: &'static str,
    /// The file in `traces/phys`.
    pub file: &'static str,
    /// Its content: `# key: value` lines of provenance, then what the source has.
    pub text: &'static str,
}

/// All of them.
pub const REAL_MAPS: [RealMap; 5] = [
    RealMap {
        name: "developer-vm",
        file: "developer-vm.memmap",
        text: include_str!("../../traces/phys/developer-vm.memmap"),
    },
    RealMap {
        name: "laptop",
        file: "laptop.klog",
        text: include_str!("../../traces/phys/laptop.klog"),
    },
    RealMap {
        name: "two-socket",
        file: "two-socket.klog",
        text: include_str!("../../traces/phys/two-socket.klog"),
    },
    RealMap {
        name: "arm64-server",
        file: "arm64-server.klog",
        text: include_str!("../../traces/phys/arm64-server.klog"),
    },
    RealMap {
        name: "virtio-mem",
        file: "virtio-mem.iomem",
        text: include_str!("../../traces/phys/virtio-mem.iomem"),
    },
];

impl RealMap {
    /// The map.
    ///
    /// # Errors
    /// None for those of [`REAL_MAPS`], which a test reads.
    pub fn map(&self) -> Result<MemoryMap, MapError> {
        parse(self.file, self.text.as_bytes())
    }

    /// What the file says of itself under a key: `machine`, `source`, `date`, `nodes`, `unknown`.
    #[must_use]
    pub fn says(&self, key: &str) -> Option<&'static str> {
        let said = provenance(self.text).into_iter();
        said.filter(|(name, _)| *name == key)
            .map(|(_, value)| value)
            .next()
    }
}
