//! The threads of a program, their CPU time, and the stack of one of them.

use std::io::Read;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;

use super::process::Process;
use super::{Error, listener};

/// The most threads that are looked at.
const MOST: usize = 10_000;
/// The most bytes of a thread dump.
const LONGEST_DUMP: u64 = 64 << 20;
/// The longest that it may take: somebody looks at the screen.
const LIMIT: Duration = Duration::from_secs(10);

/// A thread, and the CPU time that it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its number in the system.
    pub id: u32,
    /// Its name, of which the system keeps 15 bytes.
    pub name: String,
    /// The time.
    pub used: Duration,
}

/// Returns the program's threads; none if it has ended.
pub(super) fn all(process: &Process) -> Vec<ThreadTime> {
    let ids = process.names("task").into_iter().take(MOST);
    let ids = ids.filter_map(|name| name.parse().ok());
    ids.filter_map(|id: u32| {
        let mut text = Vec::new();
        let mut file = process.open(&format!("task/{id}/stat")).ok()?;
        file.read_to_end(&mut text).ok()?;
        parse(id, &String::from_utf8_lossy(&text))
    })
    .collect()
}

/// The VM's thread that carries out commands from outside.
const ATTACH_LISTENER: &str = "Attach Listener";

/// Returns the CPU time of the thread that carries out commands, to the nanosecond, if there is one.
pub(super) fn attach_time(process: &Process) -> Option<Duration> {
    let ids = process.names("task").into_iter().take(MOST);
    ids.filter(|id| id.parse::<u32>().is_ok()).find_map(|id| {
        let read = |name: &str| {
            let mut text = String::new();
            let mut file = process.open(&format!("task/{id}/{name}")).ok()?;
            file.read_to_string(&mut text).ok()?;
            Some(text)
        };
        let name = read("comm")?;
        if name.trim_end() != ATTACH_LISTENER {
            return None;
        }
        let nanos = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(nanos))
    })
}

/// Parses `17 (a name) S ...`. The name may have parentheses, too.
fn parse(id: u32, stat: &str) -> Option<ThreadTime> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = fields.next()?.ok()?.checked_add(fields.next()?.ok()?)?;
    let millis = ticks.saturating_mul(1_000) / clock_ticks_per_second().max(1);
    Some(ThreadTime {
        id,
        name: name.to_owned(),
        used: Duration::from_millis(millis),
    })
}

/// Returns the lines about a thread in a thread dump of the VM, which stops the program for a moment.
pub(super) fn stack(process: &Process, id: u32) -> Result<Vec<String>, Error> {
    let answer = listener::request(process, "threaddump", ["", "", ""], (LIMIT, LONGEST_DUMP))?;
    let status = process.open(&format!("task/{id}/status"));
    let mut text = Vec::new();
    let _ = status.and_then(|mut status| status.read_to_end(&mut text));
    // The VM has the number of its own namespace, the last one.
    let own = String::from_utf8_lossy(&text)
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))
        .and_then(|ids| ids.split_whitespace().last()?.parse().ok());
    Ok(lines(&answer.text, own.unwrap_or(id)))
}

fn lines(dump: &str, id: u32) -> Vec<String> {
    let marks = [format!("nid=0x{id:x}"), format!("nid={id}")];
    let is_it = |line: &&str| {
        let mut words = line.split_whitespace();
        line.starts_with('"') && words.any(|word| marks.iter().any(|mark| mark == word))
    };
    let all = dump.lines().skip_while(|line| !is_it(line));
    let its = all.take_while(|line| !line.trim().is_empty());
    its.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_parentheses() {
        let stat = "17 (a) (b) S 1 1 1 0 -1 4194304 1 0 0 0 150 50 0 0 20 0 29 0";
        let thread = parse(17, stat).expect("a thread");
        let ticks = clock_ticks_per_second();
        assert_eq!((thread.id, &*thread.name), (17, "a) (b"));
        assert_eq!(thread.used, Duration::from_millis(200_000 / ticks));
        assert_eq!(parse(17, "17 (a"), None);
    }

    #[test]
    fn a_thread_is_found_by_its_number() {
        let dump = "2026-11-23\n\n\"main\" #1 prio=5 nid=0x1f runnable\n\tat A.b(A.java:1)\n\n\
            \"x nid=0x1\" #2 [31] nid=33 waiting\n\tat C.d(C.java:2)\n\n";
        assert_eq!(lines(dump, 31).len(), 2);
        assert!(lines(dump, 33)[1].contains("C.d"));
        assert!(lines(dump, 3).is_empty());
    }
}
