//! SAMPLE TIMES: the profile of a part of a run, and exports with times.

use hprof_format::{
    BinaryEncoder, ClassSerial, CpuSample, CpuSamplesRecord, Encoder, FrameId as FormatFrameId,
    FrameRecord, Line, LoadClassRecord, Micros, Millis, ObjectId, Record, StringId, StringRecord,
    ThreadSerial, TraceRecord, TraceSerial,
};
use hprof_profile::export::{Origin, otlp};
use hprof_profile::*;
use hprof_testing::sound_profile;
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message;

const BEGIN: u64 = 1_764_238_560_000;
const FACTS: &str = "SAMPLE TIMES (of = CPU SAMPLES, sample = 10000000 ns, begin = 1764238560000, time = 1200 ms, step = 250 ms)";

/// A binary file with 8 samples of `p.A.first` and 7 of `p.A.second`, and then this note.
fn file(note: &str) -> Vec<u8> {
    let (mut encoder, mut bytes) = (BinaryEncoder::new(), Vec::new());
    encoder.start(Millis(BEGIN), &mut bytes);
    let mut record = |time, record: &Record<'_>| encoder.record(Micros(time), record, &mut bytes);
    for (id, text) in [(1, "p/A"), (2, "first"), (3, "second"), (4, "")] {
        let text = text.as_bytes().into();
        let id = StringId(id);
        record(0, &Record::String(StringRecord { id, text }));
    }
    record(
        0,
        &Record::LoadClass(LoadClassRecord {
            serial: ClassSerial(1),
            class_object: ObjectId(1),
            trace: TraceSerial(0),
            name: StringId(1),
        }),
    );
    for (id, method) in [(1_u32, 2), (2, 3)] {
        let frame = FormatFrameId(id.into());
        record(
            0,
            &Record::Frame(FrameRecord {
                id: frame,
                method: StringId(method),
                signature: StringId(4),
                source_file: StringId(4),
                class: ClassSerial(1),
                line: Line::Unknown,
            }),
        );
        record(
            0,
            &Record::Trace(TraceRecord {
                serial: TraceSerial(id),
                thread: ThreadSerial(0),
                frames: vec![frame].into(),
            }),
        );
    }
    let row = |trace, count| CpuSample {
        count,
        trace: TraceSerial(trace),
    };
    let rows = vec![row(1, 8), row(2, 7)].into();
    record(0, &Record::CpuSamples(CpuSamplesRecord { total: 15, rows }));
    let id = StringId::note(0);
    let text = note.as_bytes().into();
    record(1_200_000, &Record::String(StringRecord { id, text }));
    bytes
}

/// `p.A.first` has 3 samples in the first step and 5 in the fifth, `p.A.second` all of its 7 in the fifth.
fn profile() -> Profile {
    sound_profile(&file(&format!("{FACTS}\nBCADEFBBEH")))
}

fn rows(profile: &Profile) -> Vec<(String, u64)> {
    let costs = costs(profile, Metric::Cpu, By::Method).into_iter();
    costs.map(|cost| (cost.name, cost.own)).collect()
}

fn span(from: u64, to: u64) -> Span {
    Span {
        from: BEGIN + from,
        to: BEGIN + to,
    }
}

#[test]
fn a_part_has_the_samples_of_its_time() {
    let row = |name: &str, own| (name.to_owned(), own);
    let part = profile().within(span(0, 600)).expect("a part");
    assert_eq!(rows(&part), [row("p.A.first", 3)]);
    let part = profile().within(span(1_000, 1_200)).expect("a part");
    assert_eq!(rows(&part), [row("p.A.second", 7), row("p.A.first", 5)]);
    assert_eq!(part.period(), (BEGIN + 1_000, 200_000));
    let empty = profile().within(span(500, 750)).expect("a part");
    assert_eq!(empty.total(Metric::Cpu), 0);
    let all = profile().within(span(0, 1_200)).expect("all");
    assert_eq!(rows(&all), rows(&profile()));
}

/// The same run, ten seconds later.
fn later() -> Profile {
    let facts = FACTS.replace("1764238560000", "1764238570000");
    sound_profile(&file(&format!("{facts}\nBCADEFBBEH")))
}

fn merged(profiles: &[&Profile]) -> (Profile, Vec<Metric>) {
    let mut merger = Merger::default();
    for profile in profiles {
        merger
            .add(profile, &Added::default())
            .expect("both have an interval");
    }
    let without_times = merger.without_times();
    let mut file = Vec::new();
    write(&merger.finish(), &mut file).expect("memory takes all");
    (sound_profile(&file), without_times)
}

#[test]
fn a_sum_has_the_times_of_all() {
    let row = |name: &str, own| (name.to_owned(), own);
    let (first, second) = (profile(), later());
    for profiles in [[&first, &second], [&second, &first]] {
        let (sum, without_times) = merged(&profiles);
        assert!(without_times.is_empty());
        assert_eq!(sum.sampled(), Some(span(0, 11_200)));
        assert_eq!(rows(&sum), [row("p.A.first", 16), row("p.A.second", 14)]);
        for (from, to, expected) in [
            (0, 500, vec![row("p.A.first", 3)]),
            (500, 5_000, vec![row("p.A.second", 7), row("p.A.first", 5)]),
            (10_000, 10_500, vec![row("p.A.first", 3)]),
            (
                10_500,
                11_200,
                vec![row("p.A.second", 7), row("p.A.first", 5)],
            ),
        ] {
            let part = sum.clone().within(span(from, to)).expect("a part");
            assert_eq!(rows(&part), expected, "{from}..{to}");
        }
    }
    // A part of the samples would pass for all of that time.
    let untimed = sound_profile(&file("a note"));
    let (sum, without_times) = merged(&[&first, &untimed]);
    assert_eq!(without_times, [Metric::Cpu]);
    assert_eq!(sum.within(span(0, 500)).err(), Some(NotWithin::NoTimes));
}

#[test]
fn a_damaged_section_is_named_and_gives_no_times() {
    for note in [
        format!("{FACTS}\nBCADEFBBE"),
        format!("{FACTS}\nBC=DEFBBEH"),
        FACTS.replace("250", "0") + "\nBCADEFBBEH",
        FACTS.to_owned(),
    ] {
        let profile = sound_profile(&file(&note));
        assert_eq!(profile.unknown_sections, ["SAMPLE TIMES"], "{note}");
        assert_eq!(profile.total(Metric::Cpu), 15);
        assert_eq!(profile.within(span(0, 1)).err(), Some(NotWithin::NoTimes));
    }
}

#[test]
fn opentelemetry_gets_a_value_for_each_time() {
    let mut bytes = Vec::new();
    otlp(&profile(), Origin::default(), &mut bytes).expect("memory takes it");
    let request = ExportProfilesServiceRequest::decode(&*bytes).expect("a request");
    let profile = &request.resource_profiles[0].scope_profiles[0].profiles[0];
    let middle = |step: u64| (BEGIN + 250 * step + 125) * 1_000_000;
    let samples = profile.samples.iter();
    let samples: Vec<_> = samples
        .map(|sample| (sample.values.clone(), sample.timestamps_unix_nano.clone()))
        .collect();
    let expected = [
        (vec![3, 5], vec![middle(0), middle(4)]),
        (vec![7], vec![middle(4)]),
    ];
    assert_eq!(samples, expected);
    let end = profile.time_unix_nano + profile.duration_nano;
    assert!(
        samples
            .iter()
            .flat_map(|(_, times)| times)
            .all(|time| *time <= end)
    );
}
