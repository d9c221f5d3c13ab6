//! Rules about what a source may say and how its kernels are entered.

use super::{Case, Rule, Without, floats, last, words};
use assay_exec::Buffer;

pub(super) fn cases() -> Vec<Case> {
    vec![
        // Headers of the host are found, and with them another language than Metal.
        Case {
            rule: Rule::NoHost,
            name: "nostdinc",
            source: "#include <metal_stdlib>\n\
                     #if __has_include(<stddef.h>) || __has_include(<stdlib.h>)\n\
                     #define HOST 1\n#else\n#define HOST 0\n#endif\n\
                     kernel void k(device int *o, uint i [[thread_position_in_grid]]) { o[i] = HOST; }",
            fast_math: true,
            buffers: vec![words(|_| 5)],
            expected: last(&words(|_| 0)),
            without: Without::Options(&[("-nostdinc", "")]),
        },
        // Source that serves several systems takes the host's side.
        Case {
            rule: Rule::NoHost,
            name: "host-macros",
            source: "#include <metal_stdlib>\n\
                     #if defined(__linux__) || defined(__aarch64__)\n#define HOST 1\n#else\n#define HOST 0\n#endif\n\
                     kernel void k(device int *o, uint i [[thread_position_in_grid]]) { o[i] = HOST; }",
            fast_math: true,
            buffers: vec![words(|_| 5)],
            expected: last(&words(|_| 0)),
            without: Without::Options(&[("-U__linux__", ""), ("-U__aarch64__", "")]),
        },
        // A function of the kernel's own is taken for the C library's.
        Case {
            rule: Rule::NoBuiltin,
            name: "builtin",
            source: "extern \"C\" float fabsf(float x) { return x + 1; }\n\
                     kernel void k(device float *o, uint i [[thread_position_in_grid]]) { \
                     o[i] = fabsf(o[i]); }",
            fast_math: true,
            buffers: vec![floats(|i| i as f32)],
            expected: last(&floats(|i| i as f32 + 1.0)),
            without: Without::Options(&[("-fno-builtin", "")]),
        },
        Case {
            rule: Rule::ByValue,
            name: "by-value",
            source: "struct S { float a; packed_float3 b; ushort2 c; };\n\
                     kernel void k(constant S &s, device float *o, \
                     uint3 p [[thread_position_in_grid]], ushort3 q [[thread_position_in_threadgroup]], \
                     uint3 size [[threads_per_grid]]) { S mine = s; \
                     o[p.x] = p.x + 100 * p.y + q.x + size.x + mine.a + mine.b.z + mine.c.y; }",
            fast_math: false,
            buffers: vec![
                Buffer::from_bytes(&{
                    let numbers = [0.5f32, 9.0, 9.0, 0.25].map(f32::to_le_bytes);
                    [numbers.as_flattened(), &[1, 0, 3, 0]].concat()
                }),
                floats(|_| 0.0),
            ],
            expected: last(&floats(|i| 2.0 * i as f32 + 32.0 + 0.5 + 0.25 + 3.0)),
            without: Without::ByHand(
                "positions left among the parameters: clang passes some in registers, some by \
                 address, and no kernel can be started",
            ),
        },
        // A kernel's macros would reach into the library, whose names are a user's names too.
        Case {
            rule: Rule::MacrosOnly,
            name: "macros-only",
            source: "#define N 4\n#define op 3\n#define index 2\n\
                     #include <metal_stdlib>\nusing namespace metal;\n\
                     kernel void k(device int *o, uint i [[thread_position_in_grid]]) { \
                     o[i] = N * op * index + int(max(i, 1u)); }",
            fast_math: true,
            buffers: vec![words(|_| 0)],
            expected: last(&words(|i| 24 + i.max(1))),
            without: Without::Library(
                "namespace metal { template <typename T, int N> struct of_the_library { T index; }; }\n",
            ),
        },
    ]
}
