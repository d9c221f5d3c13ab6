//! Whether a kernel computes what it should.

mod compare;

pub use compare::{Comparison, Element, Ulps};
