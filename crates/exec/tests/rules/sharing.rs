//! Rules about what threads share: memory, address spaces, collectives.

use super::{Case, LANES, Rule, Seen, Without, floats, last, words};
use assay_exec::Buffer;

pub(super) fn cases() -> Vec<Case> {
    let mut all = collectives();
    all.extend(threadgroup_memory());
    all.extend(spaces());
    all
}

fn collectives() -> Vec<Case> {
    let (n, a) = (10u32, 3.0f32);
    let total = n as f32 * a + (LANES - n) as f32 * 100.0;
    vec![
        // The helper is copied into both arms of the branch before it, and each sums its own lanes.
        Case {
            rule: Rule::Convergent,
            name: "convergent-functions",
            source: "__attribute__((noinline)) float helper(float x) { return simd_sum(x); }\n\
                     kernel void k(constant uint &n, device float *o, \
                     uint i [[thread_position_in_grid]]) { float v = 100; if (i < n) v = o[i]; \
                     float s = helper(v); if (i < n) o[i] = s; }",
            fast_math: false,
            buffers: vec![Buffer::from_slice(&[n]), floats(|_| a)],
            expected: last(&floats(|i| if i < n { total } else { a })),
            without: Without::Options(&[("-fconvergent-functions", "")]),
        },
    ]
}

fn threadgroup_memory() -> Vec<Case> {
    vec![
        // The flag becomes one bit, or nothing at all, and whoever reads it unwritten goes unseen.
        Case {
            rule: Rule::Used,
            name: "used",
            source: "kernel void k(device int *o, uint i [[thread_index_in_threadgroup]]) { \
                     threadgroup int flag; if (o[0] == 99) flag = 0; \
                     threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = flag; }",
            fast_math: true,
            buffers: vec![words(|_| 0)],
            expected: Ok(Seen::Unwritten(1)),
            without: Without::Text("s/used, section/section/"),
        },
        Case {
            rule: Rule::Used,
            name: "flags-and-pairs",
            source: "kernel void k(device int *o, uint i [[thread_index_in_threadgroup]]) { \
                     threadgroup int flag; threadgroup int pair[2]; \
                     if (i == 0) { flag = 7; pair[0] = 40; pair[1] = 2; } \
                     threadgroup_barrier(mem_flags::mem_threadgroup); \
                     o[i] = flag * 100 + pair[i & 1]; }",
            fast_math: true,
            buffers: vec![words(|_| 0)],
            expected: last(&words(|i| 700 + if i % 2 == 0 { 40 } else { 2 })),
            without: Without::ByHand(
                "nothing: kept beside the case above for the values of flags and pairs",
            ),
        },
        // Arrays of vectors are filled before the kernel fills them.
        Case {
            rule: Rule::TrivialConstructors,
            name: "trivial-constructors",
            source: "kernel void k(device float *o, uint i [[thread_index_in_threadgroup]]) { \
                     float4 a[4]; for (uint j = 0; j < 4; ++j) a[(j + i) & 3] = float4(j); \
                     o[i] = a[o[i] > 1 ? 1 : 2].x; }",
            fast_math: true,
            buffers: vec![floats(|i| i as f32)],
            expected: Ok(Seen::ThreadStores(4)),
            without: Without::Text("s/^  vec\\(\\) = default;/  vec() : __v{} {}/"),
        },
        // Metal constructs no threadgroup memory; clang would, behind guards, the first time each thread
        // comes along.
        Case {
            rule: Rule::NoGuards,
            name: "threadsafe-statics",
            source: "struct Counter { int n; Counter() { n = -1; } };\n\
                     kernel void k(device int *o, uint i [[thread_position_in_grid]]) { \
                     threadgroup Counter c; if (i == 3) c.n = o[i]; \
                     threadgroup_barrier(mem_flags::mem_threadgroup); o[i] += c.n; }",
            fast_math: true,
            buffers: vec![words(|i| i * 10)],
            expected: last(&words(|i| i * 10 + 30)),
            without: Without::ByHand(
                "taking clang's guards for variables like others, a store to constant memory",
            ),
        },
    ]
}

fn spaces() -> Vec<Case> {
    vec![
        // `scale` is loaded again after every store, which might have changed it.
        Case {
            rule: Rule::Restrict,
            name: "restrict",
            source: "kernel void k(const device float *scale, const device float *x, \
                     device float *o, uint i [[thread_position_in_grid]]) { \
                     for (int j = 0; j < 8; ++j) o[j * 32 + i] = x[j * 32 + i] * scale[i]; }",
            fast_math: true,
            buffers: vec![
                floats(|i| i as f32),
                Buffer::zeroed(8 * 32 * 4),
                Buffer::zeroed(8 * 32 * 4),
            ],
            expected: Ok(Seen::Loads(9)),
            without: Without::Text("s/__restrict//g"),
        },
        Case {
            rule: Rule::NeutralNames,
            name: "neutral-names",
            source: BUMP,
            fast_math: true,
            buffers: vec![Buffer::from_slice(&[0u32; 2])],
            expected: last(&Buffer::from_slice(&[LANES, 31 * 32 / 2])),
            without: Without::ByHand("nothing: the executor tells addresses apart as it goes"),
        },
        // A name with a space in it would be wrong for one of the callers of the same helper.
        Case {
            rule: Rule::NeutralNames,
            name: "spaces-are-found",
            source: BUMP,
            fast_math: true,
            buffers: vec![Buffer::from_slice(&[0u32; 2])],
            expected: Ok(Seen::Generic(false)),
            without: Without::ByHand(
                "without tracing pointers to their objects they stay generic, and no code can be made",
            ),
        },
        // One body serves both directions because both are the same words.
        Case {
            rule: Rule::Overloads,
            name: "overloads",
            source: "void copy(threadgroup float *to, const device float *from, uint i) { to[i] = from[i]; }\n\
                     void copy(device float *to, const threadgroup float *from, uint i) { to[i] = from[i]; }\n\
                     kernel void k(const device float *a, device float *o, \
                     uint i [[thread_index_in_threadgroup]]) { threadgroup float tile[32]; \
                     copy(tile, a, i); threadgroup_barrier(mem_flags::mem_threadgroup); \
                     copy(o, tile, i); o[i] += tile[31 - i]; }",
            fast_math: false,
            buffers: vec![floats(|i| i as f32), floats(|_| 0.0)],
            expected: last(&floats(|_| 31.0)),
            without: Without::ByHand("nothing dropped: redefinition of 'copy'"),
        },
        // Where they are not, either one would be wrong for the other's callers.
        Case {
            rule: Rule::Overloads,
            name: "other-overloads",
            source: "int which(const device float *) { return 1; }\n\
                     int which(const threadgroup float *) { return 2; }\n\
                     kernel void k(device float *o) { threadgroup float t[1]; \
                     o[0] = which(o) * 10 + which(t); }",
            fast_math: false,
            buffers: vec![Buffer::from_slice(&[0.0f32])],
            expected: Err("differ only in address spaces"),
            without: Without::ByHand(
                "the first kept whatever the others do: 11, and no word about it",
            ),
        },
    ]
}

/// Adds to threadgroup and device memory through one helper.
const BUMP: &str = "template <typename P> void bump(P place, uint by) { \
    atomic_fetch_add_explicit(place, by, memory_order_relaxed); }\n\
    kernel void k(device atomic_uint *o, uint i [[thread_index_in_threadgroup]]) { \
    threadgroup atomic_uint local; \
    if (i == 0) atomic_store_explicit(&local, 0, memory_order_relaxed); \
    threadgroup_barrier(mem_flags::mem_threadgroup); \
    bump(&local, i); bump(o, 1u); \
    threadgroup_barrier(mem_flags::mem_threadgroup); \
    if (i == 0) atomic_store_explicit(o + 1, \
    atomic_load_explicit(&local, memory_order_relaxed), memory_order_relaxed); }";
