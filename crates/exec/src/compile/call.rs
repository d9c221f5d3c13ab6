//! Calls of builtins.

use super::{Compiler, Done};
use crate::builtins::uncommon;
use crate::builtins::{self, LaneCall, LaneKernel};
use crate::check::FENCE;
use crate::code::{Op, PerLane, Reg};
use crate::collective::{Collective, What};
use crate::matrix::{MatrixOp, Origin, Product};
use assay_opt::expectation::Expectation;
use assay_ssa::builtin::{Builtin, BuiltinCall, Family};
use assay_ssa::{Access, Scalar, Value};

impl Compiler<'_> {
    pub(super) fn builtin(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        match (call.builtin, result) {
            (Builtin::ThreadgroupBarrier, _) => {
                let flags = self.barrier_flags(args);
                self.emit(Op::Barrier { flags });
                Ok(())
            }
            // Lanes run in lockstep and memory is read and written in program order.
            (barrier @ (Builtin::SimdgroupBarrier | Builtin::QuadgroupBarrier), _) => {
                let flags = self.barrier_flags(args);
                let quad = barrier == Builtin::QuadgroupBarrier;
                self.emit(Op::Order { flags, quad });
                Ok(())
            }
            (Builtin::AtomicFence, _) => {
                let flags = self.barrier_flags(args) | FENCE;
                self.emit(Op::Order { flags, quad: false });
                Ok(())
            }
            (Builtin::LifetimeStart | Builtin::LifetimeEnd, _) => Ok(()),
            (Builtin::Expect, _) => self.expect(args),
            (Builtin::Uninitialised, Some(result)) => {
                let leaves = self.leaves(self.function.ty(result))?;
                let regs = leaves.iter().map(|leaf| self.constant(leaf.wide(), 0));
                let regs: Vec<Reg> = regs.collect();
                self.name(result, &regs);
                Ok(())
            }
            (Builtin::AsyncCopy1d | Builtin::AsyncCopy2d, _) => self.bulk_copy(call, args, result),
            // A copy is made when it is asked for; the wait is what the program may rely on.
            (Builtin::WaitEvents, None) => {
                self.emit(Op::Order {
                    flags: !FENCE,
                    quad: false,
                });
                Ok(())
            }
            (Builtin::MatrixStore, _) => self.matrix_store(args),
            (builtin, _) if builtin.info().family == Family::Texture => {
                self.texture(call, args, result)
            }
            (builtin, Some(result)) => match builtin.info().family {
                Family::Position => self.position(builtin, result),
                Family::Matrix => self.matrix(call, args, result),
                Family::Simd | Family::Quad => self.collective(call, args, result),
                _ => match uncommon::two_results(builtin) {
                    Some(kernel) => self.two_results(call, kernel, args, result),
                    None => self.arithmetic(call, args, result),
                },
            },
            (_, None) => self.unsupported(format!("builtin {call}")),
        }
    }

    fn expect(&mut self, args: &[Value]) -> Done {
        let &[truth, rule] = args else {
            return self.malformed("an expectation takes a truth value and a rule");
        };
        let rule = self.function.const_bits(rule);
        let Some(rule) = rule.and_then(Expectation::from_number) else {
            return self.malformed("an expectation without a known rule");
        };
        let cond = self.reg(truth)?.index;
        self.emit(Op::Expect { cond, rule });
        Ok(())
    }

    /// Metal's `mem_flags` of a barrier; all if they are not known.
    fn barrier_flags(&self, args: &[Value]) -> u8 {
        let flags = args.first().and_then(|&arg| self.function.const_bits(arg));
        flags.map_or(!0, |flags| flags as u8) & !FENCE
    }

    fn arithmetic(&mut self, call: BuiltinCall, args: &[Value], result: Value) -> Done {
        let Some(&first) = args.first() else {
            return self.unsupported(format!("builtin {call}"));
        };
        let ty = self.function.ty(first);
        let scalar = ty.lane_type();
        if let Some(f) = scalar.and_then(|scalar| builtins::elementwise(call, scalar)) {
            return self.elementwise(&call.to_string(), Some(f), args, result);
        }
        let Some(kernel) = builtins::per_lane(call.builtin) else {
            return self.unsupported(format!("builtin {call} on {ty}"));
        };
        // Unpacking is to the type of the result; everything else on that of the operands.
        let scalar = match scalar {
            Some(scalar) if call.info().family != Family::Pack || scalar.is_float() => scalar,
            _ => self.function.ty(result).lane_type().unwrap_or(Scalar::F32),
        };
        let mut given = Vec::new();
        for &arg in args {
            given.extend(self.regs(arg)?);
        }
        let results = self.define(result)?;
        if given.len() > 64 || results.len() > 16 {
            return self.unsupported(format!("builtin {call} on {ty}"));
        }
        let call = LaneCall {
            call,
            scalar,
            width: ty.lanes().into(),
        };
        self.emit_per_lane(kernel, call, &given, &results);
        Ok(())
    }

    fn emit_per_lane(&mut self, kernel: LaneKernel, call: LaneCall, args: &[Reg], results: &[Reg]) {
        let (args, results) = (self.list(args), self.list(results));
        self.program.per_lane.push(PerLane {
            kernel,
            call,
            args,
            results,
        });
        let index = self.program.per_lane.len() as u32 - 1;
        self.emit(Op::PerLane { index });
    }

    /// A builtin that gives one value back and writes another of the same width through its pointer.
    fn two_results(
        &mut self,
        call: BuiltinCall,
        kernel: LaneKernel,
        args: &[Value],
        result: Value,
    ) -> Done {
        let &[value, ptr] = args else {
            return self.malformed(format!("builtin {call} takes a number and a pointer"));
        };
        let ty = self.function.ty(value);
        let Some(scalar) = ty.lane_type() else {
            return self.unsupported(format!("builtin {call} on {ty}"));
        };
        let written_type = match call.builtin {
            Builtin::Frexp => ty.with_element(Scalar::I32),
            _ => ty,
        };
        let given = self.regs(value)?;
        let mut results = self.define(result)?;
        let written: Vec<Reg> = given.iter().map(|_| self.register(false)).collect();
        results.extend(&written);
        let call = LaneCall {
            call,
            scalar,
            width: ty.lanes().into(),
        };
        self.emit_per_lane(kernel, call, &given, &results);
        let align = self.module.types.align(written_type);
        self.store_registers(ptr, written_type, Access::aligned(align), &written)
    }

    fn position(&mut self, which: Builtin, result: Value) -> Done {
        let used = self.parts[result];
        for (axis, d) in self.define(result)?.into_iter().enumerate() {
            if used >> axis & 1 == 0 {
                continue;
            }
            self.emit(Op::Position {
                which,
                axis: axis as u8,
                d,
            });
        }
        Ok(())
    }

    fn collective(&mut self, call: BuiltinCall, args: &[Value], result: Value) -> Done {
        if matches!(
            call.builtin,
            Builtin::SimdIsHelperThread | Builtin::QuadIsHelperThread
        ) {
            let no = self.constant(false, 0);
            self.name(result, &[no]);
            return Ok(());
        }
        let Some(what) = What::of(call.builtin, call.sign) else {
            return self.unsupported(format!("builtin {call}"));
        };
        let scalar = args
            .first()
            .and_then(|&arg| self.function.ty(arg).lane_type());
        let mut operands = Vec::new();
        for &arg in args {
            operands.push(self.regs(arg)?);
        }
        // An operand with one element (an index) serves all elements.
        let operand = |which: usize, index: usize| -> Option<Reg> {
            let regs = operands.get(which)?;
            regs.get(index).or(regs.first()).copied()
        };
        let results = self.define(result)?;
        self.program.reads_inactive |= matches!(what, What::Shuffle { .. } | What::Fill { .. });
        for (index, d) in results.into_iter().enumerate() {
            self.emit_collective(Collective {
                what,
                scalar: scalar.unwrap_or(Scalar::I32),
                d,
                a: operand(0, index).unwrap_or(d),
                b: operand(1, index),
                c: operand(2, index),
                e: operand(3, index),
            });
        }
        Ok(())
    }

    // ---- matrices ----

    fn pair(&mut self, value: Value) -> Done<([u32; 2], Scalar)> {
        let ty = self.function.ty(value);
        match (&self.regs(value)?[..], ty.element()) {
            ([a, b], Some(scalar)) if !a.wide && !b.wide => Ok(([a.index, b.index], scalar)),
            _ => self.malformed(format!("{value} is no matrix")),
        }
    }

    fn origin(
        &mut self,
        ptr: Value,
        stride: Value,
        origin: Value,
        transposed: Value,
    ) -> Done<Origin> {
        let (ptr, stride, transposed) = (self.reg(ptr)?, self.reg(stride)?, self.reg(transposed)?);
        match self.regs(origin)?[..] {
            [column, row] if column.wide && row.wide && stride.wide && ptr.wide => Ok(Origin {
                ptr: ptr.index,
                stride: stride.index,
                column: column.index,
                row: row.index,
                transposed,
            }),
            _ => self.malformed("a matrix origin that is not two 64-bit numbers"),
        }
    }

    fn matrix_store(&mut self, args: &[Value]) -> Done {
        let &[matrix, ptr, stride, origin, transposed] = args else {
            return self.malformed("a matrix store takes five arguments");
        };
        let (a, scalar) = self.pair(matrix)?;
        let at = self.origin(ptr, stride, origin, transposed)?;
        self.emit_matrix(MatrixOp::Store { a, scalar, at });
        Ok(())
    }

    fn matrix(&mut self, call: BuiltinCall, args: &[Value], result: Value) -> Done {
        match (call.builtin, args) {
            (Builtin::MatrixLoad, &[ptr, stride, origin, transposed]) => {
                let at = self.origin(ptr, stride, origin, transposed)?;
                self.define(result)?;
                let (d, scalar) = self.pair(result)?;
                self.emit_matrix(MatrixOp::Load { d, scalar, at });
                Ok(())
            }
            (Builtin::MatrixFilled, &[value]) => {
                let reg = self.reg(value)?;
                self.name(result, &[reg, reg]);
                Ok(())
            }
            (Builtin::MatrixDiagonal, &[value]) => {
                let value = self.reg(value)?.index;
                self.define(result)?;
                let (d, _) = self.pair(result)?;
                self.emit_matrix(MatrixOp::Diagonal { d, value });
                Ok(())
            }
            (Builtin::MatrixMultiply, &[a, b]) => self.product(a, b, None, result),
            (Builtin::MatrixMultiplyAdd, &[a, b, c]) => self.product(a, b, Some(c), result),
            _ => self.unsupported(format!("builtin {call}")),
        }
    }

    fn product(&mut self, a: Value, b: Value, c: Option<Value>, result: Value) -> Done {
        let (a, b) = (self.pair(a)?, self.pair(b)?);
        let c = match c {
            Some(c) => Some(self.pair(c)?),
            None => None,
        };
        self.define(result)?;
        let (d, d_type) = self.pair(result)?;
        self.program.products.push(Product { d, d_type, a, b, c });
        let index = self.program.products.len() as u32 - 1;
        self.emit_matrix(MatrixOp::Product { index });
        Ok(())
    }
}
