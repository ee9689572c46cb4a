//! Location of a database: a file or a server.

use std::fmt;
use std::path::{Path, PathBuf};

/// Location of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// SQLite, in one file.
    File(PathBuf),
    /// PostgreSQL, by its URL.
    Server(String),
}

/// Beginnings of a server's URL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

impl Location {
    /// Returns the location that `--db` names.
    pub fn of(name: &Path) -> Location {
        match name.to_str() {
            Some(text) if is_url(text) => Location::Server(text.to_owned()),
            _ => Location::File(name.to_owned()),
        }
    }

    /// True if the file does not exist, so that there is nothing to read.
    pub fn is_absent(&self) -> bool {
        matches!(self, Location::File(path) if !path.exists())
    }
}

/// Without the password, because this is displayed.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(f),
            Location::Server(url) => f.write_str(&redacted(url)),
        }
    }
}

/// True if it is the URL of a server.
pub fn is_url(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Removes the password from a server's URL in an argument, so that the argument can be stored and
/// displayed.
pub fn redacted(argument: &str) -> String {
    let found = SCHEMES.iter().filter_map(|scheme| {
        let at = argument.find(scheme)?;
        Some(at + scheme.len())
    });
    let Some(start) = found.min() else {
        return argument.to_owned();
    };
    let (scheme, rest) = argument.split_at(start);
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or(user)),
        None => authority.to_owned(),
    };
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("password="))
        .collect();
    let query = match kept.is_empty() {
        true => String::new(),
        false => format!("?{}", kept.join("&")),
    };
    format!("{scheme}{authority}{path}{query}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Location, redacted};

    #[test]
    fn a_url_is_a_server_and_anything_else_a_file() {
        let server = Location::of(Path::new("postgres://lab@db/furlong"));
        assert_eq!(server, Location::Server("postgres://lab@db/furlong".into()));
        let file = Location::of(Path::new("postgres.db"));
        assert_eq!(file, Location::File("postgres.db".into()));
        assert!(file.is_absent() && !server.is_absent());
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            (
                "postgres://me:s3cret@db:5432/lab",
                "postgres://me@db:5432/lab",
            ),
            ("postgresql://me:p@ss@db/lab", "postgresql://me@db/lab"),
            ("--db=postgres://me:s3cret@db", "--db=postgres://me@db"),
            (
                "postgres:///lab?host=/run&password=s3cret",
                "postgres:///lab?host=/run",
            ),
            ("postgres://db/lab?user=me", "postgres://db/lab?user=me"),
            ("/home/me/runs.db", "/home/me/runs.db"),
        ] {
            assert_eq!(redacted(url), shown);
        }
        let server = Location::of(Path::new("postgres://me:s3cret@db/lab"));
        assert_eq!(server.to_string(), "postgres://me@db/lab");
    }
}
