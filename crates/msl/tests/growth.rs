//! The pass over tokens takes time in proportion to the text, whatever the text repeats and however deep it nests.

use assay_msl::rewritten_tokens;
use std::time::{Duration, Instant};

/// What a hostile text repeats.
const PIECES: [&str; 40] = [
    "[[",
    "([[{",
    "[[a(",
    "[[a]]",
    "[[host_name(\"k\")]] template ",
    "template<",
    "template<typename T, ",
    "o[0",
    "[=](",
    "[](auto a) {",
    "(",
    "{",
    "<",
    "a<",
    "a<b,",
    "struct S { ",
    "struct S { int a; }; ",
    "kernel void k(",
    "kernel void k(device S* o) { } ",
    "kernel void k(device float* o) { ",
    "constant int a = ",
    "constant auto f = [] ",
    "typedef ",
    "using A = ",
    "enum E { ",
    "enum E { a, ",
    "namespace n { ",
    "operator<",
    "f(device float* a, ",
    "void f(device float* a) {} ",
    "(float2)(",
    "static_cast<device ",
    "x.xyzw",
    "x ? ",
    "decltype(",
    "vertex void v() { } ",
    "vertex void v(",
    "#pragma unroll\n",
    "as_type<",
    "; ",
];

/// What stands before it, to have further parts of the pass look.
const BEFORE: [&str; 5] = [
    "",
    "constant int N [[function_constant(M)]];\n",
    "bfloat b; ",
    "template <typename T> void f(T a) { ",
    "kernel void k(device float* o [[buffer(",
];

/// Bytes of a text: 100,000 brackets are as many.
const LENGTH: usize = 100_000;

/// Far more than a busy machine needs for a walk over so many bytes, far less than a walk for each of them takes (11 s and more).
const LONGEST: Duration = Duration::from_secs(3);

#[test]
fn no_text_takes_long() {
    for (before, piece) in BEFORE
        .iter()
        .flat_map(|a| PIECES.iter().map(move |b| (a, b)))
    {
        let text = format!("{before}{}", piece.repeat(LENGTH / piece.len()));
        let begun = Instant::now();
        rewritten_tokens(&text);
        let took = begun.elapsed();
        assert!(took < LONGEST, "{before:?} {piece:?}: {took:?}");
    }
}
