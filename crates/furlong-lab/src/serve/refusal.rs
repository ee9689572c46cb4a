//! Reasons why there is no page, each with a remedy; the answer is a page, too.

use hyper::StatusCode;
use maud::html;

use super::frame::Page;
use super::route::Route;
use crate::record::store::Fault;
use crate::report::text::plain;

/// The reason why there is no page.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A parameter is invalid.
    Parameter(String),
    /// The thing does not exist.
    Missing(String),
    /// The method is neither GET nor HEAD.
    Method,
    /// The request's host name is not one of this server's.
    Host(String),
    /// The address is longer than any of this server's.
    Long,
    /// The store does not respond.
    Store(Fault),
    /// Too many pages are being made.
    Busy,
    /// An error in furlong itself.
    Broken,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Store(fault)
    }
}

impl Refusal {
    /// The HTTP status.
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

    fn title(&self) -> &'static str {
        match self {
            Refusal::Parameter(_) => "This address is not valid",
            Refusal::Missing(_) => "Not here",
            Refusal::Method => "This server is read-only",
            Refusal::Host(_) => "Unknown host name",
            Refusal::Long => "The address is too long",
            Refusal::Store(_) => "The runs cannot be read now",
            Refusal::Busy => "Too many pages at once",
            Refusal::Broken => "furlong has a bug",
        }
    }

    /// The remedy. The store's fault is reported only on the terminal of `furlong serve`: a page
    /// could reveal the store's location.
    fn words(&self) -> String {
        match self {
            Refusal::Parameter(what) | Refusal::Missing(what) => plain(what),
            Refusal::Method => "Use GET or HEAD: this server changes nothing.".to_owned(),
            Refusal::Host(name) => format!(
                "This server does not answer to the name “{}”: use its address or localhost, or \
                 start it with --host and that name.",
                plain(name)
            ),
            Refusal::Long => "No page of this server has an address this long.".to_owned(),
            Refusal::Store(_) => "The terminal of furlong serve shows the reason. This page works \
                                  again as soon as the database can be read."
                .to_owned(),
            Refusal::Busy => "Try again in a moment.".to_owned(),
            Refusal::Broken => {
                "The terminal of furlong serve shows the error. The other pages still work."
                    .to_owned()
            }
        }
    }

    /// The refusal as a page.
    pub(super) fn page(&self) -> Page {
        let mut page = Page::new(self.title());
        page.crumb("History", &Route::home());
        page.content = html! {
            p { bdi { (self.words()) } }
            p { a href=(Route::home()) { "All experiments" } }
        };
        page
    }
}
