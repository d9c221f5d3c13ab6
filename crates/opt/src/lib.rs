//! From a program as the front end left it to one worth running.
//!
//! One pass per file, named by what it does; each takes a function and leaves an
//! equivalent one. The executor and the code generator receive the *same* program,
//! and both follow the [`control::Tree`] that [`structurize`](structurize::structurize)
//! makes: it alone decides where threads that parted meet again.

pub mod control;
pub mod structurize;
