//! Answers to requests, and the headers that all of them have.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, header};

use crate::record::store::Work;
use crate::serve::frame;
use crate::serve::refusal::Refusal;

/// The browser's permissions for an answer: only this server's style. No script at all; no frame,
/// form or picture from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Seconds after which a browser may retry an answer that was unavailable.
const RETRY_S: &str = "5";

/// A response before it is sent.
#[derive(Debug)]
pub(in crate::serve) struct Answer {
    status: StatusCode,
    body: Bytes,
    headers: HeaderMap,
}

impl Answer {
    /// A successful answer.
    pub(in crate::serve) fn of(kind: &'static str, body: impl Into<Bytes>) -> Answer {
        let mut answer = Answer {
            status: StatusCode::OK,
            body: body.into(),
            headers: HeaderMap::new(),
        };
        for (name, value) in HEADERS {
            answer.set(HeaderName::from_static(name), value);
        }
        answer.set(header::CONTENT_TYPE, kind);
        answer.set(header::CACHE_CONTROL, "no-store");
        answer
    }

    /// A page.
    pub(in crate::serve) fn page(page: &frame::Page) -> Answer {
        Answer::of("text/html; charset=utf-8", page.render())
    }

    /// A file to download; furlong chooses its name.
    pub(in crate::serve) fn file(kind: &'static str, name: &str, body: String) -> Answer {
        let mut answer = Answer::of(kind, body);
        let disposition = format!("attachment; filename=\"{name}\"");
        answer.set(header::CONTENT_DISPOSITION, &disposition);
        answer
    }

    /// The page of a refusal, with its status.
    pub(in crate::serve) fn refusal(refusal: &Refusal) -> Answer {
        let mut answer = Answer::page(&refusal.page());
        answer.status = refusal.status();
        if let Refusal::Method = refusal {
            answer.set(header::ALLOW, "GET, HEAD");
        }
        // A later attempt may succeed.
        if answer.status == StatusCode::SERVICE_UNAVAILABLE {
            answer.set(header::RETRY_AFTER, RETRY_S);
        }
        answer
    }

    /// An answer that changes only with furlong itself. The browser keeps it, and revalidates it by
    /// its entity tag.
    pub(in crate::serve) fn kept(mut self, mark: &str, known: Option<&str>) -> Answer {
        self.set(header::ETAG, mark);
        self.set(header::CACHE_CONTROL, "no-cache");
        let is_known = |known: &str| {
            let mut marks = known.split(',').map(str::trim);
            marks.any(|one| one == mark || one == "*")
        };
        if known.is_some_and(is_known) {
            self.status = StatusCode::NOT_MODIFIED;
            self.body = Bytes::new();
        }
        self
    }

    /// Adds the time of the statements and the total, for the browser's developer tools.
    pub(in crate::serve) fn timed(mut self, work: &Work, all: Duration) -> Answer {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let timing = format!(
            "db;desc=\"{} statements\";dur={:.3}, page;dur={:.3}",
            work.statements,
            ms(work.time),
            ms(all)
        );
        self.set(HeaderName::from_static("server-timing"), &timing);
        self
    }

    fn set(&mut self, name: HeaderName, value: &str) {
        // Every value is furlong's own text; an invalid one would be left out.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }

    /// The answer in the form for the connection.
    pub(in crate::serve) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
