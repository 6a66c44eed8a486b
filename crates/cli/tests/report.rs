//! Pages of `hprof report` and `hprof flame` in a real browser: `browser/report.mjs` has the actions.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hprof_testing::{empty_folder, skip, stderr};

fn profile(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("profiles").join(name)
}

fn hprof(command: &str, files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg(command)
        .args(files)
        .output()
        .expect("the tool starts")
}

/// Creates a page of some profiles.
fn report(files: &[&Path], page: &Path) {
    let output = hprof("report", &[files, &[Path::new("-o"), page]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Performs the case's actions in a browser, if there is one.
fn browse(case: &str, arguments: &[&Path]) {
    if env::var_os("HPROF_BROWSER").is_none() || env::var_os("HPROF_PLAYWRIGHT").is_none() {
        skip("pages in a browser: $HPROF_BROWSER or $HPROF_PLAYWRIGHT is not set");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/report.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(case)
        .args(arguments)
        .output()
        .expect("node starts");
    assert!(output.status.success(), "{}", stderr(&output));
}

/// A binary profile, built record by record.
struct Binary(Vec<u8>);

impl Binary {
    fn new() -> Binary {
        let mut bytes = b"JAVA PROFILE 1.0.2\0".to_vec();
        bytes.extend(8_u32.to_be_bytes());
        bytes.extend(1_795_171_151_000_u64.to_be_bytes());
        Binary(bytes)
    }

    fn record(&mut self, tag: u8, parts: &[&[u8]]) {
        let body = parts.concat();
        self.0.push(tag);
        self.0.extend([0; 4]);
        self.0.extend((body.len() as u32).to_be_bytes());
        self.0.extend(body);
    }

    fn string(&mut self, id: u64, text: &str) {
        self.record(0x01, &[&id.to_be_bytes(), text.as_bytes()]);
    }

    /// Adds a class, a method of it with a frame, and a thread, all with the same number, which is also that of the
    /// trace of `frames`.
    fn trace(&mut self, number: u32, names: [&str; 3], frames: &[u64]) {
        let id = u64::from(number);
        let word = |word: u32| word.to_be_bytes();
        let long = |long: u64| long.to_be_bytes();
        for (place, name) in (0..).zip(names) {
            self.string(1000 * (place + 1) + id, name);
        }
        let [class, method, thread] = [1, 2, 3].map(|place| long(1000 * place + id));
        let class_record = [&word(number)[..], &long(0x5000 + id), &word(0), &class];
        self.record(0x02, &class_record);
        let start = [
            &word(number)[..],
            &long(0),
            &word(0),
            &thread,
            &long(0),
            &long(0),
        ];
        self.record(0x0a, &start);
        let frame = [
            &long(id)[..],
            &method,
            &long(0),
            &long(0),
            &word(number),
            &word(1),
        ];
        self.record(0x04, &frame);
        let frames: Vec<u8> = frames.iter().flat_map(|&frame| long(frame)).collect();
        let count = (frames.len() / 8) as u32;
        let trace = [&word(number)[..], &word(number), &word(count), &frames];
        self.record(0x05, &trace);
    }

    /// Adds samples of each trace.
    fn samples(&mut self, samples: &[(u32, u32)]) {
        let total: u32 = samples.iter().map(|(_, count)| count).sum();
        let rows = samples.iter().flat_map(|(trace, count)| [*count, *trace]);
        let rows: Vec<u8> = rows.flat_map(u32::to_be_bytes).collect();
        let count = samples.len() as u32;
        let head = [total.to_be_bytes(), count.to_be_bytes()].concat();
        self.record(0x0d, &[&head, &rows]);
    }

    /// Adds one object of 16 bytes for each of the first `count` traces, of the class with the same number.
    fn sites(&mut self, count: u32) {
        let long = |long: u32| u64::from(long).to_be_bytes();
        let mut body = vec![0; 6];
        body.extend((16 * count).to_be_bytes());
        body.extend(count.to_be_bytes());
        body.extend(long(16 * count));
        body.extend(long(count));
        body.extend(count.to_be_bytes());
        for number in 1..=count {
            body.push(0);
            for word in [number, number, 16, 1, 16, 1] {
                body.extend(word.to_be_bytes());
            }
        }
        self.record(0x06, &[&body]);
    }

    fn write(self, path: &Path) {
        fs::write(path, self.0).expect("the directory can be written");
    }
}

#[test]
fn a_report_zooms_searches_and_shows_what_the_terminal_shows() {
    let directory = empty_folder!("report/whole");
    let (page, top) = (directory.join("report.html"), directory.join("top.json"));
    let file = profile("alloc.hprof.gz");
    report(&[&file], &page);
    let mode = fs::metadata(&page)
        .expect("it was written")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let arguments = ["--json", "--value", "alloc-objects", "-n", "100"].map(Path::new);
    let output = hprof("top", &[&[file.as_path()], &arguments[..]].concat());
    fs::write(&top, output.stdout).expect("the directory can be written");
    browse("report", &[&page, &top]);
}

#[test]
fn a_report_shows_the_part_of_the_time_that_is_chosen_in_its_map() {
    let directory = empty_folder!("report/times");
    let (file, page) = (directory.join("times.hprof"), directory.join("report.html"));
    let mut binary = Binary::new();
    binary.trace(1, ["p/A", "always", "main"], &[1]);
    binary.trace(2, ["p/B", "slow", "main"], &[2]);
    binary.samples(&[(1, 20), (2, 30)]);
    // Ten steps of a second: two samples of the first trace in each; of the second, fifteen in the fifth and sixth.
    let first: String = ["AC", &"BC".repeat(9)].concat();
    let times = format!(
        "SAMPLE TIMES (of = CPU SAMPLES, sample = 10000000 ns, begin = 1795171151000, time = 10000 ms, step = 1000 ms)\nBK{first}BCEPBP"
    );
    binary.string((1 << 62) - 1, &times);
    binary.write(&file);
    report(&[&file], &page);
    browse("times", &[&page]);
}

#[test]
fn a_report_has_stacks_that_were_cut_below_one_box_and_says_so() {
    let directory = empty_folder!("report/cut");
    let (file, page) = (directory.join("cut.txt"), directory.join("report.html"));
    let text = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    cpu=samples,depth=2
--------
TRACE 1:
\tA.go(A.java:7)
\tA.one(A.java:9)
TRACE 2:
\tA.go(A.java:7)
\tA.two(A.java:9)
CPU SAMPLES BEGIN (total = 3) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace method
   1 66.67% 66.67%       2     1 A.go
   2 33.33% 100.00%       1     2 A.go
CPU SAMPLES END
";
    fs::write(&file, text).expect("the directory can be written");
    report(&[&file], &page);
    browse("cut", &[&page]);
}

#[test]
fn a_report_shows_monitors_and_threads() {
    let page = empty_folder!("report/monitors").join("report.html");
    report(&[&profile("agent-monitor.txt")], &page);
    browse("monitors", &[&page]);
}

#[test]
fn a_report_shows_who_waited_for_locks_and_who_held_them() {
    let directory = empty_folder!("report/waiting");
    let (file, page) = (directory.join("waits.txt"), directory.join("report.html"));
    let text = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    monitor=y
--------
TRACE 1:
\tjdk.internal.misc.Unsafe.park(Unsafe.java:Unknown line)
\tp.A.put(A.java:7)
TRACE 2:
\tp.B.write(B.java:9)
\tp.B.flush(B.java:8)
TRACE 3:
\tp.B.scan(B.java:30)
LOCK WAITS BEGIN (total = 100, interval = 10 ms, holder known = 90) Fri Nov 20 10:39:12 2026
rank   self  accum   count trace holder lock
   1 70.00% 70.00%      70     1      2 p.Lock@1b2c
   2 20.00% 90.00%      20     1      3 p.Lock@1b2c
   3 10.00% 100.00%      10     1      0 p.Lock
LOCK WAITS END
";
    fs::write(&file, text).expect("the directory can be written");
    report(&[&file], &page);
    browse("waiting", &[&page]);
}

#[test]
fn a_report_shows_what_native_code_has_not_freed() {
    let directory = empty_folder!("report/native");
    let (file, page) = (directory.join("native.txt"), directory.join("report.html"));
    let text = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026

Options:    native=malloc
--------
TRACE 1:
\tp.A.go(A.java:7)
TRACE 2:
\tp.B.grow(B.java:9)
\tp.A.go(A.java:8)
NATIVE SITES BEGIN (live = 1500000 in 15 +- 400, old = 1200000 in 12 +- 350, allocated = 9000000 in 90 +- 900, age = 10 s, interval = 512 bytes) Fri Nov 20 10:39:12 2026
          percent                       live                old            allocated
rank   self  accum      bytes blocks      +-      bytes blocks      bytes  blocks trace method
   1 100.00% 100.00%  1500000     15     400    1200000     12    8000000      80     2 p.B.grow
   2 0.00% 100.00%          0      0       0          0      0    1000000      10     1 p.A.go
NATIVE SITES END
";
    fs::write(&file, text).expect("the directory can be written");
    report(&[&file], &page);
    browse("native", &[&page]);
}

/// `growth.hprof.gz` is of `java-tests/growth/Growth.java`, with `heap=sites,lifetimes=y,depth=4`.
#[test]
fn a_report_shows_what_was_alive_over_time_and_how_old_it_is() {
    let directory = empty_folder!("report/time");
    let file = profile("growth.hprof.gz");
    let page = directory.join("report.html");
    report(&[&file], &page);
    let answer = |name: &str, arguments: &[&str]| {
        let arguments: Vec<&Path> = arguments.iter().map(Path::new).collect();
        let output = hprof(
            arguments[0].to_str().expect("UTF-8"),
            &[&[&*file], &arguments[1..]].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        let path = directory.join(name);
        fs::write(&path, output.stdout).expect("the directory can be written");
        path
    };
    let exported = answer("export.json", &["export", "--to", "json"]);
    let growth = answer("growth.json", &["growth", "--json"]);
    browse("time", &[&page, &exported, &growth]);
}

#[test]
fn a_report_shows_where_the_memory_was_over_time() {
    let directory = empty_folder!("report/memory");
    let (file, page) = (
        directory.join("memory.hprof"),
        directory.join("report.html"),
    );
    let mut binary = Binary::new();
    binary.trace(1, ["Main", "main", "main"], &[1]);
    binary.samples(&[(1, 10)]);
    let looks = [
        "memory after 1.000 s: 80000000 bytes resident: Java heap 60000000, malloc 20000000; 85000000 of a limit of 400000000 bytes",
        "memory after 11.000 s: 320000000 bytes resident: Java heap 70000000, direct buffers 220000000, malloc 30000000; 330000000 \
         of a limit of 400000000 bytes",
    ];
    for (id, look) in (0..).zip(looks) {
        // The ids of notes count down; the first ones have a meaning of their own.
        binary.string((1 << 62) - 10 - id, look);
    }
    binary.write(&file);
    report(&[&file], &page);
    browse("memory", &[&page]);
}

/// Creates two runs: the first has `Gone.gone`, the second `Came.came`, both have `Same.same`.
fn two_runs(directory: &Path) -> [PathBuf; 2] {
    let runs = [("base", "Gone", "gone", 30), ("new", "Came", "came", 50)];
    runs.map(|(name, class, method, count)| {
        let mut binary = Binary::new();
        binary.trace(1, ["Same", "same", "main"], &[1]);
        binary.trace(2, [class, method, "main"], &[2, 1]);
        binary.samples(&[(1, 70), (2, count)]);
        let path = directory.join(name).with_extension("hprof");
        binary.write(&path);
        path
    })
}

#[test]
fn a_difference_shows_what_has_vanished() {
    let directory = empty_folder!("report/difference");
    let page = directory.join("report.html");
    let [base, new] = two_runs(&directory);
    report(&[&base, &new], &page);
    browse("difference", &[&page]);
}

#[test]
fn a_flame_graph_as_a_page_shows_what_has_vanished() {
    let directory = empty_folder!("report/flame");
    let page = directory.join("flame.html");
    let [base, new] = two_runs(&directory);
    let arguments = [&new, Path::new("--diff"), &base, Path::new("-o"), &page];
    let output = hprof("flame", &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    browse("flame", &[&page]);
}

#[test]
fn every_dump_of_a_file_is_in_the_page() {
    let directory = empty_folder!("report/dumps");
    let (file, page) = (directory.join("two.hprof"), directory.join("report.html"));
    let mut binary = Binary::new();
    binary.trace(1, ["Main", "main", "main"], &[1]);
    binary.samples(&[(1, 10)]);
    binary.samples(&[(1, 30)]);
    binary.write(&file);
    report(&[&file], &page);
    browse("dumps", &[&page]);
}

#[test]
fn names_stay_text() {
    let directory = empty_folder!("report/names");
    let (file, page, list) = (
        directory.join("<b>hostile.hprof"),
        directory.join("report.html"),
        directory.join("names.json"),
    );
    let long = "N".repeat(1 << 16);
    let names = [
        "</script><script>window.hostile = 1; alert(1)</script>",
        "<img src=x onerror=\"window.hostile = 1\">",
        "\"' onmouseover='window.hostile = 1' x=\"",
        "javascript:alert(1)//${alert(1)}`",
        "a\u{7}b\u{1b}[31mc\u{0}d\u{85}",
        "right\u{202e}tfel\u{2066}\u{200f}\u{2028}next\u{2029}",
        "__proto__",
        long.as_str(),
    ];
    // As they are to be shown, the longest up to its truncation.
    let shown = [
        names[0],
        names[1],
        names[2],
        names[3],
        r"a\u{7}b\u{1b}[31mc\u{0}d\u{85}",
        r"right\u{202e}tfel\u{2066}\u{200f}\u{2028}next\u{2029}",
        names[6],
        &long[..150],
    ];
    let mut binary = Binary::new();
    let mut samples = Vec::new();
    for (number, name) in (1..).zip(names) {
        binary.trace(number, ["C", name, name], &[number.into()]);
        samples.push((number, number));
    }
    binary.samples(&samples);
    binary.sites(names.len() as u32);
    binary.write(&file);
    report(&[&file], &page);
    let written = fs::read_to_string(&page).expect("it is text");
    assert!(!written.contains("window.hostile"));
    let shown = serde_json::to_string(&shown).expect("texts are JSON");
    fs::write(&list, shown).expect("the directory can be written");
    browse("hostile", &[&page, &list]);
}

#[test]
fn a_page_is_refused_where_it_would_destroy_or_show_nothing() {
    let directory = empty_folder!("report/refused");
    let [file, other] = two_runs(&directory);
    let before = fs::read(&file).expect("it was written");
    let output = hprof("report", &[&other, &file, Path::new("-o"), &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is the file to be read"));
    assert_eq!(fs::read(&file).expect("it is there"), before);
    let page = directory.join("page.html");
    let value = [Path::new("--value"), Path::new("contention")];
    let arguments = [&[file.as_path(), Path::new("-o"), &page], &value[..]].concat();
    let output = hprof("report", &arguments);
    assert!(stderr(&output).contains("no profile has the value `contention`"));
    assert!(!page.exists());
}
