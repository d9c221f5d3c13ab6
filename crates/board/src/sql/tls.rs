//! TLS to a PostgreSQL server, for addresses that say `sslmode=require`.
//!
//! The server's certificate is verified, by the authorities of the file that `PGSSLROOTCERT` names, or the system's. A server
//! that cannot prove who it is, or does not speak TLS, is refused: nothing is sent to it.

use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use std::io::Result as Done;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream as Encrypted;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{Connect, TlsConnector};

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Makes encrypted connections.
#[derive(Clone, Debug)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// With the authorities of `PGSSLROOTCERT`, or the system's.
    pub(super) fn new() -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        match std::env::var_os("PGSSLROOTCERT").map(PathBuf::from) {
            Some(file) => {
                let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
                let found = CertificateDer::pem_file_iter(&file).map_err(|error| told(&error))?;
                for certificate in found {
                    let certificate = certificate.map_err(|error| told(&error))?;
                    roots.add(certificate).map_err(|error| told(&error))?;
                }
                if roots.is_empty() {
                    return Err(told(&"no certificate in it"));
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err("this system has no certificates of authorities".to_owned());
                }
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connector;
    type Error = Failed;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connector, Failed> {
        Ok(Connector {
            config: Arc::clone(&self.0),
            server: ServerName::try_from(domain.to_owned())?,
        })
    }
}

/// What makes one connection.
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> TlsConnect<S> for Connector {
    type Stream = Stream<S>;
    type Error = std::io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        Handshake(TlsConnector::from(self.config).connect(self.server, stream))
    }
}

/// A connection that is being made.
pub(super) struct Handshake<S>(Connect<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = Done<Stream<S>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let made = Pin::new(&mut self.0).poll(context);
        made.map(|stream| stream.map(|stream| Stream(Box::new(stream))))
    }
}

/// An encrypted connection.
pub(super) struct Stream<S>(Box<Encrypted<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    /// The certificate was verified; passwords are not bound to it besides.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Done<()>> {
        Pin::new(&mut *self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Done<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
