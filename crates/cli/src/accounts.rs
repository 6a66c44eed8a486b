//! Accounts of memory and findings in words.

use std::ops::RangeInclusive;

use hprof_footprint::{
    Account, BufferSite, Cgroup, Fate, Finding, Forecast, GrowingSite, Growth, JavaHeap,
    LoaderKind, Part, TrackedKind, Trend,
};
use hprof_format::printable;

use crate::amounts::{Sizes, number, size, time};

/// A part is named in a headline from this share of the resident set on.
const NAMED_SHARE: u64 = 25;
/// A purpose of the VM is named from this share of the largest on.
const NAMED_PURPOSE: u64 = 100;

/// Returns how large the process is, of which limit, and its largest parts: `2.0 GB of a limit of 2.0 GB: Java heap 410.0 MB
/// used of 1.2 GB committed, direct buffers 890.0 MB, 400 threads with 120.0 MB`.
pub fn headline(account: &Account) -> String {
    let resident = size(account.resident());
    let of = match account.cgroup.and_then(|group| group.limit.zip(group.used)) {
        Some((limit, used)) => format!(
            "{resident} resident; {} of a limit of {}",
            size(used),
            size(limit)
        ),
        None => format!("{resident} resident"),
    };
    let heap = account.vm.heap.map(|heap| {
        format!(
            "Java heap {} used of {} committed",
            size(heap.used),
            size(heap.committed)
        )
    });
    let mut parts: Vec<(u64, String)> = account
        .parts
        .iter()
        .filter(|(part, _)| *part != Part::JavaHeap)
        .map(|(part, amounts)| (part, amounts.resident))
        .filter(|(_, bytes)| bytes.saturating_mul(NAMED_SHARE) > account.resident())
        .map(|(part, bytes)| (bytes, named(account, part, bytes)))
        .collect();
    parts.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let parts: Vec<String> = heap
        .into_iter()
        .chain(parts.into_iter().map(|(_, text)| text))
        .collect();
    match parts.is_empty() {
        true => of,
        false => format!("{of}: {}", parts.join(", ")),
    }
}

fn named(account: &Account, part: Part, bytes: u64) -> String {
    match part {
        Part::ThreadStacks => format!("{} threads with {}", number(account.threads), size(bytes)),
        _ => format!("{} {}", part.name(), size(bytes)),
    }
}

fn growing(growth: &Option<Growth>) -> String {
    let text = growth.as_ref().map(|growth| {
        format!(
            ", grown from {} to {}, {} a minute",
            size(growth.before),
            size(growth.after),
            size(growth.per_minute)
        )
    });
    text.unwrap_or_default()
}

/// Returns where most of the buffers come from: `; 890.0 MB, 14.0 MB a minute, from Codec.buffer (Codec.java:88)`.
fn made_by(site: &GrowingSite) -> String {
    let BufferSite {
        bytes,
        buffers,
        seen,
        maker,
    } = &site.site;
    let rate = site.growth.as_ref();
    let rate = rate.map(|growth| format!(", {} a minute", size(growth.per_minute)));
    let estimate = match seen < buffers {
        true => format!(", an estimate from {} of them", number(*seen)),
        false => String::new(),
    };
    format!(
        "; {}{} from {}{estimate}",
        size(*bytes),
        rate.unwrap_or_default(),
        printable(maker)
    )
}

fn of_loaders(kind: &LoaderKind) -> String {
    let name = match &*kind.name {
        "" => "the boot loader".to_owned(),
        name => printable(name).into_owned(),
    };
    let loaders = match kind.loaders {
        1 => name,
        count => format!("{} {name}", number(count)),
    };
    format!("{} by {loaders}", number(kind.classes))
}

/// Returns what a rule has found, with its evidence.
pub fn sentence(finding: &Finding) -> String {
    match finding {
        Finding::HeapTooSmall { live, limit } => format!(
            "the Java heap is too small for what lives in it: {} of at most {} (-Xmx) were left by the last collection",
            size(*live),
            size(*limit)
        ),
        Finding::HeapLeavesTooLittle {
            heap,
            limit,
            others,
        } => match limit.checked_sub(*heap) {
            Some(room) => format!(
                "the largest Java heap ({}, -Xmx) leaves {} of the limit of {} for what takes {}",
                size(*heap),
                size(room),
                size(*limit),
                size(*others)
            ),
            None => format!(
                "the largest Java heap ({}, -Xmx) is larger than the limit of {}",
                size(*heap),
                size(*limit)
            ),
        },
        Finding::DirectMemory {
            bytes,
            buffers,
            growth,
            site,
        } => format!(
            "direct buffers: {}{}{}{}",
            size(*bytes),
            buffers.map_or(String::new(), |count| format!(" in {}", number(count))),
            growing(growth),
            site.as_ref().map_or(String::new(), made_by)
        ),
        Finding::ClassesPileUp {
            bytes,
            classes,
            loaders,
            growth,
            kind,
        } => format!(
            "classes: {}{}{}{}{}",
            size(*bytes),
            classes.map_or(String::new(), |count| format!(
                " for {} classes",
                number(count)
            )),
            loaders.map_or(String::new(), |count| format!(
                " of {} loaders",
                number(count)
            )),
            growing(growth),
            kind.as_ref()
                .map_or(String::new(), |kind| format!("; {}", of_loaders(kind)))
        ),
        Finding::ThreadsPileUp {
            bytes,
            threads,
            before,
        } => format!(
            "threads: {}{}, whose stacks have {}",
            number(*threads),
            before.map_or(String::new(), |before| format!(
                ", {} before",
                number(before)
            )),
            size(*bytes)
        ),
        Finding::Malloc {
            bytes,
            growth,
            free,
            of_vm,
        } => format!(
            "malloc: {} of native libraries and the VM{}{}{}",
            size(*bytes),
            growing(growth),
            of_vm.as_ref().map_or(String::new(), |(bytes, largest)| format!(
                "; the VM counts {} as its own, most for {} ({})",
                size(*bytes),
                printable(&largest.name),
                size(largest.malloc)
            )),
            free.map_or(String::new(), |free| format!(
                "; {} of it is free, and kept by glibc's arenas: the environment variable MALLOC_ARENA_MAX=2 allows fewer of these, and \
                 from JDK 17 on `jcmd PID System.trim_native_heap` gives back what it can",
                size(free)
            ))
        ),
        Finding::FilesInMemory { bytes, used } => format!(
            "files in tmpfs and shared memory are {} of the {} that count against the limit",
            size(*bytes),
            size(*used)
        ),
        Finding::PartGrows { part, growth } => {
            format!("{}{}", part.name(), growing(&Some(*growth)))
        }
        Finding::NothingGrows { millis } => format!(
            "nothing has grown by more than a fifth in {}",
            time(*millis as f64 / 1e3)
        ),
    }
}

/// Further into the future nothing is said.
const YEAR: f64 = 365.0 * 86_400.0;

/// Returns when a limit is reached, and by which growth; that it cannot be told, if there is a limit; `None` if there is nothing
/// to say.
pub fn forecast(forecast: &Forecast) -> Option<String> {
    let Forecast { fate, trend, left } = forecast;
    let (end, what, looks) = match fate {
        Fate::HeapIsFull => ("the heap is full", "what lives in the heap", "collections"),
        Fate::DirectIsFull => (
            "there is no more room for direct buffers",
            "their memory",
            "looks",
        ),
        Fate::IsKilled => ("the limit is reached", "the resident set", "looks"),
    };
    let Trend::Grows { rate, .. } = trend else {
        left.as_ref()?;
        return Some(undecided(trend, end, looks));
    };
    let grows = format!("{what} grows {}", rate_text(rate));
    let until = left.and_then(|left| trend.millis_until(left as f64));
    Some(match until {
        Some(until) => format!("at this rate {end} {}: {grows}", within(&until)),
        None => grows,
    })
}

fn undecided(trend: &Trend, end: &str, looks: &str) -> String {
    let seen = match trend {
        Trend::Unknown { points, millis } => format!(
            "{} {} in {} show no steady growth",
            number(*points as u64),
            if *points == 1 {
                looks.trim_end_matches('s')
            } else {
                looks
            },
            time(*millis as f64 / 1e3)
        ),
        Trend::Grows { .. } => "the limit is unknown".to_owned(),
    };
    format!("cannot tell yet when {end}: {seen}")
}

/// Returns `1.2 to 1.5 MB a minute`; the rate is in bytes a millisecond.
pub fn rate_text(rate: &RangeInclusive<f64>) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; what is too large is the largest number"
    )]
    let minute = |rate: &f64| size((rate * 60e3).round() as u64);
    format!(
        "{} a minute",
        from_to(minute(rate.start()), &minute(rate.end()))
    )
}

/// Returns `in 3 h 10 min to 4 h 0 min`; the times are in milliseconds.
fn within(until: &RangeInclusive<f64>) -> String {
    let (soonest, latest) = (until.start() / 1e3, until.end() / 1e3);
    match (soonest < YEAR, latest < YEAR) {
        (false, _) => "not within a year".to_owned(),
        (true, false) => format!("in {} or more", ahead(soonest)),
        (true, true) => format!("in {}", from_to(ahead(soonest), &ahead(latest))),
    }
}

fn from_to(from: String, to: &str) -> String {
    match from == to {
        true => from,
        false => format!("{from} to {to}"),
    }
}

/// Returns a time in the future, which is not known to the second.
fn ahead(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "less than a year, and not negative"
    )]
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, 0..=1) => format!("{seconds:.0} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// Returns what the VM counts itself, and the limit, a line each.
pub fn details(account: &Account, sizes: Sizes) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(account.vm.heap.map(|heap| of_heap(account, &heap, sizes)));
    if let Some(direct) = account.vm.direct {
        let limit = account.vm.direct_limit;
        lines.push(format!(
            "direct buffers: {} in {}{}",
            sizes.text(direct),
            number(account.vm.direct_buffers.unwrap_or(0)),
            limit.map_or(String::new(), |limit| format!(
                ", at most {}",
                sizes.text(limit)
            ))
        ));
    }
    for site in &account.buffer_sites {
        let BufferSite {
            bytes,
            buffers,
            seen,
            maker,
        } = site;
        let estimate = if seen < buffers { ", estimated" } else { "" };
        lines.push(format!(
            "  {} in {} from {}{estimate}",
            sizes.text(*bytes),
            number(*buffers),
            printable(maker)
        ));
    }
    if let (Some(classes), Some(loaders)) = (account.vm.classes, account.vm.loaders) {
        lines.push(format!(
            "classes: {} of {} loaders",
            number(classes),
            number(loaders)
        ));
    }
    let kinds = account.loader_kinds.iter();
    lines.extend(kinds.map(|kind| format!("  {}", of_loaders(kind))));
    lines.push(format!("threads: {}", number(account.threads)));
    lines.extend(of_tracking(account, sizes));
    if let Some(free) = account.malloc_free {
        lines.push(format!("malloc: {} of it free", sizes.text(free)));
    }
    if let Some(swapped) = account.swapped.filter(|&bytes| bytes > 0) {
        lines.push(format!("swapped out: {}", sizes.text(swapped)));
    }
    lines.extend(account.cgroup.map(|group| of_group(&group, sizes)));
    lines
}

/// Returns what the VM has for which purpose, if it counts that: all but the Java heap, from a hundredth of the largest on.
fn of_tracking(account: &Account, sizes: Sizes) -> Vec<String> {
    if account.tracked.is_empty() {
        return Vec::new();
    }
    let bytes = |kind: &TrackedKind| kind.malloc.saturating_add(kind.mapped);
    // The heap has a part of its own, next to which nothing would be large.
    let others = || {
        let kinds = account.tracked.iter();
        kinds.filter(|kind| kind.name != TrackedKind::JAVA_HEAP)
    };
    let largest = others().map(bytes).max().unwrap_or(0);
    let shown = others().filter(|kind| bytes(kind).saturating_mul(NAMED_PURPOSE) >= largest.max(1));
    let lines = shown.map(|kind| {
        format!(
            "  {}: {} by malloc, {} mapped",
            printable(&kind.name),
            sizes.text(kind.malloc),
            sizes.text(kind.mapped)
        )
    });
    let sum = |of: fn(&TrackedKind) -> u64| sizes.text(others().map(of).sum());
    let head = format!(
        "the VM itself without the Java heap (NativeMemoryTracking): {} by malloc, {} mapped",
        sum(|kind| kind.malloc),
        sum(|kind| kind.mapped)
    );
    std::iter::once(head).chain(lines).collect()
}

fn of_heap(account: &Account, heap: &JavaHeap, sizes: Sizes) -> String {
    let collected = match heap.after_collection {
        Some(left) => format!(" ({} after the last collection)", sizes.text(left)),
        None => String::new(),
    };
    let resident = account.parts[Part::JavaHeap].resident;
    format!(
        "Java heap: {} used{collected}, {} committed but free, {} committed but not resident, at most {} (-Xmx)",
        sizes.text(heap.used),
        sizes.text(heap.committed.saturating_sub(heap.used)),
        sizes.text(heap.committed.saturating_sub(resident)),
        sizes.text(heap.limit)
    )
}

fn of_group(group: &Cgroup, sizes: Sizes) -> String {
    let limit = match group.limit {
        Some(limit) => format!("of a limit of {}", sizes.text(limit)),
        None => "without a limit".to_owned(),
    };
    let parts = [
        (group.anonymous, "anonymous"),
        (group.file, "of files"),
        (group.shared, "of these in tmpfs and shared memory"),
        (group.kernel, "of the kernel"),
        (group.sockets, "in buffers of sockets"),
        (group.swapped, "swapped out"),
    ];
    let parts = parts.into_iter();
    let parts = parts.filter_map(|(bytes, what)| Some(format!("{} {what}", sizes.text(bytes?))));
    let used = group
        .used
        .map_or("unknown".to_owned(), |used| sizes.text(used));
    format!(
        "cgroup: {used} {limit}: {}",
        parts.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use hprof_footprint::Amounts;

    use super::*;

    const MB: u64 = 1_000_000;

    #[test]
    fn the_headline_has_the_large_parts_in_the_order_of_their_sizes() {
        let mut account = Account {
            threads: 400,
            ..Account::default()
        };
        for (part, bytes) in [
            (Part::JavaHeap, 900),
            (Part::ThreadStacks, 120),
            (Part::DirectBuffers, 890),
            (Part::Malloc, 30),
        ] {
            account.parts[part] = Amounts {
                resident: bytes * MB,
                ..Amounts::default()
            };
        }
        account.vm.heap = Some(JavaHeap {
            used: 410 * MB,
            committed: 1_200 * MB,
            limit: 1_700 * MB,
            after_collection: None,
        });
        account.cgroup = Some(Cgroup {
            limit: Some(2_000 * MB),
            used: Some(1_990 * MB),
            ..Cgroup::default()
        });
        assert_eq!(
            headline(&account),
            "1.9 GB resident; 2.0 GB of a limit of 2.0 GB: Java heap 410.0 MB used of 1.2 GB committed, direct buffers 890.0 MB, \
             400 threads with 120.0 MB"
        );
        assert_eq!(headline(&Account::default()), "0 B resident");
    }

    #[test]
    fn findings_have_their_evidence() {
        let growth = Some(Growth {
            before: 100 * MB,
            after: 890 * MB,
            per_minute: 14 * MB,
        });
        for (finding, text) in [
            (
                Finding::HeapLeavesTooLittle {
                    heap: 1_700 * MB,
                    limit: 2_000 * MB,
                    others: 1_300 * MB,
                },
                "the largest Java heap (1.7 GB, -Xmx) leaves 300.0 MB of the limit of 2.0 GB for what takes 1.3 GB",
            ),
            (
                Finding::DirectMemory {
                    bytes: 890 * MB,
                    buffers: Some(500),
                    growth,
                    site: Some(GrowingSite {
                        site: BufferSite {
                            bytes: 880 * MB,
                            buffers: 400,
                            seen: 400,
                            maker: "Codec.buffer (Codec.java:88)".to_owned(),
                        },
                        growth,
                    }),
                },
                "direct buffers: 890.0 MB in 500, grown from 100.0 MB to 890.0 MB, 14.0 MB a minute; 880.0 MB, 14.0 MB a minute \
                 from Codec.buffer (Codec.java:88)",
            ),
            (
                Finding::ClassesPileUp {
                    bytes: 30 * MB,
                    classes: Some(20_400),
                    loaders: None,
                    growth: None,
                    kind: Some(LoaderKind {
                        loaders: 50,
                        classes: 20_000,
                        name: "Plugin\n".to_owned(),
                    }),
                },
                "classes: 30.0 MB for 20,400 classes; 20,000 by 50 Plugin?",
            ),
            (
                Finding::Malloc {
                    bytes: 400 * MB,
                    growth: None,
                    free: Some(300 * MB),
                    of_vm: Some((
                        60 * MB,
                        TrackedKind {
                            malloc: 50 * MB,
                            mapped: 0,
                            name: "Compiler".to_owned(),
                        },
                    )),
                },
                "malloc: 400.0 MB of native libraries and the VM; the VM counts 60.0 MB as its own, most for Compiler (50.0 MB); 300.0 MB of it is free, and kept by glibc's arenas: the environment \
                 variable MALLOC_ARENA_MAX=2 allows fewer of these, and from JDK 17 on `jcmd PID System.trim_native_heap` gives back what it can",
            ),
            (
                Finding::ThreadsPileUp {
                    bytes: MB,
                    threads: 1_000,
                    before: Some(30),
                },
                "threads: 1,000, 30 before, whose stacks have 1.0 MB",
            ),
        ] {
            assert_eq!(sentence(&finding), text);
        }
    }

    #[test]
    fn forecasts_have_their_interval_or_are_none() {
        let grows = |most: f64| Trend::Grows {
            rate: 20.0 / 60.0..=most / 60.0,
            now: 0.0,
        };
        let said = |fate, trend, left| forecast(&Forecast { fate, trend, left });
        let left = Some(4_800_000);
        let text = said(Fate::HeapIsFull, grows(25.263), left);
        assert_eq!(
            text.as_deref(),
            Some(
                "at this rate the heap is full in 3 h 10 min to 4 h: what lives in the heap grows 20.0 KB to 25.3 KB a minute"
            )
        );
        let text = said(Fate::IsKilled, grows(20.0), None);
        assert_eq!(
            text.as_deref(),
            Some("the resident set grows 20.0 KB a minute")
        );
        let unknown = Trend::Unknown {
            points: 12,
            millis: 180_000,
        };
        assert_eq!(said(Fate::IsKilled, unknown.clone(), None), None);
        assert_eq!(
            said(Fate::HeapIsFull, unknown, left).as_deref(),
            Some(
                "cannot tell yet when the heap is full: 12 collections in 180 s show no steady growth"
            )
        );
        for (until, text) in [
            (1e3..=80e3, "in 1 s to 80 s"),
            (90e3..=240e3, "in 2 min to 4 min"),
            (86_400e3..=1e12, "in 1 d 0 h or more"),
            (1e12..=2e12, "not within a year"),
        ] {
            assert_eq!(within(&until), text);
        }
    }
}
