//! The account of memory as metrics in Prometheus' text format, served on this machine.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::watch::Seen;
use crate::gauges::{Gauge, Reading, Unit, of_account};

/// The most bytes of a request's head, and the most headers.
const LONGEST: usize = 16 * 1024;
const HEADERS: usize = 64;
/// The longest that a request may take to arrive, and an answer to be read. There is one connection at a time.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often the parts are looked at.
const PERIOD: Gauge = Gauge {
    name: "hprof.memory.period",
    unit: Unit::Seconds,
    help: "The time between two looks.",
};
/// The only page.
const PATH: &str = "/metrics";

/// The port on which metrics are served.
pub struct Server {
    listener: TcpListener,
    port: u16,
}

/// An answer: the status with its name, and the body.
type Answer = (&'static str, String);

impl Server {
    /// Listens on the loopback; 0 is a free port.
    pub fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Answers a request, if there is one; otherwise waits for so long.
    pub fn answer(
        &self,
        seen: impl FnOnce() -> std::sync::Arc<Seen>,
        wait: Duration,
    ) -> io::Result<()> {
        match self.listener.accept() {
            Ok((mut stream, _)) => {
                // Who goes away wants no answer.
                let _ = answer(&mut stream, self.port, seen);
                Ok(())
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {
                    thread::sleep(wait);
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }
}

fn answer(
    stream: &mut TcpStream,
    port: u16,
    seen: impl FnOnce() -> std::sync::Arc<Seen>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let head = head(stream)?;
    let (status, body) = match judge(&head, port) {
        Ok(()) => ("200 OK", text(&seen())),
        Err((status, why)) => (status, why),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Reads the head of a request, which must arrive in time.
fn head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let end = Instant::now() + TIMEOUT;
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..count]);
        if count == 0 || head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(head);
        }
    }
}

/// Checks a request. One for another host comes from a page in a browser that wants to read the answer.
fn judge(head: &[u8], port: u16) -> Result<(), Answer> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(head);
    if !parsed.is_ok_and(|status| status.is_complete()) {
        return Err(("400 Bad Request", "this is no HTTP request\n".to_owned()));
    }
    let named = request.headers.iter();
    let mut named = named.filter(|header| header.name.eq_ignore_ascii_case("host"));
    let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    let is_own = |value: &[u8]| hosts.iter().any(|host| host.as_bytes() == value);
    if !named.next().is_some_and(|header| is_own(header.value)) {
        let what = "this is not the host that was asked for\n";
        return Err(("403 Forbidden", what.to_owned()));
    }
    match (request.method, request.path) {
        (Some("GET"), Some(PATH)) => Ok(()),
        (Some("GET"), _) => Err(("404 Not Found", format!("there is only {PATH}\n"))),
        _ => Err(("405 Method Not Allowed", "there is only GET\n".to_owned())),
    }
}

/// Returns the metrics; only the period if there was no look yet.
pub fn text(seen: &Seen) -> String {
    let mut out = String::new();
    let period = [(None, seen.period.as_secs_f64())];
    write_gauge(&mut out, &PERIOD, period);
    for Reading { gauge, values } in seen.course.last().map(of_account).unwrap_or_default() {
        let values = values.into_iter();
        write_gauge(
            &mut out,
            &gauge,
            values.map(|(part, value)| (part, value as f64)),
        );
    }
    out
}

/// Adds a gauge with the values of its parts.
fn write_gauge(
    out: &mut String,
    gauge: &Gauge,
    values: impl IntoIterator<Item = (Option<&'static str>, f64)>,
) {
    let (name, help) = (gauge.prometheus_name(), gauge.help);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
    for (part, value) in values {
        let _ = match part {
            Some(part) => writeln!(out, "{name}{{part=\"{part}\"}} {value}"),
            None => writeln!(out, "{name} {value}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::tests::seen;
    use super::*;

    #[test]
    fn parts_are_gauges_that_add_up() {
        let text = text(&seen());
        for line in [
            "# TYPE hprof_memory_resident_bytes gauge",
            "hprof_memory_resident_bytes{part=\"direct_buffers\"} 400000000",
            "hprof_resident_bytes 500000000",
            "hprof_cgroup_limit_bytes 1000000000",
            "hprof_memory_period_seconds 2",
        ] {
            assert!(
                text.lines().any(|of_text| of_text == line),
                "{line}: {text}"
            );
        }
        let parts = text
            .lines()
            .filter_map(|line| line.strip_prefix("hprof_memory_resident_bytes{"));
        let bytes = parts.filter_map(|line| line.split_once("} ")?.1.parse::<u64>().ok());
        assert_eq!(bytes.sum::<u64>(), 500_000_000);
        // What is unknown is no zero.
        assert!(!text.contains("hprof_direct_buffers"), "{text}");
        assert!(!super::text(&Seen::default()).contains("part="));
    }

    #[test]
    fn only_this_machine_may_ask_for_the_page() {
        let ask = |head: &str| judge(head.as_bytes(), 9404).map_err(|(status, _)| status);
        let host = "Host: 127.0.0.1:9404\r\n\r\n";
        assert_eq!(ask(&format!("GET /metrics HTTP/1.1\r\n{host}")), Ok(()));
        assert_eq!(
            ask("GET /metrics HTTP/1.1\r\nHost: localhost:9404\r\n\r\n"),
            Ok(())
        );
        for (head, status) in [
            (format!("GET / HTTP/1.1\r\n{host}"), "404 Not Found"),
            (
                format!("POST /metrics HTTP/1.1\r\n{host}"),
                "405 Method Not Allowed",
            ),
            (
                "GET /metrics HTTP/1.1\r\nHost: evil.example:9404\r\n\r\n".to_owned(),
                "403 Forbidden",
            ),
            ("GET /metrics HTTP/1.1\r\n\r\n".to_owned(), "403 Forbidden"),
            ("nonsense".to_owned(), "400 Bad Request"),
        ] {
            assert_eq!(ask(&head), Err(status), "{head}");
        }
    }
}
