//! `net=`: the receiver's address.

use std::fmt;

/// The address a receiver listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host name, or the IP address without brackets.
    pub host: String,
    /// The port, not 0.
    pub port: u16,
}

impl Address {
    /// Parses `host:port`. An IPv6 address must be in brackets, and nothing else may be.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (host, port) = value.rsplit_once(':')?;
        let literal = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = literal.unwrap_or(host);
        let is_plain = !host.contains(['[', ']']) && host.contains(':') == literal.is_some();
        let is_number = port.bytes().all(|digit| digit.is_ascii_digit());
        let port = port.parse().ok().filter(|&port| port != 0 && is_number)?;
        (is_plain && !host.is_empty()).then(|| Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match host.contains(':') {
            true => write!(formatter, "[{host}]:{port}"),
            false => write!(formatter, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port() {
        for value in [
            "localhost:1",
            "127.0.0.1:65535",
            "[::1]:9000",
            "[fe80::1%eth0]:80",
        ] {
            assert_eq!(
                Address::parse(value)
                    .map(|address| address.to_string())
                    .as_deref(),
                Some(value)
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let wrong = [
            "",
            "host",
            "host:",
            ":80",
            "host:0",
            "host:65536",
            "host:+80",
            "host:x",
            "::1:80",
            "[]:80",
            "[::1]",
            "[::1:80",
            "[host]:80",
            "a]:80",
        ];
        for value in wrong {
            assert_eq!(Address::parse(value), None, "{value}");
        }
    }
}
