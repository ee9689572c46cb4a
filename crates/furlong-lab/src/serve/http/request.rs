//! Checks of a request, before any work for it.

use hyper::{Method, Request, header};

use crate::serve::host::Hosts;
use crate::serve::refusal::Refusal;
use crate::serve::route::Route;

/// Longest address in bytes; none of this server's own is longer, except with a longer name.
const ADDRESS_MAX: usize = 8_000;

/// The target of a request.
///
/// # Errors
///
/// The request is not allowed, or its target does not exist.
pub(in crate::serve) fn wanted<B>(request: &Request<B>, hosts: &Hosts) -> Result<Route, Refusal> {
    check_host(request, hosts)?;
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err(Refusal::Method);
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or(""));
    if path.len() + query.len() > ADDRESS_MAX {
        return Err(Refusal::Long);
    }
    Route::of(path, query)
}

/// Checks the host. Browsers and all clients of HTTP/1.1 send it.
fn check_host<B>(request: &Request<B>, hosts: &Hosts) -> Result<(), Refusal> {
    let mut said = request.headers().get_all(header::HOST).iter();
    let named = said.next().map(|host| host.to_str().unwrap_or_default());
    if said.next().is_some() {
        return Err(Refusal::Parameter(
            "The request names its host twice.".to_owned(),
        ));
    }
    // A host in the request line takes precedence over the header.
    let authority = request
        .uri()
        .authority()
        .map(hyper::http::uri::Authority::as_str);
    match authority.or(named) {
        Some(host) if hosts.has(host) => Ok(()),
        Some(host) => Err(Refusal::Host(host.to_owned())),
        None => Err(Refusal::Parameter(
            "The request does not name its host.".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use hyper::{Request, StatusCode};

    use super::wanted;
    use crate::serve::Hosts;

    fn status(method: &str, address: &str, hosts: &[&str]) -> u16 {
        let mut request = Request::builder().method(method).uri(address);
        for host in hosts {
            request = request.header("host", *host);
        }
        let request = request.body(()).unwrap();
        let refused = wanted(&request, &Hosts::default()).err();
        refused
            .map_or(StatusCode::OK, |refused| refused.status())
            .as_u16()
    }

    #[test]
    fn only_reading_is_answered_and_only_under_its_own_name() {
        let here = &["127.0.0.1:7878"][..];
        assert_eq!(status("GET", "/", here), 200);
        assert_eq!(status("HEAD", "/", here), 200);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"] {
            assert_eq!(status(method, "/", here), 405, "{method}");
        }
        assert_eq!(status("GET", "/", &["evil.example"]), 421);
        assert_eq!(status("POST", "/", &["evil.example"]), 421);
        assert_eq!(status("GET", "http://evil.example/", here), 421);
        assert_eq!(status("GET", "http://localhost/", here), 200);
        assert_eq!(status("GET", "/", &[]), 400);
        assert_eq!(status("GET", "/", &["localhost", "evil.example"]), 400);
        let long = format!("/experiments/{}", "a".repeat(9_000));
        assert_eq!(status("GET", &long, here), 414);
        assert_eq!(status("GET", "/nothing", here), 404);
    }
}
