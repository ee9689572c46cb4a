//! Logs of old and new kernels, and faulty logs.
#![forbid(unsafe_code)]

use furlong::addr::Address;

use super::{Fault, Kind, read};
use crate::phys_map::Entry;
use crate::phys_map::fault::refused;

fn list(text: &str) -> Vec<(u64, u64, Kind, Option<u32>)> {
    let map = read(text).unwrap();
    let one = |e: &Entry| {
        let (start, last) = (e.extent.start().raw(), e.extent.last().raw());
        (start, last, e.kind, e.node)
    };
    map.entries().iter().map(one).collect()
}

#[test]
fn the_words_of_all_times_give_the_same_map() {
    let of_2001 = " BIOS-e820: 000000000009fc00 @ 0000000000000000 (usable)\n \
                   BIOS-e820: 0000000000000400 @ 000000000009fc00 (reserved)\n";
    let of_2008 = "[    0.000000]  BIOS-e820: 0000000000000000 - 000000000009fc00 (usable)\r\n\
                   [    0.000000]  BIOS-e820: 000000000009fc00 - 00000000000a0000 (reserved)\r\n";
    let of_2020 = "Apr 1 host kernel: BIOS-e820: [mem 0x000000000009fc00-0x9ffff] reserved\n\
                   Apr 1 host kernel: BIOS-e820: [mem 0x0000000000000000-0x9fbff] usable\n";
    let of_2026 = "[ 0.0] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff]  System RAM\n\
                   [ 0.0] BIOS-e820: [mem 0x000000000009fc00-0x9ffff]  device reserved\n\
                   [ 0.0] BIOS-e820: [gap 0x00000000000a0000-0x00000000000fffff]\n";
    let expected = [
        (0, 0x9_fbff, Kind::Usable, None),
        (0x9_fc00, 0x9_ffff, Kind::Reserved, None),
    ];
    for log in [of_2001, of_2008, of_2020, of_2026] {
        assert_eq!(list(log), expected, "{log}");
    }
}

#[test]
fn what_the_kernel_takes_for_itself_is_not_the_firmwares() {
    let log = "BIOS-e820: [mem 0x0-0xfff] usable\ne820: update [mem 0x0-0xfff] usable ==> x\n\
               e820: remove [mem 0x0-0xfff] usable\nACPI: nothing: [mem oddly said\n";
    assert_eq!(list(log), [(0, 0xfff, Kind::Usable, None)]);
}

#[test]
fn the_firmwares_ranges_of_nodes_go_before_the_kernels() {
    let log = "BIOS-e820: [mem 0x0-0xffff] usable\nSRAT: Node 1 PXM 7 [mem 0x8000-0x1ffff]\n\
               ACPI: SRAT: Node 0 PXM 0 [mem 0x00000000-0x7fff] hotplug\n\
               Early memory node ranges\n  node   3: [mem 0x0-0xffff]\n";
    let low = (0, 0x7fff, Kind::Usable, Some(0));
    assert_eq!(list(log), [low, (0x8000, 0xffff, Kind::Usable, Some(1))]);
}

#[test]
fn without_a_firmware_map_the_ranges_of_nodes_are_the_map() {
    let log = "Early memory node ranges\n[ 0.0]   node   1: [mem 0x0-0xffff]\n\
               [ 0.0]   node   1: [mem 0x10000-0x1ffff]\n[ 0.0]   node   3: [mem 0x20000-0x2ffff]\n\
               Initmem setup node 1 [mem 0x0-0x3ffff]\n";
    let low = (0, 0x1_ffff, Kind::Usable, Some(1));
    assert_eq!(
        list(log),
        [low, (0x2_0000, 0x2_ffff, Kind::Usable, Some(3))]
    );
}

#[test]
fn the_only_node_has_all_memory_and_one_of_several_has_what_is_listed() {
    let log = "BIOS-e820: [mem 0x0-0x2fff] usable\nnode   0: [mem 0x1000-0x2fff]\n";
    assert_eq!(list(log), [(0, 0x2fff, Kind::Usable, Some(0))]);
    let log = "BIOS-e820: [mem 0x0-0x2fff] usable\nnode   0: [mem 0x1000-0x1fff]\n\
               node   1: [mem 0x2000-0x2fff]\n";
    let low = (0, 0xfff, Kind::Usable, None);
    let middle = (0x1000, 0x1fff, Kind::Usable, Some(0));
    assert_eq!(
        list(log),
        [low, middle, (0x2000, 0x2fff, Kind::Usable, Some(1))]
    );
}

#[test]
fn room_for_memory_to_come_may_reach_beyond_all_addresses() {
    let log = "BIOS-e820: [mem 0x0-0xfff] usable\n\
               SRAT: Node 0 PXM 0 [mem 0x0-0xffffffffffffffff] hotplug\n\
               SRAT: Node 1 PXM 1 [mem 0x1000000000000000-0x1fffffffffffffff] hotplug\n";
    assert_eq!(list(log), [(0, 0xfff, Kind::Usable, Some(0))]);
}

#[test]
fn memory_of_two_nodes_is_refused() {
    let log = "BIOS-e820: [mem 0x0-0xffff] usable\nSRAT: Node 1 PXM 1 [mem 0x4000-0xffff]\n\
               SRAT: Node 0 PXM 0 [mem 0x0-0x7fff]\n";
    assert!(matches!(
        refused(read(log)),
        (Some(3), Fault::TwoNodes { other: 2 })
    ));
    let same = log.replace("Node 0", "Node 1");
    assert_eq!(list(&same), [(0, 0xffff, Kind::Usable, Some(1))]);
}

#[test]
fn malformed_lines_are_named() {
    let of = |said: &str| refused(read(&format!("Linux\nBIOS-e820: {said}\n")));
    assert!(matches!(of(""), (Some(2), Fault::Syntax { .. })));
    assert!(matches!(
        of("[mem 0x0-0x1 usable"),
        (Some(2), Fault::Syntax { .. })
    ));
    assert!(matches!(
        of("[mem 0x0-0x1] usabel"),
        (Some(2), Fault::UnknownKind { .. })
    ));
    assert!(matches!(
        of("[mem 0x0-0xg] usable"),
        (Some(2), Fault::Number { .. })
    ));
    assert!(matches!(
        of("[mem 0x2-0x1] usable"),
        (Some(2), Fault::Reversed { .. })
    ));
    assert!(matches!(
        of("2 - 2 (usable)"),
        (Some(2), Fault::Hollow { .. })
    ));
    assert!(matches!(
        of("2 - 1 usable"),
        (Some(2), Fault::Syntax { .. })
    ));
    let wide = "ffffffffffffffff @ 1 (usable)";
    assert!(matches!(of(wide), (Some(2), Fault::BeyondWidth { .. })));
    let said = |said: &str| refused(read(&format!("SRAT: Node {said}\n")));
    assert!(matches!(said("0"), (Some(1), Fault::Syntax { .. })));
    assert!(matches!(
        said("0 PXM 0 [mem 0x2-0x1]"),
        (Some(1), Fault::Reversed { .. })
    ));
    assert!(matches!(
        said("x PXM 0 [mem 0x0-0x1]"),
        (Some(1), Fault::Number { .. })
    ));
    let wide = "4294967296 PXM 0 [mem 0x0-0x1]";
    assert!(matches!(
        said(wide),
        (Some(1), Fault::LargeNumber { bits: 32, .. })
    ));
    assert!(matches!(
        said("0 PXM 0 [mem 0x0-0x1]"),
        (None, Fault::NoEntry { .. })
    ));
}
