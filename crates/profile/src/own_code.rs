//! The code that a reader of a profile can change: all but the JDK and well-known libraries, or what the reader names.

use std::convert::Infallible;
use std::str::FromStr;

use crate::markers::OTHER;
use crate::model::{FrameId, FrameKind, Profile, Stacks};

/// Packages that are not one's own unless named: the JDK, languages on the JVM, and well-known libraries.
/// `docs/guide/reading.md` lists them; a test compares the two.
pub const WELL_KNOWN: [&str; 58] = [
    "akka",
    "android",
    "ch.qos.logback",
    "clojure",
    "com.codahale.metrics",
    "com.fasterxml",
    "com.github.benmanes.caffeine",
    "com.google.common",
    "com.google.gson",
    "com.google.inject",
    "com.google.protobuf",
    "com.mongodb",
    "com.mysql",
    "com.oracle",
    "com.sun",
    "com.zaxxer.hikari",
    "groovy",
    "io.grpc",
    "io.micrometer",
    "io.micronaut",
    "io.netty",
    "io.opentelemetry",
    "io.quarkus",
    "io.reactivex",
    "io.undertow",
    "io.vertx",
    "jakarta",
    "java",
    "javax",
    "jdk",
    "junit",
    "kotlin",
    "kotlinx",
    "net.bytebuddy",
    "net.sf.cglib",
    "okhttp3",
    "okio",
    "oracle",
    "org.antlr",
    "org.apache",
    "org.aspectj",
    "org.codehaus",
    "org.eclipse",
    "org.gradle",
    "org.h2",
    "org.hibernate",
    "org.hsqldb",
    "org.jboss",
    "org.junit",
    "org.mockito",
    "org.objectweb.asm",
    "org.openjdk",
    "org.postgresql",
    "org.slf4j",
    "org.springframework",
    "reactor",
    "scala",
    "sun",
];

/// Native libraries that are not one's own unless named: those of the JDK, of the system, and allocators. Without `.so` and
/// the version.
const LIBRARIES: [&str; 31] = [
    "ld-linux-aarch64",
    "ld-linux-x86-64",
    "ld-musl-aarch64",
    "ld-musl-x86_64",
    "libattach",
    "libc",
    "libc.musl-aarch64",
    "libc.musl-x86_64",
    "libdl",
    "libextnet",
    "libgcc_s",
    "libhprof",
    "libinstrument",
    "libj2pkcs11",
    "libjava",
    "libjdwp",
    "libjemalloc",
    "libjimage",
    "libjli",
    "libjvm",
    "libm",
    "libmanagement",
    "libnet",
    "libnio",
    "libpthread",
    "librt",
    "libstdc++",
    "libtcmalloc",
    "libverify",
    "libz",
    "libzip",
];

/// The classes that are one's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCode {
    /// Packages and classes; if there are none, all that are not well known.
    prefixes: Vec<String>,
}

impl OwnCode {
    /// Returns `true` if a class, as in Java source, is one's own.
    #[must_use]
    pub fn has_class(&self, class: &str) -> bool {
        match self.prefixes.is_empty() {
            true => {
                !WELL_KNOWN.iter().any(|prefix| is_in(class, prefix)) && !is_system_library(class)
            }
            false => self.prefixes.iter().any(|prefix| is_in(class, prefix)),
        }
    }

    /// Returns `true` if the class of a frame is one's own; the frame is a text such as `a.B.c(B.java:7)`.
    #[must_use]
    pub fn has_frame(&self, frame: &str) -> bool {
        let method = frame.split('(').next().unwrap_or_default();
        let class = method.rsplit_once('.').map(|(class, _)| class);
        class.is_some_and(|class| self.has_class(class))
    }
}

/// Returns `true` for a native library such as `libz.so.1.2.13`, in the place of a class, that is not one's own.
fn is_system_library(library: &str) -> bool {
    let name = library.split_once(".so").map(|(name, _)| name);
    name.is_some_and(|name| LIBRARIES.contains(&name))
}

/// Returns `true` if a class is in a package, or is or is in a class.
fn is_in(class: &str, prefix: &str) -> bool {
    let rest = class.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$', '/', '[']))
}

impl FromStr for OwnCode {
    type Err = Infallible;

    /// Reads prefixes separated by `:`; none of them stands for all code that is not well known.
    fn from_str(text: &str) -> Result<OwnCode, Infallible> {
        let prefixes = text.split(':').map(|prefix| {
            let prefix = prefix.trim_end_matches(['*', '.']);
            prefix.to_owned()
        });
        Ok(OwnCode {
            prefixes: prefixes.filter(|prefix| !prefix.is_empty()).collect(),
        })
    }
}

impl Profile {
    /// Returns the profile with stacks of one's own code alone: what other code costs is charged to the frame of one's
    /// own that called it.
    #[must_use]
    pub fn of_own_code(mut self, own: &OwnCode) -> Profile {
        let other = self.marker(OTHER);
        let kept: Vec<bool> = self
            .frames()
            .map(|frame| {
                let is_own = || own.has_class(self.names.text(frame.class));
                let stays = frame.kind == FrameKind::Marker || self.is_stand_in(frame);
                // The state of a thread is charged to the code that is in it.
                stays && !self.is_state(frame) || is_own()
            })
            .collect();
        let mut stacks = Stacks::default();
        let mut cut = Vec::with_capacity(self.stacks.len());
        for stack in self.stacks.ids() {
            cut.push(self.cut_at(stack));
            let frames = self.stacks.frames(stack).iter().copied();
            let mut frames: Vec<FrameId> = frames.filter(|frame| kept[frame.0 as usize]).collect();
            // A marker that is left of several frames is outside of code that is not one's own.
            let is_marker = |&frame: &FrameId| {
                let frame = self.frame(frame);
                frame.kind == FrameKind::Marker || self.is_stand_in(frame)
            };
            let is_whole = frames.len() == self.stacks.frames(stack).len();
            if !is_whole && frames.first().is_none_or(is_marker) {
                frames.insert(0, other);
            }
            stacks.push(frames);
        }
        self.stacks = stacks;
        self.cut = Some(cut);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> OwnCode {
        match text.parse() {
            Ok(own) => own,
        }
    }

    #[test]
    fn named_code_is_ones_own_and_no_other() {
        let own = own("com.shop:org.apache.*:Main");
        for (class, is_own) in [
            ("com.shop.Cart", true),
            ("com.shop.Cart$Item[]", true),
            ("com.shopping.Cart", false),
            ("org.apache.commons.Lang", true),
            ("Main", true),
            ("Main$1", true),
            ("Mainly", false),
            ("java.lang.String", false),
        ] {
            assert_eq!(own.has_class(class), is_own, "{class}");
        }
        assert!(own.has_frame("com.shop.Cart.add(Cart.java:7)"));
        assert!(!own.has_frame("java.util.ArrayList.add(com.shop.java:7)"));
    }

    #[test]
    fn what_is_not_well_known_is_ones_own() {
        let own = own("");
        for class in [
            "com.shop.Cart",
            "Main",
            "javaagent.Main",
            "com.google.javascript.Compiler",
            "libshop.so",
        ] {
            assert!(own.has_class(class), "{class}");
        }
        for class in [
            "java.lang.String",
            "jdk.internal.misc.Unsafe",
            "org.apache.Main",
            "kotlin.Unit",
            "libc.so.6",
            "libz.so.1.2.13",
        ] {
            assert!(!own.has_class(class), "{class}");
        }
        assert!(!own.has_frame("libjvm.so.os::malloc"));
        assert!(WELL_KNOWN.is_sorted() && LIBRARIES.is_sorted());
    }

    #[test]
    fn the_documents_list_well_known_packages() {
        let page = include_str!("../../../docs/guide/reading.md");
        let list = WELL_KNOWN.map(|package| format!("`{package}`")).join(" ");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&list), "docs/guide/reading.md: {list}");
    }
}
