//! Start and end of the server.

use std::io::Write as _;

use furlong_lab::record::store::Location;
use rustix::process::Signal;

use super::client::connect;
use super::crowd;
use super::started::Started;
use crate::lab::says;

#[test]
fn a_signal_ends_it_in_order_whoever_is_connected() {
    let home = tempfile::tempdir().unwrap();
    let location = Location::File(home.path().join("runs.db"));
    crowd::fill(&location, 20, 2);
    for signal in [Signal::TERM, Signal::INT] {
        let server = Started::over(&location, &[]);
        server.page("/");
        let idle = connect(&server.address);
        let mut slow = connect(&server.address);
        slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let (status, said) = server.end(signal);
        assert_eq!(status.code(), Some(0), "{said}");
        says(&said, &["serving", "Ctrl-C"]);
        assert!(!said.contains("warning"), "{said}");
        drop((idle, slow));
    }
}

#[test]
fn beyond_this_machine_it_is_open_only_when_told_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let location = Location::File(home.path().join("runs.db"));
    crowd::fill(&location, 20, 2);
    let server = Started::over(&location, &[]);
    assert!(server.address.starts_with("127.0.0.1:"));
    let server = Started::over(&location, &["--listen", "0.0.0.0:0", "-q"]);
    let (_, said) = server.end(Signal::TERM);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines[0].starts_with("warning: everyone who can reach 0.0.0.0:"),
        "{said}"
    );
}
