//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A VM unloads an agent that refuses to start. None of its code should be running then, but nothing must depend on
    // that.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
