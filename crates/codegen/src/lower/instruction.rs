//! One instruction of the program.

use super::operand::Src;
use super::select::{Done, Lowerer};
use assay_agx::Width;
use assay_ssa::{Callee, Inst, InstData, IntCond, Scalar, Symbol, Value};

impl Lowerer<'_> {
    /// Names a function that is defined in no file, before anything that only follows from its absence: what it would have
    /// written, for instance, leaves pointers of unknown address spaces.
    pub(super) fn refuse_missing_functions(&mut self) -> Done {
        let function = self.function;
        for &inst in function.blocks().iter().flat_map(|&b| function.insts(b)) {
            if let InstData::Call {
                callee: Callee::Unknown(symbol),
                ..
            } = *function.inst(inst)
            {
                self.loc = function.loc(inst);
                return self.missing_function(symbol);
            }
        }
        Ok(())
    }

    fn missing_function<T>(&self, symbol: Symbol) -> Done<T> {
        let name = self.module.symbols.get(symbol).map_or("?", String::as_str);
        self.unsupported(format!("a call of `{name}`"))
    }

    pub(super) fn instruction(&mut self, inst: Inst) -> Done {
        let data = *self.function.inst(inst);
        let result = self.function.result(inst);
        match (data, result) {
            (InstData::Store { ptr, value, access }, _) => {
                self.store_planned(inst, ptr, value, access)
            }
            (InstData::Load { ptr, access }, Some(result)) => {
                self.load_planned(inst, ptr, access, result)
            }
            (InstData::Call { callee, args, .. }, result) => {
                let args = self.function.list_values(args).to_vec();
                match callee {
                    Callee::Builtin(call) => self.builtin(call, &args, result),
                    Callee::Function(_) => self.unsupported("a call that was not inlined"),
                    Callee::Unknown(symbol) => self.missing_function(symbol),
                }
            }
            (
                InstData::AtomicRmw {
                    op,
                    ptr,
                    value,
                    access,
                },
                result,
            ) => self.atomic(op, ptr, value, access, result),
            (
                InstData::AtomicCompareExchange {
                    ptr,
                    expected,
                    desired,
                    access,
                },
                result,
            ) => self.exchange(ptr, expected, desired, access, result),
            (
                InstData::MemCopy {
                    dst,
                    src,
                    size,
                    align_log2,
                    ..
                },
                _,
            ) => self.copy_memory(dst, src, size, 1 << align_log2.min(8)),
            (
                InstData::MemSet {
                    dst,
                    byte,
                    size,
                    align_log2,
                },
                _,
            ) => self.fill_memory(dst, byte, size, 1 << align_log2.min(8)),
            (InstData::PtrAdd { .. }, Some(result)) => {
                for (_, dest) in self.needed(result) {
                    self.pointer_into(result, dest)?;
                }
                Ok(())
            }
            (data, Some(result)) => {
                for (lane, dest) in self.needed(result) {
                    self.number(&data, result, lane, dest)?;
                }
                Ok(())
            }
            (_, None) => self.unsupported("an instruction without result"),
        }
    }

    /// One number of a result that is computed element by element.
    fn number(
        &mut self,
        data: &InstData,
        result: Value,
        lane: u32,
        dest: crate::mir::Slice,
    ) -> Done {
        let ty = self.function.ty(result);
        let scalar = ty.element().unwrap_or(Scalar::I64);
        match *data {
            InstData::Unary { op, arg, .. } => self.float_unary(op, arg, lane, dest),
            InstData::Binary { op, flags, args } => {
                if op.is_float() {
                    self.float_binary(op, scalar, args, lane, dest)
                } else if scalar == Scalar::I64 {
                    self.wide_binary(op, args, lane, dest)
                } else {
                    self.int_binary(op, flags, scalar, args, lane, dest)
                }
            }
            InstData::Ternary { args, .. } => self.float_ternary(scalar, args, lane, dest),
            InstData::IntCompare { .. } | InstData::FloatCompare { .. } => {
                self.compare_into(data, lane, dest)
            }
            InstData::Select { cond, args, .. } => self.select(cond, args, lane, dest),
            InstData::Cast { op, arg, .. } => self.cast(op, arg, ty, lane, dest),
            InstData::Extract { vector, index } => self.pick(vector, index, dest),
            InstData::Insert {
                vector,
                element,
                index,
            } => self.put(vector, element, index, lane, dest),
            _ => self.unsupported("this instruction"),
        }
    }

    /// An element by a number that is not known; outside there are zeros.
    fn pick(&mut self, vector: Value, index: Value, dest: crate::mir::Slice) -> Done {
        let lanes = u32::from(self.function.ty(vector).lanes());
        let index = self.scalar(index)?;
        let index = index.part(0, index.width().min(Width::W32));
        let mut found = Src::Const(0, dest.width);
        for lane in 0..lanes {
            let element = self.src(vector, lane)?;
            let test = self.int_compare(IntCond::Eq, index, Src::Const(lane.into(), index.width()));
            let next = if lane + 1 == lanes {
                dest
            } else {
                self.temp(dest.width)
            };
            self.choose_into(next, test, element, found);
            found = Src::Reg(next);
        }
        Ok(())
    }

    fn put(
        &mut self,
        vector: Value,
        element: Value,
        index: Value,
        lane: u32,
        dest: crate::mir::Slice,
    ) -> Done {
        let index = self.scalar(index)?;
        let index = index.part(0, index.width().min(Width::W32));
        let (new, old) = (self.scalar(element)?, self.src(vector, lane)?);
        let test = self.int_compare(IntCond::Eq, index, Src::Const(lane.into(), index.width()));
        self.choose_into(dest, test, new, old);
        Ok(())
    }
}
