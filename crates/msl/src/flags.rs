//! The options clang is called with, and why.
//!
//! Each of these was found by a kernel that compiles without it but is wrong.

/// Options of every pass, with the reason for each.
pub(crate) const COMMON: &[(&[&str], &str)] = &[
    (
        &["--target=aarch64-linux-gnu"],
        "the host must not matter, and x86 computes half in float",
    ),
    (
        &["-std=c++17"],
        "what kernels in the wild use, `if constexpr` included",
    ),
    (
        &["-fsigned-char"],
        "Metal's char is signed, aarch64's is not",
    ),
    (&["-nostdinc"], "no header of the host"),
    (
        &["-fno-crash-diagnostics"],
        "no files left behind when clang fails",
    ),
    (&["-w"], "warnings would be about our rewriting"),
    (&["-fno-color-diagnostics"], "diagnostics are parsed"),
    (
        &["-fno-caret-diagnostics"],
        "source lines are shown from the user's file",
    ),
    (
        &["-fno-diagnostics-fixit-info"],
        "a hint would show rewritten text",
    ),
];

/// Options of the compiling pass.
pub(crate) const COMPILE: &[(&[&str], &str)] = &[
    (
        &["-fdeclspec"],
        "components and swizzles of vectors are properties",
    ),
    (&["-fno-builtin"], "there is no C library to call"),
    (
        &["-fno-threadsafe-statics"],
        "threadgroup variables are statics without guards",
    ),
    (&["-fno-exceptions", "-fno-rtti"], "Metal has neither"),
    (&["-fno-asynchronous-unwind-tables"], "nothing to unwind"),
    (
        &["-Xclang", "-fbfloat16-excess-precision=none"],
        "bfloat is otherwise computed in float; Apple's compiler emits fmul bfloat",
    ),
    (
        &["-fconvergent-functions"],
        "a helper that calls simd_sum must not be copied into both arms of a branch",
    ),
    (
        &["-fno-delete-null-pointer-checks"],
        "address 0 is an ordinary place of threadgroup memory; kernels read there and ignore the number",
    ),
    (
        &["-fno-strict-float-cast-overflow"],
        "Metal's conversions to integers saturate; a constant out of range would become anything",
    ),
    (
        &["-fno-pic"],
        "tables of addresses would become tables of distances between them",
    ),
    (&["-O2"], "what Apple's compiler does before it writes AIR"),
    (
        &["-fno-vectorize", "-fno-slp-vectorize"],
        "lanes are threads already",
    ),
    (
        &["-mllvm", "-indvars-widen-indvars=false"],
        "loop counters must stay 32 bits wide: Metal's data layout has no native 64",
    ),
    (
        &[
            "-mllvm",
            "-unroll-threshold=0",
            "-mllvm",
            "-pragma-unroll-threshold=0",
        ],
        "loops stay loops, with or without a hint, as in Apple's AIR; the hints are kept",
    ),
    (&["-Wno-c++11-narrowing"], "Metal lets braces narrow"),
    (
        &["-Wno-elaborated-enum-base"],
        "Xcode's template for headers of host and kernels: typedef enum Index : int Index; enum Index : int { … }",
    ),
    (&["-Wno-error"], "an error is an error of the language only"),
];

/// Options of the compiling pass when lines are recorded.
pub(crate) const LINES: &[(&[&str], &str)] = &[
    (
        &["-gline-tables-only", "-gno-column-info"],
        "lines are what instructions are traced to",
    ),
    (
        &["-fdebug-compilation-dir=."],
        "the result must not depend on the folder it was made in",
    ),
];

/// Options of the compiling pass for a program that is to be checked.
pub(crate) const CHECKED: &[(&[&str], &str)] = &[
    (
        &["-Xclang", "-disable-llvm-passes"],
        "an optimiser removes reads of variables that were never set, and with them the mistake",
    ),
    (
        &[
            "-Xclang",
            "-fsanitize=array-bounds",
            "-Xclang",
            "-fsanitize-recover=array-bounds",
            "-Xclang",
            "-fsanitize-minimal-runtime",
        ],
        "an index past a row or a member lies inside the whole, where no access shows that it is wrong",
    ),
    (
        &["-fno-strict-return"],
        "a function without its return gives an unset value, not code that cannot be reached",
    ),
    (
        &["-Wno-everything"],
        "most warnings would be about our rewriting; these are about mistakes in kernels",
    ),
    (
        &[
            "-Wuninitialized",
            "-Wsometimes-uninitialized",
            "-Wconditional-uninitialized",
            "-Wuninitialized-const-reference",
        ],
        "variables that were never set",
    ),
    (
        &["-Warray-bounds", "-Warray-bounds-pointer-arithmetic"],
        "indices past the end of an array",
    ),
    (
        &[
            "-Wdivision-by-zero",
            "-Wshift-count-overflow",
            "-Wshift-count-negative",
            "-Wshift-overflow",
            "-Wliteral-conversion",
            "-Winteger-overflow",
            "-Wconstant-conversion",
        ],
        "arithmetic that is not defined, or not what it looks like",
    ),
    (
        &[
            "-Wparentheses",
            "-Wlogical-op-parentheses",
            "-Wtautological-compare",
            "-Wself-assign",
            "-Wunsequenced",
            "-Wempty-body",
            "-Wreturn-type",
            "-Wfor-loop-analysis",
            "-Wsizeof-pointer-memaccess",
            "-Wmisleading-indentation",
            "-Wreturn-stack-address",
        ],
        "slips of the pen",
    ),
];

/// Metal's default arithmetic. Plain `-ffast-math` would let the optimiser assume that
/// nothing is infinite, and drop the `-INFINITY` of a masked softmax.
pub(crate) const FAST_MATH: &[&str] = &["-ffast-math", "-fhonor-infinities", "-fhonor-nans"];

/// The same without fast math: products and sums still contract within an expression.
pub(crate) const PRECISE_MATH: &[&str] = &["-fno-fast-math", "-ffp-contract=on"];

/// Options for sources that include tensors, whose descriptors are template arguments of class type and whose elements have
/// several indices. The last version of the language that is given counts.
pub(crate) const TENSORS: &[&str] = &["-std=c++2b"];

/// The same for a program that is to be checked: the headers say what must be true.
pub(crate) const CHECKED_TENSORS: &[&str] = &["-std=c++2b", "-D__METAL_CHECKED=1"];

/// Macros of the host that a kernel must not see.
pub(crate) const UNDEFINED: &[&str] = &[
    "__linux__",
    "__linux",
    "linux",
    "__unix__",
    "__unix",
    "unix",
    "__gnu_linux__",
    "__ELF__",
    "__aarch64__",
    "__ARM_NEON",
    "__ARM_ARCH",
    "__STDC_HOSTED__",
    "_LP64",
    "__LP64__",
];

/// All options of a table.
pub(crate) fn of(table: &'static [(&[&str], &str)]) -> impl Iterator<Item = &'static str> {
    table
        .iter()
        .flat_map(|(options, _)| options.iter().copied())
}
