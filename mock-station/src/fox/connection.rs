//! One connection to a Fox port: hear the hello, answer it, listen until the client leaves.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::FoxService;
use super::greeting::{Greeting, judge};
use super::identity::Identity;
use super::record::OpenRecord;
use super::scenario::{FoxScenario, FoxSettings};
use super::script::{self, Step};
use crate::server::ServerContext;
use crate::tls::{CertificateProfile, TlsError};

/// Longest connection: nothing follows the challenge, so a client that stays is sent away.
const LONGEST: Duration = Duration::from_secs(60);

pub(super) async fn serve(
    service: FoxService,
    stream: TcpStream,
    secure: bool,
    context: ServerContext,
) {
    let settings = service.settings();
    let record = service
        .shared
        .records
        .open(context.now(), secure, settings.scenario);
    let Ok(_place) = service.shared.places.try_acquire() else {
        tracing::debug!("no free Fox connection");
        return;
    };
    let local = stream
        .local_addr()
        .map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip());
    let visit = Visit {
        service: &service,
        context: &context,
        settings,
        local,
        record,
    };
    match tokio::time::timeout(LONGEST, visit.begin(stream, secure)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a Fox connection ended"),
        Err(_) => tracing::debug!("a Fox client stayed too long"),
    }
}

struct Visit<'a> {
    service: &'a FoxService,
    context: &'a ServerContext,
    settings: FoxSettings,
    local: IpAddr,
    record: OpenRecord,
}

impl Visit<'_> {
    async fn begin(self, stream: TcpStream, secure: bool) -> io::Result<()> {
        let scenario = self.settings.scenario;
        if scenario == FoxScenario::Close {
            return Ok(());
        }
        let speaks_tls = match scenario {
            FoxScenario::TlsOnPlain => true,
            FoxScenario::PlainOnTls => false,
            _ => secure,
        };
        if !speaks_tls {
            return self.talk(stream, secure).await;
        }
        let config = self.tls(scenario).map_err(io::Error::other)?;
        match TlsAcceptor::from(config).accept(stream).await {
            Ok(stream) => self.talk(stream, secure).await,
            Err(error) => {
                self.record.handshake_failed(error.to_string());
                Err(error)
            }
        }
    }

    fn tls(&self, scenario: FoxScenario) -> Result<Arc<ServerConfig>, TlsError> {
        let certificates = &self.service.shared.certificates;
        match scenario {
            FoxScenario::ExpiredCert => certificates.separate_config(&CertificateProfile::Expired),
            FoxScenario::FactoryCert => certificates.separate_config(&CertificateProfile::Factory),
            _ => certificates.server_config(),
        }
    }

    async fn talk<Stream>(&self, mut stream: Stream, secure: bool) -> io::Result<()>
    where
        Stream: AsyncRead + AsyncWrite + Unpin,
    {
        match self.settings.scenario {
            FoxScenario::Silent => {}
            FoxScenario::Echo => return self.echo(&mut stream).await,
            // What arrives is a TLS greeting, which a plain port cannot read; the answer shows the mix-up.
            FoxScenario::PlainOnTls if secure => {
                self.hear(&mut stream, &mut Vec::new()).await?;
                self.answer(&mut stream).await?;
            }
            _ => {
                if !self.greeted(&mut stream).await? {
                    return stream.shutdown().await;
                }
                self.answer(&mut stream).await?;
            }
        }
        while self.hear(&mut stream, &mut Vec::new()).await? > 0 {}
        stream.shutdown().await
    }

    /// Reads until the client has sent its hello, or something else.
    async fn greeted<Stream: AsyncRead + Unpin>(&self, stream: &mut Stream) -> io::Result<bool> {
        let mut heard = Vec::new();
        loop {
            match judge(&heard) {
                Greeting::Hello(_) => {
                    self.record.greeted();
                    return Ok(true);
                }
                Greeting::Refused(reason) => {
                    tracing::debug!(reason, "a client of the Fox port sent no hello");
                    return Ok(false);
                }
                Greeting::Incomplete => {}
            }
            if self.hear(stream, &mut heard).await? == 0 {
                return Ok(false);
            }
        }
    }

    async fn answer<Stream: AsyncWrite + Unpin>(&self, stream: &mut Stream) -> io::Result<()> {
        let identity = Identity::of(self.context, self.local);
        let cut = match self.settings.scenario {
            FoxScenario::Split => self.service.next_cut(),
            _ => 0,
        };
        for step in script::answer(&self.settings, &identity, cut) {
            match step {
                Step::Send(octets) => {
                    stream.write_all(&octets).await?;
                    stream.flush().await?;
                }
                Step::Pause(pause) => tokio::time::sleep(pause).await,
            }
        }
        Ok(())
    }

    async fn echo<Stream>(&self, stream: &mut Stream) -> io::Result<()>
    where
        Stream: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            let mut heard = Vec::new();
            if self.hear(stream, &mut heard).await? == 0 {
                return stream.shutdown().await;
            }
            stream.write_all(&heard).await?;
            stream.flush().await?;
        }
    }

    /// Reads what is there, records it and appends it; 0 when the client has closed.
    async fn hear<Stream: AsyncRead + Unpin>(
        &self,
        stream: &mut Stream,
        heard: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await?;
        let octets = buffer.get(..count).unwrap_or_default();
        self.record.received(octets);
        heard.extend_from_slice(octets);
        Ok(count)
    }
}
