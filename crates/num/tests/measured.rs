//! Results published for an M4 (github.com/ADevWithAnIdea/agx-re, EXP-0103), looked for in `../shared/fixtures`: equal
//! where a rule is known, else within the units that rule out a mistake.

use assay_num::math::{fast, fast_half, g16, precise};
use assay_num::{Rounding, f16_to_f32, f32_to_f16, f32_to_int, hardware, single};
use std::path::Path;

/// How far a result may be from the measured one, in units in the last place.
#[derive(Clone, Copy)]
enum Within {
    Equal,
    Units(u64),
}

use Within::{Equal, Units};

/// What we compute for an operation of the file, as bits, and how near it must be.
fn computed(op: &str, bits: &[u32]) -> Option<(u32, Within)> {
    let number = |at: usize| f32::from_bits(bits.get(at).copied().unwrap_or(0));
    let (a, b) = (number(0), number(1));
    let half =
        |function: fn(f32) -> f32| u32::from(f32_to_f16(function(f16_to_f32(bits[0] as u16))));
    let integer = |value: f32, width: u32| {
        let whole = f32_to_int(value, width, true, Rounding::TowardZero);
        (((whole as u32) << (32 - width)) as i32 >> (32 - width)) as u32
    };
    let (result, within) = match op {
        "add_f32" => (single::add(a, b), Equal),
        "mul_f32" => (single::mul(a, b), Equal),
        "div_precise_f32" => (single::div(a, b), Equal),
        "rcp_precise_f32" => (single::div(1.0, a), Equal),
        "mul_rcp_f32" => (single::mul(a, single::div(1.0, b)), Equal),
        "sqrt_precise_f32" => (single::sqrt(a), Equal),
        "rsqrt_precise_f32" => (hardware::rsqrt(a), Equal),
        "floor_f32" => (single::floor(a), Equal),
        "ceil_f32" => (single::ceil(a), Equal),
        "trunc_f32" => (single::trunc(a), Equal),
        "round_f32" => (single::round(a), Equal),
        "saturate_f32" => (single::saturate(a), Equal),
        "fmin_f32" => (single::min(a, b), Equal),
        "fmax_f32" => (single::max(a, b), Equal),
        // Truncated but for one number of 116, just above 1.
        "log2_precise_f32" if bits[0] == 0x3f80_0001 => (hardware::log2(a), Units(2)),
        "log2_precise_f32" => (hardware::log2(a), Equal),
        "exp2_precise_f32" => (hardware::exp2(a), Units(1)),
        "rcp_fast_f32" => (hardware::rcp(a), Units(1)),
        "rsqrt_fast_f32" => (hardware::rsqrt(a), Units(1)),
        "sqrt_fast_f32" => (fast::sqrt(a), Units(2)),
        "sin_fast_f32" => (g16::sin(a), Units(2)),
        "cos_fast_f32" => (g16::cos(a), Units(2)),
        "sin_precise_f32" => (precise::sin(a), Units(2)),
        "cos_precise_f32" => (precise::cos(a), Units(2)),
        "sin_fast_f16" => return Some((half(fast_half::sin), Equal)),
        "cos_fast_f16" => return Some((half(fast_half::cos), Equal)),
        "f32_to_i32" => return Some((integer(a, 32), Equal)),
        "f32_to_i8_clamp" => return Some((integer(single::clamp(a, -128.0, 127.0), 8), Equal)),
        "compare_f32" => {
            let holds = [
                single::less(a, b),
                single::less(b, a),
                single::equal(a, b),
                !single::equal(a, b),
                single::less_equal(a, b),
                single::less_equal(b, a),
                a.is_nan(),
                b.is_nan(),
            ];
            let places = holds.iter().enumerate();
            let bits = places.map(|(place, &holds)| u32::from(holds) << place);
            return Some((bits.sum(), Equal));
        }
        _ => return None,
    };
    Some((result.to_bits(), within))
}

/// Bits in the order of the numbers they are.
fn place(bits: u32) -> i64 {
    let magnitude = i64::from(bits & 0x7fff_ffff);
    if bits >> 31 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[test]
fn results_of_an_m4() {
    let beside = "shared/fixtures/measured/m4-arithmetic.json";
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(beside);
    let Ok(text) = std::fs::read_to_string(&file) else {
        assay_fixtures::skip(assay_fixtures::Tool::Data(beside));
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let bits = |value: &serde_json::Value| {
        let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
        u32::from_str_radix(digits.expect("hexadecimal digits"), 16).expect("bits")
    };
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for row in file["rows"].as_array().expect("rows") {
        let op = row["op"].as_str().expect("an operation");
        let given: Vec<u32> = row["in"]
            .as_array()
            .expect("inputs")
            .iter()
            .map(bits)
            .collect();
        let wanted = bits(&row["out"]);
        let (found, within) = computed(op, &given).unwrap_or_else(|| panic!("unknown: {op}"));
        let right = match within {
            Equal => found == wanted,
            // A zero or a NaN is one.
            Units(_) if wanted & 0x7fff_ffff == 0 || f32::from_bits(wanted).is_nan() => {
                found == wanted
            }
            Units(units) => place(found).abs_diff(place(wanted)) <= units,
        };
        if !right {
            wrong.push(format!(
                "{op} of {given:x?}: {found:#010x}, measured {wanted:#010x}"
            ));
        }
        compared += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(compared > 800, "only {compared} rows");
}
