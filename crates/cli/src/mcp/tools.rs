//! The tools, as a table: each asks one command.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::dumps::{
    HeapDiff, Histogram, Leaks, Loaders, Object, Paths, Retained, Summary, Threads, Who,
};
use super::folders::Folders;
use super::profiles::{Diff, Top, Tree};
use super::programs::{Programs, Running, Start};
use super::request::Request;

/// The effect of a tool on a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// Attaches to it, and changes nothing that the profile does not.
    Attaches,
}

/// A tool that clients may call.
pub struct Asked {
    name: &'static str,
    about: &'static str,
    pub effect: Effect,
    schema: JsonObject,
    request: Parse,
}

type Parse = Box<dyn Fn(Value, &Folders) -> Result<Request, String> + Send + Sync>;

impl Asked {
    fn new<Arguments: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        about: &'static str,
        request: fn(Arguments, &Folders) -> Result<Request, String>,
    ) -> Asked {
        let mut schema = schemars::schema_for!(Arguments);
        // They say what the tool's own words say.
        schema.remove("title");
        schema.remove("description");
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        let schema = match Value::from(schema) {
            Value::Object(fields) => fields,
            _ => JsonObject::new(),
        };
        Asked {
            name,
            about,
            effect: Effect::Reads,
            schema,
            request: Box::new(move |arguments, folders| {
                let arguments = serde_json::from_value(arguments);
                request(arguments.map_err(|error| error.to_string())?, folders)
            }),
        }
    }

    fn attaching(self) -> Asked {
        Asked {
            effect: Effect::Attaches,
            ..self
        }
    }

    /// Returns all tools.
    pub fn all() -> Vec<Asked> {
        vec![
            Asked::new(
                "jvms",
                "List the JVMs that run on this machine, with their process ids",
                Programs::request,
            ),
            Asked::new(
                "top",
                "Show what costs most in a profile: methods, lines, classes, threads or whole stacks",
                Top::request,
            ),
            Asked::new(
                "tree",
                "Show who calls a method in a profile, or what it calls, with the share of every branch",
                Tree::request,
            ),
            Asked::new(
                "diff",
                "Compare two profiles: rows that grew, shrank, appeared or disappeared. Two exact profiles of the same work \
                 prove that a change saves what it should",
                Diff::request,
            ),
            Asked::new(
                "heap_leaks",
                "Show what keeps most of a heap dump alive: suspects with the path that holds each, and the stacks, with lines, \
                 that allocated what they keep",
                Leaks::request,
            ),
            Asked::new(
                "heap_summary",
                "Count the objects, classes, loaders and roots of a heap dump, what is not alive, what waits for finalizers, and the \
                 memory outside of the heap",
                Summary::request,
            ),
            Asked::new(
                "heap_histogram",
                "Count all objects of a heap dump, alive or not, by class, loader, package, allocation site or age",
                Histogram::request,
            ),
            Asked::new(
                "heap_threads",
                "Show the threads of a heap dump with their stacks and the objects in their local variables",
                Threads::request,
            ),
            Asked::new(
                "heap_loaders",
                "List the class loaders of a heap dump: what they have loaded, what keeps them alive, and which pile up",
                Loaders::request,
            ),
            Asked::new(
                "heap_retained",
                "List the objects, classes, loaders, packages or allocation sites of a heap dump that retain most",
                Retained::request,
            ),
            Asked::new(
                "heap_who",
                "Show the stacks that allocated the live objects of a class",
                Who::request,
            ),
            Asked::new(
                "heap_paths",
                "Show the shortest paths from roots to an object, or to the objects of a class: why they are alive",
                Paths::request,
            ),
            Asked::new(
                "heap_object",
                "Show one object of a heap dump: its fields or elements, its text, who refers to it",
                Object::request,
            ),
            Asked::new(
                "heap_diff",
                "Compare two heap dumps by class, loader, package or allocation site, what grew most first",
                HeapDiff::request,
            ),
            Asked::new(
                "start_profile",
                "Start a profile in a running JVM. Measuring allocations or the heap stops the program for a moment at the start \
                 and at each dump, longer for large heaps",
                Start::request,
            )
            .attaching(),
            Asked::new(
                "profile_status",
                "Say if a running JVM is being profiled, since when, and into which file",
                Running::status,
            )
            .attaching(),
            Asked::new(
                "dump_profile",
                "Write the profile of a running JVM so far; profiling continues",
                Running::dump,
            )
            .attaching(),
            Asked::new(
                "stop_profile",
                "Write the profile of a running JVM and end it",
                Running::stop,
            )
            .attaching(),
        ]
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the description of the tool for clients.
    pub fn described(&self) -> Tool {
        let reads = self.effect == Effect::Reads;
        let annotations = ToolAnnotations::new()
            .read_only(reads)
            .destructive(false)
            .open_world(false);
        Tool::new(self.name, self.about, Arc::new(self.schema.clone()))
            .with_annotations(annotations)
    }

    /// Returns the request for a client's arguments.
    pub fn request(&self, arguments: JsonObject, folders: &Folders) -> Result<Request, String> {
        if let Some(unknown) = arguments.keys().find(|name| !self.takes(name)) {
            let names = self.arguments().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "{} has no argument `{unknown}`, only {names}",
                self.name
            ));
        }
        (self.request)(Value::Object(arguments), folders)
    }

    fn takes(&self, argument: &str) -> bool {
        self.arguments().any(|name| name == argument)
    }

    fn arguments(&self) -> impl Iterator<Item = &str> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flat_map(|all| all.keys().map(String::as_str))
    }
}
