//! The columns of a row.

/// Parses a share of a total, in hundredths of a percent. The JDK's agent printed it by the locale's rules, with a
/// comma in many.
pub(super) fn share(text: &str) -> Option<u64> {
    let (whole, hundredths) = text.strip_suffix('%')?.split_once(['.', ','])?;
    if hundredths.len() != 2 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    whole
        .checked_mul(100)?
        .checked_add(hundredths.parse().ok()?)
}

/// Returns the first `N` words of a line, and the rest after one space.
pub(super) fn words<const N: usize>(line: &str) -> Option<([&str; N], &str)> {
    let mut rest = line;
    let mut words = [""; N];
    for word in &mut words {
        rest = rest.trim_start_matches(' ');
        let end = rest.find(' ').unwrap_or(rest.len());
        (*word, rest) = rest.split_at(end);
    }
    let full = words.iter().all(|word| !word.is_empty());
    full.then(|| (words, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// The columns common to CPU SAMPLES, CPU TIME and MONITOR TIME.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked<'a> {
    pub(super) own: u64,
    pub(super) accumulated: u64,
    pub(super) count: u64,
    pub(super) trace: u32,
    /// The text after the columns.
    pub(super) name: &'a str,
}

pub(super) fn ranked(line: &str) -> Option<Ranked<'_>> {
    let ([rank, own, accumulated, count, trace], name) = words(line)?;
    rank.parse::<u64>().ok()?;
    Some(Ranked {
        own: share(own)?,
        accumulated: share(accumulated)?,
        count: count.parse().ok()?,
        trace: trace.parse().ok()?,
        name,
    })
}

/// Parses the number and the date in a section's first line: `CPU SAMPLES BEGIN (total = 282) Fri Nov 20 10:39:23
/// 2026`.
pub(super) fn total<'a>(line: &'a str, begin: &str, end: &str) -> Option<(u64, &'a str)> {
    let (total, date) = line.strip_prefix(begin)?.split_once(end)?;
    let total = match total.parse::<i32>() {
        // The original printed the lowest 32 bits with a sign.
        Ok(wrapped) => u64::from(wrapped.cast_unsigned()),
        Err(_) => total.parse().ok()?,
    };
    Some((total, date.trim_start()))
}
