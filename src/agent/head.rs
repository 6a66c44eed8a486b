//! The facts about the run at the beginning of a profile.

use hprof_format::redacted_fact;

use super::command_line::CommandLine;
use crate::engines::SamplingMethod;
use jvmti::{BoolFlag, Env, NumberFlag};
use options::Options;

/// HotSpot's garbage collectors, by the flags that choose them.
const COLLECTORS: [(BoolFlag, &str); 7] = [
    (BoolFlag::UseG1Gc, "G1"),
    (BoolFlag::UseParallelGc, "Parallel"),
    (BoolFlag::UseSerialGc, "Serial"),
    (BoolFlag::UseZgc, "Z"),
    (BoolFlag::UseShenandoahGc, "Shenandoah"),
    (BoolFlag::UseEpsilonGc, "Epsilon"),
    (BoolFlag::UseConcMarkSweepGc, "CMS"),
];

/// What a VM is used for that the agent does not know.
const UNTESTED: &str = "the agent does not know this VM and uses JVMTI and JNI alone: stacks are taken at safepoints, wall= takes no samples, live objects at the end are those of the last collection";

/// The output that begins.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    /// The first of the profile.
    First,
    /// That of the next period.
    Next,
    /// One that is written next to the profile, which continues.
    Beside,
}

/// Returns the facts known when an output begins; the length of the run is known only at its end. `given` is the text
/// of the options. With `redact=y`, what may be content in the lines of commands is hidden.
pub(super) fn facts(
    env: Env,
    given: &str,
    options: &Options,
    sampling_method: Option<&SamplingMethod>,
    begun: Begun,
) -> Vec<(&'static str, String)> {
    let now = chrono::Local::now().format("%a %b %e %H:%M:%S %Y");
    let begun = match begun {
        Begun::First if env.is_loading() => "Started",
        Begun::First => "Attached",
        Begun::Next => "Continues",
        Begun::Beside => "Written",
    };
    let mut facts = vec![
        ("JDK", jdk(env)),
        ("Collector", collector(env).to_owned()),
        ("Options", given.to_owned()),
        ("Process", std::process::id().to_string()),
        (begun, now.to_string()),
    ];
    if !env.vm_kind().is_known() {
        facts.push(("Untested", UNTESTED.to_owned()));
    }
    if options.lifetimes {
        // What grows is compared with it.
        facts.push(("Xmx", heap_limit(env)));
    }
    facts.extend(sampling_method.map(|way| {
        let inlined = match options.inlined {
            true => "",
            false => ", inlined=n: inlined methods may count as their callers",
        };
        ("Samples", format!("{way}{inlined}"))
    }));
    let command = env.property(c"sun.java.command");
    let CommandLine { program, flags } = CommandLine::of_this_process(command.as_deref());
    facts.extend([("Program", program), ("Flags", flags)]);
    if options.redact {
        for (label, value) in &mut facts {
            *value = redacted_fact(label, value);
        }
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// Returns, for example, `17.0.15+6 (OpenJDK 64-Bit Server VM, Eclipse Adoptium)`.
fn jdk(env: Env) -> String {
    let [version, name, vendor] = [c"java.vm.version", c"java.vm.name", c"java.vm.vendor"]
        .map(|name| env.property(name).unwrap_or_else(|| "?".to_owned()));
    format!("{version} ({name}, {vendor})")
}

/// Returns the most bytes of the Java heap; nothing if the VM does not say.
fn heap_limit(env: Env) -> String {
    let limit = env
        .flags()
        .and_then(|flags| flags.number(NumberFlag::MaxHeapSize));
    limit.map_or(String::new(), |bytes| format!("{bytes} bytes"))
}

fn collector(env: Env) -> &'static str {
    let flags = env.flags();
    let is_used = |flag| flags.as_ref().is_some_and(|flags| flags.is_on(flag));
    let mut used = COLLECTORS.iter().filter(|(flag, _)| is_used(*flag));
    used.next().map_or("?", |(_, name)| name)
}
