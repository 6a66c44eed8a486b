//! The section SITES.

use super::{Shares, assert_ctime};

/// A SITES section.
#[derive(Debug)]
pub struct Sites {
    /// The bytes between two samples, where the numbers are estimates.
    pub sampled: Option<u64>,
    /// No GC came before it: what died since the last one still counts as alive.
    pub as_of_last_gc: bool,
    pub rows: Vec<Site>,
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
    pub(super) fn parse(head: &str, lines: &[&str]) -> Self {
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
        let mut shares = Shares::default();
        let rows: Vec<Site> = (1..)
            .zip(rows)
            .map(|(rank, line)| Site::parse(rank, line, &mut shares))
            .collect();
        let key = |row: &Site| match order {
            "live" => row.live_bytes,
            "allocated" => row.allocated_bytes,
            _ => panic!("ordered by {order}"),
        };
        assert!(
            rows.is_sorted_by(|left, right| key(left) >= key(right)),
            "ordered by {order} bytes"
        );
        Self {
            sampled: None,
            as_of_last_gc: false,
            rows,
        }
    }
}

impl Site {
    fn parse(rank: usize, line: &str, shares: &mut Shares) -> Self {
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
        assert!(
            live <= allocated && live_bytes <= allocated_bytes,
            "what lives has been allocated: {line}"
        );
        shares.add(live_bytes, own, accum, line);
        Self {
            live_bytes,
            live,
            allocated_bytes,
            allocated,
            trace: trace.parse().expect("a trace"),
            class: (*class).to_owned(),
        }
    }
}
