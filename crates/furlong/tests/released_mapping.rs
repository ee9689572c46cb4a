//! A mapping that was released cannot be used: the compiler itself is asked, with the one line that
//! uses it and without.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A driver that maps, unmaps and releases, through a domain and through a quarantine of its own.
/// Where it says `USE`, the line under test goes.
const DRIVER: &str = r#"
use furlong::addr::Iova;
use furlong::iova::{Domain, Grant, Lowest, NoTlb, Quarantine, Request, TokenSlot, VecSpace};

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

pub fn through_a_quarantine(space: &mut VecSpace, quarantine: &mut Quarantine<Vec<TokenSlot>>) {
    let grant = space.reserve(&Request::new(4096), Lowest).unwrap();
    map(grant.iova());
    let token = quarantine.release(grant).unwrap();
    USE_QUARANTINE
    quarantine.redeem(token, space).unwrap();
}
"#;

/// Each with the line that uses what was moved away.
const USES: [(&str, &str); 5] = [
    ("USE_DOMAIN", "map(grant.iova());"),
    ("USE_LATER", "map(grant.iova());"),
    ("USE_QUARANTINE", "map(grant.iova());"),
    ("USE_DOMAIN", "let again = domain.release(grant);"),
    ("REDEEM_TWICE", "let again = domain.redeem(token);"),
];

/// The driver with one line in its place, and nothing in the others.
fn driver(place: &str, line: &str) -> String {
    let with = DRIVER.replace(place, line);
    let places = USES.iter().map(|(place, _)| place);
    places.fold(with, |text, place| text.replace(place, ""))
}

/// Compiles as far as the compiler's checks go, into `out`.
fn compile(source: &Path, name: &str, out: &Path, more: &[&str]) -> Output {
    // The compiler that the toolchain file of this repository names.
    let mut rustc = Command::new("rustc");
    rustc.current_dir(env!("CARGO_MANIFEST_DIR"));
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata"]);
    rustc.args([
        "--cap-lints=allow",
        "--error-format=short",
        "--crate-name",
        name,
    ]);
    rustc.arg("--out-dir").arg(out).args(more).arg(source);
    rustc.output().expect("rustc runs where cargo does")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the library in it, compiled as it is for its users.
fn library() -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("released_mapping");
    fs::create_dir_all(&out).expect("the folder for tests can be written to");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let built = compile(&source, "furlong", &out, &["--cfg", "feature=\"alloc\""]);
    assert!(built.status.success(), "{}", said(&built));
    out
}

#[test]
fn what_uses_a_released_mapping_does_not_compile() {
    let out = library();
    let path = format!("furlong={}", out.join("libfurlong.rmeta").display());
    let compile_driver = |text: &str| {
        let source = out.join("driver.rs");
        fs::write(&source, text).expect("the folder for tests can be written to");
        compile(&source, "driver", &out, &["--extern", &path])
    };
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
