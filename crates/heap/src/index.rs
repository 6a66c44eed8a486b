//! The first pass over a dump: which objects there are, the classes, and what keeps objects alive.

use hprof_format::bytes::read_id_be;
use hprof_format::{HeapKind, HeapRecord, Root};

use crate::classes::Classes;
use crate::dump::{Dump, Found};
use crate::ids::{IdSet, Ids};
use crate::locate::{Places, STRIDE};
use crate::progress::{Progress, Stage};
use crate::references::Excluded;
use crate::{Error, records};

/// Objects have numbers below this, so that one number stays free for "none" and one for the root above all roots.
const MAX_OBJECTS: u64 = u32::MAX as u64 - 1;
/// Records between two looks at how far it is.
pub(crate) const STEP: u64 = 1 << 20;

pub(crate) struct Index {
    pub(crate) ids: Ids,
    pub(crate) classes: Classes,
    pub(crate) roots: Vec<(u64, Root)>,
    pub(crate) places: Places,
}

impl Index {
    pub(crate) fn of(
        dump: &Dump,
        excluded: Excluded,
        progress: &dyn Progress,
    ) -> Result<Index, Error> {
        let mut pass = Pass {
            ids: IdSet::new(),
            classes: Classes::new(dump.id_size(), excluded),
            roots: Vec::new(),
            places: Places {
                ascending: true,
                ..Places::default()
            },
            remembered: 0,
            last: 0,
        };
        let mut bytes = 0;
        for (count, found) in (0_u64..).zip(dump.records()) {
            let found = found?;
            bytes += found.record.bytes().len() as u64;
            if count % STEP == 0 {
                progress.at(Stage::Index, bytes, dump.length());
                pass.check(found.offset)?;
            }
            pass.record(&found, dump)?;
        }
        pass.check(dump.length())?;
        pass.classes.resolve()?;
        Ok(Index {
            ids: pass.ids.number(),
            classes: pass.classes,
            roots: pass.roots,
            places: pass.places,
        })
    }
}

struct Pass {
    ids: IdSet,
    classes: Classes,
    roots: Vec<(u64, Root)>,
    places: Places,
    /// Where records were last remembered.
    remembered: u64,
    /// The id of the last instance or array.
    last: u64,
}

impl Pass {
    #[inline]
    fn record(&mut self, found: &Found<'_>, dump: &Dump) -> Result<(), Error> {
        match found.record.kind() {
            HeapKind::Instance
            | HeapKind::ObjectArray
            | HeapKind::PrimitiveArray
            | HeapKind::PrimitiveArrayWithoutData => {
                let id = read_id_be(found.record.bytes(), 1, dump.id_size());
                self.ids.insert(id);
                self.places.ascending &= id > self.last;
                self.last = id;
                if found.offset >= self.remembered {
                    self.places.some.push((id, found.offset));
                    self.remembered = found.offset + STRIDE;
                }
            }
            _ => match records::decode(found)? {
                HeapRecord::Class(class) => {
                    self.ids.insert(class.class.0);
                    self.classes.add(found.offset, &class, dump);
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
        if self.ids.count() >= MAX_OBJECTS {
            return Err(Error::TooManyObjects { offset });
        }
        Ok(())
    }
}
