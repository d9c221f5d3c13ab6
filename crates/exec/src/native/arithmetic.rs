//! Arithmetic of lanes: what `assay-num` defines, as instructions.
//!
//! Operands and results are the bits of registers: numbers of less than 32 bits have their upper bits zero. What is not here is
//! computed by the interpreter's own function.

use super::machine::composed;
use super::meaning::Meaning;
use super::text::{Shape, Text};
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};
use assay_ssa::{BinaryOp, CastOp, FloatCond, IntCond, Scalar};

/// Writes arithmetic of one shape.
pub(super) struct Arithmetic<'t> {
    pub(super) text: &'t mut Text,
    pub(super) shape: Shape,
}

/// Bits of the registers a type lives in.
fn register(scalar: Scalar) -> u32 {
    if scalar == Scalar::I64 { 64 } else { 32 }
}

impl Arithmetic<'_> {
    fn ty(&self, scalar: &str) -> String {
        self.shape.of(scalar)
    }

    fn c(&self, bits: u32, value: u64) -> String {
        self.shape.number(bits, value)
    }

    fn op(&mut self, op: &str, bits: u32, a: &str, b: &str) -> String {
        let ty = self.ty(&format!("i{bits}"));
        self.text.make(&format!("{op} {ty} {a}, {b}"))
    }

    /// An operation of two operands of any type.
    pub(super) fn binary(&mut self, op: &str, ty: &str, a: &str, b: &str) -> String {
        let ty = self.ty(ty);
        self.text.make(&format!("{op} {ty} {a}, {b}"))
    }

    pub(super) fn multiply_add_doubles(&mut self, a: &str, b: &str, c: &str) -> String {
        let (ty, suffix) = (self.ty("double"), self.shape.suffix("f64"));
        let call = format!("call {ty} @llvm.fma.{suffix}({ty} {a}, {ty} {b}, {ty} {c})");
        self.text.make(&call)
    }

    pub(super) fn root_of_double(&mut self, value: &str) -> String {
        let (ty, suffix) = (self.ty("double"), self.shape.suffix("f64"));
        self.text
            .make(&format!("call {ty} @llvm.sqrt.{suffix}({ty} {value})"))
    }

    fn op32(&mut self, op: &str, a: &str, number: u64) -> String {
        let b = self.c(32, number);
        self.op(op, 32, a, &b)
    }

    fn compare(&mut self, cond: &str, bits: u32, a: &str, b: &str) -> String {
        let ty = self.ty(&format!("i{bits}"));
        self.text.make(&format!("icmp {cond} {ty} {a}, {b}"))
    }

    pub(super) fn compare_floats(&mut self, cond: &str, a: &str, b: &str) -> String {
        let ty = self.ty("float");
        self.text.make(&format!("fcmp {cond} {ty} {a}, {b}"))
    }

    pub(super) fn select(&mut self, bits: u32, truth: &str, yes: &str, no: &str) -> String {
        let (truths, ty) = (self.ty("i1"), self.ty(&format!("i{bits}")));
        self.text
            .make(&format!("select {truths} {truth}, {ty} {yes}, {ty} {no}"))
    }

    pub(super) fn convert(&mut self, op: &str, from: &str, value: &str, to: &str) -> String {
        let (from, to) = (self.ty(from), self.ty(to));
        self.text.make(&format!("{op} {from} {value} to {to}"))
    }

    fn float(&mut self, bits: &str) -> String {
        self.convert("bitcast", "i32", bits, "float")
    }

    fn bits(&mut self, float: &str) -> String {
        self.convert("bitcast", "float", float, "i32")
    }

    fn number(&mut self, truth: &str) -> String {
        self.convert("zext", "i1", truth, "i32")
    }

    pub(super) fn call1(&mut self, name: &str, float: &str) -> String {
        let (ty, suffix) = (self.ty("float"), self.shape.suffix("f32"));
        self.text
            .make(&format!("call {ty} @llvm.{name}.{suffix}({ty} {float})"))
    }

    /// A denormal becomes zero of its sign.
    fn flush(&mut self, bits: &str) -> String {
        let exponent = self.op32("and", bits, 0x7f80_0000);
        let zero = self.c(32, 0);
        let tiny = self.compare("eq", 32, &exponent, &zero);
        let sign = self.op32("and", bits, 0x8000_0000);
        self.select(32, &tiny, &sign, bits)
    }

    fn is_nan(&mut self, float: &str) -> String {
        self.compare_floats("uno", float, float)
    }

    /// Any NaN becomes the one NaN.
    fn canonical(&mut self, float: &str, bits: &str) -> String {
        let nan = self.is_nan(float);
        let the_one = self.c(32, 0x7fc0_0000);
        self.select(32, &nan, &the_one, bits)
    }

    /// The bits of an operation's result: flushed, and with the one NaN.
    pub(super) fn finish(&mut self, float: &str) -> String {
        let bits = self.bits(float);
        let flushed = self.flush(&bits);
        self.canonical(float, &flushed)
    }

    /// The number of a register that may be as the CPU left it.
    pub(super) fn finished(&mut self, bits: &str) -> String {
        let float = self.float(bits);
        self.finish(&float)
    }

    /// `a * b + c`, as the CPU leaves it.
    pub(super) fn multiply_add(&mut self, a: &str, b: &str, c: &str) -> String {
        let (ty, suffix) = (self.ty("float"), self.shape.suffix("f32"));
        let call = format!("call {ty} @llvm.fma.{suffix}({ty} {a}, {ty} {b}, {ty} {c})");
        self.text.make(&call)
    }

    fn left(&mut self, float: &str, raw: bool) -> String {
        match raw {
            true => self.bits(float),
            false => self.finish(float),
        }
    }

    /// A float of any format as a single.
    pub(super) fn widen(&mut self, bits: &str, scalar: Scalar) -> String {
        match scalar {
            Scalar::F16 => {
                let short = self.convert("trunc", "i32", bits, "i16");
                let half = self.convert("bitcast", "i16", &short, "half");
                let float = self.convert("fpext", "half", &half, "float");
                let bits = self.bits(&float);
                let bits = self.canonical(&float, &bits);
                self.float(&bits)
            }
            Scalar::BF16 => {
                let bits = self.op32("shl", bits, 16);
                self.float(&bits)
            }
            _ => self.float(bits),
        }
    }

    /// A single rounded to another format.
    pub(super) fn narrow(&mut self, float: &str, scalar: Scalar) -> String {
        match scalar {
            Scalar::F16 => {
                let half = self.convert("fptrunc", "float", float, "half");
                let short = self.convert("bitcast", "half", &half, "i16");
                let bits = self.convert("zext", "i16", &short, "i32");
                let (nan, the_one) = (self.is_nan(float), self.c(32, 0x7e00));
                self.select(32, &nan, &the_one, &bits)
            }
            Scalar::BF16 => {
                let bits = self.bits(float);
                let upper = self.op32("lshr", &bits, 16);
                let odd = self.op32("and", &upper, 1);
                let up = self.op32("add", &odd, 0x7fff);
                let rounded = self.op("add", 32, &bits, &up);
                let rounded = self.op32("lshr", &rounded, 16);
                let (nan, the_one) = (self.is_nan(float), self.c(32, 0x7fc0));
                self.select(32, &nan, &the_one, &rounded)
            }
            _ => self.bits(float),
        }
    }

    /// Returns true if an operation takes singles as the CPU left them.
    pub(super) fn takes_raw(meaning: Meaning, all_raw: bool) -> bool {
        match meaning {
            Meaning::Binary(op, Scalar::F32) => op != BinaryOp::FRem,
            Meaning::MultiplyAdd(Scalar::F32) | Meaning::FloatCompare(_, Scalar::F32) => true,
            Meaning::Cast(CastOp::FToS | CastOp::FToU, Scalar::F32, to) => {
                matches!(to, Scalar::I8 | Scalar::I16 | Scalar::I32)
            }
            Meaning::Cast(CastOp::FConvert, Scalar::F32, to) => to == Scalar::F16,
            Meaning::Builtin(call, Scalar::F32) => match call.builtin {
                Builtin::Fmin | Builtin::Fmax | Builtin::Fclamp | Builtin::Fabs => all_raw,
                Builtin::Floor | Builtin::Ceil | Builtin::Trunc | Builtin::Rint => true,
                Builtin::Sqrt | Builtin::Divide => !call.fast,
                _ => false,
            },
            _ => false,
        }
    }

    /// The result of an operation; nothing if it is not known here. With `raw` singles are left as the CPU leaves them.
    pub(super) fn apply(
        &mut self,
        meaning: Meaning,
        operands: &[String],
        raw: bool,
    ) -> Option<String> {
        let at = |index: usize| operands.get(index).map_or("", String::as_str);
        let (a, b, c) = (at(0), at(1), at(2));
        Some(match meaning {
            Meaning::Negate(Scalar::F32) => self.op32("xor", a, 0x8000_0000),
            Meaning::Negate(Scalar::F16 | Scalar::BF16) => self.op32("xor", a, 0x8000),
            Meaning::Binary(op, Scalar::F32) => {
                let name = match op {
                    BinaryOp::FAdd => "fadd",
                    BinaryOp::FSub => "fsub",
                    BinaryOp::FMul => "fmul",
                    BinaryOp::FDiv => "fdiv",
                    _ => return None,
                };
                let (a, b) = (self.float(a), self.float(b));
                let ty = self.ty("float");
                let result = self.text.make(&format!("{name} {ty} {a}, {b}"));
                self.left(&result, raw)
            }
            Meaning::Binary(op, scalar @ (Scalar::F16 | Scalar::BF16)) => {
                let name = match op {
                    BinaryOp::FAdd => "fadd",
                    BinaryOp::FSub => "fsub",
                    BinaryOp::FMul => "fmul",
                    BinaryOp::FDiv => "fdiv",
                    _ => return None,
                };
                let (a, b) = (self.widen(a, scalar), self.widen(b, scalar));
                self.short(scalar, name, &a, &b)
            }
            Meaning::Binary(op, scalar) => return self.integer(op, scalar, a, b),
            Meaning::MultiplyAdd(Scalar::F32) => {
                let (a, b, c) = (self.float(a), self.float(b), self.float(c));
                let result = self.multiply_add(&a, &b, &c);
                self.left(&result, raw)
            }
            Meaning::MultiplyAdd(Scalar::BF16) => {
                let mut widened = Vec::new();
                for bits in [a, b, c] {
                    let wide = self.op32("shl", bits, 16);
                    widened.push(self.float(&wide));
                }
                let result = self.multiply_add(&widened[0], &widened[1], &widened[2]);
                let bits = self.finish(&result);
                let float = self.float(&bits);
                self.narrow(&float, Scalar::BF16)
            }
            Meaning::IntCompare(cond, scalar) => {
                let width = scalar.bits();
                let bits = register(scalar);
                let (mut a, mut b) = (a.to_owned(), b.to_owned());
                if cond.is_signed() && width < 32 {
                    (a, b) = (self.sign_extended(&a, width), self.sign_extended(&b, width));
                }
                let truth = self.compare(IntCond::name(cond), bits, &a, &b);
                self.number(&truth)
            }
            Meaning::FloatCompare(cond, scalar) => self.float_compare(cond, scalar, [a, b]),
            Meaning::Cast(op, from, to) => return self.cast(op, from, to, a),
            Meaning::Builtin(call, Scalar::F32) => {
                return self
                    .single_builtin(call, [a, b, c])
                    .or_else(|| composed(self, call, Scalar::F32, operands));
            }
            Meaning::Builtin(call, scalar) if scalar.is_int() => {
                return self.integer_builtin(call, scalar, [a, b, c]);
            }
            Meaning::Builtin(call, Scalar::F16 | Scalar::BF16) => match call.builtin {
                Builtin::Fabs => self.op32("and", a, 0x7fff),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// An operation on singles whose result is rounded to a shorter format.
    fn short(&mut self, scalar: Scalar, name: &str, a: &str, b: &str) -> String {
        let ty = self.ty("float");
        if scalar == Scalar::F16 {
            let result = self.text.make(&format!("{name} {ty} {a}, {b}"));
            return self.narrow(&result, scalar);
        }
        // Brain floats are computed as singles are.
        let result = self.text.make(&format!("{name} {ty} {a}, {b}"));
        let bits = self.finish(&result);
        let float = self.float(&bits);
        self.narrow(&float, scalar)
    }

    fn sign_extended(&mut self, value: &str, width: u32) -> String {
        let by = u64::from(32 - width);
        let up = self.op32("shl", value, by);
        self.op32("ashr", &up, by)
    }

    fn masked(&mut self, value: String, width: u32) -> String {
        match width {
            32 | 64 => value,
            _ => self.op32("and", &value, (1 << width) - 1),
        }
    }

    fn integer(&mut self, op: BinaryOp, scalar: Scalar, a: &str, b: &str) -> Option<String> {
        let (width, bits) = (scalar.bits(), register(scalar));
        let shift = |this: &mut Self, op: &str, a: &str| {
            let most = this.c(bits, u64::from(width - 1));
            let by = this.op("and", bits, b, &most);
            this.op(op, bits, a, &by)
        };
        Some(match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let result = self.op(op.name(), bits, a, b);
                self.masked(result, width)
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => self.op(op.name(), bits, a, b),
            BinaryOp::Shl => {
                let result = shift(self, "shl", a);
                self.masked(result, width)
            }
            BinaryOp::LShr => shift(self, "lshr", a),
            BinaryOp::AShr => {
                let wide = match width {
                    32 | 64 => a.to_owned(),
                    _ => self.sign_extended(a, width),
                };
                let result = shift(self, "ashr", &wide);
                self.masked(result, width)
            }
            BinaryOp::UDiv | BinaryOp::URem if width == 32 => {
                let (zero, one) = (self.c(32, 0), self.c(32, 1));
                let by_zero = self.compare("eq", 32, b, &zero);
                let divisor = self.select(32, &by_zero, &one, b);
                let quotient = self.quotient(a, &divisor, false);
                if op == BinaryOp::UDiv {
                    let all = self.c(32, u64::MAX);
                    return Some(self.select(32, &by_zero, &all, &quotient));
                }
                let product = self.op("mul", 32, &quotient, &divisor);
                let rest = self.op("sub", 32, a, &product);
                self.select(32, &by_zero, a, &rest)
            }
            BinaryOp::SDiv | BinaryOp::SRem if width == 32 => {
                let (zero, one) = (self.c(32, 0), self.c(32, 1));
                let by_zero = self.compare("eq", 32, b, &zero);
                let divisor = self.select(32, &by_zero, &one, b);
                let quotient = self.quotient(a, &divisor, true);
                if op == BinaryOp::SDiv {
                    let all = self.c(32, u64::MAX);
                    return Some(self.select(32, &by_zero, &all, &quotient));
                }
                let product = self.op("mul", 32, &quotient, &divisor);
                let rest = self.op("sub", 32, a, &product);
                self.select(32, &by_zero, a, &rest)
            }
            _ => return None,
        })
    }

    /// A quotient of 32-bit numbers, cut off; the divisor is not zero. In double precision it is never rounded up to an integer: those
    /// are farther away than the last bit.
    fn quotient(&mut self, a: &str, b: &str, signed: bool) -> String {
        if self.shape == Shape::One {
            let (op, extend) = if signed {
                ("sdiv", "sext")
            } else {
                ("udiv", "zext")
            };
            let (a, b) = (
                self.convert(extend, "i32", a, "i64"),
                self.convert(extend, "i32", b, "i64"),
            );
            let quotient = self.op(op, 64, &a, &b);
            return self.convert("trunc", "i64", &quotient, "i32");
        }
        let (to, from) = if signed {
            ("sitofp", "fptosi")
        } else {
            ("uitofp", "fptoui")
        };
        let (a, b) = (
            self.convert(to, "i32", a, "double"),
            self.convert(to, "i32", b, "double"),
        );
        let ty = self.ty("double");
        let quotient = self.text.make(&format!("fdiv {ty} {a}, {b}"));
        let wide = self.convert(from, "double", &quotient, "i64");
        self.convert("trunc", "i64", &wide, "i32")
    }

    fn float_compare(&mut self, cond: FloatCond, scalar: Scalar, [a, b]: [&str; 2]) -> String {
        let (a, b) = (self.widen(a, scalar), self.widen(b, scalar));
        let truth = self.compare_floats(cond.name(), &a, &b);
        self.number(&truth)
    }

    fn cast(&mut self, op: CastOp, from: Scalar, to: Scalar, a: &str) -> Option<String> {
        let wide = |scalar| scalar == Scalar::I64;
        Some(match op {
            CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr => {
                let value = match (wide(from), wide(to)) {
                    (false, true) => return Some(self.convert("zext", "i32", a, "i64")),
                    (true, true) => return None,
                    (true, false) => self.convert("trunc", "i64", a, "i32"),
                    (false, false) => a.to_owned(),
                };
                match to.bits() {
                    // The name of a register is no instruction's result.
                    32 => value,
                    width => self.masked(value, width),
                }
            }
            CastOp::SExt => {
                let value = match from.bits() {
                    32 => a.to_owned(),
                    width if width < 32 => self.sign_extended(a, width),
                    _ => return None,
                };
                match to.bits() {
                    64 => self.convert("sext", "i32", &value, "i64"),
                    width => self.masked(value, width),
                }
            }
            CastOp::FConvert => {
                let float = self.widen(a, from);
                match to {
                    Scalar::F32 => self.bits(&float),
                    Scalar::F16 | Scalar::BF16 if to != from => self.narrow(&float, to),
                    _ => return None,
                }
            }
            CastOp::SToF | CastOp::UToF if to == Scalar::F32 => {
                let (name, signed) = if op == CastOp::SToF {
                    ("sitofp", true)
                } else {
                    ("uitofp", false)
                };
                let width = from.bits();
                let value = match width {
                    width if width < 32 && signed => self.sign_extended(a, width),
                    _ => a.to_owned(),
                };
                let float = self.convert(name, &format!("i{}", register(from)), &value, "float");
                self.bits(&float)
            }
            CastOp::FToS | CastOp::FToU if matches!(to, Scalar::I8 | Scalar::I16 | Scalar::I32) => {
                let float = self.widen(a, from);
                let (name, extend) = if op == CastOp::FToS {
                    ("fptosi", "sext")
                } else {
                    ("fptoui", "zext")
                };
                let int = format!("i{}", to.bits());
                let (result, given) = (self.ty(&int), self.ty("float"));
                let suffix = format!("{}.{}", self.shape.suffix(&int), self.shape.suffix("f32"));
                let value = self.text.make(&format!(
                    "call {result} @llvm.{name}.sat.{suffix}({given} {float})"
                ));
                if to == Scalar::I32 {
                    return Some(value);
                }
                let wide = self.convert(extend, &int, &value, "i32");
                self.masked(wide, to.bits())
            }
            _ => return None,
        })
    }

    /// The smaller or larger of two singles; the bits of one are kept.
    pub(super) fn choose(&mut self, cond: &str, a: &str, b: &str) -> String {
        let (x, y) = (self.float(a), self.float(b));
        let truth = self.compare_floats(cond, &x, &y);
        let chosen = self.select(32, &truth, a, b);
        let both = self.op("or", 32, a, b);
        let exponents = self.op32("and", &both, 0x7f80_0000);
        let zero = self.c(32, 0);
        let tiny = self.compare("eq", 32, &exponents, &zero);
        let chosen = self.select(32, &tiny, b, &chosen);
        let nan = self.is_nan(&y);
        self.select(32, &nan, a, &chosen)
    }

    fn single_builtin(&mut self, call: BuiltinCall, [a, b, c]: [&str; 3]) -> Option<String> {
        let rounded = |this: &mut Self, name: &str| {
            let value = this.float(a);
            let result = this.call1(name, &value);
            // A denormal counts as zero to some of these instructions, and to others not.
            this.finish(&result)
        };
        Some(match call.builtin {
            Builtin::Fabs => self.op32("and", a, 0x7fff_ffff),
            Builtin::Fmin => self.choose("olt", a, b),
            Builtin::Fmax => self.choose("ogt", a, b),
            Builtin::Fclamp => {
                let above = self.choose("ogt", a, b);
                self.choose("olt", &above, c)
            }
            Builtin::Sqrt if !call.fast => rounded(self, "sqrt"),
            Builtin::Floor => rounded(self, "floor"),
            Builtin::Ceil => rounded(self, "ceil"),
            Builtin::Trunc => rounded(self, "trunc"),
            Builtin::Rint => rounded(self, "roundeven"),
            Builtin::Divide if !call.fast => {
                let (x, y) = (self.float(a), self.float(b));
                let ty = self.ty("float");
                let result = self.text.make(&format!("fdiv {ty} {x}, {y}"));
                self.finish(&result)
            }
            Builtin::IsNan => {
                let value = self.float(a);
                let truth = self.is_nan(&value);
                self.number(&truth)
            }
            Builtin::Copysign => {
                let (magnitude, sign) = (
                    self.op32("and", a, 0x7fff_ffff),
                    self.op32("and", b, 0x8000_0000),
                );
                self.op("or", 32, &magnitude, &sign)
            }
            _ => return None,
        })
    }

    fn integer_builtin(
        &mut self,
        call: BuiltinCall,
        scalar: Scalar,
        [a, b, c]: [&str; 3],
    ) -> Option<String> {
        if !matches!(scalar, Scalar::I32 | Scalar::I64) {
            return None;
        }
        let bits = register(scalar);
        let signed = call.sign == Sign::Signed;
        let less = |this: &mut Self, x: &str, y: &str| {
            this.compare(if signed { "slt" } else { "ult" }, bits, x, y)
        };
        let smaller = |this: &mut Self, x: &str, y: &str| {
            let truth = less(this, x, y);
            this.select(bits, &truth, x, y)
        };
        let larger = |this: &mut Self, x: &str, y: &str| {
            let truth = less(this, x, y);
            this.select(bits, &truth, y, x)
        };
        Some(match call.builtin {
            Builtin::Min => smaller(self, a, b),
            Builtin::Max => larger(self, a, b),
            Builtin::Clamp => {
                let above = larger(self, a, b);
                smaller(self, &above, c)
            }
            _ => return None,
        })
    }
}
