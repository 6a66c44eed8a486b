//! A profile in a running program, from its start to its end.

use std::os::unix::net::UnixStream;
use std::path::Path;

use hprof_options::Request;
use rustix::fs::FileType;

use super::client_socket::ClientSocket;
use super::pause::{self, Consent, Stops};
use super::process::Process;
use super::program::{Program, main_class};
use super::threads::{self, ThreadTime};
use super::{Error, Library, agent, perf_data};
use crate::failure::Failure;

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
        Ok(agent::command(&self.process, &self.library, verb, "")?)
    }

    /// Starts the profile; returns the agent's answer.
    pub fn start(&self, options: &str) -> Result<String, Failure> {
        Ok(agent::command(
            &self.process,
            &self.library,
            "start",
            options,
        )?)
    }

    /// Starts a profile that goes to this process over a connection of its own, with these options beside `live=`.
    pub fn start_live(&self, options: &str) -> Result<UnixStream, Failure> {
        let socket = ClientSocket::create(&self.process)?;
        let path = socket.own_path();
        self.start(&format!("{options},live={}", path.display()))?;
        let accepted = socket.accept(&self.process);
        if accepted.is_err() {
            // Nobody else would end it.
            let _ = self.stop();
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

    /// Ends the profile.
    pub fn stop(&self) -> Result<(), Failure> {
        self.send("stop")?;
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
