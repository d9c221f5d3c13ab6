//! Loads, stores and copies of memory.
//!
//! A value is moved in runs of up to four elements side by side, in memory and in
//! registers. Elements are as large as the alignment allows: a word aligned to two bytes
//! moves as two halves of its register.

use crate::lower::leaf::{LeafKind, LeafType};
use crate::lower::memory::address::Address;
use crate::lower::operand::{Src, choice, used};
use crate::lower::select::{Done, Lowerer, element, shift};
use crate::mir::{Inst, Memory, Operand, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::{Access, Ordering, Scalar, Space, Value, ValueDef};

/// Alias sets of what is no buffer.
const GROUP: u32 = 1 << 16;
const DYNAMIC_GROUP: u32 = 2 << 16;
const STACK: u32 = 3 << 16;
pub(in crate::lower) const UNIFORMS: u32 = 4 << 16;

/// Most bytes that are copied at once.
const MOST_COPIED: u64 = 256;
/// The largest shift of an index.
const MOST_SHIFT: u32 = 2;

/// Whether memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) enum Direction {
    Load,
    Store,
}

/// Numbers that lie side by side in memory and in registers: where they start, and how
/// many there are.
pub(in crate::lower) fn runs(leaves: &[LeafType]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut start = 0;
    while let Some(first) = leaves.get(start) {
        let (width, bytes) = (first.width(), first.bytes());
        let most = (16 / usize::from(width.halves())).min(4);
        let truth = |leaf: &LeafType| leaf.kind == LeafKind::Scalar(Scalar::I1);
        let mut len = 1;
        while len < most
            && leaves.get(start + len).is_some_and(|leaf| {
                leaf.width() == width
                    && leaf.bytes() == bytes
                    && truth(leaf) == truth(first)
                    && leaf.offset == first.offset + len as u32 * bytes
            })
        {
            len += 1;
        }
        runs.push((start, len));
        start += len;
    }
    runs
}

/// The elements an access moves, as far as its first number says.
fn first_unit(leaves: &[LeafType], access: Access) -> u32 {
    let bytes = leaves.first().map_or(4, |leaf| leaf.bytes());
    bytes.min(4).min(access.align()).max(1)
}

impl Lowerer<'_> {
    /// What an access is to whoever wants to move it.
    pub(in crate::lower) fn memory(
        &mut self,
        address: &Address,
        space: Space,
        access: Access,
    ) -> Memory {
        Memory {
            alias: self.alias(address, space),
            invariant: space == Space::Constant || access.invariant,
            fence: access.volatile || access.ordering > Ordering::Relaxed,
        }
    }

    pub(in crate::lower) fn alias(&mut self, address: &Address, space: Space) -> Option<u32> {
        if space == Space::Thread {
            return Some(STACK);
        }
        let mut base = address.base;
        // Through pointers that were computed elsewhere.
        while let Some(assay_ssa::InstData::PtrAdd { base: inner, .. }) =
            self.function.def_data(base)
        {
            base = *inner;
        }
        match self.function.def(base) {
            ValueDef::Global(id) => Some(GROUP | assay_ssa::Id::index(id) as u32),
            ValueDef::Param(block, index) if Some(block) == self.function.entry() => {
                let argument = self.kernel.argument_of_param(index)?;
                match space {
                    Space::Threadgroup => Some(DYNAMIC_GROUP | index),
                    _ => argument.no_alias.then_some(index),
                }
            }
            _ => None,
        }
    }

    pub(in crate::lower) fn space(&self, ptr: Value) -> Done<Space> {
        match self.function.ty(ptr).space() {
            Some(Space::Generic) | None => {
                self.unsupported("a pointer of an unknown address space")
            }
            Some(space) => Ok(space),
        }
    }

    pub(in crate::lower) fn load(&mut self, ptr: Value, access: Access, result: Value) -> Done {
        let space = self.space(ptr)?;
        let leaves = self.leaves(self.function.ty(result))?;
        let unit = first_unit(&leaves, access);
        let address = self.address(ptr, unit)?;
        let slots: Vec<Option<Slice>> = match &self.slots[result] {
            Some(slots) => slots.to_vec(),
            None => vec![None; leaves.len()],
        };
        for (start, len) in runs(&leaves) {
            let Some(first) = slots.get(start).copied().flatten() else {
                // Nobody needs this part (or, of a volatile load, any).
                continue;
            };
            let Some(leaf) = leaves.get(start) else {
                continue;
            };
            let data = Slice {
                count: len as u8,
                ..first
            };
            let memory = self.memory(&address, space, access);
            self.transfer(
                Direction::Load,
                space,
                &address,
                leaf.offset,
                (leaf.bytes(), access.align()),
                data,
                memory,
            )?;
            if leaf.kind == LeafKind::Scalar(Scalar::I1) {
                // Any byte that is not zero is true.
                for index in 0..len as u8 {
                    let byte = element(data, index);
                    let condition = self.truth(Src::Reg(byte));
                    self.truth_into(byte, condition);
                }
            }
        }
        Ok(())
    }

    pub(in crate::lower) fn store(&mut self, ptr: Value, value: Value, access: Access) -> Done {
        let space = self.space(ptr)?;
        let leaves = self.leaves(self.function.ty(value))?;
        let unit = first_unit(&leaves, access);
        let address = self.address(ptr, unit)?;
        for (start, len) in runs(&leaves) {
            let Some(leaf) = leaves.get(start) else {
                continue;
            };
            let mut sources = Vec::with_capacity(len);
            for lane in start..start + len {
                sources.push(self.src(value, lane as u32)?);
            }
            let data = self.side_by_side(&sources);
            let memory = self.memory(&address, space, access);
            self.transfer(
                Direction::Store,
                space,
                &address,
                leaf.offset,
                (leaf.bytes(), access.align()),
                data,
                memory,
            )?;
        }
        Ok(())
    }

    /// Numbers of one width in registers side by side: where they are, or copied.
    pub(in crate::lower) fn side_by_side(&mut self, sources: &[Src]) -> Slice {
        let count = sources.len() as u8;
        if let Some(Src::Reg(first)) = sources.first() {
            let whole = Slice { count, ..*first };
            let in_row = (0..count).zip(sources).all(|(index, src)| {
                let place = Slice {
                    half: first.half + index * first.width.halves() as u8,
                    ..*first
                };
                *src == Src::Reg(place)
            });
            // Wide elements must start where the register allows.
            let aligned = first.half.is_multiple_of(first.width.halves().min(2) as u8);
            if in_row && aligned {
                return whole;
            }
        }
        let width = sources.first().map_or(Width::W32, |src| src.width());
        let group = self.group(width, count);
        let pairs: Vec<(Slice, Src)> = (0..count)
            .zip(sources)
            .map(|(index, src)| (element(group, index), *src))
            .collect();
        self.copies(&pairs);
        group
    }

    /// Moves `data`, whose elements have `bytes` in memory, `at` bytes behind an address.
    #[allow(clippy::too_many_arguments, reason = "an access is what it is")]
    pub(in crate::lower) fn transfer(
        &mut self,
        direction: Direction,
        space: Space,
        address: &Address,
        at: u32,
        (bytes, align): (u32, u32),
        data: Slice,
        memory: Memory,
    ) -> Done {
        let known = align.min(1 << at.trailing_zeros().min(16)).max(1);
        let unit = bytes.min(4).min(known);
        if bytes == 1 {
            return self.pieces(direction, space, address, at, 1, data, memory);
        }
        if unit == 1 {
            return self.bytewise(direction, space, address, at, data, memory);
        }
        let width = if unit == 2 { Width::W16 } else { Width::W32 };
        let data = Slice {
            width,
            count: data.halves() / width.halves() as u8,
            ..data
        };
        self.pieces(direction, space, address, at, unit, data, memory)
    }

    /// Accesses of up to four elements each.
    #[allow(clippy::too_many_arguments, reason = "an access is what it is")]
    fn pieces(
        &mut self,
        direction: Direction,
        space: Space,
        address: &Address,
        at: u32,
        unit: u32,
        data: Slice,
        memory: Memory,
    ) -> Done {
        let mut done = 0;
        while done < data.count {
            let count = (data.count - done).min(4);
            let piece = Slice {
                count,
                ..element(data, done)
            };
            let place = Address {
                offset: address.offset + i64::from(at) + i64::from(u32::from(done) * unit),
                ..address.clone()
            };
            self.access(direction, space, &place, unit, piece, memory)?;
            done += count;
        }
        Ok(())
    }

    /// Data aligned to single bytes.
    fn bytewise(
        &mut self,
        direction: Direction,
        space: Space,
        address: &Address,
        at: u32,
        data: Slice,
        memory: Memory,
    ) -> Done {
        for index in 0..data.halves() {
            let half = Slice {
                half: data.half + index,
                width: Width::W16,
                count: 1,
                ..data
            };
            let both = self.group(Width::W16, 2);
            let (low, high) = (element(both, 0), element(both, 1));
            let here = at + 2 * u32::from(index);
            if direction == Direction::Store {
                self.mask_into(low, Src::Reg(half), 0xff);
                self.shr_into(high, Src::Reg(half), Src::Const(8, Width::W16));
            }
            self.pieces(direction, space, address, here, 1, both, memory)?;
            if direction == Direction::Load {
                let sources = [used(low), used(high), crate::lower::operand::imm(8)];
                self.op(Op::Bfi, half, &sources);
            }
        }
        Ok(())
    }

    /// One access.
    fn access(
        &mut self,
        direction: Direction,
        space: Space,
        address: &Address,
        unit: u32,
        data: Slice,
        memory: Memory,
    ) -> Done {
        let format = choice(List::Format, unit.trailing_zeros() as u8);
        let operand = match direction {
            Direction::Load => Operand::Def(data),
            Direction::Store => used(data),
        };
        let load = direction == Direction::Load;
        let mut inst = match space {
            Space::Device | Space::Constant => {
                let place = self.device_place(address, unit, MOST_SHIFT)?;
                let op = if load {
                    Op::DeviceLoad
                } else {
                    Op::DeviceStore
                };
                let inst = Inst::new(op)
                    .with(Field::Format, format)
                    .with(Field::Data, operand)
                    .with(Field::Base, place.base)
                    .with(Field::Index, place.index)
                    .with(
                        Field::IndexSign,
                        choice(List::Sign, u8::from(!place.signed)),
                    );
                match place.shift {
                    0 => inst,
                    by => inst.with(Field::Shift, shift(by)),
                }
            }
            Space::Threadgroup => {
                let place = self.group_place(address, unit)?;
                let op = match load {
                    true => Op::ThreadgroupLoad,
                    false => Op::ThreadgroupStore,
                };
                Inst::new(op)
                    .with(Field::Format, format)
                    .with(Field::Data, operand)
                    .with(Field::Base, place.base)
                    .with(Field::Index, place.index)
            }
            Space::Thread => {
                let index = self.stack_place(address)?;
                let op = if load { Op::StackLoad } else { Op::StackStore };
                Inst::new(op)
                    .with(Field::Format, format)
                    .with(Field::Data, operand)
                    .with(Field::Index, index)
            }
            Space::Generic => return self.unsupported("a pointer of an unknown address space"),
        };
        inst.memory = Some(memory);
        self.push(inst);
        Ok(())
    }

    /// Copies a known number of bytes.
    pub(in crate::lower) fn copy_memory(
        &mut self,
        dst: Value,
        src: Value,
        size: Value,
        align: u32,
    ) -> Done {
        let Some(size) = self
            .src_if_known(size, 0)?
            .filter(|size| *size <= MOST_COPIED)
        else {
            return self.unsupported("a copy of a varying amount of memory");
        };
        let (from, to) = (self.space(src)?, self.space(dst)?);
        let unit = align.min(4);
        let (source, target) = (self.address(src, unit)?, self.address(dst, unit)?);
        let access = Access::aligned(align);
        let (reads, writes) = (
            self.memory(&source, from, access),
            self.memory(&target, to, access),
        );
        // All loads of a piece come before its stores, so that areas may touch.
        let mut moved = Vec::new();
        for (at, bytes, count) in chunks(size as u32) {
            let width = if bytes == 4 { Width::W32 } else { Width::W16 };
            let data = self.group(width, count);
            self.transfer(
                Direction::Load,
                from,
                &source,
                at,
                (bytes, align),
                data,
                reads,
            )?;
            moved.push((at, bytes, data));
        }
        for (at, bytes, data) in moved {
            self.transfer(
                Direction::Store,
                to,
                &target,
                at,
                (bytes, align),
                data,
                writes,
            )?;
        }
        Ok(())
    }

    /// Fills a known number of bytes.
    pub(in crate::lower) fn fill_memory(
        &mut self,
        dst: Value,
        byte: Value,
        size: Value,
        align: u32,
    ) -> Done {
        let Some(size) = self
            .src_if_known(size, 0)?
            .filter(|size| *size <= MOST_COPIED)
        else {
            return self.unsupported("a fill of a varying amount of memory");
        };
        let space = self.space(dst)?;
        let target = self.address(dst, align.min(4))?;
        let memory = self.memory(&target, space, Access::aligned(align));
        let byte = self.scalar(byte)?;
        let word = match byte.known() {
            Some(bits) => Src::Const(bits * 0x0101_0101, Width::W32),
            None => {
                let word = self.temp(Width::W32);
                let ones = Src::Const(0x0101_0101, Width::W32);
                self.mul_add_into(word, byte, ones, Src::Const(0, Width::W32));
                Src::Reg(word)
            }
        };
        for (at, bytes, count) in chunks(size as u32) {
            let part = match bytes {
                4 => word,
                2 => word.part(0, Width::W16),
                _ => byte,
            };
            let data = self.side_by_side(&vec![part; usize::from(count)]);
            let store = Direction::Store;
            self.transfer(store, space, &target, at, (bytes, align), data, memory)?;
        }
        Ok(())
    }
}

/// Bytes as runs of up to four words, then what is left: offset, element size, count.
fn chunks(size: u32) -> Vec<(u32, u32, u8)> {
    let mut chunks = Vec::new();
    let mut at = 0;
    while at < size {
        let left = size - at;
        let (bytes, count) = match left {
            1 => (1, 1),
            2 | 3 => (2, 1),
            _ => (4, (left / 4).min(4)),
        };
        chunks.push((at, bytes, count as u8));
        at += bytes * count;
    }
    chunks
}
