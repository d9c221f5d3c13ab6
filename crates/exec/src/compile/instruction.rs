//! Compiles one instruction to operations.

use super::padding::padding;
use super::{Compiler, Done};
use crate::arithmetic;
use crate::code::{Index, Op, Reg};
use crate::lanes::Rule;
use crate::memory::{OFFSET_BITS, THREAD};
use assay_ssa::{BinaryOp, Callee, CastOp, Inst, InstData, IntCond, Scalar, Type, UnaryOp, Value};

impl Compiler<'_> {
    pub(super) fn instruction(&mut self, inst: Inst) -> Done {
        let data = *self.function.inst(inst);
        let result = self.function.result(inst);
        match (data, result) {
            (InstData::Store { ptr, value, access }, _) => self.store(ptr, value, access),
            (InstData::MemCopy { dst, src, size, .. }, _) => {
                let (dst, src) = (self.reg(dst)?.index, self.reg(src)?.index);
                let size = self.reg(size)?;
                self.emit(Op::MemCopy { dst, src, size });
                Ok(())
            }
            (
                InstData::MemSet {
                    dst, byte, size, ..
                },
                _,
            ) => {
                let (dst, byte) = (self.reg(dst)?.index, self.reg(byte)?.index);
                let size = self.reg(size)?;
                self.emit(Op::MemSet { dst, byte, size });
                Ok(())
            }
            (InstData::Call { callee, args, .. }, result) => {
                let args = self.function.list_values(args).to_vec();
                match callee {
                    Callee::Builtin(call) => self.builtin(call, &args, result),
                    Callee::Function(id) => {
                        let name = self
                            .module
                            .functions
                            .get(id)
                            .map_or("?", |f| f.name.as_str());
                        let what = format!(
                            "a call of \"{name}\", which calls itself again (recursion, which Metal does not have: write a loop),"
                        );
                        self.unsupported(what)
                    }
                    Callee::Unknown(symbol) => {
                        let name = self.module.symbols.get(symbol).map_or("?", String::as_str);
                        let what = format!("\"{name}\"");
                        self.unsupported(what)
                    }
                }
            }
            (data, Some(result)) => self.value(data, result),
            (_, None) => self.malformed("an instruction without result"),
        }
    }

    fn value(&mut self, data: InstData, result: Value) -> Done {
        if self.folded.contains(result) {
            return Ok(());
        }
        let ty = self.function.ty(result);
        match data {
            InstData::Unary {
                op: UnaryOp::Freeze,
                arg,
                ..
            } => self.same(result, arg),
            InstData::Unary {
                op: UnaryOp::FNeg,
                arg,
                ..
            } => {
                let f = self.element(ty).and_then(arithmetic::negate);
                self.elementwise("fneg", f, &[arg], result)
            }
            InstData::Binary { op, args, .. } => {
                let flushed = args.iter().all(|&arg| self.flushed.contains(arg));
                let f = self.element(ty).and_then(|scalar| {
                    let quick = arithmetic::binary_flushed(op, scalar).filter(|_| flushed);
                    quick.or_else(|| arithmetic::binary(op, scalar))
                });
                let rule = self
                    .element(ty)
                    .map_or(Rule::Other, |scalar| arithmetic::binary_rule(op, scalar));
                self.elementwise_by(rule, BinaryOp::name(op), f, &args, result)
            }
            InstData::Ternary { op, args, .. } => {
                let flushed = args.map(|arg| self.flushed.contains(arg));
                let f = self.element(ty).and_then(|scalar| {
                    let quick = arithmetic::ternary_flushed(scalar, flushed);
                    quick.or_else(|| arithmetic::ternary(op, scalar))
                });
                self.elementwise(op.name(), f, &args, result)
            }
            InstData::IntCompare { cond, args, .. } => {
                let operand = self.function.ty(args[0]);
                let scalar = if operand.is_pointer() {
                    Some(Scalar::I64)
                } else {
                    self.element(operand)
                };
                let f = scalar.and_then(|scalar| arithmetic::int_compare(cond, scalar));
                let rule =
                    scalar.map_or(Rule::Other, |scalar| arithmetic::compare_rule(cond, scalar));
                self.elementwise_by(rule, IntCond::name(cond), f, &args, result)
            }
            InstData::FloatCompare { cond, args, .. } => {
                let scalar = self.element(self.function.ty(args[0]));
                let f = scalar.and_then(|scalar| arithmetic::float_compare(cond, scalar));
                self.elementwise(cond.name(), f, &args, result)
            }
            InstData::Select { cond, args, .. } => self.select(cond, args, result),
            InstData::Cast { op, arg, .. } => self.cast(op, arg, result),
            InstData::Extract { vector, index } => self.extract(vector, index, result),
            InstData::Insert {
                vector,
                element,
                index,
            } => self.insert(vector, element, index, result),
            InstData::Shuffle { .. }
            | InstData::Construct { .. }
            | InstData::ExtractValue { .. }
            | InstData::InsertValue { .. } => self.aggregate(data, result),
            InstData::Alloca { ty, align } => {
                let start = self.place_in_frame(self.module.types.stride(ty), align);
                let padding = padding(&self.module.types, ty, start);
                self.program.padding.thread.extend(padding);
                let reg = self.constant(true, THREAD << OFFSET_BITS | u64::from(start));
                self.name(result, &[reg]);
                Ok(())
            }
            InstData::Load { ptr, access } => self.load(ptr, result, access),
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            } => {
                let base = self.reg(base)?.index;
                let (index, kind) = match index {
                    None => (0, Index::None),
                    Some(index) => self.index(index, extend)?,
                };
                let d = self.define(result)?[0].index;
                self.emit(Op::PtrAdd {
                    d,
                    base,
                    index,
                    kind,
                    scale,
                    offset,
                });
                Ok(())
            }
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => {
                self.atomic(data, result)
            }
            _ => self.unsupported("this instruction"),
        }
    }

    pub(super) fn element(&self, ty: Type) -> Option<Scalar> {
        ty.element()
    }

    /// The result is its operand.
    pub(super) fn same(&mut self, result: Value, arg: Value) -> Done {
        let regs = self.regs(arg)?;
        self.name(result, &regs);
        Ok(())
    }

    fn select(&mut self, cond: Value, args: [Value; 2], result: Value) -> Done {
        let (cond, yes, no) = (self.regs(cond)?, self.regs(args[0])?, self.regs(args[1])?);
        let results = self.define(result)?;
        for (index, d) in results.into_iter().enumerate() {
            let (Some(cond), Some(yes), Some(no)) = (
                cond.get(index).or(cond.first()),
                yes.get(index),
                no.get(index),
            ) else {
                return self.malformed("a select of different shapes");
            };
            self.choose(d, *cond, *yes, *no);
        }
        Ok(())
    }

    pub(super) fn choose(&mut self, d: Reg, cond: Reg, yes: Reg, no: Reg) {
        let (wide, d, cond, yes, no) = (d.wide, d.index, cond.index, yes.index, no.index);
        self.emit(if wide {
            Op::SelectWide { d, cond, yes, no }
        } else {
            Op::SelectNarrow { d, cond, yes, no }
        });
    }

    fn cast(&mut self, op: CastOp, arg: Value, result: Value) -> Done {
        let (from, to) = (self.function.ty(arg), self.function.ty(result));
        let as_number = |ty: Type| {
            if ty.is_pointer() {
                Some(Scalar::I64)
            } else {
                ty.element()
            }
        };
        let (Some(source), Some(target)) = (as_number(from), as_number(to)) else {
            return self.unsupported(format!("{} of {from} to {to}", op.name()));
        };
        let keeps = match op {
            CastOp::SpaceCast => true,
            CastOp::Bitcast => from.lanes() == to.lanes() && source.bits() == target.bits(),
            // Upper bits are zero already.
            CastOp::ZExt => (source == Scalar::I64) == (target == Scalar::I64),
            CastOp::PtrToInt | CastOp::IntToPtr => source == target,
            _ => false,
        };
        if keeps {
            return self.same(result, arg);
        }
        if op == CastOp::Bitcast {
            return self.repack(arg, source, result, target);
        }
        let f = arithmetic::cast(op, source, target);
        let rule = arithmetic::cast_rule(op, source, target);
        self.elementwise_by(rule, op.name(), f, &[arg], result)
    }

    fn repack(&mut self, arg: Value, source: Scalar, result: Value, target: Scalar) -> Done {
        if source == Scalar::I1 || target == Scalar::I1 {
            let (from, to) = (self.function.ty(arg), self.function.ty(result));
            return self.unsupported(format!("bitcast of {from} to {to}"));
        }
        let from = self.regs(arg)?;
        let to = self.define(result)?;
        let (from, to) = (self.list(&from), self.list(&to));
        let (from_bytes, to_bytes) = (source.bytes() as u8, target.bytes() as u8);
        self.emit(Op::Repack {
            from,
            from_bytes,
            to,
            to_bytes,
        });
        Ok(())
    }
}
