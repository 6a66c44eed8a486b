//! The old prof format: `cpu=old`.

use std::io::Read;

use super::TextError;
use super::lines::Lines;
use super::names::{AssignedIds, CodeLocation};
use crate::record::FrameId;
use crate::record::Line;
use crate::timing::{CallTime, Timing};

/// The first line of the file, and of every table in it.
pub(super) const HEAD: &str = "count callee caller time";
const FORM: &str = "`count callee caller time`: a number, two methods with signatures, a number";
const UNKNOWN_CALLER: &str = "<unknown caller>";
const MILLISECOND: u64 = 1_000_000;

/// Reads from the line that was just read to the end, or to the header of the next table.
pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
) -> Result<Timing<'static>, TextError> {
    let mut calls = Vec::new();
    lines.put_back();
    while let Some(line) = lines.next()? {
        if line == HEAD {
            break;
        }
        if line.is_empty() {
            continue;
        }
        calls.push(call(line, names).ok_or_else(|| lines.unexpected(FORM))?);
    }
    Ok(Timing::Calls(calls.into()))
}

fn call(line: &str, names: &mut AssignedIds) -> Option<CallTime> {
    let (count, rest) = line.split_once(' ')?;
    let (rest, millis) = rest.rsplit_once(' ')?;
    let (callee, caller) = pair(rest)?;
    Some(CallTime {
        calls: count.parse().ok()?,
        callee: method(callee, names)?,
        caller: match caller {
            UNKNOWN_CALLER => None,
            _ => Some(method(caller, names)?),
        },
        total: millis.parse::<u64>().ok()?.saturating_mul(MILLISECOND),
    })
}

/// Splits callee and caller. A method's name may have spaces; the callee ends after its signature.
fn pair(text: &str) -> Option<(&str, &str)> {
    if let Some(callee) = text.strip_suffix(UNKNOWN_CALLER) {
        return Some((callee.strip_suffix(' ')?, UNKNOWN_CALLER));
    }
    let spaces = text.match_indices(' ').map(|(space, _)| space);
    let mut pairs = spaces.map(|space| (&text[..space], &text[space + 1..]));
    pairs.find(|(callee, caller)| split(callee).is_some() && split(caller).is_some())
}

/// Splits `Class.method(SIG)RET` into class, method and signature.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (method, signature) = text.split_at(text.rfind('(')?);
    if signature.rfind(')')? + 1 == signature.len() {
        return None;
    }
    let (class, method) = method.rsplit_once('.')?;
    Some((class, method, signature))
}

fn method(text: &str, names: &mut AssignedIds) -> Option<FrameId> {
    if let Some(id) = names.known_frame(text) {
        return Some(id);
    }
    let (class, method, signature) = split(text)?;
    let place = CodeLocation {
        class,
        method,
        signature,
        source_file: "",
        line: Line::Unknown,
    };
    Some(names.frame(text, place))
}
