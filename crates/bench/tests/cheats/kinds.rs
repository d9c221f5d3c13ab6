//! Kinds of cheating, as data. `docs/cheats.md` says of each why it fails.

/// A kernel that cheats.
pub(crate) enum Cheat {
    /// A relu that does this to element `e` at the sizes that are timed, and is honest at all others.
    Relu(&'static str),
    /// The source of another kernel, with one change.
    Change {
        kernel: &'static str,
        old: &'static str,
        new: &'static str,
    },
    /// The same, with a change that makes a difference at the reference sizes only.
    Large {
        kernel: &'static str,
        old: &'static str,
        new: &'static str,
    },
}

const fn change(kernel: &'static str, old: &'static str, new: &'static str) -> Cheat {
    Cheat::Change { kernel, old, new }
}

/// A product of matrices that cheats where 1024 products are added up.
const fn large(old: &'static str, new: &'static str) -> Cheat {
    Cheat::Large {
        kernel: "sqr_mm",
        old,
        new,
    }
}

pub(crate) const KINDS: &[(&str, Cheat)] = &[
    (
        "one-element",
        Cheat::Relu("if (e == 0) y[e] = max(x[e], 0.0f);"),
    ),
    ("nothing", Cheat::Relu("")),
    (
        "no-tail",
        Cheat::Relu("if (e < n / 4 * 4 - 4) y[e] = max(x[e], 0.0f);"),
    ),
    ("no-head", Cheat::Relu("if (e > 0) y[e] = max(x[e], 0.0f);")),
    (
        "every-other",
        Cheat::Relu("if (e % 2 == 0) y[e] = max(x[e], 0.0f);"),
    ),
    (
        "one-left-out",
        Cheat::Relu("if (e != n / 2) y[e] = max(x[e], 0.0f);"),
    ),
    ("zeros", Cheat::Relu("y[e] = 0.0f;")),
    ("a-constant", Cheat::Relu("y[e] = 0.4f;")),
    ("copy-of-the-input", Cheat::Relu("y[e] = x[e];")),
    (
        "neighbour",
        Cheat::Relu("y[e] = max(x[e == 0 ? 0 : e - 1], 0.0f);"),
    ),
    ("first-for-all", Cheat::Relu("y[e] = max(x[0], 0.0f);")),
    ("nan", Cheat::Relu("y[e] = NAN;")),
    ("infinity", Cheat::Relu("y[e] = INFINITY;")),
    (
        "the-pattern",
        Cheat::Relu("y[e] = as_type<float>(0x7fda7fdau);"),
    ),
    (
        "half-precision",
        Cheat::Relu("y[e] = max(float(half(x[e])), 0.0f);"),
    ),
    (
        "eight-bits",
        Cheat::Relu("y[e] = as_type<float>(as_type<uint>(max(x[e], 0.0f)) & 0xffff8000u);"),
    ),
    (
        "small-range",
        Cheat::Relu("y[e] = clamp(x[e], 0.0f, 6.0f);"),
    ),
    (
        "behind-the-output",
        Cheat::Relu("y[e] = max(x[e], 0.0f); if (e == 0) y[n] = 1.0f;"),
    ),
    (
        "before-the-output",
        Cheat::Relu("y[e] = max(x[e], 0.0f); if (e == 0) *(y - 1) = 1.0f;"),
    ),
    (
        "behind-the-input",
        Cheat::Relu("y[e] = max(x[e], 0.0f) + (e + 1 == n ? x[n] : 0.0f);"),
    ),
    (
        "changed-input",
        Cheat::Relu("y[e] = max(x[e], 0.0f); ((device float *)x)[e] = y[e];"),
    ),
    (
        "already-written",
        Cheat::Relu("if (as_type<uint>(y[e]) != 0x7fda7fdau) continue; y[e] = max(x[e], 0.0f);"),
    ),
    (
        "mark-in-low-bits",
        Cheat::Relu(
            "if ((as_type<uint>(y[e]) & 3) == (as_type<uint>(x[e]) & 3)) continue; \
             y[e] = as_type<float>((as_type<uint>(max(x[e], 0.0f)) & ~3u) | (as_type<uint>(x[e]) & 3));",
        ),
    ),
    (
        "answer-in-the-guard",
        Cheat::Relu(
            "y[e] = max(x[e], 0.0f); \
             if (e == 0) { ((device float *)x)[n] = x[0]; ((device float *)x)[n + 1] = y[0]; }",
        ),
    ),
    (
        "threadgroup-memory-of-others",
        Cheat::Relu(
            "threadgroup float old[1]; y[e] = max(x[e], 0.0f) + (old[0] == 12345.0f ? 1.0f : 0.0f);",
        ),
    ),
    (
        "race",
        Cheat::Relu("threadgroup float shared[1]; shared[0] = x[e]; y[e] = max(shared[0], 0.0f);"),
    ),
    (
        "mark-in-scratch",
        change(
            "mse_loss",
            "if (index == 0) partials[group.x] = sum;",
            "if (index == 0 && as_type<uint>(partials[group.x]) == 0x7fda7fdau) partials[group.x] = sum;",
        ),
    ),
    (
        "expected-value",
        change("mse_loss", "y[0] = sum / float(n)", "y[0] = 2.0f"),
    ),
    (
        "estimate-from-a-part",
        change(
            "frobenius_norm",
            "y[0] = sqrt(sum)",
            "y[0] = sqrt(sum * 1.0001f)",
        ),
    ),
    (
        "too-small-to-matter",
        change("softmax", "exp(x - shift) * factor", "0.0f"),
    ),
    (
        "only-the-start",
        change("cumprod", "y[i] = upto", "y[i] = i < 64 ? upto : 0.0f"),
    ),
    (
        "no-shift",
        change(
            "softmax",
            "float shift = team.largest_of(x, cols)",
            "float shift = 0.0f",
        ),
    ),
    (
        "one-pass-variance",
        change(
            "variance",
            "team.sum_of(x, cols, SquareOfDifference{mean}) / float(cols)",
            "team.sum_of(x, cols, SquareOfDifference{0.0f}) / float(cols) - mean * mean",
        ),
    ),
    (
        "one-pass-norm",
        change(
            "layer_norm",
            "team.sum_of(x, cols, SquareOfDifference{mean}) / float(cols)",
            "team.sum_of(x, cols, SquareOfDifference{0.0f}) / float(cols) - mean * mean",
        ),
    ),
    (
        "last-of-equals",
        change("argmax", "x[i] > best", "x[i] >= best"),
    ),
    (
        "equals-once",
        change(
            "top_k",
            "v < last || (v == last && i > last_place)",
            "v < last",
        ),
    ),
    (
        "scalar-written-in",
        change("leaky_relu", "LeakyRelu{alpha}", "LeakyRelu{0.01f}"),
    ),
    (
        "epsilon-left-out",
        change(
            "layer_norm",
            "rsqrt(variance + eps)",
            "rsqrt(variance + 1e-5f)",
        ),
    ),
    (
        "ignored-input",
        change("bias_add", "return x + bias", "return x"),
    ),
    (
        "ignored-mask",
        change(
            "dropout",
            "mask * x * (1.0f / (1.0f - p))",
            "x * (1.0f / (1.0f - p))",
        ),
    ),
    (
        "listed-sizes-only",
        change(
            "layer_norm",
            "team.each(x, y, cols,",
            "if (cols == 301 || cols == 1024) team.each(x, y, cols,",
        ),
    ),
    (
        "precision-of-the-sum",
        change(
            "rms_norm",
            "return (x - shift) * factor",
            "return float(half(x) * half(factor))",
        ),
    ),
    (
        "precision-of-products",
        change(
            "sqr_mm",
            "left[e] = inside ? a(row0 + r, k0 + k) : 0.0f",
            "left[e] = inside ? float(half(a(row0 + r, k0 + k))) : 0.0f",
        ),
    ),
    (
        "no-edge",
        change(
            "sqr_mm",
            "r < rows && c < cols",
            "r < rows && c < cols / 8 * 8",
        ),
    ),
    (
        "no-barrier-when-large",
        large(
            "threadgroup_barrier(mem_flags::mem_threadgroup);\n        for (uint k = 0; k < DEPTH; k += 8)",
            "if (depth != 1024) threadgroup_barrier(mem_flags::mem_threadgroup);\n        for (uint k = 0; k < DEPTH; k += 8)",
        ),
    ),
    (
        "memory-of-the-run-before",
        large(
            "threadgroup float memory[TILE_MEMORY];",
            "threadgroup float memory[TILE_MEMORY]; threadgroup uint old[1]; if (k == 1024 && old[0] == 12345u) return;",
        ),
    ),
    (
        "precision-when-large",
        large(
            "left[e] = inside ? a(row0 + r, k0 + k) : 0.0f",
            "float v = inside ? a(row0 + r, k0 + k) : 0.0f; left[e] = depth == 1024 ? float(half(v)) : v",
        ),
    ),
    (
        "last-products-left-out",
        large(
            "k0 < depth; k0 += DEPTH",
            "k0 < (depth == 1024 ? 1008 : depth); k0 += DEPTH",
        ),
    ),
    (
        "few-rows-left-out",
        large(
            "store(r, c, block[e])",
            "store(r, c, depth == 1024 && r % 64 == 5 ? 0.0f : block[e])",
        ),
    ),
];
