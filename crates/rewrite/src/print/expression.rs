//! Values as expressions.

use super::{PrintError, Printer, literal, types};
use assay_ssa::{
    BinaryOp, CastOp, FloatCond, Inst, InstData, IntCond, Scalar, TernaryOp, Type, TypeKind,
    UNDEF_LANE, UnaryOp, Value, ValueDef,
};

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    Choice,
    LogicalOr,
    LogicalAnd,
    Or,
    Xor,
    And,
    Equality,
    Relation,
    Shift,
    Add,
    Multiply,
    Unary,
    Postfix,
}

/// Text with the level of its outermost operator.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) level: Level,
    pub(super) text: String,
}

impl Expr {
    pub(super) fn new(level: Level, text: String) -> Self {
        Expr { level, text }
    }

    /// A name, a call, a subscript.
    pub(super) fn atom(text: String) -> Self {
        Expr::new(Level::Postfix, text)
    }

    /// `name(a, b)`.
    pub(super) fn call(name: &str, args: &[Expr]) -> Self {
        let list: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        Expr::atom(format!("{name}({})", list.join(", ")))
    }

    /// The text, in parentheses if it binds less tightly than `level`.
    pub(super) fn within(&self, level: Level) -> String {
        if self.level < level {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    /// `self op other`, associating to the left. Bit operations and shifts have parentheses around any operator inside,
    /// as people write them.
    pub(super) fn binary(&self, level: Level, op: &str, other: &Expr) -> Expr {
        let strict = matches!(
            level,
            Level::Or | Level::Xor | Level::And | Level::Shift | Level::Equality | Level::Relation
        );
        let left = match () {
            () if self.level == level && strict => Level::Unary,
            () if strict && self.level < Level::Add => Level::Unary,
            () => level,
        };
        let right = if strict && other.level < Level::Add {
            Level::Unary
        } else {
            next(level)
        };
        Expr::new(
            level,
            format!("{} {op} {}", self.within(left), other.within(right)),
        )
    }

    pub(super) fn prefix(&self, op: &str) -> Expr {
        // `- -x` must not become `--x`.
        let text = if self.text.starts_with('-') {
            format!("({})", self.text)
        } else {
            self.within(Level::Unary)
        };
        Expr::new(Level::Unary, format!("{op}{text}"))
    }
}

/// The next tighter level.
fn next(level: Level) -> Level {
    match level {
        Level::Choice => Level::LogicalOr,
        Level::LogicalOr => Level::LogicalAnd,
        Level::LogicalAnd => Level::Or,
        Level::Or => Level::Xor,
        Level::Xor => Level::And,
        Level::And => Level::Equality,
        Level::Equality => Level::Relation,
        Level::Relation => Level::Shift,
        Level::Shift => Level::Add,
        Level::Add => Level::Multiply,
        Level::Multiply => Level::Unary,
        Level::Unary | Level::Postfix => Level::Postfix,
    }
}

/// A number smaller than `int` is computed in `int` and has to be cut again.
fn is_promoted(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Scalar(Scalar::I8 | Scalar::I16))
}

impl Printer<'_> {
    /// A value where it is used.
    pub(super) fn value(&self, value: Value) -> Result<Expr, PrintError> {
        let function = self.function;
        let ty = function.ty(value);
        match function.def(value) {
            ValueDef::Result(inst) if self.plan.inline[inst] => self.instruction(inst),
            ValueDef::Result(_) | ValueDef::Param(..) => Ok(Expr::atom(self.names.of(value))),
            ValueDef::Const(bits) => match ty.kind() {
                TypeKind::Scalar(of) => Ok(constant(of, bits)),
                _ => self.pointer(value),
            },
            ValueDef::ConstVector(elements) => {
                literal::vector(ty, function.elements(elements)).map(Expr::atom)
            }
            ValueDef::Zero | ValueDef::Undef => self.zero(ty),
            ValueDef::Global(global) => Ok(Expr::atom(self.names.global(global))),
            ValueDef::FunctionConstant(id) => Ok(Expr::atom(self.names.function_constant(id))),
        }
    }

    /// The zero of a type.
    pub(super) fn zero(&self, ty: Type) -> Result<Expr, PrintError> {
        match ty.kind() {
            TypeKind::Scalar(of) => Ok(constant(of, 0)),
            TypeKind::Vector(..) => literal::vector(ty, &[0]).map(Expr::atom),
            TypeKind::Matrix(of) => Ok(Expr::atom(format!(
                "make_filled_simdgroup_matrix<{}, 8, 8>({})",
                types::scalar(of),
                literal::scalar(of, 0)
            ))),
            TypeKind::Pointer(space) => Ok(Expr::new(
                Level::Unary,
                format!("({} uchar*)0ul", types::space(space)?),
            )),
            _ => Err(PrintError::Aggregate(ty)),
        }
    }

    /// A value read as signed.
    pub(super) fn signed(&self, value: Value) -> Result<Expr, PrintError> {
        let ty = self.function.ty(value);
        if let (ValueDef::Const(bits), TypeKind::Scalar(Scalar::I32)) =
            (self.function.def(value), ty.kind())
        {
            // `-2147483648` would be a 64-bit number with a sign before it.
            let text = match bits as u32 as i32 {
                i32::MIN => "int(0x80000000)".to_owned(),
                number => number.to_string(),
            };
            return Ok(Expr::new(Level::Unary, text));
        }
        Ok(Expr::call(&types::signed(ty)?, &[self.value(value)?]))
    }

    /// An instruction as an expression.
    pub(super) fn instruction(&self, inst: Inst) -> Result<Expr, PrintError> {
        let function = self.function;
        let ty = function.result_type(inst);
        match *function.inst(inst) {
            InstData::Unary { op, arg, .. } => match op {
                UnaryOp::FNeg => self.cut(ty, self.value(arg)?.prefix("-")),
                UnaryOp::Freeze => self.value(arg),
            },
            InstData::Binary { op, args, .. } => self.binary(op, args, ty),
            InstData::Ternary { op, args, .. } => {
                let args = self.values(&args)?;
                match op {
                    TernaryOp::Fma => Ok(self.call_in(ty, "fma", &args)),
                    TernaryOp::MulAdd => {
                        let product = args[0].binary(Level::Multiply, "*", &args[1]);
                        Ok(product.binary(Level::Add, "+", &args[2]))
                    }
                }
            }
            InstData::IntCompare { cond, args, .. } => self.int_compare(cond, args),
            InstData::FloatCompare { cond, args, .. } => self.float_compare(cond, args),
            InstData::Select { cond, args, .. } => self.select(cond, args, ty),
            InstData::Cast { op, arg, .. } => self.cast(op, arg, ty),
            InstData::Extract { vector, index } => self.extract(vector, index),
            InstData::Shuffle { args, mask } => self.shuffle(args, function.indices(mask), ty),
            InstData::Construct { args } => {
                let args = self.values(function.list_values(args))?;
                match ty.kind() {
                    TypeKind::Vector(..) => Ok(Expr::call(&types::value(ty)?, &args)),
                    _ => Err(PrintError::Aggregate(ty)),
                }
            }
            InstData::Load { ptr, access } => self.load(ptr, access, ty),
            InstData::PtrAdd { .. } => match function.result(inst) {
                Some(value) => self.pointer(value),
                None => Err(PrintError::Aggregate(ty)),
            },
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => {
                self.atomic(inst)
            }
            InstData::Call { callee, args, .. } => {
                self.call(callee, function.list_values(args), ty)
            }
            InstData::ExtractValue { .. } | InstData::InsertValue { .. } => {
                Err(PrintError::Aggregate(ty))
            }
            _ => Err(PrintError::Operation("an operation without an expression")),
        }
    }

    pub(super) fn values(&self, values: &[Value]) -> Result<Vec<Expr>, PrintError> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    fn binary(&self, op: BinaryOp, args: [Value; 2], ty: Type) -> Result<Expr, PrintError> {
        let truth = ty.element() == Some(Scalar::I1);
        let [a, b] = [self.value(args[0])?, self.value(args[1])?];
        let plain = |level, op| self.cut(ty, a.binary(level, op, &b));
        let wide = |level, op: &str| {
            // A product of two 16-bit numbers does not fit in `int`.
            if is_promoted(ty) {
                let [a, b] = [&a, &b].map(|x| Expr::call("uint", std::slice::from_ref(x)));
                self.cut(ty, a.binary(level, op, &b))
            } else {
                Ok(a.binary(level, op, &b))
            }
        };
        let signed = |level, op: &str| -> Result<Expr, PrintError> {
            let [a, b] = [self.signed(args[0])?, self.signed(args[1])?];
            Ok(Expr::call(&types::value(ty)?, &[a.binary(level, op, &b)]))
        };
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Xor if truth => {
                self.cut(ty, a.binary(Level::Equality, "!=", &b))
            }
            BinaryOp::Mul | BinaryOp::And if truth && ty == Type::I1 => {
                Ok(a.binary(Level::LogicalAnd, "&&", &b))
            }
            BinaryOp::Or if ty == Type::I1 => Ok(a.binary(Level::LogicalOr, "||", &b)),
            BinaryOp::Add | BinaryOp::FAdd => plain(Level::Add, "+"),
            BinaryOp::Sub | BinaryOp::FSub => plain(Level::Add, "-"),
            BinaryOp::Mul => wide(Level::Multiply, "*"),
            BinaryOp::FMul => plain(Level::Multiply, "*"),
            BinaryOp::FDiv => plain(Level::Multiply, "/"),
            BinaryOp::UDiv => plain(Level::Multiply, "/"),
            BinaryOp::URem => plain(Level::Multiply, "%"),
            BinaryOp::SDiv => signed(Level::Multiply, "/"),
            BinaryOp::SRem => signed(Level::Multiply, "%"),
            BinaryOp::And => plain(Level::And, "&"),
            BinaryOp::Or => plain(Level::Or, "|"),
            BinaryOp::Xor => plain(Level::Xor, "^"),
            BinaryOp::Shl | BinaryOp::LShr => {
                let amount = self.amount(args[1], ty, b.clone())?;
                let op = if op == BinaryOp::Shl { "<<" } else { ">>" };
                self.cut(ty, a.binary(Level::Shift, op, &amount))
            }
            BinaryOp::AShr => {
                let amount = self.amount(args[1], ty, b.clone())?;
                let shifted = self.signed(args[0])?.binary(Level::Shift, ">>", &amount);
                Ok(Expr::call(&types::value(ty)?, &[shifted]))
            }
            BinaryOp::FRem => Ok(self.call_in(ty, "fmod", &[a, b])),
        }
    }

    /// The amount of a shift, which the program takes modulo the width.
    fn amount(&self, amount: Value, ty: Type, text: Expr) -> Result<Expr, PrintError> {
        let bits = u64::from(ty.element().map_or(32, Scalar::bits));
        match self.function.def(amount) {
            ValueDef::Const(value) if value < bits => Ok(text),
            ValueDef::ConstVector(elements)
                if self
                    .function
                    .elements(elements)
                    .iter()
                    .all(|&value| value < bits) =>
            {
                Ok(text)
            }
            _ => {
                let mask = literal::scalar(ty.element().unwrap_or(Scalar::I32), bits - 1);
                Ok(text.binary(Level::And, "&", &Expr::atom(mask)))
            }
        }
    }

    /// The expression, cut to its type where Metal computes in a wider one: `int` for small integers, `float` for brain floats.
    fn cut(&self, ty: Type, expr: Expr) -> Result<Expr, PrintError> {
        if is_promoted(ty) || ty == Type::BF16 {
            Ok(Expr::call(&types::value(ty)?, &[expr]))
        } else {
            Ok(expr)
        }
    }

    fn int_compare(&self, cond: IntCond, args: [Value; 2]) -> Result<Expr, PrintError> {
        if self.function.ty(args[0]).is_pointer() {
            let byte = types::Element::byte();
            let [a, b] = [
                self.pointer_as(args[0], &byte)?,
                self.pointer_as(args[1], &byte)?,
            ];
            return Ok(a.binary(Level::Relation, int_operator(cond), &b));
        }
        let [a, b] = if cond.is_signed() {
            [self.signed(args[0])?, self.signed(args[1])?]
        } else {
            [self.value(args[0])?, self.value(args[1])?]
        };
        let level = match cond {
            IntCond::Eq | IntCond::Ne => Level::Equality,
            _ => Level::Relation,
        };
        Ok(a.binary(level, int_operator(cond), &b))
    }

    fn float_compare(&self, cond: FloatCond, args: [Value; 2]) -> Result<Expr, PrintError> {
        let ty = self.function.ty(args[0]);
        let [a, b] = [self.value(args[0])?, self.value(args[1])?];
        let relation = |op| a.binary(Level::Relation, op, &b);
        let not = |expr: Expr| expr.prefix("!");
        let unordered = || Expr::call("isunordered", &[a.clone(), b.clone()]);
        Ok(match cond {
            FloatCond::False | FloatCond::True => {
                let bits = u64::from(cond == FloatCond::True);
                let truth = ty.with_element(Scalar::I1);
                match truth.kind() {
                    TypeKind::Vector(..) => Expr::atom(literal::vector(truth, &[bits])?),
                    _ => constant(Scalar::I1, bits),
                }
            }
            FloatCond::Oeq => a.binary(Level::Equality, "==", &b),
            FloatCond::Une => a.binary(Level::Equality, "!=", &b),
            FloatCond::Ogt => relation(">"),
            FloatCond::Oge => relation(">="),
            FloatCond::Olt => relation("<"),
            FloatCond::Ole => relation("<="),
            FloatCond::Ult => not(relation(">=")),
            FloatCond::Ule => not(relation(">")),
            FloatCond::Ugt => not(relation("<=")),
            FloatCond::Uge => not(relation("<")),
            FloatCond::Uno => unordered(),
            FloatCond::Ord => not(unordered()),
            FloatCond::Ueq | FloatCond::One if matches!(ty.kind(), TypeKind::Scalar(_)) => {
                let either = unordered().binary(
                    Level::LogicalOr,
                    "||",
                    &a.binary(Level::Equality, "==", &b),
                );
                if cond == FloatCond::Ueq {
                    either
                } else {
                    not(either)
                }
            }
            FloatCond::Ueq | FloatCond::One => {
                return Err(PrintError::Operation("an unordered comparison of vectors"));
            }
        })
    }

    fn select(&self, cond: Value, args: [Value; 2], ty: Type) -> Result<Expr, PrintError> {
        if ty.is_pointer() {
            return self.select_pointer(cond, args);
        }
        let [then, otherwise] = [self.value(args[0])?, self.value(args[1])?];
        let chosen = self.value(cond)?;
        if matches!(self.function.ty(cond).kind(), TypeKind::Vector(..)) {
            return Ok(Expr::call("select", &[otherwise, then, chosen]));
        }
        let truth = |value: Value, wanted| self.function.def(value) == ValueDef::Const(wanted);
        if ty == Type::I1 && truth(args[1], 0) {
            return Ok(chosen.binary(Level::LogicalAnd, "&&", &then));
        }
        if ty == Type::I1 && truth(args[0], 1) {
            return Ok(chosen.binary(Level::LogicalOr, "||", &otherwise));
        }
        Ok(choice(&chosen, &then, &otherwise))
    }

    fn select_pointer(&self, cond: Value, args: [Value; 2]) -> Result<Expr, PrintError> {
        let byte = types::Element::byte();
        let [then, otherwise] = [
            self.pointer_as(args[0], &byte)?,
            self.pointer_as(args[1], &byte)?,
        ];
        Ok(choice(&self.value(cond)?, &then, &otherwise))
    }

    fn cast(&self, op: CastOp, arg: Value, ty: Type) -> Result<Expr, PrintError> {
        let from = self.function.ty(arg);
        match op {
            CastOp::PtrToInt => {
                let pointer = self.pointer(arg)?;
                let address = Expr::new(
                    Level::Unary,
                    format!("(ulong){}", pointer.within(Level::Unary)),
                );
                if ty == Type::I64 {
                    return Ok(address);
                }
                return Ok(Expr::call(&types::value(ty)?, &[address]));
            }
            CastOp::IntToPtr => {
                let space = types::space(ty.space().unwrap_or(assay_ssa::Space::Generic))?;
                let value = self.value(arg)?;
                return Ok(Expr::new(
                    Level::Unary,
                    format!("({space} uchar*){}", value.within(Level::Unary)),
                ));
            }
            CastOp::SpaceCast => return Err(PrintError::GenericPointer),
            _ => {}
        }
        let value = self.value(arg)?;
        let name = types::value(ty)?;
        Ok(match op {
            CastOp::Trunc if ty.element() == Some(Scalar::I1) => {
                let low = value.binary(Level::And, "&", &self.one(from)?);
                low.binary(Level::Equality, "!=", &self.zero(from)?)
            }
            CastOp::Trunc | CastOp::ZExt | CastOp::FConvert | CastOp::UToF | CastOp::FToU => {
                Expr::call(&name, &[value])
            }
            CastOp::SExt if from.element() == Some(Scalar::I1) => {
                let ones = self.all_ones(ty)?;
                match ty.kind() {
                    TypeKind::Vector(..) => Expr::call("select", &[self.zero(ty)?, ones, value]),
                    _ => choice(&value, &ones, &self.zero(ty)?),
                }
            }
            CastOp::SExt => {
                let wide = Expr::call(&types::signed(ty)?, &[self.signed(arg)?]);
                Expr::call(&name, &[wide])
            }
            CastOp::SToF => Expr::call(&name, &[self.signed(arg)?]),
            CastOp::FToS => Expr::call(&name, &[Expr::call(&types::signed(ty)?, &[value])]),
            CastOp::Bitcast if from.is_matrix() => Expr::atom(format!(
                "{}.thread_elements()",
                value.within(Level::Postfix)
            )),
            CastOp::Bitcast => Expr::call(&format!("as_type<{name}>"), &[value]),
            CastOp::PtrToInt | CastOp::IntToPtr | CastOp::SpaceCast => value,
        })
    }

    fn one(&self, ty: Type) -> Result<Expr, PrintError> {
        self.splat(ty, 1)
    }

    fn all_ones(&self, ty: Type) -> Result<Expr, PrintError> {
        self.splat(ty, ty.element().map_or(0, Scalar::mask))
    }

    fn splat(&self, ty: Type, bits: u64) -> Result<Expr, PrintError> {
        match ty.kind() {
            TypeKind::Scalar(of) => Ok(constant(of, bits)),
            _ => literal::vector(ty, &[bits]).map(Expr::atom),
        }
    }

    fn extract(&self, vector: Value, index: Value) -> Result<Expr, PrintError> {
        let ty = self.function.ty(vector);
        let lanes = u64::from(ty.lanes());
        if let ValueDef::Const(at) = self.function.def(index)
            && let Some(position) = self.position_of(vector)
        {
            return self.position_component(position, at, ty);
        }
        let whole = self.value(vector)?;
        let base = if ty.is_matrix() {
            Expr::atom(format!(
                "{}.thread_elements()",
                whole.within(Level::Postfix)
            ))
        } else {
            whole
        };
        let base = base.within(Level::Postfix);
        match self.function.def(index) {
            ValueDef::Const(at) if at >= lanes => {
                self.zero(Type::scalar(ty.element().unwrap_or(Scalar::I32)))
            }
            ValueDef::Const(at) if ty.is_matrix() => Ok(Expr::atom(format!("{base}[{at}]"))),
            ValueDef::Const(at) => Ok(Expr::atom(format!("{base}.{}", component(at)))),
            _ => Ok(Expr::atom(format!("{base}[{}]", self.value(index)?.text))),
        }
    }

    /// Elements of two vectors: a swizzle where all come from one, else a constructor.
    fn shuffle(&self, args: [Value; 2], mask: &[u32], ty: Type) -> Result<Expr, PrintError> {
        let lanes = u32::from(self.function.ty(args[0]).lanes());
        let defined = || mask.iter().filter(|&&at| at != UNDEF_LANE);
        let only = |low: u32| defined().all(|&at| at >= low && at < low + lanes);
        for (arg, low) in args.into_iter().zip([0, lanes]) {
            if only(low) && lanes <= 4 && (2..=4).contains(&mask.len()) {
                let letters: String = mask
                    .iter()
                    .map(|&at| component(u64::from(if at == UNDEF_LANE { 0 } else { at - low })))
                    .collect();
                return Ok(Expr::atom(format!(
                    "{}.{letters}",
                    self.value(arg)?.within(Level::Postfix)
                )));
            }
        }
        let mut parts = Vec::new();
        for &at in mask {
            parts.push(match at {
                UNDEF_LANE => self.zero(Type::scalar(ty.element().unwrap_or(Scalar::I32)))?,
                at => {
                    let (arg, low) = if at < lanes {
                        (args[0], 0)
                    } else {
                        (args[1], lanes)
                    };
                    let text = self.value(arg)?.within(Level::Postfix);
                    Expr::atom(format!("{text}.{}", component(u64::from(at - low))))
                }
            });
        }
        Ok(Expr::call(&types::value(ty)?, &parts))
    }
}

/// `cond ? a : b`.
fn choice(cond: &Expr, then: &Expr, otherwise: &Expr) -> Expr {
    Expr::new(
        Level::Choice,
        format!(
            "{} ? {} : {}",
            cond.within(Level::LogicalOr),
            then.within(Level::LogicalOr),
            otherwise.within(Level::LogicalOr)
        ),
    )
}

fn constant(of: Scalar, bits: u64) -> Expr {
    let text = literal::scalar(of, bits);
    let level = if text.starts_with('-') {
        Level::Unary
    } else {
        Level::Postfix
    };
    Expr::new(level, text)
}

pub(super) fn component(at: u64) -> char {
    match at {
        0 => 'x',
        1 => 'y',
        2 => 'z',
        _ => 'w',
    }
}

fn int_operator(cond: IntCond) -> &'static str {
    match cond {
        IntCond::Eq => "==",
        IntCond::Ne => "!=",
        IntCond::Ult | IntCond::Slt => "<",
        IntCond::Ule | IntCond::Sle => "<=",
        IntCond::Ugt | IntCond::Sgt => ">",
        IntCond::Uge | IntCond::Sge => ">=",
    }
}
