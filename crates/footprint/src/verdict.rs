//! What an account means: one function for each rule. Each returns the numbers that it rests on.

use crate::account::{Account, BufferSite, LoaderKind, TrackedKind};
use crate::part::Part;

/// A part that has less than this share of the resident set is not the reason that the process is large.
const LARGE_SHARE: u64 = 4;
/// Threads and classes are many where they have this share.
const MANY_SHARE: u64 = 8;
/// What has grown by less than this, or by less than a fifth, has not grown.
const LITTLE: u64 = 16 << 20;
/// The least time, in milliseconds, after which something can be said to grow or not to grow: a program that has just
/// started only ever has more than before.
const SHORT: u64 = 10_000;
const MINUTE: u64 = 60_000;
/// What lives fills the heap if more than this share of it is in use after a collection.
const FULL_PERCENT: u64 = 85;

/// The growth of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The bytes at the first look.
    pub before: u64,
    /// The bytes at the last look.
    pub after: u64,
    /// The bytes a minute.
    pub per_minute: u64,
}

/// A place that makes direct buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowingSite {
    /// The place, and what it has at the last look.
    pub site: BufferSite,
    /// What that has grown by.
    pub growth: Option<Growth>,
}

/// What a rule has found. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// What lives fills the Java heap.
    HeapTooSmall {
        /// In use after the last collection.
        live: u64,
        /// The most that the heap may have.
        limit: u64,
    },
    /// The largest Java heap leaves less of the limit than everything else takes.
    HeapLeavesTooLittle {
        /// The most that the heap may have.
        heap: u64,
        /// The limit of the cgroup.
        limit: u64,
        /// What the process has in RAM outside the heap, and what else counts against the limit and cannot be reclaimed.
        others: u64,
    },
    /// Direct buffers are a large part, or grow.
    DirectMemory {
        /// All of them.
        bytes: u64,
        /// Their number.
        buffers: Option<u64>,
        /// What they have grown by.
        growth: Option<Growth>,
        /// The place whose buffers have grown most, or are largest, if it is known.
        site: Option<GrowingSite>,
    },
    /// Classes are a large part, or grow.
    ClassesPileUp {
        /// Metaspace and class space in RAM.
        bytes: u64,
        /// The number of classes.
        classes: Option<u64>,
        /// The number of their loaders.
        loaders: Option<u64>,
        /// What they have grown by.
        growth: Option<Growth>,
        /// The loaders with most classes but for those that every VM has, if they are known.
        kind: Option<LoaderKind>,
    },
    /// The stacks of threads are a large part, or there are ever more threads.
    ThreadsPileUp {
        /// The stacks in RAM.
        bytes: u64,
        /// The number of threads.
        threads: u64,
        /// Their number at the first look, if there are many more now.
        before: Option<u64>,
    },
    /// `malloc` is a large part, or grows.
    Malloc {
        /// What is in RAM.
        bytes: u64,
        /// What it has grown by.
        growth: Option<Growth>,
        /// What of it is free, if that is a large part.
        free: Option<u64>,
        /// What of it the VM has itself, and its largest purpose, if the VM counts it.
        of_vm: Option<(u64, TrackedKind)>,
    },
    /// Files in tmpfs or shared memory are a large part of what counts against the limit.
    FilesInMemory {
        /// Their bytes.
        bytes: u64,
        /// Everything that counts.
        used: u64,
    },
    /// Another part has grown.
    PartGrows {
        /// The part.
        part: Part,
        /// What it has grown by.
        growth: Growth,
    },
    /// No part has grown.
    NothingGrows {
        /// The time between the two looks, in milliseconds.
        millis: u64,
    },
}

/// Two looks at a process.
struct Looks<'a> {
    first: Option<&'a Account>,
    last: &'a Account,
}

/// Applies all rules to an account, and to an earlier one of the same process. The findings that concern most bytes come
/// first.
#[must_use]
pub fn verdict(first: Option<&Account>, last: &Account) -> Vec<Finding> {
    let looks = Looks { first, last };
    let rules = [
        heap_too_small,
        heap_leaves_too_little,
        direct_memory,
        classes_pile_up,
        threads_pile_up,
        malloc,
        files_in_memory,
    ];
    let mut findings: Vec<Finding> = rules.iter().filter_map(|rule| rule(&looks)).collect();
    findings.extend(other_growth(&looks));
    let mut ordered: Vec<(usize, Finding)> = findings.into_iter().enumerate().collect();
    ordered.sort_unstable_by_key(|(place, finding)| (std::cmp::Reverse(weight(finding)), *place));
    let mut findings: Vec<Finding> = ordered.into_iter().map(|(_, finding)| finding).collect();
    findings.extend(nothing_grows(&looks));
    findings
}

impl Looks<'_> {
    fn resident(&self, parts: &[Part]) -> u64 {
        resident(self.last, parts)
    }

    fn is_large(&self, bytes: u64, share: u64) -> bool {
        bytes > LITTLE && bytes.saturating_mul(share) > self.last.resident()
    }

    /// Returns the time between the looks, if there are two that are far enough apart.
    fn millis(&self) -> Option<u64> {
        let millis = self.last.time.checked_sub(self.first?.time)?;
        (millis >= SHORT).then_some(millis)
    }

    /// Returns the growth of a value, if it has grown.
    fn growth(&self, value: impl Fn(&Account) -> Option<u64>) -> Option<Growth> {
        let millis = self.millis()?;
        let (before, after) = (value(self.first?)?, value(self.last)?);
        let more = after.checked_sub(before)?;
        (more > LITTLE.max(before / 5)).then(|| Growth {
            before,
            after,
            per_minute: more.saturating_mul(MINUTE) / millis,
        })
    }
}

fn resident(account: &Account, parts: &[Part]) -> u64 {
    parts.iter().map(|&part| account.parts[part].resident).sum()
}

/// The number by which findings are ordered.
fn weight(finding: &Finding) -> u64 {
    let grown = |growth: &Option<Growth>| growth.map_or(0, |growth| growth.after - growth.before);
    match finding {
        // These two say what to change, whatever else is large.
        Finding::HeapTooSmall { .. } | Finding::HeapLeavesTooLittle { .. } => u64::MAX,
        Finding::DirectMemory { bytes, growth, .. }
        | Finding::ClassesPileUp { bytes, growth, .. }
        | Finding::Malloc { bytes, growth, .. } => bytes.saturating_add(grown(growth)),
        Finding::ThreadsPileUp { bytes, .. } | Finding::FilesInMemory { bytes, .. } => *bytes,
        Finding::PartGrows { growth, .. } => growth.after - growth.before,
        Finding::NothingGrows { .. } => 0,
    }
}

fn heap_too_small(looks: &Looks<'_>) -> Option<Finding> {
    let heap = looks.last.vm.heap?;
    let live = heap.after_collection?;
    let is_full = live.saturating_mul(100) > heap.limit.saturating_mul(FULL_PERCENT);
    is_full.then_some(Finding::HeapTooSmall {
        live,
        limit: heap.limit,
    })
}

fn heap_leaves_too_little(looks: &Looks<'_>) -> Option<Finding> {
    let group = looks.last.cgroup?;
    let (limit, heap) = (group.limit?, looks.last.vm.heap?.limit);
    // Files that can be written back, or read again, leave when there is no room.
    let reclaimed = resident(
        looks.last,
        &[Part::Libraries, Part::MappedFiles, Part::ClassArchive],
    );
    let of_heap = [Part::JavaHeap, Part::HeapViews];
    let outside = looks.last.resident() - looks.resident(&of_heap);
    let of_group = [group.shared, group.kernel, group.sockets];
    let of_group: u64 = of_group.into_iter().flatten().sum();
    let others = outside.saturating_sub(reclaimed).saturating_add(of_group);
    (heap.saturating_add(others) > limit).then_some(Finding::HeapLeavesTooLittle {
        heap,
        limit,
        others,
    })
}

fn direct_memory(looks: &Looks<'_>) -> Option<Finding> {
    let bytes = looks.last.vm.direct?;
    let growth = looks.growth(|account| account.vm.direct);
    (looks.is_large(bytes, LARGE_SHARE) || growth.is_some()).then_some(Finding::DirectMemory {
        bytes,
        buffers: looks.last.vm.direct_buffers,
        growth,
        site: site_of(looks),
    })
}

/// Returns the place whose buffers have grown most, or else has most.
fn site_of(looks: &Looks<'_>) -> Option<GrowingSite> {
    let sites = looks.last.buffer_sites.iter().map(|site| {
        let bytes = |account: &Account| {
            let mut sites = account.buffer_sites.iter();
            let same = sites.find(|other| other.maker == site.maker);
            Some(same.map_or(0, |same| same.bytes))
        };
        // Of an account without any site nothing is known.
        let is_known = looks
            .first
            .is_some_and(|first| !first.buffer_sites.is_empty());
        GrowingSite {
            site: site.clone(),
            growth: looks.growth(bytes).filter(|_| is_known),
        }
    });
    sites.max_by_key(|site| {
        let grown = site.growth.map_or(0, |growth| growth.after - growth.before);
        (grown, site.site.bytes)
    })
}

const OF_CLASSES: [Part; 2] = [Part::Metaspace, Part::ClassSpace];

fn classes_pile_up(looks: &Looks<'_>) -> Option<Finding> {
    let bytes = looks.resident(&OF_CLASSES);
    let growth = looks.growth(|account| Some(resident(account, &OF_CLASSES)));
    (looks.is_large(bytes, MANY_SHARE) || growth.is_some()).then_some(Finding::ClassesPileUp {
        bytes,
        classes: looks.last.vm.classes,
        loaders: looks.last.vm.loaders,
        growth,
        kind: looks
            .last
            .loader_kinds
            .iter()
            .find(|kind| !kind.is_of_every_vm())
            .cloned(),
    })
}

impl LoaderKind {
    /// Returns `true` for the loaders that every VM has.
    fn is_of_every_vm(&self) -> bool {
        self.name.is_empty() || self.name.starts_with("jdk.internal.loader.")
    }
}

fn threads_pile_up(looks: &Looks<'_>) -> Option<Finding> {
    let (bytes, threads) = (looks.resident(&[Part::ThreadStacks]), looks.last.threads);
    let before = looks.first.filter(|_| looks.millis().is_some());
    let before = before
        .map(|first| first.threads)
        .filter(|&before| threads > before.saturating_mul(2).saturating_add(20));
    (looks.is_large(bytes, MANY_SHARE) || before.is_some()).then_some(Finding::ThreadsPileUp {
        bytes,
        threads,
        before,
    })
}

fn malloc(looks: &Looks<'_>) -> Option<Finding> {
    let bytes = looks.resident(&[Part::Malloc]);
    let growth = looks.growth(|account| Some(account.parts[Part::Malloc].resident));
    (looks.is_large(bytes, LARGE_SHARE) || growth.is_some()).then_some(Finding::Malloc {
        bytes,
        growth,
        free: looks
            .last
            .malloc_free
            .filter(|free| free.saturating_mul(LARGE_SHARE) > bytes),
        of_vm: looks.last.malloc_of_vm(),
    })
}

fn files_in_memory(looks: &Looks<'_>) -> Option<Finding> {
    let group = looks.last.cgroup?;
    let (bytes, used) = (group.shared?, group.used?);
    // ZGC's heap is such a file, too.
    let heap = looks.resident(&[Part::JavaHeap]);
    let is_of_zgc = looks.resident(&[Part::HeapViews]) > 0 || bytes >= heap && heap > used / 2;
    let bytes = match is_of_zgc {
        true => bytes.saturating_sub(heap),
        false => bytes,
    };
    let is_much = bytes > LITTLE && bytes.saturating_mul(LARGE_SHARE) > used;
    is_much.then_some(Finding::FilesInMemory { bytes, used })
}

/// The parts that have a rule of their own.
const RULED: [Part; 6] = [
    Part::DirectBuffers,
    Part::Metaspace,
    Part::ClassSpace,
    Part::ThreadStacks,
    Part::Malloc,
    Part::HeapViews,
];

fn other_growth(looks: &Looks<'_>) -> Vec<Finding> {
    let others = Part::ALL.into_iter().filter(|part| !RULED.contains(part));
    let grown = others.filter_map(|part| {
        let value = |account: &Account| match (part, account.vm.heap) {
            // Garbage comes and goes.
            (Part::JavaHeap, Some(heap)) => heap.after_collection,
            _ => Some(account.parts[part].resident),
        };
        let growth = looks.growth(value)?;
        Some(Finding::PartGrows { part, growth })
    });
    grown.collect()
}

fn nothing_grows(looks: &Looks<'_>) -> Option<Finding> {
    let millis = looks.millis()?;
    let grows = Part::ALL.into_iter().any(|part| {
        let bytes = |account: &Account| Some(account.parts[part].resident);
        looks.growth(bytes).is_some()
    });
    (!grows).then_some(Finding::NothingGrows { millis })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Amounts, JavaHeap, VmFacts};
    use crate::cgroup::Cgroup;

    const MB: u64 = 1 << 20;

    /// A process with 400 MB of Java heap, of at most 512, and 100 MB of what every JVM has, a minute after `time` 0.
    fn process(parts: &[(Part, u64)]) -> Account {
        let mut account = Account {
            time: MINUTE,
            threads: 30,
            vm: VmFacts {
                heap: Some(JavaHeap {
                    used: 300 * MB,
                    committed: 420 * MB,
                    limit: 512 * MB,
                    after_collection: Some(100 * MB),
                }),
                direct: Some(MB),
                ..VmFacts::default()
            },
            ..Account::default()
        };
        let usual = [
            (Part::JavaHeap, 400),
            (Part::Metaspace, 30),
            (Part::Malloc, 30),
            (Part::ThreadStacks, 10),
            (Part::Rest, 30),
        ];
        for (part, megabytes) in usual.iter().chain(parts) {
            account.parts[*part] = Amounts {
                committed: megabytes * MB,
                resident: megabytes * MB,
            };
        }
        account
    }

    fn earlier(mut account: Account) -> Account {
        account.time = 0;
        account
    }

    fn grown(before: u64, after: u64) -> Option<Growth> {
        Some(Growth {
            before: before * MB,
            after: after * MB,
            per_minute: (after - before) * MB,
        })
    }

    #[test]
    fn a_usual_process_has_no_finding_and_a_steady_one_does_not_grow() {
        assert_eq!(verdict(None, &process(&[])), []);
        let steady = verdict(Some(&earlier(process(&[]))), &process(&[]));
        assert_eq!(steady, [Finding::NothingGrows { millis: MINUTE }]);
        // Too close together.
        let mut soon = process(&[]);
        soon.time = SHORT - 1;
        assert_eq!(verdict(Some(&earlier(process(&[]))), &soon), []);
    }

    #[test]
    fn what_lives_fills_the_heap() {
        let mut full = process(&[]);
        full.vm.heap = full.vm.heap.map(|heap| JavaHeap {
            after_collection: Some(450 * MB),
            ..heap
        });
        let expected = Finding::HeapTooSmall {
            live: 450 * MB,
            limit: 512 * MB,
        };
        assert_eq!(verdict(None, &full), [expected]);
    }

    #[test]
    fn the_heap_leaves_too_little() {
        let mut close = process(&[(Part::Libraries, 50)]);
        let group = Cgroup {
            limit: Some(612 * MB),
            used: Some(500 * MB),
            kernel: Some(0),
            ..Cgroup::default()
        };
        close.cgroup = Some(group);
        // 512 + 100 are just as many as there may be: libraries can be read again.
        assert_eq!(verdict(None, &close), []);
        close.cgroup = Some(Cgroup {
            kernel: Some(MB),
            ..group
        });
        let expected = Finding::HeapLeavesTooLittle {
            heap: 512 * MB,
            limit: 612 * MB,
            others: 101 * MB,
        };
        assert_eq!(verdict(None, &close), [expected]);
    }

    #[test]
    fn direct_buffers_are_many_or_grow() {
        let mut many = process(&[(Part::DirectBuffers, 300)]);
        many.vm.direct = Some(300 * MB);
        many.vm.direct_buffers = Some(7);
        let expected = |growth| Finding::DirectMemory {
            bytes: 300 * MB,
            buffers: Some(7),
            growth,
            site: None,
        };
        assert_eq!(verdict(None, &many), [expected(None)]);
        let growth = grown(1, 300);
        assert_eq!(
            verdict(Some(&earlier(process(&[]))), &many),
            [expected(growth)]
        );
    }

    #[test]
    fn the_place_that_makes_ever_more_buffers_is_named() {
        let site = |megabytes: u64, maker: &str| BufferSite {
            bytes: megabytes * MB,
            buffers: 1,
            seen: 1,
            maker: maker.to_owned(),
        };
        let mut many = process(&[]);
        many.vm.direct = Some(300 * MB);
        many.buffer_sites = vec![site(200, "Pool.fill"), site(100, "Codec.buffer")];
        let named = |first: Option<&Account>, last: &Account| match &verdict(first, last)[0] {
            Finding::DirectMemory {
                site: Some(site), ..
            } => (
                site.site.maker.clone(),
                site.growth.map(|growth| growth.after - growth.before),
            ),
            finding => panic!("{finding:?}"),
        };
        assert_eq!(named(None, &many), ("Pool.fill".to_owned(), None));
        let mut before = earlier(many.clone());
        // What no look has seen before has not grown.
        before.buffer_sites.clear();
        before.vm.direct = Some(MB);
        assert_eq!(named(Some(&before), &many), ("Pool.fill".to_owned(), None));
        before.buffer_sites = vec![site(190, "Pool.fill")];
        assert_eq!(
            named(Some(&before), &many),
            ("Codec.buffer".to_owned(), Some(100 * MB))
        );
    }

    #[test]
    fn classes_and_threads_pile_up() {
        let mut many = process(&[(Part::Metaspace, 200)]);
        many.vm.classes = Some(20_000);
        let kind = |name: &str| LoaderKind {
            loaders: 50,
            classes: 20_000,
            name: name.to_owned(),
        };
        many.loader_kinds = vec![
            kind(""),
            kind("jdk.internal.loader.ClassLoaders$AppClassLoader"),
            kind("Plugin"),
        ];
        let found = verdict(Some(&earlier(process(&[]))), &many);
        let [
            Finding::ClassesPileUp {
                bytes,
                growth,
                classes,
                ref kind,
                ..
            },
        ] = found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!(
            (bytes, growth, classes),
            (200 * MB, grown(30, 200), Some(20_000))
        );
        assert_eq!(kind.as_ref().map(|kind| &*kind.name), Some("Plugin"));
        let mut many = process(&[]);
        many.threads = 81;
        let found = verdict(Some(&earlier(process(&[]))), &many);
        let [
            Finding::ThreadsPileUp {
                threads, before, ..
            },
            Finding::NothingGrows { .. },
        ] = found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((threads, before), (81, Some(30)));
    }

    #[test]
    fn malloc_and_other_parts_grow() {
        let more = process(&[(Part::Malloc, 90), (Part::Rest, 300)]);
        let found = verdict(Some(&earlier(process(&[]))), &more);
        let rest = Finding::PartGrows {
            part: Part::Rest,
            growth: grown(30, 300).expect("it has grown"),
        };
        let malloc = Finding::Malloc {
            bytes: 90 * MB,
            growth: grown(30, 90),
            free: None,
            of_vm: None,
        };
        assert_eq!(found, [rest, malloc]);
    }

    #[test]
    fn what_the_vm_has_of_malloc_is_said_if_it_counts_it() {
        let mut tracked = process(&[(Part::Malloc, 400)]);
        let kind = |name: &str, megabytes: u64| TrackedKind {
            malloc: megabytes * MB,
            mapped: 0,
            name: name.to_owned(),
        };
        // Direct buffers are no part of it.
        tracked.vm.direct = Some(500 * MB);
        tracked.tracked = vec![kind("GC", 20), kind("Compiler", 300), kind("Other", 500)];
        let expected = Finding::Malloc {
            bytes: 400 * MB,
            growth: None,
            free: None,
            of_vm: Some((320 * MB, kind("Compiler", 300))),
        };
        assert!(verdict(None, &tracked).contains(&expected));
    }

    #[test]
    fn what_malloc_keeps_though_it_is_free_is_said_if_it_is_much() {
        let mut kept = process(&[(Part::Malloc, 400)]);
        for (free, said) in [(None, None), (Some(90), None), (Some(300), Some(300 * MB))] {
            kept.malloc_free = free.map(|megabytes| megabytes * MB);
            let expected = Finding::Malloc {
                bytes: 400 * MB,
                growth: None,
                free: said,
                of_vm: None,
            };
            assert_eq!(verdict(None, &kept), [expected]);
        }
    }

    #[test]
    fn files_in_memory_count_but_those_of_zgc_are_its_heap() {
        let mut tmpfs = process(&[]);
        tmpfs.cgroup = Some(Cgroup {
            used: Some(1000 * MB),
            shared: Some(450 * MB),
            ..Cgroup::default()
        });
        let expected = Finding::FilesInMemory {
            bytes: 450 * MB,
            used: 1000 * MB,
        };
        assert_eq!(verdict(None, &tmpfs), [expected]);
        tmpfs.parts[Part::HeapViews].resident = 2 * MB;
        assert_eq!(verdict(None, &tmpfs), []);
    }
}
