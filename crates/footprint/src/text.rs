//! Accounts as text: a line for each number, so that one can be sent, and kept in a file.

use crate::account::{Account, Amounts, BufferSite, JavaHeap, LoaderKind, TrackedKind, VmFacts};
use crate::cgroup::Cgroup;
use crate::part::Part;

/// The first line of an account.
const HEAD: &str = "account";
/// The beginnings of lines with a name at their end, after numbers.
const BUFFERS: &str = "buffers";
const LOADERS: &str = "loaders_of";
const TRACKED: &str = "tracked";
/// The longest name that is written, in bytes.
const LONGEST: usize = 300;

/// The text is not that of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAccount {
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for BadAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "line {} of the account of memory is damaged",
            self.line
        )
    }
}

impl std::error::Error for BadAccount {}

/// Writes an account: `key value`, a line each, and for a part the bytes committed and resident. What is unknown is
/// left out.
#[must_use]
pub fn encode(account: &Account) -> String {
    let mut lines = vec![format!("{HEAD} {}", account.time)];
    for (part, amounts) in account.parts.iter() {
        let Amounts {
            committed,
            resident,
        } = amounts;
        lines.push(format!("part.{} {committed} {resident}", part.key()));
    }
    let mut copy = account.clone();
    for (name, place) in numbers(&mut copy) {
        if let Some(value) = place {
            lines.push(format!("{name} {value}"));
        }
    }
    for site in &account.buffer_sites {
        let BufferSite {
            bytes,
            buffers,
            seen,
            maker,
        } = site;
        lines.push(format!(
            "{BUFFERS} {bytes} {buffers} {seen} {}",
            in_line(maker)
        ));
    }
    for kind in &account.loader_kinds {
        let LoaderKind {
            loaders,
            classes,
            name,
        } = kind;
        lines.push(format!("{LOADERS} {loaders} {classes} {}", in_line(name)));
    }
    for kind in &account.tracked {
        let TrackedKind {
            malloc,
            mapped,
            name,
        } = kind;
        lines.push(format!("{TRACKED} {malloc} {mapped} {}", in_line(name)));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns a name without what would end its line.
fn in_line(name: &str) -> String {
    let letters = name.chars().take(LONGEST);
    letters
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// Reads a line that ends with a name; `None` if it is none, or damaged.
fn named(account: &mut Account, key: &str, values: &str) -> Option<()> {
    let mut numbers = values.splitn(if key == BUFFERS { 4 } else { 3 }, ' ');
    let mut number = || numbers.next()?.parse::<u64>().ok();
    match key {
        BUFFERS => {
            let (bytes, buffers, seen) = (number()?, number()?, number()?);
            account.buffer_sites.push(BufferSite {
                bytes,
                buffers,
                seen,
                maker: numbers.next()?.to_owned(),
            });
        }
        LOADERS => {
            let (loaders, classes) = (number()?, number()?);
            account.loader_kinds.push(LoaderKind {
                loaders,
                classes,
                name: numbers.next()?.to_owned(),
            });
        }
        TRACKED => {
            let (malloc, mapped) = (number()?, number()?);
            account.tracked.push(TrackedKind {
                malloc,
                mapped,
                name: numbers.next()?.to_owned(),
            });
        }
        _ => return None,
    }
    Some(())
}

/// Writes several accounts, one after another.
#[must_use]
pub fn encode_all<'a>(accounts: impl IntoIterator<Item = &'a Account>) -> String {
    accounts.into_iter().map(encode).collect()
}

/// Reads an account. A line with a key that is not known is left out: a newer agent may have more.
///
/// # Errors
/// If a line is none of an account.
pub fn decode(text: &str) -> Result<Account, BadAccount> {
    let mut all = decode_all(text)?.into_iter();
    all.next().ok_or(BadAccount { line: 1 })
}

/// Reads the accounts that [`encode_all`] wrote.
///
/// # Errors
/// If a line is none of an account.
pub fn decode_all(text: &str) -> Result<Vec<Account>, BadAccount> {
    let mut accounts: Vec<Account> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let bad = || BadAccount { line };
        let (key, values) = text.split_once(' ').ok_or_else(bad)?;
        if [BUFFERS, LOADERS, TRACKED].contains(&key) {
            let account = accounts.last_mut().ok_or_else(bad)?;
            named(account, key, values).ok_or_else(bad)?;
            continue;
        }
        let values: Result<Vec<u64>, _> = values.split(' ').map(str::parse).collect();
        let values = values.map_err(|_| bad())?;
        if let (HEAD, [time]) = (key, &values[..]) {
            accounts.push(Account {
                time: *time,
                ..Account::default()
            });
            continue;
        }
        let account = accounts.last_mut().ok_or_else(bad)?;
        match (key.strip_prefix("part."), &values[..]) {
            (Some(key), &[committed, resident]) => {
                // A part that is not known belongs to the rest.
                let mut parts = Part::ALL.into_iter();
                let part = parts.find(|part| part.key() == key).unwrap_or(Part::Rest);
                let amounts = &mut account.parts[part];
                amounts.committed = amounts.committed.saturating_add(committed);
                amounts.resident = amounts.resident.saturating_add(resident);
            }
            (None, &[value]) => set(account, key, value),
            _ => return Err(bad()),
        }
    }
    Ok(accounts)
}

fn set(account: &mut Account, key: &str, value: u64) {
    if key.starts_with("heap.") {
        account.vm.heap.get_or_insert_default();
    }
    if key.starts_with("cgroup.") {
        account.cgroup.get_or_insert_default();
    }
    match key {
        "threads" => account.threads = value,
        "heap.used" => account.vm.heap.get_or_insert_default().used = value,
        "heap.committed" => account.vm.heap.get_or_insert_default().committed = value,
        "heap.limit" => account.vm.heap.get_or_insert_default().limit = value,
        _ => {
            let mut places = places(account);
            if let Some((_, place)) = places.iter_mut().find(|(name, _)| *name == key) {
                **place = Some(value);
            }
        }
    }
}

/// Returns the numbers that are no parts, each with its name.
fn numbers(account: &mut Account) -> Vec<(&'static str, Option<u64>)> {
    let mut numbers = vec![("threads", Some(account.threads))];
    if let Some(heap) = account.vm.heap {
        numbers.extend([
            ("heap.used", Some(heap.used)),
            ("heap.committed", Some(heap.committed)),
            ("heap.limit", Some(heap.limit)),
        ]);
    }
    numbers.extend(
        places(account)
            .into_iter()
            .map(|(name, place)| (name, *place)),
    );
    numbers
}

/// Returns the numbers that may be unknown, each with its name.
fn places(account: &mut Account) -> Vec<(&'static str, &mut Option<u64>)> {
    let VmFacts {
        heap,
        direct,
        direct_buffers,
        direct_limit,
        classes,
        loaders,
    } = &mut account.vm;
    let mut places = vec![
        ("system_resident", &mut account.system_resident),
        ("swapped", &mut account.swapped),
        ("malloc.free", &mut account.malloc_free),
        ("direct.bytes", direct),
        ("direct.buffers", direct_buffers),
        ("direct.limit", direct_limit),
        ("classes", classes),
        ("loaders", loaders),
    ];
    if let Some(JavaHeap {
        after_collection, ..
    }) = heap
    {
        places.push(("heap.after_collection", after_collection));
    }
    if let Some(Cgroup {
        limit,
        used,
        anonymous,
        file,
        shared,
        kernel,
        sockets,
        swapped,
    }) = &mut account.cgroup
    {
        places.extend([
            ("cgroup.limit", limit),
            ("cgroup.used", used),
            ("cgroup.anonymous", anonymous),
            ("cgroup.file", file),
            ("cgroup.shared", shared),
            ("cgroup.kernel", kernel),
            ("cgroup.sockets", sockets),
            ("cgroup.swapped", swapped),
        ]);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(time: u64) -> Account {
        let mut account = Account {
            time,
            system_resident: Some(999),
            swapped: Some(0),
            malloc_free: Some(15),
            threads: 7,
            vm: VmFacts {
                heap: Some(JavaHeap {
                    used: 1,
                    committed: 2,
                    limit: 3,
                    after_collection: Some(4),
                }),
                direct: Some(5),
                classes: Some(6),
                ..VmFacts::default()
            },
            cgroup: Some(Cgroup {
                limit: Some(8),
                sockets: Some(9),
                ..Cgroup::default()
            }),
            buffer_sites: vec![BufferSite {
                bytes: 10,
                buffers: 11,
                seen: 12,
                maker: "Codec.buffer (Codec.java:88)".to_owned(),
            }],
            loader_kinds: vec![LoaderKind {
                loaders: 13,
                classes: 14,
                name: String::new(),
            }],
            tracked: vec![TrackedKind {
                malloc: 15,
                mapped: 16,
                name: "Java Heap".to_owned(),
            }],
            ..Account::default()
        };
        for (number, part) in (0..).zip(Part::ALL) {
            account.parts[part] = Amounts {
                committed: 100 + number,
                resident: 50 + number,
            };
        }
        account
    }

    #[test]
    fn what_is_written_is_read() {
        let accounts = [account(1), Account::default(), account(3)];
        assert_eq!(
            decode_all(&encode_all(&accounts)).as_deref(),
            Ok(&accounts[..])
        );
        assert_eq!(decode(&encode(&accounts[2])), Ok(account(3)));
    }

    #[test]
    fn a_name_stays_in_its_line() {
        let mut hostile = account(1);
        hostile.buffer_sites[0].maker = format!("a\naccount 7\x1b {}", "x".repeat(5_000));
        let read = decode_all(&encode(&hostile)).expect("one account");
        assert_eq!(read.len(), 1);
        let maker = &read[0].buffer_sites[0].maker;
        assert!(
            maker.starts_with("a?account 7? xxx") && maker.len() == LONGEST,
            "{maker}"
        );
    }

    #[test]
    fn what_is_newer_is_left_out_and_damage_is_an_error() {
        let newer = format!("{}new_number 7\npart.new 5 4\n", encode(&account(1)));
        let read = decode(&newer).expect("an account");
        let rest = account(1).parts[Part::Rest].resident;
        assert_eq!(read.parts[Part::Rest].resident, rest + 4);
        for (text, line) in [
            ("", 1),
            ("threads 7\n", 1),
            ("account 1\nthreads\n", 2),
            ("account 1\nthreads x\n", 2),
            ("account 1\npart.rest 1 2 3\n", 2),
            ("buffers 1 2 3 x\n", 1),
            ("account 1\nbuffers 1 2 x\n", 2),
            ("account 1\nloaders_of 1\n", 2),
            ("account 1\ntracked 1 GC\n", 2),
        ] {
            assert_eq!(decode(text), Err(BadAccount { line }), "{text}");
        }
    }
}
