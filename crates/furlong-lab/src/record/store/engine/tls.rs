//! TLS to a PostgreSQL server. `sslmode` and `sslrootcert` in its URL mean what they mean to libpq.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encryption of a connection, and the checks of the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Plain text.
    Disable,
    /// TLS if the server has it; its certificate is not checked.
    #[default]
    Prefer,
    /// TLS; its certificate is checked only if a file of authorities is named.
    Require,
    /// TLS with a certificate of a known authority.
    VerifyCa,
    /// The same, and the certificate is for this host.
    VerifyFull,
}

impl Mode {
    const ALL: [(&str, Mode); 5] = [
        ("disable", Mode::Disable),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];
}

/// The parameters of a URL that concern TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    mode: Mode,
    /// File of the authorities; `None` for those of the system.
    roots: Option<PathBuf>,
}

impl Wish {
    /// Takes the parameters out of a URL, because the driver knows only some of them. Returns the
    /// rest of the URL, too.
    pub(super) fn taken(url: &str) -> Result<(String, Wish), String> {
        let mut wish = Wish::default();
        let Some((address, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), wish));
        };
        let mut kept: Vec<&str> = vec![];
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "sslmode" => {
                    let known = Mode::ALL.iter().find(|(name, _)| *name == value);
                    let names = Mode::ALL.map(|(name, _)| name).join(", ");
                    let unknown = || format!("sslmode is `{value}`, not one of {names}");
                    wish.mode = known.ok_or_else(unknown)?.1;
                }
                "sslrootcert" if value == "system" => wish.roots = None,
                "sslrootcert" => wish.roots = Some(PathBuf::from(&*value)),
                _ => kept.push(pair),
            }
        }
        if wish.mode == Mode::Require && wish.roots.is_some() {
            wish.mode = Mode::VerifyCa;
        }
        let query = kept.join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        Ok((format!("{address}{mark}{query}"), wish))
    }

    /// Returns the connector for a server, and sets the driver's mode; `None` for plain text. A
    /// local socket is never encrypted.
    pub(super) fn connector(
        &self,
        config: &mut Config,
    ) -> Result<Option<MakeRustlsConnect>, String> {
        let is_local = |host: &Host| matches!(host, Host::Unix(_));
        // An address (hostaddr) is reached by the network, whatever the host's name.
        let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
        let local = addresses.is_empty() && !hosts.is_empty() && hosts.iter().all(is_local);
        let mode = if local { Mode::Disable } else { self.mode };
        config.ssl_mode(match mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        if mode == Mode::Disable {
            return Ok(None);
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match mode {
            Mode::VerifyFull => builder.with_root_certificates(self.roots()?),
            _ => {
                let checked = (mode == Mode::VerifyCa).then(|| self.roots()).transpose()?;
                let issuer = checked.map(|roots| {
                    WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
                        .build()
                });
                let issuer = issuer.transpose().map_err(|error| error.to_string())?;
                let verifier = AnyName { provider, issuer };
                let builder = builder.dangerous();
                builder.with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        Ok(Some(MakeRustlsConnect::new(builder.with_no_client_auth())))
    }

    /// Returns the authorities.
    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let Some(path) = &self.roots else {
            let found = rustls_native_certs::load_native_certs().certs;
            let (added, _) = roots.add_parsable_certificates(found);
            return match added {
                0 => Err(
                    "this system has no certificate authorities: name a file of them with \
                     sslrootcert=FILE"
                        .to_owned(),
                ),
                _ => Ok(roots),
            };
        };
        let wrong = |what: String| {
            format!(
                "sslrootcert {} {what}: name a file of authorities in the form PEM",
                path.display()
            )
        };
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let read: Vec<CertificateDer<'_>> =
            read.map_err(|error| wrong(format!("cannot be read ({error})")))?;
        for certificate in read {
            let added = roots.add(certificate);
            added.map_err(|error| wrong(format!("is not usable ({error})")))?;
        }
        match roots.is_empty() {
            true => Err(wrong("has no certificate".to_owned())),
            false => Ok(roots),
        }
    }

    /// Explains why a connection failed, if TLS is the reason.
    pub(super) fn refusal(&self, error: &postgres::Error) -> Option<String> {
        if let Some(said) = error.as_db_error() {
            let plain = ["no encryption", "SSL off"];
            let unencrypted = plain.iter().any(|text| said.message().contains(text));
            let refused = *said.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
            return (refused && unencrypted && self.mode == Mode::Disable).then(|| {
                "accepts encrypted connections only: give sslmode=require in its URL".to_owned()
            });
        }
        let cause = error.source()?;
        if cause.to_string() == "server does not support TLS" {
            return Some(
                "does not offer TLS: turn `ssl` on at the server (sslmode=prefer connects without \
                 TLS)"
                    .to_owned(),
            );
        }
        let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
        let told = inner.downcast_ref::<rustls::Error>()?;
        Some(match told {
            // The second is an authority of the same name with another key.
            rustls::Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => "has a certificate of an unknown authority: give the authority's own certificate \
                 with sslrootcert=FILE in its URL"
                .to_owned(),
            rustls::Error::InvalidCertificate(what) if is_name(what) => format!(
                "has a certificate for another host ({told}): connect by a name in the \
                 certificate, or give sslmode=verify-ca"
            ),
            _ => format!("cannot be reached over TLS ({told}): check its certificate"),
        })
    }
}

/// True if a certificate is valid, but not for this host.
fn is_name(what: &CertificateError) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(what, NotValidForName | NotValidForNameContext { .. })
}

/// Accepts a certificate for any host. libpq does so below `verify-full`, and rustls has no such
/// mode of its own.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    /// Check of the authority, if there is one.
    issuer: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(issuer) = &self.issuer else {
            return Ok(ServerCertVerified::assertion());
        };
        match issuer.verify_server_cert(own, chain, host, ocsp, now) {
            // The name is checked last, so everything else is valid.
            Err(rustls::Error::InvalidCertificate(what)) if is_name(&what) => {
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, own, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, own, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Mode, Wish};

    #[test]
    fn the_parameters_are_taken_out_of_the_url() {
        let wish = |mode, roots: Option<&str>| Wish {
            mode,
            roots: roots.map(PathBuf::from),
        };
        for (url, rest, wanted) in [
            ("postgres://db/lab", "postgres://db/lab", Wish::default()),
            (
                "postgres://db/lab?sslmode=verify-full&user=me&sslrootcert=/a%20b.crt",
                "postgres://db/lab?user=me",
                wish(Mode::VerifyFull, Some("/a b.crt")),
            ),
            (
                "postgres://db?sslmode=verify-ca&sslrootcert=system",
                "postgres://db",
                wish(Mode::VerifyCa, None),
            ),
            // A named authority is checked, as by libpq.
            (
                "postgres://db?sslrootcert=ca.crt&sslmode=require",
                "postgres://db",
                wish(Mode::VerifyCa, Some("ca.crt")),
            ),
        ] {
            assert_eq!(Wish::taken(url), Ok((rest.to_owned(), wanted)));
        }
        // Only a socket is local; an address is not, whatever its host is called.
        for (url, is_plain) in [
            ("postgres:///lab?host=/run/postgresql", true),
            ("postgres://u@/lab?hostaddr=10.0.0.5", false),
            (
                "postgres:///lab?host=/run/postgresql&hostaddr=10.0.0.5",
                false,
            ),
            ("postgres://db/lab", false),
        ] {
            let wish = wish(Mode::VerifyFull, None);
            let mut config = url.parse().unwrap();
            let connector = wish.connector(&mut config).unwrap();
            assert_eq!(connector.is_none(), is_plain, "{url}");
        }
        let wrong = Wish::taken("postgres://db?sslmode=maybe").unwrap_err();
        assert!(wrong.contains("`maybe`") && wrong.contains("verify-full"));
    }
}
