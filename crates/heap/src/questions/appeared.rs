//! The objects made between two dumps, by what holds them.

use foldhash::HashMap;
use serde::Serialize;

use crate::data::births::MadeAfter;
use crate::data::dominators::{Node, Step, TOP};
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::label::Holder;
use crate::data::shortest_paths::ShortestPaths;
use crate::questions::paths::holder;
use crate::questions::paths::{ByReference, Shapes};

/// The live objects made after an earlier dump that older objects retain, each for itself: one object, or those to which paths
/// over the same classes and fields lead.
#[derive(Clone, Debug, Serialize)]
pub struct Appeared {
    /// The older object that directly retains them, or the class of several; empty if they are retained by several together, or
    /// are roots.
    pub what: String,
    /// The number of the older objects.
    pub older: u64,
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

/// The sums below one older object, or several.
struct Sum {
    /// The older object, or the first of several.
    node: Node,
    older: u64,
    objects: u64,
    shallow: u64,
    retained: u64,
    /// The new object that retains most.
    largest: Node,
    largest_retained: u64,
}

impl Sum {
    /// Adds the sums below another object.
    fn add(&mut self, other: Sum) {
        self.older += other.older;
        self.objects += other.objects;
        self.shallow += other.shallow;
        self.retained += other.retained;
        if other.largest_retained > self.largest_retained {
            (self.largest, self.largest_retained) = (other.largest, other.largest_retained);
        }
    }
}

impl Heap<'_> {
    /// Returns the live objects that were made after an earlier dump, by the older objects that hold them: at most `most` of
    /// the rows that retain most, and the number of all.
    ///
    /// # Errors
    /// As [`Heap::groups`].
    pub fn appeared(
        &self,
        made: MadeAfter<'_>,
        most: usize,
    ) -> Result<(Vec<Appeared>, usize), Error> {
        self.dump.unless_changed(|| {
            let mut sums: Vec<Sum> = self.new_below(made)?.into_values().collect();
            sums.sort_unstable_by_key(|sum| sum.node);
            let shortest_paths = self.shortest_paths()?;
            let mut rows = self.joined(sums, shortest_paths)?;
            rows.sort_by_key(|sum| (std::cmp::Reverse(sum.retained), sum.node));
            let all = rows.len();
            rows.truncate(most);
            let rows = rows
                .into_iter()
                .map(|sum| self.describe_appeared(&sum, shortest_paths));
            Ok((rows.collect::<Result<_, Error>>()?, all))
        })
    }

    /// Joins the sums below older objects to which paths over the same classes and fields lead.
    fn joined(&self, sums: Vec<Sum>, shortest_paths: &ShortestPaths) -> Result<Vec<Sum>, Error> {
        let mut shapes = Shapes::new(self, shortest_paths, ByReference::Yes)?;
        let mut rows: Vec<Sum> = Vec::new();
        let mut nodes = HashMap::default();
        for sum in sums {
            let shape = match sum.node {
                TOP => 0,
                node => shapes.shape(self.dominators.object(node))?,
            };
            let next = rows.len();
            match rows.get_mut(*nodes.entry(shape).or_insert(next)) {
                Some(row) => row.add(sum),
                None => rows.push(sum),
            }
        }
        Ok(rows)
    }

    fn describe_appeared(
        &self,
        sum: &Sum,
        shortest_paths: &ShortestPaths,
    ) -> Result<Appeared, Error> {
        let (what, path) = match sum.node {
            TOP => (String::new(), None),
            node => {
                let older = self.dominators.object(node);
                let what = match sum.older {
                    1 => self.label(older)?.to_string(),
                    _ => self.classes.get(self.objects.class(older)).name.to_string(),
                };
                let largest = self.dominators.object(sum.largest);
                (what, self.path(shortest_paths, largest)?)
            }
        };
        Ok(Appeared {
            what,
            older: sum.older,
            holder: path.as_ref().and_then(holder),
            objects: sum.objects,
            shallow: sum.shallow,
            retained: sum.retained,
        })
    }

    /// Returns the sums of the new objects for each older object that directly dominates some.
    fn new_below(&self, made: MadeAfter<'_>) -> Result<HashMap<Node, Sum>, Error> {
        let mut sums: HashMap<Node, Sum> = HashMap::default();
        let is_new = |object| made.has(self.objects.ids.id(object));
        // The new objects above the walk's node, the older one above these, and all older ones.
        let (mut open, mut above) = (0_u32, TOP);
        let mut older = vec![TOP];
        self.dominators.walk(TOP, |step| match step {
            Step::Enter(TOP, _) | Step::Leave(TOP, _) => {}
            Step::Enter(node, object) if is_new(object) => {
                let retained = self.retained_of(object).unwrap_or_default();
                if open == 0 {
                    above = older.last().copied().unwrap_or(TOP);
                }
                let sum = sums.entry(above).or_insert(Sum {
                    node: above,
                    older: u64::from(above != TOP),
                    objects: 0,
                    shallow: 0,
                    retained: 0,
                    largest: node,
                    largest_retained: 0,
                });
                sum.objects += 1;
                sum.shallow += self.objects.size(object);
                if open == 0 {
                    sum.retained += retained;
                    if retained > sum.largest_retained {
                        (sum.largest, sum.largest_retained) = (node, retained);
                    }
                }
                open += 1;
            }
            Step::Leave(_, object) if is_new(object) => open -= 1,
            Step::Enter(node, _) => older.push(node),
            Step::Leave(..) => {
                older.pop();
            }
        });
        Ok(sums)
    }
}
