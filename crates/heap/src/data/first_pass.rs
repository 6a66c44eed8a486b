//! The first pass over a dump: collects the objects, the classes, and the roots.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use hprof_format::bytes::read_id_be;
use hprof_format::{HeapKind, HeapRecord, Root};

use crate::data::classes::Classes;
use crate::data::dump::{Dump, Found};
use crate::data::error::Error;
use crate::data::ids::{IdSet, Ids, MAX_OBJECTS};
use crate::data::progress::{Progress, STEP, Stage};
use crate::data::record_offsets::RecordOffsets;
use crate::data::references::Excluded;

/// What the first pass has found.
pub(crate) struct FirstPass {
    pub(crate) ids: Ids,
    pub(crate) classes: Classes,
    pub(crate) roots: Vec<(u64, Root)>,
    pub(crate) record_offsets: RecordOffsets,
}

impl FirstPass {
    pub(crate) fn of(
        dump: &Dump,
        excluded: Excluded,
        progress: &dyn Progress,
    ) -> Result<FirstPass, Error> {
        let found = AtomicU64::new(0);
        let parts = dump.in_parts(progress, |part, progress| {
            Part::of(dump, part, &found, progress)
        })?;
        let pass = parts.into_iter().reduce(Part::followed_by);
        let pass = pass.unwrap_or_default();
        pass.check(dump.length())?;
        progress.objects(pass.ids.count());
        let mut classes = Classes::new(dump.id_size(), excluded);
        for offset in pass.classes {
            classes.add_at(offset, dump)?;
        }
        classes.resolve()?;
        Ok(FirstPass {
            ids: pass.ids.number(),
            classes,
            roots: pass.roots,
            record_offsets: pass.record_offsets,
        })
    }
}

#[derive(Default)]
struct Part {
    ids: IdSet,
    /// The offsets of the CLASS DUMPs.
    classes: Vec<u64>,
    roots: Vec<(u64, Root)>,
    record_offsets: RecordOffsets,
    /// The ids of the first and the last instance or array.
    ends: Option<(u64, u64)>,
}

impl Part {
    /// Makes the pass over a part. `found_in_all` is the number of objects in all parts so far.
    fn of(
        dump: &Dump,
        part: &[Range<usize>],
        found_in_all: &AtomicU64,
        progress: &dyn Progress,
    ) -> Result<Part, Error> {
        let mut pass = Part::default();
        let mut told = 0;
        pass.record_offsets.ascending = true;
        let all = part.iter().map(|segment| segment.len() as u64).sum();
        let mut bytes = 0;
        for (count, found) in (0_u64..).zip(dump.records_of(part)) {
            let found = found?;
            bytes += found.record.bytes().len() as u64;
            if count % STEP == 0 {
                let new = pass.ids.count().saturating_sub(told);
                told += new;
                progress.objects(found_in_all.fetch_add(new, Ordering::Relaxed) + new);
                progress.at(Stage::Index, bytes, all);
                pass.check(found.offset)?;
            }
            pass.record(&found, dump)?;
        }
        Ok(pass)
    }

    /// Adds the results of the next part.
    fn followed_by(mut self, next: Part) -> Part {
        self.ids.add_all(next.ids);
        self.classes.extend(next.classes);
        self.roots.extend(next.roots);
        for (id, offset) in next.record_offsets.samples {
            self.record_offsets.sample(id, offset);
        }
        let in_order = match (self.ends, next.ends) {
            (Some((_, last)), Some((first, _))) => last < first,
            _ => true,
        };
        self.record_offsets.ascending &= next.record_offsets.ascending && in_order;
        self.ends = match (self.ends, next.ends) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (ends, next) => ends.or(next),
        };
        self
    }

    #[inline]
    fn record(&mut self, found: &Found<'_>, dump: &Dump) -> Result<(), Error> {
        match found.record.kind() {
            HeapKind::Instance
            | HeapKind::ObjectArray
            | HeapKind::PrimitiveArray
            | HeapKind::PrimitiveArrayWithoutData => {
                let id = read_id_be(found.record.bytes(), 1, dump.id_size());
                self.ids.insert(id);
                let (first, last) = self.ends.unwrap_or((id, 0));
                self.record_offsets.ascending &= id > last;
                self.ends = Some((first, id));
                self.record_offsets.sample(id, found.offset);
            }
            _ => match found.decode()? {
                HeapRecord::Class(class) => {
                    self.ids.insert(class.class.0);
                    self.classes.push(found.offset);
                }
                HeapRecord::Root { object, root } if root != Root::Unreachable => {
                    self.roots.push((object.0, root));
                }
                _ => {}
            },
        }
        Ok(())
    }

    fn check(&self, offset: u64) -> Result<(), Error> {
        check_count(self.ids.count(), offset)
    }
}

/// Returns an error if there are more objects than numbers, at this offset.
fn check_count(objects: u64, offset: u64) -> Result<(), Error> {
    match objects < MAX_OBJECTS {
        true => Ok(()),
        false => Err(Error::TooManyObjects { offset }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_objects_than_numbers_are_refused_with_the_byte() {
        assert!(check_count(MAX_OBJECTS - 1, 0).is_ok());
        for objects in [MAX_OBJECTS, (1 << 32) + 1000] {
            let refused = check_count(objects, 7_000).map_err(|error| error.to_string());
            let message =
                "byte 7000: more than 4,294,967,294 objects; that is as many as can be numbered";
            assert_eq!(refused, Err(message.to_owned()));
        }
    }
}
