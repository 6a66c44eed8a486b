//! Questions about running programs, and requests to them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::folders::Folders;
use super::request::{Page, Request, RestsOn};
use crate::attach::check_sees;
use crate::record::budget::{Bounded, BudgetArgument};
use crate::record::what::What;

/// The question which JVMs run here.
#[derive(Deserialize, JsonSchema)]
pub struct Programs {
    #[serde(flatten)]
    page: Page,
}

impl Programs {
    pub fn request(self, _: &Folders) -> Result<Request, String> {
        let rests_on = RestsOn::Program;
        Ok(Request::json(&["list"], "/programs", rests_on, self.page))
    }
}

/// The request to start a profile.
#[derive(Deserialize, JsonSchema)]
pub struct Start {
    /// The process id, from `jvms`
    pid: u32,
    /// What to measure: cpu (the methods that use it, by samples), wall (where threads are while time passes, by samples), alloc
    /// (every object, by the stack that allocates), heap (a heap dump at the end), calls (the number and the time of all calls)
    /// or locks (every wait for a monitor)
    #[schemars(extend("enum" = ["cpu", "wall", "alloc", "heap", "calls", "locks"]))]
    measure: String,
    /// The file for the profile, which must not exist
    file: String,
    /// The profile ends by itself after so many seconds; by default it ends with `stop_profile`
    seconds: Option<u32>,
    #[serde(flatten)]
    page: Page,
}

impl Start {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let measured = match What::parse(&self.measure) {
            // Options would name files and hosts.
            None | Some(What::Options(_)) => {
                return Err("what to measure is cpu, wall, alloc, heap, calls or locks".to_owned());
            }
            Some(what) => BudgetArgument::default().added_to(&what, Bounded::Running)?,
        };
        let file = folders.new_file(&self.file)?;
        if let Some(folder) = file.parent() {
            let seen = check_sees(self.pid, folder);
            seen.map_err(|failure| failure.message().unwrap_or_default().to_owned())?;
        }
        let file = file.display();
        let end = self.seconds.map(|seconds| format!(",timeout={seconds}s"));
        let options = format!("{measured},file={file}{}", end.unwrap_or_default());
        let pid = self.pid.to_string();
        Ok(Request::lines(&["attach", &pid, &options], self.page))
    }
}

/// A running program with a profile.
#[derive(Deserialize, JsonSchema)]
pub struct Running {
    /// The process id, from `jvms`
    pid: u32,
    #[serde(flatten)]
    page: Page,
}

impl Running {
    /// Asks if a profile runs.
    pub fn status(self, _: &Folders) -> Result<Request, String> {
        Ok(self.command("status"))
    }

    /// Asks for the profile so far.
    pub fn dump(self, _: &Folders) -> Result<Request, String> {
        Ok(self.command("dump"))
    }

    /// Ends the profile.
    pub fn stop(self, _: &Folders) -> Result<Request, String> {
        Ok(self.command("stop"))
    }

    fn command(self, name: &str) -> Request {
        let pid = self.pid.to_string();
        Request::lines(&[name, &pid], self.page)
    }
}
