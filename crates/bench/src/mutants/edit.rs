//! One operation of a program, made wrong.

use assay_ssa::{
    BinaryOp, Block, Callee, CastOp, Flags, FloatCond, Function, Inst, InstData, IntCond, Scalar,
    Space, TernaryOp, Type, TypeKind, UnaryOp, Value,
};

/// One operation of a function.
pub(super) struct Edit<'a> {
    pub(super) function: &'a mut Function,
    pub(super) block: Block,
    pub(super) place: usize,
    pub(super) inst: Inst,
}

impl Edit<'_> {
    fn set(&mut self, data: InstData) -> bool {
        *self.function.inst_mut(self.inst) = data;
        true
    }

    /// An operation before this one.
    fn before(&mut self, data: InstData, ty: Type) -> Option<Value> {
        let loc = self.function.loc(self.inst);
        let inst = self.function.make_inst(data, ty, loc);
        self.function.insert_at(self.block, self.place, inst);
        self.place += 1;
        self.function.result(inst)
    }

    /// A constant in every lane of a type: the bits of a number of its element type.
    fn number(&mut self, ty: Type, number: f32) -> Option<Value> {
        let scalar = ty.element()?;
        let bits = match scalar {
            Scalar::F32 => u64::from(number.to_bits()),
            Scalar::F16 => u64::from(half::f16::from_f32(number).to_bits()),
            Scalar::BF16 => u64::from(half::bf16::from_f32(number).to_bits()),
            _ => return None,
        };
        match ty.kind() {
            TypeKind::Scalar(_) => Some(self.function.constant(ty, bits)),
            TypeKind::Vector(..) => {
                let elements = vec![bits; usize::from(ty.lanes())];
                Some(self.function.constant_vector(ty, &elements))
            }
            _ => None,
        }
    }

    pub(super) fn drop_operand(&mut self, data: InstData) -> bool {
        match data {
            InstData::Binary { op, flags, args } => {
                let neutral = match op {
                    BinaryOp::FAdd | BinaryOp::FSub => 0.0,
                    BinaryOp::FMul | BinaryOp::FDiv => 1.0,
                    _ => return false,
                };
                let ty = self.function.ty(args[1]);
                let Some(neutral) = self.number(ty, neutral) else {
                    return false;
                };
                let args = [args[0], neutral];
                self.set(InstData::Binary { op, flags, args })
            }
            InstData::Ternary {
                op: op @ (TernaryOp::Fma | TernaryOp::MulAdd),
                flags,
                args,
            } => {
                let ty = self.function.ty(args[2]);
                let Some(zero) = self.number(ty, 0.0) else {
                    return false;
                };
                let args = [args[0], args[1], zero];
                self.set(InstData::Ternary { op, flags, args })
            }
            _ => false,
        }
    }

    pub(super) fn swap_operation(&mut self, data: InstData) -> bool {
        let InstData::Binary { op, flags, args } = data else {
            return false;
        };
        let op = match op {
            BinaryOp::FAdd => BinaryOp::FSub,
            BinaryOp::FSub => BinaryOp::FAdd,
            BinaryOp::FMul => BinaryOp::FAdd,
            BinaryOp::FDiv => BinaryOp::FMul,
            _ => return false,
        };
        self.set(InstData::Binary { op, flags, args })
    }

    pub(super) fn swap_operands(&mut self, data: InstData) -> bool {
        match data {
            InstData::Binary {
                op: op @ (BinaryOp::FSub | BinaryOp::FDiv),
                flags,
                args: [a, b],
            } => {
                let args = [b, a];
                self.set(InstData::Binary { op, flags, args })
            }
            _ => false,
        }
    }

    pub(super) fn compare(
        &mut self,
        data: InstData,
        change: fn(IntCond) -> Option<IntCond>,
    ) -> bool {
        let InstData::IntCompare { cond, flags, args } = data else {
            return false;
        };
        match change(cond) {
            Some(cond) => self.set(InstData::IntCompare { cond, flags, args }),
            None => false,
        }
    }

    pub(super) fn compare_floats(
        &mut self,
        data: InstData,
        change: fn(FloatCond) -> Option<FloatCond>,
    ) -> bool {
        let InstData::FloatCompare { cond, flags, args } = data else {
            return false;
        };
        match change(cond) {
            Some(cond) => self.set(InstData::FloatCompare { cond, flags, args }),
            None => false,
        }
    }

    /// The load becomes a constant; the address stays as dead code.
    pub(super) fn constant_argument(&mut self, data: InstData) -> bool {
        let InstData::Load { ptr, .. } = data else {
            return false;
        };
        let Some(result) = self.function.result(self.inst) else {
            return false;
        };
        let ty = self.function.ty(result);
        if self.function.ty(ptr).space() != Some(Space::Constant) {
            return false;
        }
        let constant = match ty.kind() {
            TypeKind::Scalar(Scalar::F32) => self.number(ty, 1.0),
            TypeKind::Scalar(Scalar::I32) => Some(self.function.constant(ty, 64)),
            _ => None,
        };
        constant.is_some_and(|constant| self.replace(result, constant))
    }

    pub(super) fn skip_tail(&mut self, data: InstData) -> bool {
        let InstData::IntCompare { cond, flags, args } = data else {
            return false;
        };
        let ty = self.function.ty(args[1]);
        let limit = matches!(
            cond,
            IntCond::Ult | IntCond::Slt | IntCond::Uge | IntCond::Sge
        );
        if !limit || ty != Type::I32 || self.function.is_constant(args[1]) {
            return false;
        }
        let mask = self.function.constant(ty, u64::from(!3u32));
        let cut = InstData::Binary {
            op: BinaryOp::And,
            flags: Flags::NONE,
            args: [args[1], mask],
        };
        let Some(cut) = self.before(cut, ty) else {
            return false;
        };
        let args = [args[0], cut];
        self.set(InstData::IntCompare { cond, flags, args })
    }

    pub(super) fn halve_precision(&mut self, data: InstData) -> bool {
        let term = match data {
            InstData::Binary {
                op: BinaryOp::FAdd,
                args,
                ..
            } => args[0],
            InstData::Ternary { args, .. } => args[2],
            _ => return false,
        };
        let ty = self.function.ty(term);
        if ty.element() != Some(Scalar::F32) || ty.is_matrix() || self.function.is_constant(term) {
            return false;
        }
        let short = ty.with_element(Scalar::F16);
        let cast = |op, arg| InstData::Cast {
            op,
            flags: Flags::NONE,
            arg,
        };
        let rounded = self.before(cast(CastOp::FConvert, term), short);
        let rounded = rounded.and_then(|value| self.before(cast(CastOp::FConvert, value), ty));
        match (data, rounded) {
            (InstData::Binary { op, flags, args }, Some(value)) => {
                let args = [value, args[1]];
                self.set(InstData::Binary { op, flags, args })
            }
            (InstData::Ternary { op, flags, args }, Some(value)) => {
                let args = [args[0], args[1], value];
                self.set(InstData::Ternary { op, flags, args })
            }
            _ => false,
        }
    }

    pub(super) fn missing_guard(&mut self, data: InstData) -> bool {
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = data
        else {
            return false;
        };
        if self.function.is_constant(cond) {
            return false;
        }
        let always = self.function.bool(true);
        self.set(InstData::Branch {
            cond: always,
            then,
            otherwise,
        })
    }

    pub(super) fn other_choice(&mut self, data: InstData) -> bool {
        let InstData::Select {
            flags,
            cond,
            args: [a, b],
        } = data
        else {
            return false;
        };
        let args = [b, a];
        self.set(InstData::Select { flags, cond, args })
    }

    pub(super) fn neighbour(&mut self, data: InstData, elements: i64) -> bool {
        let InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            flags,
        } = data
        else {
            return false;
        };
        if index.is_none() || scale == 0 {
            return false;
        }
        self.set(InstData::PtrAdd {
            base,
            index,
            scale,
            offset: offset.wrapping_add(elements * i64::from(scale)),
            extend,
            flags,
        })
    }

    pub(super) fn narrow_index(&mut self, data: InstData) -> bool {
        let InstData::PtrAdd { index, scale, .. } = data else {
            return false;
        };
        let Some(index) = index.filter(|_| scale != 0) else {
            return false;
        };
        let ty = self.function.ty(index);
        if self.function.is_constant(index) || !matches!(ty, Type::I32 | Type::I64) {
            return false;
        }
        let mask = self.function.constant(ty, 0xff);
        let narrow = InstData::Binary {
            op: BinaryOp::And,
            flags: Flags::NONE,
            args: [index, mask],
        };
        let Some(narrow) = self.before(narrow, ty) else {
            return false;
        };
        let mut data = data;
        if let InstData::PtrAdd { index, .. } = &mut data {
            *index = Some(narrow);
        }
        self.set(data)
    }

    pub(super) fn negate_store(&mut self, data: InstData) -> bool {
        let InstData::Store { ptr, value, access } = data else {
            return false;
        };
        let ty = self.function.ty(value);
        if !ty.is_float() || ty.is_matrix() || self.function.is_constant(value) {
            return false;
        }
        let negated = InstData::Unary {
            op: UnaryOp::FNeg,
            flags: Flags::NONE,
            arg: value,
        };
        let negated = self.before(negated, ty);
        negated.is_some_and(|value| self.set(InstData::Store { ptr, value, access }))
    }

    /// Takes the operation out of its block.
    fn remove(&mut self) -> bool {
        let mut insts = self.function.take_insts(self.block);
        insts.retain(|inst| *inst != self.inst);
        self.function.set_insts(self.block, insts);
        true
    }

    pub(super) fn drop_store(&mut self, data: InstData) -> bool {
        matches!(data, InstData::Store { .. }) && self.remove()
    }

    /// A call that gives what it was given is one that was left out.
    pub(super) fn drop_call(&mut self, data: InstData) -> bool {
        let InstData::Call {
            callee: Callee::Builtin(_),
            args,
            ..
        } = data
        else {
            return false;
        };
        let Some(result) = self.function.result(self.inst) else {
            return false;
        };
        let ty = self.function.ty(result);
        let first = self.function.list_values(args).first().copied();
        match first {
            Some(first) if self.function.ty(first) == ty && ty.is_float() => {
                self.replace(result, first)
            }
            _ => false,
        }
    }

    pub(super) fn drop_barrier(&mut self, data: InstData) -> bool {
        let InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } = data
        else {
            return false;
        };
        call.builtin == assay_ssa::Builtin::ThreadgroupBarrier && self.remove()
    }

    /// Every use of a value becomes another.
    fn replace(&mut self, old: Value, new: Value) -> bool {
        for block in self.function.blocks().to_vec() {
            for inst in self.function.insts(block).to_vec() {
                self.function
                    .map_operands(inst, |value| if value == old { new } else { value });
            }
        }
        true
    }
}
