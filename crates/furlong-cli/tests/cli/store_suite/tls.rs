//! Encrypted connections to a server that accepts no others.

use furlong_lab::record::store::{Location, Status, Store};
use postgres::{Client, NoTls};

use super::fixture::{PLACE, begun, block};
use crate::databases::Server;
use crate::lab::{Home, says, wait_until};

#[test]
fn a_server_that_wants_tls_is_used_by_the_mode_of_its_url() {
    let Some(server) = Server::encrypted() else {
        return;
    };
    let path = |name: &str| server.file(name).display().to_string();
    let ca = path("ca.crt");
    let url = |host: &str, mode: &str| server.remote_url(host, &format!("sslmode={mode}"));
    let known = format!("verify-full&sslrootcert={ca}");
    let location = Location::Server(url("localhost", &known));
    let mut ledger = begun(&location, "abcd");
    ledger.add_block(PLACE, &block(1));
    ledger.close(Status::Finished, None);
    assert!(ledger.kept());
    let mut spy = Client::connect(&server.url(), NoTls).unwrap();
    let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE ssl AND application_name = 'furlong'";
    let mut encrypted = || -> i64 { spy.query_one(sql, &[]).unwrap().get(0) };
    let open = Store::open_existing(&location).unwrap();
    assert!(encrypted() > 0, "the server itself says so");
    drop((open, ledger));
    for (host, mode) in [
        ("localhost", "prefer"),
        ("127.0.0.1", "require"),
        ("127.0.0.1", &format!("verify-ca&sslrootcert={ca}")),
        ("127.0.0.1", &format!("require&sslrootcert={ca}")),
    ] {
        let store = Store::open_existing(&Location::Server(url(host, mode)));
        let saved = store.unwrap().load("abcd").unwrap();
        assert_eq!(
            saved.result.experiments[0].workloads[0].blocks,
            [1],
            "{mode}"
        );
    }
    refuses(&server, &mut spy);
}

/// Connections that must not be made, each with its reason.
fn refuses(server: &Server, spy: &mut Client) {
    let path = |name: &str| server.file(name).display().to_string();
    let known = format!("verify-full&sslrootcert={}", path("ca.crt"));
    let url = |host: &str, mode: &str| server.remote_url(host, &format!("sslmode={mode}"));
    let home = Home::new();
    let refused = |host: &str, mode: &str, reasons: &[&str]| {
        let said = home.refuses(&["show", "--db", &url(host, mode)]);
        says(&said, reasons);
        says(&said, &["the database postgres://lab@"]);
    };
    refused(
        "localhost",
        "disable",
        &["encrypted connections only", "sslmode=require"],
    );
    let wrong = format!("verify-full&sslrootcert={}", path("other.crt"));
    refused(
        "localhost",
        &wrong,
        &["of an unknown authority", "sslrootcert=FILE"],
    );
    refused(
        "localhost",
        &wrong.replace("full", "ca"),
        &["of an unknown authority"],
    );
    // The system's authorities, if it has any, do not know it.
    refused(
        "localhost",
        "verify-full",
        &["authorit", "sslrootcert=FILE"],
    );
    refused("127.0.0.1", &known, &["for another host", "localhost"]);
    let nothing = ["sslrootcert /nowhere cannot be read"];
    refused("localhost", "verify-ca&sslrootcert=/nowhere", &nothing);
    let said = home.refuses(&["show", "--db", &url("localhost", "maybe")]);
    says(&said, &["sslmode is `maybe`, not one of disable,"]);
    // The same server without TLS.
    spy.batch_execute("ALTER SYSTEM SET ssl = off").unwrap();
    spy.batch_execute("SELECT pg_reload_conf()").unwrap();
    wait_until("a server without TLS", || {
        let sql = "SHOW ssl";
        let shown: String = spy.query_one(sql, &[]).unwrap().get(0);
        shown == "off"
    });
    refused(
        "localhost",
        "require",
        &["does not offer TLS", "sslmode=prefer"],
    );
}
