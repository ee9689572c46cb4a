//! Invalid requests, and slow clients.

use std::io::Write as _;
use std::time::{Duration, Instant};

use furlong_lab::record::store::Location;

use super::client::{ask, connect, hear, say};
use super::crowd;
use super::markup::check;
use super::started::{Started, command};
use crate::lab::{Home, ended, says};

#[test]
fn what_is_not_there_is_a_page_that_says_so() {
    let (_home, server) = Started::filled(60, 3, &[]);
    for (path, status) in [
        ("/nothing", 404),
        ("/runs/nobody", 404),
        ("/runs/nobody.json", 404),
        ("/runs/run1.exe", 404),
        ("/experiments/nobody", 404),
        ("/experiments/stead", 404),
        ("/metric?experiment=nobody&workload=plain&arm=a", 404),
        ("/metric?experiment=steady&workload=nobody&arm=a", 404),
        ("/metric?experiment=steady&workload=plain&arm=nobody", 404),
        (
            "/metric?experiment=steady&workload=plain&arm=a&metric=nobody",
            404,
        ),
        (
            "/metric?experiment=steady&workload=plain&arm=a&machine=nobody",
            404,
        ),
        ("/compare?base=run1&with=nobody", 404),
        ("/compare?base=run1&with=run1", 400),
        ("/metric", 400),
        ("/metric?experiment=steady&workload=plain&arm=a&last=0", 400),
        ("/experiments/steady?before=x", 400),
        ("/experiments/steady?page=2", 400),
        ("/experiments/%ff", 400),
        ("/?%3Cscript%3Ealert(1)%3C/script%3E=1", 400),
        ("/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404),
        ("/favicon.ico", 404),
        ("/../../etc/passwd", 404),
        ("/experiments/..%2f..%2fetc%2fpasswd", 404),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, status, "{path}\n{}", reply.body);
        check(path, &reply.body);
    }
    let long = format!("/runs/{}", "a".repeat(9_000));
    assert_eq!(server.get(&long).status, 414);
    let longer = format!("/runs/{}", "a".repeat(40_000));
    assert!([414, 431].contains(&server.get(&longer).status));
}

#[test]
fn only_reading_is_possible_and_only_under_its_own_name() {
    let (_home, server) = Started::filled(60, 3, &[]);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let reply = ask(&server.address, method, "/", "Content-Length: 0\r\n");
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, "GET, HEAD"),
            "{method}"
        );
    }
    let as_named = |host: &str| {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        say(&server.address, &text).status
    };
    assert_eq!(as_named("localhost"), 200);
    assert_eq!(as_named("evil.example"), 421);
    assert_eq!(as_named("127.0.0.1.evil.example:80"), 421);
    let without = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(say(&server.address, without).status, 400);
    assert_eq!(say(&server.address, "hello\r\n\r\n").status, 400);
}

#[test]
fn a_name_that_was_told_is_answered() {
    let (_home, server) = Started::filled(20, 2, &["--host", "lab.example"]);
    for (host, status) in [("lab.example:7878", 200), ("other.example", 421)] {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(say(&server.address, &text).status, status, "{host}");
    }
}

/// Clients that send half of a request.
const CROWD: usize = 400;

/// Longest time for answers beside them: half of the time after which a slow client has to go.
const LIMIT: Duration = Duration::from_secs(5);

#[test]
fn slow_clients_keep_nobody_waiting() {
    let (_home, server) = Started::filled(60, 3, &[]);
    // More than are held at a time: some make room.
    let begun = Instant::now();
    let slow: Vec<_> = (0..CROWD)
        .map(|_| {
            let mut stream = connect(&server.address);
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let page = server.page(&format!("/runs/run{number}"));
                assert!(page.contains(&format!("Run run{number}")));
            });
        }
    });
    let took = begun.elapsed();
    assert!(took < LIMIT, "{took:?}");
    // A request that was begun can still be completed: those that began last.
    for mut stream in slow.into_iter().rev().take(3) {
        stream
            .write_all(b"host\r\nConnection: close\r\n\r\n")
            .unwrap();
        assert_eq!(hear(stream).status, 200);
    }
}

#[test]
fn what_cannot_be_served_is_told_in_a_line() {
    let home = Home::new();
    let refused = |arguments: &[&str]| home.refuses(&[&["serve"], arguments].concat());
    assert!(refused(&["--db", "none"]).contains("name a database"));
    assert!(refused(&["--db", "nowhere.db"]).contains("there is no database at nowhere.db"));
    assert!(refused(&["--listen", "here"]).contains("--listen"));
    home.write("text.db", "no database, but a text of some length");
    assert!(refused(&["--db", "text.db"]).contains("is not a database"));
    let location = Location::File(home.path("runs.db"));
    crowd::fill(&location, 5, 2);
    assert!(refused(&["--db", "runs.db", "--listen", "192.0.2.1:0"]).contains("is not an address"));
    let server = Started::over(&location, &[]);
    let told = refused(&["--db", "runs.db", "--listen", &server.address]);
    says(&told, &["is in use", "--listen"]);
    let mut second = command(&location, &["--listen", &server.address]);
    ended(2, &second.output().unwrap());
}
