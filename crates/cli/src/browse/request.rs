//! The requests of a browser, and the rules by which they are allowed.

use hprof_format::ObjectId;
use percent_encoding::percent_decode_str;

/// The most bytes of a request's head.
pub const LONGEST: usize = 16 * 1024;
/// The most headers of a request.
const HEADERS: usize = 64;

/// The requested page.
#[derive(Debug, PartialEq, Eq)]
pub enum Page {
    Overview,
    Object { id: ObjectId, first: u64 },
    Class { name: String, first: u64 },
    Threads,
    Search { text: String },
}

/// A refusal of a request: the status and a line with the reason.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestRefusal(pub u16, pub &'static str);

/// A request that is allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub page: Page,
    /// `true` for HEAD: the answer has no body.
    pub head_only: bool,
}

/// The rules that a request must obey to be answered.
pub struct AccessRule {
    token: String,
    port: u16,
}

impl AccessRule {
    pub fn new(token: String, port: u16) -> AccessRule {
        AccessRule { token, port }
    }

    /// Returns `true` if the part of a head received so far has the token.
    pub fn knows(&self, head: &[u8]) -> bool {
        let mut words = head.splitn(3, |&byte| byte == b' ');
        let path = words.nth(1).and_then(|path| str::from_utf8(path).ok());
        path.and_then(|path| path.strip_prefix('/')?.split_once('/'))
            .is_some_and(|(token, _)| is_same(token, &self.token))
    }

    /// Checks the whole head of a request.
    pub fn judge(&self, head: &[u8]) -> Result<PageRequest, RequestRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(head);
        if !parsed.is_ok_and(|status| status.is_complete()) {
            return Err(RequestRefusal(400, "this is no HTTP request"));
        }
        // A request for another host name comes from a page that wants to read the answer.
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        let [Some(host)] = all(request.headers, "host")[..] else {
            return Err(RequestRefusal(403, "a request names one host"));
        };
        if !hosts.iter().any(|allowed| allowed == host) {
            return Err(RequestRefusal(
                403,
                "this is not the host that was asked for",
            ));
        }
        for origin in all(request.headers, "origin") {
            if origin != Some(format!("http://{host}").as_str()) {
                return Err(RequestRefusal(403, "other pages may not ask"));
            }
        }
        for site in all(request.headers, "sec-fetch-site") {
            if !matches!(site, Some("none" | "same-origin")) {
                return Err(RequestRefusal(403, "other pages may not ask"));
            }
        }
        let page = self.page(request.path.unwrap_or_default())?;
        let head_only = match request.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => {
                return Err(RequestRefusal(
                    405,
                    "there is nothing to do here but to read",
                ));
            }
        };
        Ok(PageRequest { page, head_only })
    }

    fn page(&self, target: &str) -> Result<Page, RequestRefusal> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some((token, path)) = path.strip_prefix('/').and_then(|path| path.split_once('/'))
        else {
            return Err(RequestRefusal(403, "the address lacks its token"));
        };
        if !is_same(token, &self.token) {
            return Err(RequestRefusal(403, "the address has not the right token"));
        }
        find(path, query).ok_or(RequestRefusal(404, "there is no such page"))
    }
}

/// Returns the values of a header, `None` for those that are not text.
fn all<'a>(headers: &'a [httparse::Header<'_>], name: &str) -> Vec<Option<&'a str>> {
    let named = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name));
    named
        .map(|header| str::from_utf8(header.value).ok())
        .collect()
}

/// Compares in constant time, so that the time does not reveal how much matches.
fn is_same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
}

fn find(path: &str, query: &str) -> Option<Page> {
    if path == "search" {
        let text = query.strip_prefix("text=")?;
        // A form sends a space as a plus sign.
        let text = text.replace('+', " ");
        let text = percent_decode_str(&text).decode_utf8().ok()?.into_owned();
        return Some(Page::Search { text });
    }
    let first = match query {
        "" => 0,
        query => query.strip_prefix("first=")?.parse().ok()?,
    };
    let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
    match (kind, rest) {
        ("", "") => Some(Page::Overview),
        ("threads", "") => Some(Page::Threads),
        ("object", id) => {
            let id = u64::from_str_radix(id.strip_prefix("0x")?, 16).ok()?;
            Some(Page::Object {
                id: ObjectId(id),
                first,
            })
        }
        ("class", name) => {
            let name = percent_decode_str(name).decode_utf8().ok()?;
            let name = name.into_owned();
            Some(Page::Class { name, first })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(lines: &[&str]) -> Result<PageRequest, RequestRefusal> {
        let gate = AccessRule::new("t0k3n".to_owned(), 7000);
        let request = lines.join("\r\n") + "\r\n\r\n";
        gate.judge(request.as_bytes())
    }

    const HOST: &str = "Host: 127.0.0.1:7000";

    #[test]
    fn pages_have_addresses() {
        for (path, page) in [
            ("", Page::Overview),
            ("threads", Page::Threads),
            (
                "object/0x7f00",
                Page::Object {
                    id: ObjectId(0x7f00),
                    first: 0,
                },
            ),
            (
                "object/0x7f00?first=100",
                Page::Object {
                    id: ObjectId(0x7f00),
                    first: 100,
                },
            ),
            (
                "class/java%2Elang%2EObject%5B%5D",
                Page::Class {
                    name: "java.lang.Object[]".to_owned(),
                    first: 0,
                },
            ),
            (
                "search?text=a+%3Cb%3E%2B",
                Page::Search {
                    text: "a <b>+".to_owned(),
                },
            ),
        ] {
            let line = format!("GET /t0k3n/{path} HTTP/1.1");
            assert_eq!(ask(&[&line, HOST]).expect(path).page, page);
        }
        for path in [
            "x",
            "object/7f00",
            "object/",
            "?x=1",
            "object/0x7f00?first=-1",
            "threads/1",
            "search",
            "search?text=%FF",
        ] {
            let line = format!("GET /t0k3n/{path} HTTP/1.1");
            assert_eq!(ask(&[&line, HOST]).expect_err(path).0, 404);
        }
    }

    #[test]
    fn who_lacks_the_token_or_comes_from_elsewhere_is_refused() {
        let get = "GET /t0k3n/ HTTP/1.1";
        let status = |lines: &[&str]| ask(lines).expect_err("a refusal").0;
        assert!(ask(&[get, HOST]).is_ok());
        assert!(ask(&[get, "host: localhost:7000", "Origin: http://localhost:7000"]).is_ok());
        assert!(ask(&[get, HOST, "Sec-Fetch-Site: same-origin"]).is_ok());
        for path in [
            "/",
            "/t0k3n",
            "/t0k3/",
            "/t0k3n1/",
            "/T0k3n/",
            "http://127.0.0.1:7000/t0k3n/",
            "*",
        ] {
            assert_eq!(
                status(&[&format!("GET {path} HTTP/1.1"), HOST]),
                403,
                "{path}"
            );
        }
        for host in [
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:7001",
            "evil.example:7000",
            "localhost.evil.example:7000",
        ] {
            assert_eq!(status(&[get, &format!("Host: {host}")]), 403, "{host}");
        }
        assert_eq!(status(&[get]), 403);
        assert_eq!(status(&[get, HOST, HOST]), 403);
        for header in [
            "Origin: http://evil.example",
            "Origin: null",
            "Origin: https://127.0.0.1:7000",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            assert_eq!(status(&[get, HOST, header]), 403, "{header}");
        }
        assert_eq!(status(&["POST /t0k3n/ HTTP/1.1", HOST]), 405);
        assert_eq!(status(&["nonsense"]), 400);
    }
}
