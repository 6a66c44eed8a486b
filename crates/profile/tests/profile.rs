//! Compares the content of a file with the profile made from it, and with its other formats.

use std::io::Read;

use flate2::read::GzDecoder;
use hprof_format::{
    AllocSite, AllocSitesRecord, BinaryEncoder, ClassSerial, Encoder, LeftOut, Micros, Millis,
    Record, StringId, StringRecord, TraceSerial,
};
use hprof_profile::*;
use hprof_testing::{sound_profile, sound_report};
use prost::Message;
use serde_json::Value;

/// Two dumps of a run. The first: 10 samples. The second, a sum of two threads: `A.run` calls itself through `B.go` (3
/// samples), `C.end` is called by it (5), 2 samples of 10 are below the cutoff; 4 of 6 `int[]` and 1 `D` are alive.
const RUN: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026
--------
THREAD START (obj=1, id = 200001, name=\"one\", group=\"main\")
THREAD START (obj=2, id = 200002, name=\"two; 2\", group=\"main\")
TRACE 300001: (thread=200001)
\tp.A.run(A.java:7)
\tp.B.go(B.java:3)
\tp.A.run(A.java:9)
TRACE 300002: (thread=200002)
\tp.q.C.end(C.java:Native method)
\tp.A.run(A.java:9)
TRACE 300003:
\t<empty>
CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 100.00% 100.00%      10 300001 p.A.run
CPU SAMPLES END
SITES BEGIN (ordered by live bytes) Fri Nov 20 10:39:13 2026
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 80.00% 80.00%        64    4        96     6 300002 int[]
    2 20.00% 100.00%        16    1        16     1 300003 D
SITES END
CPU SAMPLES BEGIN (total = 10) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 50.00% 50.00%       5 300002 p.q.C.end
   2 30.00% 80.00%       3 300001 p.A.run
CPU SAMPLES END
CPU TIME (ms) BEGIN (total = 40) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace method
   1 75.00% 75.00%       4 300001 p.A.run
   2 25.00% 100.00%       2 300002 p.q.C.end
CPU TIME (ms) END
MONITOR TIME BEGIN (total = 7 ms) Fri Nov 20 10:39:13 2026
rank   self  accum   count trace monitor
   1 100.00% 100.00%       2 300001 p.Lock (Java)
MONITOR TIME END
";

/// The totals of the second dump.
const TOTALS: [(Metric, u64); 9] = [
    (Metric::Cpu, 10),
    (Metric::Time, 40_000_000),
    (Metric::AllocBytes, 112),
    (Metric::AllocObjects, 7),
    (Metric::LiveBytes, 80),
    (Metric::LiveObjects, 5),
    (Metric::Contention, 7_000_000),
    (Metric::Contentions, 2),
    (Metric::Calls, 6),
];

fn run() -> Profile {
    sound_profile(RUN.as_bytes())
}

fn cost(profile: &Profile, metric: Metric, by: By, name: &str) -> (u64, u64) {
    let costs = costs(profile, metric, by);
    let cost = costs.iter().find(|cost| cost.name == name);
    let cost = cost.unwrap_or_else(|| panic!("no {name} in {costs:?}"));
    (cost.own, cost.total)
}

#[test]
fn the_last_dump_counts_unless_another_is_wanted() {
    let last = run();
    assert_eq!((last.section, last.sections), (2, 2));
    for (metric, total) in TOTALS {
        assert_eq!(last.total(metric), total, "{metric}");
    }
    let first = sound_report(RUN.as_bytes(), Wanted::Number(1));
    assert_eq!(first.total(Metric::AllocObjects), 7, "the first sites");
    assert_eq!(cost(&first, Metric::Cpu, By::Method, "p.A.run"), (10, 10));
    for none in [0, 3] {
        let error = load(RUN.as_bytes(), Wanted::Number(none)).expect_err("there are two");
        assert!(matches!(error, LoadError::NoSection { sections: 2, .. }));
    }
}

#[test]
fn recursion_counts_once_in_totals() {
    let run = run();
    let cpu = |by, name| cost(&run, Metric::Cpu, by, name);
    assert_eq!(cpu(By::Method, "p.A.run"), (3, 8));
    assert_eq!(cpu(By::Method, "p.B.go"), (0, 3));
    assert_eq!(cpu(By::Method, "<not listed>"), (2, 2));
    assert_eq!(cpu(By::Line, "p.A.run(A.java:9)"), (0, 8));
    assert_eq!(cpu(By::Class, "p.q.C"), (5, 5));
    assert_eq!(cpu(By::Package, "p"), (3, 8));
    assert_eq!(cpu(By::Thread, "two; 2"), (5, 5));
    let trace = "p.A.run(A.java:7)\np.B.go(B.java:3)\np.A.run(A.java:9)";
    assert_eq!(cpu(By::Trace, trace), (3, 3));
    let live = |name| cost(&run, Metric::LiveObjects, By::Type, name);
    assert_eq!((live("int[]"), live("D")), ((4, 4), (1, 1)));
    assert_eq!(
        cost(
            &run,
            Metric::LiveBytes,
            By::Method,
            "<made before the profile>"
        ),
        (16, 16)
    );
}

#[test]
fn what_is_left_out_is_one_row() {
    let text = RUN.replace(
        "SITES BEGIN",
        "(left out below the cutoff of 0.1: 2 rows with 3 live bytes, 2 live objects, 7 allocated bytes, \
         5 allocated objects)\nSITES BEGIN",
    );
    let (all, rows) = (sound_profile(text.as_bytes()), run());
    for (metric, left_out) in [
        (Metric::LiveBytes, 3),
        (Metric::LiveObjects, 2),
        (Metric::AllocBytes, 7),
        (Metric::AllocObjects, 5),
    ] {
        let not_listed = cost(&all, metric, By::Method, "<not listed>");
        assert_eq!(not_listed, (left_out, left_out), "{metric}");
        let listed: u64 = costs(&rows, metric, By::Method)
            .iter()
            .filter(|row| row.name != "<not listed>")
            .map(|row| row.own)
            .sum();
        assert_eq!(all.total(metric), listed + left_out, "{metric}");
    }
    // Written again, it is a row and not a line: nothing counts twice.
    let (_, merged) = written(&merged(&[&all, &all], None));
    let twice = sound_profile(&merged);
    assert_eq!(twice.notes.len(), 0, "{:?}", twice.notes);
    for metric in [Metric::LiveBytes, Metric::AllocObjects] {
        assert_eq!(twice.total(metric), 2 * all.total(metric), "{metric}");
    }
}

/// Values that the binary format has no room for.
#[test]
fn totals_above_32_bits_are_those_of_the_rows() {
    let note = LeftOut {
        rows: 3,
        values: [7_000_000_000, 5, 0, 0],
    };
    let sites = |live_bytes| {
        Record::AllocSites(AllocSitesRecord {
            flags: 0,
            cutoff: 0.1,
            live_bytes,
            live_instances: 6,
            allocated_bytes: 9_000_000_000,
            allocated_instances: 100,
            sites: vec![AllocSite {
                array_of: None,
                class: ClassSerial(0),
                trace: TraceSerial(1),
                live_bytes: 4_000_000_000,
                live_instances: 1,
                allocated_bytes: 4_000_000_000,
                allocated_instances: 1,
            }]
            .into(),
        })
    };
    let mut file = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut file);
    let note = Record::String(StringRecord {
        id: StringId::NOTE,
        text: note.note_of_sites(0.1).into_bytes().into(),
    });
    for record in [note, sites(11_000_000_000)] {
        encoder.record(Micros(0), &record, &mut file);
    }
    let profile = sound_profile(&file);
    assert_eq!(profile.total(Metric::LiveBytes), 11_000_000_000);
    assert_eq!(profile.total(Metric::LiveObjects), 6);
    assert_eq!(profile.total(Metric::AllocBytes), 9_000_000_000);
}

#[test]
fn trees_grow_both_ways() {
    let run = run();
    let branches = |direction, method: &str| {
        let from = |name: &str| name == method;
        let tree = Tree::new(&run, Metric::Cpu, By::Method, direction, Some(&from));
        let named = tree.nodes.iter().skip(1);
        let named = named.map(|node| (tree.name(node).to_owned(), node.own, node.total));
        named.collect::<Vec<_>>()
    };
    let node = |name: &str, own, total| (name.to_owned(), own, total);
    assert_eq!(
        branches(Direction::Callees, "p.A.run"),
        [
            node("p.A.run", 0, 8),
            node("p.q.C.end", 5, 5),
            node("p.B.go", 0, 3),
            node("p.A.run", 3, 3),
        ]
    );
    assert_eq!(
        branches(Direction::Callers, "p.q.C.end"),
        [node("p.q.C.end", 0, 5), node("p.A.run", 5, 5)]
    );
}

#[test]
fn differences_show_what_appears_and_vanishes() {
    let (base, new) = (sound_report(RUN.as_bytes(), Wanted::Number(1)), run());
    let changes = changes(&base, &new, Metric::Cpu, By::Method, Scale::ONE);
    let of = |name: &str| {
        changes
            .iter()
            .find(|change| change.name == name)
            .expect(name)
    };
    assert_eq!(of("p.A.run").difference(|costs| costs.own), -7);
    assert_eq!(of("p.q.C.end").base, None);
    let scale = Scale {
        numerator: 10,
        denominator: 4,
    };
    assert_eq!(scale.of(3), 8);
    let vanished = changes_back(&new, &base);
    assert!(vanished.contains(&"p.q.C.end".to_owned()));
}

fn changes_back(base: &Profile, new: &Profile) -> Vec<String> {
    let changes = changes(base, new, Metric::Cpu, By::Method, Scale::ONE);
    let vanished = changes.into_iter().filter(|change| change.new.is_none());
    vanished.map(|change| change.name).collect()
}

fn merged(profiles: &[&Profile], host: Option<&str>) -> Profile {
    let mut merger = Merger::default();
    let added = Added {
        host: host.map(str::to_owned),
        file: None,
    };
    for profile in profiles {
        merger.add(profile, &added).expect("one interval");
    }
    merger.finish()
}

fn written(profile: &Profile) -> (Form, Vec<u8>) {
    let mut file = Vec::new();
    let form = write(profile, &mut file).expect("memory takes all");
    (form, file)
}

#[test]
fn sums_do_not_depend_on_the_order() {
    let (one, two) = (sound_report(RUN.as_bytes(), Wanted::Number(1)), run());
    let sum = merged(&[&one, &two, &two], None);
    for (metric, total) in TOTALS {
        let first = one.total(metric);
        assert_eq!(sum.total(metric), first + 2 * total, "{metric}");
    }
    let texts = |profile: &Profile| {
        let mut lines = Vec::new();
        export::collapsed(profile, Metric::Cpu, &mut lines).expect("memory takes all");
        lines
    };
    let back = merged(&[&two, &one, &two], None);
    assert_eq!(texts(&sum), texts(&back));
    assert_eq!(written(&sum).1.len(), written(&back).1.len());
}

/// Returns the run without the parts that only text can hold.
fn binary_run() -> Profile {
    let end = RUN.find("CPU TIME").expect("it is there");
    sound_profile(&RUN.as_bytes()[..end])
}

#[test]
fn what_is_written_reads_back() {
    for (profile, form) in [(run(), Form::Text), (binary_run(), Form::Binary)] {
        let profile = merged(&[&profile], Some("web-1"));
        let (written_form, file) = written(&profile);
        assert_eq!(written_form, form);
        if form == Form::Binary {
            hprof_format::check(std::io::Cursor::new(&file)).expect("it is sound");
        }
        let again = sound_profile(&file);
        for metric in profile.metrics() {
            for by in By::ALL {
                let costs = |profile| costs(profile, metric, by);
                // The text form cannot express native methods.
                if form == Form::Binary || !matches!(by, By::Line | By::Trace) {
                    assert_eq!(costs(&again), costs(&profile), "{metric} by {by}");
                }
            }
        }
        let hosts = again.label_sets().filter_map(|labels| labels.host);
        let hosts: Vec<&str> = hosts.map(|host| again.names.text(host)).collect();
        assert!(!hosts.is_empty() && hosts.iter().all(|&host| host == "web-1"));
    }
}

#[test]
fn sums_above_32_bits_stay_exact() {
    let text = RUN.replace(
        "        64    4        96     6",
        " 4294967295 4 99999999999 6",
    );
    let profile = sound_profile(text.as_bytes());
    let expected = profile.total(Metric::AllocBytes) * 3;
    let end = merged(&[&profile, &profile, &profile], None);
    assert_eq!(end.total(Metric::AllocBytes), expected);
    let end_of_sites = text.find("CPU TIME").expect("it is there");
    let profile = sound_profile(&text.as_bytes()[..end_of_sites]);
    let sum = merged(&[&profile, &profile], None);
    let (form, file) = written(&sum);
    assert_eq!(form, Form::Binary);
    let again = sound_profile(&file);
    for metric in sum.metrics() {
        assert_eq!(again.total(metric), sum.total(metric), "{metric}");
    }
}

/// Returns a run whose lambda has this name, called by the one before in a hidden class; half of the allocations are
/// lambdas.
fn run_with_lambda(lambda: &str, hidden: &str) -> Profile {
    let text = RUN
        .replace("p.B.go(", &format!("p.Main{lambda}.go("))
        .replace(
            "p.q.C.end(",
            &format!("java.lang.invoke.LambdaForm$MH{hidden}.end("),
        )
        .replace(" 300002 int[]", &format!(" 300002 p.Main{lambda}[]"));
    sound_profile(text.as_bytes())
}

#[test]
fn lambdas_of_two_runs_are_the_same() {
    let lambdas = [
        "$$Lambda$14.0x00007f12a4000a08",
        "$$Lambda$27.0x00007fe3c0c01200",
    ];
    let [base, new] = lambdas.map(|lambda| {
        let hidden = lambda.rsplit_once('.').expect("an address").1;
        run_with_lambda(lambda, &format!(".{hidden}"))
    });
    let (base, new) = (base.comparable(), new.comparable());
    for metric in base.metrics() {
        assert_eq!(base.total(metric), new.total(metric));
        for by in By::ALL {
            let changes = changes(&base, &new, metric, by, Scale::ONE);
            let changed = changes
                .iter()
                .filter(|change| change.difference(|costs| costs.total) != 0);
            assert_eq!(
                changed.collect::<Vec<_>>(),
                [] as [&Change; 0],
                "{metric} by {by}"
            );
        }
    }
    let lambda = "p.Main$$Lambda.go";
    assert_eq!(cost(&base, Metric::Cpu, By::Method, lambda), (0, 3));
}

#[test]
fn lambdas_of_two_runs_add_up() {
    let [one, two] = ["$$Lambda/0x00007f12a4000a08", "$$Lambda/0x00007fe3c0c01200"]
        .map(|lambda| run_with_lambda(lambda, &lambda[8..]));
    let sum = merged(&[&one, &two], None);
    let of = |metric, by, name| cost(&sum, metric, by, name);
    assert_eq!(of(Metric::Cpu, By::Method, "p.Main$$Lambda.go"), (0, 6));
    assert_eq!(
        of(Metric::LiveObjects, By::Type, "p.Main$$Lambda[]"),
        (8, 8)
    );
    assert_eq!(sum.total(Metric::Cpu), 20);
    let stacks = costs(&sum, Metric::Cpu, By::Trace);
    assert_eq!(stacks.len(), 3, "{stacks:?}");
}

fn json_of(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Value {
    let mut text = Vec::new();
    write(&mut text).expect("memory takes all");
    serde_json::from_slice(&text).expect("it is JSON")
}

fn sum(values: &Value) -> u64 {
    let values = values.as_array().expect("an array").iter();
    values.map(|value| value.as_u64().expect("a number")).sum()
}

#[test]
fn collapsed_stacks_have_all_that_there_is() {
    for (metric, total) in TOTALS {
        let mut text = Vec::new();
        export::collapsed(&run(), metric, &mut text).expect("memory takes all");
        let text = String::from_utf8(text).expect("it is text");
        let values = text
            .lines()
            .map(|line| line.rsplit_once(' ').expect("a value").1);
        let sum: u64 = values
            .map(|value| value.parse::<u64>().expect("a number"))
            .sum();
        assert_eq!(sum, total, "{metric}");
        if metric == Metric::Cpu {
            assert_eq!(
                text,
                "<not listed> 2\np.A.run;p.B.go;p.A.run 3\np.A.run;p.q.C.end 5\n"
            );
        }
    }
}

#[test]
fn speedscope_has_all_that_there_is() {
    let document = json_of(|out| export::speedscope(&run(), "run", out));
    let profiles = document["profiles"].as_array().expect("profiles");
    assert_eq!(profiles.len(), TOTALS.len());
    for (metric, total) in TOTALS {
        let find = |profile: &&Value| profile["name"] == metric.name();
        let profile = profiles.iter().find(find).expect("every value");
        assert_eq!(sum(&profile["weights"]), total, "{metric}");
        assert_eq!(profile["endValue"], total);
        let samples = profile["samples"].as_array().expect("samples").len();
        assert_eq!(
            samples,
            profile["weights"].as_array().expect("weights").len()
        );
    }
}

#[test]
fn firefox_has_all_that_there_is() {
    let document = json_of(|out| export::firefox(&run(), "run", out));
    let threads = document["threads"].as_array().expect("threads");
    for (metric, total) in TOTALS {
        let of = threads.iter().filter(|thread| {
            let process = thread["processName"].as_str().expect("a name");
            process.split(' ').next() == Some(metric.name())
        });
        let sum: u64 = of.map(|thread| sum(&thread["samples"]["weight"])).sum();
        assert_eq!(sum, total, "{metric}");
    }
}

#[test]
fn json_has_all_that_there_is() {
    let document = json_of(|out| export::json(&run(), out));
    assert_eq!(document["format"], "hprof-profile");
    let tables = document["tables"].as_array().expect("tables");
    for (metric, total) in TOTALS {
        let place = |table: &Value| {
            let values = table["values"].as_array().expect("values");
            values
                .iter()
                .position(|value| value["name"] == metric.name())
        };
        let found = tables.iter().find_map(|table| Some((table, place(table)?)));
        let (table, place) = found.expect("every value");
        let samples = table["samples"].as_array().expect("samples").iter();
        let sum: u64 = samples
            .map(|s| s[2][place].as_u64().expect("a number"))
            .sum();
        assert_eq!(sum, total, "{metric}");
    }
}

/// The parts of pprof's `profile.proto` that the tests examine.
#[derive(Message)]
struct Pprof {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<PprofPair>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<PprofSample>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
}

#[derive(Message)]
struct PprofPair {
    #[prost(int64, tag = "1")]
    name: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

#[derive(Message)]
struct PprofSample {
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<PprofPair>,
}

#[test]
fn pprof_has_all_that_there_is() {
    let mut file = Vec::new();
    export::pprof(&run(), &mut file).expect("memory takes all");
    let mut message = Vec::new();
    GzDecoder::new(file.as_slice())
        .read_to_end(&mut message)
        .expect("it is compressed");
    let pprof = Pprof::decode(message.as_slice()).expect("it is a message");
    assert_eq!(pprof.string_table[0], "");
    let text = |index: i64| pprof.string_table[index as usize].as_str();
    for (metric, total) in TOTALS {
        let mut types = pprof.sample_type.iter();
        let place = types.position(|kind| {
            text(kind.name) == metric.name() && text(kind.text) == metric.unit().name()
        });
        let place = place.expect("every value");
        let sum: i64 = pprof.sample.iter().map(|sample| sample.value[place]).sum();
        assert_eq!(sum, total as i64, "{metric}");
    }
    let labels = pprof.sample.iter().flat_map(|sample| &sample.label);
    let labels: Vec<_> = labels
        .map(|label| (text(label.name), text(label.text)))
        .collect();
    for label in [
        ("thread", "two; 2"),
        ("class", "int[]"),
        ("class", "p.Lock"),
    ] {
        assert!(labels.contains(&label), "{label:?} in {labels:?}");
    }
}
