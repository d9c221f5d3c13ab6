//! Forms that programs have proven: made by the judge, `crates/agx/STANDING.md` has the counts.

/// What proves a form.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) name: &'static str,
    pub(crate) length: u8,
    /// Instructions of the form in programs whose results agree, and how many programs.
    pub(crate) instructions: u32,
    pub(crate) programs: u32,
    /// One of the programs.
    pub(crate) example: &'static str,
}

pub(crate) static PROVEN: &[Proof] = &[];
