//! Profiles in the formats of other tools. Each function writes one file.

mod collapsed;
mod firefox;
mod jfr;
mod json;
mod otlp;
mod pprof;
mod speedscope;

pub use collapsed::{Folding, collapsed, folded};
pub use firefox::{firefox, firefox_divisor};
pub use jfr::{jfr, jfr_divisor};
pub use json::json;
pub use otlp::{
    ExportRequest, Gauge, GaugePoint, LimitTooSmall, Origin, Requests, explanation, gauges, otlp,
    rejected,
};
pub use pprof::pprof;
pub use speedscope::speedscope;

use crate::metric::{Metric, Unit};
use crate::model::{Frame, FrameId, FrameKind, Profile};

/// Returns the frames' names for tools without fields for class and signature: `Class.method`.
fn method_names(profile: &Profile) -> Vec<String> {
    let frames = profile.frame_ids();
    frames.map(|frame| profile.method(frame)).collect()
}

/// Returns the source file of a frame; empty if unknown.
fn source<'a>(profile: &'a Profile, frame: &Frame) -> &'a str {
    frame.source.map_or("", |source| profile.names.text(source))
}

/// Returns a name that no other function has: that of a Java method with its signature. The records of native functions have a made-up one.
fn system_name(profile: &Profile, id: FrameId) -> String {
    let frame = profile.frame(id);
    let signature = frame.signature.map_or("", |s| profile.names.text(s));
    match library(profile, frame) {
        Some(_) => profile.method(id),
        None => format!("{}{signature}", profile.method(id)),
    }
}

/// Stands for all threads if the file does not distinguish them.
const ANY_THREAD: &str = "any thread";

/// Returns the nanoseconds that one of the metric's values stands for: 1 for times, the interval for CPU samples; `None` for
/// what is no time, and for samples whose interval is not known.
fn nanos_of_one(profile: &Profile, metric: Metric) -> Option<u64> {
    match metric.unit() {
        Unit::Nanoseconds => Some(1),
        Unit::Count if metric == Metric::Cpu => {
            let interval = profile.interval().filter(|interval| !interval.is_zero());
            u64::try_from(interval?.as_nanos()).ok()
        }
        Unit::Count | Unit::Bytes => None,
    }
}

/// Returns the shared library or program that a frame of native code is in; `None` for Java methods, native ones among them.
fn library<'a>(profile: &'a Profile, frame: &Frame) -> Option<&'a str> {
    let class = profile.names.text(frame.class);
    (class.ends_with(".so") || class.contains(".so.")).then_some(class)
}

fn is_native(frame: &Frame) -> bool {
    frame.kind == FrameKind::Native
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_java_methods_have_signatures() {
        let mut profile = Profile::default();
        for (class, name) in [
            ("java.util.zip.Deflater", "java.util.zip.Deflater.end()V"),
            ("libz.so.1.3", "libz.so.1.3.end"),
        ] {
            let frame = Frame {
                class: profile.names.intern(class),
                method: profile.names.intern("end"),
                signature: Some(profile.names.intern("()V")),
                source: None,
                line: None,
                kind: FrameKind::Native,
            };
            let frame = profile.intern_frame(frame);
            assert_eq!(system_name(&profile, frame), name);
        }
    }
}
