//! The attributes of code that the verifier does not read: lines, local variables, annotations of types. The VM still
//! checks some of them when it loads a class, so invalid ones must stay invalid, and valid ones valid.

use crate::error::Fault;
use crate::layout::Layout;
use crate::reader::Reader;

/// Rewrites a LineNumberTable. The entry code belongs to the method's first line, and so does the handler at `handler`.
pub(crate) fn lines(
    contents: &[u8],
    layout: &Layout,
    handler: Option<u32>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut reader = Reader::new(contents);
    let count = reader.u16()?;
    let rows = reader.take(usize::from(count) * 4)?.as_chunks::<4>().0;
    let first = rows.iter().min_by_key(|row| [row[0], row[1]]);
    let handler = handler.and_then(|position| u16::try_from(position).ok());
    let added = handler.zip(first).filter(|_| count < u16::MAX);
    let count = count + u16::from(added.is_some());
    out.extend_from_slice(&count.to_be_bytes());
    for &[a, b, line @ ..] in rows {
        let pc = start_of(u16::from_be_bytes([a, b]), layout);
        out.extend_from_slice(&pc.to_be_bytes());
        out.extend_from_slice(&line);
    }
    if let Some((position, row)) = added {
        out.extend_from_slice(&position.to_be_bytes());
        out.extend_from_slice(&row[2..]);
    }
    out.extend_from_slice(&contents[reader.offset()..]);
    Ok(())
}

/// Rewrites a LocalVariableTable or a LocalVariableTypeTable.
pub(crate) fn variables(contents: &[u8], layout: &Layout, out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut reader = Reader::new(contents);
    let count = reader.u16()?;
    out.extend_from_slice(&count.to_be_bytes());
    let rows = reader.take(usize::from(count) * 10)?;
    for &[a, b, c, d, rest @ ..] in rows.as_chunks::<10>().0 {
        out.extend_from_slice(&span([a, b, c, d], layout));
        out.extend_from_slice(&rest);
    }
    out.extend_from_slice(&contents[reader.offset()..]);
    Ok(())
}

/// Converts a start and a length to their new values.
fn span([a, b, c, d]: [u8; 4], layout: &Layout) -> [u8; 4] {
    let start = u16::from_be_bytes([a, b]);
    let length = u16::from_be_bytes([c, d]);
    let new_start = start_of(start, layout);
    let new_length = match start.checked_add(length) {
        Some(end) => layout.anywhere(end).saturating_sub(new_start),
        // It reaches beyond what any code has, and still does.
        None => length,
    };
    let ([a, b], [c, d]) = (new_start.to_be_bytes(), new_length.to_be_bytes());
    [a, b, c, d]
}

/// Returns the new start; a range from the method's start includes the entry code.
fn start_of(pc: u16, layout: &Layout) -> u16 {
    match pc {
        0 => 0,
        pc => layout.anywhere(pc),
    }
}

/// Rewrites the annotations of the types in code. Neither the VM nor reflection reads them, so those that cannot be
/// read stay unchanged.
pub(crate) fn type_annotations(contents: &[u8], layout: &Layout, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(contents);
    if relocate_annotations(contents, layout, &mut out[start..]).is_err() {
        out[start..].copy_from_slice(contents);
    }
}

/// Writes the new positions into `out`, which holds the same bytes as `contents`.
fn relocate_annotations(contents: &[u8], layout: &Layout, out: &mut [u8]) -> Result<(), Fault> {
    let mut reader = Reader::new(contents);
    for _ in 0..reader.u16()? {
        match reader.u8()? {
            // A local variable: its range.
            0x40 | 0x41 => {
                for _ in 0..reader.u16()? {
                    let at = reader.offset();
                    let row = reader.take(6)?;
                    let moved = span([row[0], row[1], row[2], row[3]], layout);
                    out[at..at + 4].copy_from_slice(&moved);
                }
            }
            // The exception of a handler, by its number.
            0x42 => {
                reader.take(2)?;
            }
            // An instruction, some with the number of a type argument.
            kind @ 0x43..=0x4B => {
                let at = reader.offset();
                let moved = layout.anywhere(reader.u16()?);
                out[at..at + 2].copy_from_slice(&moved.to_be_bytes());
                if kind >= 0x47 {
                    reader.u8()?;
                }
            }
            _ => return Err(Fault::Malformed),
        }
        let path = reader.u8()?;
        reader.take(usize::from(path) * 2)?;
        skip_annotation(&mut reader, 0)?;
    }
    Ok(())
}

/// Skips an annotation. Returns the pool's index of its type.
pub(crate) fn skip_annotation(reader: &mut Reader, depth: u32) -> Result<u16, Fault> {
    let kind = reader.u16()?;
    for _ in 0..reader.u16()? {
        reader.u16()?;
        skip_value(reader, depth)?;
    }
    Ok(kind)
}

fn skip_value(reader: &mut Reader, depth: u32) -> Result<(), Fault> {
    const DEEPEST: u32 = 64;
    if depth > DEEPEST {
        return Err(Fault::Malformed);
    }
    match reader.u8()? {
        b'e' => {
            reader.take(4)?;
        }
        b'@' => {
            skip_annotation(reader, depth + 1)?;
        }
        b'[' => {
            for _ in 0..reader.u16()? {
                skip_value(reader, depth + 1)?;
            }
        }
        _ => {
            reader.take(2)?;
        }
    }
    Ok(())
}
