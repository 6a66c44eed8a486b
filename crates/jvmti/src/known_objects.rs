//! Objects of the program that are recognized later, each with a value.
//!
//! Only the VM can compare references, and a thread may be suspended in any call of the VM, so no lock is held there. Those of
//! the table that may be the object are compared one by one; a new one is added if the table has got none like it since.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memory::OrStop;

use super::env::Env;
use super::error::JvmtiError;
use super::jni::{Jni, Object, WeakRef};
use locks::{Mutex, Rank};

/// The number of known objects from which those that were collected are searched for and removed.
const FIRST_SWEEP: usize = 1024;

/// The objects that are known, in a table with a lock of rank `R`.
pub struct KnownObjects<V, R> {
    env: Env,
    table: Mutex<Table<V>, R>,
}

struct Table<V> {
    objects: memory::Table<Arc<Known<V>>>,
    next_sweep: usize,
}

/// An object that is known.
pub struct Known<V> {
    identity: i32,
    object: WeakRef,
    /// The value.
    pub value: V,
    is_collected: AtomicBool,
}

/// The result of a search.
pub enum Found<V> {
    /// The object is known.
    Known(Arc<Known<V>>),
    /// It was not known when the table was looked at.
    Unknown(Unknown<V>),
}

/// An object that was not known when the table was looked at.
pub struct Unknown<V> {
    identity: i32,
    /// Those of the same identity hash, which are other objects.
    others: Vec<Arc<Known<V>>>,
}

impl<V, R: Rank> KnownObjects<V, R> {
    /// Creates an empty table.
    pub fn new(env: Env) -> Self {
        let table = Mutex::new(Table {
            objects: memory::Table::default(),
            next_sweep: FIRST_SWEEP,
        });
        Self { env, table }
    }

    /// Looks for an object.
    pub fn find(&self, jni: Jni<'_>, object: Object<'_>) -> Result<Found<V>, JvmtiError> {
        let identity = self.env.identity_hash(object)?;
        let others = self.table.lock().alike(identity);
        let known = others.iter().find(|known| known.object.is(jni, object));
        Ok(match known {
            Some(known) => Found::Known(known.clone()),
            None => Found::Unknown(Unknown { identity, others }),
        })
    }

    /// Returns `true` if nobody has added an object with the same identity hash since it was found unknown.
    pub fn is_still_unknown(&self, object: &Unknown<V>) -> bool {
        self.table.lock().has_only(object)
    }

    /// Adds an object, unless another with the same identity hash has been added since it was found unknown: then the caller
    /// must look again. `reference` refers to it.
    pub fn add(
        &self,
        object: &Unknown<V>,
        reference: WeakRef,
        value: V,
    ) -> Result<Arc<Known<V>>, WeakRef> {
        let mut table = self.table.lock();
        if !table.has_only(object) {
            return Err(reference);
        }
        let known = Arc::new(Known {
            identity: object.identity,
            object: reference,
            value,
            is_collected: AtomicBool::new(false),
        });
        let added = known.clone();
        let hash_of_new = hash(object.identity);
        let objects = &mut table.objects;
        let inserted =
            objects.insert_unique(hash_of_new, || Ok(added), |known| hash(known.identity));
        inserted.or_stop();
        Ok(known)
    }

    /// Forgets objects that were collected, if the table has doubled since the last time.
    pub fn sweep_if_grown(&self, jni: Jni<'_>) {
        let all: Vec<_> = {
            let mut table = self.table.lock();
            if table.objects.len() < table.next_sweep {
                return;
            }
            // Other threads do not do the same meanwhile.
            table.next_sweep = 2 * table.objects.len();
            table.objects.iter().cloned().collect()
        };
        for known in &all {
            known
                .is_collected
                .store(known.object.is_dead(jni), Ordering::Relaxed);
        }
        let mut table = self.table.lock();
        let is_collected = |known: &mut Arc<Known<V>>| known.is_collected.load(Ordering::Relaxed);
        let gone: Vec<_> = table.objects.extract_if(is_collected).collect();
        table.next_sweep = (2 * table.objects.len()).max(FIRST_SWEEP);
        // The references are freed without the lock.
        drop(table);
        drop(gone);
    }

    /// Forgets all objects.
    pub fn clear(&self) {
        let objects = std::mem::take(&mut self.table.lock().objects);
        drop(objects);
    }
}

impl<V> Table<V> {
    fn alike(&self, identity: i32) -> Vec<Arc<Known<V>>> {
        let all = self.objects.iter_hash(hash(identity));
        all.filter(|known| known.identity == identity)
            .cloned()
            .collect()
    }

    fn has_only(&self, object: &Unknown<V>) -> bool {
        let mut all = self.objects.iter_hash(hash(object.identity));
        all.all(|known| {
            let is_known = |other: &Arc<Known<V>>| Arc::ptr_eq(other, known);
            known.identity != object.identity || object.others.iter().any(is_known)
        })
    }
}

/// Spreads a hash: HotSpot's identity hashes fill at most 31 bits, but the table uses all 64.
fn hash(identity: i32) -> u64 {
    (identity as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
