//! The account of memory over time, as areas of letters.

use hprof_footprint::{Account, Part};

use crate::amounts::{size, time};

/// The columns left of the areas.
const LABEL: usize = 10;
/// The limit is shown if the areas reach this part of it.
const LIMIT_SHARE: u64 = 3;

/// Returns the letter of a part.
pub fn mark(part: Part) -> char {
    match part {
        Part::JavaHeap => 'J',
        Part::HeapViews => 'V',
        Part::ClassSpace => 'K',
        Part::Metaspace => 'M',
        Part::CodeCache => 'C',
        Part::ClassArchive => 'A',
        Part::ThreadStacks => 'T',
        Part::CardTable => 'G',
        Part::DirectBuffers => 'D',
        Part::Malloc => 'm',
        Part::Agent => 'a',
        Part::Libraries => 'L',
        Part::MappedFiles => 'F',
        Part::SharedMemory => 'S',
        Part::Rest => '.',
    }
}

/// Draws the parts one upon the other, so that they add up to the resident set; below them is the time, from the first account to
/// the last. The highest line is that of the limit if the process is near it.
pub fn areas(accounts: &[Account], width: usize, height: usize) -> Vec<String> {
    let (Some(first), Some(last)) = (accounts.first(), accounts.last()) else {
        return Vec::new();
    };
    let rows = height.saturating_sub(1);
    let room = width.saturating_sub(LABEL);
    if rows == 0 || room == 0 {
        return Vec::new();
    }
    let columns = columns(accounts, room);
    let highest = columns.iter().map(|account| account.resident()).max();
    let highest = highest.unwrap_or(0).max(1);
    let limit = last.cgroup.and_then(|group| group.limit);
    let limit = limit.filter(|&limit| highest.saturating_mul(LIMIT_SHARE) >= limit);
    let top = highest.max(limit.unwrap_or(0));
    let line_of = |bytes: u64| (bytes as f64 / top as f64 * rows as f64).ceil().max(1.0);
    let mut lines = Vec::with_capacity(height);
    for row in (0..rows).rev() {
        let is_limit = limit.is_some_and(|limit| line_of(limit) == (row + 1) as f64);
        let label = match row {
            _ if is_limit => format!("limit {}", size(top.min(limit.unwrap_or(top)))),
            row if row + 1 == rows => size(top),
            _ => String::new(),
        };
        let height = (row as f64 + 0.5) / rows as f64 * top as f64;
        let fill = if is_limit { '-' } else { ' ' };
        let cells = columns
            .iter()
            .map(|account| match part_at(account, height) {
                Some(part) => mark(part),
                None => fill,
            });
        let cells: String = cells.collect();
        let line = format!("{} {cells}", short(&label));
        lines.push(line.trim_end().to_owned());
    }
    let ago = time(last.time.saturating_sub(first.time) as f64 / 1e3);
    lines.push(match first.time == last.time {
        true => format!("{:LABEL$}now", ""),
        false => format!("{:LABEL$}{ago} ago to now", ""),
    });
    lines
}

/// Returns a label right-aligned, without the unit's space if it is too long.
fn short(label: &str) -> String {
    let width = LABEL - 1;
    let label = match label.chars().count() > width {
        true => label.replacen("limit ", "=", 1),
        false => label.to_owned(),
    };
    format!("{label:>width$}")
}

/// Returns an account for each column: the last one by its time.
fn columns(accounts: &[Account], room: usize) -> Vec<&Account> {
    let (Some(first), Some(last)) = (accounts.first(), accounts.last()) else {
        return Vec::new();
    };
    let length = last.time.saturating_sub(first.time);
    let steps = room.saturating_sub(1).max(1) as u64;
    let at = |column: usize| {
        let then = first.time + length * column as u64 / steps;
        let after = accounts.partition_point(|account| account.time <= then);
        &accounts[after.saturating_sub(1)]
    };
    (0..room).map(at).collect()
}

/// Returns the part that an account has at a height.
fn part_at(account: &Account, height: f64) -> Option<Part> {
    let mut sum = 0;
    account.parts.iter().find_map(|(part, amounts)| {
        sum += amounts.resident;
        (height < sum as f64).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use hprof_footprint::{Amounts, Cgroup};

    use super::*;

    const MB: u64 = 1_000_000;

    pub fn account(second: u64, parts: &[(Part, u64)]) -> Account {
        let mut account = Account {
            time: 1_000 * second,
            ..Account::default()
        };
        for &(part, megabytes) in parts {
            account.parts[part] = Amounts {
                committed: megabytes * MB,
                resident: megabytes * MB,
            };
        }
        account
    }

    #[test]
    fn areas_add_up_to_the_resident_set() {
        let mut accounts: Vec<Account> = (1..=4)
            .map(|second| {
                account(
                    second,
                    &[(Part::JavaHeap, 20), (Part::DirectBuffers, 20 * second)],
                )
            })
            .collect();
        assert_eq!(
            areas(&accounts, 17, 6),
            [
                " 100.0 MB       D",
                "              DDD",
                "            DDDDD",
                "          DDDDDDD",
                "          JJJJJJJ",
                "          3.00 s ago to now",
            ]
        );
        for account in &mut accounts {
            account.cgroup = Some(Cgroup {
                limit: Some(200 * MB),
                ..Cgroup::default()
            });
        }
        let near = areas(&accounts, 17, 11);
        assert_eq!(near[0], "=200.0 MB -------");
        assert_eq!(near[5], "                D");
        accounts[3].cgroup = Some(Cgroup {
            limit: Some(2_000 * MB),
            ..Cgroup::default()
        });
        assert_eq!(areas(&accounts, 17, 6)[0], " 100.0 MB       D");
    }

    #[test]
    fn there_are_as_many_columns_as_room() {
        let accounts: Vec<Account> = (0..500)
            .map(|second| account(second, &[(Part::Malloc, 1 + second)]))
            .collect();
        for (width, height) in [(0, 0), (1, 1), (11, 2), (30, 5), (1_000, 3)] {
            let lines = areas(&accounts, width, height);
            assert!(lines.len() <= height);
            let drawn = &lines[..lines.len().saturating_sub(1)];
            assert!(
                drawn.iter().all(|line| line.chars().count() <= width),
                "{lines:?}"
            );
        }
        assert!(areas(&[], 80, 10).is_empty());
        let one = areas(&accounts[..1], 12, 2);
        assert_eq!(one, ["   1.0 MB mm", "          now"]);
    }

    #[test]
    fn each_part_has_a_letter_of_its_own() {
        let mut marks: Vec<char> = Part::ALL.into_iter().map(mark).collect();
        marks.sort_unstable();
        marks.dedup();
        assert_eq!(marks.len(), Part::ALL.len());
    }
}
