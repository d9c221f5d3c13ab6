//! What names of arguments usually mean in Metal kernels.

/// What a whole number is to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The length of something: one of the sizes of the launch.
    Size,
    /// How far rows lie apart.
    Stride,
    /// A value that does no harm.
    Fixed(u32),
}

/// Values of whole numbers that are not sizes, by words in their names.
const FIXED: &[(&str, u32)] = &[
    ("offset", 0),
    ("start", 0),
    ("begin", 0),
    ("base", 0),
    ("first", 0),
    ("axis", 0),
    ("flag", 0),
    ("flags", 0),
    ("causal", 0),
    ("mode", 0),
    ("shift", 0),
    ("layer", 0),
    ("index", 0),
    ("idx", 0),
    ("row", 0),
    ("col", 0),
    ("pos", 0),
    ("position", 0),
    ("is", 0),
    ("has", 0),
    ("seed", 1),
    ("step", 1),
    ("stage", 1),
    ("iteration", 1),
    ("iter", 1),
    ("maxit", 64),
    ("iterations", 64),
    ("iters", 64),
    ("steps", 64),
    ("heads", 8),
    ("radius", 1),
    ("window", 3),
];

/// Words of names of strides.
const STRIDES: &[&str] = &["stride", "strides", "pitch", "lda", "ldb", "ldc", "ld"];

/// Words of names that count rows.
const ROWS: &[&str] = &[
    "m", "row", "rows", "nrows", "h", "height", "batch", "batches", "tokens", "seq", "r",
];

/// Names of buffers as long as one row.
const VECTORS: &[&str] = &[
    "weight", "weights", "w", "bias", "gamma", "beta", "g", "scale", "scales",
];

/// Names of buffers that kernels write.
const OUTPUTS: &[&str] = &[
    "o", "out", "output", "outputs", "y", "dst", "dest", "result", "results", "res", "ret", "c",
    "sum", "sums", "total",
];

/// Words of names of offsets that rise from entry to entry.
const OFFSETS: &[&str] = &["rp", "ptr", "offsets", "indptr", "seqlens", "starts"];

/// The words of `row_count` and `rowCount`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c == '_' || c.is_uppercase() && before.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn has(name: &str, list: &[&str]) -> bool {
    words(name).iter().any(|word| list.contains(&word.as_str()))
}

/// What a whole number of this name is.
pub(super) fn meaning(name: &str) -> Meaning {
    let words = words(name);
    if words.iter().any(|word| STRIDES.contains(&word.as_str())) {
        return Meaning::Stride;
    }
    // `row_size` is a size although a `row` is not.
    let says_count = [
        "size", "count", "len", "length", "num", "n", "total", "numel",
    ];
    if words.len() > 1 && words.iter().any(|word| says_count.contains(&word.as_str())) {
        return Meaning::Size;
    }
    let fixed = FIXED
        .iter()
        .find(|(word, _)| words.iter().any(|own| own == word));
    fixed.map_or(Meaning::Size, |(_, value)| Meaning::Fixed(*value))
}

/// Returns true if it counts rows, or is the index of one.
pub(super) fn is_row(name: &str) -> bool {
    has(name, ROWS)
}

/// Returns true if it is as long as a row.
pub(super) fn is_vector(name: &str) -> bool {
    has(name, VECTORS)
}

/// Returns true if it is a buffer that kernels write.
pub(super) fn is_output(name: &str) -> bool {
    has(name, OUTPUTS)
}

/// Returns true if it holds where lists begin and end.
pub(super) fn is_offsets(name: &str) -> bool {
    has(name, OFFSETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_numbers_are() {
        let size = [
            "n",
            "N",
            "count",
            "rowCount",
            "num_heads_total",
            "row_size",
            "D",
            "hidden_dim",
        ];
        for name in size {
            assert_eq!(meaning(name), Meaning::Size, "{name}");
        }
        assert_eq!(meaning("src_stride"), Meaning::Stride);
        assert_eq!(meaning("lda"), Meaning::Stride);
        assert_eq!(meaning("row_offset"), Meaning::Fixed(0));
        assert_eq!(meaning("numHeads"), Meaning::Size);
        assert_eq!(meaning("is_causal"), Meaning::Fixed(0));
        assert!(is_row("rowIndex") && !is_row("columns"));
        assert!(is_output("out_buf") && is_offsets("row_ptr"));
    }
}
