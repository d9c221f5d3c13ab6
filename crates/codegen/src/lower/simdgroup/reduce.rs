//! Across the threads of a simdgroup or quad: reductions and prefixes.

use crate::lower::operand::{Src, used};
use crate::lower::select::{Done, Lowerer};
use crate::lower::simdgroup::steps::Steps;
use crate::mir::{Inst, Opcode, Operand, Slice};
use assay_agx::{Field, Op, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};
use assay_ssa::{Scalar, Uniformity, Value};

/// How lanes are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Combine {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
}

const fn reduction(builtin: Builtin) -> Option<(Combine, bool)> {
    Some(match builtin {
        Builtin::SimdSum => (Combine::Sum, false),
        Builtin::SimdProduct => (Combine::Product, false),
        Builtin::SimdMin => (Combine::Min, false),
        Builtin::SimdMax => (Combine::Max, false),
        Builtin::SimdAnd => (Combine::And, false),
        Builtin::SimdOr => (Combine::Or, false),
        Builtin::SimdXor => (Combine::Xor, false),
        Builtin::QuadSum => (Combine::Sum, true),
        Builtin::QuadProduct => (Combine::Product, true),
        Builtin::QuadMin => (Combine::Min, true),
        Builtin::QuadMax => (Combine::Max, true),
        Builtin::QuadAnd => (Combine::And, true),
        Builtin::QuadOr => (Combine::Or, true),
        Builtin::QuadXor => (Combine::Xor, true),
        _ => return None,
    })
}

/// Sum or product, over the quad, inclusive.
const fn prefix(builtin: Builtin) -> Option<(Combine, bool, bool)> {
    Some(match builtin {
        Builtin::SimdPrefixInclusiveSum => (Combine::Sum, false, true),
        Builtin::SimdPrefixExclusiveSum => (Combine::Sum, false, false),
        Builtin::SimdPrefixInclusiveProduct => (Combine::Product, false, true),
        Builtin::SimdPrefixExclusiveProduct => (Combine::Product, false, false),
        Builtin::QuadPrefixInclusiveSum => (Combine::Sum, true, true),
        Builtin::QuadPrefixExclusiveSum => (Combine::Sum, true, false),
        Builtin::QuadPrefixInclusiveProduct => (Combine::Product, true, true),
        Builtin::QuadPrefixExclusiveProduct => (Combine::Product, true, false),
        _ => return None,
    })
}

/// The mnemonic of a reduction, if the hardware has it.
fn mnemonic(
    combine: Combine,
    quad: bool,
    scans: bool,
    float: bool,
    signed: bool,
) -> Option<&'static str> {
    let pick = |simd: &'static str, of_quad: &'static str| Some(if quad { of_quad } else { simd });
    match (combine, float, scans) {
        (Combine::Sum, true, false) => pick("simd_fadd", "quad_fadd"),
        (Combine::Sum, false, false) => pick("simd_iadd", "quad_iadd"),
        (Combine::Product, true, false) => pick("simd_fmul", "quad_fmul"),
        (Combine::Sum, true, true) => pick("simd_prefix_fadd", "quad_prefix_fadd"),
        (Combine::Sum, false, true) => pick("simd_prefix_iadd", "quad_prefix_iadd"),
        (Combine::Product, true, true) => pick("simd_prefix_fmul", "quad_prefix_fmul"),
        (Combine::Min, true, false) => pick("simd_min.f", "quad_min.f"),
        (Combine::Max, true, false) => pick("simd_max.f", "quad_max.f"),
        (Combine::Min, false, false) if signed => pick("simd_min.s", "quad_min.s"),
        (Combine::Max, false, false) if signed => pick("simd_max.s", "quad_max.s"),
        (Combine::Min, false, false) => pick("simd_min.u", "quad_min.u"),
        (Combine::Max, false, false) => pick("simd_max.u", "quad_max.u"),
        (Combine::And, false, false) => pick("simd_and", "quad_and"),
        (Combine::Or, false, false) => pick("simd_or", "quad_or"),
        (Combine::Xor, false, false) => pick("simd_xor", "quad_xor"),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// A builtin across threads; nothing if there is no code for it.
    pub(in crate::lower) fn across(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Value,
    ) -> Done<bool> {
        for (lane, dest) in self.needed(result) {
            let done = if let Some((combine, quad)) = reduction(call.builtin) {
                self.reduce(call, (combine, quad), args, lane, dest)?
            } else if let Some(kind) = prefix(call.builtin) {
                self.scan(call, kind, args, lane, dest)?
            } else if let Some((from, quad)) =
                crate::lower::simdgroup::shuffle::shuffle(call.builtin)
            {
                self.shuffled(from, quad, args, lane, dest)?
            } else {
                self.vote(call.builtin, args, lane, dest)?
            };
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(in crate::lower) fn cross_inst(
        &mut self,
        op: Op,
        name: Option<&'static str>,
        dest: Slice,
        sources: &[Operand],
    ) {
        let mut inst = Inst::new(op).with(Field::Dest, Operand::Def(dest));
        for (field, &source) in [Field::A, Field::B].into_iter().zip(sources) {
            inst = inst.with(field, source);
        }
        inst.opcode = Opcode::Machine {
            op,
            name,
            saturate: false,
        };
        inst.convergent = true;
        self.push(inst);
    }

    pub(in crate::lower) fn reduce_inst(&mut self, name: &'static str, dest: Slice, source: Src) {
        let operand = match source {
            Src::Reg(slice) => used(slice),
            other => used(self.reg(other)),
        };
        self.cross_inst(Op::Reduce, Some(name), dest, &[operand]);
    }

    pub(in crate::lower) fn reduce(
        &mut self,
        call: BuiltinCall,
        (combine, quad): (Combine, bool),
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let Some(&arg) = args.first() else {
            return Ok(false);
        };
        let scalar = self.scalar_type(arg).unwrap_or(Scalar::I32);
        let signed = call.sign == Sign::Signed;
        let mut source = self.src(arg, lane)?;
        let name = mnemonic(combine, quad, false, scalar.is_float(), signed);
        let name = name.filter(|_| !matches!(scalar, Scalar::I64 | Scalar::BF16));
        let Some(name) = name else {
            let steps = Steps {
                combine,
                scalar,
                signed,
                quad,
            };
            return self.reduce_in_steps(steps, source, dest);
        };
        match scalar {
            Scalar::I8 | Scalar::I1 => {
                if signed {
                    source = self.sign_extended(source, scalar.bits());
                }
                let wide = self.temp(Width::W16);
                self.reduce_inst(name, wide, source);
                self.mask_into(dest, Src::Reg(wide), scalar.mask());
            }
            _ => self.reduce_inst(name, dest, source),
        }
        Ok(true)
    }

    pub(in crate::lower) fn scan(
        &mut self,
        call: BuiltinCall,
        (combine, quad, inclusive): (Combine, bool, bool),
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let Some(&arg) = args.first() else {
            return Ok(false);
        };
        let scalar = self.scalar_type(arg).unwrap_or(Scalar::I32);
        let float = scalar.is_float();
        let signed = call.sign == Sign::Signed;
        let source = self.src(arg, lane)?;
        let name = mnemonic(combine, quad, true, float, signed);
        let steps = Steps {
            combine,
            scalar,
            signed,
            quad,
        };
        let Some(name) = name.filter(|_| !matches!(scalar, Scalar::I64 | Scalar::BF16)) else {
            return self.scan_in_steps(steps, inclusive, source, dest);
        };
        if inclusive {
            let below = self.temp(dest.width);
            self.reduce_inst(name, below, source);
            return self.combine_into(steps, Src::Reg(below), source, dest);
        }
        match scalar {
            // Of sums of larger numbers, the low bits are the sums of the low bits.
            Scalar::I8 | Scalar::I1 => {
                let wide = self.temp(Width::W16);
                self.reduce_inst(name, wide, source);
                self.mask_into(dest, Src::Reg(wide), scalar.mask());
            }
            _ => self.reduce_inst(name, dest, source),
        }
        Ok(true)
    }

    /// Whether all lanes of the simdgroup that started are here.
    pub(in crate::lower) fn together(&self) -> bool {
        self.block
            .is_some_and(|block| self.info.block(block) <= Uniformity::Simdgroup)
    }
}
