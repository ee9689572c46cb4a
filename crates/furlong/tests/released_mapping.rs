//! A mapping that was released cannot be used: the compiler itself is run, with and without the one
//! line that uses it.
#![forbid(unsafe_code)]

mod compiler;

use compiler::{Compiler, said};

/// A driver that maps, unmaps and releases, through a domain and straight from a space.
/// Each `USE` marks a place for the line under test.
const DRIVER: &str = r#"
use furlong::addr::Iova;
use furlong::iova::{Domain, Grant, Lowest, NoTlb, Request, VecSpace};

pub fn map(_: Iova) {}

pub fn through_a_domain(domain: &Domain<NoTlb>) {
    let grant = domain.reserve(&Request::new(4096), Lowest).unwrap();
    map(grant.iova());
    let token = domain.release(grant).unwrap();
    USE_DOMAIN
    domain.redeem(token).unwrap();
    REDEEM_TWICE
}

pub fn later(domain: &Domain<NoTlb>, grant: Grant) {
    let _ = domain.release_later(grant).unwrap();
    USE_LATER
}

pub fn at_once(space: &mut VecSpace) {
    let grant = space.reserve(&Request::new(4096), Lowest).unwrap();
    map(grant.iova());
    space.release(grant).unwrap();
    USE_SPACE
}
"#;

/// Each place, with a line that uses a moved value there.
const USES: [(&str, &str); 5] = [
    ("USE_DOMAIN", "map(grant.iova());"),
    ("USE_LATER", "map(grant.iova());"),
    ("USE_SPACE", "map(grant.iova());"),
    ("USE_DOMAIN", "let again = domain.release(grant);"),
    ("REDEEM_TWICE", "let again = domain.redeem(token);"),
];

/// The driver with one line in its place, and nothing in the other places.
fn driver(place: &str, line: &str) -> String {
    let with = DRIVER.replace(place, line);
    let places = USES.iter().map(|(place, _)| place);
    places.fold(with, |text, place| text.replace(place, ""))
}

#[test]
fn what_uses_a_released_mapping_does_not_compile() {
    let compiler = Compiler::new("released_mapping", &["--emit=metadata"]);
    let compile_driver = |text: &str| compiler.compile("lib", "driver", text);
    let good = compile_driver(&driver("USE_DOMAIN", ""));
    assert!(good.status.success(), "{}", said(&good));
    for (place, line) in USES {
        let bad = compile_driver(&driver(place, line));
        let said = said(&bad);
        assert!(!bad.status.success(), "{line} at {place} compiles");
        assert_eq!(said.matches("error[").count(), 1, "{said}");
        assert!(said.contains("error[E0382]"), "{said}");
    }
}
