//! What a VM and the agent in it answer.

use std::io::{self, Read};

use super::error::Error;
use super::protocol::LONGEST_ANSWER;

/// The most letters of an answer that cannot be understood.
const LONGEST_SHOWN: usize = 80;

/// The VM's answer to a request.
pub struct Answer {
    /// 0 if the VM carried out the request.
    pub code: i32,
    /// The text of the answer.
    pub text: String,
}

impl Answer {
    /// Reads what the VM of a process has written: a line with a number, followed by text.
    pub fn parse(pid: u32, answer: &str) -> Result<Answer, Error> {
        let (code, text) = answer.split_once('\n').unwrap_or((answer, ""));
        match code.trim().parse() {
            Ok(code) => Ok(Answer {
                code,
                text: text.trim_end().to_owned(),
            }),
            Err(_) => Err(Error::Unreadable {
                pid,
                // `{:.80?}` would not cut it.
                answer: format!(
                    "{:?}",
                    answer.chars().take(LONGEST_SHOWN).collect::<String>()
                ),
            }),
        }
    }
}

/// What the agent answers to a command.
pub enum Answered {
    /// It has carried it out.
    Done(String),
    /// It has not, with the reason.
    Refused(String),
}

impl Answered {
    /// Reads the agent's answer: a word, then text; `None` if there is none yet.
    pub fn read(pid: u32, source: impl Read) -> Result<Option<Answered>, Error> {
        let Some(text) = bounded(source, LONGEST_ANSWER).unwrap_or(Some(String::new())) else {
            return Err(Error::TooMuch(pid));
        };
        Ok(match text.split_once('\n') {
            Some(("done", text)) => Some(Answered::Done(text.to_owned())),
            Some(("refused", text)) => Some(Answered::Refused(text.to_owned())),
            _ => None,
        })
    }
}

/// Reads a program's answer to the end; `None` if it is too long.
fn bounded(source: impl Read, longest: u64) -> io::Result<Option<String>> {
    let mut said = Vec::new();
    source.take(longest + 1).read_to_end(&mut said)?;
    let is_bounded = said.len() as u64 <= longest;
    Ok(is_bounded.then(|| String::from_utf8_lossy(&said).into_owned()))
}
