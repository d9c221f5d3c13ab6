//! Composed mathematics: `assay-num`'s own definitions, written down operation by operation.

use super::arithmetic::Arithmetic;
use assay_num::machine::Machine;
use assay_num::math::expand;
use assay_ssa::Scalar;
use assay_ssa::builtin::{Builtin, BuiltinCall};
use std::cell::{Cell, RefCell};

/// The machine that writes instructions. Numbers and truth values are places in its lists.
struct Writer<'a, 't> {
    arithmetic: RefCell<&'a mut Arithmetic<'t>>,
    values: RefCell<Vec<String>>,
    /// Something was asked for that is not written here.
    incomplete: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Place(usize);

/// The result of a builtin on singles; nothing if it is not composed of what is known here.
pub(super) fn composed(
    arithmetic: &mut Arithmetic<'_>,
    call: BuiltinCall,
    scalar: Scalar,
    operands: &[String],
) -> Option<String> {
    use Builtin as B;
    if scalar != Scalar::F32 {
        return None;
    }
    let writer = Writer {
        arithmetic: RefCell::new(arithmetic),
        values: RefCell::new(operands.to_vec()),
        incomplete: Cell::new(false),
    };
    let (m, x, y, z) = (&writer, Place(0), Place(1), Place(2));
    let result = match (call.builtin, call.fast) {
        (B::Exp, true) => expand::fast_exp(m, x),
        (B::Exp10, true) => expand::fast_exp10(m, x),
        (B::Log, true) => expand::fast_log(m, x),
        (B::Log10, true) => expand::fast_log10(m, x),
        (B::Pow | B::Powr, true) => expand::fast_pow(m, x, y),
        (B::Sqrt, true) => expand::fast_sqrt(m, x),
        (B::Divide, true) => expand::fast_divide(m, x, y),
        (B::Sin, true) => expand::fast_sin(m, x),
        (B::Cos, true) => expand::fast_cos(m, x),
        (B::Tanh, true) => expand::fast_tanh(m, x),
        (B::Exp, false) => expand::exp(m, x),
        (B::Exp10, false) => expand::exp10(m, x),
        (B::Log, false) => expand::log(m, x),
        (B::Log10, false) => expand::log10(m, x),
        (B::Pow, false) => expand::pow(m, x, y),
        (B::Powr, false) => expand::powr(m, x, y),
        (B::Tanh, false) => expand::tanh(m, x),
        (B::Exp2, _) => m.exp2(x),
        (B::Log2, _) => m.log2(x),
        (B::Rsqrt, _) => m.rsqrt(x),
        (B::Recip, _) => m.rcp(x),
        (B::Mix, _) => expand::mix(m, x, y, z),
        (B::Step, _) => expand::step(m, x, y),
        _ => return None,
    };
    let result = writer.value(result);
    (!writer.incomplete.get()).then_some(result)
}

impl Writer<'_, '_> {
    fn value(&self, place: Place) -> String {
        self.values
            .borrow()
            .get(place.0)
            .cloned()
            .unwrap_or_default()
    }

    fn keep(&self, value: String) -> Place {
        let mut values = self.values.borrow_mut();
        values.push(value);
        Place(values.len() - 1)
    }

    fn float(&self, place: Place) -> String {
        let bits = self.value(place);
        self.convert("bitcast", "i32", &bits, "float")
    }

    fn convert(&self, op: &str, from: &str, value: &str, to: &str) -> String {
        self.arithmetic.borrow_mut().convert(op, from, value, to)
    }

    fn op(&self, op: &str, ty: &str, a: &str, b: &str) -> String {
        self.arithmetic.borrow_mut().binary(op, ty, a, b)
    }

    fn bits(&self, float: &str) -> String {
        self.convert("bitcast", "float", float, "i32")
    }

    fn finish(&self, float: &str) -> Place {
        let bits = self.arithmetic.borrow_mut().finish(float);
        self.keep(bits)
    }

    /// A single as a constant.
    fn single(&self, value: f32) -> String {
        let bits = self.number(value.to_bits());
        self.convert("bitcast", "i32", &bits, "float")
    }

    fn double(&self, value: f64) -> String {
        let shape = self.arithmetic.borrow().shape;
        let bits = shape.number(64, value.to_bits());
        self.convert("bitcast", "i64", &bits, "double")
    }

    fn number(&self, value: u32) -> String {
        let shape = self.arithmetic.borrow().shape;
        shape.number(32, value.into())
    }

    fn arithmetic(&self, op: &str, a: Place, b: Place) -> Place {
        let (a, b) = (self.float(a), self.float(b));
        let result = self.op(op, "float", &a, &b);
        self.finish(&result)
    }

    fn rounded(&self, name: &str, a: Place) -> Place {
        let a = self.float(a);
        let result = self.arithmetic.borrow_mut().call1(name, &a);
        self.finish(&result)
    }

    fn compare(&self, cond: &str, a: &str, b: &str) -> String {
        self.arithmetic.borrow_mut().compare_floats(cond, a, b)
    }

    fn choose(&self, truth: &str, yes: &str, no: &str) -> String {
        self.arithmetic.borrow_mut().select(32, truth, yes, no)
    }

    fn widened(&self, float: &str) -> String {
        self.convert("fpext", "float", float, "double")
    }

    fn cut(&self, double: &str) -> String {
        self.convert("fptrunc", "double", double, "float")
    }

    fn horner(&self, coefficients: &[f64], x: &str) -> String {
        let Some((last, rest)) = coefficients.split_last() else {
            return self.double(0.0);
        };
        let mut sum = self.double(*last);
        for &coefficient in rest.iter().rev() {
            let coefficient = self.double(coefficient);
            let mut arithmetic = self.arithmetic.borrow_mut();
            sum = arithmetic.multiply_add_doubles(&sum, x, &coefficient);
        }
        sum
    }

    /// Base-2 exponential of a single, as `assay_num::hardware` computes it.
    fn exponential(&self, x: &str) -> Place {
        let most = self.single(128.0);
        let above = self.compare("ogt", x, &most);
        let (x_bits, most_bits) = (self.bits(x), self.number(128f32.to_bits()));
        let within = self.choose(&above, &most_bits, &x_bits);
        let within = self.convert("bitcast", "i32", &within, "float");
        let round = self.single(assay_num::hardware::EXP2_ROUND);
        let shifted = self.op("fadd", "float", &within, &round);
        let whole = self.op("fsub", "float", &shifted, &round);
        let rest = self.op("fsub", "float", &within, &whole);
        let rest = self.widened(&rest);
        let fraction = self.horner(&assay_num::hardware::EXP2, &rest);
        let fraction = self.cut(&fraction);
        let (fraction, shifted) = (self.bits(&fraction), self.bits(&shifted));
        let by = self.number(23);
        let exponent = self.op("shl", "i32", &shifted, &by);
        let result = self.op("add", "i32", &fraction, &exponent);
        let least = self.single(-126.0);
        let tiny = self.compare("olt", x, &least);
        let zero = self.number(0);
        let result = self.choose(&tiny, &zero, &result);
        let nan = self.compare("uno", x, x);
        let the_one = self.number(assay_num::NAN32.to_bits());
        let result = self.choose(&nan, &the_one, &result);
        self.keep(result)
    }
}

impl Machine for Writer<'_, '_> {
    type Float = Place;
    type Truth = Place;

    fn constant(&self, value: f32) -> Place {
        let bits = self.number(value.to_bits());
        self.keep(bits)
    }
    fn add(&self, a: Place, b: Place) -> Place {
        self.arithmetic("fadd", a, b)
    }
    fn sub(&self, a: Place, b: Place) -> Place {
        self.arithmetic("fsub", a, b)
    }
    fn mul(&self, a: Place, b: Place) -> Place {
        self.arithmetic("fmul", a, b)
    }
    fn fma(&self, a: Place, b: Place, c: Place) -> Place {
        let (a, b, c) = (self.float(a), self.float(b), self.float(c));
        let result = self.arithmetic.borrow_mut().multiply_add(&a, &b, &c);
        self.finish(&result)
    }
    fn neg(&self, a: Place) -> Place {
        let (a, sign) = (self.value(a), self.number(0x8000_0000));
        let result = self.op("xor", "i32", &a, &sign);
        self.keep(result)
    }
    fn abs(&self, a: Place) -> Place {
        let (a, rest) = (self.value(a), self.number(0x7fff_ffff));
        let result = self.op("and", "i32", &a, &rest);
        self.keep(result)
    }
    fn copysign(&self, a: Place, b: Place) -> Place {
        let magnitude = self.abs(a);
        let (b, sign) = (self.value(b), self.number(0x8000_0000));
        let sign = self.op("and", "i32", &b, &sign);
        let result = self.op("or", "i32", &self.value(magnitude), &sign);
        self.keep(result)
    }
    fn floor(&self, a: Place) -> Place {
        self.rounded("floor", a)
    }
    fn trunc(&self, a: Place) -> Place {
        self.rounded("trunc", a)
    }
    fn rint(&self, a: Place) -> Place {
        self.rounded("roundeven", a)
    }
    fn rcp(&self, a: Place) -> Place {
        let (one, a) = (self.single(1.0), self.float(a));
        let result = self.op("fdiv", "float", &one, &a);
        self.finish(&result)
    }
    fn rsqrt(&self, a: Place) -> Place {
        let (bits, x) = (self.value(a), self.float(a));
        let wide = self.widened(&x);
        let root = self.arithmetic.borrow_mut().root_of_double(&wide);
        let one = self.double(1.0);
        let result = self.op("fdiv", "double", &one, &root);
        let result = self.finish(&self.cut(&result));
        let zero = self.single(0.0);
        let is_zero = self.compare("oeq", &x, &zero);
        let sign = self.op("and", "i32", &bits, &self.number(0x8000_0000));
        let infinity = self.op("or", "i32", &sign, &self.number(0x7f80_0000));
        let result = self.choose(&is_zero, &infinity, &self.value(result));
        self.keep(result)
    }
    fn rsqrt_special(&self, a: Place) -> Place {
        let result = self.rsqrt(a);
        let x = self.float(a);
        let infinity = self.single(f32::INFINITY);
        let is_infinity = self.compare("oeq", &x, &infinity);
        let most = self.number(0x7f80_0000);
        let result = self.choose(&is_infinity, &most, &self.value(result));
        let is_zero = self.compare("oeq", &x, &self.single(0.0));
        let result = self.choose(&is_zero, &self.number(0), &result);
        self.keep(result)
    }
    fn exp2(&self, a: Place) -> Place {
        self.exponential(&self.float(a))
    }
    fn exp2_of_product(&self, a: Place, factor: f32) -> Place {
        let product = self.op("fmul", "float", &self.float(a), &self.single(factor));
        self.exponential(&product)
    }
    fn log2(&self, a: Place) -> Place {
        let x = self.float(a);
        let (mantissa, exponent) = self.split(a);
        let m = self.widened(&self.float(mantissa));
        let one = self.double(1.0);
        let below = self.op("fsub", "double", &m, &one);
        let above = self.op("fadd", "double", &m, &one);
        let s = self.op("fdiv", "double", &below, &above);
        let square = self.op("fmul", "double", &s, &s);
        let series = self.horner(&assay_num::hardware::LOG2, &square);
        let product = self.op("fmul", "double", &s, &series);
        let exponent = self.widened(&self.float(exponent));
        let result = self.op("fadd", "double", &exponent, &product);
        // The bits that single precision does not have are cut off.
        let bits = self.convert("bitcast", "double", &result, "i64");
        let shape = self.arithmetic.borrow().shape;
        let kept = self.op("and", "i64", &bits, &shape.number(64, !0x1fff_ffff));
        let finite = self.cut(&self.convert("bitcast", "i64", &kept, "double"));
        let finite = self.bits(&finite);
        let (zero, infinity) = (self.single(0.0), self.single(f32::INFINITY));
        let positive = self.compare("ogt", &x, &zero);
        let nan = self.number(assay_num::NAN32.to_bits());
        let result = self.choose(&positive, &finite, &nan);
        let is_infinity = self.compare("oeq", &x, &infinity);
        let result = self.choose(&is_infinity, &self.number(0x7f80_0000), &result);
        let is_zero = self.compare("oeq", &x, &zero);
        let result = self.choose(&is_zero, &self.number(0xff80_0000), &result);
        self.keep(result)
    }
    fn sin_pt_1(&self, a: Place) -> Place {
        let angle = self.float(a);
        let quarter = self.op("fmul", "float", &angle, &self.single(0.25));
        let floor = self.arithmetic.borrow_mut().call1("floor", &quarter);
        let whole = self.op("fmul", "float", &self.single(4.0), &floor);
        let angle = self.op("fsub", "float", &angle, &whole);
        let second = self.bits(&self.op("fsub", "float", &self.single(2.0), &angle));
        let third = self.bits(&self.op("fsub", "float", &angle, &self.single(4.0)));
        let is_second = self.compare("olt", &angle, &self.single(3.0));
        let folded = self.choose(&is_second, &second, &third);
        let is_first = self.compare("olt", &angle, &self.single(1.0));
        let folded = self.choose(&is_first, &self.bits(&angle), &folded);
        let folded = self.convert("bitcast", "i32", &folded, "float");
        self.finish(&folded)
    }
    fn sin_pt_2(&self, a: Place) -> Place {
        let y = self.widened(&self.float(a));
        let square = self.op("fmul", "double", &y, &y);
        let sum = self.horner(&assay_num::hardware::SIN, &square);
        let sum = self.cut(&sum);
        self.finish(&sum)
    }
    fn less(&self, a: Place, b: Place) -> Place {
        let truth = self.compare("olt", &self.float(a), &self.float(b));
        self.keep(truth)
    }
    fn equal(&self, a: Place, b: Place) -> Place {
        let truth = self.compare("oeq", &self.float(a), &self.float(b));
        self.keep(truth)
    }
    fn select(&self, truth: Place, yes: Place, no: Place) -> Place {
        let result = self.choose(&self.value(truth), &self.value(yes), &self.value(no));
        self.keep(result)
    }
    fn flip_by_last_bit(&self, a: Place, bits: Place) -> Place {
        let sign = self.op("shl", "i32", &self.value(bits), &self.number(31));
        let result = self.op("xor", "i32", &self.value(a), &sign);
        self.keep(result)
    }
    fn near_or_far(
        &self,
        _x: Place,
        _limit: f32,
        near: [Place; 3],
        _far: impl FnOnce(&Self) -> [Place; 3],
    ) -> [Place; 3] {
        self.incomplete.set(true);
        near
    }
    fn far_parts(&self, x: Place) -> [Place; 4] {
        self.incomplete.set(true);
        [x; 4]
    }
    fn split(&self, a: Place) -> (Place, Place) {
        let bits = self.value(a);
        let above = self.op("sub", "i32", &bits, &self.number(0x3f35_04f3));
        let upper = self.op("and", "i32", &above, &self.number(0xff80_0000));
        let mantissa = self.op("sub", "i32", &bits, &upper);
        let exponent = self.op("ashr", "i32", &above, &self.number(23));
        let exponent = self.convert("sitofp", "i32", &exponent, "float");
        let exponent = self.bits(&exponent);
        (self.keep(mantissa), self.keep(exponent))
    }
}
