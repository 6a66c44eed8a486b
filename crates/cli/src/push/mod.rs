//! `hprof push`: profiles for OpenTelemetry collectors.

mod collector;
mod endpoint;

use std::io::{self, Write};
use std::time::Duration;

use hprof_format::{MemoryLook, printable};
use hprof_profile::Profile;
use hprof_profile::export::{self, LimitTooSmall, Origin, Requests};

use crate::failure::Failure;
use crate::gauges::of_looks;
use crate::origin::{SERVICE, UNKNOWN_SERVICE};
use crate::profile::Choice;
use crate::size;
use crate::span::SpanChoice;
use collector::{Collector, PushError};
pub use endpoint::Endpoint;
use endpoint::Signal;

/// Send a profile to an OpenTelemetry collector (OTLP over HTTP)
///
/// All values of the profile are sent, each as an OpenTelemetry profile
/// (v1development, protobuf), in as many requests as the limit requires, and the
/// memory of the process over time, if the file has it, as gauges. No connection is
/// made other than to the URL. If the collector is unavailable or busy (429, 502,
/// 503, 504), the request is repeated after a while.
///
/// Exit status 1 means that not all of it was accepted.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,

    #[command(flatten)]
    span: SpanChoice,

    /// The collector, as in http://localhost:4318; /v1development/profiles and /v1/metrics are added
    #[arg(long, value_name = "URL")]
    otlp: Endpoint,

    #[command(flatten)]
    options: PushOptions,
}

/// The options of sending profiles.
#[derive(Clone, clap::Args)]
pub struct PushOptions {
    /// The name of the program at the collector (`service.name`)
    #[arg(
        long,
        value_name = "NAME",
        default_value = UNKNOWN_SERVICE,
        requires = "otlp"
    )]
    service: String,

    /// A further attribute of the program, as in host.name=db7; may be given several times
    #[arg(long = "attribute", value_name = "KEY=VALUE", requires = "otlp")]
    attributes: Vec<Attribute>,

    /// The most bytes per request; the number may end in k, m or g
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, default_value = "4m", requires = "otlp")]
    max_request: u64,

    /// The time for which a request to an unavailable or busy collector is repeated; 0 tries once
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "otlp")]
    retry: u32,
}

/// An attribute of the program.
#[derive(Clone, Debug, PartialEq)]
struct Attribute {
    key: String,
    value: String,
}

/// The reason an attribute is invalid.
#[derive(Debug, PartialEq, thiserror::Error)]
enum NoAttribute {
    #[error("an attribute is KEY=VALUE")]
    Form,
    #[error("process.pid is a number")]
    Process,
}

/// The only attribute that is a number.
const PROCESS: &str = "process.pid";

impl std::str::FromStr for Attribute {
    type Err = NoAttribute;

    fn from_str(text: &str) -> Result<Attribute, NoAttribute> {
        let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = parts.ok_or(NoAttribute::Form)?;
        if key == PROCESS && value.parse::<u32>().is_err() {
            return Err(NoAttribute::Process);
        }
        Ok(Attribute {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// The amount that a collector has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    pub requests: u64,
    pub samples: u64,
    pub bytes: u64,
    /// The looks at the memory of the process.
    pub looks: u64,
    /// Set if there are some, and the collector does not take metrics.
    pub without_looks: bool,
}

/// The reason it has not accepted everything.
#[derive(Debug, thiserror::Error)]
enum NotPushed {
    #[error("--max-request: {0}")]
    Limit(#[from] LimitTooSmall),
    #[error("{error}; it has taken {taken} of {all} requests")]
    Collector {
        error: PushError,
        taken: u64,
        all: u64,
    },
}

/// Sends the profile.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = &arguments.choice.file;
    let opened = arguments.choice.open_part(&arguments.span)?;
    // A file without costs is reported as such.
    opened.metric(file, None)?;
    let target = Target::new(arguments.otlp.clone(), arguments.options.clone());
    let pushed = target.push(&opened.profile, &[])?;
    let Pushed {
        requests,
        samples,
        bytes,
        looks,
        without_looks,
    } = pushed;
    let file = file.display().to_string();
    let file = printable(&file);
    let mut message = format!(
        "{file}: {samples} samples{} in {requests} request{}, {bytes} bytes, to {}",
        match looks {
            0 => String::new(),
            looks => format!(" and memory at {looks} moments"),
        },
        if requests == 1 { "" } else { "s" },
        arguments.otlp.url(Signal::Profiles)
    );
    if looks > 0 {
        message.push_str(&format!(" and {}", arguments.otlp.url(Signal::Metrics)));
    }
    if without_looks {
        let url = arguments.otlp.url(Signal::Metrics);
        let _ = writeln!(
            io::stderr(),
            "hprof: {file}: the memory of the process was not sent: {url} does not exist"
        );
    }
    writeln!(io::stdout(), "{message}")
        .map_err(|error| Failure::writing(std::path::Path::new("standard output"), &error))?;
    opened.finish()
}

/// The collector that profiles are sent to, and the options.
pub struct Target {
    collector: Collector,
    options: PushOptions,
}

impl Target {
    pub fn new(endpoint: Endpoint, options: PushOptions) -> Target {
        let timeout = Duration::from_secs(options.retry.into());
        Target {
            collector: Collector::new(endpoint, timeout),
            options,
        }
    }

    /// Sends a profile; `known` are attributes from the caller, which options override.
    pub fn push(&self, profile: &Profile, known: &[(&str, String)]) -> Result<Pushed, Failure> {
        let pushed = self.try_to_push(profile, known);
        pushed.map_err(|error| Failure::Message(error.to_string()))
    }

    fn try_to_push(
        &self,
        profile: &Profile,
        known: &[(&str, String)],
    ) -> Result<Pushed, NotPushed> {
        let limit = usize::try_from(self.options.max_request).unwrap_or(usize::MAX);
        let requests = || Requests::new(profile, self.options.origin(known), limit);
        // Nothing is sent if a part would not fit.
        let mut all = 0;
        for request in requests() {
            request?;
            all += 1;
        }
        let memory = self.memory(profile, known)?;
        all += memory.len() as u64;
        let mut pushed = Pushed::default();
        let failed = |taken| move |error| NotPushed::Collector { error, taken, all };
        for request in requests() {
            let request = request?;
            let sent = self.collector.send(Signal::Profiles, &request.bytes);
            sent.map_err(failed(pushed.requests))?;
            pushed.requests += 1;
            pushed.samples += request.samples;
            pushed.bytes += request.bytes.len() as u64;
        }
        for MemoryRequest { bytes, looks } in memory {
            match self.collector.send(Signal::Metrics, &bytes) {
                // It got all that it can show.
                Err(error) if error.is_unknown_path() => {
                    pushed.without_looks = true;
                    break;
                }
                sent => sent.map_err(failed(pushed.requests))?,
            }
            pushed.requests += 1;
            pushed.looks += looks;
            pushed.bytes += bytes.len() as u64;
        }
        Ok(pushed)
    }

    /// Returns the requests with the memory of the process.
    fn memory(
        &self,
        profile: &Profile,
        known: &[(&str, String)],
    ) -> Result<Vec<MemoryRequest>, LimitTooSmall> {
        let limit = usize::try_from(self.options.max_request).unwrap_or(usize::MAX);
        let mut requests = Vec::new();
        let mut left: Vec<&[MemoryLook]> = vec![&profile.history.memory];
        while let Some(looks) = left.pop() {
            let origin = self.options.origin(known).of(profile);
            let bytes = export::gauges(origin, of_looks(profile.created, looks));
            match looks.len() {
                0 => {}
                1 if bytes.len() > limit => {
                    let size = bytes.len();
                    return Err(LimitTooSmall { size, limit });
                }
                half if bytes.len() > limit => {
                    let (earlier, later) = looks.split_at(half / 2);
                    left.extend([later, earlier]);
                }
                _ => requests.push(MemoryRequest {
                    bytes,
                    looks: looks.len() as u64,
                }),
            }
        }
        Ok(requests)
    }
}

/// A request with some of the looks at the memory of the process.
struct MemoryRequest {
    bytes: Vec<u8>,
    looks: u64,
}

impl PushOptions {
    fn origin(&self, known: &[(&str, String)]) -> Origin {
        let mut origin = Origin::default();
        origin.set(SERVICE, &self.service);
        for (key, value) in known {
            origin.set(key, value);
        }
        for Attribute { key, value } in &self.attributes {
            match value.parse() {
                Ok(number) if key == PROCESS => origin.set_number(key, number),
                _ => origin.set(key, value),
            }
        }
        origin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_a_key_and_a_value() {
        let attribute = "host.name=a=b".parse::<Attribute>();
        let expected = Attribute {
            key: "host.name".to_owned(),
            value: "a=b".to_owned(),
        };
        assert_eq!(attribute, Ok(expected));
        assert_eq!("=x".parse::<Attribute>(), Err(NoAttribute::Form));
        assert_eq!("x".parse::<Attribute>(), Err(NoAttribute::Form));
        assert_eq!(
            "process.pid=x".parse::<Attribute>(),
            Err(NoAttribute::Process)
        );
    }
}
