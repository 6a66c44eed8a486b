//! Counts that do not fit the fields of one row, and become several rows.

use super::Form;
use crate::metric::Metric;
use crate::model::{Profile, Table};

/// The most rows that are added because counts do not fit the fields of one. So many take 32 MiB, and hold 4.5 EB.
pub(super) const MOST_ADDED: u64 = 1 << 20;

/// Returns the number of rows that [`split`] adds to those of a profile.
pub(super) fn added(profile: &Profile, form: Form) -> u64 {
    let is_split = |table: &&Table| match table.metrics().first() {
        Some(Metric::LiveBytes | Metric::AllocBytes) => form == Form::Binary,
        Some(metric) => *metric == Metric::Cpu,
        None => false,
    };
    let rows = profile
        .tables()
        .iter()
        .filter(is_split)
        .flat_map(Table::rows);
    let added = rows.map(|(.., values)| {
        values
            .iter()
            .max()
            .map_or(0, |most| most / u64::from(u32::MAX))
    });
    added.fold(0, u64::saturating_add)
}

/// Splits values above 2^32 - 1 into several that fit.
pub(super) fn split(values: &[u64], mut row: impl FnMut(&[u64])) {
    let mut left = values.to_vec();
    loop {
        let fitting: Vec<u64> = left.iter().map(|&v| v.min(u32::MAX.into())).collect();
        row(&fitting);
        for (left, fitting) in left.iter_mut().zip(fitting) {
            *left -= fitting;
        }
        if left.iter().all(|&left| left == 0) {
            return;
        }
    }
}

pub(super) fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_becomes_several_rows() {
        let mut rows = Vec::new();
        split(&[3, (1 << 33) + 5], |row| rows.push(row.to_vec()));
        assert_eq!(rows, [[3, 0xFFFF_FFFF], [0, 0xFFFF_FFFF], [0, 7]]);
        let mut none = 0;
        split(&[0, 0], |_| none += 1);
        assert_eq!(none, 1);
    }
}
