//! Where the code of compiled methods is.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::jvmti::{CompiledMethod, MethodId};

/// The methods that the VM has told of, by their code. New code takes the place of what was there before, so the table does
/// not outgrow the code cache.
#[derive(Default)]
pub(super) struct CompiledCode(Mutex<BTreeMap<usize, Code>>);

struct Code {
    end: usize,
    method: MethodId,
}

impl CompiledCode {
    /// A method has been compiled.
    pub(super) fn add(&self, compiled: CompiledMethod) {
        let CompiledMethod {
            method,
            start,
            size,
        } = compiled;
        let Some(end) = start.checked_add(size) else {
            return;
        };
        let mut code = self.0.lock();
        // What begins before it and reaches into it is at most one.
        if let Some((&before, old)) = code.range(..start).next_back()
            && old.end > start
        {
            code.remove(&before);
        }
        while let Some((&old, _)) = code.range(start..end).next() {
            code.remove(&old);
        }
        code.insert(start, Code { end, method });
    }

    /// The method whose code is at that address.
    pub(super) fn method_at(&self, address: usize) -> Option<MethodId> {
        let code = self.0.lock();
        let (_, code) = code.range(..=address).next_back()?;
        (address < code.end).then_some(code.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvmti::FrameInfo;

    fn compiled(start: usize, size: usize) -> CompiledMethod {
        let method = FrameInfo::default().method;
        CompiledMethod {
            method,
            start,
            size,
        }
    }

    fn begins(code: &CompiledCode) -> Vec<usize> {
        code.0.lock().keys().copied().collect()
    }

    #[test]
    fn an_address_belongs_to_the_code_around_it() {
        let code = CompiledCode::default();
        code.add(compiled(100, 10));
        let found = [99, 100, 109, 110].map(|address| code.method_at(address).is_some());
        assert_eq!(found, [false, true, true, false]);
    }

    #[test]
    fn new_code_takes_the_place_of_what_it_overlaps() {
        let code = CompiledCode::default();
        for start in [100, 110, 120, 130] {
            code.add(compiled(start, 10));
        }
        code.add(compiled(115, 10));
        assert_eq!(begins(&code), [100, 115, 130]);
        code.add(compiled(90, 100));
        assert_eq!(begins(&code), [90]);
    }
}
