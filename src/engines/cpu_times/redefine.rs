//! Has the VM define classes again that are loaded already.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::rewrite::ClassRewriter;
use jvmti::{Env, GlobalRef, Jni, JvmtiError, LocalRef, Object};

/// The number of classes that are redefined together. The program is stopped meanwhile.
const BATCH: usize = 500;
/// The same on a VM that scans all classes for each redefined one (before JDK 12).
const SMALL_BATCH: usize = 8;
/// The longest that the program runs between two batches.
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Redefines classes, which a [`ClassRewriter`] then sees again.
#[derive(Clone)]
pub(super) struct ClassRedefiner {
    env: Env,
    rewriter: Arc<ClassRewriter>,
}

impl ClassRedefiner {
    pub(super) fn new(env: Env, rewriter: Arc<ClassRewriter>) -> Self {
        Self { env, rewriter }
    }

    /// Redefines the loaded classes that are chosen, by signature and class, as far as possible.
    pub(super) fn retransform(
        &self,
        jni: Jni<'_>,
        is_chosen: impl Fn(&str, Object<'_>) -> bool,
    ) -> Result<(), JvmtiError> {
        // Global references, because a thread should have few local ones when it makes the following calls.
        let classes: Vec<GlobalRef> = {
            let loaded = self.env.loaded_classes(jni)?;
            let wanted = loaded.iter().map(LocalRef::object);
            wanted
                .filter(|&class| {
                    let signature = self.env.class_signature(class);
                    signature.is_ok_and(|signature| is_chosen(&signature, class))
                        && self.env.is_modifiable(class)
                })
                .filter_map(|class| GlobalRef::new(jni, class))
                .collect()
        };
        let classes: Vec<Object<'_>> = classes.iter().map(GlobalRef::object).collect();
        if !self.env.vm_kind().redefines_slowly() {
            for batch in classes.chunks(BATCH) {
                self.retransform_batch(batch);
            }
            return Ok(());
        }
        for batch in classes.chunks(SMALL_BATCH) {
            let start = Instant::now();
            self.retransform_batch(batch);
            // The program runs for as long as it was stopped.
            thread::sleep(start.elapsed().min(LONGEST_REST));
        }
        Ok(())
    }

    /// Redefines a batch. The VM accepts all classes or none: a refused batch is halved until the class at fault is
    /// alone.
    fn retransform_batch(&self, batch: &[Object<'_>]) {
        if batch.is_empty() || self.env.retransform(batch).is_ok() {
            return;
        }
        if let [_] = batch {
            self.rewriter.refused();
            return;
        }
        let (left, right) = batch.split_at(batch.len() / 2);
        self.retransform_batch(left);
        self.retransform_batch(right);
    }
}
