//! STRING.

use std::borrow::Cow;

use super::ids::StringId;
use super::payload::{Payload, PayloadWriter};
use crate::fields::{Fields, Misfit};

/// A text under an id: u8 id, bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct StringRecord<'a> {
    /// The id under which later records name it, from 1; see [`StringId`] for ids with a meaning.
    pub id: StringId,
    /// The text as UTF-8, without a terminator; files from other writers may hold modified UTF-8 or worse. The binary
    /// format holds up to 2^32 - 9 bytes; what exceeds them is not written.
    pub text: Cow<'a, [u8]>,
}

impl<'a> Payload<'a> for StringRecord<'a> {
    type Rows = ();
    type Owned = StringRecord<'static>;

    fn decode(fields: &mut Fields<'a>, (): &'a mut ()) -> Result<Self, Misfit> {
        Ok(StringRecord {
            id: StringId(fields.id()?),
            text: Cow::Borrowed(fields.take_rest()),
        })
    }

    fn encode(&self, out: &mut PayloadWriter<'_>) {
        out.id(self.id.0);
        out.bytes(PayloadWriter::fitting(&self.text, 8, 1));
    }

    fn id(&self) -> Option<u64> {
        Some(self.id.0)
    }

    fn into_owned(self) -> Self::Owned {
        StringRecord {
            text: Cow::Owned(self.text.into_owned()),
            ..self
        }
    }
}
