//! Which recipes answer which term of the predicted time.
//!
//! The dominant term of a prediction says what a kernel waits for, and what it waits for says which rewritings can help.
//! Recipes that are not advised are tried too, one in ten, since terms hide behind each other.

/// Terms of the time model, each with the recipes that can lower it.
const ADVICE: [(&str, &[&str]); 12] = [
    (
        "arithmetic",
        &[
            "coarsen",
            "specialize",
            "block",
            "matrices",
            "simdgroup-rows",
            "split-loop",
            "swap-axes",
            "threadgroup",
            "vectorize",
        ],
    ),
    (
        "complex unit",
        &[
            "coarsen",
            "specialize",
            "simdgroup-rows",
            "split-loop",
            "threadgroup",
            "swap-axes",
        ],
    ),
    (
        "dependences",
        &[
            "coarsen",
            "simdgroup-rows",
            "split-loop",
            "specialize",
            "block",
            "matrices",
            "threadgroup",
            "swap-axes",
        ],
    ),
    (
        "load/store unit",
        &[
            "coarsen",
            "vectorize",
            "swap-axes",
            "block",
            "stage",
            "matrices",
            "simdgroup-rows",
            "split-loop",
            "threadgroup",
        ],
    ),
    (
        "threadgroup memory",
        &["coarsen", "block", "vectorize", "matrices", "threadgroup"],
    ),
    (
        "L2 bandwidth",
        &[
            "swap-axes",
            "coarsen",
            "stage",
            "block",
            "matrices",
            "vectorize",
            "simdgroup-rows",
            "split-loop",
            "threadgroup",
        ],
    ),
    (
        "SLC bandwidth",
        &[
            "swap-axes",
            "stage",
            "coarsen",
            "block",
            "matrices",
            "simdgroup-rows",
            "split-loop",
            "threadgroup",
        ],
    ),
    (
        "DRAM bandwidth",
        &[
            "swap-axes",
            "stage",
            "coarsen",
            "block",
            "matrices",
            "simdgroup-rows",
            "split-loop",
            "threadgroup",
        ],
    ),
    (
        "memory latency",
        &[
            "swap-axes",
            "simdgroup-rows",
            "split-loop",
            "coarsen",
            "vectorize",
            "block",
            "stage",
            "matrices",
            "threadgroup",
            "specialize",
        ],
    ),
    ("barriers", &["threadgroup", "coarsen", "block"]),
    (
        "threadgroup launch",
        &["threadgroup", "coarsen", "persistent"],
    ),
    (
        "launch",
        &[
            "threadgroup",
            "coarsen",
            "persistent",
            "simdgroup-rows",
            "split-loop",
        ],
    ),
];

/// The recipes that can lower a term, the most promising first; none for a term that is not known.
pub fn recipes(term: &str) -> &'static [&'static str] {
    let known = ADVICE.iter().find(|(name, _)| *name == term);
    known.map_or(&[], |(_, recipes)| recipes)
}

/// The terms of the time model.
pub fn terms() -> impl Iterator<Item = &'static str> {
    ADVICE.iter().map(|(name, _)| *name)
}

/// The chance of a recipe that is not advised.
pub const OTHERS: f64 = 0.1;
