use std::borrow::Cow;

use hprof_format::*;

use crate::common::*;

fn body_of(records: &[Record<'static>]) -> String {
    let records: Vec<_> = records
        .iter()
        .map(|record| (Micros(0), record.clone()))
        .collect();
    text_body(&records)
}

#[test]
fn a_profile() {
    let (cpu, sites) = (ctime(16_000_000), ctime(17_000_000));
    let expected = format!(
        "TRACE 300000:
\t<empty>
THREAD START (obj=500001c4, id = 200001, name=\"main\", group=\"main\")
TRACE 300001:
\tSpin.hot(Spin.java:4)
\tSpin.main(Spin.java:12)
TRACE 300002: (thread=200001)
\tSpin.main(Spin.java:12)
CPU SAMPLES BEGIN (total = 300) {cpu}
rank   self  accum   count trace method
   1 66.67% 66.67%     200 300001 Spin.hot
   2 23.33% 90.00%      70 300002 Spin.main
   3 10.00% 100.00%      30 300000 <empty>
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) {sites}
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 17.15% 17.15%     80000 5000     80120  5001 300001 Spin
    2  5.15% 22.30%     24000  300     24000   300 300000 int[]
SITES END
THREAD END (id = 200001)
"
    );
    assert_eq!(text_body(&profile()), expected);
}

#[test]
fn the_head_has_its_first_line_and_its_dashes() {
    let mut out = Vec::new();
    TextEncoder::new().start(START, &mut out);
    let head = String::from_utf8(out).expect("text is UTF-8");
    assert!(head.starts_with(&format!("JAVA PROFILE 1.0.1, created {}\n\n", ctime(0))));
    assert!(head.ends_with("\n\n--------\n\n"));
    assert_eq!(
        head.matches("\n--").count(),
        1,
        "parsers look for the first line of dashes"
    );
}

#[test]
fn the_description_says_what_samples_mean_and_cannot_be_taken_for_records() {
    let mut out = Vec::new();
    TextEncoder::new().start(START, &mut out);
    let head = String::from_utf8(out).expect("text is UTF-8");
    let words = head.split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in [
        "only for CPU time that it really used",
        "Where the head says safepoint-biased",
        "java.lang.Thread.<unsampled>",
    ] {
        assert!(words.contains(fact), "{fact}");
    }
    for line in head.lines().skip(1) {
        let of_a_record = ["THREAD", "TRACE", "CPU", "SITES", "HEAP", "MONITOR"];
        assert!(
            !of_a_record.iter().any(|start| line.starts_with(start)),
            "{line}"
        );
        assert!(!line.contains("BEGIN") && !line.starts_with('\t'), "{line}");
    }
}

#[test]
fn a_line_is_a_number_or_unknown() {
    let Record::Frame(FrameRecord {
        id,
        method,
        signature,
        class,
        ..
    }) = frame(9, 2, Line::Unknown)
    else {
        unreachable!("frame() makes frames");
    };
    let no_source = |id: FrameId, line| {
        Record::Frame(FrameRecord {
            id,
            method,
            signature,
            source_file: StringId(0),
            class,
            line,
        })
    };
    let body = body_of(&[
        string(1, "Spin"),
        string(2, "hot"),
        string(4, "Spin.java"),
        load_class(100_001, 1),
        frame(1, 2, Line::Number(4_294_967_295)),
        frame(2, 2, Line::Unknown),
        frame(3, 2, Line::Native),
        frame(4, 2, Line::Compiled),
        no_source(id, Line::Unknown),
        no_source(FrameId(10), Line::Native),
        trace(300_001, 0, &[1, 2, 3, 4, 9, 10]),
    ]);
    assert_eq!(
        body,
        "TRACE 300001:
\tSpin.hot(Spin.java:4294967295)
\tSpin.hot(Spin.java:Unknown line)
\tSpin.hot(Spin.java:Unknown line)
\tSpin.hot(Spin.java:Unknown line)
\tSpin.hot(<Unknown Source>:Unknown line)
\tSpin.hot(<Unknown Source>:Unknown line)
"
    );
}

#[test]
fn an_unloaded_class_keeps_its_name() {
    let body = body_of(&[
        string(1, "Gone"),
        string(2, "run"),
        string(4, "Gone.java"),
        load_class(100_001, 1),
        Record::UnloadClass(UnloadClassRecord {
            serial: ClassSerial(100_001),
        }),
        frame(1, 2, Line::Number(3)),
        trace(300_001, 0, &[1]),
    ]);
    assert_eq!(body, "TRACE 300001:\n\tGone.run(Gone.java:3)\n");
}

#[test]
fn what_was_never_written_has_a_placeholder() {
    let body = body_of(&[
        frame(1, 2, Line::Number(3)),
        trace(300_001, 0, &[1, 77]),
        trace(300_002, 0, &[77]),
        Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(200_001),
            object: ObjectId(0xABC),
            trace: TraceSerial(0),
            name: StringId(8),
            group: StringId(0),
            parent_group: StringId(0),
        }),
        Record::CpuSamples(CpuSamplesRecord {
            total: 0,
            rows: vec![sample(1, 300_001), sample(1, 300_002), sample(1, 9)].into(),
        }),
        Record::AllocSites(AllocSitesRecord {
            flags: SITES_BY_ALLOCATION,
            cutoff: f32::NAN,
            live_bytes: 0,
            live_instances: 0,
            allocated_bytes: 0,
            allocated_instances: 0,
            sites: vec![site(None, 0, 9, [0, 0, u64::MAX, 1])].into(),
        }),
    ]);
    let created = ctime(0);
    assert_eq!(
        body,
        format!(
            "TRACE 300001:
\t<unknown>.<unknown>(<unknown>:3)
\t<unknown>(<Unknown Source>:Unknown line)
TRACE 300002:
\t<unknown>(<Unknown Source>:Unknown line)
THREAD START (obj=abc, id = 200001, name=\"<unknown>\", group=\"\")
CPU SAMPLES BEGIN (total = 0) {created}
rank   self  accum   count trace method
   1  0.00%  0.00%       1 300001 <unknown>.<unknown>
   2  0.00%  0.00%       1 300002 <unknown>
   3  0.00%  0.00%       1     9 <unknown>
CPU SAMPLES END
SITES BEGIN (ordered by allocated bytes) {created}
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1  0.00%  0.00%         0    0 18446744073709551615     1     9 <unknown>
SITES END
"
        )
    );
}

#[test]
fn shares_of_sites_are_of_the_bytes_that_order_them() {
    let sites = |flags| {
        Record::AllocSites(AllocSitesRecord {
            flags,
            cutoff: 0.0,
            live_bytes: 100,
            live_instances: 10,
            allocated_bytes: 1_000,
            allocated_instances: 90,
            sites: vec![
                site(None, 0, 9, [20, 2, 900, 80]),
                site(None, 0, 9, [5, 1, 50, 5]),
            ]
            .into(),
        })
    };
    let shares = |flags| -> Vec<String> {
        let body = body_of(&[sites(flags)]);
        let rows = body.lines().filter(|line| line.contains('%'));
        rows.map(|row| row[6..19].to_owned()).collect()
    };
    assert_eq!(shares(0), ["20.00% 20.00%", " 5.00% 25.00%"]);
    let by_allocation = shares(SITES_BY_ALLOCATION);
    assert_eq!(by_allocation, ["90.00% 90.00%", " 5.00% 95.00%"]);
}

#[test]
fn what_is_known_of_the_run_stands_in_the_head() {
    let facts = vec![
        ("JDK", "17.0.15+6".to_owned()),
        ("Options", "cpu=samples,file=a\nTRACE 1:".to_owned()),
    ];
    let mut out = Vec::new();
    TextEncoder::of_run(facts).start(Millis(0), &mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .expect("a line")
            .starts_with("JAVA PROFILE 1.0.1, created ")
    );
    let head: Vec<&str> = lines.by_ref().take(4).collect();
    assert_eq!(
        head,
        [
            "",
            "JDK:        17.0.15+6",
            "Options:    cpu=samples,file=a?TRACE 1:",
            ""
        ]
    );
    assert!(lines.any(|line| line == "--------"));
}

#[test]
fn a_name_cannot_forge_a_line() {
    let text = b"a\"\nTHREAD END (id = 1)\r\t\0\x1b[2J\x7f\xc3\xa9\xff\xe2\x98\x83";
    let body = body_of(&[
        Record::String(StringRecord {
            id: StringId(1),
            text: Cow::Borrowed(text),
        }),
        Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(200_001),
            object: ObjectId(1),
            trace: TraceSerial(0),
            name: StringId(1),
            group: StringId(1),
            parent_group: StringId(0),
        }),
    ]);
    let name = "a\"?THREAD END (id = 1)????[2J?\u{e9}\u{fffd}\u{2603}";
    let expected =
        format!("THREAD START (obj=1, id = 200001, name=\"{name}\", group=\"{name}\")\n");
    assert_eq!(body, expected);
}

#[test]
fn what_a_terminal_obeys_stays_out_of_every_line() {
    let body = body_of(&[
        string(1, "A\u{1b}]0;\u{7}"),
        string(2, "b\u{9b}31m"),
        string(3, "()V"),
        string(4, "C\u{202e}avaj.\u{2066}"),
        string(5, "d\u{85}\u{2028}\u{2029}\u{200f}"),
        Record::String(StringRecord {
            id: StringId::NOTE,
            text: Cow::Borrowed("n\u{9d}\u{61c}".as_bytes()),
        }),
        load_class(100_001, 1),
        frame(500_001, 2, Line::Unknown),
        trace(300_001, 0, &[500_001]),
        Record::StartThread(StartThreadRecord {
            serial: ThreadSerial(200_001),
            object: ObjectId(1),
            trace: TraceSerial(300_001),
            name: StringId(5),
            group: StringId(5),
            parent_group: StringId(0),
        }),
    ]);
    let expected = "(n??)\nTRACE 300001:\n\tA?]0;?.b?31m(C?avaj.?:Unknown line)\n\
                    THREAD START (obj=1, id = 200001, name=\"d????\", group=\"d????\")\n";
    assert_eq!(body, expected);
}

#[test]
fn the_moment_of_a_record_counts_from_the_start() {
    let wrapped = (1 << 32) + 3_000_000;
    let rows = Cow::Borrowed(&[][..]);
    let records = [(
        Micros(wrapped),
        Record::CpuSamples(CpuSamplesRecord { total: 0, rows }),
    )];
    let begin = format!("CPU SAMPLES BEGIN (total = 0) {}\n", ctime(wrapped));
    assert!(text_body(&records).starts_with(&begin));
    assert_ne!(ctime(wrapped), ctime(wrapped - (1 << 32)));
}

#[test]
fn a_frame_without_a_source_file_says_so() {
    for source_file in [StringId(0), StringId(3)] {
        let mut encoder = TextEncoder::new();
        let mut out = Vec::new();
        let empty = Record::String(StringRecord {
            id: StringId(3),
            text: b"".as_slice().into(),
        });
        let frame = Record::Frame(FrameRecord {
            id: FrameId(7),
            method: StringId(0),
            signature: StringId(0),
            source_file,
            class: ClassSerial(0),
            line: Line::Unknown,
        });
        let trace = Record::Trace(TraceRecord {
            serial: TraceSerial(1),
            thread: ThreadSerial(0),
            frames: vec![FrameId(7)].into(),
        });
        for record in [empty, frame, trace] {
            encoder.record(Micros(0), &record, &mut out);
        }
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(
            text,
            "TRACE 1:\n\t<unknown>.(<Unknown Source>:Unknown line)\n"
        );
    }
}
