//! A launch for one kernel.

use crate::Error;
use assay_launch::{Extent, Files, Inputs, Mistake, Sizes, Written};
use assay_ssa::Argument;
use std::sync::Arc;

/// Whoever reads the files that launches name.
pub type SharedFiles = Arc<dyn Files + Send + Sync>;

/// A launch for a kernel whose arguments are known: everything in it is bound by index.
#[derive(Clone)]
pub struct Launched {
    /// Everything but names.
    pub launch: Written,
    /// The kernel's arguments; none of machine code, which has no names.
    pub arguments: Vec<Argument>,
    /// The command line says how large the grid is, not a comment of the source.
    pub by_flags: bool,
    /// Where files that it names are read.
    pub files: SharedFiles,
}

impl Launched {
    /// A launch for a kernel.
    pub fn new(
        mut launch: Written,
        kernel: &str,
        arguments: &[Argument],
        files: &SharedFiles,
    ) -> Result<Launched, Mistake> {
        launch.resolve(kernel, arguments)?;
        Ok(Launched {
            launch,
            arguments: arguments.to_vec(),
            by_flags: true,
            files: Arc::clone(files),
        })
    }

    /// The launch that flags describe, or a comment of the source; none when neither does.
    pub fn find(
        text: Option<&str>,
        kernel: &str,
        arguments: &[Argument],
        flags: Written,
        files: &SharedFiles,
    ) -> Result<Option<Launched>, Error> {
        let is_open = flags.is_open();
        let flags = Launched::new(flags, kernel, arguments, files)?;
        if !is_open {
            return Ok(Some(flags));
        }
        let comment = text.map(|text| Written::in_comments(text, kernel));
        let Some(comment) = comment.transpose()?.flatten() else {
            return Ok(None);
        };
        let comment = Launched::new(comment, kernel, arguments, files)?;
        Ok(Some(Launched {
            launch: flags.launch.or(comment.launch),
            by_flags: false,
            ..comment
        }))
    }

    /// What is bound at certain sizes.
    pub fn inputs(&self, sizes: &Sizes) -> Result<Inputs, Mistake> {
        self.launch.inputs(&self.arguments, sizes, &*self.files)
    }

    /// Grid, threadgroup and what is bound at certain sizes, for a run as a whole.
    pub fn bound(&self, sizes: &Sizes) -> Result<((Extent, [u32; 3]), Inputs), Mistake> {
        let inputs = self.inputs(sizes)?;
        inputs.fits()?;
        Ok((self.launch.geometry(sizes)?, inputs))
    }
}
