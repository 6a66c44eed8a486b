//! The serial numbers and ids of the output, made from the ids of the tables.

use hprof_format as format;

use names::class::ClassId;
use names::frame::FrameId;
use names::object::ObjectId;
use names::string::StringId;
use names::thread::ThreadSerial;
use names::trace::TraceId;

/// The first class is 100001: 0 is no class.
const FIRST_CLASS: u32 = 100_001;
/// The trace without frames is 300000.
const FIRST_TRACE: u32 = 300_000;
/// Frames have ids of 8 bytes, which cannot run out.
const FIRST_FRAME: u64 = 500_000;
/// Id 0 is no string.
const FIRST_STRING: u64 = 1;

/// Returns the number of a class in the output.
pub fn class(id: ClassId) -> format::ClassSerial {
    format::ClassSerial(FIRST_CLASS.saturating_add(id.index()))
}

/// Returns the number of a trace in the output.
pub fn trace(id: TraceId) -> format::TraceSerial {
    format::TraceSerial(FIRST_TRACE.saturating_add(id.index()))
}

/// Returns the number of a frame in the output.
pub fn frame(id: FrameId) -> format::FrameId {
    format::FrameId(FIRST_FRAME + u64::from(id.index()))
}

/// Returns the number of a string in the output.
pub fn string(id: StringId) -> format::StringId {
    format::StringId(FIRST_STRING + u64::from(id.index()))
}

/// Returns the number of an object in the output.
pub fn object(id: ObjectId) -> format::ObjectId {
    format::ObjectId(id.0)
}

/// Returns the number of a thread in the output.
pub fn thread(serial: ThreadSerial) -> format::ThreadSerial {
    format::ThreadSerial(serial.0)
}
