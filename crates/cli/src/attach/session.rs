//! A profile in a running program, from its start to its end.

use std::path::Path;
use std::time::Duration;

use hprof_footprint::Account;
use hprof_options::Request;

use super::client_socket::{ClientSocket, Connection};
use super::error::Error;
use super::library::Library;
use super::pause::{self, Consent, DumpWay, Stops};
use super::process::Process;
use super::program::{Program, main_class};
use super::threads::{self, ThreadTime};
use super::{agent, perf_data};
use crate::failure::Failure;

/// The longest that a VM may take for what stops no program, and to start a profile without a look at the heap.
const SHORT: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(10);
/// The longest that a profile may take to be written: a heap dump of 100 GB on a slow disk.
const LONG: Duration = Duration::from_secs(60 * 60);

/// The beginning of the agent's answer to `status` when it has no profile.
const NOT_RUNNING: &str = "no profile is running";
/// If this command is killed while a copy of the program dumps the heap, the agent ends the profile.
const LEFT_ALONE: &str = "timeout=60000ms";

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
        let named = library.named();
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
        let library = agent::loaded(&process, library.named())?;
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
        match self.process.is_regular(file) {
            Some(true) => Err(Failure::about(
                file,
                "exists, and is not replaced; name another file, or replace it with force=y",
            )),
            // A pipe or a device is not replaced, but written to.
            Some(false) => Ok(options.to_owned()),
            // Should it come into being meanwhile, or have `%` in its name, the agent writes to one next to it.
            None => Ok(format!("{options},force=n")),
        }
    }

    /// Says what a profile with these options may cost the program, if that has no bound.
    pub fn announce_cost(&self, options: &str) {
        pause::announce_cost(options, &self.name());
    }

    /// Says how long a profile with these options will stop the program, and asks if that is long. `fork` is what the user
    /// would write for a fork. Returns the options that the user has agreed to.
    pub fn announce_start(
        &self,
        options: &str,
        fork: &str,
        consent: &Consent,
    ) -> Result<String, Failure> {
        let heap = perf_data::heap_use(&self.process);
        let stops = heap.and_then(|heap| Some((Stops::of(options, &heap)?, heap)));
        let Some((stops, heap)) = stops else {
            return Ok(options.to_owned());
        };
        let way = stops.announce_start(&self.name(), &heap, fork, consent)?;
        Ok(way.added_to(options))
    }

    /// Says how long a dump of the profile that runs will stop the program, made in this way, and asks if that is long. Returns
    /// the way that the user has agreed to.
    pub fn announce_dump(&self, way: DumpWay, consent: &Consent) -> Result<DumpWay, Failure> {
        let Some(heap) = perf_data::heap_use(&self.process) else {
            return Ok(way);
        };
        // Of a heap that is so small no dump takes long, whatever is measured.
        if !Stops::may_be_noticed(&heap) {
            return Ok(way);
        }
        let status = self.status()?;
        let options = options_in(&status).map(|options| way.added_to(options));
        let stops = options.and_then(|options| Stops::of(&options, &heap));
        let Some(stops) = stops else {
            return Ok(way);
        };
        let chosen = stops.announce_dump(&self.name(), &heap, "--fork", consent)?;
        Ok(if way == DumpWay::Fork { way } else { chosen })
    }

    /// Returns `true` if a dump of the heap would stop the program for a time that somebody would notice, or if that is not
    /// known.
    pub fn notices_dump(&self) -> bool {
        let heap = perf_data::heap_use(&self.process);
        heap.is_none_or(|heap| Stops::may_be_noticed(&heap))
    }

    /// Says what a forked copy of the program may take to dump the heap into a folder, if that is much.
    pub fn announce_copy(&self, folder: &Path) {
        if let Some(heap) = perf_data::heap_use(&self.process)
            && Stops::may_be_noticed(&heap)
        {
            pause::announce_copy(&self.name(), &heap, folder);
        }
    }

    /// Returns what the agent says of the profile.
    pub fn status(&self) -> Result<String, Failure> {
        self.command("status", "", SHORT)
    }

    /// Returns where the memory of the program is.
    pub fn memory(&self) -> Result<Account, Failure> {
        let answer = self.command("memory", "", SHORT)?;
        let account = hprof_footprint::decode(&answer);
        account.map_err(|error| Failure::Message(format!("the answer of {}: {error}", self.name())))
    }

    /// Has a dump written, or the profile ended (`verb`), with the heap dumped in this way; returns the agent's answer.
    pub fn write(&self, verb: &str, way: DumpWay) -> Result<String, Failure> {
        let options = match way {
            DumpWay::Usual => "",
            DumpWay::Fork => DumpWay::FORK,
        };
        self.command(verb, options, LONG)
    }

    fn command(&self, verb: &str, options: &str, limit: Duration) -> Result<String, Failure> {
        let command = agent::Command { verb, options };
        Ok(agent::command(
            &self.process,
            &self.library,
            command,
            limit,
        )?)
    }

    /// Starts the profile; returns the agent's answer.
    pub fn start(&self, options: &str) -> Result<String, Failure> {
        self.command("start", options, LONG)
    }

    /// As [`Session::start`], within the time that this usually takes, and `more`.
    pub fn start_within(&self, options: &str, more: Duration) -> Result<String, Failure> {
        let limit = self.usual_start(options).saturating_add(more);
        self.command("start", options, limit)
    }

    /// Returns a time that is enough for a VM that answers at all.
    fn usual_start(&self, options: &str) -> Duration {
        let heap = perf_data::heap_use(&self.process);
        let stop = heap.and_then(|heap| Some(Stops::of(options, &heap)?.start()));
        // Classes are rewritten, of which there may be very many.
        let rewrites = options.contains("cpu=times") || options.contains("cpu=old");
        limit(if rewrites { SHORT } else { START }, stop)
    }

    /// Starts a profile that goes to this process over a connection of its own, with these options and `live=`.
    pub fn start_live(&self, options: &str) -> Result<Connection, Failure> {
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

    /// Has a forked copy of the program dump its heap into a new file. If there can be none, the program itself does so if it
    /// may be stopped. Returns how the heap was dumped.
    pub fn dump_heap(&self, file: &Path, may_stop: bool) -> Result<String, Failure> {
        let folder = file.parent().unwrap_or(Path::new("/"));
        self.check_sees(folder)?;
        let path = file.to_str().filter(|path| !path.contains([',', '%']));
        let path = path.ok_or_else(|| {
            let what = "options of the agent cannot hold this path; name another folder";
            Failure::about(folder, what)
        })?;
        let dumper = if may_stop { "fork" } else { "forkonly" };
        let options = format!("heap=dump,dumper={dumper},format=b,verbose=n,force=n,file={path}");
        let answer = match self.status()?.starts_with(NOT_RUNNING) {
            true => {
                self.start(&format!("{options},doe=n,{LEFT_ALONE}"))?;
                self.write("stop", DumpWay::Usual)?
            }
            false => self.command("heap", &options, LONG)?,
        };
        let how = answer.split_once(&format!("{path}; "));
        let how = how.map_or("", |(_, how)| how.trim_end());
        match how.starts_with("heap dump ") {
            true => Ok(how.to_owned()),
            false => Err(Failure::Message(format!(
                "{}: {how}; `hprof leaks --yes` and `hprof record heap` stop the program for a dump",
                self.name()
            ))),
        }
    }

    /// Returns the CPU time that the VM's thread for such commands has used; `None` if it has not started yet, or the system does
    /// not tell.
    pub fn attach_time(&self) -> Option<Duration> {
        threads::attach_time(&self.process)
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
        self.command("stop", "", limit)?;
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

/// Returns the options in the agent's answer to `status`: `profiling for 3 s into /x (heap=sites); the agent holds 7 bytes of
/// memory`.
fn options_in(status: &str) -> Option<&str> {
    let status = status.trim_end();
    let (profile, _) = status
        .rsplit_once("; the agent holds ")
        .unwrap_or((status, ""));
    let (_, options) = profile.strip_suffix(')')?.rsplit_once(" (")?;
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_the_options() {
        let profile = "profiling for 3 s into /a (b)/x.txt (heap=sites,file=x.txt)";
        for end in ["", "\n", "; the agent holds 4711 bytes of memory\n"] {
            let status = format!("{profile}{end}");
            assert_eq!(options_in(&status), Some("heap=sites,file=x.txt"));
        }
        assert_eq!(options_in("no profile is running"), None);
    }
}
