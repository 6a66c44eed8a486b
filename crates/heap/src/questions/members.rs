//! The objects of a class, counted once, for pages that show some of them.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::sync::OnceLock;

use fixedbitset::FixedBitSet;

use crate::data::dominators::Node;
use crate::data::error::Error;
use crate::data::heap::Heap;
use crate::data::objects::UNIT;
use crate::data::turns::in_turn;
use crate::questions::groups::Group;
use crate::questions::summary::ObjectRow;

/// The most objects whose order is kept, in 4 bytes each; sorting them takes 8 more.
const MOST: usize = 12_000_000;

/// The live objects of a class.
#[derive(Debug)]
pub struct Members {
    class: String,
    /// In the order of what they retain; found when a page needs those that no index has.
    nodes: OnceLock<Vec<Node>>,
    /// The sites that allocated them, those that retain most first.
    pub sites: Vec<Group>,
    /// Their number.
    pub count: u64,
}

impl Members {
    /// Returns the number of objects whose order is kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.nodes.get().map_or(0, Vec::len)
    }
}

impl Heap<'_> {
    /// Counts the live objects of a class.
    ///
    /// # Errors
    /// [`Error::NoClass`], and those of [`Heap::groups`].
    pub fn members(&self, class: &str) -> Result<Members, Error> {
        let sites = self.who(class, 0)?;
        let count: u64 = sites.iter().map(|site| site.objects).sum();
        Ok(Members {
            class: class.to_owned(),
            nodes: OnceLock::new(),
            sites,
            count,
        })
    }

    /// Returns the nodes of the objects of classes, those that retain most first.
    fn by_retained(&self, classes: &FixedBitSet) -> Vec<Node> {
        // The size in units, of which the largest come first, above the node. Few are as large as the greatest number.
        let key = |node: Node, retained: u64| {
            let units = u32::try_from(retained / UNIT).unwrap_or(u32::MAX);
            u64::from(!units) << 32 | u64::from(node)
        };
        let search = |piece, found: &mut Vec<u64>| {
            let all = self.dominators.retained_in(piece, &self.objects);
            let members =
                all.filter(|&(_, object, _)| classes.contains(self.objects.class(object) as usize));
            found.extend(members.map(|(node, _, retained)| key(node, retained)));
            found.sort_unstable();
            Ok::<(), Infallible>(())
        };
        let mut keys: Vec<u64> = Vec::new();
        let add = |found: &mut Vec<u64>| {
            keys.append(found);
            Ok(())
        };
        let work = (self.dump().threads(), self.dominators.pieces());
        let Ok(()) = in_turn(work, search, add, |_| {});
        // The stable sort merges the pieces, which are sorted.
        keys.sort();
        let mut nodes: Vec<Node> = keys.into_iter().map(|key| key as Node).collect();
        let is_huge = |&node: &Node| self.retained(node) / UNIT >= u32::MAX.into();
        let huge = nodes.partition_point(is_huge);
        nodes[..huge].sort_by_key(|&node| Reverse(self.retained(node)));
        nodes
    }

    /// Returns `most` objects of a class from the `first` on, those that retain most first.
    ///
    /// # Errors
    /// Those of reading records.
    pub fn member_rows(
        &self,
        members: &Members,
        first: usize,
        most: usize,
    ) -> Result<Vec<ObjectRow>, Error> {
        let end = first.saturating_add(most);
        let classes = self.classes_named(&members.class)?;
        let rows = |nodes: &[Node]| {
            let rows = nodes.iter().skip(first).take(most);
            let rows = || rows.map(|&node| self.object_row(node)).collect();
            self.dump().unless_changed(rows)
        };
        if let Some(known) = self.known_largest(&classes, end) {
            return rows(&known);
        }
        if members.count > MOST as u64 {
            let mut rows = self.largest(Some(&members.class), end)?;
            return Ok(rows.split_off(first.min(rows.len())));
        }
        rows(members.nodes.get_or_init(|| self.by_retained(&classes)))
    }
}
