//! A file whose samples have times, and every export that has times: each must have those of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hprof_format::{
    BinaryEncoder, ClassSerial, CpuSample, CpuSamplesRecord, Encoder, FrameId, FrameRecord, Line,
    LoadClassRecord, LockWait, LockWaits, Micros, Millis, ObjectId, Record, SampleTimes, Section,
    StepCount, StringId, StringRecord, ThreadSerial, TimedLock, TimedRow, TimedSection,
    TraceRecord, TraceSerial, WallSample, WallSamples,
};
use hprof_testing::{empty_folder, text};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use prost::Message;

use crate::every_section::{
    Totals, list, of_document, of_firefox, of_otlp_with_samples, of_speedscope, read,
};
use crate::{json, shown};

/// When the first step begins.
const BEGIN: u64 = 1_795_819_068_000;
const STEP: u64 = 250;
const STEPS: u64 = 4;
const INTERVAL: Duration = Duration::from_millis(20);
const LOOK: Duration = Duration::from_millis(10);
const LOCK: Option<u32> = Some(0x1b2c);

/// The samples of the file by stack: steps, and counts in them.
const CPU: [(u32, &[(u32, u64)]); 2] = [(1, &[(0, 3), (3, 2)]), (3, &[(1, 2)])];
const WALL: [(u32, &[(u32, u64)]); 2] = [(1, &[(2, 40)]), (2, &[(0, 50), (3, 10)])];
const WAITS: [(u32, &[(u32, u64)]); 1] = [(3, &[(0, 7), (3, 5)])];

/// The value of all samples of a kind in a step, by the middle of the step.
type Points = BTreeMap<(String, u64), u64>;

/// Returns what the file states, times in nanoseconds.
fn stated() -> Points {
    let mut points = Points::new();
    let kinds = [
        ("cpu", &CPU[..], INTERVAL),
        ("wall", &WALL, INTERVAL),
        ("lock-wait", &WAITS, LOOK),
    ];
    for (name, rows, sample) in kinds {
        for &(step, count) in rows.iter().flat_map(|(_, counts)| *counts) {
            let sum = points.entry((name.to_owned(), middle(step.into())));
            *sum.or_default() += count * u64::try_from(sample.as_nanos()).expect("a short time");
        }
    }
    points
}

fn middle(step: u64) -> u64 {
    BEGIN + STEP * step + STEP / 2
}

fn times(of: TimedSection, sample: Duration, rows: &[(u32, &[(u32, u64)])]) -> Section<'static> {
    let lock = TimedLock {
        holder: Some(TraceSerial(1)),
        class: ClassSerial(1),
        identity: LOCK,
    };
    let rows = rows.iter().map(|&(trace, counts)| TimedRow {
        trace: TraceSerial(trace),
        lock: Some(lock).filter(|_| of == TimedSection::LockWaits),
        counts: counts
            .iter()
            .map(|&(step, count)| StepCount { step, count })
            .collect(),
    });
    Section::SampleTimes(SampleTimes {
        of,
        sample,
        begin: Millis(BEGIN),
        millis: STEP * STEPS,
        step: STEP,
        rows: rows.collect(),
    })
}

fn sum(counts: &[(u32, u64)]) -> u64 {
    counts.iter().map(|(_, count)| count).sum()
}

/// Returns the sections, with the sums of the samples and then with their times.
fn sections() -> Vec<Section<'static>> {
    let wall = WALL.map(|(trace, counts)| WallSample {
        count: sum(counts),
        trace: TraceSerial(trace),
    });
    let waits = WAITS.map(|(trace, counts)| LockWait {
        count: sum(counts),
        trace: TraceSerial(trace),
        holder: Some(TraceSerial(1)),
        class: ClassSerial(1),
        identity: LOCK,
    });
    vec![
        times(TimedSection::CpuSamples, INTERVAL, &CPU),
        Section::WallSamples(WallSamples {
            total: wall.iter().map(|row| row.count).sum(),
            interval: 20,
            threads: Some(3),
            rows: wall.to_vec(),
        }),
        times(TimedSection::WallSamples, INTERVAL, &WALL),
        Section::LockWaits(LockWaits {
            total: waits.iter().map(|row| row.count).sum(),
            interval: 10,
            known: waits.iter().map(|row| row.count).sum(),
            rows: waits.to_vec(),
        }),
        times(TimedSection::LockWaits, LOOK, &WAITS),
    ]
}

/// Writes the file.
fn file(folder: &Path) -> PathBuf {
    let (mut encoder, mut bytes) = (BinaryEncoder::new(), Vec::new());
    encoder.start(Millis(BEGIN), &mut bytes);
    let mut write = |millis: u64, record: &Record<'_>| {
        encoder.record(Micros(1_000 * millis), record, &mut bytes);
    };
    let string = |id, text: &str| {
        Record::String(StringRecord {
            id,
            text: text.as_bytes().to_vec().into(),
        })
    };
    let options = "Options: cpu=samples,interval=20,wall=y,monitor=y,format=b";
    write(0, &string(StringId::fact(0), options));
    let names = ["p/A", "go", "lock", "flush", "java/lang/Thread", "<parked>"];
    for (id, name) in (1..).zip(names) {
        write(0, &string(StringId(id), name));
    }
    for (serial, name) in [(1, 1), (2, 5)] {
        write(
            0,
            &Record::LoadClass(LoadClassRecord {
                serial: ClassSerial(serial),
                class_object: ObjectId(serial.into()),
                trace: TraceSerial(0),
                name: StringId(name),
            }),
        );
    }
    for (id, class, method) in [(1, 1, 2), (2, 1, 3), (3, 1, 4), (4, 2, 6)] {
        write(
            0,
            &Record::Frame(FrameRecord {
                id: FrameId(id),
                method: StringId(method),
                signature: StringId(0),
                source_file: StringId(0),
                class: ClassSerial(class),
                line: Line::Unknown,
            }),
        );
    }
    for (serial, frames) in [(1, &[1][..]), (2, &[4, 2]), (3, &[3])] {
        write(
            0,
            &Record::Trace(TraceRecord {
                serial: TraceSerial(serial),
                thread: ThreadSerial(0),
                frames: frames.iter().copied().map(FrameId).collect(),
            }),
        );
    }
    let cpu = CPU.map(|(trace, counts)| CpuSample {
        count: u32::try_from(sum(counts)).expect("few"),
        trace: TraceSerial(trace),
    });
    let samples = CpuSamplesRecord {
        total: cpu.iter().map(|row| row.count).sum(),
        rows: cpu.to_vec().into(),
    };
    write(STEP * STEPS, &Record::CpuSamples(samples));
    for (number, section) in (0..).zip(sections()) {
        let note = section.note().expect("a binary file has it as a note");
        write(STEP * STEPS, &string(StringId::note(number), &note));
    }
    let path = folder.join("timed.hprof");
    std::fs::write(&path, bytes).expect("a file");
    path
}

#[test]
fn every_export_with_times_has_those_of_the_file() {
    let folder = empty_folder!("sample-times");
    let file = file(&folder);
    let made = |name: &str, arguments: &[&str]| {
        let path = folder.join(name);
        let to = path.to_str().expect("UTF-8");
        shown(&[arguments, &["-o", to]].concat(), &[&file]);
        path
    };
    let stated = stated();
    assert_eq!(of_json(&file), stated, "json");
    assert_eq!(of_json(&made("sum.hprof", &["merge"])), stated, "merge");
    let otlp = made("otlp", &["export", "--to", "otlp"]);
    assert_eq!(of_otlp(&otlp), stated, "otlp");
    let recording = made("run.jfr", &["export", "--to", "jfr"]);
    assert_eq!(of_json(&recording), stated, "jfr");
    // With another recording, of which the steps are the same, and with the file itself.
    let doubled: Points = stated
        .iter()
        .map(|(at, value)| (at.clone(), 2 * value))
        .collect();
    let bytes = std::fs::read(&recording).expect("it was written");
    let twice = folder.join("twice.jfr");
    std::fs::write(&twice, [&*bytes, &bytes].concat()).expect("there is room");
    assert_eq!(of_json(&twice), doubled, "two chunks");
    let sum = folder.join("both.hprof");
    let to = sum.to_str().expect("UTF-8");
    shown(&["merge", "-o", to], &[&recording, &file]);
    assert_eq!(of_json(&sum), doubled, "merge of both");
    made("tables", &["export", "--to", "parquet"]);
    if let Some(python) = std::env::var_os("HPROF_DUCKDB") {
        let tables = folder.join("tables/sample_time/*.parquet");
        assert_eq!(of_tables(Path::new(&python), &tables), stated, "parquet");
    }
}

/// A recording has the lock and the holder of each wait, and the same answer for a part of the run.
#[test]
fn a_recording_answers_as_the_file_that_it_was_made_of() {
    let folder = empty_folder!("sample-times-jfr");
    let file = file(&folder);
    let recording = folder.join("run.jfr");
    let to = recording.to_str().expect("UTF-8");
    shown(&["export", "--to", "jfr", "-o", to], &[&file]);
    let part = ["--from", "+250ms", "--until", "+1s", "--idle"];
    for (value, by) in [
        ("cpu", "method"),
        ("wall", "method"),
        ("lock-wait", "method"),
        ("lock-wait", "lock"),
        ("lock-wait", "holder"),
    ] {
        let arguments = [&["top", "--value", value, "--by", by][..], &part].concat();
        let rows = |file: &Path| {
            let text = shown(&arguments, &[file]);
            let is_row = |line: &&str| {
                line.trim_start()
                    .starts_with(|first: char| first.is_ascii_digit())
            };
            let rows = text.lines().filter(is_row).map(str::to_owned);
            rows.collect::<Vec<String>>()
        };
        let stated = rows(&file);
        assert!(!stated.is_empty(), "{value} by {by}");
        assert_eq!(rows(&recording), stated, "{value} by {by}");
    }
}

/// Each export of a part of the run has the values of that part, whether the format has times or not.
#[test]
fn every_export_of_a_part_has_the_values_of_its_time() {
    let folder = empty_folder!("sample-times-part");
    let file = file(&folder);
    let mut sums = Totals::new();
    for ((name, at), value) in stated() {
        if at < BEGIN + 2 * STEP {
            *sums.entry(name).or_insert(0) += value;
        }
    }
    // All 50 samples of elapsed time are of a parked thread.
    sums.insert("parked".to_owned(), sums["wall"]);
    let part = ["--from", "+0s", "--until", "+500ms"];
    let exported = |format: &str| {
        let path = folder.join(format);
        let to = path.to_str().expect("UTF-8");
        let arguments = [&["export", "--to", format, "-o", to][..], &part].concat();
        shown(&arguments, &[&file]);
        path
    };
    let not_zero = |mut totals: Totals| {
        totals.retain(|_, total| *total > 0);
        totals
    };
    let document = read(&exported("json"));
    assert_eq!(not_zero(of_document(&document)), sums, "json");
    let recording = json(&["export", "--to", "json"], &[&exported("jfr")]);
    assert_eq!(not_zero(of_document(&recording)), sums, "jfr");
    let speedscope = of_speedscope(&exported("speedscope"));
    assert_eq!(not_zero(speedscope), sums, "speedscope");
    let firefox = of_firefox(&exported("firefox"));
    assert_eq!(not_zero(firefox), sums, "firefox");
    let mut otlp = of_otlp_with_samples(&exported("otlp"));
    otlp.remove("samples");
    assert_eq!(not_zero(otlp), sums, "otlp");
}

fn of_json(file: &Path) -> Points {
    let document = json(&["export", "--to", "json"], &[file]);
    let mut points = Points::new();
    for timeline in list(&document, "timelines") {
        let number = |name: &str| timeline[name].as_u64().expect("a number");
        let name = timeline["value"].as_str().expect("a name");
        let weight = match name {
            "cpu" => document["interval_ns"].as_u64().expect("an interval"),
            _ => 1,
        };
        for row in list(timeline, "rows") {
            for pair in row[2].as_array().expect("pairs") {
                let [step, value] = [0, 1].map(|at| pair[at].as_u64().expect("a number"));
                let at = number("begin_ms") + number("step_ms") * step + number("step_ms") / 2;
                *points.entry((name.to_owned(), at)).or_default() += weight * value;
            }
        }
    }
    points
}

fn of_tables(python: &Path, tables: &Path) -> Points {
    let script = format!(
        "import duckdb\n\
        for row in duckdb.sql(\"SELECT \"of\", begin_ms + step_s * 500, sum(time_ns) \
        FROM read_parquet('{}') GROUP BY ALL\").fetchall(): print(row[0], int(row[1]), int(row[2]))",
        tables.display()
    )
    .replace("SELECT \"of\"", "SELECT \\\"of\\\"");
    let output = Command::new(python).args(["-c", &script]).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let names = [
        ("cpu_sample", "cpu"),
        ("wall_sample", "wall"),
        ("lock_wait", "lock-wait"),
    ];
    let rows = text(&output.stdout).lines().map(|line| {
        let row: Vec<&str> = line.split(' ').collect();
        let [of, at, value] = row[..] else {
            panic!("{line}");
        };
        let name = names.iter().find(|(table, _)| *table == of).expect("known");
        let [at, value] = [at, value].map(|number| number.parse().expect("a number"));
        ((name.1.to_owned(), at), value)
    });
    rows.collect()
}

fn of_otlp(path: &Path) -> Points {
    let bytes = std::fs::read(path).expect("it was written");
    let request = ExportProfilesServiceRequest::decode(&*bytes).expect("OTLP");
    let names = &request
        .dictionary
        .as_ref()
        .expect("a dictionary")
        .string_table;
    let scopes = request
        .resource_profiles
        .iter()
        .flat_map(|of| &of.scope_profiles);
    let mut points = Points::new();
    for profile in scopes.flat_map(|scope| &scope.profiles) {
        let kind = profile.sample_type.as_ref().expect("a type");
        let name = &names[kind.type_strindex as usize];
        // The others are sums, some of them of parts of these.
        if !["cpu", "wall", "lock-wait"].contains(&name.as_str()) {
            continue;
        }
        for sample in &profile.samples {
            assert_eq!(sample.values.len(), sample.timestamps_unix_nano.len());
            for (value, at) in sample.values.iter().zip(&sample.timestamps_unix_nano) {
                let sum = points.entry((name.clone(), at / 1_000_000));
                *sum.or_default() += u64::try_from(*value).expect("a value");
            }
        }
    }
    points
}
