//! Every rule about compiling Metal with clang, by a kernel whose result depends on it.
//!
//! A rule about an option of clang is taken away by a script that stands for the compiler and
//! leaves the option out: the result must be wrong then, or the rule is not needed.

#[path = "examples/common.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod common;

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program};
use assay_msl::{Compiler, Source};
use assay_num::{bf16_to_f32, brain, f16_to_f32, f32_to_bf16, f32_to_f16, half};
use std::path::{Path, PathBuf};

const LANES: u32 = 32;

/// A kernel `k` over one simdgroup with buffers 0, 1, …, the last of which is compared.
struct Case<'a> {
    name: &'a str,
    source: &'a str,
    fast_math: bool,
    buffers: Vec<Buffer>,
    expected: Buffer,
}

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The program of a case, or why there is none.
fn compile(case: &Case<'_>, compiler: &Compiler) -> Result<assay_ssa::Module, String> {
    let mut options = assay_msl::Options::new(temporary().join("rules-headers"));
    options.fast_math = case.fast_math;
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n{}",
        case.source
    );
    let source = Source {
        path: Path::new("rule.metal"),
        text: text.as_bytes(),
    };
    let compiled = assay_msl::compile(source, compiler, &options).map_err(|e| e.to_string())?;
    let modules = assay_air::llvm::read(&compiled.code).map_err(|e| e.to_string())?;
    let module = modules.first().ok_or("no module")?;
    let mut module =
        assay_air::lower(module, &assay_air::Options::default()).map_err(|e| e.to_string())?;
    assay_opt::pipeline::optimize(&mut module).map_err(|e| e.to_string())?;
    Ok(module)
}

fn result(case: &Case<'_>, compiler: &Compiler) -> Result<Vec<u8>, String> {
    let module = compile(case, compiler)?;
    let program = Program::compile(&module, "k", &Options::default()).map_err(|e| e.to_string())?;
    let mut bindings = Bindings::new();
    for (index, buffer) in (0..).zip(&case.buffers) {
        bindings.set(index, buffer.clone());
    }
    let last = case.buffers.len() as u32 - 1;
    program
        .run(&Grid::line(LANES, LANES), &mut bindings, &Limits::default())
        .map_err(|e| e.to_string())?;
    let buffer = bindings.get(last).cloned().unwrap_or_default();
    Ok(buffer.bytes().to_vec())
}

/// Checks a case; the compiler it was checked with, if there is one.
fn holds(case: &Case<'_>) -> Option<&'static Compiler> {
    let compiler = common::compiler()?;
    let got = result(case, compiler).unwrap_or_else(|why| panic!("{}: {why}", case.name));
    assert_eq!(got, case.expected.bytes(), "{}", case.name);
    Some(compiler)
}

/// The compiler without an option: a script that replaces it (by nothing, if `by` is empty).
#[cfg(unix)]
fn without(compiler: &Compiler, name: &str, changes: &[(&str, &str)]) -> Compiler {
    use std::fmt::Write as _;
    use std::os::unix::fs::PermissionsExt;
    let mut script = String::from(
        "#!/bin/sh\nn=$#\nwhile [ $n -gt 0 ]; do\na=$1; shift; n=$((n-1))\ncase \"$a\" in\n",
    );
    for (option, by) in changes {
        let action = match by.is_empty() {
            true => String::from(":"),
            false => format!("set -- \"$@\" '{by}'"),
        };
        let _ = writeln!(script, "'{option}') {action};;");
    }
    let real = compiler.program.display();
    let _ = write!(
        script,
        "*) set -- \"$@\" \"$a\";;\nesac\ndone\nexec '{real}' \"$@\"\n"
    );
    let path: PathBuf = temporary().join(format!("clang-without-{name}"));
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    Compiler {
        identity: format!("{} without {name}", compiler.identity),
        ..Compiler::new(path)
    }
}

/// The case holds, and does not when an option is changed.
#[cfg(unix)]
fn needs(case: &Case<'_>, changes: &[(&str, &str)]) {
    let Some(compiler) = holds(case) else { return };
    let crippled = without(compiler, case.name, changes);
    let got = result(case, &crippled);
    assert_ne!(
        got.as_deref(),
        Ok(case.expected.bytes()),
        "{}: {changes:?} makes no difference",
        case.name
    );
}

/// Numbers around one whose products lose bits.
fn odd_numbers(factor: f32) -> Vec<f32> {
    (0..LANES)
        .map(|i| 1.0 + factor * (2 * i + 1) as f32)
        .collect()
}

#[cfg(unix)]
#[test]
fn half_is_rounded_after_every_operation() {
    let bits: Vec<u16> = odd_numbers(0.003).into_iter().map(f32_to_f16).collect();
    let each = |&a: &u16| half::mul(half::mul(a, a), a);
    let once = |&a: &u16| {
        let x = f16_to_f32(a);
        f32_to_f16(x * x * x)
    };
    let expected: Vec<u16> = bits.iter().map(each).collect();
    assert_ne!(expected, bits.iter().map(once).collect::<Vec<_>>());
    let case = Case {
        name: "target",
        source: "kernel void k(device half *o, uint i [[thread_position_in_grid]]) { \
                 half a = o[i]; o[i] = a * a * a; }",
        fast_math: false,
        buffers: vec![Buffer::from_slice(&bits)],
        expected: Buffer::from_slice(&expected),
    };
    needs(
        &case,
        &[("--target=aarch64-linux-gnu", "--target=x86_64-linux-gnu")],
    );
}

#[cfg(unix)]
#[test]
fn bfloat_is_rounded_after_every_operation() {
    let bits: Vec<u16> = odd_numbers(0.017).into_iter().map(f32_to_bf16).collect();
    let each = |&a: &u16| brain::mul(brain::mul(a, a), a);
    let once = |&a: &u16| {
        let x = bf16_to_f32(a);
        f32_to_bf16(x * x * x)
    };
    let expected: Vec<u16> = bits.iter().map(each).collect();
    assert_ne!(expected, bits.iter().map(once).collect::<Vec<_>>());
    let case = Case {
        name: "bfloat16-excess-precision",
        source: "kernel void k(device bfloat *o, uint i [[thread_position_in_grid]]) { \
                 bfloat a = o[i]; o[i] = a * a * a; }",
        fast_math: false,
        buffers: vec![Buffer::from_slice(&bits)],
        expected: Buffer::from_slice(&expected),
    };
    let option = "-fbfloat16-excess-precision=none";
    needs(&case, &[(option, "-fbfloat16-excess-precision=standard")]);
}

#[cfg(unix)]
#[test]
fn char_is_signed() {
    let given: Vec<u32> = (0..LANES).map(|i| i * 8).collect();
    let expected: Vec<u32> = given.iter().map(|&n| n as u8 as i8 as i32 as u32).collect();
    let case = Case {
        name: "signed-char",
        source: "kernel void k(device int *o, uint i [[thread_position_in_grid]]) { \
                 char c = char(o[i]); o[i] = c; }",
        fast_math: true,
        buffers: vec![Buffer::from_slice(&given)],
        expected: Buffer::from_slice(&expected),
    };
    needs(&case, &[("-fsigned-char", "")]);
}

/// Lanes beyond `n` take part in the sum, whatever the branches around the helper.
#[cfg(unix)]
#[test]
fn a_helper_that_sums_runs_where_it_is_called() {
    let (n, a) = (10u32, 3.0f32);
    let total = n as f32 * a + (LANES - n) as f32 * 100.0;
    let mut expected = vec![a; LANES as usize];
    expected[..n as usize].fill(total);
    let case = Case {
        name: "convergent-functions",
        source: "__attribute__((noinline)) float helper(float x) { return simd_sum(x); }\n\
                 kernel void k(constant uint &n, device float *o, \
                 uint i [[thread_position_in_grid]]) { float v = 100; if (i < n) v = o[i]; \
                 float s = helper(v); if (i < n) o[i] = s; }",
        fast_math: false,
        buffers: vec![
            Buffer::from_slice(&[n]),
            Buffer::from_slice(&vec![a; LANES as usize]),
        ],
        expected: Buffer::from_slice(&expected),
    };
    needs(&case, &[("-fconvergent-functions", "")]);
}

#[cfg(unix)]
#[test]
fn fast_math_keeps_infinity() {
    let n = 7u32;
    let mut expected = vec![-5.0f32; LANES as usize];
    expected[..n as usize].fill(1.0);
    let case = Case {
        name: "honor-infinities",
        source: "kernel void k(constant uint &n, device float *o, \
                 uint i [[thread_index_in_threadgroup]]) { \
                 float x = (i < n ? o[i] : -INFINITY) * 0.5f; \
                 o[i] = x == -INFINITY ? -5 : x; }",
        fast_math: true,
        buffers: vec![
            Buffer::from_slice(&[n]),
            Buffer::from_slice(&vec![2.0f32; LANES as usize]),
        ],
        expected: Buffer::from_slice(&expected),
    };
    needs(&case, &[("-fhonor-infinities", ""), ("-fhonor-nans", "")]);
}

/// No result depends on it, so it is looked for in the program.
#[cfg(unix)]
#[test]
fn counters_stay_32_bits_wide() {
    let case = Case {
        name: "indvars-widen-indvars",
        source: "kernel void k(constant int &n, device float *o, \
                 uint i [[thread_position_in_grid]]) { float s = 0; \
                 for (int j = 0; j < n; ++j) s += o[j * 3]; o[i] = s; }",
        fast_math: false,
        buffers: vec![
            Buffer::from_slice(&[1u32]),
            Buffer::from_slice(&vec![0.0f32; LANES as usize]),
        ],
        expected: Buffer::from_slice(&vec![0.0f32; LANES as usize]),
    };
    let Some(compiler) = holds(&case) else { return };
    let wide = |compiler: &Compiler| {
        let module = compile(&case, compiler).expect("a program");
        let text = assay_ssa::print(&module);
        text.lines()
            .any(|line| line.starts_with('b') && line.contains(": i64"))
    };
    assert!(!wide(compiler));
    let option = "-indvars-widen-indvars=false";
    let changed = without(
        compiler,
        case.name,
        &[(option, "-indvars-widen-indvars=true")],
    );
    assert!(wide(&changed), "the option makes no difference");
}

#[test]
fn a_threadgroup_flag_keeps_its_width() {
    let case = Case {
        name: "used",
        source: "kernel void k(device int *o, uint i [[thread_index_in_threadgroup]]) { \
                 threadgroup int flag; threadgroup int pair[2]; \
                 if (i == 0) { flag = 7; pair[0] = 40; pair[1] = 2; } \
                 threadgroup_barrier(mem_flags::mem_threadgroup); \
                 o[i] = flag * 100 + pair[i & 1]; }",
        fast_math: true,
        buffers: vec![Buffer::from_slice(&[0u32; 32])],
        expected: Buffer::from_slice(&std::array::from_fn::<u32, 32, _>(|i| {
            700 + if i % 2 == 0 { 40 } else { 2 }
        })),
    };
    holds(&case);
}

#[test]
fn atomics_find_their_address_space() {
    let case = Case {
        name: "neutral-names",
        source: "template <typename P> void bump(P place, uint by) { \
                 atomic_fetch_add_explicit(place, by, memory_order_relaxed); }\n\
                 kernel void k(device atomic_uint *o, uint i [[thread_index_in_threadgroup]]) { \
                 threadgroup atomic_uint local; \
                 if (i == 0) atomic_store_explicit(&local, 0, memory_order_relaxed); \
                 threadgroup_barrier(mem_flags::mem_threadgroup); \
                 bump(&local, i); bump(o, 1u); \
                 threadgroup_barrier(mem_flags::mem_threadgroup); \
                 if (i == 0) atomic_store_explicit(o + 1, \
                 atomic_load_explicit(&local, memory_order_relaxed), memory_order_relaxed); }",
        fast_math: true,
        buffers: vec![Buffer::from_slice(&[0u32; 2])],
        expected: Buffer::from_slice(&[LANES, 31 * 32 / 2]),
    };
    holds(&case);
}

#[test]
fn overloads_by_address_space_copy_both_ways() {
    let case = Case {
        name: "overloads",
        source: "void copy(threadgroup float *to, const device float *from, uint i) { to[i] = from[i]; }\n\
                 void copy(device float *to, const threadgroup float *from, uint i) { to[i] = from[i]; }\n\
                 kernel void k(const device float *a, device float *o, \
                 uint i [[thread_index_in_threadgroup]]) { threadgroup float tile[32]; \
                 copy(tile, a, i); threadgroup_barrier(mem_flags::mem_threadgroup); \
                 copy(o, tile, i); o[i] += tile[31 - i]; }",
        fast_math: false,
        buffers: vec![
            Buffer::from_slice(&std::array::from_fn::<f32, 32, _>(|i| i as f32)),
            Buffer::from_slice(&[0.0f32; 32]),
        ],
        expected: Buffer::from_slice(&[31.0f32; 32]),
    };
    holds(&case);
}

#[test]
fn overloads_that_do_different_things_are_refused() {
    let case = Case {
        name: "other-overloads",
        source: "int which(const device float *) { return 1; }\n\
                 int which(const threadgroup float *) { return 2; }\n\
                 kernel void k(device float *o) { threadgroup float t[1]; \
                 o[0] = which(o) * 10 + which(t); }",
        fast_math: false,
        buffers: vec![Buffer::from_slice(&[0.0f32])],
        expected: Buffer::from_slice(&[12.0f32]),
    };
    let Some(compiler) = common::compiler() else {
        return;
    };
    let why = result(&case, compiler).expect_err("silently one of them");
    assert!(why.contains("differ only in address spaces"), "{why}");
}

#[test]
fn positions_and_structs_by_value_arrive_whole() {
    let case = Case {
        name: "by-value",
        source: "struct S { float a; packed_float3 b; ushort2 c; };\n\
                 kernel void k(constant S &s, device float *o, \
                 uint3 p [[thread_position_in_grid]], ushort2 q [[thread_position_in_threadgroup]], \
                 uint3 size [[threads_per_grid]]) { S mine = s; \
                 o[p.x] = p.x + 100 * p.y + q.x + size.x + mine.a + mine.b.z + mine.c.y; }",
        fast_math: false,
        buffers: vec![
            Buffer::from_bytes(&{
                let mut bytes = Vec::new();
                for number in [0.5f32, 9.0, 9.0, 0.25] {
                    bytes.extend(number.to_le_bytes());
                }
                bytes.extend([1, 0, 3, 0]);
                bytes
            }),
            Buffer::from_slice(&[0.0f32; 32]),
        ],
        expected: Buffer::from_slice(&std::array::from_fn::<f32, 32, _>(|i| {
            2.0 * i as f32 + 32.0 + 0.5 + 0.25 + 3.0
        })),
    };
    holds(&case);
}

#[test]
fn half_and_bfloat_convert_through_templates() {
    let values = odd_numbers(0.003);
    let given: Vec<u16> = values.iter().map(|&x| f32_to_f16(x)).collect();
    let expected: Vec<u16> = given
        .iter()
        .map(|&bits| f32_to_bf16(f16_to_f32(bits)))
        .collect();
    let case = Case {
        name: "conversion",
        source: "template <typename To, typename From> To to(From x) { return To(x); }\n\
                 kernel void k(const device half *a, device bfloat *o, \
                 uint i [[thread_position_in_grid]]) { o[i] = to<bfloat>(a[i]); }",
        fast_math: false,
        buffers: vec![
            Buffer::from_slice(&given),
            Buffer::from_slice(&vec![0u16; LANES as usize]),
        ],
        expected: Buffer::from_slice(&expected),
    };
    holds(&case);
}

/// What kernels in the wild are written with, all in one.
#[test]
fn the_language_works_as_in_metal() {
    let case = Case {
        name: "language",
        source: "template <typename T, typename = enable_if_t<is_integral<T>::value>> int kind(T) { return 1; }\n\
                 template <typename T, typename = void, typename = enable_if_t<is_floating_point<T>::value>> int kind(T) { return 2; }\n\
                 template <typename T> struct Size { static constant constexpr int value = 4; };\n\
                 template <> struct Size<half> { static constant constexpr int value = 2; };\n\
                 struct Pair { float a, b; Pair operator+(Pair o) const { return Pair{a + o.a, b + o.b}; } };\n\
                 template <int N> float times(float x) { if constexpr (N > 2) return x * N; else return x; }\n\
                 template <typename... Ts> float sum(Ts... xs) { return (xs + ...); }\n\
                 void bump(thread float &x) { x += 1; }\n\
                 kernel void k(device float *o, uint i [[thread_position_in_grid]]) {\n\
                 float x = i; bump(x);\n\
                 auto twice = [&](float y) { return y * 2 + x; };\n\
                 Pair p = Pair{x, 1} + Pair{1, 2};\n\
                 float4 v = float4(1, 2, 3, 4); v.xy = v.wz; packed_float3 q = packed_float3(v.zyx);\n\
                 o[i] = twice(1) + p.a + p.b + kind(3) + kind(3.0f) + Size<half>::value + Size<float>::value\n\
                 + times<1>(1) + times<3>(1) + sum(1.0f, 2.0f, 3.0f) + v.x * 10 + q[1]; }",
        fast_math: false,
        buffers: vec![Buffer::from_slice(&[0.0f32; 32])],
        expected: Buffer::from_slice(&std::array::from_fn::<f32, 32, _>(|i| {
            let x = i as f32 + 1.0;
            (2.0 + x) + (x + 1.0) + 3.0 + 3.0 + 6.0 + 4.0 + 6.0 + 40.0 + 3.0
        })),
    };
    holds(&case);
}
