//! Turns a JDK's `jvmti.h` into Rust: used by `build.rs` (feature `bindgen`) and by the test that compares the
//! committed bindings with every JDK at hand.

use std::path::Path;

/// The types of `jni.h`: `jni-sys` has them, so they are not generated a second time.
const JNI_TYPES: &str = "j(int|long|byte|boolean|char|short|float|double|size|object|class|string|throwable|weak|value|array|[a-z]+Array|fieldID|methodID|objectRefType)|_jobject|_jfieldID|_jmethodID|JNI.*|JavaVM.*";

/// Generates the bindings from the headers in a JDK's `include` folder.
pub fn generate(jdk_include: &Path, wrapper: &Path) -> Result<String, bindgen::BindgenError> {
    // The edition's first compiler: what a newer one would allow changes the text for nothing.
    let oldest = bindgen::RustTarget::stable(85, 0).unwrap_or_default();
    let bindings = bindgen::Builder::default()
        .header(wrapper.to_string_lossy())
        .clang_arg(format!("-I{}", jdk_include.display()))
        .clang_arg(format!("-I{}", jdk_include.join("linux").display()))
        .allowlist_type("jvmti.*")
        .allowlist_var("JVMTI_.*")
        .blocklist_type(JNI_TYPES)
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .generate_comments(false)
        .derive_debug(false)
        .derive_default(true)
        .layout_tests(false)
        .merge_extern_blocks(true)
        .formatter(bindgen::Formatter::Prettyplease)
        .rust_target(oldest)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .generate()?;
    Ok(bindings.to_string())
}
