//! Writes lifetimes: of each site, the sums that a profile has.

use std::io::{self, Write};

use hprof_format::{ClassSerial, Fate, LifetimeRow, Lifetimes, Section, Survived, TraceSerial};

use super::Writer;
use crate::model::{LabelsId, Table};

impl<W: Write> Writer<'_, W> {
    /// Returns the class of a row; 0 if it has none.
    pub(super) fn class_of(&mut self, labels: LabelsId) -> io::Result<ClassSerial> {
        match self.profile.labels(labels).class {
            Some(class) => self.class(class),
            None => Ok(ClassSerial(0)),
        }
    }

    pub(super) fn lifetimes(&mut self, table: &Table) -> io::Result<()> {
        let fates = [
            Fate::Dead(Survived::TEMPORARY),
            Fate::Any(Survived::between(1, u32::MAX)),
            Fate::Peak,
        ];
        let mut rows = Vec::new();
        let mut totals = [0_u64; 6];
        for (stack, labels, values) in table.rows() {
            for (total, &value) in totals.iter_mut().zip(values) {
                *total = total.saturating_add(value);
            }
            let class = self.class_of(labels)?;
            let site = Some((self.trace_serial(stack, labels), class));
            rows.extend(lifetime_rows(site, fates, values));
        }
        let mut all: Vec<_> = lifetime_rows(None, fates, &totals).collect();
        all.append(&mut rows);
        let lifetimes = Lifetimes {
            rows: all,
            ..Lifetimes::default()
        };
        self.section(&Section::Lifetimes(lifetimes))
    }
}

fn lifetime_rows(
    site: Option<(TraceSerial, ClassSerial)>,
    fates: [Fate; 3],
    values: &[u64],
) -> impl Iterator<Item = LifetimeRow> {
    let rows = fates.into_iter().zip(values.chunks_exact(2));
    let rows = rows.map(move |(fate, values)| LifetimeRow {
        site,
        fate,
        bytes: values[0],
        objects: values[1],
    });
    rows.filter(|row| row.bytes > 0 || row.objects > 0)
}
