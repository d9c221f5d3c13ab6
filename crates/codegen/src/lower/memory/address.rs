//! Addresses: what of them an access can compute by itself.
//!
//! A device access adds an index of 32 bits, times a power of two of elements, to a
//! 64-bit base. `base + extend(i) * scale + offset` is brought into that form; only what
//! does not fit is computed with 64-bit arithmetic.
//!
//! Offsets of accesses marked in-bounds are computed in 32 bits where they count
//! elements of at least two bytes: no object has 2³² of them.

use crate::lower::select::{Done, Lowerer};
use crate::mir::Slice;
use assay_agx::Width;
use assay_ssa::{BinaryOp, CastOp, Flags, IndexExtend, InstData, Scalar, Space, Value};

/// How many `ptr_add`s are followed.
const LONGEST: usize = 16;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) enum Index {
    Value(Value),
    /// Computed for the access itself.
    Reg(Slice),
}

/// An index times a scale in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Term {
    pub(in crate::lower) index: Index,
    pub(in crate::lower) scale: u32,
    /// Extended to 64 bits with its sign.
    pub(in crate::lower) signed: bool,
}

/// A pointer taken apart: base + terms + offset, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::lower) struct Address {
    pub(in crate::lower) base: Value,
    pub(in crate::lower) terms: Vec<Term>,
    pub(in crate::lower) offset: i64,
    /// All steps stay inside the object.
    pub(in crate::lower) inbounds: bool,
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
    pub(in crate::lower) fn flatten(&mut self, ptr: Value) -> Done<Address> {
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
    pub(in crate::lower) fn address(&mut self, ptr: Value, unit: u32) -> Done<Address> {
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
    pub(in crate::lower) fn is_narrow(&mut self, term: Term) -> Done<bool> {
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
        let is_local = self.function.ty(address.base).space() == Some(Space::Threadgroup);
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
                // i + constant, which does not wrap, or wraps where the address does.
                Some((
                    InstData::Binary {
                        op: BinaryOp::Add,
                        flags,
                        args: [a, b],
                    },
                    0,
                )) if wide
                    || flags.has(if signed { Flags::NSW } else { Flags::NUW })
                    || (is_local && self.fills_local_address(index)) =>
                {
                    let Some(bits) = self.src_if_known(b, 0)? else {
                        break;
                    };
                    let width = self.function.int_type(index).map_or(64, Scalar::bits);
                    let number = match signed || wide || is_local {
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

    /// Returns true if an index has the bits that addresses of threadgroup memory have, which are made modulo 2¹⁶: sums of
    /// such numbers may be taken apart, whether they wrap or not.
    fn fills_local_address(&self, index: Value) -> bool {
        let bits = self.function.int_type(index).map(Scalar::bits);
        bits.is_some_and(|bits| bits >= 16)
    }

    /// A pointer of the result of `ptr_add`, computed.
    pub(in crate::lower) fn pointer_into(&mut self, ptr: Value, dest: Slice) -> Done {
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
}

/// The shift that makes `scale` of elements of `unit` bytes.
pub(in crate::lower) fn shift_of(scale: u32, unit: u32) -> Option<u32> {
    let factor = scale.checked_div(unit)?;
    (factor * unit == scale && factor.is_power_of_two()).then(|| factor.trailing_zeros())
}
