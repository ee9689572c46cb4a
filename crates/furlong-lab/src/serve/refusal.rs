//! Why there is no page, and what to do: which is a page too.
#![forbid(unsafe_code)]

use hyper::StatusCode;
use maud::html;

use super::frame::Page;
use super::route::Route;
use crate::record::store::Fault;
use crate::report::text::plain;

/// Why there is no page.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A parameter makes no sense.
    Parameter(String),
    /// There is no such thing.
    Missing(String),
    /// It is neither GET nor HEAD.
    Method,
    /// It was asked for under a name that is not this server's.
    Host(String),
    /// The address is longer than any of this server's.
    Long,
    /// The store does not answer.
    Store(Fault),
    /// Too many pages are being made.
    Busy,
    /// A fault of furlong's own.
    Broken,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Store(fault)
    }
}

impl Refusal {
    /// The number of it.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Refusal::Parameter(_) => StatusCode::BAD_REQUEST,
            Refusal::Missing(_) => StatusCode::NOT_FOUND,
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Host(_) => StatusCode::MISDIRECTED_REQUEST,
            Refusal::Long => StatusCode::URI_TOO_LONG,
            Refusal::Store(_) | Refusal::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the same can be asked for again in a while.
    pub(super) fn is_passing(&self) -> bool {
        self.status() == StatusCode::SERVICE_UNAVAILABLE
    }

    fn title(&self) -> &'static str {
        match self {
            Refusal::Parameter(_) => "This address makes no sense",
            Refusal::Missing(_) => "Not here",
            Refusal::Method => "Only reading is possible here",
            Refusal::Host(_) => "Asked for under another name",
            Refusal::Long => "The address is too long",
            Refusal::Store(_) => "The runs cannot be read just now",
            Refusal::Busy => "Too many pages at once",
            Refusal::Broken => "furlong has made a mistake",
        }
    }

    /// What to do. What is wrong with the store is said where furlong was started: here it could
    /// tell strangers where the store is.
    fn words(&self) -> String {
        match self {
            Refusal::Parameter(what) | Refusal::Missing(what) => plain(what),
            Refusal::Method => "Ask with GET or HEAD: this server changes nothing.".to_owned(),
            Refusal::Host(name) => format!(
                "This server is not known as “{}”: ask for it by its address or as localhost, or \
                 start it with --host and that name.",
                plain(name)
            ),
            Refusal::Long => "No page of this server has such an address.".to_owned(),
            Refusal::Store(_) => "Where furlong serve was started it says why. As soon as the \
                 database can be read again, so can this page."
                .to_owned(),
            Refusal::Busy => "Ask again in a moment.".to_owned(),
            Refusal::Broken => {
                "Where furlong serve was started it says which. The other pages still work."
                    .to_owned()
            }
        }
    }

    /// As a page.
    pub(super) fn page(&self) -> Page {
        let mut page = Page::new(self.title());
        page.crumb("Experiments", &Route::home());
        page.content = html! {
            p { bdi { (self.words()) } }
            p { a href=(Route::home()) { "All experiments" } }
        };
        page
    }
}
