//! Builtins in Metal's spelling.

use super::expression::{Expr, Level, component};
use super::signature::Position;
use super::{PrintError, Printer, types};
use assay_ssa::builtin::{BuiltinCall, Family, Sign};
use assay_ssa::{
    BarrierMemory, Builtin, Callee, InstData, Ordering, Scalar, Scope, Type, TypeKind, Value,
    ValueDef,
};

/// Functions whose result is the same however they are computed.
const EXACT: &[Builtin] = &[
    Builtin::Fabs,
    Builtin::Floor,
    Builtin::Ceil,
    Builtin::Trunc,
    Builtin::Rint,
    Builtin::Fmin,
    Builtin::Fmax,
    Builtin::Fmin3,
    Builtin::Fmax3,
    Builtin::Fmedian3,
    Builtin::Fclamp,
    Builtin::Saturate,
    Builtin::Sign,
    Builtin::Copysign,
    Builtin::Ldexp,
    Builtin::Ilogb,
    Builtin::Nextafter,
    Builtin::Mix,
    Builtin::Step,
    Builtin::Smoothstep,
];

/// Metal's name, where it is not the table's.
const NAMES: &[(Builtin, &str)] = &[
    (Builtin::Fclamp, "clamp"),
    (Builtin::Fmedian3, "median3"),
    (Builtin::Fmin3, "min3"),
    (Builtin::Fmax3, "max3"),
];

/// Builtins for which Metal has no function.
const UNSPELLED: &[Builtin] = &[
    Builtin::Powi,
    Builtin::Fminimum,
    Builtin::Fmaximum,
    Builtin::ByteSwap,
    Builtin::Compare3,
    Builtin::AddOverflow,
    Builtin::SubOverflow,
    Builtin::MulOverflow,
    Builtin::ReduceFadd,
    Builtin::ReduceFmul,
    Builtin::ReduceFmin,
    Builtin::ReduceFmax,
    Builtin::ReduceMin,
    Builtin::ReduceMax,
    Builtin::ReduceMul,
    Builtin::IsUniform,
    Builtin::AsyncCopy1d,
    Builtin::AsyncCopy2d,
    Builtin::WaitEvents,
    Builtin::IsFunctionConstantDefined,
    Builtin::NormalizePredicate,
    Builtin::Sincos,
    Builtin::Frexp,
    Builtin::Modf,
];

/// LLVM's classes of floats as bits, and Metal's tests for sets of them.
const CLASSES: &[(u64, &str)] = &[
    (0x003, "isnan"),
    (0x204, "isinf"),
    (0x1f8, "isfinite"),
    (0x108, "isnormal"),
];

/// All of the classes.
const EVERY_CLASS: u64 = 0x3ff;

fn name_of(builtin: Builtin) -> &'static str {
    let renamed = NAMES.iter().find(|(known, _)| *known == builtin);
    renamed.map_or(builtin.info().name, |(_, name)| name)
}

impl Printer<'_> {
    /// A call as an expression; those of matrices are statements.
    pub(super) fn call(
        &self,
        callee: Callee,
        args: &[Value],
        ty: Type,
    ) -> Result<Expr, PrintError> {
        let call = match callee {
            Callee::Builtin(call) => call,
            Callee::Function(_) => return Err(PrintError::Operation("a call of a function")),
            Callee::Unknown(symbol) => {
                let name = self.module.symbols.get(symbol).cloned();
                return Err(PrintError::UnknownFunction(name.unwrap_or_default()));
            }
        };
        if UNSPELLED.contains(&call.builtin) {
            return Err(PrintError::Builtin(call.info().name));
        }
        match call.info().family {
            Family::Math | Family::Geometric => self.math(call, args, ty),
            Family::Relational => self.relational(call.builtin, args),
            Family::Integer => self.integer(call, args, ty),
            Family::Vector => self.reduce(call.builtin, args),
            Family::Pack => self.pack(call.builtin, args, ty),
            Family::Simd | Family::Quad => self.group(call, args, ty),
            Family::Matrix => self.matrix(call.builtin, args, ty),
            Family::Barrier => self.barrier(call.builtin, args),
            Family::Position => self.position(call.builtin, ty),
            Family::Query => Err(PrintError::Builtin(call.info().name)),
            Family::Texture => Err(PrintError::Texture),
        }
    }

    /// `name(args)`; an operation of brain floats is written in floats and rounded once.
    pub(super) fn call_in(&self, ty: Type, name: &str, args: &[Expr]) -> Expr {
        if ty.element() != Some(Scalar::BF16) {
            return Expr::call(name, args);
        }
        self.widened(ty, name, args)
    }

    /// The function of the arguments in single precision, rounded to `ty`.
    fn widened(&self, ty: Type, name: &str, args: &[Expr]) -> Expr {
        let wide = types::value(ty.with_element(Scalar::F32)).unwrap_or_default();
        let narrow = types::value(ty).unwrap_or_default();
        let args: Vec<Expr> = args
            .iter()
            .map(|arg| Expr::call(&wide, std::slice::from_ref(arg)))
            .collect();
        Expr::call(&narrow, &[Expr::call(name, &args)])
    }

    fn math(&self, call: BuiltinCall, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let texts = self.values(args)?;
        let name = name_of(call.builtin);
        let single = ty.element() == Some(Scalar::F32);
        if call.builtin == Builtin::Nextafter && ty.element() == Some(Scalar::BF16) {
            return Err(PrintError::Builtin("nextafter of brain floats"));
        }
        if call.builtin == Builtin::Ldexp {
            let [x, _] = texts.as_slice() else {
                return Err(PrintError::Builtin(name));
            };
            return Ok(Expr::call(name, &[x.clone(), self.signed(args[1])?]));
        }
        if call.builtin == Builtin::Ilogb {
            return Ok(Expr::call(&types::value(ty)?, &[Expr::call(name, &texts)]));
        }
        if call.builtin == Builtin::Recip {
            let wide = types::value(ty.with_element(Scalar::F32))?;
            let one = Expr::call(&wide, &[Expr::atom("1.0f".to_owned())]);
            let one = if wide == "float" {
                Expr::atom("1.0f".to_owned())
            } else {
                one
            };
            // The approximate reciprocal: what a fast division by it is made of.
            let divide = "fast::divide";
            if single {
                return Ok(Expr::call(divide, &[one, texts[0].clone()]));
            }
            let x = Expr::call(&wide, &texts[..1]);
            return Ok(Expr::call(
                &types::value(ty)?,
                &[Expr::call(divide, &[one, x])],
            ));
        }
        if EXACT.contains(&call.builtin) || call.info().family == Family::Geometric {
            return Ok(Expr::call(name, &texts));
        }
        let mode = if call.fast { "fast" } else { "precise" };
        let full = format!("{mode}::{name}");
        if !single && call.fast {
            return Ok(self.widened(ty, &full, &texts));
        }
        Ok(Expr::call(&full, &texts))
    }

    fn relational(&self, builtin: Builtin, args: &[Value]) -> Result<Expr, PrintError> {
        let name = builtin.info().name;
        if builtin != Builtin::IsClass {
            return Ok(Expr::call(name, &self.values(args)?));
        }
        let (&[value, mask], true) = (args, args.len() == 2) else {
            return Err(PrintError::Builtin(name));
        };
        let ValueDef::Const(mask) = self.function.def(mask) else {
            return Err(PrintError::Builtin(name));
        };
        let class = |mask: u64| CLASSES.iter().find(|(known, _)| *known == mask);
        let value = [self.value(value)?];
        match (class(mask), class(!mask & EVERY_CLASS)) {
            (Some((_, test)), _) => Ok(Expr::call(test, &value)),
            (None, Some((_, test))) => Ok(Expr::call(test, &value).prefix("!")),
            (None, None) => Err(PrintError::Builtin(name)),
        }
    }

    fn integer(&self, call: BuiltinCall, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let name = call.info().name;
        if matches!(call.builtin, Builtin::FunnelLeft | Builtin::FunnelRight) {
            return self.funnel(call.builtin, args, ty);
        }
        // The second argument of these says what zero gives; Metal's functions give the width.
        let args = match call.builtin {
            Builtin::Clz | Builtin::Ctz => args.get(..1).unwrap_or(args),
            _ => args,
        };
        let signed = call.sign == Sign::Signed;
        let mut texts = Vec::new();
        for &arg in args {
            let same = self.function.ty(arg) == ty;
            texts.push(if signed && same {
                self.signed(arg)?
            } else {
                self.value(arg)?
            });
        }
        let result = Expr::call(name, &texts);
        if signed {
            return Ok(Expr::call(&types::value(ty)?, &[result]));
        }
        Ok(result)
    }

    /// A rotation, or the upper or lower half of two words shifted by a constant.
    fn funnel(&self, builtin: Builtin, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let &[high, low, amount] = args else {
            return Err(PrintError::Builtin(builtin.info().name));
        };
        let left = builtin == Builtin::FunnelLeft;
        if high == low && left {
            return Ok(Expr::call("rotate", &self.values(&[high, amount])?));
        }
        let bits = u64::from(ty.element().map_or(32, Scalar::bits));
        let ValueDef::Const(by) = self.function.def(amount) else {
            return Err(PrintError::Builtin(builtin.info().name));
        };
        if bits < 32 || ty.lanes() != 1 {
            return Err(PrintError::Builtin(builtin.info().name));
        }
        let by = if left { by % bits } else { bits - by % bits };
        let [high, low] = [self.value(high)?, self.value(low)?];
        if by == 0 {
            return Ok(high);
        }
        if by == bits {
            return Ok(low);
        }
        let up = high.binary(Level::Shift, "<<", &Expr::atom(by.to_string()));
        let down = low.binary(Level::Shift, ">>", &Expr::atom((bits - by).to_string()));
        Ok(up.binary(Level::Or, "|", &down))
    }

    fn reduce(&self, builtin: Builtin, args: &[Value]) -> Result<Expr, PrintError> {
        let (level, op) = match builtin {
            Builtin::ReduceAdd => (Level::Add, "+"),
            Builtin::ReduceAnd => (Level::And, "&"),
            Builtin::ReduceOr => (Level::Or, "|"),
            Builtin::ReduceXor => (Level::Xor, "^"),
            _ => return Err(PrintError::Builtin(builtin.info().name)),
        };
        let &[vector] = args else {
            return Err(PrintError::Builtin(builtin.info().name));
        };
        let ty = self.function.ty(vector);
        if ty.element() == Some(Scalar::I1) {
            let name = match builtin {
                Builtin::ReduceAnd => "all",
                Builtin::ReduceOr => "any",
                _ => return Err(PrintError::Builtin(builtin.info().name)),
            };
            return Ok(Expr::call(name, &[self.value(vector)?]));
        }
        let text = self.value(vector)?.within(Level::Postfix);
        let mut parts = ["x", "y", "z", "w"]
            .iter()
            .take(usize::from(ty.lanes()))
            .map(|part| Expr::atom(format!("{text}.{part}")));
        let first = parts
            .next()
            .ok_or(PrintError::Builtin(builtin.info().name))?;
        let sum = parts.fold(first, |sum, part| sum.binary(level, op, &part));
        let element = Type::scalar(ty.element().unwrap_or(Scalar::I32));
        Ok(Expr::call(&types::value(element)?, &[sum]))
    }

    fn pack(&self, builtin: Builtin, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let name = builtin.info().name;
        let float = |ty: Type| {
            if ty.element() == Some(Scalar::F16) {
                "half"
            } else {
                "float"
            }
        };
        let from = args.first().map_or(Type::F32, |&arg| self.function.ty(arg));
        let full = if let Some(format) = name.strip_prefix("pack_") {
            match format.strip_suffix("_srgb") {
                Some(format) => format!("pack_{}_to_srgb_{format}", float(from)),
                None => format!("pack_{}_to_{format}", float(from)),
            }
        } else {
            let format = name.strip_prefix("unpack_").unwrap_or(name);
            format!("unpack_{format}_to_{}", float(ty))
        };
        Ok(Expr::call(&full, &self.values(args)?))
    }

    fn group(&self, call: BuiltinCall, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let name = call.info().name;
        let vote = if call.info().family == Family::Simd {
            "simd_vote"
        } else {
            "quad_vote"
        };
        let texts = self.values(args)?;
        match call.builtin {
            Builtin::SimdBallot
            | Builtin::QuadBallot
            | Builtin::SimdActiveThreadsMask
            | Builtin::QuadActiveThreadsMask => {
                let mask = Expr::call(name, &texts);
                let bits = Expr::new(Level::Unary, format!("({vote}::vote_t){}", mask.text));
                Ok(Expr::call(&types::value(ty)?, &[bits]))
            }
            Builtin::SimdVoteAll | Builtin::QuadVoteAll => {
                Ok(Expr::atom(format!("{vote}({}).all()", texts[0].text)))
            }
            Builtin::SimdVoteAny | Builtin::QuadVoteAny => {
                Ok(Expr::atom(format!("{vote}({}).any()", texts[0].text)))
            }
            _ if call.sign == Sign::Signed => {
                let mut texts = Vec::new();
                for &arg in args {
                    let same = self.function.ty(arg) == ty;
                    texts.push(if same {
                        self.signed(arg)?
                    } else {
                        self.value(arg)?
                    });
                }
                Ok(Expr::call(&types::value(ty)?, &[Expr::call(name, &texts)]))
            }
            _ => Ok(Expr::call(name, &texts)),
        }
    }

    /// Matrices that can be written as an expression; loads, stores and products are statements.
    fn matrix(&self, builtin: Builtin, args: &[Value], ty: Type) -> Result<Expr, PrintError> {
        let TypeKind::Matrix(of) = ty.kind() else {
            return Err(PrintError::Builtin(builtin.info().name));
        };
        let of = types::scalar(of);
        let values = self.values(args)?;
        match builtin {
            Builtin::MatrixFilled => Ok(Expr::call(
                &format!("make_filled_simdgroup_matrix<{of}, 8, 8>"),
                &values,
            )),
            Builtin::MatrixDiagonal => Ok(Expr::call(
                &format!("simdgroup_matrix<{of}, 8, 8>"),
                &values,
            )),
            _ => Err(PrintError::Builtin(builtin.info().name)),
        }
    }

    fn barrier(&self, builtin: Builtin, args: &[Value]) -> Result<Expr, PrintError> {
        let name = builtin.info().name;
        let number = |at: usize| match args.get(at).map(|&arg| self.function.def(arg)) {
            Some(ValueDef::Const(bits)) => Ok(bits),
            _ => Err(PrintError::Builtin(name)),
        };
        let flags = Expr::atom(memory_flags(BarrierMemory(number(0)? as u32)));
        if builtin != Builtin::AtomicFence {
            return Ok(Expr::call(name, &[flags]));
        }
        let order = order_name(Ordering::from_air(number(1)?));
        let scope = scope_name(Scope::from_air(number(2)?));
        Ok(Expr::call(
            "atomic_thread_fence",
            &[
                flags,
                Expr::atom(order.to_owned()),
                Expr::atom(scope.to_owned()),
            ],
        ))
    }

    /// The position a value is.
    pub(super) fn position_of(&self, value: Value) -> Option<&Position> {
        match self.function.def_data(value)? {
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => self.positions.get(&call.builtin),
            _ => None,
        }
    }

    /// One component of a position, in the element type of `ty`.
    pub(super) fn position_component(
        &self,
        position: &Position,
        at: u64,
        ty: Type,
    ) -> Result<Expr, PrintError> {
        let name = &position.name;
        let text = match position.ty.lanes() {
            1 => name.clone(),
            _ => format!("{name}.{}", component(at)),
        };
        if position.ty.element() == ty.element() {
            return Ok(Expr::atom(text));
        }
        let element = Type::scalar(ty.element().unwrap_or(Scalar::I32));
        Ok(Expr::call(&types::value(element)?, &[Expr::atom(text)]))
    }

    fn position(&self, builtin: Builtin, ty: Type) -> Result<Expr, PrintError> {
        let position = self
            .positions
            .get(&builtin)
            .ok_or(PrintError::Builtin(builtin.info().name))?;
        let name = Expr::atom(position.name.clone());
        if position.ty == ty {
            return Ok(name);
        }
        // A narrower or shorter reading of the same position.
        let lanes = usize::from(ty.lanes());
        let short = match (usize::from(position.ty.lanes()), lanes) {
            (1, 1) => name,
            (1, _) => return Ok(name),
            (_, lanes) => Expr::atom(format!(
                "{}.{}",
                position.name,
                "xyz".get(..lanes).unwrap_or("x")
            )),
        };
        if position.ty.element() == ty.element() {
            return Ok(short);
        }
        Ok(Expr::call(&types::value(ty)?, &[short]))
    }
}

fn memory_flags(memory: BarrierMemory) -> String {
    let kinds = [
        (BarrierMemory::DEVICE, "mem_flags::mem_device"),
        (BarrierMemory::THREADGROUP, "mem_flags::mem_threadgroup"),
        (BarrierMemory::TEXTURE, "mem_flags::mem_texture"),
    ];
    let set: Vec<&str> = kinds
        .iter()
        .filter(|(bit, _)| memory.0 & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    if set.is_empty() {
        return "mem_flags::mem_none".to_owned();
    }
    set.join(" | ")
}

pub(super) fn order_name(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Plain | Ordering::Relaxed => "memory_order_relaxed",
        Ordering::Acquire => "memory_order_acquire",
        Ordering::Release => "memory_order_release",
        Ordering::AcqRel => "memory_order_acq_rel",
        Ordering::SeqCst => "memory_order_seq_cst",
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Thread => "thread_scope_thread",
        Scope::Simdgroup => "thread_scope_simdgroup",
        Scope::Threadgroup => "thread_scope_threadgroup",
        Scope::Device => "thread_scope_device",
    }
}
