//! Keeps the VM's optimizing compiler (C2) from removing allocations while a program counts: which methods it compiles, and
//! when, differs from run to run, and so would the counts. Its own flags do not suffice: with all of them, C2 of JDK 21
//! still removes objects that nobody reads. The other compiler (C1) removes none.

use jvmti::{Env, NumberFlag, SettableFlags};
use locks::{Mutex, rank};

/// The highest level of C1. Methods keep their profiles there, so that C2 can compile them after the session.
const C1: usize = 3;

/// The highest level at which the VM compiled methods before the first count; restored at the end of the session.
#[derive(Default)]
pub(in super::super) struct Compilers(Mutex<Option<LevelBefore>, rank::CompilerLevel>);

struct LevelBefore {
    flags: SettableFlags,
    level: usize,
}

impl Compilers {
    /// Has the VM compile every allocation from here on. Code that it has compiled before stays as it is.
    pub(in super::super) fn keep_allocations(&self, env: Env) {
        if self.0.lock().is_some() {
            return;
        }
        let Some(flags) = env.settable_flags() else {
            return;
        };
        let mut before = self.0.lock();
        if before.is_some() {
            return;
        }
        if let Some(level) = flags.flags().number(NumberFlag::TieredStopAtLevel) {
            flags.set(NumberFlag::TieredStopAtLevel, level.min(C1));
            *before = Some(LevelBefore { flags, level });
        }
    }

    /// Restores the level.
    pub(in super::super) fn give_back(&self) {
        if let Some(LevelBefore { flags, level }) = self.0.lock().take() {
            flags.set(NumberFlag::TieredStopAtLevel, level);
        }
    }
}

impl Drop for Compilers {
    fn drop(&mut self) {
        self.give_back();
    }
}
