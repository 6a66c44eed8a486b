//! Questions about heap dumps.

use schemars::JsonSchema;
use serde::Deserialize;

use super::folders::Folders;
use super::request::{Page, Request, RestsOn};

/// The least share of the heap, in percent, from which objects are suspected: it bounds their number.
const LEAST_SHARE: f64 = 1.0;

/// The options of all questions about one dump.
#[derive(Deserialize, JsonSchema)]
struct Dump {
    /// References that keep nothing alive: weak, soft, phantom, finalizer, separated by commas, or none; by default weak,phantom
    exclude: Option<String>,
    /// The heap dump
    file: String,
    /// The number of the dump in a file with several, from 1; by default the last
    dump: Option<u32>,
}

impl Dump {
    fn add_to(self, request: Request, folders: &Folders) -> Result<Request, String> {
        let file = folders.file(&self.file)?;
        Ok(request
            .option("dump", self.dump)
            .option("exclude", self.exclude)
            .file(&file))
    }
}

/// The question what keeps most of the heap alive.
#[derive(Deserialize, JsonSchema)]
pub struct Leaks {
    #[serde(flatten)]
    dump: Dump,
    /// The share of the live heap, in percent, from which an object is suspected, 1 or more; by default 10
    threshold: Option<f64>,
    /// What is your own code: prefixes of packages, separated by colons; empty for all that is neither the JDK's nor a
    /// well-known library's
    mine: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl Leaks {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        if self
            .threshold
            .is_some_and(|threshold| threshold < LEAST_SHARE)
        {
            return Err(format!(
                "the threshold is at least {LEAST_SHARE}: `hprof heap leaks` takes smaller ones, and much time for many suspects"
            ));
        }
        let words = ["heap", "leaks"];
        let request = Request::json(&words, "/suspects", RestsOn::Objects, self.page)
            .option("threshold", self.threshold)
            .option("mine", self.mine);
        self.dump.add_to(request, folders)
    }
}

/// The question what is in a dump.
#[derive(Deserialize, JsonSchema)]
pub struct Summary {
    #[serde(flatten)]
    dump: Dump,
    #[serde(flatten)]
    page: Page,
}

impl Summary {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let words = ["heap", "summary"];
        let request = Request::json(&words, "/kinds", RestsOn::Objects, self.page);
        self.dump.add_to(request, folders)
    }
}

/// The question how many objects there are of each group.
#[derive(Deserialize, JsonSchema)]
pub struct Histogram {
    #[serde(flatten)]
    dump: Dump,
    /// The grouping: class, loader, package, site or age; by default class
    by: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl Histogram {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let printed = self.page.printed();
        let words = ["heap", "histogram"];
        let request = Request::json(&words, "/rows", RestsOn::Objects, self.page)
            .option("by", self.by)
            .option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question what the threads were doing, and what they hold.
#[derive(Deserialize, JsonSchema)]
pub struct Threads {
    #[serde(flatten)]
    dump: Dump,
    #[serde(flatten)]
    page: Page,
}

impl Threads {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let printed = self.page.printed();
        let words = ["heap", "threads"];
        let request =
            Request::json(&words, "", RestsOn::Objects, self.page).option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question which class loaders there are, and which pile up.
#[derive(Deserialize, JsonSchema)]
pub struct Loaders {
    #[serde(flatten)]
    dump: Dump,
    #[serde(flatten)]
    page: Page,
}

impl Loaders {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let printed = self.page.printed();
        let words = ["heap", "loaders"];
        let request = Request::json(&words, "/loaders", RestsOn::Objects, self.page)
            .option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question which objects or groups of objects retain most.
#[derive(Deserialize, JsonSchema)]
pub struct Retained {
    #[serde(flatten)]
    dump: Dump,
    /// What to list: object, class, loader, package or site
    by: String,
    /// List only the objects of this class; with by=object
    class: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl Retained {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let printed = self.page.printed();
        let request = Request::json(&["heap", "retained"], "", RestsOn::Objects, self.page)
            .option("by", Some(self.by))
            .option("class", self.class)
            .option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question who allocated the live objects of a class.
#[derive(Deserialize, JsonSchema)]
pub struct Who {
    #[serde(flatten)]
    dump: Dump,
    /// The class, as in Java source: java.util.HashMap, byte[]
    class: String,
    /// What is your own code, as in `heap_leaks`
    mine: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl Who {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let printed = self.page.printed();
        let request = Request::json(&["heap", "who"], "", RestsOn::Objects, self.page)
            .option("class", Some(self.class))
            .option("mine", self.mine)
            .option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question why objects are alive.
#[derive(Deserialize, JsonSchema)]
pub struct Paths {
    #[serde(flatten)]
    dump: Dump,
    /// The object, by its id in another answer: 0x7f00
    object: Option<String>,
    /// All objects of this class, instead
    class: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl Paths {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        if self.object.is_some() == self.class.is_some() {
            return Err("name either an `object` or a `class`".to_owned());
        }
        let printed = self.page.printed();
        let request = Request::json(&["heap", "paths"], "", RestsOn::Objects, self.page)
            .option("object", self.object)
            .option("class", self.class)
            .option("top", Some(printed));
        self.dump.add_to(request, folders)
    }
}

/// The question what is in an object.
#[derive(Deserialize, JsonSchema)]
pub struct Object {
    #[serde(flatten)]
    dump: Dump,
    /// The object's id in another answer: 0x7f00
    id: String,
    /// The field or element to begin with; the first is 0, and an answer has a hundred
    first: Option<u64>,
    #[serde(flatten)]
    page: Page,
}

impl Object {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        // The id is on its own, where an option would be taken for one.
        if !self.id.starts_with(|first: char| first.is_ascii_digit()) {
            return Err("an id is a number such as 0x7f00 or 32512".to_owned());
        }
        let request = Request::json(&["heap", "show"], "/values", RestsOn::Objects, self.page)
            .option("first", self.first);
        let mut request = self.dump.add_to(request, folders)?;
        request.arguments.push(self.id.into());
        Ok(request)
    }
}

/// The question what has changed between two dumps.
#[derive(Deserialize, JsonSchema)]
pub struct HeapDiff {
    /// The older dump
    old: String,
    /// The newer dump; by default another one in the same file
    new: Option<String>,
    /// The numbers of the dumps, from 1: that of the older, and of the newer one; by default the last of each file
    dumps: Option<[u32; 2]>,
    /// The grouping: class, loader, package or site (the stack that allocated the objects); by default class
    by: Option<String>,
    /// References that keep nothing alive, as in `heap_leaks`
    exclude: Option<String>,
    #[serde(flatten)]
    page: Page,
}

impl HeapDiff {
    pub fn request(self, folders: &Folders) -> Result<Request, String> {
        let files = folders.pair(&self.old, self.new.as_deref())?;
        let printed = self.page.printed();
        let by = self.by.unwrap_or_else(|| "class".to_owned());
        let words = ["heap", "diff"];
        let request = Request::json(&words, "/0/changes", RestsOn::Objects, self.page)
            .option("by", Some(by))
            .option("exclude", self.exclude)
            .option("top", Some(printed));
        Ok(request.pair(&files, "dump", self.dumps))
    }
}
