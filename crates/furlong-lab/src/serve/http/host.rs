//! Names under which the server answers. They stop DNS rebinding: a foreign page can only read
//! answers of its own origin. Its host name may resolve to this server, but a request for that name
//! is refused.

use std::net::IpAddr;

/// Further names of the server.
#[derive(Clone, Debug, Default)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// These names, besides IP addresses and `localhost`, which no foreign site can have.
    pub fn with(names: &[String]) -> Hosts {
        let lower = names.iter().map(|name| name.to_ascii_lowercase());
        Hosts(lower.collect())
    }

    /// True if a `Host` is one of them.
    pub(in crate::serve) fn has(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let is_address = bare.unwrap_or(&name).parse::<IpAddr>().is_ok();
        let is_local = name == "localhost" || name.ends_with(".localhost");
        is_address || is_local || self.0.contains(&name)
    }
}

/// The name before `:PORT`, if there is a port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    #[test]
    fn addresses_and_this_machine_are_known_and_strangers_are_not() {
        let none = Hosts::default();
        for host in [
            "127.0.0.1",
            "127.0.0.1:7878",
            "[::1]",
            "[::1]:7878",
            "localhost",
            "LocalHost:7878",
            "lab.localhost:1",
            "192.168.1.5:80",
        ] {
            assert!(none.has(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7878",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1@evil.example",
            "[::1",
            "lab",
        ] {
            assert!(!none.has(host), "{host}");
        }
        let lab = Hosts::with(&["Lab.Example".to_owned()]);
        assert!(lab.has("lab.example:7878") && lab.has("LAB.example"));
        assert!(!lab.has("other.example") && !lab.has("xlab.example"));
    }
}
