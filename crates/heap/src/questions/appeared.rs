//! The objects made between two dumps, by what holds them.

use foldhash::HashMap;
use serde::Serialize;

use crate::data::births::MadeAfter;
use crate::data::dominators::{Place, Step, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Holder;
use crate::questions::leaks::holder;

/// The live objects made after an earlier dump that one older object retains.
#[derive(Clone, Debug, Serialize)]
pub struct Appeared {
    /// The older object that directly retains them; empty if they are retained by several, or are roots.
    pub what: String,
    /// The last static field, thread-local or local variable on the shortest path to the largest; `None` if several hold them.
    #[serde(serialize_with = "crate::data::label::text_or_nothing")]
    pub holder: Option<Holder>,
    /// The number of new objects.
    pub objects: u64,
    /// Their shallow size, in bytes.
    pub shallow: u64,
    /// The bytes that would be freed without them, with older objects that only they hold.
    pub retained: u64,
}

/// The sums below an older object.
struct Sum {
    objects: u64,
    shallow: u64,
    retained: u64,
    /// The new object that retains most.
    largest: Place,
}

impl Heap<'_> {
    /// Returns the live objects that were made after an earlier dump, by the older object that holds them: at most `most` of
    /// those that retain most, and the number of all.
    ///
    /// # Errors
    /// As [`Heap::groups`].
    pub fn appeared(
        &self,
        made: MadeAfter<'_>,
        most: usize,
    ) -> Result<(Vec<Appeared>, usize), Error> {
        self.dump.unless_changed(|| {
            let sums = self.new_below(made)?;
            let mut sums: Vec<(Place, Sum)> = sums.into_iter().collect();
            sums.sort_by_key(|(place, sum)| (std::cmp::Reverse(sum.retained), *place));
            let all = sums.len();
            sums.truncate(most);
            let largest: Vec<u32> = sums
                .iter()
                .map(|(_, sum)| self.dominators.object(sum.largest))
                .collect();
            let (ways, _) = self.ways(&largest, largest.len())?;
            let rows = sums
                .into_iter()
                .zip(largest)
                .map(|((place, sum), largest)| {
                    let (what, path) = match place {
                        TOP => (String::new(), None),
                        place => {
                            let what = self.label(self.dominators.object(place))?;
                            (what.to_string(), self.path(&ways, largest)?)
                        }
                    };
                    Ok(Appeared {
                        what,
                        holder: path.as_ref().and_then(holder),
                        objects: sum.objects,
                        shallow: sum.shallow,
                        retained: sum.retained,
                    })
                });
            Ok((rows.collect::<Result<_, Error>>()?, all))
        })
    }

    /// Returns the sums of the new objects for each older object that directly dominates some.
    fn new_below(&self, made: MadeAfter<'_>) -> Result<HashMap<Place, Sum>, Error> {
        let mut sums: HashMap<Place, Sum> = HashMap::default();
        let tree = self.dominators.tree(&self.memory)?;
        let is_new = |place| made.has(self.objects.ids.id(self.dominators.object(place)));
        // The new objects above the walk's place, and the older one above these.
        let (mut open, mut above) = (0_u32, TOP);
        tree.walk(&self.dominators, TOP, |step| match step {
            Step::Enter(TOP) | Step::Leave(TOP) => {}
            Step::Enter(place) if is_new(place) => {
                let retained = self.dominators.retained(place);
                if open == 0 {
                    above = self.dominators.above(place);
                }
                let sum = sums.entry(above).or_insert(Sum {
                    objects: 0,
                    shallow: 0,
                    retained: 0,
                    largest: place,
                });
                sum.objects += 1;
                sum.shallow += self.objects.size(self.dominators.object(place));
                if open == 0 {
                    sum.retained += retained;
                    if retained > self.dominators.retained(sum.largest) {
                        sum.largest = place;
                    }
                }
                open += 1;
            }
            Step::Leave(place) if is_new(place) => open -= 1,
            Step::Enter(_) | Step::Leave(_) => {}
        });
        Ok(sums)
    }
}
