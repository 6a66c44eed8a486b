//! The commands that a receiver may send to an agent which sends it a profile (`net=host:port`).
//!
//! A command is u1 tag, u4 serial number, u4 byte count, and that many bytes; tag 0xFF is alone and ends the commands.
//! All numbers are big-endian.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use crate::bytes::saturated;
use crate::record::ObjectId;

/// The most bytes of a payload that any command uses; the rest is skipped.
const LONGEST: usize = 10;
/// The tag that ends the commands, without a serial number or a byte count.
const END: u8 = 0xff;

/// [`Command::AllocSites`]: report only changes since the last report.
pub const COMMAND_SITES_INCREMENTAL: u16 = 1;
/// [`Command::AllocSites`]: order by allocated bytes instead of live ones.
pub const COMMAND_SITES_BY_ALLOCATION: u16 = 2;
/// [`Command::AllocSites`]: collect garbage first.
pub const COMMAND_SITES_FORCE_GC: u16 = 4;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// 0x01. A garbage collection now.
    ForceGc,
    /// 0x02. A heap dump.
    DumpHeap,
    /// 0x03. An ALLOC SITES record.
    AllocSites {
        /// `COMMAND_SITES_*` bits.
        flags: u16,
        /// Rows are omitted if each of their values is a smaller share of its total; 0 or more.
        cutoff: f32,
    },
    /// 0x04. A HEAP SUMMARY record.
    HeapSummary,
    /// 0x05. Exit of the VM.
    Exit,
    /// 0x06. All traces that have not been written yet.
    DumpTraces,
    /// 0x07. A CPU SAMPLES record.
    CpuSamples {
        /// Rows below this share of all samples are omitted; 0 or more.
        cutoff: f32,
    },
    /// 0x08. A change of what is measured.
    Control(Control),
}

/// The change that [`Command::Control`] requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// 1. Start tracking allocations.
    StartAllocations,
    /// 2. Stop tracking allocations.
    StopAllocations,
    /// 3. Start taking CPU samples of a thread, or of all.
    StartSamples(Threads),
    /// 4. Stop taking CPU samples of a thread, or of all.
    StopSamples(Threads),
    /// 5. Reset CPU samples.
    ClearSamples,
    /// 6, without an argument. Reset allocation sites.
    ClearSites,
    /// 7, or 6 with an argument. Limit traces taken from now on to that many frames.
    Depth(u16),
}

/// The threads of a command about CPU samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads, present and future ones.
    All,
    /// The thread whose START THREAD record names this object.
    One(ObjectId),
}

/// An item received from the receiver of the profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Received {
    /// A command.
    Command(Command),
    /// Something that is not a valid command. It has been skipped by its byte count.
    Refused(Refused),
}

/// The reason a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such tag.
    #[error(
        "command 0x{tag:02x} is unknown ({length} bytes skipped); 0x01 to 0x08 and 0xff are known"
    )]
    Unknown {
        /// The tag.
        tag: u8,
        /// The size of its payload, in bytes.
        length: u32,
    },
    /// The payload is shorter than the command needs.
    #[error("command 0x{tag:02x} has {length} bytes of payload, and needs {needed}")]
    Short {
        /// The tag.
        tag: u8,
        /// The size of its payload, in bytes.
        length: u32,
        /// The number of bytes that it needs.
        needed: u32,
    },
    /// There is no such control.
    #[error("control {0} is unknown; 1 to 7 are known")]
    Control(u16),
    /// A cutoff that is not a number, or negative.
    #[error("command 0x{tag:02x} has the cutoff {}; it must be a number, 0 or more", f32::from_bits(*.bits))]
    Cutoff {
        /// The tag.
        tag: u8,
        /// The cutoff's bits.
        bits: u32,
    },
}

impl Command {
    /// Returns the command's tag.
    #[must_use]
    pub fn tag(&self) -> u8 {
        match self {
            Command::ForceGc => 0x01,
            Command::DumpHeap => 0x02,
            Command::AllocSites { .. } => 0x03,
            Command::HeapSummary => 0x04,
            Command::Exit => 0x05,
            Command::DumpTraces => 0x06,
            Command::CpuSamples { .. } => 0x07,
            Command::Control(_) => 0x08,
        }
    }

    /// Encodes the command for the agent. Thread objects have ids of 8 bytes.
    #[must_use]
    pub fn encode(&self, serial: u32) -> Vec<u8> {
        let payload = self.payload();
        let mut bytes = vec![self.tag()];
        bytes.extend_from_slice(&serial.to_be_bytes());
        bytes.extend_from_slice(&saturated(payload.len()).to_be_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    }

    fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::with_capacity(LONGEST);
        let mut put_u16 = |value: u16| payload.extend_from_slice(&value.to_be_bytes());
        match *self {
            Command::AllocSites { flags, .. } => put_u16(flags),
            Command::CpuSamples { .. } => put_u16(0),
            Command::Control(control) => {
                put_u16(control.number());
                if let Control::Depth(depth) = control {
                    put_u16(depth);
                }
            }
            _ => {}
        }
        match *self {
            Command::AllocSites { cutoff, .. } | Command::CpuSamples { cutoff } => {
                payload.extend_from_slice(&cutoff.to_bits().to_be_bytes());
            }
            Command::Control(Control::StartSamples(threads) | Control::StopSamples(threads)) => {
                let object = match threads {
                    Threads::All => 0,
                    Threads::One(object) => object.0,
                };
                payload.extend_from_slice(&object.to_be_bytes());
            }
            _ => {}
        }
        payload
    }
}

/// Prints the command in the syntax of `hprof recv`.
impl fmt::Display for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::ForceGc => formatter.write_str("force-gc"),
            Command::DumpHeap => formatter.write_str("dump-heap"),
            Command::AllocSites { flags, cutoff } => {
                write!(formatter, "alloc-sites {flags} {cutoff}")
            }
            Command::HeapSummary => formatter.write_str("heap-summary"),
            Command::Exit => formatter.write_str("exit"),
            Command::DumpTraces => formatter.write_str("dump-traces"),
            Command::CpuSamples { cutoff } => write!(formatter, "cpu-samples {cutoff}"),
            Command::Control(control) => write!(formatter, "control {control}"),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Control::StartAllocations => formatter.write_str("start-allocations"),
            Control::StopAllocations => formatter.write_str("stop-allocations"),
            Control::StartSamples(threads) => write!(formatter, "start-samples{threads}"),
            Control::StopSamples(threads) => write!(formatter, "stop-samples{threads}"),
            Control::ClearSamples => formatter.write_str("clear-samples"),
            Control::ClearSites => formatter.write_str("clear-sites"),
            Control::Depth(depth) => write!(formatter, "depth {depth}"),
        }
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threads::All => Ok(()),
            Threads::One(object) => write!(formatter, " {}", object.0),
        }
    }
}

impl Control {
    fn number(self) -> u16 {
        match self {
            Control::StartAllocations => 1,
            Control::StopAllocations => 2,
            Control::StartSamples(_) => 3,
            Control::StopSamples(_) => 4,
            Control::ClearSamples => 5,
            Control::ClearSites => 6,
            Control::Depth(_) => 7,
        }
    }
}

/// The commands that arrive over a connection, one after another.
///
/// Memory is bounded whatever arrives, and every command takes exactly the bytes that its byte count states.
#[derive(Debug)]
pub struct Commands<R> {
    source: R,
}

impl<R: Read> Commands<R> {
    /// Reads commands from `source`, in small pieces: a socket does not need a buffer, since commands are few.
    pub fn new(source: R) -> Self {
        Self { source }
    }

    /// Waits for the next command. `None` is the end: the end tag, a closed connection, even in the middle of a
    /// command, or a connection error.
    pub fn receive(&mut self) -> Option<Received> {
        self.read().unwrap_or(None)
    }

    fn read(&mut self) -> io::Result<Option<Received>> {
        let [tag] = self.bytes()?;
        if tag == END {
            return Ok(None);
        }
        let _serial: [u8; 4] = self.bytes()?;
        let length = u32::from_be_bytes(self.bytes()?);
        let mut payload = [0; LONGEST];
        let payload = &mut payload[..LONGEST.min(length as usize)];
        self.source.read_exact(payload)?;
        let rest = u64::from(length) - payload.len() as u64;
        if io::copy(&mut self.source.by_ref().take(rest), &mut io::sink())? < rest {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let payload = Payload {
            tag,
            length,
            bytes: payload,
        };
        Ok(Some(match payload.command() {
            Ok(command) => Received::Command(command),
            Err(refused) => Received::Refused(refused),
        }))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// The first bytes of a payload; `length` is its full size.
struct Payload<'a> {
    tag: u8,
    length: u32,
    bytes: &'a [u8],
}

impl Payload<'_> {
    fn command(&self) -> Result<Command, Refused> {
        Ok(match self.tag {
            0x01 => Command::ForceGc,
            0x02 => Command::DumpHeap,
            0x03 => Command::AllocSites {
                flags: self.u16(0)?,
                cutoff: self.cutoff()?,
            },
            0x04 => Command::HeapSummary,
            0x05 => Command::Exit,
            0x06 => Command::DumpTraces,
            0x07 => Command::CpuSamples {
                cutoff: self.cutoff()?,
            },
            0x08 => Command::Control(self.control()?),
            tag => {
                return Err(Refused::Unknown {
                    tag,
                    length: self.length,
                });
            }
        })
    }

    fn control(&self) -> Result<Control, Refused> {
        Ok(match self.u16(0)? {
            1 => Control::StartAllocations,
            2 => Control::StopAllocations,
            3 => Control::StartSamples(self.threads()?),
            4 => Control::StopSamples(self.threads()?),
            5 => Control::ClearSamples,
            // In the specification this control sets the depth; the original agent clears the sites.
            6 if self.length == 2 => Control::ClearSites,
            6 | 7 => Control::Depth(self.u16(2)?),
            other => return Err(Refused::Control(other)),
        })
    }

    /// Reads an id of 8 bytes, as this agent writes them, or of 4, as receivers for the original send them.
    fn threads(&self) -> Result<Threads, Refused> {
        let object = match self.length {
            10.. => u64::from_be_bytes(self.at(2)?),
            _ => u64::from(u32::from_be_bytes(self.at(2)?)),
        };
        Ok(match object {
            0 => Threads::All,
            object => Threads::One(ObjectId(object)),
        })
    }

    /// Reads the cutoff, which follows a u2 in both commands that have one.
    fn cutoff(&self) -> Result<f32, Refused> {
        let bits = u32::from_be_bytes(self.at(2)?);
        let cutoff = f32::from_bits(bits);
        if cutoff >= 0.0 {
            return Ok(cutoff);
        }
        Err(Refused::Cutoff {
            tag: self.tag,
            bits,
        })
    }

    fn u16(&self, offset: usize) -> Result<u16, Refused> {
        self.at(offset).map(u16::from_be_bytes)
    }

    fn at<const N: usize>(&self, offset: usize) -> Result<[u8; N], Refused> {
        let bytes = self.bytes.get(offset..offset + N);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(Refused::Short {
                tag: self.tag,
                length: self.length,
                needed: saturated(offset + N),
            })
    }
}
