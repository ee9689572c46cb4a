//! A client that sends exactly the given bytes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than any answer of the server takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    /// A header by its name in lower case; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The number of statements for the page, from its header.
    pub(crate) fn statements(&self) -> u32 {
        let timing = self.header("server-timing");
        let said = timing
            .strip_prefix("db;desc=\"")
            .unwrap_or_else(|| panic!("{timing}"));
        said.split(' ').next().unwrap().parse().unwrap()
    }
}

/// A connection before its first request.
pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a text, and returns the response up to the end of the connection.
pub(crate) fn say(address: &str, text: &str) -> Reply {
    let mut stream = connect(address);
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(text.as_bytes());
    hear(stream)
}

/// Reads the response up to the end of the connection.
pub(crate) fn hear(mut stream: TcpStream) -> Reply {
    let mut bytes = vec![];
    // If the connection is reset after the response, the response is complete.
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

/// A request with these lines in addition to the usual ones.
pub(crate) fn ask(address: &str, method: &str, path: &str, lines: &str) -> Reply {
    let text =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n");
    say(address, &text)
}

/// A page.
pub(crate) fn get(address: &str, path: &str) -> Reply {
    ask(address, "GET", path, "")
}
