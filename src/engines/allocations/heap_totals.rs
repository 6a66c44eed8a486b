//! How much the heap holds, where nobody tracks what is put into it.

use crate::engines::allocations::sites::Amount;
use crate::jvmti::{Env, JvmtiError};

/// Collects garbage and counts what is left.
pub fn live(env: Env) -> Result<Amount, JvmtiError> {
    env.force_garbage_collection()?;
    let counts = env.class_histogram(&[])?;
    Ok(counts.iter().fold(Amount::default(), |sum, count| {
        sum + Amount {
            instances: count.instances,
            bytes: count.bytes,
        }
    }))
}
