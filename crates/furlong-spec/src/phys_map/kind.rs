//! The kinds of physical address ranges, and their names in the sources.
#![forbid(unsafe_code)]

use std::fmt;

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

    /// Name of the kind in the project's own maps.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Usable => "usable",
            Kind::Plugged => "plugged",
            Kind::SoftReserved => "soft-reserved",
            Kind::Persistent => "persistent",
            Kind::Acpi => "acpi",
            Kind::Nvs => "nvs",
            Kind::Unknown => "unknown",
            Kind::Device => "device",
            Kind::Reserved => "reserved",
            Kind::Unusable => "unusable",
        }
    }

    /// The kind with this name in the project's own maps.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// True if a page allocator may use the range, so that it becomes a segment.
    #[must_use]
    pub fn is_allocatable(self) -> bool {
        matches!(self, Kind::Usable | Kind::Plugged)
    }

    /// True if the range is memory, which a node can own.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self.is_allocatable() || matches!(self, Kind::SoftReserved | Kind::Persistent)
    }

    /// The kind for a type number of the e820 interface.
    #[must_use]
    pub fn from_e820_number(number: u64) -> Kind {
        match number {
            1 => Kind::Usable,
            2 => Kind::Reserved,
            3 => Kind::Acpi,
            4 => Kind::Nvs,
            5 | 6 => Kind::Unusable,
            7 | 12 => Kind::Persistent,
            0xefff_ffff => Kind::SoftReserved,
            _ => Kind::Unknown,
        }
    }

    /// The kind for a name in a kernel log, old or new.
    #[must_use]
    pub fn from_log(name: &str) -> Option<Kind> {
        let number = |name: &str| name.parse().ok().map(Kind::from_e820_number);
        match name {
            "usable" | "System RAM" => Some(Kind::Usable),
            "reserved" | "device reserved" => Some(Kind::Reserved),
            "ACPI data" => Some(Kind::Acpi),
            "ACPI NVS" => Some(Kind::Nvs),
            "unusable" => Some(Kind::Unusable),
            "soft reserved" => Some(Kind::SoftReserved),
            _ if name.starts_with("persistent") => Some(Kind::Persistent),
            _ => number(name.strip_prefix("type ")?),
        }
    }

    /// The kind for a name in `/proc/iomem` or `/sys/firmware/memmap`; `None` for a device's name.
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn the_list_of_kinds_is_in_their_order_and_each_has_its_own_name() {
        assert!(Kind::ALL.is_sorted());
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("Usable"), None);
    }

    #[test]
    fn numbers_of_types_that_nobody_knows_are_never_usable() {
        assert_eq!(Kind::from_log("type 20"), Some(Kind::Unknown));
        assert_eq!(Kind::from_log("type 7"), Some(Kind::Persistent));
        assert_eq!(
            Kind::from_log("persistent (type 12)"),
            Some(Kind::Persistent)
        );
        assert_eq!(Kind::from_log("type x"), None);
        assert_eq!(Kind::from_log("usabel"), None);
    }
}
