//! Kernels in the manner of MLX, candle, llama.cpp and their users, with what is rare in them.
//!
//! Each file under `styles` is a kernel written for this purpose. Those that a CPU cannot run
//! (addresses inside buffers) must still become programs, and say why they do not run.

use crate::{LANES, common, floats, run};
use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_front::{Clang, GivenConstant, Library, SourceOptions};
use assay_num::{f16_to_f32, f32_to_bf16, f32_to_f16};
use std::path::Path;

macro_rules! style {
    ($name:literal) => {
        include_str!(concat!("styles/", $name, ".metal"))
    };
}

/// The first buffer after a run, as floats.
fn first(source: &str, kernel: &str, buffers: Vec<Buffer>) -> Option<Vec<f32>> {
    Some(run(source, kernel, buffers)?[0].to_vec())
}

fn lanes<T>(of: impl Fn(u32) -> T) -> Vec<T> {
    (0..LANES).map(of).collect()
}

fn bytes(parts: &[&[u8]]) -> Buffer {
    Buffer::from_bytes(&parts.concat())
}

#[test]
fn an_argument_that_a_function_constant_gives_or_takes() {
    for (has_bias, buffers) in [(true, 2), (false, 1)] {
        let given = [format!("0=bool:{has_bias}"), "1=uint:8".to_owned()];
        let given = given.iter().map(|text| text.parse().expect("a constant"));
        let Some(program) = program(style!("optional_argument"), &given.collect::<Vec<_>>()) else {
            return;
        };
        let program = program.unwrap_or_else(|why| panic!("{why}"));
        let all = [floats(|i| i as f32), floats(|i| i as f32 * 3.0)];
        let got = common::run(&program, Grid::line(LANES, LANES), all[..buffers].to_vec());
        let expected = lanes(|i| match has_bias {
            true => (i + i % 8 * 3) as f32,
            false => i as f32 + 100.0,
        });
        assert_eq!(got[0].to_vec::<f32>(), expected, "{has_bias}");
    }
}

#[test]
fn atomics_on_floats_and_a_loop_of_exchanges() {
    let buffers = vec![Buffer::zeroed(16), Buffer::from_slice(&[0u32, 31])];
    let Some(got) = run(style!("atomics"), "k", buffers) else {
        return;
    };
    assert_eq!(got[0].to_vec::<f32>(), [112.0, 120.0, 128.0, 136.0]);
    assert_eq!(got[1].to_vec::<u32>(), [31, 31 + LANES]);
}

#[test]
fn everything_qualified_and_a_struct_of_parameters() {
    let parameters = bytes(&[
        &5u32.to_le_bytes(),
        &3.0f32.to_le_bytes(),
        &[2, 0, 0, 0],
        [1.0f32, 2.0, 3.0].map(f32::to_le_bytes).as_flattened(),
    ]);
    let values: Vec<f32> = (0..LANES * 4).map(|n| n as f32).collect();
    let buffers = vec![Buffer::from_slice(&values), parameters];
    let Some(got) = first(style!("qualified_names"), "k", buffers) else {
        return;
    };
    let expected = values.iter().enumerate().map(|(n, &value)| match n % 4 {
        0 => value * 3.0,
        part => value + part as f32,
    });
    assert_eq!(got, expected.collect::<Vec<_>>());
}

#[test]
fn a_quantised_block_and_bits_of_floats() {
    let quants: [u8; 16] = std::array::from_fn(|n| n as u8 * 15 + 1);
    let block = bytes(&[&f32_to_f16(2.0).to_le_bytes(), &quants]);
    let buffers = vec![floats(|_| 0.0), block];
    let Some(got) = first(style!("quantised_block"), "k", buffers) else {
        return;
    };
    let table = [
        -64, -48, -36, -27, -20, -14, -9, -5, -1, 3, 8, 14, 21, 30, 42, 60,
    ];
    let expected = lanes(|i| {
        let bits = 0x3f80_0000 + (i << 16);
        let quant = table[usize::from(quants[(i % 8 * 2) as usize] & 15)];
        f32::from_bits(bits) + 2.0 * quant as f32 + 1.0 + 1.5 + (bits >> 24) as f32
    });
    assert_eq!(got, expected);
}

#[test]
fn tiles_of_vectors_in_thread_memory() {
    let Some(got) = first(style!("tiles_of_vectors"), "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    assert_eq!(got, lanes(|i| (16 + 20 * i) as f32));
}

#[test]
fn shuffles_of_every_kind() {
    let Some(got) = first(style!("shuffles"), "k", vec![floats(|i| i as f32)]) else {
        return;
    };
    let expected = lanes(|i| {
        let up = if i >= 4 { i - 4 } else { 1000 };
        let product = if i > 3 { 2 } else { 1 };
        let sum = (i ^ 1) + 1 + 5 + up + (i + 3) % 32 + 3 + product + 9 + 32;
        sum as f32 + if i == 0 { 0.5 } else { 0.0 }
    });
    assert_eq!(got, expected);
}

/// What the functions from `reverse_bits` on give, in order.
const SAME_EVERYWHERE: [f64; 28] = [
    1.0, 16.0, 15.0, 6.0, 2.0, 3.0, 6.0, 10.0, 255.0, 3.0, 3.0, 7.0, 8.0, 6.0, 5.0, 1.0, 2.0, 1.0,
    3.0, 2.0, 2.0, 3.0, 8.0, 10.0, 1.0, -2.0, 1.0, 1.0,
];

#[test]
fn functions_of_the_library() {
    let Some(got) = first(style!("library_functions"), "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    let expected = lanes(|i| {
        let x = f64::from(i);
        let t = x / 32.0;
        let floats = x.clamp(3.0, 9.0) + (x - 4.5).clamp(0.0, 1.0) + t * t * (3.0 - 2.0 * t);
        let step = f64::from(u8::from(i >= 5));
        let bits = i.count_ones() + (i | 1).leading_zeros() + (i | 8).trailing_zeros();
        // Packed 0.5, unpacked −1, 1 and 128/255.
        let packed = 128.0 - 1.0 + 1.0 + 128.0 / 255.0;
        floats + step + 5.75 + packed + f64::from(bits) + SAME_EVERYWHERE.iter().sum::<f64>()
    });
    common::close(&got, &expected, 1e-6);
}

#[test]
fn messages_to_the_log_change_nothing() {
    let Some(got) = first(style!("logging"), "k", vec![floats(|i| i as f32)]) else {
        return;
    };
    assert_eq!(got, lanes(|i| 2.0 * i as f32));
}

#[test]
fn typed_instantiations_with_lambdas_over_sequences() {
    let numbers = [0.0f32, 1.0, 2.0, 3.0];
    let kinds = [
        (
            "k_bfloat",
            Buffer::from_slice(&numbers.map(f32_to_bf16)),
            2.0,
        ),
        ("k_half", Buffer::from_slice(&numbers.map(f32_to_f16)), 1.0),
        ("k_float", Buffer::from_slice(&numbers), 1.0),
    ];
    for (kernel, input, factor) in kinds {
        let buffers = vec![floats(|_| 0.0), input];
        let Some(got) = first(style!("typed_instantiations"), kernel, buffers) else {
            return;
        };
        let expected = lanes(|i| 48.0 + factor * (i % 4) as f32);
        assert_eq!(got, expected, "{kernel}");
    }
}

#[test]
fn a_norm_of_rows_over_bytes() {
    let Some(program) = common::program_of(style!("row_norm"), "k.metal", "normalise_f16") else {
        return;
    };
    let row: Vec<u16> = (0..128).map(|n| f32_to_f16(n as f32)).collect();
    let mut bindings = Bindings::new();
    let parameters = [
        &128u64.to_le_bytes()[..],
        &256u64.to_le_bytes(),
        &0.5f32.to_le_bytes(),
        &[0; 4],
    ];
    bindings.set(0, bytes(&parameters));
    bindings.set(1, Buffer::from_slice(&row));
    bindings.set(2, Buffer::zeroed(256));
    bindings.set_threadgroup_memory(0, 128);
    let reports = program.check(&Grid::line(LANES, LANES), &mut bindings, &Limits::default());
    assert_eq!(reports, Ok(vec![]));
    let got = bindings.get(2).expect("bound").to_vec::<u16>();
    let got: Vec<f32> = got.into_iter().map(f16_to_f32).collect();
    let mean = (0..128).map(|n| f64::from(n * n)).sum::<f64>() / 128.0;
    let expected: Vec<f64> = (0..128)
        .map(|n| f64::from(n) / (mean + 0.5).sqrt())
        .collect();
    common::close(&got, &expected, 1e-3);
}

#[test]
fn matrices_of_columns() {
    let columns: Vec<f32> = (0..16).map(|n| n as f32).collect();
    let buffers = vec![floats(|_| 0.0), Buffer::from_slice(&columns)];
    let Some(got) = first(style!("matrices"), "k", buffers) else {
        return;
    };
    assert_eq!(got, lanes(|_| 57.0));
}

#[test]
fn complex_numbers_in_threadgroup_memory() {
    let one = Buffer::from_bytes(&1u64.to_le_bytes());
    let seven = Buffer::from_bytes(&7u64.to_le_bytes());
    let Some(got) = first(
        style!("complex_scan"),
        "scan_f32",
        vec![floats(|_| 0.0), one, seven],
    ) else {
        return;
    };
    assert_eq!(got, lanes(|i| (41 + 10 * ((i + 1) % 32)) as f32));
}

#[test]
fn odds_and_ends() {
    let aligned: Vec<u32> = (0..LANES * 4).collect();
    let buffers = vec![floats(|_| 0.0), Buffer::from_slice(&aligned)];
    let Some(got) = run(style!("odds_and_ends"), "renamed", buffers) else {
        return;
    };
    let hash = |x: u32| {
        let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
        x ^ x >> 15
    };
    let table = [[1, 2, 3], [4, 5, 6]];
    let expected = lanes(|i| {
        let entry = table[(i & 1) as usize][(i % 3) as usize];
        // 6, 2, four times the thread, 'a', 4, the odd bit, 2, 0, 1, 16, the quad, 32, 1, 1, 1, its second thread.
        hash(i) % 7
            + entry
            + 6
            + 2
            + 4 * i
            + 97
            + 4
            + (i & 1)
            + 2
            + 1
            + 16
            + i / 4
            + 32
            + 3
            + (i / 4 * 4 + 1)
    });
    assert_eq!(got[0].to_vec::<u32>(), expected);
    let moved = aligned.iter().map(|&n| if n % 4 == 2 { n + 4 } else { n });
    assert_eq!(got[1].to_vec::<u32>(), moved.collect::<Vec<_>>());
}

/// The program of a style's kernel `k`, or why there is none.
fn program(source: &str, constants: &[GivenConstant]) -> Option<Result<Program, String>> {
    let source = assay_front::Source {
        path: Path::new("k.metal"),
        text: source.as_bytes(),
    };
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers");
    let clang = Clang::new(common::compiler()?.clone(), cache);
    let library = Library::compile(source, &clang, &SourceOptions::default()).expect("compiles");
    let kernel = library.kernel("k").expect("a kernel");
    let module = kernel.program(constants).expect("a program");
    let program = Program::compile(&module, "k", &Options::default());
    Some(program.map_err(|error| error.to_string()))
}

#[test]
fn components_are_values_and_targets_everywhere() {
    let Some(got) = first(style!("components"), "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    let expected = lanes(|i| {
        let i = i as f32;
        let vectors = 1234.0 + 5.0 + i + (i + 1.0);
        let templates = 6.0 + (3.0 + 4.0 + 3.0) + 2.0 + 9.0;
        vectors + templates + (4.0 + 1.0) + (4.0 + 4.0)
    });
    assert_eq!(got, expected);
}

#[test]
fn vectors_are_function_constants_too() {
    let given = |text: &str| text.parse::<GivenConstant>().expect("a constant");
    let constants = vec![given("0=int2:5,6"), given("scale=float3:1,2,3")];
    let Some(program) = program(style!("vector_constant"), &constants) else {
        return;
    };
    let program = program.expect("all is given");
    let mut bindings = Bindings::new();
    bindings.set(0, floats(|_| 0.0));
    let ran = program.run(&Grid::line(LANES, LANES), &mut bindings, &Limits::default());
    ran.expect("runs");
    let got = bindings.get(0).map(Buffer::to_vec::<f32>);
    assert_eq!(got, Some(lanes(|i| (6 + 5 + (i & 1) + 10 + 321) as f32)));
}

#[test]
fn textures_that_are_not_bound_are_named() {
    let Some(Ok(program)) = program(style!("textures"), &[]) else {
        return;
    };
    let grid = Grid::line(LANES, LANES);
    let why = program.run(&grid, &mut Bindings::new(), &Limits::default());
    let why = why.expect_err("nothing is bound").to_string();
    assert!(why.contains("texture 0 (\"in\") is not bound"), "{why}");
}

/// `n` at its offset and no address that means anything.
#[test]
fn addresses_inside_buffers_are_told_from_buffers() {
    let arguments = [&[0u8; 16][..], &32u64.to_le_bytes(), &[0; 16]];
    let Some(Ok(program)) = program(style!("argument_buffer"), &[]) else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, bytes(&arguments));
    bindings.set(1, floats(|_| 0.0));
    let ran = program.run(&Grid::line(LANES, LANES), &mut bindings, &Limits::default());
    let why = ran.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(why.contains("which is in no buffer"), "{why}");
}
