//! Sections that are not known, and CPU samples of different intervals.

use std::io::Read;

use flate2::read::GzDecoder;
use hprof_format::{BinaryEncoder, Encoder, Micros, Millis, Record, StringId, StringRecord};
use hprof_profile::*;
use hprof_testing::sound_profile;
use serde_json::Value;

/// A run with CPU samples of so many milliseconds.
fn run(interval: u32, samples: u32) -> Profile {
    sound_profile(
        text(
            &format!("Options:    cpu=samples,interval={interval}\n"),
            samples,
            "",
        )
        .as_bytes(),
    )
}

fn text(facts: &str, samples: u32, more: &str) -> String {
    format!(
        "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

{facts}
--------
TRACE 300001:
\tp.A.run(A.java:7)
{more}CPU SAMPLES BEGIN (total = {samples}) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 100.00% 100.00% {samples:7} 300001 p.A.run
CPU SAMPLES END
"
    )
}

#[test]
fn a_section_that_is_not_known_is_named_and_hides_nothing() {
    let section = "\
GC PAUSES BEGIN (total = 7 ms) Fri Nov 20 10:39:12 2026
rank cause
   1 humongous
GC PAUSES END
";
    let profile = sound_profile(text("", 3, section).as_bytes());
    assert_eq!(profile.unknown_sections, ["GC PAUSES"]);
    assert_eq!(profile.total(Metric::Cpu), 3);
    let mut file = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(1), &mut file);
    for text in ["GC PAUSES (total = 7 ms)\n1 humongous", "for people"] {
        let note = Record::String(StringRecord {
            id: StringId::note(u32::try_from(text.len()).expect("few")),
            text: text.as_bytes().into(),
        });
        encoder.record(Micros(0), &note, &mut file);
    }
    let profile = sound_profile(&file);
    assert_eq!(profile.unknown_sections, ["GC PAUSES"]);
    let remark = "the file has a section GC PAUSES, which this version of hprof cannot read";
    assert_eq!(profile.notes, [remark, "for people"]);
}

#[test]
fn the_last_line_of_text_has_the_length() {
    // The section is said to come a second after the head, as both times are cut to whole seconds.
    for (end, length) in [
        ("", 1_000_000),
        ("(end of the profile, after 0.345 s)\n", 345_000),
        ("(end of the profile, after 2.345 s)\n", 2_345_000),
        // The period is shorter than what ends with it.
        (
            "(end of period 3 of the profile, after 9.000 s)\n",
            1_000_000,
        ),
    ] {
        let profile = sound_profile((text("", 3, "") + end).as_bytes());
        assert_eq!(profile.length, length, "{end}");
        let mut merger = Merger::default();
        merger.add(&profile, &Added::default()).expect("one");
        let notes = merger.finish().notes;
        assert!(
            !notes.iter().any(|note| note.starts_with("end of the")),
            "{notes:?}"
        );
    }
}

#[test]
fn times_of_different_intervals_are_added_up() {
    // 0.7 s and 0.96 s.
    let (a, b) = (run(5, 140), run(20, 48));
    for runs in [[&a, &b], [&b, &a]] {
        let mut merger = Merger::default();
        for run in runs {
            merger.add(run, &Added::default()).expect("both are known");
        }
        let mut file = Vec::new();
        write(&merger.finish(), &mut file).expect("memory");
        let sum = sound_profile(&file);
        let interval = sum.interval().expect("it is known");
        let millis = u128::from(sum.total(Metric::Cpu)) * interval.as_millis();
        assert_eq!((interval.as_millis(), millis), (5, 1_660));
        // It has 188 samples, and not 332.
        let remarks: Vec<String> = sum.stated_remarks().collect();
        assert_eq!(
            remarks,
            ["a CPU sample of 20 ms is counted as 4 of 5 ms, so that times can be compared"]
        );
    }
}

#[test]
fn samples_without_a_time_are_not_added_to_times() {
    let unknown = sound_profile(text("", 3, "").as_bytes());
    let mut merger = Merger::default();
    merger
        .add(&run(5, 140), &Added::default())
        .expect("the first");
    assert!(merger.add(&unknown, &Added::default()).is_err());
    assert_eq!(merger.finish().total(Metric::Cpu), 140);
}

#[test]
fn exports_have_the_time_of_samples() {
    let profile = run(20, 48);
    let mut out = Vec::new();
    export::speedscope(&profile, "x", &mut out).expect("memory");
    let document: Value = serde_json::from_slice(&out).expect("JSON");
    let sampled = &document["profiles"][0];
    assert_eq!(sampled["unit"], "nanoseconds");
    assert_eq!(sampled["weights"][0], 960_000_000);
    let mut out = Vec::new();
    export::firefox(&profile, "x", &mut out).expect("memory");
    let document: Value = serde_json::from_slice(&out).expect("JSON");
    let samples = &document["threads"][0]["samples"];
    assert_eq!(samples["weightType"], "tracing-ms");
    assert_eq!(samples["weight"][0], 960);
    let mut out = Vec::new();
    export::json(&profile, &mut out).expect("memory");
    let document: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(document["interval_ns"], 20_000_000);
    assert_eq!(document["facts"]["Options"], "cpu=samples,interval=20");
    let mut out = Vec::new();
    export::pprof(&profile, &mut out).expect("memory");
    let mut message = Vec::new();
    GzDecoder::new(out.as_slice())
        .read_to_end(&mut message)
        .expect("gzip");
    let texts = String::from_utf8_lossy(&message);
    for text in [
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "Options: cpu=samples,interval=20",
    ] {
        assert!(texts.contains(text), "{text}");
    }
}

#[test]
fn what_was_there_before_is_not_made_by_the_program() {
    let sites = "\
TRACE 300002:
\t<empty>
SITES BEGIN (ordered by allocated bytes) Fri Nov 20 10:39:12 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 90.00% 90.00%        90    1        90     1 300002 int[]
    2 10.00% 100.00%       10    1        10     1 300001 p.Q
SITES END
";
    let profile = sound_profile(text("", 3, sites).as_bytes());
    assert_eq!(profile.total(Metric::AllocBytes), 100);
    assert_eq!(profile.made_by_program(Metric::AllocBytes), 10);
}
