//! The demonstration that ships with the program: a recorded session on a naive kernel, which needs no model.

/// The name by which the kernel is tuned.
pub const KERNEL: &str = "softmax_naive";
/// Its source, with a launch.
pub const SOURCE: &str = include_str!("../demo/softmax_naive.metal");
/// The [cassette](crate::cassette) of the session.
pub const CASSETTE: &str = include_str!("../demo/softmax_naive.jsonl");

/// Rounds that the recorded answers last for, at two requests at once.
pub const ROUNDS: u32 = 2;
