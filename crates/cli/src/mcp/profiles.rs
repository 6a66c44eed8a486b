//! Questions about profiles.

use schemars::JsonSchema;
use serde::Deserialize;

use super::folders::Folders;
use super::request::{Page, Request, RestsOn};

/// The options of all questions about profiles.
#[derive(Deserialize, JsonSchema)]
struct Code {
    /// The value: cpu, wall, blocked, parked, pinned, time, inclusive-time, calls, alloc-bytes, alloc-objects, live-bytes,
    /// live-objects, temporary-bytes, temporary-objects, survived-bytes, survived-objects, peak-bytes, peak-objects,
    /// contention, contentions, lock-wait, native-live-bytes, native-live-blocks, native-old-bytes, native-old-blocks,
    /// native-bytes or native-blocks; by default the first of these that the file has
    value: Option<String>,
    /// Only code of packages with these prefixes, separated by colons, charged with what it calls: com.acme:org.example;
    /// empty for all that is neither the JDK's nor a well-known library's
    mine: Option<String>,
    /// Only threads whose names match this regular expression
    thread: Option<String>,
}

impl Code {
    fn add_to(self, request: Request) -> Request {
        request
            .option("value", self.value)
            .option("mine", self.mine)
            .option("thread", self.thread)
    }
}

/// The question which methods, lines, classes or stacks cost most.
#[derive(Deserialize, JsonSchema)]
pub struct Top {
    /// The profile
    file: String,
    /// The grouping of rows: method, line, class, package, thread, thread-group, lock, holder (of a lock), wait (all three), trace (whole stacks), type (the class that
    /// was allocated, or whose monitor was wanted) or age
    by: Option<String>,
    /// Order by the cost including everything that was called, instead of the cost of the row itself
    #[serde(default)]
    total: bool,
    /// Only rows whose name matches this regular expression
    filter: Option<String>,
    /// The number of the dump in the run, from 1; by default the last
    section: Option<u32>,
    #[serde(flatten)]
    code: Code,
    #[serde(flatten)]
    page: Page,
}

impl Top {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let file = folders.file(&self.file)?;
        let rows = format!("-n{}", self.page.printed());
        let request = Request::json(&["top", &rows], "/rows", RestsOn::Basis, self.page)
            .option("by", self.by)
            .flag("total", self.total)
            .option("filter", self.filter)
            .option("section", self.section);
        Ok(self.code.add_to(request).file(&file))
    }
}

/// The question who calls a method, or what it calls.
#[derive(Deserialize, JsonSchema)]
pub struct Tree {
    /// The profile
    file: String,
    /// Show the callers of this method, `Class.method` or `method` alone
    callers: Option<String>,
    /// Show the methods that this one calls; without `callers` and `callees`, all stacks from their outermost frames
    callees: Option<String>,
    /// The grouping of nodes: method, line, class or package
    by: Option<String>,
    /// Leave out branches with a smaller share of the tree, in percent; by default 0.5
    min: Option<f64>,
    /// The most levels
    depth: Option<u32>,
    /// The number of the dump in the run, from 1; by default the last
    section: Option<u32>,
    #[serde(flatten)]
    code: Code,
    #[serde(flatten)]
    page: Page,
}

impl Tree {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let file = folders.file(&self.file)?;
        let request = Request::json(&["tree"], "/nodes", RestsOn::Basis, self.page)
            .option("callers", self.callers)
            .option("callees", self.callees)
            .option("by", self.by)
            .option("min", self.min)
            .option("depth", self.depth)
            .option("section", self.section);
        Ok(self.code.add_to(request).file(&file))
    }
}

/// The question what has changed between two profiles.
#[derive(Deserialize, JsonSchema)]
pub struct Diff {
    /// The profile to compare with
    base: String,
    /// The profile to compare; by default another dump in the same file
    new: Option<String>,
    /// The numbers of the dumps to compare, from 1: that of the base, and the new one; by default the last of each file
    sections: Option<[u32; 2]>,
    /// The grouping of rows, as in `top`
    by: Option<String>,
    /// Compare costs including everything that was called
    #[serde(default)]
    total: bool,
    /// Scale the base to the total of the new profile, for runs of different length
    #[serde(default)]
    normalise: bool,
    #[serde(flatten)]
    code: Code,
    #[serde(flatten)]
    page: Page,
}

impl Diff {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let files = folders.pair(&self.base, self.new.as_deref())?;
        let rows = format!("-n{}", self.page.printed());
        let request = Request::json(&["diff", &rows], "/rows", RestsOn::Basis, self.page)
            .option("by", self.by)
            .flag("total", self.total)
            .flag("normalise", self.normalise);
        let request = self.code.add_to(request);
        Ok(request.pair(&files, "section", self.sections))
    }
}
