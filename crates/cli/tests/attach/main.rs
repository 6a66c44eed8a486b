//! `hprof attach`, `status`, `dump` and `stop` with hostile programs.
//!
//! The program is this test's own executable under the name libjvm.so: so it has a file of that name mapped, by which a
//! JVM is known.

mod answers;
mod fake;
mod hostile;
mod pause;
mod silent;

#[test]
#[ignore = "it is the program that the others ask"]
fn program() {
    fake::run();
}
