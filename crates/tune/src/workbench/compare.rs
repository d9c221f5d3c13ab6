//! Contents of buffers after two runs, side by side.

use assay_launch::Inputs;
use assay_launch::element::Element;

/// How far the second run's buffers are from the first's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// Every byte is the same.
    pub(super) identical: bool,
    /// The largest difference of floats, relative to the largest magnitude of their buffer.
    pub(super) largest: f64,
    /// The factor on the whole between both, less one, where it is more than rounding of single numbers explains.
    pub(super) bias: Option<f64>,
    /// The largest share of a buffer's floats of 16 bits that differ, if it has many.
    pub(super) differing: f64,
}

/// Floats that make a share of them meaningful.
const MANY: usize = 64;
/// Standard errors that a bias is away from none.
const SIGNIFICANT: f64 = 6.0;
/// A bias below this is what rounding of 32 bits can make.
const LEAST_BIAS: f64 = 1e-6;

/// The factor between two rows of numbers, less one, by least squares, if chance does not explain it.
fn bias(expected: &[f64], found: &[f64]) -> Option<f64> {
    let sound = |(a, b): &(&f64, &f64)| a.is_finite() && b.is_finite();
    let pairs = || expected.iter().zip(found).filter(sound);
    let (mut weight, mut sum, mut count) = (0.0, 0.0, 0.0);
    for (a, b) in pairs() {
        weight += a * a;
        sum += a * (b - a);
        count += 1.0;
    }
    if weight == 0.0 || count < 8.0 {
        return None;
    }
    let slope = sum / weight;
    let left = pairs()
        .map(|(a, b)| (b - a - slope * a).powi(2))
        .sum::<f64>();
    let error = (left / (count - 1.0) / weight).sqrt();
    (slope.abs() > LEAST_BIAS && slope.abs() > SIGNIFICANT * error).then_some(slope)
}

/// Buffers by index.
pub(super) type Buffers = [(u32, Vec<u8>)];

/// Says where the first byte differs, if one does.
pub(super) fn first_difference(expected: &Buffers, found: &Buffers) -> Option<String> {
    for ((index, a), (_, b)) in expected.iter().zip(found) {
        if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
            return Some(format!("buffer {index} differs from byte {at} on"));
        }
    }
    None
}

/// How far floats are apart; an error where something else differs, or a float is none.
pub(super) fn apart(
    inputs: &Inputs,
    expected: &Buffers,
    found: &Buffers,
    tolerance: &dyn Fn(&Element) -> f64,
) -> Result<Difference, String> {
    let mut all = Difference {
        identical: true,
        ..Difference::default()
    };
    for ((index, a), (_, b)) in expected.iter().zip(found) {
        if a == b {
            continue;
        }
        all.identical = false;
        let element = inputs.buffer(*index).map(|buffer| buffer.element);
        let numbers = element.and_then(|element| Some((element, floats(element, a)?)));
        let Some((element, expected)) = numbers else {
            return Err(format!("buffer {index}, which holds no floats, differs"));
        };
        let found = floats(element, b).unwrap_or_default();
        let largest = expected
            .iter()
            .filter(|number| number.is_finite())
            .fold(0.0f64, |most, number| most.max(number.abs()));
        for (at, (a, b)) in expected.iter().zip(&found).enumerate() {
            let same = a == b || (a.is_nan() && b.is_nan());
            if same {
                continue;
            }
            let relative = (a - b).abs() / largest.max(f64::MIN_POSITIVE);
            if relative.is_nan() || relative > tolerance(element) {
                return Err(format!(
                    "buffer {index}, number {at}: {a} expected, {b} found"
                ));
            }
            all.largest = all.largest.max(relative);
        }
        // Numbers of 16 bits are too coarse for a factor, but rounding rarely changes them at all.
        if element.size < 4 && found.len() >= MANY {
            let differ = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
            all.differing = all.differing.max(differ as f64 / found.len() as f64);
        }
        if element.size >= 4 {
            let larger = |bias: &f64| all.bias.is_none_or(|known| bias.abs() > known.abs());
            all.bias = bias(&expected, &found).filter(larger).or(all.bias);
        }
    }
    Ok(all)
}

/// The numbers of a buffer of floats.
fn floats(element: &Element, bytes: &[u8]) -> Option<Vec<f64>> {
    let dtype = match element.name {
        "f32" => assay_launch::Dtype::F32,
        "f16" => assay_launch::Dtype::F16,
        "bf16" => assay_launch::Dtype::Bf16,
        _ => return None,
    };
    Some(dtype.decode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_launch::{NoFiles, Sizes, Written};

    fn inputs() -> Inputs {
        let (_, launch) = Written::parse("--buffer 0=zeros:f32:2").unwrap();
        launch.inputs(&[], &Sizes::new(), &NoFiles).unwrap()
    }

    fn buffer(numbers: &[f32]) -> Vec<(u32, Vec<u8>)> {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        vec![(0, bytes.collect())]
    }

    #[test]
    fn a_factor_is_told_from_rounding() {
        let a: Vec<f64> = (1..200).map(|n| f64::from(n) * 0.37).collect();
        let factor: Vec<f64> = a.iter().map(|x| x * 1.00005).collect();
        let rounding = a.iter().enumerate();
        let rounding: Vec<f64> = rounding
            .map(|(at, x)| x * (1.0 + 1e-5 * f64::from((at as i32 * 7919) % 13 - 6)))
            .collect();
        assert!((bias(&a, &factor).unwrap() - 5e-5).abs() < 1e-9);
        assert_eq!(bias(&a, &rounding), None);
    }

    #[test]
    fn floats_may_differ_by_what_is_allowed_of_the_largest() {
        let (a, b) = (buffer(&[100.0, 1.0]), buffer(&[100.0, 1.001]));
        let found = apart(&inputs(), &a, &b, &|_| 1e-4).unwrap();
        assert!(!found.identical && (found.largest - 1e-5).abs() < 1e-7);
        let error = apart(&inputs(), &a, &b, &|_| 1e-6).unwrap_err();
        assert!(
            error.starts_with("buffer 0, number 1: 1 expected"),
            "{error}"
        );
        let nan = buffer(&[f32::NAN, 1.0]);
        assert!(apart(&inputs(), &a, &nan, &|_| 1e-4).is_err());
        assert!(apart(&inputs(), &nan, &nan, &|_| 0.0).unwrap().identical);
        assert_eq!(
            first_difference(&a, &b).as_deref(),
            Some("buffer 0 differs from byte 4 on")
        );
    }
}
