//! `jvmti.h` as Rust. The committed file serves every JDK from 11 on: later headers only fill reserved slots.

#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    unnecessary_transmutes,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used
)]

pub use jni_sys::*;

// Both are included, not declared as modules: they build on the JNI types above.
#[cfg(not(feature = "bindgen"))]
include!("bindings.rs");
#[cfg(feature = "bindgen")]
include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
