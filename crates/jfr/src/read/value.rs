//! Values, which are parsed when they are asked for.

use std::borrow::Cow;

use super::chunk::Chunk;
use crate::encoding::{Bytes, RawText};
use crate::error::{Fault, ReadError};
use crate::metadata::{Field, Kind, Type};

/// The most values that stand in each other. The JDK has four: an event, a stack trace, a frame, its method.
const DEEPEST: usize = 16;

/// A value of a field.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// There is none.
    Null,
    /// A truth value.
    Boolean(bool),
    /// An integer of any width.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// The key of a constant, for [`Chunk::constant`].
    Constant(Constant),
    /// Several values with names.
    Struct(Struct<'a>),
    /// Several values of one type.
    Array(Values<'a>),
}

/// Names a constant of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The number of its type.
    pub type_id: u64,
    /// Its key.
    pub key: u64,
}

/// Several values with names: an event, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Struct<'a> {
    pub(super) chunk: &'a Chunk,
    pub(super) of: &'a Type,
    pub(super) bytes: Bytes<'a>,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    pub(super) values: Struct<'a>,
    pub(super) offset: u64,
}

impl<'a> Event<'a> {
    /// Returns its type.
    #[must_use]
    pub fn of(&self) -> &'a Type {
        self.values.of
    }

    /// Returns its values.
    #[must_use]
    pub fn values(&self) -> Struct<'a> {
        self.values
    }

    /// Returns its place in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// Several values of one type.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    chunk: &'a Chunk,
    field: &'a Field,
    bytes: Bytes<'a>,
    left: usize,
}

impl<'a> Values<'a> {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.left
    }

    /// Returns `true` if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Value<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let value = one(self.chunk, self.field, &mut self.bytes, 0);
        if value.is_err() {
            self.left = 0;
        }
        Some(value)
    }
}

impl<'a> Struct<'a> {
    /// Returns its type.
    #[must_use]
    pub fn of(&self) -> &'a Type {
        self.of
    }

    /// Returns the value of a field, and for a constant that value; [`Value::Null`] if there is no such field or constant.
    ///
    /// # Errors
    /// [`ReadError`], if the bytes are not those of the type.
    pub fn get(&self, name: &str) -> Result<Value<'a>, ReadError> {
        match self.raw(name)? {
            Value::Constant(constant) => self.chunk.constant(constant),
            value => Ok(value),
        }
    }

    /// Returns the value of a field; for a constant its key.
    ///
    /// # Errors
    /// [`ReadError`], if the bytes are not those of the type.
    pub fn raw(&self, name: &str) -> Result<Value<'a>, ReadError> {
        let mut bytes = self.bytes;
        for field in &self.of.fields {
            let value = value(self.chunk, field, &mut bytes, 0)?;
            if *field.name == *name {
                return Ok(value);
            }
        }
        Ok(Value::Null)
    }
}

impl Chunk {
    /// Returns the value of a constant; [`Value::Null`] if there is none, as for the key 0.
    ///
    /// # Errors
    /// [`ReadError`], if the bytes are not those of its type.
    pub fn constant(&self, constant: Constant) -> Result<Value<'_>, ReadError> {
        let place = self.constants.get(&(constant.type_id, constant.key));
        let of = self.metadata.of(constant.type_id);
        match place.zip(of) {
            None => Ok(Value::Null),
            Some((&place, of)) => of_type(self, of, &mut self.all().from(place), 0),
        }
    }
}

/// Reads the value of a field; `bytes` is then after it.
pub(super) fn value<'a>(
    chunk: &'a Chunk,
    field: &'a Field,
    bytes: &mut Bytes<'a>,
    depth: usize,
) -> Result<Value<'a>, ReadError> {
    if !field.is_array {
        return one(chunk, field, bytes, depth);
    }
    let left = bytes.count()?;
    let start = *bytes;
    for _ in 0..left {
        one(chunk, field, bytes, depth + 1)?;
    }
    let bytes = start;
    Ok(Value::Array(Values {
        chunk,
        field,
        bytes,
        left,
    }))
}

fn one<'a>(
    chunk: &'a Chunk,
    field: &'a Field,
    bytes: &mut Bytes<'a>,
    depth: usize,
) -> Result<Value<'a>, ReadError> {
    if field.is_constant {
        return Ok(Value::Constant(Constant {
            type_id: field.type_id,
            key: bytes.long()?,
        }));
    }
    let of = chunk.metadata().of(field.type_id);
    let of = of.ok_or_else(|| bytes.fault_at(bytes.at(), Fault::NoType(field.type_id)))?;
    of_type(chunk, of, bytes, depth)
}

/// Reads a value of a type; `bytes` is then after it.
pub(super) fn of_type<'a>(
    chunk: &'a Chunk,
    of: &'a Type,
    bytes: &mut Bytes<'a>,
    depth: usize,
) -> Result<Value<'a>, ReadError> {
    let integer = Value::Integer;
    Ok(match of.kind {
        Kind::Boolean => Value::Boolean(bytes.u8()? != 0),
        Kind::Byte => integer(bytes.u8()?.cast_signed().into()),
        Kind::Char => integer(bytes.short()?.into()),
        Kind::Short => integer(bytes.short()?.cast_signed().into()),
        Kind::Int => {
            let low = u32::try_from(bytes.int()?).unwrap_or(u32::MAX);
            integer(low.cast_signed().into())
        }
        Kind::Long => integer(bytes.long()?.cast_signed()),
        Kind::Float => Value::Float(bytes.float()?.into()),
        Kind::Double => Value::Float(bytes.double()?),
        Kind::Text => match bytes.text()? {
            RawText::Null => Value::Null,
            RawText::Text(text) => Value::Text(text),
            RawText::Constant(key) => Value::Constant(Constant {
                type_id: of.id,
                key,
            }),
        },
        Kind::Fields => {
            // Each value takes a byte or more, so time and memory are in proportion to the file.
            if of.fields.is_empty() {
                return Err(bytes.fault_at(bytes.at(), Fault::NoFields(of.name.to_string())));
            }
            if depth == DEEPEST {
                return Err(bytes.fault_at(bytes.at(), Fault::Nested(DEEPEST)));
            }
            let start = *bytes;
            for field in &of.fields {
                value(chunk, field, bytes, depth + 1)?;
            }
            let bytes = start;
            Value::Struct(Struct { chunk, of, bytes })
        }
    })
}
