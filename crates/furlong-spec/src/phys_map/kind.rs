//! The kinds of physical address ranges, and their names in the sources.

use std::fmt;

use crate::coverage::kind;

/// The kind of a range, in ascending order of restriction. If two entries of a map overlap, the
/// greater kind applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Ordinary memory, present since boot.
    Usable,
    /// Memory that a driver, such as virtio-mem, added after boot and may remove.
    Plugged,
    /// Memory that the firmware prefers to be used for a special purpose.
    SoftReserved,
    /// Memory that keeps its contents without power.
    Persistent,
    /// ACPI tables; ordinary memory after they have been read.
    Acpi,
    /// Memory that ACPI preserves during sleep.
    Nvs,
    /// A type unknown to this reader. It must not be used.
    Unknown,
    /// Addresses of devices.
    Device,
    /// A range that must not be used.
    Reserved,
    /// Memory with errors.
    Unusable,
}

impl Kind {
    /// All kinds, in ascending order of restriction.
    pub const ALL: [Kind; 10] = [
        Kind::Usable,
        Kind::Plugged,
        Kind::SoftReserved,
        Kind::Persistent,
        Kind::Acpi,
        Kind::Nvs,
        Kind::Unknown,
        Kind::Device,
        Kind::Reserved,
        Kind::Unusable,
    ];

    /// The kind with this name in the project's own maps.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Kind> {
        let mut kinds = Kind::ALL.into_iter();
        kinds.find(|kind| kind.to_string() == name)
    }

    /// True if a page allocator may use the range, so that it becomes a segment.
    #[must_use]
    pub fn is_allocatable(self) -> bool {
        matches!(self, Kind::Usable | Kind::Plugged)
    }

    /// The kind for a name in `/proc/iomem`; `None` for a device's name.
    #[must_use]
    pub fn from_resource(name: &str) -> Option<Kind> {
        match name {
            "System RAM" => Some(Kind::Usable),
            "System RAM (virtio_mem)" | "System RAM (kmem)" | "System RAM (driver managed)" => {
                Some(Kind::Plugged)
            }
            "Reserved" | "reserved" | "RAM buffer" => Some(Kind::Reserved),
            "ACPI Tables" => Some(Kind::Acpi),
            "ACPI Non-volatile Storage" => Some(Kind::Nvs),
            "Unusable memory" => Some(Kind::Unusable),
            "Persistent Memory" | "Persistent Memory (legacy)" => Some(Kind::Persistent),
            "Soft Reserved" => Some(Kind::SoftReserved),
            "Unknown E820 type" => Some(Kind::Unknown),
            _ => None,
        }
    }
}

/// The name in the project's own maps: that of the variant, such as `soft-reserved`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&kind(self))
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_list_of_kinds_is_in_their_order_and_each_has_its_own_name() {
        assert!(Kind::ALL.is_sorted());
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(&kind.to_string()), Some(kind));
        }
        assert_eq!(Kind::SoftReserved.to_string(), "soft-reserved");
        assert_eq!(Kind::from_name("Usable"), None);
    }
}
