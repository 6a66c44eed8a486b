//! A profile in a running program, from its start to its end.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use hprof_options::Request;
use rustix::fs::FileType;

use super::client_socket::ClientSocket;
use super::pause::{self, Consent, Stops};
use super::process::Process;
use super::program::{Program, main_class};
use super::threads::{self, ThreadTime};
use super::{Error, Library, agent, perf_data};
use crate::failure::Failure;

/// The longest that a VM may take for what stops no program, and to start a profile without a look at the heap.
const SHORT: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(10);
/// The longest that a profile may take to be written: a heap dump of 100 GB on a slow disk.
const LONG: Duration = Duration::from_secs(60 * 60);

/// A running program that this command profiles.
pub struct Session {
    process: Process,
    /// The agent's path, as the program sees it.
    library: std::path::PathBuf,
}

impl Session {
    /// Finds the program and a library for it, and takes on the rights of the program's user.
    pub fn with(program: &Program, library: &Library) -> Result<Self, Failure> {
        let process = program.find()?;
        let named = library.agent.as_deref();
        let library = match agent::loaded(&process, named) {
            Err(Error::NoAgent(_)) => agent::to_load(&process, named)?,
            library => library?,
        };
        process.act_as_its_user()?;
        Ok(Self { process, library })
    }

    /// Finds the program and the library that it has loaded, and takes on the rights of the program's user.
    pub fn running(program: &Program, library: &Library) -> Result<Self, Failure> {
        let process = program.find()?;
        let library = agent::loaded(&process, library.agent.as_deref())?;
        process.act_as_its_user()?;
        Ok(Self { process, library })
    }

    /// Returns the options with which the agent replaces no file, unless they say `force=` themselves.
    pub fn without_replacing(&self, options: &str) -> Result<String, Failure> {
        let says_force = || {
            options
                .split(',')
                .any(|option| option.starts_with("force="))
        };
        let profile = match hprof_options::parse(options, None) {
            Ok(Request::Profile(profile)) if profile.net.is_none() && !says_force() => profile,
            // The agent says what is wrong with them.
            _ => return Ok(options.to_owned()),
        };
        let file = Path::new(&profile.file);
        match self.process.kind_of(file) {
            Some(FileType::RegularFile) => Err(Failure::about(
                file,
                "exists, and is not replaced; name another file, or replace it with force=y",
            )),
            // A pipe or a device is not replaced, but written to.
            Some(_) => Ok(options.to_owned()),
            // Should it come into being meanwhile, or have `%` in its name, the agent writes to one beside it.
            None => Ok(format!("{options},force=n")),
        }
    }

    /// Says what a profile with these options may cost the program, if that has no bound.
    pub fn announce_cost(&self, options: &str) {
        pause::announce_cost(options, &self.name());
    }

    /// Says how long a profile with these options will stop the program, and asks if that is long.
    pub fn announce_start(&self, options: &str, consent: &Consent) -> Result<(), Failure> {
        let heap = perf_data::heap_use(&self.process);
        let stops = heap.and_then(|heap| Some((Stops::of(options, &heap)?, heap)));
        match stops {
            Some((stops, heap)) => stops.announce_start(&self.name(), &heap, consent),
            None => Ok(()),
        }
    }

    /// Says how long a dump of the profile that runs will stop the program, and asks if that is long.
    pub fn announce_dump(&self, consent: &Consent) -> Result<(), Failure> {
        let Some(heap) = perf_data::heap_use(&self.process) else {
            return Ok(());
        };
        // Of a heap that is so small no dump takes long, whatever is measured.
        if !Stops::may_be_noticed(&heap) {
            return Ok(());
        }
        let status = self.send("status")?;
        match options_in(&status).and_then(|options| Stops::of(options, &heap)) {
            Some(stops) => stops.announce_dump(&self.name(), &heap, consent),
            None => Ok(()),
        }
    }

    /// Sends a command without options; returns the agent's answer.
    pub fn send(&self, verb: &str) -> Result<String, Failure> {
        let limit = match verb {
            "status" => SHORT,
            _ => LONG,
        };
        self.command((verb, ""), limit)
    }

    fn command(&self, command: (&str, &str), limit: Duration) -> Result<String, Failure> {
        Ok(agent::command(
            &self.process,
            &self.library,
            command,
            limit,
        )?)
    }

    /// Starts the profile; returns the agent's answer.
    pub fn start(&self, options: &str) -> Result<String, Failure> {
        self.command(("start", options), LONG)
    }

    /// As [`Session::start`], within the time that this usually takes, and `more`.
    pub fn start_within(&self, options: &str, more: Duration) -> Result<String, Failure> {
        let limit = self.usual_start(options).saturating_add(more);
        self.command(("start", options), limit)
    }

    /// Returns a time that is enough for a VM that answers at all.
    fn usual_start(&self, options: &str) -> Duration {
        let heap = perf_data::heap_use(&self.process);
        let stop = heap.and_then(|heap| Some(Stops::of(options, &heap)?.start()));
        // Classes are rewritten, of which there may be very many.
        let rewrites = options.contains("cpu=times") || options.contains("cpu=old");
        limit(if rewrites { SHORT } else { START }, stop)
    }

    /// Starts a profile that goes to this process over a connection of its own, with these options beside `live=`.
    pub fn start_live(&self, options: &str) -> Result<UnixStream, Failure> {
        let socket = ClientSocket::create(&self.process)?;
        let path = socket.own_path();
        let options = format!("{options},live={}", path.display());
        self.start_within(&options, Duration::ZERO)?;
        let accepted = socket.accept(&self.process);
        if accepted.is_err() {
            // Nobody else would end it.
            let _ = self.stop_within(START);
        }
        Ok(accepted?)
    }

    /// Returns the program's threads, and the CPU time that each has used.
    pub fn threads(&self) -> Vec<ThreadTime> {
        threads::all(&self.process)
    }

    /// Returns what the VM says of a thread: its name, its state and its stack. The program stops for a moment.
    pub fn stack(&self, thread: u32) -> Result<Vec<String>, Failure> {
        Ok(threads::stack(&self.process, thread)?)
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the main class; empty if it is unknown.
    pub fn main_class(&self) -> String {
        main_class(&self.process)
    }

    /// Ends a profile with these options, within the time that this usually takes.
    pub fn stop_profile(&self, options: &str) -> Result<(), Failure> {
        let heap = perf_data::heap_use(&self.process);
        let stop = heap.and_then(|heap| Some(Stops::of(options, &heap)?.dump()));
        self.stop_within(limit(SHORT, stop))
    }

    /// Ends the profile, which must be written within this time.
    pub fn stop_within(&self, limit: Duration) -> Result<(), Failure> {
        self.command(("stop", ""), limit)?;
        Ok(())
    }

    /// Returns `true` if the program has ended.
    pub fn is_over(&self) -> bool {
        self.process.has_ended()
    }

    /// As [`Session::is_over`], and waits a little for a program that has closed its files.
    pub fn is_ending(&self) -> bool {
        self.process.is_ending()
    }

    /// Returns the main class and the process id.
    pub fn name(&self) -> String {
        let pid = self.process.pid();
        match main_class(&self.process) {
            class if class.is_empty() => format!("process {pid}"),
            class => format!("{class} (process {pid})"),
        }
    }

    /// Returns an error unless the program sees the same folder at this path.
    pub fn check_sees(&self, folder: &Path) -> Result<(), Failure> {
        Ok(self.process.check_sees(folder)?)
    }
}

/// Returns the limit for what takes so long without a stop of the program, and so many seconds with it on a machine that is not busy.
fn limit(without: Duration, stop: Option<f64>) -> Duration {
    let stop = Duration::try_from_secs_f64(10.0 * stop.unwrap_or(0.0)).unwrap_or(LONG);
    (without + stop).min(LONG)
}

/// Returns the options in the agent's answer to `status`: `profiling for 3 s into /x (heap=sites)`.
fn options_in(status: &str) -> Option<&str> {
    let (_, options) = status.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_the_options() {
        let status = "profiling for 3 s into /a (b)/x.txt (heap=sites,file=x.txt)\n";
        assert_eq!(options_in(status), Some("heap=sites,file=x.txt"));
        assert_eq!(options_in("no profile is running"), None);
    }
}
