//! Atomic operations.
//!
//! The hardware has them on 32-bit integers. Others are a loop around
//! compare-and-exchange; of lanes with one address the lowest wins each round, so they
//! take effect in the order of lanes.

use crate::lower::memory::address::Address;
use crate::lower::operand::{Condition, FloatSrc, Src, choice, float_code, used};
use crate::lower::select::{Code, Done, Lowerer, straight};
use crate::mir::{Inst, Memory, Operand, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::{Access, AtomicOp, IntCond, Scalar, Space, Value};

const COMPARE_EXCHANGE: u8 = 3;

/// Metal's feature set tables have 64-bit minima and maxima from Apple9 on, and on Macs
/// of Apple8.
const WIDE_ATOMIC: &str = "a 64-bit atomic operation (M1 GPUs have none; M2 GPUs and the family Apple9 \
     have minima and maxima, by instructions that are not publicly known)";

/// The hardware's number of an operation.
fn code_of(op: AtomicOp) -> Option<u8> {
    Some(match op {
        AtomicOp::Add => 0,
        AtomicOp::Sub => 1,
        AtomicOp::Exchange => 2,
        AtomicOp::UMin => 4,
        AtomicOp::SMin => 5,
        AtomicOp::UMax => 6,
        AtomicOp::SMax => 7,
        AtomicOp::And => 8,
        AtomicOp::Or => 9,
        AtomicOp::Xor => 10,
        _ => return None,
    })
}

/// Where an atomic works.
struct Place {
    space: Space,
    base: Operand,
    index: Operand,
    signed: bool,
    memory: Memory,
}

impl Lowerer<'_> {
    fn atomic_place(&mut self, ptr: Value, access: Access) -> Done<Place> {
        let space = self.space(ptr)?;
        let address: Address = self.address(ptr, 4)?;
        let memory = self.memory(&address, space, access);
        match space {
            Space::Device => {
                let place = self.device_place(&address, 4, 0)?;
                Ok(Place {
                    space,
                    base: place.base,
                    index: place.index,
                    signed: place.signed,
                    memory,
                })
            }
            Space::Threadgroup => {
                let place = self.group_place(&address, 4)?;
                Ok(Place {
                    space,
                    base: place.base,
                    index: place.index,
                    signed: true,
                    memory,
                })
            }
            _ => self.unsupported("an atomic operation on thread memory"),
        }
    }

    fn atomic_inst(&self, code: u8, dest: Option<Slice>, place: &Place, value: Slice) -> Inst {
        let op = match place.space {
            Space::Device => Op::Atomic,
            _ => Op::ThreadgroupAtomic,
        };
        let mut inst = Inst::new(op).with(Field::AtomicOp, choice(List::AtomicOp, code));
        if let Some(dest) = dest {
            inst = inst.with(Field::Dest, Operand::Def(dest));
        }
        inst = inst
            .with(Field::Base, place.base)
            .with(Field::Index, place.index);
        if op == Op::Atomic {
            let sign = choice(List::Sign, u8::from(!place.signed));
            inst = inst.with(Field::IndexSign, sign);
        }
        inst = inst.with(Field::Value, used(value));
        inst.memory = Some(place.memory);
        inst
    }

    fn word_type(&self, value: Value) -> Done<Scalar> {
        let ty = self.function.ty(value);
        match ty.lane_type() {
            Some(scalar @ (Scalar::I32 | Scalar::F32)) if !ty.is_vector() => Ok(scalar),
            Some(Scalar::I64) => self.unsupported(WIDE_ATOMIC),
            _ => self.unsupported(format!("an atomic operation on {ty}")),
        }
    }

    pub(in crate::lower) fn atomic(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        value: Value,
        access: Access,
        result: Option<Value>,
    ) -> Done {
        self.word_type(value)?;
        let dest = result.and_then(|result| self.needed(result).first().map(|(_, dest)| *dest));
        let number = self.scalar(value)?;
        let place = self.atomic_place(ptr, access)?;
        if let Some(code) = code_of(op) {
            let number = self.reg(number);
            let inst = self.atomic_inst(code, dest, &place, number);
            self.push(inst);
            return Ok(());
        }
        self.atomic_loop(op, &place, number, dest);
        Ok(())
    }

    /// Tries until nobody else was in between.
    fn atomic_loop(&mut self, op: AtomicOp, place: &Place, number: Src, dest: Option<Slice>) {
        let old = dest.unwrap_or_else(|| self.temp(Width::W32));
        let (load, format) = match place.space {
            Space::Device => (Op::DeviceLoad, choice(List::Format, 2)),
            _ => (Op::ThreadgroupLoad, choice(List::Format, 2)),
        };
        let mut first = Inst::new(load)
            .with(Field::Format, format)
            .with(Field::Data, Operand::Def(old))
            .with(Field::Base, place.base)
            .with(Field::Index, place.index);
        if load == Op::DeviceLoad {
            let sign = choice(List::Sign, u8::from(!place.signed));
            first = first.with(Field::IndexSign, sign);
        }
        first.memory = Some(place.memory);
        self.push(first);
        let before = std::mem::take(&mut self.out);
        // [new, expected] side by side.
        let pair = self.group(Width::W32, 2);
        let (new, expected) = (
            crate::lower::select::element(pair, 0),
            crate::lower::select::element(pair, 1),
        );
        let (a, b) = (FloatSrc::plain(Src::Reg(old)), FloatSrc::plain(number));
        match op {
            AtomicOp::FAdd => self.float_op(Op::Fadd32, new, &[a, b]),
            AtomicOp::FSub => self.float_op(Op::Fadd32, new, &[a, b.negated()]),
            _ => {
                let code = match op {
                    AtomicOp::FMin => float_code::LESS_OR_NAN,
                    _ => float_code::GREATER_OR_NAN,
                };
                let test = self.float_compare(code, false, a, b);
                self.select_into(new, test, Src::Reg(old), number);
            }
        }
        self.copy(expected, Src::Reg(old));
        let found = self.temp(Width::W32);
        let inst = self.atomic_inst(COMPARE_EXCHANGE, Some(found), place, pair);
        self.push(inst);
        let again: Condition = self.int_compare(IntCond::Ne, Src::Reg(found), Src::Reg(old));
        let body = straight(std::mem::take(&mut self.out));
        self.copy(old, Src::Reg(found));
        let after = straight(std::mem::replace(&mut self.out, before));
        self.out.push(Code::Loop { body, again, after });
    }

    pub(in crate::lower) fn exchange(
        &mut self,
        ptr: Value,
        expected: Value,
        desired: Value,
        access: Access,
        result: Option<Value>,
    ) -> Done {
        self.word_type(desired)?;
        let dest = result.and_then(|result| self.needed(result).first().map(|(_, dest)| *dest));
        let (expected, desired) = (self.scalar(expected)?, self.scalar(desired)?);
        let place = self.atomic_place(ptr, access)?;
        let pair = self.group(Width::W32, 2);
        self.copies(&[
            (crate::lower::select::element(pair, 0), desired),
            (crate::lower::select::element(pair, 1), expected),
        ]);
        let inst = self.atomic_inst(COMPARE_EXCHANGE, dest, &place, pair);
        self.push(inst);
        Ok(())
    }
}
