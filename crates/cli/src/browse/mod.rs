//! `hprof browse`: a heap dump in the browser, served on this machine to anyone who knows the address.

mod connections;
mod remembered;
mod request;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hprof_heap::{Error, Heap};

use crate::failure::Failure;
use crate::heap::options::{Choice, Reading};
use crate::heap::pages::{self, Html, Links};
use crate::heap::with_heap;
use crate::random;
use connections::Connections;
use remembered::Remembered;
use request::{AccessRule, Page, PageRequest};

/// The most requests that wait for an answer; all of them have the token.
const QUEUED: usize = 1024;
/// Requests that are answered at once: as many readers may be slow before others wait for them. A browser opens about six
/// connections.
const ANSWERED: usize = 16;

/// Show a heap dump in the browser, with links between objects
///
/// Prints an address that only this machine can open, and serves it until
/// Ctrl-C. The address contains a token: a request without it, from another page
/// or for another host is refused. Nothing is written but an index of a large
/// dump, and names in a dump are never treated as markup.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The dump, compressed or not; `-` is the standard input
    file: PathBuf,
    /// The port to listen on [default: a free one]
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    reading: Reading,
}

/// Serves the pages until the process is interrupted.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let address = (Ipv4Addr::LOCALHOST, arguments.port);
    let listening = TcpListener::bind(address).and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port, token()?))
    });
    let (listener, port, token) = listening
        .map_err(|error| Failure::Message(format!("127.0.0.1:{}: {error}", arguments.port)))?;
    with_heap(
        &arguments.file,
        arguments.choice.dump,
        &arguments.reading,
        |heap| {
            let base = format!("/{token}");
            let mut out = io::stdout().lock();
            writeln!(out, "http://127.0.0.1:{port}{base}/")
                .and_then(|()| out.flush())
                .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
            drop(out);
            let name = arguments.file.display().to_string();
            let pages = DumpPages {
                heap,
                name: &name,
                base: &base,
                remembered: Remembered::default(),
            };
            let (sender, asked) = mpsc::sync_channel(QUEUED);
            let connections = Connections::new(AccessRule::new(token.clone(), port), sender);
            let reader = thread::spawn(move || connections.serve(&listener));
            thread::scope(|scope| {
                // Its address is printed: it will be asked for. If there is no thread for it, it is made then.
                let overview = || drop(pages.content(&Page::Overview));
                let _ = thread::Builder::new().spawn_scoped(scope, overview);
                answer_all(&Mutex::new(asked), |request| pages.answer(request));
            });
            match reader.join() {
                Ok(Err(error)) => Err(Failure::Message(format!("127.0.0.1:{port}: {error}"))),
                // It ends only by an error; a panic has been reported.
                _ => Ok(()),
            }
        },
    )
}

/// Returns 128 random bits in hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    random::fill(&mut bytes)?;
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

type Asked = (PageRequest, TcpStream);

/// Answers requests, [`ANSWERED`] at once, until no more can come.
fn answer_all(asked: &Mutex<Receiver<Asked>>, answer: impl Fn(&PageRequest) -> Answer + Sync) {
    let next = || {
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.recv().ok()
    };
    let answer_some = || {
        while let Some((request, mut stream)) = next() {
            // A browser that has gone away wants no answer.
            let _ = answer(&request).send(&mut stream, request.head_only);
        }
    };
    thread::scope(|scope| {
        for _ in 1..ANSWERED {
            // Where the system has no more threads, those that are there do.
            let _ = thread::Builder::new().spawn_scoped(scope, answer_some);
        }
        answer_some();
    });
}

/// The pages of one dump.
struct DumpPages<'a> {
    heap: &'a Heap<'a>,
    name: &'a str,
    base: &'a str,
    remembered: Remembered,
}

impl DumpPages<'_> {
    fn content(&self, page: &Page) -> Result<Arc<Html>, Error> {
        let (heap, links) = (self.heap, Links::Under(self.base));
        let content = match page {
            Page::Overview => return self.remembered.overview(heap, self.name, links),
            Page::Object { id, first } => pages::object(heap, *id, *first, links),
            Page::Class { name, first } => {
                let members = self.remembered.members(heap, name)?;
                pages::class(heap, name, &members, *first, links)
            }
            Page::Threads => pages::threads(heap, links),
            Page::Search { text } => pages::search(heap, text, links),
        };
        content.map(Arc::new)
    }

    fn answer(&self, request: &PageRequest) -> Answer {
        let links = Links::Under(self.base);
        let title = match &request.page {
            Page::Overview => self.name,
            Page::Object { .. } => "object",
            Page::Class { name, .. } => name,
            Page::Threads => "threads",
            Page::Search { .. } => "search",
        };
        match self.content(&request.page) {
            Ok(content) => {
                let mut body = Html::default();
                body.markup("<nav><a href=\"")
                    .text(self.base)
                    .markup("/\">Overview</a>");
                body.markup("<a href=\"")
                    .text(self.base)
                    .markup("/threads\">Threads</a>");
                let text = match &request.page {
                    Page::Search { text } => text,
                    _ => "",
                };
                pages::form(&mut body, text, links);
                body.markup("</nav>\n");
                if !matches!(request.page, Page::Overview) {
                    pages::incomplete(&mut body, Path::new(self.name), self.heap);
                }
                body.part(&content);
                Answer::page(pages::page(title, &body, links))
            }
            Err(error @ (Error::NoObject(_) | Error::NoClass { .. })) => {
                Answer::plain(404, &error.to_string())
            }
            Err(error) => Answer::plain(500, &error.to_string()),
        }
    }
}

struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn page(page: Html) -> Answer {
        Answer {
            status: 200,
            kind: "text/html",
            body: page.into_string(),
        }
    }

    fn plain(status: u16, text: &str) -> Answer {
        Answer {
            status,
            kind: "text/plain",
            body: format!("{text}\n"),
        }
    }

    fn send(&self, stream: &mut TcpStream, head_only: bool) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {}; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            self.status,
            self.kind,
            self.body.len(),
            pages::policy(Links::Under("")),
        );
        stream.write_all(head.as_bytes())?;
        if !head_only {
            stream.write_all(self.body.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// More than the system keeps for a reader that does not come.
    const LARGE: usize = 16 << 20;

    #[test]
    fn a_slow_reader_holds_up_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let (sender, asked) = mpsc::sync_channel(QUEUED);
        let ask = |page| {
            let address = listener.local_addr().expect("an address");
            let client = TcpStream::connect(address).expect("it listens");
            let (stream, _) = listener.accept().expect("it came");
            let head_only = false;
            let request = PageRequest { page, head_only };
            sender.send((request, stream)).expect("somebody answers");
            client
        };
        let mut slow: Vec<TcpStream> = (0..3).map(|_| ask(Page::Threads)).collect();
        let mut fast = ask(Page::Overview);
        thread::scope(|scope| {
            scope.spawn(|| {
                answer_all(&Mutex::new(asked), |request| match request.page {
                    Page::Threads => Answer::plain(200, &"x".repeat(LARGE)),
                    _ => Answer::plain(200, "fast"),
                });
            });
            let mut answer = String::new();
            // It would have no end while the answers before it are not taken.
            fast.read_to_string(&mut answer).expect("an answer");
            assert!(answer.ends_with("\r\n\r\nfast\n"), "{answer}");
            let mut large = Vec::new();
            let mut last = slow.pop().expect("a client");
            last.read_to_end(&mut large).expect("an answer");
            assert!(large.len() > LARGE);
            drop((slow, sender));
        });
    }
}
