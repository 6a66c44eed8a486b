//! `TRACE`.

use std::io::Read;

use super::TextError;
use super::lines::Lines;
use super::names::{AssignedIds, CodeLocation, UNKNOWN_FRAME};
use crate::names::UNKNOWN_NAME;
use crate::record::{FrameId, ThreadSerial, TraceSerial};
use crate::record::{Line, Record, TraceRecord};

const FORM: &str = "`TRACE N:` or `TRACE N: (thread=N)`";
const FRAME_FORM: &str = "a frame, `Class.method(File:line)`";
/// The text after a trace that was taken before the VM was live.
const START_PHASE: &str = "(from start phase of JVM)";

pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    names: &mut AssignedIds,
) -> Result<Record<'static>, TextError> {
    let (serial, thread) = head(lines.text()).ok_or_else(|| lines.unexpected(FORM))?;
    let mut frames = Vec::new();
    while let Some(line) = lines.next()? {
        let Some(text) = line.strip_prefix('\t') else {
            lines.put_back();
            break;
        };
        if text == "<empty>" {
            continue;
        }
        match frame(text, names) {
            Some(id) => frames.push(id),
            None => return Err(lines.unexpected(FRAME_FORM)),
        }
    }
    Ok(Record::Trace(TraceRecord {
        serial,
        thread,
        frames: frames.into(),
    }))
}

fn head(line: &str) -> Option<(TraceSerial, ThreadSerial)> {
    let (serial, rest) = line.strip_prefix("TRACE ")?.split_once(':')?;
    let rest = rest.trim();
    let rest = rest.strip_suffix(START_PHASE).unwrap_or(rest).trim_end();
    let thread = match rest {
        "" => 0,
        _ => {
            let id = rest.strip_prefix("(thread=")?.strip_suffix(')')?;
            id.parse().ok()?
        }
    };
    Some((TraceSerial(serial.parse().ok()?), ThreadSerial(thread)))
}

fn frame(text: &str, names: &mut AssignedIds) -> Option<FrameId> {
    if let Some(id) = names.known_frame(text) {
        return Some(id);
    }
    let open = text.rfind('(')?;
    let (method, place) = text.split_at(open);
    let place = place.strip_prefix('(')?.strip_suffix(')')?;
    if method == UNKNOWN_NAME {
        return Some(UNKNOWN_FRAME);
    }
    let (class, method) = method.rsplit_once('.')?;
    let (source_file, line) = match place.rsplit_once(':') {
        Some((source_file, line)) => (source_file, self::line(line)?),
        // Android's agent writes frames as Java does.
        None if place == "Native Method" => ("", Line::Native),
        None => (place, Line::Unknown),
    };
    let source_file = match source_file {
        "<Unknown Source>" | "<Unknown>" | "Unknown Source" => "",
        _ => source_file,
    };
    let place = CodeLocation {
        class,
        method,
        signature: "",
        source_file,
        line,
    };
    Some(names.frame(text, place))
}

fn line(text: &str) -> Option<Line> {
    Some(match text {
        "Unknown line" => Line::Unknown,
        "Native method" => Line::Native,
        "Compiled method" => Line::Compiled,
        _ => Line::Number(text.parse().ok()?),
    })
}
