//! Accounts of memory and findings in words.

use hprof_footprint::{Account, Cgroup, Finding, Growth, JavaHeap, Part};

use crate::amounts::{Sizes, number, size, time};

/// A part is named in a headline from this share of the resident set on.
const NAMED_SHARE: u64 = 25;

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
        } => format!(
            "direct buffers: {}{}{}",
            size(*bytes),
            buffers.map_or(String::new(), |count| format!(" in {}", number(count))),
            growing(growth)
        ),
        Finding::ClassesPileUp {
            bytes,
            classes,
            loaders,
            growth,
        } => format!(
            "classes: {}{}{}{}",
            size(*bytes),
            classes.map_or(String::new(), |count| format!(
                " for {} classes",
                number(count)
            )),
            loaders.map_or(String::new(), |count| format!(
                " of {} loaders",
                number(count)
            )),
            growing(growth)
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
        Finding::Malloc { bytes, growth } => format!(
            "malloc: {} of native libraries and the VM{}",
            size(*bytes),
            growing(growth)
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
    if let (Some(classes), Some(loaders)) = (account.vm.classes, account.vm.loaders) {
        lines.push(format!(
            "classes: {} of {} loaders",
            number(classes),
            number(loaders)
        ));
    }
    lines.push(format!("threads: {}", number(account.threads)));
    if let Some(swapped) = account.swapped.filter(|&bytes| bytes > 0) {
        lines.push(format!("swapped out: {}", sizes.text(swapped)));
    }
    lines.extend(account.cgroup.map(|group| of_group(&group, sizes)));
    lines
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
                },
                "direct buffers: 890.0 MB in 500, grown from 100.0 MB to 890.0 MB, 14.0 MB a minute",
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
}
