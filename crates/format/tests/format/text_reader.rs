//! Text profiles read back: into the records that print them.

use std::fs;
use std::path::Path;

use hprof_format::*;

/// Returns the file as printed again, from its first record on.
fn printed_again(text: &[u8]) -> Result<String, TextError> {
    let mut reader = TextReader::new(text)?;
    let mut encoder: Box<dyn Encoder> = match reader.is_old_prof() {
        true => Box::new(OldProfEncoder::new()),
        false => Box::new(TextEncoder::new()),
    };
    let mut out = Vec::new();
    encoder.start(reader.time(), &mut out);
    let head = out.len();
    while let Some(entry) = reader.read()? {
        match &entry.item {
            TextItem::Record(record) => encoder.record(entry.time, record, &mut out),
            TextItem::Monitor(record) => {
                encoder.monitor(entry.time, record, &mut out);
            }
            TextItem::Timing(timing) => encoder.timing(entry.time, timing, &mut out),
            TextItem::HeapDump { .. } => {}
        }
    }
    Ok(String::from_utf8(out.split_off(head)).expect("the encoders write UTF-8"))
}

/// Returns the records of a file, without its heap dumps, which are not kept.
fn records(text: &str) -> String {
    let head = text.find("--------\n\n").map(|at| at + 10);
    // An excerpt begins with its first whole trace, a file in the old prof format immediately.
    let start = head.or(text.find("TRACE ")).unwrap_or(0);
    let mut within_dump = false;
    let kept = text[start..].lines().filter(|line| {
        within_dump |= line.starts_with("HEAP DUMP BEGIN");
        let kept = !within_dump;
        within_dump &= *line != "HEAP DUMP END";
        kept
    });
    kept.map(|line| format!("{line}\n")).collect()
}

fn texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format/texts");
    let files = fs::read_dir(folder).expect("it is in the repository");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read_to_string(entry.path()).expect("it is text"))
    };
    files
        .map(|entry| read(entry.expect("it is in the repository")))
        .collect()
}

#[test]
fn every_text_prints_again_as_it_was() {
    for (name, text) in texts() {
        let again =
            printed_again(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = records(&text);
        for (number, (again, line)) in again.lines().zip(expected.lines()).enumerate() {
            assert_eq!(again, line, "{name}, record line {number}");
        }
        assert_eq!(again.len(), expected.len(), "{name}");
    }
}

/// A file with everything that a text profile may contain.
const EVERYTHING: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

What it is.
--------

THREAD START (obj=5000a, id = 200001, name=\"main \"quoted\", group=\"x\"\", group=\"main\")
(numbers are estimates)
TRACE 300000:
\t<empty>
TRACE 300001: (thread=200001)
\ta.B$C.<init>(B.java:12)
\ta.B.main(<Unknown Source>:Unknown line)
TRACE 300002:
\ta.D.run(D.java:Native method)
WAIT: MONITOR La/B;, timeout=60000, thread 200001
WAITED: MONITOR La/B;, time_waited=12, <unknown thread>
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:12 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 75.00% 75.00%        48    3        64     4 300001 int[]
    2 25.00% 100.00%        16    1        16     1 300002 a.D
SITES END
CPU SAMPLES BEGIN (total = 3) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 66.67% 66.67%       2 300001 a.B$C.<init>
   2 33.33% 100.00%       1 300002 a.D.run
CPU SAMPLES END
CPU TIME (ms) BEGIN (total = 30) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 66.67% 66.67%    2000 300001 a.B$C.<init>
   2 33.33% 100.00%       1 300002 a.D.run
CPU TIME (ms) END
MONITOR DUMP BEGIN
    THREAD 200001, trace 300001, status: intr|MW
    MONITOR La/B;
\towner: thread 200001, entry count: 2
\twaiting to enter: thread 200001, <unknown thread>
\twaiting to be notified:
    MONITOR La/D; unowned
\twaiting to enter:
\twaiting to be notified: thread 200001
MONITOR DUMP END
MONITOR TIME BEGIN (total = 70 ms) Fri Nov 20 10:39:14 2026
rank   self  accum   count trace monitor
   1 100.00% 100.00%       7 300001 a.B (Java)
MONITOR TIME END
HEAP DUMP BEGIN (1 objects, 16 bytes) Fri Nov 20 10:39:14 2026
ROOT 5000a (kind=<thread>, id=200001, trace=300000)
OBJ 5000a (sz=16, trace=300000, class=a.B@50001)
\tnext\t\t5000a
HEAP DUMP END
THREAD END (id = 200001)
";

#[test]
fn everything_prints_again_as_it_was() {
    let again = printed_again(EVERYTHING.as_bytes()).expect("it is sound");
    assert_eq!(
        again,
        records(EVERYTHING).replace("Native method", "Unknown line")
    );
}

#[test]
fn faults_name_their_line() {
    for (from, to, line) in [
        ("JAVA PROFILE", "JAVA PROFIL", 1),
        ("(thread=200001)", "(thread=main)", 10),
        ("B.java:12)", "B.java:12", 11),
        ("timeout=60000", "timeout=-1", 15),
        (" 48    3 ", " 48 three ", 20),
        ("(total = 3)", "(total = 4294967296)", 23),
        (
            "300002 a.D.run\nCPU SAMPLES END",
            "300002x\nCPU SAMPLES END",
            26,
        ),
        ("status: intr|MW", "status: intr|XX", 34),
        ("OBJ 5000a", "OBJECT 5000a", 49),
        ("THREAD END", "THREAD ENDS", 52),
    ] {
        assert!(EVERYTHING.contains(from), "{from}");
        let text = EVERYTHING.replacen(from, to, 1);
        let fault = printed_again(text.as_bytes()).expect_err(to).to_string();
        assert!(
            fault.starts_with(&format!("line {line}: ")),
            "{to}: {fault}"
        );
    }
    let cut = EVERYTHING.find("CPU TIME (ms) END").expect("it is there");
    let fault = printed_again(&EVERYTHING.as_bytes()[..cut]).expect_err("it is cut");
    assert!(matches!(fault, TextError::Cut { start: 28, .. }), "{fault}");
}

#[test]
fn old_agents_are_read() {
    let text = "\
JAVA PROFILE 1.0.1, created Sun Dec 30 11:47:15 2001
--------
THREAD START (obj=2b2ed8, id = 1, name=\"Finalizer\", group=\"system\")
TRACE 1: (thread=1) (from start phase of JVM)
\tjava.lang.Object.wait(Object.java:Native method)
\tjava.lang.Object.<init>(<Unknown>:Unknown line)
SLEEP: timeout=3, thread 1
EXIT: MONITOR La;, thread 1
SITES BEGIN (ordered by allocated bytes) Sun Dec 30 11:47:16 2001
          percent         live       alloc'ed  stack class
 rank   self  accum    bytes objs   bytes objs trace name
    1 100.00% 100.00%       16    1      16    1     1 [B
SITES END
";
    let again = printed_again(text.as_bytes()).expect("old agents wrote this");
    assert!(again.contains("\tjava.lang.Object.<init>(<Unknown Source>:Unknown line)\n"));
    assert!(again.ends_with(" 1 byte[]\nSITES END\n"), "{again}");
}

#[test]
fn monitors_of_agents_before_jdk_5_are_read() {
    let text = "\
JAVA PROFILE 1.0.1, created Mon Feb  4 08:12:06 2002
--------
TRACE 3:
\tQueue.take(Queue.java:14)
WAIT: MONITOR Queue@6f14b0, timeout=0, thread 4
MONITOR DUMP BEGIN
    THREAD 4, trace 3, status: CW
    THREAD 5, trace 3, status: S|intr|
    MONITOR Queue@6f14b0
\towner: thread 5, entry count: 1
\twaiting to enter: thread 4, thread 6
    RAW MONITOR \"hprof\"(0x80a1c)
\towner: thread 4, entry count: 1
    RAW MONITOR \"heap lock\"(0x80b2c) unowned
\twaiting to be notified: thread 6
MONITOR DUMP END
MONITOR TIME BEGIN (total = 40 ms) Mon Feb  4 08:12:07 2002
rank   self  accum   count trace monitor
   1 75.00% 75.00%       3     3 Queue@6f14b0 (Java)
   2 25.00% 100.00%       1     3 \"heap lock\"(80b2c) (Raw)
MONITOR TIME END
";
    let again = printed_again(text.as_bytes()).expect("old agents wrote this");
    assert!(again.contains(" status: S|intr|UN\n"), "{again}");
    assert!(again.contains("    MONITOR \"heap lock\"(0x80b2c) unowned\n"));
    assert!(again.contains("       3     3 Queue (Java)\n"), "{again}");
    assert!(again.contains("       1     3 \"heap lock\" (Java)\n"));
}

#[test]
fn frames_of_android_are_read() {
    let text = "\
JAVA PROFILE 1.0.1, created Thu Mar 10 10:20:30 2016
--------
TRACE 200001: (thread=200001)
\tjava.lang.Object.wait(Native Method)
\ta.b.run(SourceFile)
\ta.c.run(Unknown Source)
\ta.D.run(D.java:7)
CPU SAMPLES BEGIN (total = 1) Thu Mar 10 10:20:31 2016
rank   self  accum   count trace method
   1 100.00% 100.00%       1 200001 java.lang.Object.wait
CPU SAMPLES END
";
    let again = printed_again(text.as_bytes()).expect("Android wrote this");
    for frame in [
        "\tjava.lang.Object.wait(<Unknown Source>:Unknown line)\n",
        "\ta.b.run(SourceFile:Unknown line)\n",
        "\ta.c.run(<Unknown Source>:Unknown line)\n",
        "\ta.D.run(D.java:7)\n",
    ] {
        assert!(again.contains(frame), "{frame}: {again}");
    }
}

/// The JDK's agent printed percentages as the locale has them.
#[test]
fn percentages_may_have_commas() {
    let mut commas = 0;
    for (name, text) in texts() {
        let parts: Vec<&str> = text.split('.').collect();
        let mut with_commas = parts[0].to_owned();
        for part in &parts[1..] {
            let is_share = part.get(2..3) == Some("%");
            commas += u32::from(is_share);
            with_commas.push(if is_share { ',' } else { '.' });
            with_commas.push_str(part);
        }
        let again = printed_again(with_commas.as_bytes());
        let again = again.unwrap_or_else(|error| panic!("{name}: {error}"));
        let plain = printed_again(text.as_bytes()).expect("it is read as it is");
        assert!(again == plain, "{name}");
    }
    assert!(commas > 100, "{commas}");
}

/// Returns the totals of each section.
fn totals(text: &str) -> Vec<[u64; 4]> {
    let mut reader = TextReader::new(text.as_bytes()).expect("a text profile");
    let mut totals = Vec::new();
    while let Some(entry) = reader.read().expect("a sound profile") {
        match entry.item {
            TextItem::Record(Record::AllocSites(AllocSitesRecord {
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
                ..
            })) => totals.push([
                live_bytes,
                live_instances,
                allocated_bytes,
                allocated_instances,
            ]),
            TextItem::Timing(Timing::Traces { total, calls, .. }) => {
                totals.push([total, calls, 0, 0]);
            }
            TextItem::Monitor(MonitorRecord::Time { total, count, .. }) => {
                totals.push([total, count, 0, 0]);
            }
            _ => {}
        }
    }
    totals
}

#[test]
fn what_is_left_out_is_part_of_the_totals() {
    let sites = |order: &str| {
        format!(
            "(left out below the cutoff of 0.1: 2 rows with 3 live bytes, 2 live objects, 7 allocated bytes, 5 allocated \
             objects)\n(the numbers are estimates)\n\n\
             SITES BEGIN (ordered by {order} bytes) Sun Dec 30 11:47:16 2001\n\
             \x20   1 84.21% 84.21%       16    1     1024   64     1 A\n\
             SITES END\n"
        )
    };
    let text = format!(
        "JAVA PROFILE 1.0.1, created Sun Dec 30 11:47:15 2001\n--------\n\
         TRACE 1:\n\t<empty>\n{}{}\
         (left out below the cutoff of 0.1: 1 rows with 4 ms, 50 calls)\n\
         CPU TIME (ms) BEGIN (total = 30) Sun Dec 30 11:47:16 2001\n\
         \x20   1 86.67% 86.67%       7     1 <empty>\n\
         CPU TIME (ms) END\n\
         (left out below the cutoff of 0.1: 9 rows with 4 ms, 50 contentions)\n\
         MONITOR TIME BEGIN (total = 30 ms) Sun Dec 30 11:47:16 2001\n\
         \x20   1 86.67% 86.67%       7     1 A (Java)\n\
         MONITOR TIME END\n\
         CPU TIME (ms) BEGIN (total = 30) Sun Dec 30 11:47:17 2001\n\
         \x20   1 86.67% 86.67%       7     1 <empty>\n\
         CPU TIME (ms) END\n",
        sites("live"),
        sites("allocated")
    );
    assert_eq!(
        totals(&text),
        [
            [19, 3, 1031, 69],
            [19, 3, 1031, 69],
            [30_000_000, 57, 0, 0],
            [30_000_000, 57, 0, 0],
            [30_000_000, 7, 0, 0],
        ]
    );
}

#[test]
fn every_note_is_read_under_an_id_of_its_own() {
    let text =
        "JAVA PROFILE 1.0.1, created Sun Dec 30 11:47:15 2001\n--------\n(one)\n(two)\n(one)\n";
    let mut reader = TextReader::new(text.as_bytes()).expect("a text profile");
    let mut ids = std::collections::BTreeSet::new();
    while let Some(entry) = reader.read().expect("notes") {
        let TextItem::Record(Record::String(StringRecord { id, .. })) = entry.item else {
            panic!("{entry:?}");
        };
        assert!(id.is_note() && ids.insert(id), "{id}");
    }
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_total_that_was_printed_with_a_sign_is_what_it_was() {
    let text = EVERYTHING.replacen(
        "TIME (ms) BEGIN (total = 30)",
        "TIME (ms) BEGIN (total = -2)",
        1,
    );
    let again = printed_again(text.as_bytes()).expect("the original wrote this");
    assert!(
        again.contains("CPU TIME (ms) BEGIN (total = 4294967294)"),
        "{again}"
    );
}

/// A deterministic sequence of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Changes, removes, doubles or moves pieces of a text, at a few positions.
fn mutated(numbers: &mut Numbers, original: &[u8]) -> Vec<u8> {
    const INTERESTING: &[u8] = b"\0\t\n\r ():=%.,0198\xff-\"";
    let mut text = original.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(text.len());
        let end = (at + 1 + numbers.below(40)).min(text.len());
        match numbers.below(5) {
            0 => text[at] = numbers.0 as u8,
            1 => text[at] = INTERESTING[numbers.below(INTERESTING.len())],
            2 => drop(text.drain(at..end)),
            3 => {
                let piece = text[at..end].to_vec();
                let to = numbers.below(text.len());
                text.splice(to..to, piece);
            }
            _ => text.truncate(text.len().max(2) - numbers.below(text.len() / 8 + 1)),
        }
        if text.is_empty() {
            return text;
        }
    }
    text
}

fn no_mutation_panics(count: u32) {
    let old_prof =
        "count callee caller time\n2 a.B.c(I)V a.B.d d(La/B;)I 3\n1 a.B.c()V <unknown caller> 0\n";
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut sound = 0;
    for number in 0..count {
        let original = if number % 8 == 0 {
            old_prof
        } else {
            EVERYTHING
        };
        let text = mutated(&mut numbers, original.as_bytes());
        sound += u32::from(printed_again(&text).is_ok());
    }
    assert!(sound > 0 && sound < count, "{sound} of {count} are sound");
}

#[test]
fn mutated_texts_give_errors() {
    no_mutation_panics(3_000);
}

/// `cargo test --release -p hprof-format --test format a_million -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn a_million_mutated_texts_give_errors() {
    no_mutation_panics(1_000_000);
}
