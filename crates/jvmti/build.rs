//! Does nothing in a plain build, because the bindings are committed. With feature `bindgen` they are generated again
//! from the JDK that `HPROF_JDK_INCLUDE` (its `include` folder) or `JAVA_HOME` names.

#[cfg(feature = "bindgen")]
#[path = "build/bindings.rs"]
mod bindings;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bindgen")]
    generate();
}

#[cfg(feature = "bindgen")]
fn generate() {
    use std::env;
    use std::path::{Path, PathBuf};

    println!("cargo::rerun-if-changed=build/bindings.rs");
    println!("cargo::rerun-if-changed=include/wrapper.h");
    println!("cargo::rerun-if-env-changed=HPROF_JDK_INCLUDE");
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let include = env::var_os("HPROF_JDK_INCLUDE")
        .map(PathBuf::from)
        .or_else(|| env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("include")))
        .expect("feature bindgen needs HPROF_JDK_INCLUDE or JAVA_HOME");
    let generated = bindings::generate(&include, Path::new("include/wrapper.h"))
        .unwrap_or_else(|error| panic!("bindgen on {}: {error}", include.display()));
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("bindings.rs");
    std::fs::write(&out, generated).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}
