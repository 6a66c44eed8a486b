//! The amount that the heap holds, in runs that track no allocations.

use crate::engines::allocations::sites::Amount;
use jvmti::{Env, JvmtiError};

/// Collects garbage and counts the objects that are left.
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
