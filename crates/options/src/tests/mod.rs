//! Tests of the options' combined meaning, and of every message about them.

mod files;
mod scope;

use std::time::Duration;

use super::*;
use crate::rows::{PAGES, ROWS};

pub(super) fn options(text: &str) -> Options {
    match parse(text, None) {
        Ok(Request::Profile(options)) => *options,
        other => panic!("{text}: {other:?}"),
    }
}

pub(super) fn error(text: &str) -> String {
    parse(text, None).expect_err(text).to_string()
}

#[test]
fn defaults_are_those_of_the_original() {
    let options = options("cpu=samples");
    assert_eq!((options.cpu, options.heap), (Some(Cpu::Samples), None));
    assert_eq!(options.format, Format::Text);
    assert_eq!(options.file, "java.hprof.txt");
    assert_eq!(options.depth, 4);
    assert_eq!(options.interval, Duration::from_millis(10));
    assert_eq!(options.cutoff, 0.0001);
    assert!(options.line_numbers && options.dump_on_exit && options.force && options.verbose);
    assert!(!options.threads && !options.check_file);
    assert!(options.collect && options.sample.is_none());
    assert_eq!(options.sort, Sort::Live);
    assert!(options.without_effect.is_empty());
}

#[test]
fn sites_and_samples_go_together() {
    let options = options("heap=sites,gc=n,sample=512k,cpu=samples");
    assert_eq!(
        (options.heap, options.cpu),
        (Some(Heap::Sites), Some(Cpu::Samples))
    );
    assert!(!options.collect);
    assert_eq!(options.sample, Some(524_288));
    assert_eq!(self::options("heap=sites,sample=3m").sample, Some(3 << 20));
    assert_eq!(self::options("heap=sites,sample=77").sample, Some(77));
}

#[test]
fn sites_are_sorted_as_asked() {
    assert_eq!(options("heap=sites,sort=alloc").sort, Sort::Allocated);
    assert_eq!(options("sort=alloc,sort=live").sort, Sort::Live);
    assert_eq!(error("sort=size"), "option sort=size: must be live|alloc");
}

#[test]
fn monitors_may_be_asked_for_alone() {
    assert!(!options("cpu=samples").monitors);
    let alone = options("monitor=y");
    assert!(alone.monitors && alone.cpu.is_none() && alone.heap.is_none());
    assert!(!options("monitor=y,monitor=n,cpu=samples,format=b").monitors);
}

#[test]
fn timing_takes_a_clock_and_classes() {
    let options = options("cpu=times,clock=wall,include=a.*:b.B|c.C$D,exclude=a.x.*");
    assert_eq!(
        (options.cpu, options.clock),
        (Some(Cpu::Times), Clock::Wall)
    );
    assert_eq!(options.include, ["a.*", "b.B", "c.C$D"]);
    assert_eq!(options.exclude, ["a.x.*"]);
    let old = self::options("cpu=old");
    assert_eq!((old.cpu, old.clock), (Some(Cpu::Old), Clock::Cpu));
    assert!(old.include.is_empty() && old.exclude.is_empty());
}

/// Every option that has no effect.
const IDLE: [&str; 8] = [
    "msa=y",
    "gc_okay=n",
    "debugflags=1",
    "X=1",
    "coredump=n",
    "errorexit=y",
    "pause=y",
    "debug=y",
];

pub(super) fn name(option: &str) -> &str {
    option.split_once('=').expect("a value").0
}

/// Joins options with a comma.
fn together(before: &str, option: &str) -> String {
    match before {
        "" => option.to_owned(),
        before => format!("{before},{option}"),
    }
}

#[test]
fn every_option_is_honoured() {
    for (row, page) in ROWS.iter().zip(PAGES) {
        let is_idle = IDLE.iter().any(|option| name(option) == row.name);
        assert_eq!(page.effects.is_empty(), is_idle, "{}", row.name);
        for (before, option, shows) in page.effects {
            assert_eq!(name(option), row.name);
            assert!(!shows(&options(before)), "{before} has no {option}");
            let given = options(&together(before, option));
            assert!(shows(&given), "{before} {option}");
            assert!(given.without_effect.is_empty(), "{before} {option}");
        }
    }
    for option in IDLE {
        assert_eq!(options(option).without_effect, [name(option)]);
    }
}

#[test]
fn all_threads_are_sampled_at_an_interval_with_deep_stacks() {
    let millis = |given: &str| options(given).wall.map(|interval| interval.as_millis());
    assert_eq!(
        ["wall=y", "wall=1ms", "wall=1h", "cpu=samples,wall=n"].map(millis),
        [Some(20), Some(1), Some(3_600_000), None]
    );
    let alone = options("wall=y");
    assert!(alone.heap.is_none() && alone.cpu.is_none() && !alone.monitors);
    assert_eq!(alone.depth, 64);
    assert_eq!(options("depth=4,wall=y").depth, 4);
    assert_eq!(options("cpu=samples,wall=n").depth, 4);
    for value in ["20", "0ms", "2h", "fast", ""] {
        assert_eq!(
            error(&format!("wall={value}")),
            format!("option wall={value}: must be y|n, or a time from 1ms to 1h like 20ms")
        );
    }
}

#[test]
fn the_engine_of_samples_is_for_samples() {
    assert_eq!(options("cpu=samples").engine, SamplingChoice::Auto);
    let engines = ["auto", "async", "jvmti"]
        .map(|engine| options(&format!("cpu=samples,engine={engine}")).engine);
    assert_eq!(
        engines,
        [
            SamplingChoice::Auto,
            SamplingChoice::Async,
            SamplingChoice::Jvmti
        ]
    );
    let own = options("cpu=samples,vmthreads=y");
    assert!(own.vm_threads && own.without_effect.is_empty());
    assert_eq!(
        error("cpu=samples,engine=jvmti,vmthreads=y"),
        "option vmthreads=y: does nothing without cpu=samples,engine=auto|async",
        "it asks the VM, which does not tell of them"
    );
}

#[test]
fn a_receiver_takes_the_place_of_the_file() {
    let options = options("cpu=samples,net=[::1]:9000,net_exit=n,format=b");
    let net = options.net.expect("it was given");
    assert_eq!((&*net.host, net.port), ("::1", 9000));
    assert!(!options.net_exit && options.without_effect.is_empty());
    let checked = self::options("cpu=samples,net=h:1,format=b,logflags=4");
    assert_eq!(checked.without_effect, ["logflags"], "there is no file");
    assert_eq!(
        error("cpu=samples,file=x,net=host:1"),
        "options net=host:1 and file=x exclude each other; one is allowed"
    );
    assert_eq!(
        error("cpu=samples,net=a:1,net=b:2"),
        "option net=b:2: given twice; once is allowed"
    );
}

#[test]
fn the_environment_comes_last_and_wins() {
    let Ok(Request::Profile(options)) = parse("cpu=samples,depth=2", Some("depth=9,thread=y"))
    else {
        panic!("both are valid")
    };
    assert_eq!((options.depth, options.threads), (9, true));
    assert_eq!(parse("", Some("help")), Ok(Request::Help));
}

#[test]
fn help_asks_for_help() {
    assert_eq!(parse("help", None), Ok(Request::Help));
    assert_eq!(parse("cpu=samples,help", None), Ok(Request::Help));
}

#[test]
fn a_refusal_names_the_option_the_value_and_what_is_allowed() {
    let cases = [
        ("cpu=fast", "option cpu=fast: must be samples|times|old|y"),
        ("cpu", "option cpu: needs a value, cpu=samples|times|old|y"),
        ("cpu=samples,format=c", "option format=c: must be a|b"),
        (
            "cpu=samples,depth=-1",
            "option depth=-1: must be a whole number from 0 to 65535",
        ),
        (
            "cpu=samples,depth=70000",
            "option depth=70000: must be a whole number from 0 to 65535",
        ),
        (
            "cpu=samples,interval=0",
            "option interval=0: must be a whole number of milliseconds from 1 to 2147483647",
        ),
        (
            "cpu=samples,cutoff=-0.1",
            "option cutoff=-0.1: must be a number from 0 to 1",
        ),
        (
            "cpu=samples,cutoff=1.01",
            "option cutoff=1.01: must be a number from 0 to 1",
        ),
        (
            "cpu=samples,cutoff=inf",
            "option cutoff=inf: must be a number from 0 to 1",
        ),
        (
            "cpu=samples,cutoff=nan",
            "option cutoff=nan: must be a number from 0 to 1",
        ),
        (
            "cpu=samples,cutoff=x",
            "option cutoff=x: must be a number from 0 to 1",
        ),
        ("cpu=samples,lineno=yes", "option lineno=yes: must be y|n"),
        ("cpu=samples,thread=Y", "option thread=Y: must be y|n"),
        ("cpu=samples,doe=", "option doe=: must be y|n"),
        ("cpu=samples,force=1", "option force=1: must be y|n"),
        (
            "cpu=samples,engine=perf",
            "option engine=perf: must be auto|async|jvmti",
        ),
        (
            "cpu=samples,verbose=true",
            "option verbose=true: must be y|n",
        ),
        ("cpu=samples,msa=x", "option msa=x: must be y|n"),
        ("cpu=samples,gc_okay=x", "option gc_okay=x: must be y|n"),
        (
            "cpu=samples,file=",
            "option file=: must be the name of a file",
        ),
        (
            "cpu=samples,file=a,file=b",
            "option file=b: given twice; once is allowed",
        ),
        (
            "cpu=samples,logflags=z",
            "option logflags=z: must be a whole number from 0 to 4294967295",
        ),
        (
            "cpu=samples,speed=9",
            "unknown option speed=9: 'help' lists the options",
        ),
        (
            "cpu=samples,dept=8",
            "unknown option dept=8: did you mean depth? 'help' lists the options",
        ),
        (
            "cpu=samples,clock=wall",
            "option clock=wall: does nothing without cpu=times or cpu=old",
        ),
        (
            "cpu=samples,sample=512k",
            "option sample=512k: does nothing without heap=",
        ),
        (
            "heap=sites,include=a.*",
            "option include=a.*: does nothing without cpu=times or cpu=old",
        ),
        (
            "cpu=samples,net_exit=n",
            "option net_exit=n: does nothing without net=",
        ),
        (
            "cpu=times,format=b",
            "option format=b: must be a with cpu=times, which the binary format has no records for",
        ),
        (
            "format=b,cpu=old",
            "option format=b: must be a with cpu=old, which the binary format has no records for",
        ),
        (
            "cpu=times,clock=x",
            "option clock=x: must be cpu|wall|samples|auto",
        ),
        (
            "cpu=old,clock=samples",
            "option clock=samples: must be cpu|wall with cpu=old, which needs the time of each call",
        ),
        (
            "cpu=times,include=",
            "option include=: must be names of classes like com.acme.Foo or com.acme.*, separated by ':'",
        ),
        (
            "cpu=times,exclude=a::b",
            "option exclude=a::b: must be names of classes like com.acme.Foo or com.acme.*, separated by ':'",
        ),
        (
            "cpu=times,include=com/acme/*",
            "option include=com/acme/*: must be names of classes like com.acme.Foo or com.acme.*, separated by ':'",
        ),
        (
            "heap=dump,dumper=hotspot",
            "option dumper=hotspot: must be auto|vm|jvmti|fork|forkonly",
        ),
        (
            "heap=dump,dumper=vm,redact=y",
            "option dumper=vm: must be auto|jvmti with redact=y, for the VM's dumper puts all content on a disk first",
        ),
        (
            "heap=sites,stacks=fast",
            "option stacks=fast: must be auto|jvmti|verify",
        ),
        ("heap=sites,gc=yes", "option gc=yes: must be y|n"),
        (
            "heap=sites,sample=0",
            "option sample=0: must be a number of bytes from 1 to 2147483647, optionally followed by k or m",
        ),
        (
            "heap=sites,sample=4000m",
            "option sample=4000m: must be a number of bytes from 1 to 2147483647, optionally followed by k or m",
        ),
        ("heap=x", "option heap=x: must be dump|sites|all"),
        ("monitor=yes", "option monitor=yes: must be y|n"),
        (
            "format=b,monitor=y,cpu=old",
            "option format=b: must be a with cpu=old, which the binary format has no records for",
        ),
        (
            "cpu=samples,net=h",
            "option net=h: must be <host>:<port>, an IPv6 address in brackets, the port from 1 to 65535",
        ),
        ("cpu=samples,net_exit=x", "option net_exit=x: must be y|n"),
        ("cpu=samples,compress=1", "option compress=1: must be y|n"),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message, "{text}");
        assert!(!message.contains('\n'));
    }
}

#[test]
fn nothing_asked_for_is_heap_all() {
    for text in ["", "depth=3", ","] {
        let options = options(text);
        assert_eq!((options.heap, options.cpu), (Some(Heap::All), None));
    }
    assert_eq!(options("cpu=samples").heap, None);
}

#[test]
fn a_dump_has_everything_unless_told_otherwise() {
    let options = options("heap=dump");
    assert_eq!(
        (options.heap, options.dumper),
        (Some(Heap::Dump), Dumper::Auto)
    );
    assert!(options.primitive_fields && options.primitive_arrays);
    let options = self::options("heap=all,dumper=jvmti,primfields=n,primarrays=n");
    assert_eq!(
        (options.heap, options.dumper),
        (Some(Heap::All), Dumper::Jvmti)
    );
    assert!(!options.primitive_fields && !options.primitive_arrays);
}

#[test]
fn stacks_are_walked_over_unless_told_otherwise() {
    for (text, source) in [
        ("heap=sites", StackSource::Auto),
        ("heap=sites,stacks=auto", StackSource::Auto),
        ("heap=sites,stacks=verify", StackSource::Verify),
        ("monitor=y,stacks=jvmti", StackSource::Jvmti),
    ] {
        assert_eq!(options(text).stacks, source, "{text}");
    }
}

#[test]
fn details_are_told_to_who_asks() {
    let told = ["heap=sites", "verbose=y", "verbose=n"].map(|text| {
        let options = options(text);
        (options.verbose, options.details)
    });
    assert_eq!(told, [(true, false), (true, true), (false, false)]);
}

#[test]
fn switches_of_old_scripts_are_taken_and_named() {
    let options = options(
        "cpu=samples,debugflags=3,X=m,errorexit=y,pause=n,coredump=y,debug=n,msa=y,gc_okay=n",
    );
    let named = [
        "debugflags",
        "X",
        "errorexit",
        "pause",
        "coredump",
        "debug",
        "msa",
        "gc_okay",
    ];
    assert_eq!(options.without_effect, named);
    assert_eq!(
        self::options("cpu=samples,primfields=n,primarrays=y,monitor=n").without_effect,
        ["primfields", "primarrays"]
    );
}

#[test]
fn help_lists_every_option_with_its_default() {
    let help = help();
    assert!(help.lines().all(|line| line.len() <= 80), "fits a terminal");
    let all = ROWS.iter().zip(PAGES);
    for (row, page) in all.filter(|(row, _)| !row.description.is_empty()) {
        let line = help
            .lines()
            .find(|line| line.starts_with(&format!("{}={} ", row.name, row.values)))
            .unwrap_or_else(|| panic!("{} is listed", row.name));
        let (_, default) = line.split_once(row.description).expect("what it is");
        let default = default.trim();
        assert_eq!(default, row.default, "{line}");
        if page.default_in_words {
            let given = format!("{}={default}", row.name);
            // These take any text.
            let takes_all = ["file", "include", "exclude"].contains(&row.name);
            assert!(takes_all || parse(&given, None).is_err(), "{given}");
            continue;
        }
        // Giving the default changes nothing.
        let before = page.effects.first().map_or("", |(before, ..)| before);
        let mut given = options(&together(before, &format!("{}={default}", row.name)));
        given.without_effect.clear();
        // `verbose=y` requests more when it is given than by default.
        given.details = false;
        assert_eq!(given, options(before), "{}={default}", row.name);
    }
    let nothing = options("");
    assert!(nothing.cpu.is_none() && nothing.net.is_none() && nothing.sample.is_none());
    assert!(nothing.include.is_empty() && nothing.exclude.is_empty());
    assert!(nothing.rotate.is_none() && nothing.keep.is_none() && nothing.timeout.is_none());
    assert_eq!(nothing.file, "java.hprof.txt");
    assert_eq!(options("format=b").file, "java.hprof");
    assert!(nothing.compress.is_none(), "the name decides");
}
