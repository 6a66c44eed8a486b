//! How the library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A VM unloads an agent that refuses to start. None of its code should be running then, but nothing must depend on
    // that.
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
