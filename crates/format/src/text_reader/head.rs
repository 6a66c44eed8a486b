//! The beginning of a file, and the dates of its sections.

use std::io::Read;

use super::lines::Lines;
use super::{TextError, old_prof};
use crate::ctime;
use crate::encode::{Micros, Millis};

/// The beginning of every text profile.
pub(super) const MAGIC: &str = "JAVA PROFILE 1.0";
/// The most facts that are kept of a head.
const MOST_FACTS: usize = 64;
/// The line between the description and the records.
const DASHES: &str = "--------";

/// The facts before the first record.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) created: Millis,
    pub(super) old_prof: bool,
    pub(super) process: Option<u32>,
    /// The facts about the run, with their labels.
    pub(super) facts: Vec<(String, String)>,
    /// `depth=`, if the file has the options.
    pub(super) depth: Option<u32>,
}

pub(super) fn read<R: Read>(lines: &mut Lines<R>) -> Result<Head, TextError> {
    let first = lines.next()?.unwrap_or_default();
    if first == old_prof::HEAD {
        return Ok(Head {
            created: Millis(0),
            old_prof: true,
            process: None,
            facts: Vec::new(),
            depth: None,
        });
    }
    if !first.starts_with(MAGIC) {
        return Err(lines.unexpected("`JAVA PROFILE 1.0.1, created` and a date"));
    }
    let date = first.split_once(", created ").map(|(_, date)| date);
    let created = date.and_then(ctime::parse).unwrap_or_default();
    let (mut process, mut depth) = (None, None);
    let mut facts = Vec::new();
    let mut blank_lines = 0;
    loop {
        let line = lines.within("the description of its records", 1)?;
        if line == DASHES {
            break;
        }
        // The facts stand between the first two blank lines.
        blank_lines += usize::from(line.is_empty());
        if blank_lines == 1
            && facts.len() < MOST_FACTS
            && let Some((label, value)) = line.split_once(':')
        {
            facts.push((label.to_owned(), value.trim().to_owned()));
        }
        if let Some(number) = line.strip_prefix("Process:") {
            process = number.trim().parse().ok();
        }
        if let Some(options) = line.strip_prefix("Options:") {
            depth = depth_in(options.trim());
        }
        // The file is an excerpt without a header.
        if begins_record(line) {
            lines.put_back();
            break;
        }
    }
    Ok(Head {
        created,
        old_prof: false,
        process,
        facts,
        depth,
    })
}

/// Returns the value of `depth=` in an agent's options, or its default.
fn depth_in(options: &str) -> Option<u32> {
    const DEFAULT: u32 = 4;
    /// With `wall=` and `native=malloc`.
    const LONG_DEFAULT: u32 = 64;
    let given = |name| {
        options
            .rsplit(',')
            .find_map(|option| option.strip_prefix(name))
    };
    if let Some(depth) = given("depth=") {
        return depth.parse().ok();
    }
    let is_long = given("wall=").is_some_and(|wall: &str| wall != "n")
        || options
            .split(',')
            .any(|option| option.starts_with("native=malloc"));
    Some(if is_long { LONG_DEFAULT } else { DEFAULT })
}

/// Returns `true` if a line can only be the first of a record, and not part of a description.
fn begins_record(line: &str) -> bool {
    const FIRST: [&str; 7] = [
        "THREAD START (",
        "THREAD END (",
        "SITES BEGIN (",
        "CPU SAMPLES BEGIN (",
        "CPU TIME (ms) BEGIN (",
        "MONITOR TIME BEGIN (",
        "HEAP DUMP BEGIN (",
    ];
    let trace = line.strip_prefix("TRACE ").is_some_and(|rest| {
        let serial = rest.split(':').next().unwrap_or_default();
        serial.len() < rest.len() && serial.parse::<u32>().is_ok()
    });
    trace || FIRST.iter().any(|first| line.starts_with(first))
}

impl Head {
    /// Returns the time of a date in a section's first line.
    pub(super) fn since(&self, date: &str) -> Micros {
        let time = ctime::parse(date).unwrap_or(self.created);
        Micros(time.0.saturating_sub(self.created.0).saturating_mul(1_000))
    }
}
