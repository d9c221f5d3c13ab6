//! Building functions: one method per instruction, result types worked out.
//!
//! ```
//! use assay_ssa::{Access, BinaryOp, Builder, Builtin, Flags, Function, Scalar, Space, Type};
//!
//! let mut function = Function::new("scale", Type::VOID);
//! let mut b = Builder::new(&mut function);
//! let entry = b.block(&[Type::pointer(Space::Device), Type::F32]);
//! b.switch_to(entry);
//! let (data, factor) = (b.param(entry, 0), b.param(entry, 1));
//! let id = b.builtin(Builtin::ThreadPositionInGrid.call(), &[], Type::I32).unwrap();
//! let address = b.ptr_add(data, Some(id), 4, 0, Flags::INBOUNDS);
//! let x = b.load(Type::F32, address, Access::aligned(4));
//! let y = b.binary(BinaryOp::FMul, x, factor, Flags::NONE);
//! b.store(address, y, Access::aligned(4));
//! b.ret(None);
//! assert_eq!(function.insts(entry).len(), 6);
//! # assert_eq!(Scalar::F32.bits(), 32);
//! ```

use crate::builtin::{AtomicName, BuiltinCall, Resolved};
use crate::flags::Flags;
use crate::function::Function;
use crate::inst::{
    BinaryOp, Block, Callee, CastOp, FloatCond, FunctionId, IndexExtend, Inst, InstData, IntCond,
    SwitchCases, Symbol, TernaryOp, UnaryOp, Value,
};
use crate::location::Loc;
use crate::memory::{Access, AtomicOp, Ordering, Scope};
use crate::ty::{Aggregates, Scalar, Space, Type};

/// Appends instructions to a block of a function.
#[derive(Debug)]
pub struct Builder<'a> {
    function: &'a mut Function,
    current: Option<Block>,
    loc: Option<Loc>,
}

impl<'a> Builder<'a> {
    /// Starts building; [`switch_to`](Self::switch_to) a block before adding instructions.
    pub fn new(function: &'a mut Function) -> Self {
        Self {
            function,
            current: None,
            loc: None,
        }
    }

    /// The function being built.
    pub fn function(&mut self) -> &mut Function {
        self.function
    }

    /// Adds a block with parameters of these types.
    pub fn block(&mut self, params: &[Type]) -> Block {
        let block = self.function.add_block();
        for &ty in params {
            self.function.add_param(block, ty);
        }
        block
    }

    /// A parameter of a block.
    ///
    /// # Panics
    /// If the block has no such parameter.
    pub fn param(&self, block: Block, index: usize) -> Value {
        self.function.params(block)[index]
    }

    /// Further instructions go to the end of this block.
    pub fn switch_to(&mut self, block: Block) {
        self.current = Some(block);
    }

    /// The block instructions go to.
    pub fn current(&self) -> Option<Block> {
        self.current
    }

    /// Further instructions come from this source location.
    pub fn set_loc(&mut self, loc: Option<Loc>) {
        self.loc = loc;
    }

    /// Adds an instruction with a result of type `ty` (void for none).
    pub fn inst(&mut self, data: InstData, ty: Type) -> Inst {
        let inst = self.function.make_inst(data, ty, self.loc);
        if let Some(block) = self.current {
            self.function.append(block, inst);
        }
        inst
    }

    fn value(&mut self, data: InstData, ty: Type) -> Value {
        let inst = self.inst(data, ty);
        // Void was not asked for, so there is a result; an undefined value stands in otherwise.
        match self.function.result(inst) {
            Some(value) => value,
            None => self.function.undef(ty),
        }
    }

    // ---- constants ----

    /// An `i32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.function.i32(value)
    }

    /// An `i64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.function.i64(value)
    }

    /// An `f32` constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.function.f32(value)
    }

    /// A constant of any scalar type.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.function.constant(ty, bits)
    }

    // ---- arithmetic ----

    /// A unary operation.
    pub fn unary(&mut self, op: UnaryOp, arg: Value, flags: Flags) -> Value {
        let ty = self.function.ty(arg);
        self.value(InstData::Unary { op, flags, arg }, ty)
    }

    /// A binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value, flags: Flags) -> Value {
        let ty = self.function.ty(a);
        self.value(
            InstData::Binary {
                op,
                flags,
                args: [a, b],
            },
            ty,
        )
    }

    /// A multiply-add.
    pub fn ternary(&mut self, op: TernaryOp, args: [Value; 3], flags: Flags) -> Value {
        let ty = self.function.ty(args[0]);
        self.value(InstData::Ternary { op, flags, args }, ty)
    }

    /// An integer or pointer comparison.
    pub fn icmp(&mut self, cond: IntCond, a: Value, b: Value) -> Value {
        let ty = truth_type(self.function.ty(a));
        self.value(
            InstData::IntCompare {
                cond,
                flags: Flags::NONE,
                args: [a, b],
            },
            ty,
        )
    }

    /// A float comparison.
    pub fn fcmp(&mut self, cond: FloatCond, a: Value, b: Value, flags: Flags) -> Value {
        let ty = truth_type(self.function.ty(a));
        self.value(
            InstData::FloatCompare {
                cond,
                flags,
                args: [a, b],
            },
            ty,
        )
    }

    /// A choice between two values.
    pub fn select(&mut self, cond: Value, a: Value, b: Value, flags: Flags) -> Value {
        let ty = self.function.ty(a);
        self.value(
            InstData::Select {
                flags,
                cond,
                args: [a, b],
            },
            ty,
        )
    }

    /// A conversion.
    pub fn cast(&mut self, op: CastOp, arg: Value, ty: Type, flags: Flags) -> Value {
        self.value(InstData::Cast { op, flags, arg }, ty)
    }

    // ---- vectors and aggregates ----

    /// One element of a vector or matrix.
    pub fn extract(&mut self, vector: Value, index: Value) -> Value {
        let scalar = self.function.ty(vector).element().unwrap_or(Scalar::I32);
        self.value(InstData::Extract { vector, index }, Type::scalar(scalar))
    }

    /// One element of a vector or matrix, by a constant number.
    pub fn extract_lane(&mut self, vector: Value, lane: u32) -> Value {
        let index = self.function.i32(lane as i32);
        self.extract(vector, index)
    }

    /// A vector or matrix with one element replaced.
    pub fn insert(&mut self, vector: Value, element: Value, index: Value) -> Value {
        let ty = self.function.ty(vector);
        self.value(
            InstData::Insert {
                vector,
                element,
                index,
            },
            ty,
        )
    }

    /// Elements of two vectors by mask; `UNDEF_LANE` leaves an element undefined.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: &[u32]) -> Value {
        let scalar = self.function.ty(a).element().unwrap_or(Scalar::I32);
        let ty = Type::vector(scalar, u8::try_from(mask.len()).unwrap_or(u8::MAX));
        let mask = self.function.index_list(mask);
        self.value(InstData::Shuffle { args: [a, b], mask }, ty)
    }

    /// A vector, matrix, array or struct of its elements.
    pub fn construct(&mut self, ty: Type, args: &[Value]) -> Value {
        let args = self.function.list(args);
        self.value(InstData::Construct { args }, ty)
    }

    /// A part of an aggregate; void (and an undefined value) when the path leads nowhere.
    pub fn extract_value(&mut self, types: &Aggregates, aggregate: Value, path: &[u32]) -> Value {
        let mut ty = self.function.ty(aggregate);
        for &index in path {
            ty = types.element_at(ty, index).map_or(Type::VOID, |(ty, _)| ty);
        }
        let path = self.function.index_list(path);
        self.value(InstData::ExtractValue { aggregate, path }, ty)
    }

    /// An aggregate with a part replaced.
    pub fn insert_value(&mut self, aggregate: Value, element: Value, path: &[u32]) -> Value {
        let ty = self.function.ty(aggregate);
        let path = self.function.index_list(path);
        self.value(
            InstData::InsertValue {
                aggregate,
                element,
                path,
            },
            ty,
        )
    }

    // ---- memory ----

    /// Memory private to the thread.
    pub fn alloca(&mut self, ty: Type, align: u32) -> Value {
        self.value(InstData::Alloca { ty, align }, Type::pointer(Space::Thread))
    }

    /// A load.
    pub fn load(&mut self, ty: Type, ptr: Value, access: Access) -> Value {
        self.value(InstData::Load { ptr, access }, ty)
    }

    /// A store.
    pub fn store(&mut self, ptr: Value, value: Value, access: Access) -> Inst {
        self.inst(InstData::Store { ptr, value, access }, Type::VOID)
    }

    /// `base + sext(index) * scale + offset`.
    pub fn ptr_add(
        &mut self,
        base: Value,
        index: Option<Value>,
        scale: u32,
        offset: i64,
        flags: Flags,
    ) -> Value {
        self.ptr_add_extended(base, index, IndexExtend::Sign, scale, offset, flags)
    }

    /// [`ptr_add`](Self::ptr_add) with a choice of how the index is widened.
    pub fn ptr_add_extended(
        &mut self,
        base: Value,
        index: Option<Value>,
        extend: IndexExtend,
        scale: u32,
        offset: i64,
        flags: Flags,
    ) -> Value {
        let ty = self.function.ty(base);
        self.value(
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                flags,
            },
            ty,
        )
    }

    /// An atomic read-modify-write whose old value is of type `ty` (void when nobody wants it).
    pub fn atomic_rmw(
        &mut self,
        op: AtomicOp,
        ptr: Value,
        value: Value,
        access: Access,
        ty: Type,
    ) -> Option<Value> {
        let inst = self.inst(
            InstData::AtomicRmw {
                op,
                ptr,
                value,
                access,
            },
            ty,
        );
        self.function.result(inst)
    }

    // ---- calls ----

    /// Calls a function of the module.
    pub fn call(&mut self, callee: FunctionId, args: &[Value], ret: Type) -> Option<Value> {
        self.call_any(Callee::Function(callee), args, ret, Flags::NONE)
    }

    /// Calls a builtin.
    pub fn builtin(&mut self, call: BuiltinCall, args: &[Value], ret: Type) -> Option<Value> {
        self.call_any(Callee::Builtin(call), args, ret, Flags::NONE)
    }

    /// Calls something unknown by name.
    pub fn unknown(&mut self, symbol: Symbol, args: &[Value], ret: Type) -> Option<Value> {
        self.call_any(Callee::Unknown(symbol), args, ret, Flags::NONE)
    }

    /// Calls anything.
    pub fn call_any(
        &mut self,
        callee: Callee,
        args: &[Value],
        ret: Type,
        flags: Flags,
    ) -> Option<Value> {
        let args = self.function.list(args);
        let inst = self.inst(
            InstData::Call {
                callee,
                args,
                flags,
            },
            ret,
        );
        self.function.result(inst)
    }

    /// Makes what a resolved name means: a call, or the instruction it stands for. `symbol` names the callee,
    /// for the case that it is unknown. `ret` is the declared result type.
    pub fn call_resolved(
        &mut self,
        resolved: Resolved,
        symbol: Symbol,
        args: &[Value],
        ret: Type,
        flags: Flags,
    ) -> Option<Value> {
        match (resolved, args) {
            (Resolved::Builtin(call), _) => self.call_any(Callee::Builtin(call), args, ret, flags),
            (Resolved::Cast(op), &[arg, ..]) => Some(self.cast(op, arg, ret, Flags::NONE)),
            (Resolved::NotZero, &[arg, ..]) => Some(self.not_zero(arg)),
            (Resolved::Ternary(op), &[a, b, c, ..]) => Some(self.ternary(op, [a, b, c], flags)),
            (Resolved::Identity, &[arg, ..]) => Some(arg),
            (Resolved::Ignored, _) => None,
            (Resolved::MemCopy { overlap }, &[dst, src, size, ..]) => {
                let data = InstData::MemCopy {
                    dst,
                    src,
                    size,
                    align_log2: 0,
                    overlap,
                    alias: None,
                };
                self.inst(data, Type::VOID);
                None
            }
            (Resolved::MemSet, &[dst, byte, size, ..]) => {
                self.inst(
                    InstData::MemSet {
                        dst,
                        byte,
                        size,
                        align_log2: 0,
                    },
                    Type::VOID,
                );
                None
            }
            (Resolved::Atomic(name), _) => match self.atomic_named(name, args, ret) {
                Ok(result) => result,
                Err(()) => self.call_any(Callee::Unknown(symbol), args, ret, flags),
            },
            _ => self.call_any(Callee::Unknown(symbol), args, ret, flags),
        }
    }

    fn not_zero(&mut self, arg: Value) -> Value {
        let ty = self.function.ty(arg);
        let zero = self.function.zero(ty);
        if ty.is_float() {
            self.fcmp(FloatCond::Une, arg, zero, Flags::NONE)
        } else {
            self.icmp(IntCond::Ne, arg, zero)
        }
    }

    fn atomic_named(
        &mut self,
        name: AtomicName,
        args: &[Value],
        ret: Type,
    ) -> Result<Option<Value>, ()> {
        match (name, args) {
            (AtomicName::Load, &[ptr, ref how @ ..]) => {
                let access = self.atomic_access(ret, how, 1);
                Ok(Some(self.load(ret, ptr, access)))
            }
            (AtomicName::Store, &[ptr, value, ref how @ ..]) => {
                let ty = self.function.ty(value);
                let access = self.atomic_access(ty, how, 1);
                self.store(ptr, value, access);
                Ok(None)
            }
            (AtomicName::Rmw(op), &[ptr, value, ref how @ ..]) => {
                let ty = self.function.ty(value);
                let access = self.atomic_access(ty, how, 1);
                Ok(self.atomic_rmw(op, ptr, value, access, ret))
            }
            (AtomicName::CompareExchange, &[ptr, expected, desired, ref how @ ..]) => {
                let ty = self.function.ty(desired);
                let access = self.atomic_access(ty, how, 2);
                let plain = Access::aligned(access.align());
                let wanted = self.load(ty, expected, plain);
                let data = InstData::AtomicCompareExchange {
                    ptr,
                    expected: wanted,
                    desired,
                    access,
                };
                let old = self.value(data, ty);
                self.store(expected, old, plain);
                Ok(Some(old))
            }
            _ => Err(()),
        }
    }

    /// Reads ordering and scope from the constant arguments of an AIR atomic: `orders` orderings, then the scope.
    fn atomic_access(&self, ty: Type, how: &[Value], orders: usize) -> Access {
        let number = |index: usize| {
            how.get(index)
                .and_then(|&value| self.function.const_bits(value))
        };
        let bytes = ty.element().map_or(8, Scalar::bytes);
        Access {
            ordering: Ordering::from_air(number(0).unwrap_or(0)),
            scope: Scope::from_air(number(orders).unwrap_or(2)),
            volatile: number(orders + 1).unwrap_or(0) != 0,
            ..Access::aligned(bytes)
        }
    }

    // ---- control flow ----

    /// Goes to a block.
    pub fn jump(&mut self, block: Block, args: &[Value]) -> Inst {
        let target = self.function.block_call(block, args);
        self.inst(InstData::Jump { target }, Type::VOID)
    }

    /// Goes to one of two blocks.
    pub fn branch(
        &mut self,
        cond: Value,
        (then, then_args): (Block, &[Value]),
        (otherwise, otherwise_args): (Block, &[Value]),
    ) -> Inst {
        let then = self.function.block_call(then, then_args);
        let otherwise = self.function.block_call(otherwise, otherwise_args);
        self.inst(
            InstData::Branch {
                cond,
                then,
                otherwise,
            },
            Type::VOID,
        )
    }

    /// Goes to the block of the matching case.
    pub fn switch(
        &mut self,
        value: Value,
        (default, default_args): (Block, &[Value]),
        cases: &[(u64, Block, &[Value])],
    ) -> Inst {
        let default = self.function.block_call(default, default_args);
        let cases = cases
            .iter()
            .map(|&(number, block, args)| (number, self.function.block_call(block, args)))
            .collect();
        let cases = self.function.add_switch(SwitchCases { cases });
        self.inst(
            InstData::Switch {
                value,
                default,
                cases,
            },
            Type::VOID,
        )
    }

    /// Ends the function.
    pub fn ret(&mut self, value: Option<Value>) -> Inst {
        self.inst(InstData::Return { value }, Type::VOID)
    }

    /// Says that control does not come here.
    pub fn unreachable(&mut self) -> Inst {
        self.inst(InstData::Unreachable, Type::VOID)
    }
}

fn truth_type(ty: Type) -> Type {
    if ty.is_pointer() {
        Type::I1
    } else {
        ty.with_element(Scalar::I1)
    }
}
