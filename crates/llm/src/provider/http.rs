//! Providers that are reached over HTTP: blocking, streamed, without an async runtime.

use super::Provider;
use super::stream::{Broken, Events, whole};
use super::wire::{End, Partial, Protocol, error_text};
use crate::chat::{Answer, LONGEST_ANSWER, Request};
use crate::error::Error;
use crate::key::Key;
use std::io::BufReader;
use std::time::Duration;
use ureq::Agent;

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte.
    pub silence: Duration,
    /// For everything.
    pub call: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(120),
            call: Duration::from_secs(900),
        }
    }
}

/// A server that speaks one of the protocols.
#[derive(Debug)]
pub struct Server {
    protocol: Protocol,
    name: String,
    url: String,
    key: Option<Key>,
    timeouts: Timeouts,
    agent: Agent,
}

/// Where a server is, and how it is reached.
#[derive(Clone, Debug)]
pub struct Place {
    /// The protocol.
    pub protocol: Protocol,
    /// Its name in messages.
    pub name: String,
    /// The address below which the protocol's path lies: `http://localhost:8080/v1`.
    pub base: String,
    /// The key, where the server wants one.
    pub key: Option<Key>,
    /// The proxy, where one is needed: `http://proxy:3128`.
    pub proxy: Option<String>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl Server {
    /// A server at a place; nothing is sent yet.
    pub fn new(place: Place) -> Result<Server, Error> {
        let unreachable = |why: String| Error::Unreachable {
            provider: place.name.clone(),
            why,
        };
        if !place.base.starts_with("http://") && !place.base.starts_with("https://") {
            let why = format!("{} is no address: write http://… or https://…", place.base);
            return Err(unreachable(why));
        }
        let proxy = match &place.proxy {
            Some(proxy) => {
                Some(ureq::Proxy::new(proxy).map_err(|error| unreachable(error.to_string()))?)
            }
            None => None,
        };
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A key is sent to the server it is meant for and to nobody it points to.
            .max_redirects(0)
            .user_agent(concat!("assay/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(place.timeouts.connect))
            .timeout_per_read(Some(place.timeouts.silence))
            .timeout_global(Some(place.timeouts.call))
            .proxy(proxy);
        #[cfg(target_os = "macos")]
        {
            let tls = ureq::tls::TlsConfig::builder()
                .provider(ureq::tls::TlsProvider::NativeTls)
                .root_certs(ureq::tls::RootCerts::PlatformVerifier);
            config = config.tls_config(tls.build());
        }
        config = config.https_only(place.base.starts_with("https://"));
        let base = place.base.trim_end_matches('/');
        Ok(Server {
            url: format!("{base}/{}", place.protocol.path()),
            protocol: place.protocol,
            name: place.name,
            key: place.key,
            timeouts: place.timeouts,
            agent: Agent::new_with_config(config.build()),
        })
    }

    /// A text of the server's without the key, should it be in there.
    fn redacted(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.redact(text),
            None => text.to_owned(),
        }
    }

    fn broken(&self, broken: &Broken) -> Error {
        match broken {
            Broken::Silent => self.timed_out(),
            Broken::Reset => Error::Interrupted {
                provider: self.name.clone(),
            },
            Broken::TooLong => Error::TooLong {
                limit: LONGEST_ANSWER,
            },
        }
    }

    fn timed_out(&self) -> Error {
        Error::TimedOut {
            provider: self.name.clone(),
            seconds: self.timeouts.silence.min(self.timeouts.call).as_secs(),
        }
    }

    fn malformed(&self, why: &str) -> Error {
        Error::Malformed {
            provider: self.name.clone(),
            why: why.to_owned(),
        }
    }

    /// What a status that is no success means.
    fn refused(&self, status: u16, retry_after: Option<Duration>, body: &[u8]) -> Error {
        let text = String::from_utf8_lossy(body);
        let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        let why = match &json {
            Some(value) => error_text(value.get("error").unwrap_or(value)),
            None => text
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(300)
                .collect(),
        };
        let (provider, why) = (self.name.clone(), self.redacted(&why));
        match status {
            408 | 409 | 425 | 429 | 500..=599 => Error::Busy {
                provider,
                status,
                why,
                retry_after,
            },
            _ => Error::Refused {
                provider,
                status,
                why,
            },
        }
    }

    fn send(&self, request: &Request) -> Result<ureq::http::Response<ureq::Body>, Error> {
        let body = self.protocol.body(request).to_string();
        let mut post = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json");
        if let Some(key) = &self.key {
            post = match self.protocol {
                Protocol::Anthropic => post.header("x-api-key", key.secret()),
                Protocol::OpenAi { .. } => {
                    post.header("authorization", format!("Bearer {}", key.secret()))
                }
            };
        }
        if self.protocol == Protocol::Anthropic {
            post = post.header("anthropic-version", "2023-06-01");
        }
        post.send(body).map_err(|error| match error {
            ureq::Error::Timeout(_) => self.timed_out(),
            other => Error::Unreachable {
                provider: self.name.clone(),
                why: self.redacted(&other.to_string()),
            },
        })
    }

    /// Reads events until the answer ends.
    fn listen(
        &self,
        reader: impl std::io::Read,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Partial, Error> {
        let mut events = Events::new(BufReader::new(reader));
        let mut partial = Partial::default();
        while let Some(data) = events.next_data().map_err(|it| self.broken(&it))? {
            if data == "[DONE]" {
                break;
            }
            let event = serde_json::from_str(&data);
            let event = event.map_err(|_| self.malformed("an event is no JSON"))?;
            self.protocol.hear(&mut partial, &event);
            if partial.too_long {
                break;
            }
            if !heard(partial.text.len()) {
                return Err(Error::Stopped);
            }
        }
        Ok(partial)
    }

    fn concluded(&self, request: &Request, partial: Partial) -> Result<Answer, Error> {
        if partial.too_long {
            let limit = LONGEST_ANSWER;
            return Err(Error::TooLong { limit });
        }
        if let Some(why) = partial.error {
            return Err(Error::Busy {
                provider: self.name.clone(),
                status: 200,
                why: self.redacted(&why),
                retry_after: None,
            });
        }
        if !partial.understood {
            return Err(self.malformed("it holds nothing that the protocol knows"));
        }
        let usage = partial.usage();
        match partial.end {
            Some(End::Whole) => Ok(Answer {
                text: partial.text,
                usage,
            }),
            Some(End::Cut) => Err(Error::Cut {
                limit: request.max_tokens,
            }),
            Some(End::Declined(why)) => Err(Error::Declined { why }),
            None => Err(Error::Interrupted {
                provider: self.name.clone(),
            }),
        }
    }
}

impl Provider for Server {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn complete(
        &self,
        request: &Request,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Answer, Error> {
        let mut response = self.send(request)?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        let retry_after = header("retry-after").and_then(|text| text.trim().parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        let streamed = header("content-type").is_some_and(|it| it.contains("event-stream"));
        let mut reader = response.body_mut().as_reader();
        if !(200..300).contains(&status) {
            let body = whole(&mut reader).unwrap_or_default();
            return Err(self.refused(status, retry_after, &body));
        }
        let partial = match streamed {
            true => self.listen(reader, heard)?,
            false => {
                let body = whole(&mut reader).map_err(|it| self.broken(&it))?;
                let value = serde_json::from_slice(&body);
                let value = value.map_err(|_| self.malformed("it is no JSON"))?;
                let mut partial = Partial::default();
                self.protocol.hear(&mut partial, &value);
                partial
            }
        };
        self.concluded(request, partial)
    }
}
