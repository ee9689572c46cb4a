//! A store that disappears, reappears, or is replaced.

use std::fs;

use furlong_lab::record::store::Location;
use rustix::process::Signal;

use super::crowd;
use super::started::Started;
use crate::databases::Server;
use crate::lab::says;

#[test]
fn a_file_that_is_taken_away_is_told_and_read_again_when_it_is_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    crowd::fill(&Location::File(path.clone()), 40, 2);
    let server = Started::over(&Location::File(path.clone()), &[]);
    assert!(server.page("/").contains("steady"));
    let away = home.path().join("away.db");
    fs::rename(&path, &away).unwrap();
    for _ in 0..8 {
        let reply = server.get("/");
        assert_eq!((reply.status, reply.header("retry-after")), (503, "5"));
        assert!(reply.body.contains("cannot be read now"));
        assert!(!reply.body.contains("runs.db"), "{}", reply.body);
    }
    assert!(!path.exists(), "it made a file of its own");
    fs::rename(&away, &path).unwrap();
    assert!(server.page("/").contains("steady"));
    // A file that replaces it is read from then on.
    let other = home.path().join("other.db");
    crowd::fill(&Location::File(other.clone()), 80, 2);
    fs::rename(&other, &path).unwrap();
    assert!(server.page("/runs/run79").contains("run79"));
    let (status, said) = server.end(Signal::TERM);
    assert!(status.success(), "{said}");
    let told = said
        .lines()
        .filter(|line| line.contains("there is no database at"));
    assert_eq!(told.count(), 1, "{said}");
    says(&said, &["can be read again"]);
}

#[test]
fn a_file_that_becomes_nonsense_is_told() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    crowd::fill(&Location::File(path.clone()), 40, 2);
    let server = Started::over(&Location::File(path.clone()), &[]);
    server.page("/");
    let text = home.path().join("text");
    fs::write(
        &text,
        "no database, but a text that is long enough to be looked at",
    )
    .unwrap();
    fs::rename(&text, &path).unwrap();
    assert_eq!(server.get("/").status, 503);
    assert_eq!(server.get("/style.css").status, 200);
    let (_, said) = server.end(Signal::TERM);
    says(&said, &["is not a database"]);
}

#[test]
fn a_server_that_is_killed_is_told_and_read_again_when_it_is_back() {
    let Some(mut database) = Server::start() else {
        return;
    };
    crowd::fill(&database.location(), 40, 2);
    let server = Started::over(&database.location(), &[]);
    assert!(server.page("/").contains("steady"));
    database.kill();
    for _ in 0..6 {
        assert_eq!(server.get("/runs/run1").status, 503);
    }
    database.restart();
    for number in 0..6 {
        let page = server.page(&format!("/runs/run{number}"));
        assert!(page.contains(&format!("run{number}")));
    }
    let (status, said) = server.end(Signal::TERM);
    assert!(
        status.success() && said.contains("cannot be reached"),
        "{said}"
    );
}
