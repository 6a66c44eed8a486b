//! Numbers at places that are known to be there: `HeapRecords` has measured the record.

pub(super) use hprof_format::bytes::{
    read_u16_be as u2, read_u32_be as u4, read_u64_be as u8, write_u32_be as put_u4,
    write_u64_be as put_u8,
};
