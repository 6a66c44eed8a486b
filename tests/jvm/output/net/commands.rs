//! Every command, with the real agent.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command as Process, Stdio};

use hprof_format::{
    AllocSite, AllocSitesRecord, COMMAND_SITES_BY_ALLOCATION, COMMAND_SITES_FORCE_GC, Command,
    Control, CpuSample, CpuSamplesRecord, HeapSummaryRecord, ObjectId, Record, StartThreadRecord,
    ThreadSerial, Threads, TraceRecord,
};
use tempfile::TempDir;

use super::{Names, TestReceiver, Waiting, records, said};
use crate::harness::{Jvm, Program, Running, cli};

const SITES: Command = Command::AllocSites {
    flags: COMMAND_SITES_FORCE_GC,
    cutoff: 0.0,
};

fn start(jvm: &Jvm, options: &str) -> (Running, TestReceiver) {
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, &format!("format=b,{options}"), "Serve")
        .start();
    let receiver = TestReceiver::accept(&waiting);
    run.wait_for_output("ready");
    (run, receiver)
}

fn sites(record: Record<'static>) -> Option<Vec<AllocSite>> {
    match record {
        Record::AllocSites(AllocSitesRecord { sites, .. }) => Some(sites.into_owned()),
        _ => None,
    }
}

fn samples(record: Record<'static>) -> Option<(u32, Vec<CpuSample>)> {
    match record {
        Record::CpuSamples(CpuSamplesRecord { total, rows }) => Some((total, rows.into_owned())),
        _ => None,
    }
}

fn live_bytes(record: Record<'static>) -> Option<u64> {
    match record {
        Record::HeapSummary(HeapSummaryRecord { live_bytes, .. }) => Some(live_bytes),
        _ => None,
    }
}

/// The trace of objects whose allocation was not seen.
const UNSEEN: u32 = 300_000;

fn ask_sites(run: &Running, receiver: &TestReceiver) -> Vec<AllocSite> {
    receiver.ask(run, &SITES.encode(7), sites)
}

fn ask_samples(run: &Running, receiver: &TestReceiver) -> (u32, Vec<CpuSample>) {
    let command = Command::CpuSamples { cutoff: 0.0 };
    receiver.ask(run, &command.encode(7), samples)
}

fn made(receiver: &TestReceiver, sites: &[AllocSite], class: &str) -> (u64, u64) {
    let records = receiver.records();
    let rows = Names(&records).sites(sites, class);
    rows.iter().fold((0, 0), |(allocated, live), site| {
        (
            allocated + site.allocated_instances,
            live + site.live_instances,
        )
    })
}

/// Returns the serial number and the object of the thread with this name.
fn thread(receiver: &TestReceiver, name: &str) -> (ThreadSerial, ObjectId) {
    let records = receiver.records();
    let thread = records.iter().find_map(|record| match record {
        Record::StartThread(StartThreadRecord {
            serial,
            object,
            name: other,
            ..
        }) => (Names(&records).string(*other) == name).then_some((*serial, *object)),
        _ => None,
    });
    thread.expect("it has been started")
}

/// Ends the VM by command; the profile must be complete.
fn exit(run: Running, receiver: TestReceiver) -> Vec<Record<'static>> {
    receiver.send(Command::Exit);
    let bytes = receiver.end();
    let run = run.wait();
    assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("hook"), "the program's hooks have run");
    hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
    records(&bytes)
}

on_every_jvm!(sites_a_collection_and_the_end_are_to_be_had_on_every_jvm, and 17);

fn sites_a_collection_and_the_end_are_to_be_had_on_every_jvm(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites");
    let first = ask_sites(&run, &receiver);
    assert_eq!(
        made(&receiver, &first, "Serve$Kept"),
        (100, 100),
        "{}",
        jvm.feature
    );
    let count = |records: Vec<Record<'static>>| records.into_iter().filter_map(sites).count();
    assert_eq!(
        count(exit(run, receiver)),
        2,
        "{}: one more at the end",
        jvm.feature
    );

    let (run, receiver) = start(jvm, "cpu=samples");
    receiver.send(Command::ForceGc);
    run.wait_for_output("collected");
    exit(run, receiver);
}

on_every_jvm!(sites_go_by_what_is_asked_for on 17 and 27);

fn sites_go_by_what_is_asked_for(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites");
    let command = Command::AllocSites {
        flags: COMMAND_SITES_BY_ALLOCATION,
        cutoff: 0.5,
    };
    let answer = |record| match record {
        Record::AllocSites(AllocSitesRecord {
            flags,
            cutoff,
            sites,
            ..
        }) => Some((flags, cutoff, sites.len())),
        _ => None,
    };
    let (flags, cutoff, rows) = receiver.ask(&run, &command.encode(1), answer);
    // The array of 20 MB is more than half of all.
    assert_eq!(
        (flags, cutoff, rows),
        (COMMAND_SITES_BY_ALLOCATION, 0.5, 1),
        "no GC was asked for"
    );
    exit(run, receiver);
}

on_every_jvm!(a_heap_summary_needs_no_tracking on 17 and 27);

fn a_heap_summary_needs_no_tracking(jvm: &Jvm) {
    for options in ["heap=sites", "cpu=samples"] {
        let (run, receiver) = start(jvm, options);
        let live = receiver.ask(&run, &Command::HeapSummary.encode(1), live_bytes);
        assert!(
            (20_000_000..30_000_000).contains(&live),
            "{options}: {live}"
        );
        exit(run, receiver);
    }
}

on_every_jvm!(traces_are_to_be_had_without_a_report on 17 and 27);

fn traces_are_to_be_had_without_a_report(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites");
    let keeps = || {
        let records = receiver.records();
        let traces = records.iter().filter_map(|record| match record {
            Record::Trace(TraceRecord { serial, .. }) => Some(*serial),
            _ => None,
        });
        traces
            .into_iter()
            .any(|trace| Names(&records).methods(trace).contains(&"keep".to_owned()))
    };
    assert!(!keeps());
    receiver.send(Command::DumpTraces);
    run.wait_until(keeps);
    exit(run, receiver);
}

on_every_jvm!(samples_count_on_until_they_are_cleared on 17 and 27);

fn samples_count_on_until_they_are_cleared(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "cpu=samples,interval=1,thread=y");
    let last = Cell::new(0);
    run.wait_until(|| {
        let (total, _) = ask_samples(&run, &receiver);
        assert!(total >= last.get(), "a report takes nothing away");
        last.set(total);
        total > 50
    });

    receiver.send(Command::Control(Control::StopSamples(Threads::All)));
    // A sample may still be on its way.
    run.wait_until(|| {
        receiver.send(Command::Control(Control::ClearSamples));
        ask_samples(&run, &receiver).0 == 0
    });

    let (serial, object) = thread(&receiver, "busy");
    receiver.send(Command::Control(Control::StartSamples(Threads::One(
        object,
    ))));
    run.wait_until(|| ask_samples(&run, &receiver).0 > 20);
    let (_, rows) = ask_samples(&run, &receiver);
    let records = receiver.records();
    for row in rows {
        assert_eq!(Names(&records).thread_of(row.trace), serial);
    }
    exit(run, receiver);
}

on_every_jvm!(one_thread_can_be_left_out on 17 and 27);

fn one_thread_can_be_left_out(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "cpu=samples,interval=1,thread=y");
    run.wait_until(|| ask_samples(&run, &receiver).0 > 20);
    let (serial, object) = thread(&receiver, "busy");
    receiver.send(Command::Control(Control::StopSamples(Threads::One(object))));
    let count = || {
        let (_, rows) = ask_samples(&run, &receiver);
        let records = receiver.records();
        let rows = rows
            .iter()
            .filter(|row| Names(&records).thread_of(row.trace) == serial);
        rows.map(|row| row.count).sum::<u32>()
    };
    run.wait_until(|| {
        receiver.send(Command::Control(Control::ClearSamples));
        count() == 0
    });
    receiver.send(Command::Control(Control::StartSamples(Threads::All)));
    run.wait_until(|| count() > 20);
    exit(run, receiver);
}

on_every_jvm!(tracking_can_be_switched_off_and_on on 17 and 27);

fn tracking_can_be_switched_off_and_on(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites");
    let ticks = || {
        let mut rows = ask_sites(&run, &receiver);
        // Untracked objects are in the report too, if they are in the heap: those since the last collection.
        rows.retain(|row| row.trace.0 != UNSEEN);
        made(&receiver, &rows, "Serve$Tick").0
    };
    let first = ticks();
    run.wait_until(|| ticks() > first);

    receiver.send(Command::Control(Control::StopAllocations));
    // One may still be on its way.
    let stopped = ticks();
    for _ in 0..5 {
        assert!(ticks() <= stopped + 1);
    }
    receiver.send(Command::Control(Control::StartAllocations));
    run.wait_until(|| ticks() > stopped + 10);
    exit(run, receiver);
}

on_every_jvm!(cleared_sites_count_from_nothing on 17 and 27);

fn cleared_sites_count_from_nothing(jvm: &Jvm) {
    for clear in [
        &Command::Control(Control::ClearSites).encode(1)[..],
        &[8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 6],
    ] {
        let (run, receiver) = start(jvm, "heap=sites");
        let before = ask_sites(&run, &receiver);
        assert_eq!(made(&receiver, &before, "Serve$Kept"), (100, 100));
        let ticks = made(&receiver, &before, "Serve$Tick").0;
        receiver.send_raw(clear);
        let after = ask_sites(&run, &receiver);
        // They are alive, and no known site has allocated them.
        assert_eq!(made(&receiver, &after, "Serve$Kept"), (100, 100));
        let records = receiver.records();
        let kept = Names(&records).sites(&after, "Serve$Kept");
        assert_eq!((kept.len(), kept[0].trace.0), (1, UNSEEN));
        run.wait_until(|| {
            made(&receiver, &ask_sites(&run, &receiver), "Serve$Tick").0 > ticks + 10
        });
        exit(run, receiver);
    }
}

on_every_jvm!(the_depth_holds_for_new_traces on 17 and 27);

fn the_depth_holds_for_new_traces(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites,depth=8");
    let deepest = |methods: &[&str]| {
        let rows = ask_sites(&run, &receiver);
        let records = receiver.records();
        let names = Names(&records);
        let rows = names.sites(&rows, "Serve$Tick");
        rows.iter().any(|row| names.methods(row.trace) == methods)
    };
    receiver.send(Command::Control(Control::Depth(1)));
    run.wait_until(|| deepest(&["tick"]));
    // The same by the number in the specification.
    receiver.send_raw(&[8, 0, 0, 0, 1, 0, 0, 0, 4, 0, 6, 0, 2]);
    run.wait_until(|| deepest(&["tick", "tickTwice"]));
    receiver.send(Command::Control(Control::Depth(0)));
    run.wait_until(|| {
        let rows = ask_sites(&run, &receiver);
        let records = receiver.records();
        let rows = Names(&records).sites(&rows, "Serve$Tick");
        rows.iter()
            .any(|row| row.trace.0 == UNSEEN && row.allocated_instances > 10)
    });
    exit(run, receiver);
}

on_every_jvm!(what_the_run_does_not_measure_is_answered_with_nothing on 17 and 27);

fn what_the_run_does_not_measure_is_answered_with_nothing(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "heap=sites");
    assert_eq!(ask_samples(&run, &receiver), (0, vec![]));
    run.wait_for_stderr("this run takes no CPU samples; cpu=samples does");
    exit(run, receiver);

    let (run, receiver) = start(jvm, "cpu=samples");
    assert_eq!(ask_sites(&run, &receiver), []);
    run.wait_for_stderr("this run does not track allocations; heap=sites does");
    exit(run, receiver);
}

on_every_jvm!(an_exit_can_be_forbidden on 17 and 27);

fn an_exit_can_be_forbidden(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "cpu=samples,net_exit=n");
    receiver.send(Command::Exit);
    run.wait_for_stderr("from the receiver: exit: net_exit=n forbids it");
    // It still listens.
    receiver.send(Command::ForceGc);
    run.wait_for_output("collected");
    run.send("TERM");
    receiver.end();
    assert_eq!(run.wait().status.code(), Some(143));
}

on_every_jvm!(the_end_of_the_commands_is_not_the_end_of_the_profile on 17 and 27);

fn the_end_of_the_commands_is_not_the_end_of_the_profile(jvm: &Jvm) {
    let (run, receiver) = start(jvm, "cpu=samples");
    receiver.send_raw(&[0xff]);
    receiver.send(Command::Exit);
    run.send("TERM");
    let bytes = receiver.end();
    assert_eq!(run.wait().status.code(), Some(143));
    assert_eq!(records(&bytes).into_iter().filter_map(samples).count(), 1);
}

on_every_jvm!(text_goes_over_the_socket_as_well on 17 and 27);

fn text_goes_over_the_socket_as_well(jvm: &Jvm) {
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, "heap=sites,cpu=samples", "Serve")
        .start();
    let receiver = TestReceiver::accept(&waiting);
    run.wait_for_output("ready");
    receiver.send(SITES);
    let text = || String::from_utf8_lossy(&receiver.bytes.lock()).into_owned();
    run.wait_until(|| text().contains("SITES END"));
    receiver.send(Command::Exit);
    let bytes = receiver.end();
    assert_eq!(run.wait().status.code(), Some(0));
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(text.starts_with("JAVA PROFILE 1.0.1, created "));
    assert_eq!(text.matches("SITES END").count(), 2);
    assert!(
        text.contains("\nCPU SAMPLES END\n(") && text.contains("\n(end of the profile, after "),
        "{}",
        &text[text.len() - 200..]
    );
}

/// `hprof recv`, for one agent.
struct Recv {
    child: Child,
    folder: TempDir,
    address: String,
}

impl Recv {
    fn start(arguments: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut child = Process::new(cli())
            .args(["recv", "--listen", "127.0.0.1:0", "-o", "x.hprof"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("hprof");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .expect("an address")
            .to_owned();
        Self {
            child,
            folder,
            address,
        }
    }

    fn program(&self, jvm: &Jvm, options: &str) -> Running {
        let options = format!("{options},verbose=n,net={}", self.address);
        Program::java(jvm, &options, &[])
            .program("net", "Serve")
            .start()
    }

    fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Waits for its end; returns the profile.
    fn end(self) -> (bool, String, Vec<u8>) {
        let path = self.folder.path().join("x.hprof");
        let output = self.child.wait_with_output().expect("hprof ends");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{error}: {stderr}"));
        (output.status.success(), stderr, bytes)
    }
}

on_every_jvm!(recv_sends_what_it_is_told, and 28);

fn recv_sends_what_it_is_told(jvm: &Jvm) {
    let mut recv = Recv::start(&[
        "--send",
        "alloc-sites 4 0",
        "-s",
        "heap-summary",
        "-s",
        "control depth 1",
    ]);
    let run = recv.program(jvm, "heap=sites,cpu=samples,format=b");
    run.wait_for_output("ready");
    for line in [
        "cpu-samples",
        "dump-traces",
        "control stop-samples",
        "dump-heap",
        "force-gc",
        "",
        "no such command",
    ] {
        recv.type_line(line);
    }
    run.wait_for_output("collected");
    recv.type_line("exit");
    let run = run.wait();
    assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
    let (content, stderr, bytes) = recv.end();
    assert!(content, "{stderr}");
    assert!(
        stderr.contains("hprof: no command 'no'; 'hprof recv --help' lists them"),
        "{stderr}"
    );
    let summary = hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
    assert!(
        summary.to_string().contains(" 1 HEAP DUMP END"),
        "{summary}"
    );
    let records = records(&bytes);
    let count =
        |is_wanted: fn(&Record) -> bool| records.iter().filter(|record| is_wanted(record)).count();
    // One more of each at the end of the program.
    assert_eq!(count(|record| matches!(record, Record::AllocSites(_))), 2);
    assert_eq!(
        count(|record| matches!(record, Record::HeapSummary(_))),
        3,
        "none before the heap dump: it is sent while the heap is walked, before its totals are known"
    );
    assert_eq!(count(|record| matches!(record, Record::CpuSamples(_))), 2);
    assert!(said(&run).contains(&"hprof: the receiver ends the VM"));
}

on_every_jvm!(recv_gets_a_heap_dump_from_a_program_without_a_disk, and 25);

fn recv_gets_a_heap_dump_from_a_program_without_a_disk(jvm: &Jvm) {
    let mut recv = Recv::start(&[]);
    let options = format!("heap=dump,format=b,net={}", recv.address);
    let run = Program::java(jvm, &options, &[])
        .program("net", "Serve")
        .env("TMPDIR", "/proc/no/such/folder")
        .start();
    run.wait_for_output("ready");
    recv.type_line("exit");
    let run = run.wait();
    assert!(
        run.stderr
            .contains("Java heap (by JVMTI: it needs no temporary file; "),
        "{}",
        run.stderr
    );
    let (content, stderr, bytes) = recv.end();
    assert!(content, "{stderr}");
    let summary = hprof_format::check(std::io::Cursor::new(&bytes)).expect("a sound profile");
    assert!(
        summary.to_string().contains(" 1 HEAP DUMP END"),
        "{summary}"
    );
}

on_every_jvm!(recv_says_that_a_profile_was_cut_off on 17 and 27);

fn recv_says_that_a_profile_was_cut_off(jvm: &Jvm) {
    // A gzip stream has an end, so this is certain.
    let recv = Recv::start(&[]);
    let run = recv.program(jvm, "cpu=samples,format=b,compress=y");
    run.wait_for_output("ready");
    run.send("KILL");
    run.wait();
    let (content, stderr, bytes) = recv.end();
    assert!(!content);
    assert!(
        stderr.contains("x.hprof: the profile was cut off; what came is kept: "),
        "{stderr}"
    );
    assert!(!bytes.is_empty());
}
