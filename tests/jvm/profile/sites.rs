//! The section SITES.

use super::{Shares, assert_ctime};

/// A SITES section.
#[derive(Debug)]
pub struct Sites {
    /// `live` or `allocated`.
    pub order: String,
    pub notes: SitesNotes,
    pub rows: Vec<Site>,
}

/// The notes before it.
#[derive(Debug, Default)]
pub struct SitesNotes {
    /// The mean number of bytes between two samples, if the numbers are estimates.
    pub sampled: Option<u64>,
    /// The percentage of `budget=`, if counting exceeded it.
    pub budget: Option<u64>,
    /// The standard errors of live bytes and objects, and of allocated bytes and objects.
    pub errors: Option<[u64; 4]>,
    /// `true` if no GC came before it: objects that have died since the last one still count as alive.
    pub as_of_last_gc: bool,
    /// The number of omitted rows, their live bytes and objects, and their allocated bytes and objects.
    pub left_out: Option<[u64; 5]>,
    /// `true` if the rows of trace 300000 come last.
    pub unseen_last: bool,
    /// `true` if objects without identity are alive in trace 300000, wherever they were made.
    pub value_objects: bool,
}

impl SitesNotes {
    pub(super) fn take(&mut self, line: &str) {
        let notes = line
            .strip_prefix('(')
            .and_then(|notes| notes.strip_suffix(')'));
        for note in notes.expect("notes stand in parentheses").split("; ") {
            if note.starts_with("trace 300000, in the last rows: ") {
                self.unseen_last = true;
            } else if note.starts_with("value objects count where they are made, ") {
                self.value_objects = true;
            } else if let Some(rest) = note.strip_prefix("left out below the cutoff of ") {
                let words = rest.split(' ').filter_map(|word| word.parse::<u64>().ok());
                let numbers: Vec<u64> = words.collect();
                self.left_out = Some(numbers.try_into().expect("five numbers"));
            } else if let Some(rest) = note.strip_prefix("sampled every ") {
                let bytes = rest.strip_suffix(" bytes").expect("bytes");
                self.sampled = Some(bytes.parse().expect("a number"));
            } else if let Some(rest) =
                note.strip_prefix("estimated while counting cost more than budget=")
            {
                let percentage = rest.strip_suffix('%').expect("a percentage");
                self.budget = Some(percentage.parse().expect("a number"));
            } else if let Some(rest) = note.strip_prefix("standard errors of the totals: ") {
                let words = rest.split(' ').filter_map(|word| word.parse::<u64>().ok());
                let numbers: Vec<u64> = words.collect();
                self.errors = Some(numbers.try_into().expect("four numbers"));
            } else if note.starts_with("bytes of the object header, ")
                || note.starts_with("memory after ")
            {
                // These are about the heap dump after the sites, and the process.
            } else {
                assert_eq!(note, "live as of the last garbage collection");
                self.as_of_last_gc = true;
            }
        }
    }
}

/// A row of it.
#[derive(Debug, Clone)]
pub struct Site {
    pub live_bytes: u64,
    pub live: u64,
    pub allocated_bytes: u64,
    pub allocated: u64,
    pub trace: u32,
    pub class: String,
}

impl Sites {
    pub(super) fn parse(head: &str, lines: &[&str], notes: SitesNotes) -> Self {
        let (order, date) = head.split_once(" bytes) ").expect("bytes) date");
        assert_ctime(date);
        let [first, second, rows @ ..] = lines else {
            panic!("two lines of headings: {lines:?}")
        };
        assert_eq!(
            *first,
            "          percent          live          alloc'ed  stack class"
        );
        assert_eq!(
            *second,
            " rank   self  accum     bytes objs     bytes  objs trace name"
        );
        let key = |row: &Site| match order {
            "live" => row.live_bytes,
            "allocated" => row.allocated_bytes,
            _ => panic!("ordered by {order}"),
        };
        let mut shares = Shares::default();
        let rows: Vec<Site> = (1..)
            .zip(rows)
            .map(|(rank, line)| Site::parse(rank, line, key, &mut shares))
            .collect();
        let is_last = |row: &Site| notes.unseen_last && row.trace == 300_000;
        let order_of = |row: &Site| (is_last(row), std::cmp::Reverse(key(row)));
        assert!(rows.is_sorted_by_key(order_of), "ordered by {order} bytes");
        Self {
            order: order.to_owned(),
            notes,
            rows,
        }
    }
}

impl Site {
    fn parse(rank: usize, line: &str, key: impl Fn(&Site) -> u64, shares: &mut Shares) -> Self {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, own, accum, numbers @ .., trace, class] = &fields[..] else {
            panic!("nine columns: {line}")
        };
        let percent = |text: &str| -> f64 {
            let number = text.strip_suffix('%').expect("a percentage");
            number.parse().expect("a number")
        };
        let (own, accum) = (percent(own), percent(accum));
        let numbers: Vec<u64> = numbers
            .iter()
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [live_bytes, live, allocated_bytes, allocated] = numbers[..] else {
            panic!("nine columns: {line}")
        };
        let exact = format!(
            "{rank:5} {own:5.2}% {accum:5.2}% {live_bytes:9} {live:4} {allocated_bytes:9} {allocated:5} {trace:5} {class}"
        );
        assert_eq!(line, exact, "the layout of a row");
        let site = Self {
            live_bytes,
            live,
            allocated_bytes,
            allocated,
            trace: trace.parse().expect("a trace"),
            class: (*class).to_owned(),
        };
        shares.add(key(&site), own, accum, line);
        site
    }
}
