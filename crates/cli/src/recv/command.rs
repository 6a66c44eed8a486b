//! The agent's commands by name.

use hprof_format::{COMMAND_SITES_FORCE_GC, Command, Control, ObjectId, Threads};

/// The names, for the help and for messages.
pub const NAMES: &str = "\
dump-heap                      a heap dump
alloc-sites [FLAGS] [CUTOFF]   an ALLOC SITES record; flags: 1 what changed, 2 by allocation, 4 after a GC (default 4)
heap-summary                   a HEAP SUMMARY record
cpu-samples [CUTOFF]           a CPU SAMPLES record
dump-traces                    all traces not yet written
force-gc                       a garbage collection
control start-allocations      track allocations
control stop-allocations       track none
control start-samples [ID]     sample all threads, or the one whose START THREAD record has this object id
control stop-samples [ID]      sample none, or not this one
control clear-samples          count samples from zero
control clear-sites            count allocations from zero
control depth N                frames of traces taken from now on, 0 to 65535
exit                           end the VM";

/// Reads a command.
pub fn parse(line: &str) -> Result<Command, String> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let command = match name {
        "dump-heap" => Command::DumpHeap,
        "alloc-sites" => Command::AllocSites {
            flags: optional(&mut words, "FLAGS", COMMAND_SITES_FORCE_GC)?,
            cutoff: cutoff(&mut words)?,
        },
        "heap-summary" => Command::HeapSummary,
        "cpu-samples" => Command::CpuSamples {
            cutoff: cutoff(&mut words)?,
        },
        "dump-traces" => Command::DumpTraces,
        "force-gc" => Command::ForceGc,
        "control" => Command::Control(control(&mut words)?),
        "exit" => Command::Exit,
        _ => {
            return Err(format!(
                "no command '{name}'; 'hprof recv --help' lists them"
            ));
        }
    };
    match words.next() {
        Some(word) => Err(format!("unexpected argument '{word}' in '{line}'")),
        None => Ok(command),
    }
}

fn control<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Control, String> {
    let name = words.next().unwrap_or_default();
    Ok(match name {
        "start-allocations" => Control::StartAllocations,
        "stop-allocations" => Control::StopAllocations,
        "start-samples" => Control::StartSamples(threads(words)?),
        "stop-samples" => Control::StopSamples(threads(words)?),
        "clear-samples" => Control::ClearSamples,
        "clear-sites" => Control::ClearSites,
        "depth" => {
            let depth = words
                .next()
                .ok_or("control depth needs a number, 0 to 65535")?;
            Control::Depth(number(depth, "N")?)
        }
        _ => {
            return Err(format!(
                "no control '{name}'; 'hprof recv --help' lists them"
            ));
        }
    })
}

/// Parses ids, decimal, or hexadecimal with 0x: the text format prints them in hexadecimal without the 0x.
fn threads<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Threads, String> {
    let Some(word) = words.next() else {
        return Ok(Threads::All);
    };
    let id = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    match id {
        None => Err(format!(
            "invalid ID '{word}': expected a number, hexadecimal with 0x"
        )),
        Some(0) => Ok(Threads::All),
        Some(id) => Ok(Threads::One(ObjectId(id))),
    }
}

fn cutoff<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<f32, String> {
    let cutoff: f32 = optional(words, "CUTOFF", 0.0)?;
    if cutoff >= 0.0 {
        return Ok(cutoff);
    }
    Err(format!("invalid CUTOFF '{cutoff}': expected 0 or more"))
}

fn optional<'a, T: std::str::FromStr>(
    words: &mut impl Iterator<Item = &'a str>,
    name: &str,
    default: T,
) -> Result<T, String> {
    words.next().map_or(Ok(default), |word| number(word, name))
}

fn number<T: std::str::FromStr>(word: &str, name: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("invalid {name} '{word}': not a number, or out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_listed_is_a_command() {
        for line in NAMES.lines() {
            let usage = line.split("  ").next().expect("a first part");
            let short = usage
                .split(" [")
                .next()
                .expect("a first part")
                .replace(" N", " 7");
            assert!(parse(&short).is_ok(), "{short}");
        }
    }

    #[test]
    fn a_command_reads_as_it_is_written() {
        for line in [
            "alloc-sites 3 0.5",
            "cpu-samples 0.25",
            "control depth 7",
            "control start-samples 400001",
            "exit",
        ] {
            assert_eq!(
                parse(line).map(|command| command.to_string()),
                Ok(line.to_owned())
            );
        }
        for line in NAMES.lines().filter(|line| !line.contains(['[', 'N'])) {
            let name = line.split("  ").next().expect("a first part");
            assert_eq!(
                parse(name).map(|command| command.to_string()).as_deref(),
                Ok(name)
            );
        }
    }

    #[test]
    fn arguments_are_read() {
        let sites = Command::AllocSites {
            flags: 3,
            cutoff: 0.5,
        };
        assert_eq!(parse(" alloc-sites 3  0.5 "), Ok(sites));
        assert_eq!(
            parse("alloc-sites"),
            Ok(Command::AllocSites {
                flags: 4,
                cutoff: 0.0
            })
        );
        assert_eq!(
            parse("cpu-samples 0.25"),
            Ok(Command::CpuSamples { cutoff: 0.25 })
        );
        let one = |id| Threads::One(ObjectId(id));
        for (line, threads) in [
            ("", Threads::All),
            ("0", Threads::All),
            ("400001", one(400_001)),
            ("0x61a81", one(400_001)),
        ] {
            let line = format!("control stop-samples {line}");
            assert_eq!(
                parse(&line),
                Ok(Command::Control(Control::StopSamples(threads))),
                "{line}"
            );
        }
        assert_eq!(
            parse("control depth 12"),
            Ok(Command::Control(Control::Depth(12)))
        );
    }

    #[test]
    fn what_is_no_command_is_said() {
        for (line, message) in [
            ("", "no command ''; 'hprof recv --help' lists them"),
            ("dump", "no command 'dump'; 'hprof recv --help' lists them"),
            ("control", "no control ''; 'hprof recv --help' lists them"),
            ("control depth", "control depth needs a number, 0 to 65535"),
            (
                "control depth 65536",
                "invalid N '65536': not a number, or out of range",
            ),
            (
                "control start-samples main",
                "invalid ID 'main': expected a number, hexadecimal with 0x",
            ),
            ("cpu-samples -1", "invalid CUTOFF '-1': expected 0 or more"),
            (
                "cpu-samples nan",
                "invalid CUTOFF 'NaN': expected 0 or more",
            ),
            ("exit now", "unexpected argument 'now' in 'exit now'"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()));
        }
    }
}
