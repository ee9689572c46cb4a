//! A client or a server killed in the middle: no finished block is lost.

use std::process::Stdio;
use std::thread;

use furlong_lab::record::store::{Status, Store};

use super::fixture::{PLACE, begun, block};
use crate::databases::Server;
use crate::lab::{Home, says, wait_until, words};

#[test]
fn a_server_that_is_killed_between_blocks_has_all_of_them_when_it_is_back() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let mut ledger = begun(&server.location(), "abcd");
    for number in 1..=5 {
        ledger.add_block(PLACE, &block(number));
    }
    server.kill();
    let back = thread::scope(|scope| {
        let restarted = scope.spawn(|| server.restart());
        // The server is down now, and restarts while this waits.
        ledger.add_block(PLACE, &block(6));
        restarted.join()
    });
    back.unwrap();
    ledger.add_block(PLACE, &block(7));
    ledger.close(Status::Finished, None);
    assert!(ledger.kept(), "the run was not given up");
    let saved = Store::open_existing(&server.location())
        .unwrap()
        .load("abcd")
        .unwrap();
    let blocks: Vec<u32> = (1..=7).collect();
    assert_eq!(saved.result.experiments[0].workloads[0].blocks, blocks);
    assert_eq!(&saved.result, ledger.result());
}

#[test]
fn a_client_that_is_killed_has_stored_every_block_that_it_has_finished() {
    let Some(server) = Server::start() else {
        return;
    };
    let home = Home::new();
    let url = server.url();
    let furlong = |arguments: &[&str]| {
        let mut command = home.furlong(&[arguments, &["--db", &url]].concat());
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let compare = words("compare --blocks 100000 --html none");
    let mut client = furlong(&[&compare[..], &["sleep 0.01", "sleep 0.01"]].concat());
    let blocks = || {
        let store = Store::open_existing(&server.location()).ok()?;
        let id = store.runs("").ok()?.first()?.id.clone();
        let run = store.load(&id).ok()?.result;
        Some((
            id,
            run.experiments.first()?.workloads.first()?.blocks.clone(),
        ))
    };
    wait_until("blocks are stored", || {
        blocks().is_some_and(|(_, blocks)| blocks.len() >= 3)
    });
    client.kill().unwrap();
    client.wait().unwrap();
    let (id, kept) = blocks().unwrap();
    assert_eq!(
        kept,
        (1..=kept.len() as u32).collect::<Vec<_>>(),
        "none is missing"
    );
    // It can be resumed: its owner is gone.
    let mut again = furlong(&["compare", "--resume", &id]);
    let more = || blocks().is_some_and(|(_, now)| now.len() > kept.len());
    wait_until("more blocks are stored", more);
    again.kill().unwrap();
    again.wait().unwrap();
    let (_, now) = blocks().unwrap();
    assert!(now.starts_with(&kept));
}

#[test]
fn a_server_that_is_not_there_is_told_without_the_password() {
    let said = Home::new().refuses(&["history", "--db", "postgres://me:s3cret@127.0.0.1:1/lab"]);
    says(&said, &["postgres://me@127.0.0.1:1/lab cannot be reached"]);
    assert!(
        said.contains("check that its server runs") && !said.contains("s3cret"),
        "{said}"
    );
}
