//! Sends requests to a collector, repeating them as needed.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hprof_profile::export::{explanation, rejected};
use ureq::http::HeaderMap;
use ureq::{Agent, Body};

use super::endpoint::{Endpoint, Signal};

/// The longest that a connection may take to be established.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest that one request may take in total.
const REQUEST: Duration = Duration::from_secs(60);
/// The first pause, and the longest one not requested by the collector.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// The most bytes of an answer that are read.
const ANSWER: u64 = 64 * 1024;
/// The most letters of a collector's message that are shown.
const TOLD: usize = 200;

/// A collector.
pub struct Collector {
    agent: Agent,
    endpoint: Endpoint,
    timeout: Duration,
}

/// The reason a request was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {what}{}", asked(*.tries, *.spent))]
pub struct PushError {
    url: String,
    what: Refusal,
    /// The number of attempts.
    tries: u32,
    spent: Duration,
}

fn asked(tries: u32, spent: Duration) -> String {
    match tries {
        0 | 1 => String::new(),
        _ => format!(", asked {tries} times in {:.1} s", spent.as_secs_f64()),
    }
}

#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("{0}")]
    Connection(ureq::Error),
    #[error("answered {status}{}", colon(.said))]
    Status { status: u16, said: String },
    #[error("rejected {count} {items}{}", colon(.said))]
    Partly {
        count: i64,
        items: &'static str,
        said: String,
    },
    #[error("{0}")]
    Answer(ureq::Error),
}

fn colon(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

/// The result of one attempt.
enum Outcome {
    Taken,
    /// It may be accepted later, after at least this time if the collector specifies one.
    Later(Refusal, Option<Duration>),
    Never(Refusal),
}

impl PushError {
    /// Returns `true` if the collector has no such path, as one that does not take a signal.
    pub fn is_unknown_path(&self) -> bool {
        matches!(self.what, Refusal::Status { status: 404, .. })
    }
}

impl Collector {
    /// Creates a collector to which requests are repeated for `timeout` while it is busy.
    pub fn new(endpoint: Endpoint, timeout: Duration) -> Collector {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Nobody else may get the profile: neither a proxy from the environment, nor a host that an answer names.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(REQUEST))
            .user_agent(concat!("hprof/", env!("CARGO_PKG_VERSION")))
            .build();
        Collector {
            agent: config.new_agent(),
            endpoint,
            timeout,
        }
    }

    /// Sends a request until it is accepted, finally refused, or the time is up.
    pub fn send(&self, signal: Signal, request: &[u8]) -> Result<(), PushError> {
        let url = self.endpoint.url(signal);
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            tries += 1;
            let (what, asked) = match self.ask(signal, &url, request) {
                Outcome::Taken => return Ok(()),
                Outcome::Never(what) => (what, None),
                Outcome::Later(what, wanted) => (what, Some(wanted.unwrap_or(jittered(pause)))),
            };
            let spent = begun.elapsed();
            match asked {
                Some(wait) if spent + wait <= self.timeout => thread::sleep(wait),
                _ => {
                    return Err(PushError {
                        url,
                        what,
                        tries,
                        spent,
                    });
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn ask(&self, signal: Signal, url: &str, request: &[u8]) -> Outcome {
        let sent = self
            .agent
            .post(url)
            .header("content-type", "application/x-protobuf")
            .send(request);
        let mut response = match sent {
            Ok(response) => response,
            Err(error) if is_passing(&error) => {
                return Outcome::Later(Refusal::Connection(error), None);
            }
            Err(error) => return Outcome::Never(Refusal::Answer(error)),
        };
        let status = response.status().as_u16();
        let answer = read(response.body_mut());
        match status {
            200..300 => match rejected(&answer) {
                None => Outcome::Taken,
                Some((count, said)) => Outcome::Never(Refusal::Partly {
                    count,
                    items: signal.items(),
                    said: shown(&said),
                }),
            },
            status => {
                let said = shown(&explanation(&answer));
                let refusal = Refusal::Status { status, said };
                match status {
                    429 | 502 | 503 | 504 => Outcome::Later(refusal, wanted(response.headers())),
                    _ => Outcome::Never(refusal),
                }
            }
        }
    }
}

/// Returns `true` for an error that may not occur the next time.
fn is_passing(error: &ureq::Error) -> bool {
    matches!(
        error,
        ureq::Error::Io(_)
            | ureq::Error::Timeout(_)
            | ureq::Error::HostNotFound
            | ureq::Error::ConnectionFailed
    )
}

fn read(body: &mut Body) -> Vec<u8> {
    let mut answer = Vec::new();
    // The status says what matters; a missing message is ignored.
    let _ = body.as_reader().take(ANSWER).read_to_end(&mut answer);
    answer
}

/// Returns one line of a collector's message.
fn shown(said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().collect();
    words.join(" ").chars().take(TOLD).collect()
}

/// Returns the pause that the collector requests: seconds, or a date.
fn wanted(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = chrono::DateTime::parse_from_rfc2822(value).ok()?;
    let until = SystemTime::from(date).duration_since(SystemTime::now());
    // A date in the past means now.
    Some(until.unwrap_or_default())
}

/// Returns between half of a pause and all of it, so that clients refused at the same time do not come back at the same
/// time.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 1];
    // Without random bytes, the whole pause is fine too.
    let _ = getrandom::fill(&mut random);
    pause - pause * u32::from(random[0]) / 512
}
