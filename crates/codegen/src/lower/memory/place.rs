//! The operands of accesses: bases, indices and what has to be computed for them.

use crate::lower::memory::address::{Address, Index, Term, shift_of};
use crate::lower::operand::{IntSrc, Src};
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Operand, Slice};
use assay_agx::{Op, Width};
use assay_ssa::{CastOp, InstData, Scalar, ValueDef};

/// The operands of a device access.
pub(in crate::lower) struct DevicePlace {
    pub(in crate::lower) base: Operand,
    pub(in crate::lower) index: Operand,
    pub(in crate::lower) signed: bool,
    pub(in crate::lower) shift: u8,
}

/// The operands of a threadgroup access.
pub(in crate::lower) struct GroupPlace {
    pub(in crate::lower) base: Operand,
    pub(in crate::lower) index: Operand,
}

impl Lowerer<'_> {
    /// A sum modulo the width: `start + (terms + offset) / unit`.
    pub(in crate::lower) fn narrow_offset(
        &mut self,
        address: &Address,
        start: Src,
        width: Width,
        unit: u32,
    ) -> Done<Src> {
        let offset = address.offset / i64::from(unit);
        let constant = crate::lower::operand::cut(offset as u64, width);
        let mut sum = match start.known() {
            Some(bits) => Src::Const(
                crate::lower::operand::cut(bits.wrapping_add(constant), width),
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
        self.op(Op::Iadd, wide, &[operand, crate::lower::operand::imm(0)]);
        Ok(Src::Reg(wide))
    }

    /// The same on 64 bits.
    pub(in crate::lower) fn wide_offset(&mut self, address: &Address, start: Src) -> Done<Src> {
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
    pub(in crate::lower) fn device_place(
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
                index: crate::lower::operand::imm(offset),
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
                index: crate::lower::operand::used(index),
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
            index: crate::lower::operand::imm(0),
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
            index: crate::lower::operand::used(index),
            signed: signed && (first_signed || address.offset < 0),
            shift: shift as u8,
        })
    }

    /// The first term alone starts the sum, so that the constant comes last.
    fn narrow_offset_from_terms(&mut self, address: &Address, zero: Src, unit: u32) -> Done<Src> {
        let Some((first, rest)) = address.terms.split_first() else {
            return self.narrow_offset(address, zero, Width::W32, unit);
        };
        let offset =
            crate::lower::operand::cut((address.offset / i64::from(unit)) as u64, Width::W32);
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
            Src::Uniform(half, Width::W64) if half < crate::lower::memory::layout::BASES => {
                crate::lower::operand::uniform(half, Width::W64, Default::default())
            }
            _ => {
                let slice = self.reg(base);
                crate::lower::operand::used(slice)
            }
        }
    }

    /// The operands of a threadgroup access to elements of `unit` bytes.
    pub(in crate::lower) fn group_place(
        &mut self,
        address: &Address,
        unit: u32,
    ) -> Done<GroupPlace> {
        let start = self.scalar(address.base)?;
        let whole = |offset: i64| {
            Src::Const(
                crate::lower::operand::cut(offset as u64, Width::W16),
                Width::W16,
            )
        };
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
                        base: crate::lower::operand::imm(0),
                        index: crate::lower::operand::imm(elements),
                    });
                }
                Ok(GroupPlace {
                    base: operand,
                    index: crate::lower::operand::imm(0),
                })
            }
            (Some(start), []) if even => Ok(GroupPlace {
                base: self.group_base(start),
                index: crate::lower::operand::imm(offset / i64::from(unit)),
            }),
            // The index register counts elements.
            (start, [term]) if term.scale == unit && (start.is_none() || offset == 0) => {
                let index = self.index_src(*term, Width::W16)?;
                let index = self.reg(index);
                let base = start.unwrap_or(whole(offset));
                Ok(GroupPlace {
                    base: self.group_base(base),
                    index: crate::lower::operand::used(index),
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
                    index: crate::lower::operand::imm(moved / i64::from(unit)),
                })
            }
        }
    }

    fn group_base(&mut self, base: Src) -> Operand {
        match base {
            Src::Const(0, _) => crate::lower::operand::imm(0),
            Src::Const(bits, _) => match self.layout.constant(bits, Width::W16) {
                Some(half) => crate::lower::operand::uniform(half, Width::W16, Default::default()),
                None => crate::lower::operand::used(self.reg(base)),
            },
            Src::Uniform(half, width) => {
                crate::lower::operand::uniform(half, width, Default::default())
            }
            Src::Reg(slice) => crate::lower::operand::used(slice),
        }
    }

    /// The byte offset of a stack access: an immediate or a register.
    pub(in crate::lower) fn stack_place(&mut self, address: &Address) -> Done<Operand> {
        let start = self.scalar(address.base)?;
        let sum = self.narrow_offset(address, start, Width::W32, 1)?;
        Ok(match sum.known() {
            Some(bits) if bits < 0x8000 => crate::lower::operand::imm(bits as i64),
            _ => crate::lower::operand::used(self.reg(sum)),
        })
    }
}
