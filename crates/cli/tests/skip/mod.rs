//! Word of what cannot be tested here.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

/// Says once that something is not tested, past libtest, which keeps what a test prints. `scripts/test` repeats it at its
/// end.
pub fn skip(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().expect("nothing panics inside");
    if said.insert(what.to_owned()) {
        let _ = writeln!(std::io::stderr(), "skipped: {what}");
    }
}
