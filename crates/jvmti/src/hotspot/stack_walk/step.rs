//! The step from one frame of the current thread's stack to the next.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::cache::FrameCache;
use super::compiled::{CodePlace, PlaceKind};
use super::frame::{Code, NumberedMethod, Place, Record};
use super::layout::WORD;
use super::method_ids::MethodIds;
use super::own_stack::{OwnStack, unsigned};
use super::sums::FrameKey;
use super::{LOWEST, StackWalker};
use crate::env::FrameInfo;
use crate::vm_kind::vm_structs::read;

impl StackWalker {
    /// Returns the frame at a position and the position of the next one, `None` after the last. `methods` is the number
    /// of methods in the frames before it.
    #[inline]
    pub(super) fn step(
        &self,
        stack: OwnStack,
        place: Place,
        cache: &mut FrameCache,
        (methods, given): (u32, &[FrameInfo]),
        record: &mut impl Record,
    ) -> Option<(FrameKey, Option<Place>)> {
        let stack = stack.from(place.sp);
        if self.interpreter.contains(&place.pc) {
            let method_at = place.fp.wrapping_add_signed(self.layout.frame.method);
            let bcp_at = place.fp.wrapping_add_signed(self.layout.frame.bcp);
            let (method, bcp) = (stack.word(method_at)?, stack.word(bcp_at)?);
            let Some(id) = self.method_id(cache, method, given.get(methods as usize)) else {
                cache.unknown = Some(methods as usize + 1);
                return None;
            };
            record.read(method_at, method);
            record.read(bcp_at, bcp);
            match self.ids {
                MethodIds::Addresses => record.read(id, method),
                MethodIds::Numbers(_) => record.interprets(NumberedMethod { method, id }),
            }
            let key = FrameKey {
                key: FixedState::default().hash_one((id, bcp)),
                methods: 1,
            };
            Some((key, Some(self.below_interpreted(stack, place, record)?)))
        } else if place.pc == self.call_stub_return {
            Some((FrameKey::default(), self.below_entry(stack, place, record)?))
        } else {
            let code = self.code_place(cache, place.pc)?;
            record.runs(Code {
                blob: code.blob,
                start: code.start,
                identity: code.identity,
                kind: code.kind,
            });
            let key = FrameKey {
                key: code.key,
                methods: code.frames,
            };
            let below = match code.kind {
                PlaceKind::ContinuationEntry => None,
                _ => Some(self.below_compiled(stack, place, code, record)?),
            };
            Some((key, below))
        }
    }

    /// Returns the position of the frame that an anchor holds; `Some(None)` if it holds none: no Java runs below.
    /// `field` returns the value of a field, and the address on the stack from which it was read.
    #[inline(always)]
    pub(super) fn anchored(
        &self,
        stack: OwnStack,
        record: &mut impl Record,
        field: impl Fn(usize) -> Option<(usize, Option<usize>)>,
    ) -> Option<Option<Place>> {
        let mut read = |offset| {
            let (value, address) = field(offset)?;
            if let Some(address) = address {
                record.read(address, value);
            }
            Some(value)
        };
        let sp = read(self.layout.anchor.sp)?;
        if sp == 0 {
            return Some(None);
        }
        let (pc, fp) = (read(self.layout.anchor.pc)?, read(self.layout.anchor.fp)?);
        let pc = match pc {
            // The VM has not needed it so far; it is the return address of the call into the VM.
            0 => {
                let address = sp.checked_sub(WORD)?;
                let pc = stack.word(address)?;
                record.read(address, pc);
                unsigned(pc)
            }
            pc => unsigned(pc),
        };
        let fp = if self.is_found_by_fp(pc) { fp } else { 0 };
        stack.has(sp).then_some(Some(Place { sp, fp, pc }))
    }

    /// Returns `true` if the frame of code at this address is found by the frame pointer.
    #[inline(always)]
    pub(super) fn is_found_by_fp(&self, pc: usize) -> bool {
        self.interpreter.contains(&pc) || pc == self.call_stub_return
    }

    /// Returns the position of a frame whose return address and frame pointer are at these addresses.
    #[inline(always)]
    pub(super) fn returned_to(
        &self,
        stack: OwnStack,
        (sp, fp_at, pc_at): (usize, usize, usize),
        record: &mut impl Record,
    ) -> Option<Place> {
        let pc = stack.word(pc_at)?;
        record.read(pc_at, pc);
        let pc = unsigned(pc);
        let mut fp = 0;
        if self.is_found_by_fp(pc) {
            fp = stack.word(fp_at)?;
            record.read(fp_at, fp);
        }
        stack.has(sp).then_some(Place { sp, fp, pc })
    }

    #[inline(always)]
    pub(super) fn below_interpreted(
        &self,
        stack: OwnStack,
        place: Place,
        record: &mut impl Record,
    ) -> Option<Place> {
        let sp_at = place.fp.wrapping_add_signed(self.layout.frame.sender_sp);
        let mut sp = stack.word(sp_at)?;
        record.read(sp_at, sp);
        if cfg!(target_arch = "aarch64") {
            // The interpreter reserves the whole expression stack of a frame, and the called frame begins within it.
            sp = sp.max(place.fp.wrapping_add(2 * WORD));
        }
        let is_above = place.sp <= place.fp && place.fp < sp;
        let pc_at = place.fp.wrapping_add(WORD);
        self.returned_to(stack, (sp, place.fp, pc_at), record)
            .filter(|_| is_above)
    }

    /// Returns the frame before the one by which the VM called Java.
    #[inline(always)]
    pub(super) fn below_entry(
        &self,
        stack: OwnStack,
        place: Place,
        record: &mut impl Record,
    ) -> Option<Option<Place>> {
        let wrapper_at = place.fp.wrapping_add_signed(self.layout.frame.call_wrapper);
        let wrapper = stack.word(wrapper_at)?;
        record.read(wrapper_at, wrapper);
        let anchor = wrapper.wrapping_add(self.layout.anchor.in_call_wrapper);
        let below = self.anchored(stack, record, |offset| {
            let address = anchor.wrapping_add(offset);
            Some((stack.word(address)?, Some(address)))
        })?;
        let is_above = below.is_none_or(|below| place.sp <= place.fp && place.fp < below.sp);
        is_above.then_some(below)
    }

    /// Returns the frame below that of compiled code or of a stub.
    #[inline(always)]
    pub(super) fn below_compiled(
        &self,
        stack: OwnStack,
        place: Place,
        code: CodePlace,
        record: &mut impl Record,
    ) -> Option<Place> {
        let sp = place.sp.checked_add(code.frame_words as usize * WORD)?;
        self.returned_to(stack, (sp, sp - 2 * WORD, sp - WORD), record)
    }

    /// Returns the `jmethodID` of a method that the interpreter runs.
    #[inline]
    fn method_id(
        &self,
        cache: &mut FrameCache,
        method: usize,
        known: Option<&FrameInfo>,
    ) -> Option<usize> {
        if let MethodIds::Numbers(ids) = &self.ids {
            // SAFETY: the frame, which keeps the method, is one of the current thread.
            return unsafe { ids.of(method) };
        }
        let is_of_method = |&id: &usize| {
            // SAFETY: the id was given by the VM, which never frees what it points to.
            id > LOWEST && id.is_multiple_of(WORD) && unsafe { read::<usize>(id) } == method
        };
        if let Some(id) = cache.method(method).filter(is_of_method) {
            return Some(id);
        }
        let id = known
            .map(|frame| frame.method.address())
            .filter(is_of_method)?;
        cache.set_method(method, id);
        Some(id)
    }

    /// Returns the facts about a return address in code that is not the interpreter's.
    #[inline]
    fn code_place(&self, cache: &mut FrameCache, pc: usize) -> Option<CodePlace> {
        let blob = self.code.blob(pc)?;
        if let Some(place) = cache.place(pc)
            && place.blob == blob
            // SAFETY: the blob was found in the code heaps.
            && place.identity == unsafe { self.layout.identity(blob, place.kind) }
        {
            return Some(place);
        }
        // SAFETY: as is said at the field.
        let continuation_entry = self.continuation_entry.map(|cell| unsafe { read(cell) });
        let start = self.code.block_start(blob)?;
        // SAFETY: the blob is in use and holds `pc`, and the frame that returns there keeps it.
        let place = unsafe { self.layout.place((blob, start), pc, continuation_entry) }?;
        cache.set_place(pc, place);
        Some(place)
    }
}
