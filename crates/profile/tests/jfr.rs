//! Profiles as recordings of the JDK Flight Recorder, and back.

use hprof_profile::*;
use hprof_testing::sound_profile;

/// 10 samples, of which 2 are in no row; `A.run` waits 4 ms for a `p.Lock`; 4 of 6 `int[]` are alive.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

JDK:        17.0.15+6 (OpenJDK 64-Bit Server VM, Debian)
Options:    cpu=samples,interval=20,depth=2
Process:    4711
Program:    p.Main --port 80
--------
THREAD START (obj=1, id = 200001, name=\"one; <b>\", group=\"main\")
TRACE 300001: (thread=200001)
\tp.A.run(A.java:7)
\tp.B.go(B.java:3)
TRACE 300002:
\tp.q.C.end(C.java:Native method)
\tjava.lang.Thread.run(Thread.java:Compiled method)
TRACE 300003:
\t<empty>
CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 50.00% 50.00%       5 300002 p.q.C.end
   2 30.00% 80.00%       3 300001 p.A.run
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:13 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 80.00% 80.00%        64    4        96     6 300002 int[]
    2 20.00% 100.00%        16    1        16     1 300003 p.Main$$Lambda
SITES END
CPU TIME (ms) BEGIN (total = 40) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 75.00% 75.00%       4 300001 p.A.run
   2 25.00% 100.00%       2 300002 p.q.C.end
CPU TIME (ms) END
MONITOR TIME BEGIN (total = 4 ms) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace monitor
   1 100.00% 100.00%       2 300001 p.Lock (Java)
MONITOR TIME END
";

fn recording(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    export::jfr(profile, &mut file).expect("memory takes all");
    file
}

#[test]
fn a_profile_comes_back_as_it_was() {
    let run = sound_profile(RUN.as_bytes());
    let again = sound_profile(&recording(&run));
    assert_eq!(again.metrics(), run.metrics());
    for metric in run.metrics() {
        assert_eq!(again.total(metric), run.total(metric), "{metric}");
        // A recording has no source files, which stand before lines.
        for by in [By::Method, By::Type, By::Thread] {
            let rows = |profile| {
                let costs = costs(profile, metric, by).into_iter();
                let mut rows: Vec<_> = costs.map(|c| (c.name, c.own, c.total)).collect();
                rows.sort();
                rows
            };
            assert_eq!(rows(&again), rows(&run), "{metric}");
        }
        let remarks = |profile: &Profile| {
            let remarks = profile.remarks(metric).into_iter();
            remarks.map(|remark| remark.value).collect::<Vec<_>>()
        };
        assert_eq!(remarks(&again), remarks(&run), "{metric}");
    }
    assert_eq!(again.facts, run.facts);
    assert_eq!(again.interval(), run.interval());
    assert_eq!((again.created, again.length), (run.created, run.length));
    let lines: Vec<Option<u32>> = again.frames().map(|frame| frame.line).collect();
    assert!(lines.contains(&Some(7)) && lines.contains(&Some(3)));
    let kinds: Vec<FrameKind> = again.frames().map(|frame| frame.kind).collect();
    for kind in [FrameKind::Native, FrameKind::Compiled, FrameKind::Marker] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
}

#[test]
fn every_sample_and_every_allocation_is_an_event_of_the_jdk() {
    let file = recording(&sound_profile(RUN.as_bytes()));
    let chunk = hprof_jfr::Chunks::new(file.as_slice()).read();
    let chunk = chunk.expect("it is sound").expect("it has a chunk");
    let (mut samples, mut weights, mut times) = (0, Vec::new(), Vec::new());
    for event in chunk.events() {
        let event = event.expect("it is sound");
        let number = |field| match event.values().get(field) {
            Ok(hprof_jfr::Value::Integer(number)) => number,
            other => panic!("{other:?}"),
        };
        match &*event.of().name {
            "jdk.ExecutionSample" => {
                samples += 1;
                times.push(number("startTime"));
            }
            "jdk.ObjectAllocationSample" => weights.push(number("weight")),
            _ => {}
        }
    }
    assert_eq!((samples, weights), (10, vec![96, 16]));
    let end = i64::try_from(chunk.header().duration_nanos).expect("a short run");
    assert!(
        times.is_sorted() && times[1] > 0 && times[9] < end,
        "{times:?}"
    );
}

#[test]
fn the_chunks_before_a_fault_are_shown() {
    let file = recording(&sound_profile(RUN.as_bytes()));
    let mut cut = file.clone();
    cut.extend(&file[..file.len() - 1]);
    let loaded = load(cut.as_slice(), Wanted::Last).expect("the first chunk is sound");
    assert_eq!(loaded.profile.total(Metric::Cpu), 10);
    let fault = loaded.fault.expect("the second is cut off").to_string();
    let left = file.len() - 1;
    let expected = format!(
        "byte {0}: cut off: {0} bytes should follow, and {left} do",
        file.len()
    );
    assert_eq!(fault, expected);
    let twice = sound_profile(&[file.as_slice(), &file].concat());
    assert_eq!(twice.total(Metric::Cpu), 20);
    let error = load(&file[..100], Wanted::Last).expect_err("nothing is there");
    assert!(error.to_string().starts_with("byte 0: cut off"), "{error}");
    let error = load(file.as_slice(), Wanted::Number(2)).expect_err("there is one");
    assert_eq!(error.to_string(), "there is no section 2; the file has 1");
}

#[test]
fn a_sum_with_a_recording_has_its_bytes() {
    let run = sound_profile(RUN.as_bytes());
    let mut merger = Merger::default();
    merger.add(&run, &Added::default()).expect("one interval");
    merger
        .add(&sound_profile(&recording(&run)), &Added::default())
        .expect("one interval");
    let mut file = Vec::new();
    write(&merger.finish(), &mut file).expect("memory takes all");
    let sum = sound_profile(&file);
    for metric in [Metric::Cpu, Metric::AllocBytes, Metric::LiveObjects] {
        assert_eq!(sum.total(metric), 2 * run.total(metric), "{metric}");
    }
}

/// A recording with this event, whose fields are texts but for a stack, so many times.
fn recording_of(name: &'static str, has_stack: bool, count: usize) -> Vec<u8> {
    use hprof_jfr::*;
    let mut recording = Recording::new(1_700_000_000_000_000_000, 1_000_000_000);
    let mut fields = Vec::new();
    fields.extend(has_stack.then_some(EventField::STACK));
    let event_type = recording.event_type(EventType {
        name,
        label: name,
        description: "",
        category: &["Other"],
        fields,
    });
    let stack = recording.stacks.push(&[], false);
    for _ in 0..count {
        let values = [FieldValue::Stack(Some(stack))];
        let values = &values[..usize::from(has_stack)];
        recording.event(event_type, 1, values).expect("its fields");
    }
    let mut file = Vec::new();
    recording.write(&mut file).expect("memory takes all");
    file
}

fn remarks(file: &[u8]) -> Vec<String> {
    let loaded = load(file, Wanted::Last).expect("it is sound");
    loaded.profile.stated_remarks().collect()
}

#[test]
fn samples_of_other_profilers_are_said_not_to_be_read() {
    let samples = recording_of("datadog.ExecutionSample", true, 14_202);
    let both = [samples, recording_of("profiler.Malloc", true, 3)].concat();
    assert_eq!(
        remarks(&both),
        [
            "events with stacks that are not read: datadog.ExecutionSample (14,202), profiler.Malloc (3)"
        ]
    );
    for (name, has_stack) in [("jdk.FileRead", true), ("datadog.Scope", false)] {
        assert_eq!(
            remarks(&recording_of(name, has_stack, 3)),
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn a_damaged_chunk_costs_no_other() {
    let run = sound_profile(RUN.as_bytes());
    let whole = recording(&run);
    let mut damaged = whole.clone();
    // The content of the chunk, not its header of 68 bytes.
    damaged[68..].fill(0xff);
    let cpu = |file: &[u8]| {
        load(file, Wanted::Last).map(|loaded| {
            (
                loaded.profile.total(Metric::Cpu),
                loaded.fault.is_some(),
                loaded.profile.stated_remarks().collect::<Vec<_>>(),
            )
        })
    };
    let (expected, ..) = cpu(&whole).expect("it is sound");
    for chunks in [[&damaged, &whole], [&whole, &damaged]] {
        let (found, is_faulty, remarks) =
            cpu(&chunks.map(Vec::as_slice).concat()).expect("one is sound");
        assert_eq!((found, is_faulty), (expected, true));
        let said = remarks
            .iter()
            .any(|remark| remark.starts_with("1 of 2 chunks of the recording are damaged"));
        assert!(said, "{remarks:?}");
    }
    let (found, ..) = cpu(&[&whole[..], &damaged, &whole].concat()).expect("two are sound");
    assert_eq!(found, 2 * expected);
    assert!(cpu(&damaged).is_err());
}

/// A park of 3 s from the first second on, a wait for a monitor of 2 s from the sixth on, and 100 bytes after 8.5 s.
#[test]
fn events_of_the_jdk_count_at_their_times() {
    use hprof_jfr::*;
    const BEGIN: u64 = 1_700_000_000_000;
    const SECOND: u64 = 1_000_000_000;
    let mut recording = Recording::new(BEGIN * 1_000_000, 10 * SECOND);
    let mut event_type = |name, fields: Vec<EventField>| {
        recording.event_type(EventType {
            name,
            fields,
            ..EventType::default()
        })
    };
    let waits = || vec![EventField::DURATION, EventField::STACK];
    let weight = EventField {
        name: "weight",
        label: "Weight",
        kind: FieldKind::Bytes,
    };
    let park = event_type("jdk.ThreadPark", waits());
    let enter = event_type("jdk.JavaMonitorEnter", waits());
    let sample = event_type(
        "jdk.ObjectAllocationSample",
        vec![EventField::STACK, weight],
    );
    let stack = FieldValue::Stack(Some(recording.stacks.push(&[], false)));
    let number = FieldValue::Number;
    for (event, at, values) in [
        (park, SECOND, [number(3 * SECOND), stack]),
        (enter, 6 * SECOND, [number(2 * SECOND), stack]),
        (sample, 8 * SECOND + SECOND / 2, [stack, number(100)]),
    ] {
        recording.event(event, at, &values).expect("its fields");
    }
    let mut file = Vec::new();
    recording.write(&mut file).expect("memory takes all");
    let whole = sound_profile(&file);
    let metrics = [
        Metric::Wall,
        Metric::Contention,
        Metric::Contentions,
        Metric::AllocBytes,
    ];
    let part = |from: u64, to: u64| {
        let span = Span {
            from: BEGIN + from,
            to: BEGIN + to,
        };
        let part = whole.clone().within(span).expect("a part of it");
        metrics.map(|metric| part.total(metric))
    };
    assert_eq!(
        metrics.map(|metric| whole.total(metric)),
        [5 * SECOND, 2 * SECOND, 1, 100]
    );
    assert_eq!(part(0, 1_000), [0, 0, 0, 0]);
    assert_eq!(part(1_000, 3_000), [2 * SECOND, 0, 0, 0]);
    assert_eq!(part(5_000, 7_500), [3 * SECOND / 2, 3 * SECOND / 2, 0, 0]);
    assert_eq!(part(7_500, 8_000), [SECOND / 2, SECOND / 2, 1, 0]);
    assert_eq!(part(8_000, 10_000), [0, 0, 0, 100]);
    // Two chunks of the same time.
    let twice = sound_profile(&[file.as_slice(), &file].concat());
    let both = twice.timeline(Metric::Wall).expect("times");
    let values = both.rows.iter().flat_map(|row| &row.values);
    assert_eq!(values.map(|(_, value)| value).sum::<u64>(), 10 * SECOND);
}

#[test]
fn secrets_of_a_command_line_are_replaced() {
    use hprof_jfr::*;
    let mut recording = Recording::new(1_700_000_000_000_000_000, 1_000_000_000);
    let names = ["jvmName", "jvmVersion", "jvmArguments", "javaArguments"];
    let field = |name| EventField {
        name,
        label: name,
        kind: FieldKind::Text,
    };
    let event_type = recording.event_type(EventType {
        name: "jdk.JVMInformation",
        label: "JVM Information",
        description: "",
        category: &["Java Virtual Machine"],
        fields: names.map(field).into(),
    });
    let values = [
        "OpenJDK 64-Bit Server VM",
        "17.0.15+6",
        "-Xmx1g -Dpassword=hunter2 -Dport=80",
        "app.TokenService --token=hunter3 --db-password hunter4 80",
    ];
    let values = values.map(FieldValue::Text);
    recording.event(event_type, 0, &values).expect("its fields");
    let mut file = Vec::new();
    recording.write(&mut file).expect("memory takes all");
    let facts = sound_profile(&file).facts;
    let fact = |label: &str| {
        let found = facts.iter().find(|(of, _)| of == label);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    assert_eq!(fact("Flags"), "-Xmx1g [REDACTED] -Dport=80");
    assert_eq!(
        fact("Program"),
        "app.TokenService [REDACTED] [REDACTED] [REDACTED] 80"
    );
}
