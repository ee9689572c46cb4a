//! A client that says exactly what it is told to say.
#![forbid(unsafe_code)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than the server ever takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// A header by its name in small letters; empty where it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// How many statements the page took, as its header says.
    pub(crate) fn statements(&self) -> u32 {
        let timing = self.header("server-timing");
        let said = timing
            .strip_prefix("db;desc=\"")
            .unwrap_or_else(|| panic!("{timing}"));
        said.split(' ').next().unwrap().parse().unwrap()
    }
}

/// A connection on which nothing has been said yet.
pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Says something and hears what comes until the server closes.
pub(crate) fn say(address: &str, text: &str) -> Reply {
    let mut stream = connect(address);
    // A server that refuses may close before it has heard all.
    let _ = stream.write_all(text.as_bytes());
    hear(stream)
}

/// Hears what comes until the server closes.
pub(crate) fn hear(mut stream: TcpStream) -> Reply {
    let mut bytes = vec![];
    // A connection that is reset after the answer has brought the answer.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    Reply {
        status: status.split(' ').nth(1).unwrap().parse().unwrap(),
        headers: headers.collect(),
        body: body.to_owned(),
    }
}

/// A request with these lines besides the usual ones.
pub(crate) fn ask(address: &str, method: &str, path: &str, lines: &str) -> Reply {
    let text =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n");
    say(address, &text)
}

/// A page.
pub(crate) fn get(address: &str, path: &str) -> Reply {
    ask(address, "GET", path, "")
}
