//! Trees with memory in several shapes, and faulty trees.
#![forbid(unsafe_code)]

use furlong::addr::Address;

use super::{Fault, Kind, read};
use crate::phys_map::fault::refused;

const TREE: &str = r#"/dts-v1/;
/memreserve/ 0x0000000080000000 0x1000;
/ {
	#address-cells = <0x02>;
	#size-cells = <0x02>;
	soc: soc@0 {
		#address-cells = <3>;
		reg = <&{/clock} MACRO>;
		interrupts = "a;b{", [00 ff];
	};
	memory@80000000 { // two banks
		numa-node-id = <1>;
		reg = <0x00 0x80000000 0x00 0x40000000>, <0x8 0 0x1 0>;
		device_type = "memory";
	};
	reserved-memory {
		#address-cells = <1>; #size-cells = <1>;
		ranges;
		secure@90000000 { reg = <0x90000000 0x10000>; no-map; };
		cma@a0000000 { reg = <0xa0000000 0x10000>; reusable; };
		dynamic { size = <0x10000>; };
	};
};
"#;

fn list(text: &str) -> Vec<(u64, u64, Kind, Option<u32>)> {
    let map = read(text).unwrap();
    let one = |e: &super::Entry| {
        let (start, last) = (e.extent.start().raw(), e.extent.last().raw());
        (start, last, e.kind, e.node)
    };
    map.entries().iter().map(one).collect()
}

fn fault(from: &str, to: &str) -> (Option<usize>, Fault) {
    refused(read(&TREE.replace(from, to)))
}

#[test]
fn memory_less_what_is_reserved_in_it_is_the_map() {
    let expected = [
        (0x8000_0000, 0x8000_0fff, Kind::Reserved, None),
        (0x8000_1000, 0x8fff_ffff, Kind::Usable, Some(1)),
        (0x9000_0000, 0x9000_ffff, Kind::Reserved, None),
        (0x9001_0000, 0xbfff_ffff, Kind::Usable, Some(1)),
        (0x8_0000_0000, 0x8_ffff_ffff, Kind::Usable, Some(1)),
    ];
    assert_eq!(list(TREE), expected);
}

#[test]
fn a_piece_of_a_tree_is_read_with_the_cells_that_are_said_before_it() {
    let piece = "memory@80000000 { reg = <0x0 0x80000000 0x0 0x40000000>; };";
    let said = format!("#address-cells = <2>; #size-cells = <2>;\n{piece}\n");
    let expected = [(0x8000_0000, 0xbfff_ffff, Kind::Usable, None)];
    assert_eq!(list(&said), expected);
    let error = read(piece).unwrap_err();
    let wrong = Fault::Cells {
        found: 4,
        address: 2,
        size: 1,
    };
    assert_eq!(
        (error.line, error.fault.to_string()),
        (Some(1), wrong.to_string())
    );
    assert_eq!(
        list("memory { reg = <0 4096 4096>; };"),
        [(4096, 8191, Kind::Usable, None)]
    );
}

#[test]
fn memory_that_is_disabled_or_waits_for_the_firmware_is_none() {
    let disabled = "device_type = \"memory\"; status = \"disabled\"";
    let found = fault("device_type = \"memory\"", disabled);
    assert!(matches!(found, (None, Fault::NoEntry { .. })));
    let filled = TREE.replace("0x40000000>", "0x0>");
    assert_eq!(list(&filled).len(), 3);
}

#[test]
fn malformed_trees_are_named() {
    assert!(matches!(
        fault("<0x02>;\n\t#size", "<0x03>;\n\t#size"),
        (Some(4), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("0x40000000>", "SIZE>"),
        (Some(13), Fault::Number { .. })
    ));
    assert!(matches!(
        fault("0x40000000>", "0x100000000>"),
        (Some(13), Fault::LargeNumber { .. })
    ));
    assert!(matches!(
        fault("0x40000000>", "0x40000000"),
        (Some(13), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("<0x8 0 0x1 0>", "<0x8 0>"),
        (Some(13), Fault::Cells { found: 6, .. })
    ));
    let far = "<0xffffffff 0 0xffffffff 0>";
    assert!(matches!(
        fault("<0x8 0 0x1 0>", far),
        (Some(13), Fault::BeyondWidth { .. })
    ));
    assert!(matches!(
        fault("<1>;\n\t\treg", "<1 1>;\n\t\treg"),
        (Some(12), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("0x1000;\n/ {", "0x1000 1;\n/ {"),
        (Some(2), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("/dts-v1/;", "#include <a.h>;"),
        (Some(1), Fault::Syntax { .. })
    ));
}

#[test]
fn braces_and_semicolons_that_are_missing_are_named() {
    assert!(matches!(
        fault("\n/ {", "\n"),
        (Some(_), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("no-map; };", "no-map };"),
        (Some(19), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("0x10000>; };\n\t};", "0x10000>; };"),
        (Some(22), Fault::Syntax { .. })
    ));
    assert!(matches!(
        fault("device_type = \"memory\"", "\""),
        (Some(_), Fault::Syntax { .. })
    ));
}
