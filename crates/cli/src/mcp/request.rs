//! The parts that requests have in common.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{LEAST, MOST, USUAL};

/// The rows of an answer unless others are asked for.
const ROWS: usize = 20;
/// The most rows; an answer has room for fewer.
const MOST_ROWS: usize = 1000;

/// The part of an answer.
#[derive(Deserialize, JsonSchema)]
pub struct Page {
    /// The number of rows to leave out before the first one that is shown
    #[serde(default)]
    skip: usize,
    /// The most rows, up to 1000
    #[serde(default = "usual_rows")]
    rows: usize,
    /// The most bytes of the answer, from 2048 to 262144
    #[serde(default = "usual_limit")]
    limit: usize,
}

fn usual_rows() -> usize {
    ROWS
}

fn usual_limit() -> usize {
    USUAL
}

impl Page {
    /// Returns the number of rows that a command has to print: one more than are shown says if there are others.
    pub fn printed(&self) -> String {
        let rows = self.skip.saturating_add(self.rows());
        rows.saturating_add(1).to_string()
    }

    /// Returns the rows that are left out before the first.
    pub fn skip(&self) -> usize {
        self.skip
    }

    /// Returns the most rows.
    pub fn rows(&self) -> usize {
        self.rows.clamp(1, MOST_ROWS)
    }

    /// Returns the most bytes.
    pub fn limit(&self) -> usize {
        self.limit.clamp(LEAST, MOST)
    }
}

/// The basis of the numbers of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestsOn {
    /// The answer says it in its field `basis`.
    Basis,
    /// All objects of a dump.
    Objects,
    /// The program as it is now.
    Program,
}

/// A command line for a request.
pub struct Request {
    pub arguments: Vec<OsString>,
    pub page: Page,
    /// The place of the rows in the command's answer, as a JSON pointer; `None` if it prints lines of text.
    pub rows: Option<&'static str>,
    pub rests_on: RestsOn,
}

impl Request {
    /// Creates the request for a command that prints JSON.
    pub fn json(words: &[&str], rows: &'static str, rests_on: RestsOn, page: Page) -> Request {
        let words = words.iter().copied().chain(["--json"]);
        Request {
            arguments: words.map(OsString::from).collect(),
            page,
            rows: Some(rows),
            rests_on,
        }
    }

    /// Creates the request for a command that prints lines.
    pub fn lines(words: &[&str], page: Page) -> Request {
        Request {
            arguments: words.iter().map(OsString::from).collect(),
            page,
            rows: None,
            rests_on: RestsOn::Program,
        }
    }

    /// Adds a file, whose path is absolute and so never taken for an option.
    pub fn file(mut self, path: &Path) -> Request {
        debug_assert!(path.is_absolute());
        self.arguments.push(path.into());
        self
    }

    /// Adds the files to compare, and the numbers of their parts under the name of an option.
    pub fn pair(self, files: &[PathBuf], option: &str, parts: Option<[u32; 2]>) -> Request {
        let parts = parts.into_iter().flatten();
        let request = parts.fold(self, |request, part| request.option(option, Some(part)));
        files
            .iter()
            .fold(request, |request, file| request.file(file))
    }

    /// Adds an option with its value, if there is one. The value is never taken for another option.
    pub fn option(mut self, name: &str, value: Option<impl ToString>) -> Request {
        if let Some(value) = value {
            self.arguments
                .push(format!("--{name}={}", value.to_string()).into());
        }
        self
    }

    /// Adds an option without a value, if it is wanted.
    pub fn flag(mut self, name: &str, is_wanted: bool) -> Request {
        if is_wanted {
            self.arguments.push(format!("--{name}").into());
        }
        self
    }
}
