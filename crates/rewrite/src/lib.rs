//! Programs as Metal source again, and recipes that rewrite them.
//!
//! [`print()`] writes one kernel of an optimised module as Metal that a person can read and ship. What the front end and
//! the optimiser decided is explicit in the text: fused multiply-adds are `fma`, approximate functions are `fast::`, exact
//! ones `precise::`, and a pragma keeps a compiler from deciding again. Compiled again, the text leaves the same bytes in
//! memory as the program it was printed from. [`recipe`] has the rewritings.
//!
//! ```
//! let module = assay_ssa::parse(
//!     "module \"m\"\n\
//!      kernel \"k\" f0 {\n\
//!          \"out\" buffer 0 param 0 space device write type \"float\" size 4 align 4\n\
//!          \"i\" builtin thread_position_in_grid type \"uint\"\n}\n\
//!      function f0 \"k\" -> void {\n\
//!      b0(v0: ptr.device):\n\
//!          v1: i32 = call thread_position_in_grid()\n\
//!          v2: ptr.device = ptr_add v0 + zext v1 * 4\n\
//!          store v2, f32 0.5 align 4\n\
//!          return\n}\n",
//! )?;
//! let text = assay_rewrite::print(&module, "k")?;
//! assert!(text.contains("out[i] = 0.5f;"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod print;
pub mod recipe;

pub use print::{PREAMBLE, PrintError, print};
