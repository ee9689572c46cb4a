//! What a range of physical addresses is for, and what the sources call it.
#![forbid(unsafe_code)]

use std::fmt;

/// What a range is for, in the order of restriction: where two entries of a map overlap, the
/// greater kind wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Ordinary memory, there since boot.
    Usable,
    /// Memory that a driver added later, such as virtio-mem, and may take away again.
    Plugged,
    /// Memory that the firmware would rather see kept for a purpose.
    SoftReserved,
    /// Memory that keeps its content without power.
    Persistent,
    /// Tables of ACPI; memory once they have been read.
    Acpi,
    /// What ACPI wants kept over sleep.
    Nvs,
    /// A type that this reader does not know; nobody may use it.
    Unknown,
    /// Addresses that devices answer to.
    Device,
    /// Nobody may use it.
    Reserved,
    /// Memory with errors.
    Unusable,
}

impl Kind {
    /// All, in the order of restriction.
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

    /// As it is written in a map of ours.
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

    /// The kind that is written so in a map of ours.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a page allocator may hand it out: whether a segment is made of it.
    #[must_use]
    pub fn is_allocatable(self) -> bool {
        matches!(self, Kind::Usable | Kind::Plugged)
    }

    /// Whether it is memory at all, which a node may own.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self.is_allocatable() || matches!(self, Kind::SoftReserved | Kind::Persistent)
    }

    /// The type numbers of the e820 interface.
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

    /// What a kernel log calls it, in the old and in the new words.
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

    /// What `/proc/iomem` and `/sys/firmware/memmap` call it; none where the name is a device's.
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
