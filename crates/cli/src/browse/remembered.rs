//! What has been counted for a page, and is needed again for others.

use std::sync::{Arc, Mutex, PoisonError};

use hprof_heap::{Error, Heap, Members};

use crate::heap::pages::{self, Html, Links};

/// The most classes whose objects are remembered, and the most bytes that these may take.
const MOST_CLASSES: usize = 16;
const MOST_BYTES: usize = 100_000_000;

/// The overview, and the classes that were shown last.
#[derive(Default)]
pub struct Remembered {
    overview: Mutex<Option<Arc<Html>>>,
    /// With their names, the last one first.
    classes: Mutex<Vec<(String, Arc<Members>)>>,
}

impl Remembered {
    /// Returns the overview, which is made once. Who needs it meanwhile waits.
    pub fn overview(
        &self,
        heap: &Heap<'_>,
        name: &str,
        links: Links<'_>,
    ) -> Result<Arc<Html>, Error> {
        let mut known = self.overview.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            heap.dump().check_unchanged()?;
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(pages::overview(heap, name, links)?);
        *known = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Returns the objects of a class, which are counted once as long as few other classes are shown.
    pub fn members(&self, heap: &Heap<'_>, class: &str) -> Result<Arc<Members>, Error> {
        if let Some(known) = self.known(class) {
            return Ok(known);
        }
        let members = Arc::new(heap.members(class)?);
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        put_first(&mut classes, (class.to_owned(), Arc::clone(&members)));
        Ok(members)
    }

    fn known(&self, class: &str) -> Option<Arc<Members>> {
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let place = classes.iter().position(|(known, _)| known == class)?;
        let found = classes.remove(place);
        let members = Arc::clone(&found.1);
        put_first(&mut classes, found);
        Some(members)
    }
}

/// Puts a class before the others, of which the last are forgotten if they are too many. Their pages may have found objects
/// meanwhile.
fn put_first(classes: &mut Vec<(String, Arc<Members>)>, class: (String, Arc<Members>)) {
    classes.insert(0, class);
    let mut bytes = 0;
    classes.retain(|(_, members)| {
        bytes += members.kept_bytes();
        bytes <= MOST_BYTES
    });
    classes.truncate(MOST_CLASSES);
}
