//! The URL of a collector.

use std::str::FromStr;

use ureq::http::Uri;

/// What a collector is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Profiles,
    Metrics,
}

impl Signal {
    /// Returns the path of OTLP over HTTP.
    fn path(self) -> &'static str {
        match self {
            Signal::Profiles => "/v1development/profiles",
            Signal::Metrics => "/v1/metrics",
        }
    }

    /// Returns what a collector counts that it has rejected.
    pub fn items(self) -> &'static str {
        match self {
            Signal::Profiles => "profiles",
            Signal::Metrics => "values",
        }
    }
}

/// A collector's URL, to which the path of a signal is added.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint(String);

/// The reason a URL is invalid.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum NoEndpoint {
    #[error("is not a URL such as http://localhost:4318")]
    Form,
    #[error(
        "only http:// is supported; a collector or proxy on this machine can forward profiles over TLS"
    )]
    Scheme,
    #[error(
        "must not contain a user name or password, which others could read in the list of processes"
    )]
    Credentials,
    #[error("must not contain ? or #")]
    Query,
}

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    fn from_str(text: &str) -> Result<Endpoint, NoEndpoint> {
        if text.contains('#') {
            return Err(NoEndpoint::Query);
        }
        let uri: Uri = text.parse().map_err(|_| NoEndpoint::Form)?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(NoEndpoint::Scheme),
            _ => return Err(NoEndpoint::Form),
        }
        let authority = uri.authority().ok_or(NoEndpoint::Form)?;
        if authority.as_str().contains('@') {
            return Err(NoEndpoint::Credentials);
        }
        if uri.query().is_some() {
            return Err(NoEndpoint::Query);
        }
        let base = uri.path().trim_end_matches('/');
        let base = base.strip_suffix(Signal::Profiles.path()).unwrap_or(base);
        Ok(Endpoint(format!("http://{authority}{base}")))
    }
}

impl Endpoint {
    /// Returns the URL to which a signal is sent.
    pub fn url(&self, signal: Signal) -> String {
        format!("{}{}", self.0, signal.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_profiles_is_added_once() {
        for (given, meant) in [
            ("http://h:4318", "http://h:4318/v1development/profiles"),
            ("http://[::1]:1/", "http://[::1]:1/v1development/profiles"),
            ("http://h/otlp/", "http://h/otlp/v1development/profiles"),
            (
                "http://h:1/v1development/profiles",
                "http://h:1/v1development/profiles",
            ),
        ] {
            let endpoint = given.parse::<Endpoint>().expect("a URL");
            assert_eq!(endpoint.url(Signal::Profiles), meant);
            let metrics = meant.replace("v1development/profiles", "v1/metrics");
            assert_eq!(endpoint.url(Signal::Metrics), metrics);
        }
    }

    #[test]
    fn what_is_not_spoken_is_refused() {
        for (given, why) in [
            ("h:4318", NoEndpoint::Form),
            ("ftp://h", NoEndpoint::Form),
            ("http://", NoEndpoint::Form),
            ("https://h:4318", NoEndpoint::Scheme),
            ("http://me:secret@h:4318", NoEndpoint::Credentials),
            ("http://h:4318/?key=secret", NoEndpoint::Query),
            ("http://h:4318/#x", NoEndpoint::Query),
        ] {
            assert_eq!(given.parse::<Endpoint>(), Err(why), "{given}");
        }
    }
}
