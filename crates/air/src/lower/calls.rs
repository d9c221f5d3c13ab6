//! Calls: of functions of the module, of builtins, of anything else by name.

use super::arithmetic::fast_math;
use super::function::FunctionLowering;
use super::odd_calls::Odd;
use super::{LowerError, Lowered, wide};
use crate::llvm::{Attributes, Op, TypeId, ValueId, ValueKind};
use assay_ssa::builtin::{AtomicName, Family, Resolved};
use assay_ssa::{
    Access, BinaryOp, Builtin, BuiltinCall, CastOp, Flags, Id, InstData, Ordering, Scalar, Scope,
    Symbol, Type, TypeKind, Value,
};

/// A call our headers make so that clang takes a buffer for known to others; it does nothing.
const ESCAPE: &str = "assay.escape";

/// What clang calls where an index lies outside its array.
const INDEX_OUTSIDE: &str = "__ubsan_handle_out_of_bounds_minimal";

/// The number of the rule in the builtin `expect` (`assay_opt::expectation::Expectation::IndexInArray`).
const INDEX_IN_ARRAY: i32 = 7;

/// What a call through a pointer is kept as.
const INDIRECT: &str = "indirect call";

/// A call as read, its callee known.
struct Call<'c> {
    index: u32,
    callee: u32,
    arguments: &'c [u32],
    attributes: u32,
    flags: Flags,
    ret: Type,
    /// The result's type as LLVM has it.
    given: Option<TypeId>,
}

impl FunctionLowering<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        index: u32,
        op: &Op,
        type_id: Option<TypeId>,
    ) -> Lowered<Option<Value>> {
        let Op::Call {
            callee,
            arguments,
            attributes,
            flags,
            ..
        } = *op
        else {
            return Err(LowerError::new("not a call"));
        };
        let body = self.body;
        let arguments = body.list(arguments);
        let Some(callee) = self.lowering.called_function(callee) else {
            return self.indirect_call(arguments, type_id);
        };
        let defined = self.lowering.function_id(callee);
        let resolved = match defined {
            Some(_) => Resolved::Unknown,
            None => self.lowering.resolve(callee),
        };
        if defined.is_none() && self.is_named(callee, INDEX_OUTSIDE) {
            self.index_outside();
            return Ok(None);
        }
        if resolved == Resolved::Ignored || defined.is_none() && self.is_named(callee, ESCAPE) {
            return self.lifetime(callee, arguments).map(|()| None);
        }
        let is_wide = type_id.is_some_and(|ty| self.lowering.is_wide(ty))
            || arguments.iter().any(|&id| self.is_wide(ValueId(id)));
        if is_wide && defined.is_none() {
            return Err(wide::refused("a function"));
        }
        let ret = match type_id {
            Some(ty) => self.lowering.ty(ty)?,
            None => Type::VOID,
        };
        let call = Call {
            index,
            callee,
            arguments,
            attributes,
            flags: self.flags_of_call(callee, fast_math(flags)),
            ret,
            given: type_id,
        };
        match defined {
            Some(id) => {
                let args = self.call_arguments(&call)?;
                Ok(self.builder().call(id, &args, ret))
            }
            None => self.call_named(&call, resolved),
        }
    }

    /// A function called by its precise name is not approximated, whatever the flags of the call.
    fn flags_of_call(&self, callee: u32, flags: Flags) -> Flags {
        let function = self.lowering.source.functions.get(callee as usize);
        let precise = function.is_some_and(|function| function.name.starts_with("air.precise_"));
        if precise {
            flags.without(Flags::AFN)
        } else {
            flags
        }
    }

    fn is_named(&self, callee: u32, name: &str) -> bool {
        let function = self.lowering.source.functions.get(callee as usize);
        function.is_some_and(|function| function.name == name)
    }

    /// Notes where a variable's life starts and ends, if the program is to say so. The pointer is the last argument:
    /// older compilers give a size before it.
    fn lifetime(&mut self, callee: u32, arguments: &[u32]) -> Lowered<()> {
        let function = self.lowering.source.functions.get(callee as usize);
        let name = function.map_or("", |function| &function.name);
        let edge = match name {
            _ if name.starts_with("llvm.lifetime.start") => Builtin::LifetimeStart,
            _ if name.starts_with("llvm.lifetime.end") => Builtin::LifetimeEnd,
            _ => return Ok(()),
        };
        if let (true, Some(&pointer)) = (self.lowering.lifetimes, arguments.last()) {
            let pointer = self.value(ValueId(pointer))?;
            self.builder().builtin(edge.call(), &[pointer], Type::VOID);
        }
        Ok(())
    }

    /// clang's report of an index outside its array, in a program that is to be checked.
    fn index_outside(&mut self) {
        let broken = self.function.bool(false);
        let rule = self.builder().i32(INDEX_IN_ARRAY);
        let call = Builtin::Expect.call();
        self.builder().builtin(call, &[broken, rule], Type::VOID);
    }

    fn values_of(&mut self, ids: &[u32]) -> Lowered<Vec<Value>> {
        ids.iter().map(|&id| self.value(ValueId(id))).collect()
    }

    fn indirect_call(
        &mut self,
        arguments: &[u32],
        type_id: Option<TypeId>,
    ) -> Lowered<Option<Value>> {
        let args = self.values_of(arguments)?;
        let ret = match type_id {
            Some(ty) => self.lowering.ty(ty)?,
            None => Type::VOID,
        };
        let symbol = self.lowering.target.symbol(INDIRECT);
        Ok(self.builder().unknown(symbol, &args, ret))
    }

    /// Arguments of a call to a function of the module; what is passed `byval` is copied first.
    fn call_arguments(&mut self, call: &Call<'_>) -> Lowered<Vec<Value>> {
        let mut args = self.values_of(call.arguments)?;
        let source = self.lowering.source;
        let declared = source
            .functions
            .get(call.callee as usize)
            .map_or(0, |f| f.attributes);
        for (position, arg) in args.iter_mut().enumerate() {
            let of = |list| source.attributes.parameter(list, position as u32);
            let attributes = [of(call.attributes), of(declared)];
            let by_value = attributes
                .into_iter()
                .flatten()
                .find(|a| a.has(Attributes::BYVAL));
            let Some(ty) = by_value.and_then(|attributes| attributes.memory_type) else {
                continue;
            };
            let ty = self.lowering.ty(ty)?;
            let bytes = self.lowering.target.types.store_size(ty);
            let copy = self.entry_alloca(ty, 0);
            let size = self.function.i64(i64::from(bytes));
            let align = self.lowering.target.types.align(ty);
            let data = InstData::MemCopy {
                dst: copy,
                src: *arg,
                size,
                align_log2: align.max(1).ilog2() as u8,
                overlap: false,
                alias: None,
            };
            self.builder().inst(data, Type::VOID);
            let wanted = self.function.ty(*arg);
            *arg = match self.function.ty(copy) == wanted {
                true => copy,
                false => self
                    .builder()
                    .cast(CastOp::SpaceCast, copy, wanted, Flags::NONE),
            };
        }
        Ok(args)
    }

    fn call_named(&mut self, call: &Call<'_>, resolved: Resolved) -> Lowered<Option<Value>> {
        if resolved == Resolved::Builtin(Builtin::IsFunctionConstantDefined.call()) {
            return Ok(Some(self.is_defined(call)));
        }
        let odd = self.odd_widths(call)?;
        let args = self.values_of(call.arguments)?;
        if odd.taken.is_some() || odd.given.is_some() {
            let result = self.odd_call(resolved, &args, call.ret, odd);
            let refused = || {
                let name = self.callee_name(call);
                LowerError::new(format!("{name} of an integer of odd width"))
            };
            return result.map(Some).ok_or_else(refused);
        }
        match resolved {
            Resolved::Builtin(builtin) => self.call_builtin(call, builtin, &args),
            Resolved::MemCopy { .. } | Resolved::MemSet if args.len() >= 3 => {
                self.copy_or_set(call, resolved, &args);
                Ok(None)
            }
            Resolved::Atomic(AtomicName::CompareExchange)
                if args.len() >= 6 && self.is_neutral_atomic(call) =>
            {
                Ok(Some(self.neutral_exchange(&args)))
            }
            _ if args.len() < least_arguments(resolved) => Ok(self.unknown(call, &args)),
            Resolved::Unknown => Ok(self.unknown(call, &args)),
            // Named only if unknown, which the cases above have dealt with.
            _ => Ok(self.builder().call_resolved(
                resolved,
                Symbol::from_index(0),
                &args,
                call.ret,
                call.flags,
            )),
        }
    }

    fn odd_widths(&self, call: &Call<'_>) -> Lowered<Odd> {
        let mut taken = None;
        for &argument in call.arguments {
            let ty = self.llvm_value(ValueId(argument))?.ty;
            taken = taken.or(self.lowering.odd_width(ty));
        }
        let given = call.given.and_then(|ty| self.lowering.odd_width(ty));
        Ok(Odd { taken, given })
    }

    fn unknown(&mut self, call: &Call<'_>, args: &[Value]) -> Option<Value> {
        let symbol = self.lowering.symbol(call.callee);
        self.builder().unknown(symbol, args, call.ret)
    }

    fn callee_name(&self, call: &Call<'_>) -> &str {
        let function = self.lowering.source.functions.get(call.callee as usize);
        function.map_or("", |function| &function.name)
    }

    /// Copying or setting memory, with the alignment the arguments promise.
    fn copy_or_set(&mut self, call: &Call<'_>, resolved: Resolved, args: &[Value]) {
        let source = self.lowering.source;
        let align_of = |position: u32| {
            let attributes = source.attributes.parameter(call.attributes, position);
            attributes.map_or(1, |attributes| attributes.align.max(1))
        };
        let &[dst, second, size, ..] = args else {
            return;
        };
        let data = match resolved {
            Resolved::MemCopy { overlap } => InstData::MemCopy {
                dst,
                src: second,
                size,
                align_log2: align_of(0).min(align_of(1)).ilog2() as u8,
                overlap,
                alias: self.alias(call.index),
            },
            _ => InstData::MemSet {
                dst,
                byte: second,
                size,
                align_log2: align_of(0).ilog2() as u8,
            },
        };
        self.builder().inst(data, Type::VOID);
    }

    fn call_builtin(
        &mut self,
        call: &Call<'_>,
        builtin: BuiltinCall,
        args: &[Value],
    ) -> Lowered<Option<Value>> {
        let info = builtin.info();
        match (info.family, args) {
            // Our headers ask for one dimension; the builtin gives all three.
            (Family::Position, &[dimension]) => {
                let all = Type::vector(Scalar::I32, 3);
                let mut builder = self.builder();
                let position = builder.builtin(builtin, &[], all);
                Ok(position.map(|position| builder.extract(position, dimension)))
            }
            (Family::Matrix, _) if self.has_scalar_matrices(builtin, call, args) => {
                self.scalar_matrix_call(call, builtin, args)
            }
            (Family::Matrix, &[ptr, extents, strides, origin])
                if builtin.builtin == Builtin::MatrixLoad && self.is_pair(extents) =>
            {
                match self.strided(ptr, strides, origin, call.ret) {
                    Some(args) => Ok(self.builder().builtin(builtin, &args, call.ret)),
                    None => Ok(self.unknown(call, args)),
                }
            }
            (Family::Matrix, &[matrix, ptr, extents, strides, origin])
                if builtin.builtin == Builtin::MatrixStore && self.is_pair(extents) =>
            {
                let ty = self.function.ty(matrix);
                match self.strided(ptr, strides, origin, ty) {
                    Some([ptr, row, origin, transposed]) => {
                        let args = [matrix, ptr, row, origin, transposed];
                        Ok(self.builder().builtin(builtin, &args, Type::VOID))
                    }
                    None => Ok(self.unknown(call, args)),
                }
            }
            // LLVM's says whether the most negative number may occur.
            (Family::Integer, &[arg, _]) if builtin.builtin == Builtin::Abs => {
                Ok(self.builder().builtin(builtin, &[arg], call.ret))
            }
            _ => {
                let callee = assay_ssa::Callee::Builtin(builtin);
                Ok(self.builder().call_any(callee, args, call.ret, call.flags))
            }
        }
    }

    /// Whether a matrix builtin is called in our headers' way: a matrix as two scalars.
    fn has_scalar_matrices(&self, builtin: BuiltinCall, call: &Call<'_>, args: &[Value]) -> bool {
        let by_elements = matches!(
            builtin.builtin,
            Builtin::MatrixLoad
                | Builtin::MatrixStore
                | Builtin::MatrixFilled
                | Builtin::MatrixDiagonal
                | Builtin::MatrixMultiply
                | Builtin::MatrixMultiplyAdd
        );
        let holds_matrix = |ty: Type| ty.is_matrix();
        by_elements
            && !holds_matrix(call.ret)
            && !args.iter().any(|&arg| holds_matrix(self.function.ty(arg)))
    }

    fn scalar_matrix_call(
        &mut self,
        call: &Call<'_>,
        builtin: BuiltinCall,
        args: &[Value],
    ) -> Lowered<Option<Value>> {
        let args = match (builtin.builtin, args) {
            (Builtin::MatrixLoad, &[ptr, row, x, y, transposed]) => {
                vec![ptr, row, self.origin(x, y), transposed]
            }
            (Builtin::MatrixStore, &[a, b, ptr, row, x, y, transposed]) => {
                vec![self.matrix(a, b)?, ptr, row, self.origin(x, y), transposed]
            }
            (Builtin::MatrixFilled | Builtin::MatrixDiagonal, &[value]) => vec![value],
            (Builtin::MatrixMultiply, &[a0, a1, b0, b1]) => {
                vec![self.matrix(a0, a1)?, self.matrix(b0, b1)?]
            }
            (Builtin::MatrixMultiplyAdd, &[a0, a1, b0, b1, c0, c1]) => {
                vec![
                    self.matrix(a0, a1)?,
                    self.matrix(b0, b1)?,
                    self.matrix(c0, c1)?,
                ]
            }
            _ => return Ok(self.unknown(call, args)),
        };
        if call.ret.is_void() {
            self.builder().builtin(builtin, &args, Type::VOID);
            return Ok(None);
        }
        let element = self.lowering.target.types.element_at(call.ret, 0);
        let scalar = element.and_then(|(ty, _)| ty.lane_type());
        let scalar =
            scalar.ok_or_else(|| LowerError::new("a matrix that is no pair of numbers"))?;
        let mut builder = self.builder();
        let Some(matrix) = builder.builtin(builtin, &args, Type::matrix(scalar)) else {
            return Ok(None);
        };
        let pair = [0, 1].map(|lane| builder.extract_lane(matrix, lane));
        Ok(Some(builder.construct(call.ret, &pair)))
    }

    fn is_pair(&self, value: Value) -> bool {
        self.function.ty(value) == Type::vector(Scalar::I64, 2)
    }

    /// Metal 4's way to say where a matrix lies: extents, strides of column and row, origin. One stride is 1;
    /// the other is the row length of the older way, transposed if it is the column's.
    fn strided(
        &mut self,
        ptr: Value,
        strides: Value,
        origin: Value,
        matrix: Type,
    ) -> Option<[Value; 4]> {
        let (length, transposed) = self.row_length(strides, 0)?;
        let ptr = match self.function.const_splat(origin) {
            Some(0) => ptr,
            _ => {
                let bytes = matrix.element()?.bytes();
                let mut builder = self.builder();
                let mut ptr = ptr;
                for lane in [0, 1] {
                    let steps = builder.extract_lane(origin, lane);
                    let stride = builder.extract_lane(strides, lane);
                    let elements = builder.binary(BinaryOp::Mul, steps, stride, Flags::NONE);
                    ptr = builder.ptr_add(ptr, Some(elements), bytes, 0, Flags::NONE);
                }
                ptr
            }
        };
        let origin = self.function.zero(Type::vector(Scalar::I64, 2));
        Some([ptr, length, origin, transposed])
    }

    /// The stride that is not 1, and whether it is the column's.
    fn row_length(&mut self, strides: Value, depth: u32) -> Option<(Value, Value)> {
        let chosen = match self.function.def_data(strides) {
            Some(&InstData::Select { cond, args, .. }) if depth < 4 => Some((cond, args)),
            _ => None,
        };
        if let Some((cond, [a, b])) = chosen {
            let (a, a_transposed) = self.row_length(a, depth + 1)?;
            let (b, b_transposed) = self.row_length(b, depth + 1)?;
            let mut builder = self.builder();
            let length = builder.select(cond, a, b, Flags::NONE);
            let transposed = builder.select(cond, a_transposed, b_transposed, Flags::NONE);
            return Some((length, transposed));
        }
        let [column, row] = [0, 1].map(|lane| self.lane(strides, lane));
        let (column, row) = (column?, row?);
        let one = |value: Value| self.function.const_bits(value) == Some(1);
        let (length, transposed) = match (one(column), one(row)) {
            (true, _) => (row, false),
            (_, true) => (column, true),
            _ => return None,
        };
        Some((length, self.function.bool(transposed)))
    }

    /// The scalar a vector was given as one of its elements.
    fn lane(&mut self, vector: Value, lane: u64) -> Option<Value> {
        let (mut vector, mut lane) = (vector, lane);
        for _ in 0..8 {
            if let Some(bits) = self.function.const_element(vector, lane as usize) {
                let scalar = self.function.ty(vector).element()?;
                return Some(self.function.constant(Type::scalar(scalar), bits));
            }
            match *self.function.def_data(vector)? {
                InstData::Insert {
                    vector: rest,
                    element,
                    index,
                } => match self.function.const_bits(index)? {
                    index if index == lane => return Some(element),
                    _ => vector = rest,
                },
                InstData::Shuffle { args, mask } => {
                    let from = u64::from(*self.function.indices(mask).get(lane as usize)?);
                    let lanes = u64::from(self.function.ty(args[0]).lanes());
                    (vector, lane) = match from.checked_sub(lanes) {
                        None => (args[0], from),
                        Some(from) if from < lanes => (args[1], from),
                        _ => return None,
                    };
                }
                InstData::Construct { args } => {
                    return self.function.list_values(args).get(lane as usize).copied();
                }
                _ => return None,
            }
        }
        None
    }

    fn matrix(&mut self, first: Value, second: Value) -> Lowered<Value> {
        match self.function.ty(first).kind() {
            TypeKind::Scalar(scalar) => Ok(self
                .builder()
                .construct(Type::matrix(scalar), &[first, second])),
            _ => Err(LowerError::new("a matrix element that is no number")),
        }
    }

    fn origin(&mut self, x: Value, y: Value) -> Value {
        self.construct(Type::vector(Scalar::I64, 2), &[x, y])
    }

    /// Whether an atomic's name lacks the address space, as in our headers.
    fn is_neutral_atomic(&self, call: &Call<'_>) -> bool {
        let rest = self.callee_name(call).strip_prefix("air.atomic.");
        rest.is_some_and(|rest| !rest.starts_with("global.") && !rest.starts_with("local."))
    }

    /// Our headers' compare-and-exchange takes the place of the expected value, as Apple's does,
    /// leaves the old value there, and returns it.
    fn neutral_exchange(&mut self, args: &[Value]) -> Value {
        let (ptr, place, desired) = (args[0], args[1], args[2]);
        let number = |this: &Self, index: usize| {
            args.get(index)
                .and_then(|&value| this.function.const_bits(value))
                .unwrap_or(0)
        };
        let ty = self.function.ty(desired);
        let plain = Access::aligned(self.lowering.target.types.store_size(ty));
        let access = Access {
            ordering: Ordering::from_air(number(self, 3)),
            scope: Scope::from_air(number(self, 5)),
            volatile: number(self, 6) != 0,
            ..plain
        };
        let expected = self.builder().load(ty, place, plain);
        let data = InstData::AtomicCompareExchange {
            ptr,
            expected,
            desired,
            access,
        };
        let old = self.result_of(data, ty);
        self.builder().store(place, old, plain);
        old
    }

    fn is_defined(&mut self, call: &Call<'_>) -> Value {
        let global = call.arguments.first().and_then(|&id| {
            match self.body.value(self.lowering.source, ValueId(id))?.kind {
                ValueKind::Global(index) => Some(index),
                _ => None,
            }
        });
        let given = global.is_some_and(|global| self.lowering.constants.is_given(global));
        self.function.constant(call.ret, u64::from(given))
    }
}

/// How many arguments the instruction a name stands for takes.
fn least_arguments(resolved: Resolved) -> usize {
    match resolved {
        Resolved::Cast(_) | Resolved::NotZero | Resolved::Identity => 1,
        Resolved::Ternary(_) | Resolved::MemCopy { .. } | Resolved::MemSet => 3,
        Resolved::Atomic(AtomicName::Load) => 1,
        Resolved::Atomic(AtomicName::Store | AtomicName::Rmw(_)) => 2,
        Resolved::Atomic(AtomicName::CompareExchange) => 3,
        Resolved::Builtin(_) | Resolved::Ignored | Resolved::Unknown => 0,
    }
}
