//! The findings about one program.

use std::env;
use std::path::Path;

use rustix::fs::statvfs;

use super::here::{self, feature, is_tested, libc, unsupported};
use super::{Finding, agent};
use crate::attach::Error;
use crate::attach::perf_data;
use crate::attach::process::Process;

/// The machines' numbers in ELF, `e_machine`.
const MACHINES: [(u16, &str); 2] = [(62, "x86_64"), (183, "aarch64")];

/// Returns the findings.
pub fn findings(process: &Process, named: Option<&Path>) -> Vec<Finding> {
    let command = process.command_line();
    let facts = perf_data::find(process);
    let version = facts.get(perf_data::VERSION).map(String::as_str);
    let mut findings = vec![jdk(process, version), machine(process), c_library(process)];
    findings.push(library(process, named));
    findings.push(attach(
        process,
        &command,
        facts.get(perf_data::CAPABILITIES),
    ));
    findings.extend(dynamic_loading(version, &command));
    findings.extend(namespace(process));
    findings.extend(disks(process));
    findings.extend(file_size(process));
    findings
}

fn jdk(process: &Process, version: Option<&str>) -> Finding {
    let place = format!("process {}", process.pid());
    match version {
        None => Finding::differs(
            "JDK",
            format!("{place}: the version is unknown (-XX:-UsePerfData)"),
        ),
        Some(version) => match feature(version) {
            Some(feature) if is_tested(feature) => {
                Finding::works("JDK", format!("{version} in {place}"))
            }
            Some(feature) if feature < 11 => Finding::fails("JDK", unsupported(version, &place)),
            _ => Finding::differs("JDK", unsupported(version, &place)),
        },
    }
}

fn machine(process: &Process) -> Finding {
    let own = env::consts::ARCH;
    let machine = process.machine();
    let name = MACHINES
        .iter()
        .find(|(number, _)| Some(*number) == machine)
        .map(|(_, name)| *name);
    match name {
        Some(name) if name == own => Finding::works("machine", own),
        Some(name) => Finding::fails(
            "machine",
            format!("the program is for {name}, this agent for {own}: take that of linux-{name}"),
        ),
        None => Finding::differs("machine", "the program's could not be told"),
    }
}

fn c_library(process: &Process) -> Finding {
    let theirs = match process.maps_musl() {
        Ok(true) => "musl",
        Ok(false) => "glibc",
        Err(error) => return Finding::differs("libc", format!("not told: {error}")),
    };
    match theirs == libc() {
        true => Finding::works("libc", theirs),
        false => Finding::fails(
            "libc",
            format!(
                "the program's is {theirs}, this agent is for {}: take that of linux-{}-{}",
                libc(),
                env::consts::ARCH,
                if theirs == "musl" { "musl" } else { "gnu" }
            ),
        ),
    }
}

fn library(process: &Process, named: Option<&Path>) -> Finding {
    match agent::loaded(process, named) {
        Ok(path) => {
            return Finding::works("agent", format!("the program has {}", path.display()));
        }
        Err(gone @ Error::LibraryGone { .. }) => return Finding::fails("agent", gone.to_string()),
        Err(_) => {}
    }
    match agent::to_load(process, named) {
        Ok(path) => Finding::works("agent", format!("the program sees {}", path.display())),
        Err(error) => Finding::fails("agent", error.to_string()),
    }
}

fn attach(process: &Process, command: &str, capabilities: Option<&String>) -> Finding {
    let pid = process.pid();
    if capabilities.is_some_and(|capabilities| capabilities.starts_with('0'))
        || command.contains("-XX:+DisableAttachMechanism")
    {
        return Finding::fails("attach", Error::Disabled(pid).to_string());
    }
    if process.is_stopped() {
        return Finding::fails("attach", Error::Stopped(pid).to_string());
    }
    if !process.catches_quit() {
        return Finding::fails("attach", Error::Deaf(pid).to_string());
    }
    Finding::works("attach", "the VM takes requests")
}

fn dynamic_loading(version: Option<&str>, command: &str) -> Option<Finding> {
    if command.contains("-XX:-EnableDynamicAgentLoading") {
        return Some(Finding::fails(
            "attach",
            "the program refuses agents (-XX:-EnableDynamicAgentLoading): start it with -agentpath",
        ));
    }
    let warns = version
        .and_then(feature)
        .is_some_and(|feature| feature >= 21)
        && !command.contains("-XX:+EnableDynamicAgentLoading");
    warns.then(|| {
        Finding::differs(
            "attach",
            "the VM will warn on the program's stderr, unless it has -XX:+EnableDynamicAgentLoading",
        )
    })
}

fn namespace(process: &Process) -> Option<Finding> {
    (process.pid() != process.own_pid()).then(|| {
        Finding::differs(
            "container",
            format!(
                "the program is in one, as process {}: file= and --agent are paths in it",
                process.own_pid()
            ),
        )
    })
}

/// Returns the findings about the disks for its files, as it sees them.
fn disks(process: &Process) -> Vec<Finding> {
    let mut findings = Vec::new();
    let temporary = process.view().folder(Path::new("/tmp"));
    match temporary.map(|folder| statvfs(folder.path())) {
        Ok(Ok(system)) => findings.push(here::space(
            "disk",
            "the program's /tmp",
            system.f_bavail * system.f_frsize,
        )),
        _ => findings.push(Finding::fails(
            "disk",
            "the program's /tmp cannot be reached: attaching needs it",
        )),
    }
    let Some(Ok(system)) = process
        .working_folder()
        .map(|folder| statvfs(folder.path()))
    else {
        return findings;
    };
    let free = system.f_bavail * system.f_frsize;
    findings.push(here::space("disk", "the program's working folder", free));
    if let Some(resident) = process.resident()
        && resident > free
    {
        findings.push(Finding::differs(
            "disk",
            format!(
                "a heap dump may need as much as the program has in memory, {} MB",
                resident >> 20
            ),
        ));
    }
    findings
}

fn file_size(process: &Process) -> Option<Finding> {
    let limit = process.limit("Max file size")?;
    (limit != "unlimited").then(|| {
        Finding::differs(
            "limits",
            format!("the program's files end at {limit} bytes (ulimit -f), and so do profiles"),
        )
    })
}
