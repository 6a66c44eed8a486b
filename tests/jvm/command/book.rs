//! The commands of the book. Each ```` ```console ```` block of a page is run, and must print what the page shows;
//! `HPROF_BLESS=1` writes into the pages what the commands print.
//!
//! A page has a folder and a shell of its own, in which its commands run one after the other. The folder has the files
//! that the page shows with a title (```` ```java title="Slow.java" ````); the programs of `java-tests` are on the class
//! path; `hprof` and the library lie in a folder of the path.
//!
//! In a block, `$ ` begins a command, `> ` continues it, and the rest is its output. Numbers, dates and bars may differ
//! from run to run; `...` stands for any rows, and hides no remark: what an answer says of itself is shown.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::harness::{Jvm, agent, classes, cli, javac, jvms, skip};

/// A page whose commands take longer hangs.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Stands before the output of each command.
const MARK: char = '\u{1}';
/// Lines of a profile's head whose values depend on the machine.
const OF_THE_MACHINE: [&str; 2] = ["JDK:", "Collector:"];
/// The units of sizes and times.
const UNITS: [&str; 9] = ["B", "KB", "MB", "GB", "TB", "ns", "µs", "ms", "s"];
/// Begins the comment before commands that are not run.
const NOT_RUN: &str = "<!-- not run: ";
/// In a page: any lines but remarks.
const ANY_LINES: &str = "...";
/// Parts of the lines that say what is missing in an answer, or how sure it is.
const REMARKS: [&str; 10] = [
    "left out",
    "estimated",
    "cannot ",
    "not whole",
    "damaged",
    "below the agent's cutoff",
    "below the cutoff",
    "<made before the profile>",
    "stacks cut at",
    "threads with one name",
];
/// A remark about less of a value than this, in percent, may be there by chance, as may one about what no sample could see,
/// one about sites that were collected too seldom, and one about rows of less than a ten-thousandth each.
const BY_CHANCE: f64 = 2.0;
const UNSEEN: [&str; 3] = [
    "<unsampled>",
    "cannot tell yet",
    "left out below the cutoff of 0.0001",
];
/// A standard error below this, in percent of all, may be there by chance: the busier the machine, the fewer allocations a
/// budget samples.
const ERROR_BY_CHANCE: f64 = 5.0;

/// The beginnings of lines about growth, which only a run of some seconds has: any run is one on a busy machine.
const OF_A_LONG_RUN: [&str; 3] = [
    "keeps what it makes: ",
    "  hprof growth ",
    "the process grew from ",
];
/// How often a page is run until it shows what is printed: rows of samples, and their order, vary by chance, the more on a busy
/// machine. A page that is wrong is so each time.
const ATTEMPTS: usize = 3;

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        $(#[test] fn $name() { check($path); })*

        const PAGES: &[&str] = &[$($path),*];
    };
}

pages! {
    start_here: "docs/index.md",
    five_minutes: "docs/five-minutes.md",
    slow: "docs/questions/slow.md",
    memory: "docs/questions/memory.md",
    waiting: "docs/questions/waiting.md",
    killed: "docs/questions/killed.md",
    many_jvms: "docs/questions/many-jvms.md",
    production: "docs/questions/production.md",
    ci: "docs/questions/ci.md",
    record: "docs/guide/record.md",
    live: "docs/guide/live.md",
    attach: "docs/guide/attach.md",
    periods: "docs/guide/periods.md",
    jfr: "docs/guide/jfr.md",
    reading: "docs/guide/reading.md",
    heap_analysis: "docs/guide/heap-analysis.md",
    network: "docs/guide/network.md",
    report: "docs/guide/report.md",
    options: "docs/reference/options.md",
    cpu_samples: "docs/reference/cpu-samples.md",
    call_times: "docs/reference/call-times.md",
    allocation_sites: "docs/reference/allocation-sites.md",
    heap_dumps: "docs/reference/heap-dumps.md",
    monitors: "docs/reference/monitors.md",
    files: "docs/reference/files.md",
    exit_codes: "docs/reference/exit-codes.md",
    readme: "README.md",
}

/// The names of all pages.
fn pages() -> Vec<String> {
    let mut folders = vec![root().join("docs")];
    let mut pages = vec!["README.md".to_owned(), "fleet/README.md".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a page").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.strip_prefix(root()).expect("below the root");
                pages.push(name.to_str().expect("UTF-8").to_owned());
            }
        }
    }
    pages
}

#[test]
fn every_page_with_commands_is_run() {
    for name in pages() {
        let has_commands = !Page::read(&name).commands.is_empty();
        let is_run = PAGES.contains(&name.as_str());
        assert!(!has_commands || is_run, "{name} is not run");
    }
}

#[test]
fn commands_that_are_not_run_have_a_reason() {
    for name in pages() {
        let page = Page::read(&name);
        for (number, line) in page.lines.iter().enumerate() {
            let kind = line.trim_start().strip_prefix("```").unwrap_or_default();
            if !["sh", "bash", "shell"].contains(&kind) {
                continue;
            }
            let mut before = page.lines[..number].iter().rev();
            let before = before.find(|line| !line.is_empty());
            let reason = before.and_then(|line| line.trim_start().strip_prefix(NOT_RUN));
            let reason = reason.and_then(|reason| reason.strip_suffix(" -->"));
            assert!(
                reason.is_some_and(|reason| !reason.is_empty()),
                "{name}:{}: `{NOT_RUN}REASON -->` must stand before commands that no test runs",
                number + 1
            );
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One command of a page.
#[derive(Debug)]
struct Shown {
    command: String,
    /// The lines of the page that are its output.
    output: std::ops::Range<usize>,
}

/// A page, by its lines.
struct Page {
    lines: Vec<String>,
    commands: Vec<Shown>,
    /// Names and contents.
    files: Vec<(String, String)>,
}

impl Page {
    fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).expect("the page");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut page = Self {
            lines,
            commands: Vec::new(),
            files: Vec::new(),
        };
        let mut number = 0;
        while number < page.lines.len() {
            let Some(kind) = page.lines[number].strip_prefix("```") else {
                number += 1;
                continue;
            };
            let kind = kind.to_owned();
            let begin = number + 1;
            let length = page.lines[begin..].iter().position(|line| line == "```");
            let end = begin + length.unwrap_or_else(|| panic!("{name}:{begin}: no end"));
            if kind == "console" {
                page.add_commands(begin, end);
            } else if let Some((_, title)) = kind.split_once("title=\"") {
                let title = title.trim_end_matches('"').to_owned();
                let text = page.lines[begin..end].join("\n") + "\n";
                page.files.push((title, text));
            }
            number = end + 1;
        }
        page
    }

    fn add_commands(&mut self, begin: usize, end: usize) {
        let mut number = begin;
        while number < end {
            let line = &self.lines[number];
            let command = line.strip_prefix("$ ");
            let mut command = command.expect("a command comes first").to_owned();
            number += 1;
            while number < end
                && let Some(more) = self.lines[number].strip_prefix("> ")
            {
                command.push('\n');
                command.push_str(more);
                number += 1;
            }
            let output = number;
            while number < end && !self.lines[number].starts_with("$ ") {
                number += 1;
            }
            self.commands.push(Shown {
                command,
                output: output..number,
            });
        }
    }

    /// Prints a mark before the output of each command, which finds the exit status of the one before in `$?`.
    fn script(&self) -> String {
        let mut script = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
        for shown in &self.commands {
            script.push_str("status=$?; printf '\\001'; (exit $status)\n");
            script.push_str(&shown.command);
            script.push('\n');
        }
        script
    }
}

/// The JVM whose output the pages show.
fn shown_jvm() -> Option<&'static Jvm> {
    jvms().iter().find(|jvm| jvm.feature == 17)
}

/// A command `javac` for that JVM.
fn make_javac(folder: &Path) {
    let script = format!(
        "#!/bin/sh\nexec '{}' --release 17 \"$@\"\n",
        javac().display()
    );
    let path = folder.join("javac");
    fs::write(&path, script).expect("javac");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("javac");
}

/// Runs the commands, with the `hprof` of a folder; gives what each prints.
fn run(page: &Page, jvm: &Jvm, hprof: &Path) -> Vec<String> {
    let temporary = TempDir::new().expect("a folder");
    let bin = temporary.path().join("bin");
    let folder = temporary.path().join("me");
    fs::create_dir(&bin).expect("a folder");
    fs::create_dir(&folder).expect("a folder");
    make_javac(&bin);
    for (name, text) in &page.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file of the page");
    }
    let script = temporary.path().join("script");
    fs::write(&script, page.script()).expect("the script");
    let output = temporary.path().join("output");
    let file = File::create(&output).expect("the output");

    let mut path = vec![bin, hprof.to_owned(), jvm.home.join("bin")];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").expect("a path"),
    ));
    let mut command = Command::new("bash");
    command
        .arg(&script)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("the output"))
        .stderr(file)
        .env("PATH", std::env::join_paths(path).expect("a path"))
        .env("CLASSPATH", class_path())
        .env("LC_ALL", "C.UTF-8");
    for variable in [
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_HPROF_OPTIONS",
    ] {
        command.env_remove(variable);
    }
    let mut shell = command.spawn().expect("bash");
    let end = Instant::now() + TIMEOUT;
    while shell.try_wait().expect("bash").is_none() {
        if Instant::now() > end {
            // It is known to have hung; how it ends says nothing more.
            let _ = shell.kill();
            let printed = fs::read(&output).expect("the output");
            panic!("the page hangs: {}", String::from_utf8_lossy(&printed));
        }
        thread::sleep(Duration::from_millis(20));
    }
    let printed = fs::read(output).expect("the output");
    let printed = String::from_utf8_lossy(&printed);
    let folder = folder.to_str().expect("UTF-8");
    let printed = printed.replace(folder, "/home/me");
    printed.split(MARK).skip(1).map(str::to_owned).collect()
}

/// The page's own folder, and the programs of the tests.
fn class_path() -> std::ffi::OsString {
    let features = [
        "attach", "dump", "heap", "live", "monitor", "periods", "times", "samples", "sites",
    ];
    let mut folders = vec![PathBuf::from(".")];
    folders.extend(features.map(classes));
    std::env::join_paths(folders).expect("a class path")
}

/// Compares what the commands of a page print with what it shows.
fn check(name: &str) {
    let folder = TempDir::new().expect("a folder");
    fs::copy(cli(), folder.path().join("hprof")).expect("hprof");
    fs::copy(agent(), folder.path().join("libhprof.so")).expect("the agent");
    check_with(name, folder.path());
}

/// The same with the `hprof` of a folder.
pub fn check_with(name: &str, hprof: &Path) {
    let Some(jvm) = shown_jvm() else {
        skip("the commands of the book: there is no JVM 17, whose output its pages show");
        return;
    };
    let bless = std::env::var_os("HPROF_BLESS").is_some();
    let mut faults = Vec::new();
    for _ in 0..ATTEMPTS {
        let mut page = Page::read(name);
        let printed = run(&page, jvm, hprof);
        faults = compare(&mut page, &printed, bless);
        if bless {
            fs::write(root().join(name), page.lines.join("\n") + "\n").expect("the page");
        }
        if faults.is_empty() {
            return;
        }
        eprintln!("{name}: {}", faults.join("\n"));
    }
    panic!(
        "{name}; HPROF_BLESS=1 writes what is printed\n{}",
        faults.join("\n")
    );
}

/// Returns the commands whose output is not what the page has; with `bless`, puts the output into the page instead.
fn compare(page: &mut Page, printed: &[String], bless: bool) -> Vec<String> {
    assert_eq!(printed.len(), page.commands.len(), "{printed:?}");
    let mut faults = Vec::new();
    let Page {
        lines, commands, ..
    } = page;
    // From the end on, so that lines before stay where they are.
    for (shown, printed) in commands.iter().zip(printed).rev() {
        let expected: Vec<&str> = lines[shown.output.clone()]
            .iter()
            .map(String::as_str)
            .collect();
        let is_shown = |line: &&str| {
            let mut beginnings = OF_A_LONG_RUN
                .iter()
                .filter(|begin| line.starts_with(**begin));
            beginnings.all(|begin| expected.iter().any(|shown| shown.starts_with(begin)))
        };
        let printed: Vec<&str> = printed
            .lines()
            .map(str::trim_end)
            .filter(is_shown)
            .collect();
        let found = matched(&expected, &printed, bless);
        if bless {
            let elided = expected.contains(&ANY_LINES);
            if let Some(found) = found.or_else(|| (!elided).then(|| printed.clone())) {
                let found: Vec<String> = found.into_iter().map(str::to_owned).collect();
                lines.splice(shown.output.clone(), found);
                continue;
            }
        } else if found.is_some() {
            continue;
        }
        let command = &shown.command;
        faults.push(format!(
            "$ {command}\n{}\n--- the page has\n{}\n",
            printed.join("\n"),
            expected.join("\n")
        ));
    }
    faults
}

/// The lines of the page with what was printed in them; `None` where something else was printed, or `...` hides a remark,
/// which `bless` shows.
fn matched<'a>(expected: &[&'a str], printed: &[&'a str], bless: bool) -> Option<Vec<&'a str>> {
    let Some((&first, rest)) = expected.split_first() else {
        return printed.is_empty().then(Vec::new);
    };
    if first == ANY_LINES {
        let remark = printed.iter().position(|line| is_remark(line));
        let most = remark.filter(|_| !bless).unwrap_or(printed.len());
        let (skipped, rest) = (0..=most).find_map(|skipped| {
            let found = matched(rest, &printed[skipped..], bless)?;
            Some((&printed[..skipped], found))
        })?;
        return Some([elided(skipped), rest].concat());
    }
    let (&line, others) = printed.split_first()?;
    if kind(line) != kind(first) {
        return None;
    }
    let mut found = matched(rest, others, bless)?;
    found.insert(0, line);
    Some(found)
}

/// Returns what a page shows of lines that it does not show: their remarks.
fn elided<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut shown = Vec::new();
    for &line in lines {
        let shown_as = if is_remark(line) { line } else { ANY_LINES };
        if shown_as != ANY_LINES || shown.last() != Some(&ANY_LINES) {
            shown.push(shown_as);
        }
    }
    if lines.is_empty() {
        shown.push(ANY_LINES);
    }
    shown
}

/// Returns `true` for a line that says what is missing in an answer, or how sure it is: a page may not hide it.
fn is_remark(line: &str) -> bool {
    let share = line.split(" % of ").next().unwrap_or_default();
    let share = share
        .rsplit(' ')
        .next()
        .and_then(|share| share.parse::<f64>().ok());
    let is_row = line.starts_with([' ', '\t'])
        || line.starts_with(|c: char| c.is_ascii_digit()) && line.contains("  ");
    let by_chance = if line.contains("standard error") {
        ERROR_BY_CHANCE
    } else {
        BY_CHANCE
    };
    let is_by_chance = share.is_some_and(|share| share < by_chance)
        || UNSEEN.iter().any(|part| line.contains(part));
    !is_row && !is_by_chance && REMARKS.iter().any(|part| line.contains(part))
}

/// A line without what differs from run to run: numbers, addresses, dates, bars, the width of columns, and what a profile
/// says of the machine.
fn kind(line: &str) -> String {
    if let Some(name) = OF_THE_MACHINE.iter().find(|name| line.starts_with(**name)) {
        return (*name).to_owned();
    }
    let words = line.split_whitespace().map(|word| {
        let word: String = word
            .chars()
            .filter(|c| !('\u{2581}'..='\u{258f}').contains(c))
            .collect();
        if is_part_of_date(&word) {
            return "#".to_owned();
        }
        without_numbers(&word)
    });
    let mut kinds: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let unit = word.trim_end_matches([',', ';', ':', ')']);
        match kinds.last_mut() {
            // One run may take 990 ms and the next 1.01 s.
            Some(before) if before.ends_with('#') && UNITS.contains(&unit) => {
                before.push_str(&word[unit.len()..]);
            }
            _ => kinds.push(word),
        }
    }
    kinds.join(" ")
}

fn is_part_of_date(word: &str) -> bool {
    const NAMES: &str =
        "Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    NAMES.split(' ').any(|name| name == word)
}

/// A word with `#` in place of each number, its sign included.
fn without_numbers(word: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let length = number_length(rest);
        if length > 0 && !text.ends_with(|c: char| c.is_alphabetic()) {
            text.push('#');
            rest = &rest[length..];
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    text
}

/// The bytes of the number at the beginning of a text, 0 where there is none.
fn number_length(text: &str) -> usize {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = text.len() - digits.len();
    if let Some(hexadecimal) = digits.strip_prefix("0x") {
        let length = hexadecimal
            .chars()
            .take_while(char::is_ascii_hexdigit)
            .count();
        return sign + "0x".len() + length;
    }
    let hexadecimal = digits.chars().take_while(char::is_ascii_hexdigit).count();
    if hexadecimal >= 8 && digits[..hexadecimal].contains(|c: char| c.is_ascii_digit()) {
        return sign + hexadecimal;
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    let length = digits.find(|c: char| !c.is_ascii_digit() && !".,:".contains(c));
    let length = length.unwrap_or(digits.len());
    // In `$14.0x7f00` a number follows a number.
    let length = digits.find(".0x").map_or(length, |next| next.min(length));
    sign + digits[..length].trim_end_matches(['.', ',', ':']).len()
}

#[test]
fn lines_are_compared_by_kind() {
    let same = [
        ("a 990 ms, b (1.5 KB)", "a 1.01 s, b (980 B)"),
        ("  1903  31.98  \u{258b}  Main.run", "828 9.10 Main.run"),
        (
            "0 (+1.02%) Sat Nov 21 22:18:59 2026",
            "0 (-0.30%) Mon Jan 1 1:02:03 2027",
        ),
        ("Leak @ 0x687414be0", "Leak @ 0x7"),
        ("Main$$Lambda$14.0x00007f8a.run", "Main$$Lambda$3.0x7c.run"),
        (
            "JDK:        17.0.15 (OpenJDK, Debian)",
            "JDK:        17.0.2 (Temurin)",
        ),
    ];
    for (one, other) in same {
        assert_eq!(kind(one), kind(other));
    }
    for (one, other) in [
        ("12 Main.run", "12 Main.go"),
        ("a b", "a"),
        ("utf8", "utf16"),
    ] {
        assert_ne!(kind(one), kind(other));
    }
    let printed = ["a 1", "b", "c", "d 2"];
    let expected = ["a 7", ANY_LINES, "d 9"];
    let found = matched(&expected, &printed, false);
    assert_eq!(found, Some(vec!["a 1", ANY_LINES, "d 2"]));
    assert_eq!(matched(&["a 7", "d 9"], &printed, false), None);
    for remark in [
        "alloc-bytes is estimated: the standard error is 13.70 % of all",
        "2.10 s of threads that waited for work, or ran no Java, are left out; --idle shows them",
        "9.60 % of cpu is in stacks cut at 4 frames: callers further out are missing",
        "base: 15.05 % of alloc-bytes is in stacks cut at 4 frames",
        "threads with one name are one row: twin (3 threads)",
    ] {
        let with_remark = ["a 1", "b", remark, "d 2"];
        assert_eq!(matched(&expected, &with_remark, false), None, "{remark}");
        let shown = ["a 7", ANY_LINES, remark, "d 9"];
        assert!(matched(&shown, &with_remark, false).is_some(), "{remark}");
        let blessed = matched(&expected, &with_remark, true);
        assert_eq!(blessed, Some(vec!["a 1", ANY_LINES, remark, "d 2"]));
    }
    // A row is no remark, whatever its method is called.
    let with_row = ["a 1", "  31.98  Queue.left out", "d 2"];
    assert!(matched(&expected, &with_row, false).is_some());
}
