//! Addresses: what of them an access can compute by itself.
//!
//! A device access adds an index of 32 bits, times a power of two of elements, to a
//! 64-bit base. `base + extend(i) * scale + offset` is brought into that form; only what
//! does not fit is computed with 64-bit arithmetic.
//!
//! Offsets of accesses marked in-bounds are computed in 32 bits where they count
//! elements of at least two bytes: no object has 2³² of them.

use super::operand::{IntSrc, Src};
use super::select::{Done, Lowerer};
use crate::mir::{Operand, Slice};
use assay_agx::{Op, Width};
use assay_ssa::{BinaryOp, CastOp, Flags, IndexExtend, InstData, Scalar, Space, Value, ValueDef};

/// How many `ptr_add`s are followed.
const LONGEST: usize = 16;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Value(Value),
    /// Computed for the access itself.
    Reg(Slice),
}

/// An index times a scale in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) index: Index,
    pub(super) scale: u32,
    /// Extended to 64 bits with its sign.
    pub(super) signed: bool,
}

/// A pointer taken apart: base + terms + offset, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Address {
    pub(super) base: Value,
    pub(super) terms: Vec<Term>,
    pub(super) offset: i64,
    /// All steps stay inside the object.
    pub(super) inbounds: bool,
}

/// The operands of a device access.
pub(super) struct DevicePlace {
    pub(super) base: Operand,
    pub(super) index: Operand,
    pub(super) signed: bool,
    pub(super) shift: u8,
}

/// The operands of a threadgroup access.
pub(super) struct GroupPlace {
    pub(super) base: Operand,
    pub(super) index: Operand,
}

impl Lowerer<'_> {
    /// A pointer as its own base.
    const fn itself(ptr: Value) -> Address {
        Address {
            base: ptr,
            terms: Vec::new(),
            offset: 0,
            inbounds: true,
        }
    }

    /// Takes one `ptr_add` off an address; says whether there was one.
    fn unwrap_step(&mut self, address: &mut Address) -> Done<bool> {
        let Some((value, _)) = self.definition(address.base, 0)? else {
            return Ok(false);
        };
        let Some(InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            flags,
        }) = self.function.def_data(value).copied()
        else {
            return Ok(false);
        };
        address.base = base;
        address.offset = address.offset.wrapping_add(offset);
        address.inbounds &= flags.has(Flags::INBOUNDS);
        if let Some(index) = index {
            let signed = extend == IndexExtend::Sign;
            self.index_term(address, index, scale, signed)?;
        }
        Ok(true)
    }

    /// Takes a pointer apart completely, without asking for anything.
    pub(super) fn flatten(&mut self, ptr: Value) -> Done<Address> {
        let mut address = Self::itself(ptr);
        for _ in 0..LONGEST {
            if !self.unwrap_step(&mut address)? {
                break;
            }
        }
        Ok(address)
    }

    /// Takes a pointer apart as far as it pays for an access to elements of `unit` bytes:
    /// a pointer that others use too, or that was computed outside this loop, is a base.
    pub(super) fn address(&mut self, ptr: Value, unit: u32) -> Done<Address> {
        let space = self.function.ty(ptr).space();
        let mut address = Self::itself(ptr);
        let mut best = address.clone();
        let mut least = self.place_cost(&address, space, unit)?;
        for _ in 0..LONGEST {
            if !self.unwrap_step(&mut address)? {
                break;
            }
            let cost = self.place_cost(&address, space, unit)?;
            if cost <= least {
                (best, least) = (address.clone(), cost);
            }
        }
        Ok(best)
    }

    /// What an access at an address costs, in sixteenths of an instruction, with its
    /// share of the base.
    fn place_cost(&mut self, address: &Address, space: Option<Space>, unit: u32) -> Done<u32> {
        let terms = address.terms.len() as u32;
        let moved = u32::from(address.offset != 0);
        let own = match space {
            Some(Space::Threadgroup) => {
                let fixed = self.src_if_known(address.base, 0)?.is_some();
                match &address.terms[..] {
                    [] => 0,
                    [term] if term.scale == unit && (fixed || moved == 0) => 0,
                    _ => terms,
                }
            }
            Some(Space::Thread) => match terms {
                0 => 0,
                _ => terms + moved,
            },
            _ => self.device_cost(address, unit)?,
        };
        Ok(16 * own + self.base_cost(address.base, space)?)
    }

    fn device_cost(&mut self, address: &Address, unit: u32) -> Done<u32> {
        let terms = address.terms.len() as u32;
        let unit = unit.max(1);
        let even = address.offset % i64::from(unit) == 0;
        let elements = address.offset / i64::from(unit);
        if terms == 0 && even && (-0x8000..0x8000).contains(&elements) {
            return Ok(0);
        }
        let mut counted = even && address.inbounds;
        for term in &address.terms {
            counted &= self.is_narrow(*term)? && term.scale % unit == 0;
        }
        counted &= unit >= 2 || address.terms.iter().all(|term| term.scale == 1);
        let first = address.terms.first();
        let direct = first.is_some_and(|term| {
            address.offset == 0 && shift_of(term.scale, unit).is_some_and(|shift| shift <= 2)
        });
        if counted {
            return Ok(terms.saturating_sub(1) + u32::from(!direct));
        }
        if let [term] = address.terms[..]
            && direct
            && self.is_narrow(term)?
        {
            return Ok(0);
        }
        // The base is copied to registers, and everything added there.
        Ok(2 + terms + u32::from(address.offset != 0))
    }

    /// Whether an index has at most 32 bits.
    fn is_narrow(&mut self, term: Term) -> Done<bool> {
        Ok(match term.index {
            Index::Value(value) => self.width(value, 0)? != Width::W64,
            Index::Reg(slice) => slice.width != Width::W64,
        })
    }

    /// The share of computing a base: nothing for arguments and what is there anyway.
    fn base_cost(&mut self, base: Value, space: Option<Space>) -> Done<u32> {
        let Some((value, _)) = self.definition(base, 0)? else {
            return Ok(0);
        };
        let Some(InstData::PtrAdd { .. }) = self.function.def_data(value) else {
            return Ok(0);
        };
        if self.slots[value].is_some() {
            return Ok(0);
        }
        if self.depth_of(value) < self.depth_here() {
            return Ok(4);
        }
        let wide = !matches!(space, Some(Space::Threadgroup | Space::Thread));
        let terms = self.flatten(value)?.terms.len() as u32;
        let whole = terms + if wide { 2 } else { 0 };
        Ok(16 * whole / self.uses[value].max(1))
    }

    fn depth_here(&self) -> u32 {
        self.block.map_or(0, |block| self.depths[block])
    }

    fn depth_of(&self, value: Value) -> u32 {
        self.function
            .def_block(value, &self.inst_blocks)
            .map_or(0, |block| self.depths[block])
    }

    /// Adds `index * scale`, with constants and extensions taken out of the index.
    fn index_term(
        &mut self,
        address: &mut Address,
        index: Value,
        scale: u32,
        signed: bool,
    ) -> Done {
        let (mut index, mut signed) = (index, signed);
        let mut wide = self.function.ty(index).element() == Some(Scalar::I64);
        for _ in 0..LONGEST {
            if let Some(bits) = self.src_if_known(index, 0)? {
                let number = match (self.function.int_type(index), signed) {
                    (Some(scalar), true) => assay_num::int::signed(bits, scalar.bits()),
                    _ => bits as i64,
                };
                let bytes = number.wrapping_mul(i64::from(scale));
                address.offset = address.offset.wrapping_add(bytes);
                return Ok(());
            }
            match self.behind(index, 0)? {
                Some((InstData::Cast { op, arg, .. }, 0)) if wide => {
                    match (op, self.scalar_type(arg)) {
                        (CastOp::ZExt, Some(_)) => signed = false,
                        (CastOp::SExt, Some(Scalar::I32 | Scalar::I16)) => signed = true,
                        _ => break,
                    }
                    index = arg;
                    wide = false;
                }
                // i + constant, which does not wrap.
                Some((
                    InstData::Binary {
                        op: BinaryOp::Add,
                        flags,
                        args: [a, b],
                    },
                    0,
                )) if wide || flags.has(if signed { Flags::NSW } else { Flags::NUW }) => {
                    let Some(bits) = self.src_if_known(b, 0)? else {
                        break;
                    };
                    let width = self.function.int_type(index).map_or(64, Scalar::bits);
                    let number = match signed || wide {
                        true => assay_num::int::signed(bits, width),
                        false => bits as i64,
                    };
                    let bytes = number.wrapping_mul(i64::from(scale));
                    address.offset = address.offset.wrapping_add(bytes);
                    index = a;
                }
                _ => break,
            }
        }
        address.terms.push(Term {
            index: Index::Value(index),
            scale,
            signed,
        });
        Ok(())
    }

    /// A pointer of the result of `ptr_add`, computed.
    pub(super) fn pointer_into(&mut self, ptr: Value, dest: Slice) -> Done {
        let address = self.base_of(ptr)?;
        match self.function.ty(ptr).space() {
            Some(Space::Threadgroup) => {
                let base = self.scalar(address.base)?;
                let sum = self.narrow_offset(&address, base, Width::W16, 1)?;
                self.copy(dest, sum);
            }
            Some(Space::Thread) => {
                let base = self.scalar(address.base)?;
                let sum = self.narrow_offset(&address, base, Width::W32, 1)?;
                self.copy(dest, sum);
            }
            _ => {
                let base = self.scalar(address.base)?;
                let sum = self.wide_offset(&address, base)?;
                self.copy(dest, sum);
            }
        }
        Ok(())
    }

    /// A pointer taken apart up to one that is there anyway.
    fn base_of(&mut self, ptr: Value) -> Done<Address> {
        let mut address = Self::itself(ptr);
        for _ in 0..LONGEST {
            if !self.unwrap_step(&mut address)? {
                break;
            }
            let known = self.definition(address.base, 0)?;
            let there = known.is_some_and(|(value, _)| self.slots[value].is_some());
            let outside = known.is_some_and(|(value, _)| {
                self.depth_of(value) < self.depth_here() && self.function.def_data(value).is_some()
            });
            if there || outside {
                break;
            }
        }
        Ok(address)
    }

    /// A sum modulo the width: `start + (terms + offset) / unit`.
    fn narrow_offset(
        &mut self,
        address: &Address,
        start: Src,
        width: Width,
        unit: u32,
    ) -> Done<Src> {
        let offset = address.offset / i64::from(unit);
        let constant = super::operand::cut(offset as u64, width);
        let mut sum = match start.known() {
            Some(bits) => Src::Const(
                super::operand::cut(bits.wrapping_add(constant), width),
                width,
            ),
            None if constant == 0 => start,
            None => {
                let total = self.temp(width);
                self.add_into(total, start, Src::Const(constant, width));
                Src::Reg(total)
            }
        };
        for term in &address.terms {
            let index = self.index_src(*term, width)?;
            let factor = term.scale / unit;
            let total = self.temp(width);
            match factor {
                0 => continue,
                1 | 2 | 4 | 8 | 16 => {
                    let (a, b) = (Self::bare(sum), Self::bare(index));
                    self.sum(Op::Iadd, total, a, b, factor.trailing_zeros() as u8)?;
                }
                _ => {
                    let factor = Src::Const(u64::from(factor), width);
                    self.mul_add_into(total, index, factor, sum);
                }
            }
            sum = Src::Reg(total);
        }
        Ok(sum)
    }

    fn term_src(&mut self, term: Term) -> Done<Src> {
        match term.index {
            Index::Value(value) => self.scalar(value),
            Index::Reg(slice) => Ok(Src::Reg(slice)),
        }
    }

    /// An index in at most 32 bits.
    fn index_src(&mut self, term: Term, width: Width) -> Done<Src> {
        // The low half of a number that was extended is the number itself.
        if width == Width::W16
            && let Index::Value(value) = term.index
            && let Some((InstData::Cast { op, arg, .. }, at)) = self.behind(value, 0)?
            && matches!(
                (op, self.scalar_type(arg)),
                (CastOp::ZExt, Some(Scalar::I8 | Scalar::I16)) | (CastOp::SExt, Some(Scalar::I16))
            )
        {
            return self.src(arg, at);
        }
        let src = self.term_src(term)?;
        if src.width().halves() > width.halves() {
            return Ok(src.part(0, width));
        }
        if src.width() == width || src.known().is_some() {
            return Ok(src);
        }
        if !term.signed {
            return Ok(src);
        }
        let wide = self.temp(width);
        let source = IntSrc { src, sx: true };
        let operand = self.int_operand(source);
        self.op(Op::Iadd, wide, &[operand, super::operand::imm(0)]);
        Ok(Src::Reg(wide))
    }

    /// The same on 64 bits.
    fn wide_offset(&mut self, address: &Address, start: Src) -> Done<Src> {
        let mut sum = Self::bare(start);
        if address.offset != 0 {
            let total = self.temp(Width::W64);
            let offset = Self::bare(Src::Const(address.offset as u64, Width::W64));
            self.wide_sum(Op::Iadd, total, sum, offset, 0);
            sum = Self::bare(Src::Reg(total));
        }
        for term in &address.terms {
            let src = self.term_src(*term)?;
            let index = IntSrc {
                src,
                sx: term.signed && src.width() != Width::W64,
            };
            let total = self.temp(Width::W64);
            match term.scale {
                1 | 2 | 4 | 8 | 16 => {
                    let by = term.scale.trailing_zeros() as u8;
                    self.wide_sum(Op::Iadd, total, sum, index, by);
                }
                scale if src.width() != Width::W64 => {
                    let factor = Self::bare(Src::Const(u64::from(scale), Width::W32));
                    self.wide_mul_add(total, index, factor, sum);
                }
                scale => {
                    let product = self.temp(Width::W64);
                    let factor = Src::Const(u64::from(scale), Width::W64);
                    self.wide_mul_into(product, src, factor);
                    let product = Self::bare(Src::Reg(product));
                    self.wide_sum(Op::Iadd, total, sum, product, 0);
                }
            }
            sum = Self::bare(Src::Reg(total));
        }
        Ok(sum.src)
    }

    /// The operands of a device access to elements of `unit` bytes, whose index can be
    /// shifted by up to `most`.
    pub(super) fn device_place(
        &mut self,
        address: &Address,
        unit: u32,
        most: u32,
    ) -> Done<DevicePlace> {
        let base = self.scalar(address.base)?;
        let even = address.offset % i64::from(unit) == 0;
        let offset = address.offset / i64::from(unit);
        if address.terms.is_empty() && even && (-0x8000..0x8000).contains(&offset) {
            return Ok(DevicePlace {
                base: self.base_operand(base),
                index: super::operand::imm(offset),
                signed: true,
                shift: 0,
            });
        }
        if let [term] = address.terms[..]
            && address.offset == 0
            && self.is_narrow(term)?
            && let Some(shift) = shift_of(term.scale, unit)
            && shift <= most
        {
            let index = self.index_src(term, Width::W32)?;
            let index = self.word(index);
            return Ok(DevicePlace {
                base: self.base_operand(base),
                index: super::operand::used(index),
                signed: term.signed,
                shift: shift as u8,
            });
        }
        let mut all_narrow = true;
        for term in &address.terms {
            all_narrow &= self.is_narrow(*term)? && term.scale % unit == 0;
        }
        let countable = unit >= 2 || address.terms.iter().all(|term| term.scale == 1);
        if all_narrow && even && address.inbounds && countable {
            let signed = self.may_be_negative(address);
            return self.counted_place(address, base, (unit, most), signed);
        }
        let whole = self.wide_offset(address, base)?;
        Ok(DevicePlace {
            base: self.base_operand(whole),
            index: super::operand::imm(0),
            signed: true,
            shift: 0,
        })
    }

    /// Whether the distance from the base can be negative: not from a buffer's start.
    fn may_be_negative(&mut self, address: &Address) -> bool {
        let base = address.base;
        let is_argument = matches!(self.function.def(base), ValueDef::Param(block, _)
            if Some(block) == self.function.entry());
        !is_argument
    }

    /// A place whose distance is computed in 32 bits, in units of the largest shift all
    /// terms share.
    fn counted_place(
        &mut self,
        address: &Address,
        base: Src,
        (unit, most): (u32, u32),
        signed: bool,
    ) -> Done<DevicePlace> {
        let mut shift = most;
        while shift > 0
            && (address.offset % (i64::from(unit) << shift) != 0
                || address
                    .terms
                    .iter()
                    .any(|term| term.scale % (unit << shift) != 0))
        {
            shift -= 1;
        }
        let zero = Src::Const(0, Width::W32);
        let first_signed = address.terms.iter().any(|term| term.signed);
        let index = self.narrow_offset_from_terms(address, zero, unit << shift)?;
        let index = self.word(index);
        Ok(DevicePlace {
            base: self.base_operand(base),
            index: super::operand::used(index),
            signed: signed && (first_signed || address.offset < 0),
            shift: shift as u8,
        })
    }

    /// The first term alone starts the sum, so that the constant comes last.
    fn narrow_offset_from_terms(&mut self, address: &Address, zero: Src, unit: u32) -> Done<Src> {
        let Some((first, rest)) = address.terms.split_first() else {
            return self.narrow_offset(address, zero, Width::W32, unit);
        };
        let offset = super::operand::cut((address.offset / i64::from(unit)) as u64, Width::W32);
        let index = self.index_src(*first, Width::W32)?;
        let constant = Src::Const(offset, Width::W32);
        let factor = first.scale / unit;
        let start = match (factor, offset) {
            (1, 0) => index,
            (1, _) => {
                let total = self.temp(Width::W32);
                self.add_into(total, index, constant);
                Src::Reg(total)
            }
            (2 | 4 | 8 | 16, _) => {
                let total = self.temp(Width::W32);
                let (a, b) = (Self::bare(constant), Self::bare(index));
                self.sum(Op::Iadd, total, a, b, factor.trailing_zeros() as u8)?;
                Src::Reg(total)
            }
            _ => {
                let total = self.temp(Width::W32);
                let factor = Src::Const(u64::from(factor), Width::W32);
                self.mul_add_into(total, index, factor, constant);
                Src::Reg(total)
            }
        };
        let others = Address {
            terms: rest.to_vec(),
            offset: 0,
            ..address.clone()
        };
        self.narrow_offset(&others, start, Width::W32, unit)
    }

    /// A 32-bit register with an index.
    fn word(&mut self, index: Src) -> Slice {
        match index {
            Src::Reg(slice) if slice.width == Width::W32 => slice,
            Src::Reg(_) | Src::Uniform(_, Width::W16) => {
                let wide = self.temp(Width::W32);
                self.zero_extend_into(wide, index);
                wide
            }
            _ => self.reg(index),
        }
    }

    /// A base in a uniform that accesses can name, or in registers.
    fn base_operand(&mut self, base: Src) -> Operand {
        match base {
            Src::Uniform(half, Width::W64) if half < super::layout::BASES => {
                super::operand::uniform(half, Width::W64, Default::default())
            }
            _ => {
                let slice = self.reg(base);
                super::operand::used(slice)
            }
        }
    }

    /// The operands of a threadgroup access to elements of `unit` bytes.
    pub(super) fn group_place(&mut self, address: &Address, unit: u32) -> Done<GroupPlace> {
        let start = self.scalar(address.base)?;
        let whole =
            |offset: i64| Src::Const(super::operand::cut(offset as u64, Width::W16), Width::W16);
        // A constant start joins the offset.
        let (start, offset) = match start.known() {
            Some(bits) => (None, address.offset.wrapping_add(bits as i64)),
            None => (Some(start), address.offset),
        };
        let even = offset % i64::from(unit) == 0;
        match (start, &address.terms[..]) {
            (None, []) => {
                let operand = self.group_base(whole(offset));
                let elements = offset / i64::from(unit);
                if even && (0..0x8000).contains(&elements) {
                    return Ok(GroupPlace {
                        base: super::operand::imm(0),
                        index: super::operand::imm(elements),
                    });
                }
                Ok(GroupPlace {
                    base: operand,
                    index: super::operand::imm(0),
                })
            }
            (Some(start), []) if even => Ok(GroupPlace {
                base: self.group_base(start),
                index: super::operand::imm(offset / i64::from(unit)),
            }),
            // The index register counts elements.
            (start, [term]) if term.scale == unit && (start.is_none() || offset == 0) => {
                let index = self.index_src(*term, Width::W16)?;
                let index = self.reg(index);
                let base = start.unwrap_or(whole(offset));
                Ok(GroupPlace {
                    base: self.group_base(base),
                    index: super::operand::used(index),
                })
            }
            (start, _) => {
                // Constants stay in the index where they can.
                let (kept, moved) = if even { (0, offset) } else { (offset, 0) };
                let rest = Address {
                    offset: kept,
                    ..address.clone()
                };
                let zero = Src::Const(0, Width::W16);
                let sum = self.narrow_offset(&rest, start.unwrap_or(zero), Width::W16, 1)?;
                Ok(GroupPlace {
                    base: self.group_base(sum),
                    index: super::operand::imm(moved / i64::from(unit)),
                })
            }
        }
    }

    fn group_base(&mut self, base: Src) -> Operand {
        match base {
            Src::Const(0, _) => super::operand::imm(0),
            Src::Const(bits, _) => match self.layout.constant(bits, Width::W16) {
                Some(half) => super::operand::uniform(half, Width::W16, Default::default()),
                None => super::operand::used(self.reg(base)),
            },
            Src::Uniform(half, width) => super::operand::uniform(half, width, Default::default()),
            Src::Reg(slice) => super::operand::used(slice),
        }
    }

    /// The byte offset of a stack access: an immediate or a register.
    pub(super) fn stack_place(&mut self, address: &Address) -> Done<Operand> {
        let start = self.scalar(address.base)?;
        let sum = self.narrow_offset(address, start, Width::W32, 1)?;
        Ok(match sum.known() {
            Some(bits) if bits < 0x8000 => super::operand::imm(bits as i64),
            _ => super::operand::used(self.reg(sum)),
        })
    }
}

/// The shift that makes `scale` of elements of `unit` bytes.
fn shift_of(scale: u32, unit: u32) -> Option<u32> {
    let factor = scale.checked_div(unit)?;
    (factor * unit == scale && factor.is_power_of_two()).then(|| factor.trailing_zeros())
}
