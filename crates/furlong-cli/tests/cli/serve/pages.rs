//! Every page of a store, found by following links.

use std::collections::BTreeSet;

use furlong_lab::model::result::ResultFile;
use furlong_lab::record::store::{Location, Store};

use super::hostile;
use super::markup::check;
use super::names::CORPUS;
use super::started::Started;
use super::{client, crowd};
use crate::databases::on_each;
use crate::lab::{Home, says};

/// Follows every link from the first page on and checks each page; returns them with their texts.
fn walk(server: &Started, limit: usize) -> Vec<(String, String)> {
    let mut known = BTreeSet::from(["/".to_owned()]);
    let mut waiting = vec!["/".to_owned()];
    let mut pages = vec![];
    while let Some(address) = waiting.pop() {
        let reply = server.get(&address);
        assert_eq!(reply.status, 200, "{address}\n{}", reply.body);
        if !reply.header("content-type").starts_with("text/html") {
            continue;
        }
        if reply
            .header("content-disposition")
            .starts_with("attachment")
        {
            continue;
        }
        for link in check(&address, &reply.body) {
            let link = link.split('#').next().unwrap_or_default().to_owned();
            if known.len() < limit && known.insert(link.clone()) {
                waiting.push(link);
            }
        }
        pages.push((address, reply.body));
    }
    pages
}

#[test]
fn every_page_of_hostile_runs_is_text() {
    on_each(|location| {
        hostile::fill(location);
        let server = Started::over(location, &[]);
        let pages = walk(&server, 600);
        let kinds = [
            "/experiments/",
            "/runs/",
            "/compare?",
            "/metric?",
            "/compare",
        ];
        for kind in kinds {
            assert!(
                pages.iter().any(|(address, _)| address.starts_with(kind)),
                "{kind}"
            );
        }
        let experiments = pages
            .iter()
            .filter(|(address, _)| address.starts_with("/experiments/"));
        let all: BTreeSet<&str> = experiments.map(|(address, _)| address.as_str()).collect();
        let own = all.iter().filter(|address| !address.contains("machine="));
        assert_eq!(own.count(), CORPUS.len(), "{all:?}");
        let run = &pages
            .iter()
            .find(|(address, _)| address == "/runs/hostile1")
            .unwrap()
            .1;
        for name in CORPUS.iter().filter(|name| name.contains('<')) {
            let shown = name
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            let shown = shown.replace('"', "&quot;");
            assert!(run.contains(&shown) && !run.contains(name), "{name}");
        }
    });
}

#[test]
fn every_answer_forbids_what_is_not_this_servers() {
    let (home, server) = Started::filled(60, 3, &[]);
    for path in "/ /style.css /icon.svg /nothing /runs/run1.json /compare?x".split(' ') {
        let reply = server.get(path);
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'"),
            "{path}: {policy}"
        );
        assert!(
            !policy.contains("script-src") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert_eq!(reply.header("cross-origin-resource-policy"), "same-origin");
        assert_eq!(reply.header("set-cookie"), "");
        assert!(
            !reply.body.contains(&*home.path().to_string_lossy()),
            "{path}"
        );
    }
    assert_eq!(server.get("/").header("cache-control"), "no-store");
    let style = server.get("/style.css");
    assert!(style.body.contains("prefers-color-scheme: dark"));
    let known = format!("If-None-Match: {}\r\n", style.header("etag"));
    let again = client::ask(&server.address, "GET", "/style.css", &known);
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let head = client::ask(&server.address, "HEAD", "/", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_ne!(head.header("content-length"), "0");
}

#[test]
fn lists_are_turned_page_by_page_and_narrowed() {
    on_each(|location| {
        crowd::fill(location, 300, 2);
        let server = Started::over(location, &[]);
        let (mut seen, mut address) = (vec![], "/experiments/steady?machine=m1".to_owned());
        loop {
            let page = server.page(&address);
            let ids = page.split("name=\"base\" value=\"").skip(1);
            let ids: Vec<String> = ids
                .map(|rest| rest.split('"').next().unwrap().into())
                .collect();
            assert!(ids.len() <= 50);
            seen.extend(ids);
            let next = page.split("rel=\"next\" href=\"").nth(1);
            let Some(next) = next.and_then(|rest| rest.split('"').next()) else {
                break;
            };
            address = next.replace("&amp;", "&");
        }
        let wanted: Vec<String> = (0..300)
            .rev()
            .filter(|n| n % 3 == 1)
            .map(|n| format!("run{n}"))
            .collect();
        assert_eq!(seen, wanted);
        let tagged = server.page("/experiments/steady?tag=release");
        for number in [0, 50, 250] {
            assert!(tagged.contains(&format!("/runs/run{number}\"")), "{number}");
        }
        assert!(!tagged.contains("/runs/run299\""));
        assert!(
            server
                .page("/experiments/steady?tag=nothing")
                .contains("No run matches")
        );
        let first = server.page("/");
        assert!(first.contains("Does it last?") && first.contains("lab-2"));
        let latest = first.find("/runs/run299\"").unwrap();
        assert!(latest < first.find("/runs/run290\"").unwrap());
        assert_eq!(first.matches("class=\"spark\"").count(), 6, "{first}");
        assert!(server.get("/").statements() == 2);
    });
}

#[test]
fn a_step_of_a_figure_is_told_and_drawn_and_stands_in_the_table() {
    on_each(|location| {
        crowd::fill(location, 300, 4);
        let server = Started::over(location, &[]);
        let path = "/metric?experiment=steady&workload=plain&arm=b&machine=m1";
        let page = server.page(path);
        says(&page, &["0.900 to 0.800, \u{2212}11.1\u{a0}%"]);
        assert_eq!(page.matches("class=\"interval level\"").count(), 2);
        // Every tenth of the hundred runs on this machine is a smoke run.
        assert_eq!(page.matches("<circle ").count(), 90);
        assert_eq!(page.matches("<th scope=\"row\">").count(), 90);
        assert!(server.get(path).statements() <= 22);
        let base = server.page("/metric?experiment=steady&workload=plain&arm=a&last=5");
        assert_eq!(base.matches("<circle ").count(), 5);
        assert!(base.contains("None by more than the margin."));
        let (_, told) = page.split_once("%, from run ").unwrap();
        let (run, _) = told.split_once(' ').unwrap();
        let mut store = Store::open(location).unwrap();
        store.dismiss(run, true).unwrap();
        let page = server.page(path);
        says(
            &page,
            &[&format!("run {run} is marked as no change"), "None by more"],
        );
        assert_eq!(page.matches("class=\"interval level\"").count(), 1);
    });
}

#[test]
fn two_runs_stand_side_by_side_and_machines_are_not_compared_by_accident() {
    let (_home, server) = Started::filled(300, 6, &[]);
    let same = server.page("/compare?base=run0&with=run297");
    says(&same, &["class=\"figures\"", "b / a", "\u{2212}11.1"]);
    let other = server.page("/compare?base=run0&with=run298");
    assert!(other.contains("of different machines") && !other.contains("class=\"figures\""));
    assert!(other.contains("/compare?base=run0&amp;with=run298&amp;across=yes"));
    let meant = server.page("/compare?base=run0&with=run298&across=yes");
    assert!(meant.contains("class=\"figures\"") && meant.contains("of different machines"));
    let asked = server.page("/compare?base=run0");
    assert!(asked.contains("value=\"run0\"") && asked.contains("run299"));
}

#[test]
fn a_run_is_what_the_command_shows_of_it_in_every_form() {
    let home = Home::new();
    let result = home.smoke(&["--db", "runs.db", "--tag", "first"]);
    let id = &result.run.id;
    let server = Started::over(&Location::File(home.path("runs.db")), &[]);
    for (ending, option) in [
        ("json", "--json"),
        ("csv", "--csv"),
        ("md", "--md"),
        ("html", "--html"),
    ] {
        let (shown, _) = home.ends(0, &["show", id, "--db", "runs.db", option, "-"]);
        let reply = server.get(&format!("/runs/{id}.{ending}"));
        assert_eq!(reply.body, shown, "{ending}");
        let name = format!("attachment; filename=\"{id}.{ending}\"");
        assert_eq!(reply.header("content-disposition"), name);
    }
    let again: ResultFile =
        serde_json::from_str(&server.page(&format!("/runs/{id}.json"))).unwrap();
    assert_eq!(again, result);
    let page = server.page(&format!("/runs/{id}"));
    assert!(page.contains("Values, in the order of the run"));
    says(&page, &["tag <bdi>first</bdi>"]);
    let note = ["--note", "after all", "--pin"];
    home.ends(0, &[&["mark", id, "--db", "runs.db"][..], &note].concat());
    let page = server.page(&format!("/runs/{id}"));
    says(&page, &["after all", "pinned"]);
    let store = Store::open_existing(&Location::File(home.path("runs.db"))).unwrap();
    assert_eq!(store.runs("").unwrap().len(), 1);
}

#[test]
fn an_empty_history_says_what_to_type() {
    let home = tempfile::tempdir().unwrap();
    let location = Location::File(home.path().join("runs.db"));
    drop(Store::open(&location).unwrap());
    let server = Started::over(&location, &[]);
    says(
        &server.page("/"),
        &["<code>furlong run</code>", "<code>furlong compare"],
    );
}
