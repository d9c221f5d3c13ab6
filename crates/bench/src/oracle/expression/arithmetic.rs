//! Numbers that carry the size of what went into them.
//!
//! An operation that enlarges differences by its slope enlarges errors by as much: the scale of its result is the slope
//! times the scale of what it was given, and never below the result's own magnitude.

use super::Function;

/// A number and the size of what went into it, never below its magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) scale: f64,
}

impl Number {
    pub(super) fn exact(value: f64) -> Self {
        let scale = value.abs();
        Self { value, scale }
    }

    /// A function's value, where the function enlarges differences by `slope`.
    fn of(value: f64, slope: f64, from: Self) -> Self {
        let carried = slope.abs() * from.scale;
        let scale = match carried.is_finite() {
            true => carried.max(value.abs()),
            false => value.abs(),
        };
        Self { value, scale }
    }
}

pub(super) fn apply(function: Function, numbers: &[Number]) -> Number {
    match *numbers {
        [a] => of_one(function, a),
        [a, b] => of_two(function, a, b),
        _ => Number::exact(f64::NAN),
    }
}

fn of_one(function: Function, a: Number) -> Number {
    let x = a.value;
    let smooth = |value, slope| Number::of(value, slope, a);
    match function {
        Function::Subtract => smooth(-x, 1.0),
        Function::Abs => smooth(x.abs(), 1.0),
        Function::Sqrt => smooth(x.sqrt(), 0.5 / x.sqrt()),
        Function::Rsqrt => smooth(1.0 / x.sqrt(), 0.5 / (x * x.sqrt())),
        Function::Exp => smooth(x.exp(), x.exp()),
        Function::Log => smooth(x.ln(), 1.0 / x),
        Function::Sin => smooth(x.sin(), x.cos()),
        Function::Cos => smooth(x.cos(), x.sin()),
        Function::Tanh => smooth(x.tanh(), 1.0 - x.tanh().powi(2)),
        Function::Erf => smooth(
            libm::erf(x),
            std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp(),
        ),
        Function::Sign => Number::exact(match x {
            _ if x > 0.0 => 1.0,
            _ if x < 0.0 => -1.0,
            _ => x,
        }),
        Function::Floor => Number::exact(x.floor()),
        Function::Ceil => Number::exact(x.ceil()),
        Function::Rint => Number::exact(x.round_ties_even()),
        _ => Number::exact(f64::NAN),
    }
}

fn of_two(function: Function, a: Number, b: Number) -> Number {
    let (x, y) = (a.value, b.value);
    let truth = |is: bool| Number::exact(f64::from(u8::from(is)));
    let scaled = |value: f64, scale: f64| {
        let scale = if scale.is_finite() { scale } else { 0.0 };
        Number {
            value,
            scale: scale.max(value.abs()),
        }
    };
    match function {
        Function::Add => scaled(x + y, a.scale + b.scale),
        Function::Subtract => scaled(x - y, a.scale + b.scale),
        Function::Multiply => scaled(x * y, (x.abs() * b.scale).max(y.abs() * a.scale)),
        Function::Divide => scaled(
            x / y,
            (a.scale / y.abs()).max(b.scale * (x / (y * y)).abs()),
        ),
        Function::Remainder => scaled(x - y * (x / y).floor(), a.scale),
        Function::Pow => scaled(x.powf(y), (y * x.powf(y - 1.0)).abs() * a.scale),
        Function::Min if y < x => b,
        Function::Max if y > x => b,
        Function::Min | Function::Max => a,
        Function::Less => truth(x < y),
        Function::LessEqual => truth(x <= y),
        Function::Greater => truth(x > y),
        Function::GreaterEqual => truth(x >= y),
        Function::Equal => truth(x == y),
        Function::NotEqual => truth(x != y),
        _ => Number::exact(f64::NAN),
    }
}
