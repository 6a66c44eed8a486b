//! The VM's own dumper, whose file is rewritten.

use std::path::Path;
use std::sync::Arc;

use super::{DumpError, DumpOutput, Dumped, HeapDumper, Subject};
use crate::engines::stack::Stacks;
use crate::jvmti::{Env, Jni};
use crate::tables::Tables;

/// Dumps with the VM's own dumper.
pub struct VmEngine;

impl VmEngine {
    /// A dumper that puts its temporary file beside `target`.
    pub fn new(_env: Env, _tables: Arc<Tables>, _stacks: Arc<Stacks>, _target: &Path) -> Self {
        Self
    }
}

impl HeapDumper for VmEngine {
    fn dump(
        &self,
        _jni: Jni<'_>,
        _subject: &Subject<'_>,
        _output: &mut dyn DumpOutput,
    ) -> Result<Dumped, DumpError> {
        Err(DumpError::NoDumper("the VM's dumper cannot be called"))
    }
}
