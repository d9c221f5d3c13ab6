//! A launch for one kernel.

use crate::Error;
use assay_launch::inputs::of_buffer;
use assay_launch::{Extent, Files, Inputs, Mistake, Sizes, Written};
use assay_ssa::Argument;
use std::sync::Arc;

/// Whoever reads the files that launches name.
pub type SharedFiles = Arc<dyn Files + Send + Sync>;

/// What a launch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The command line.
    Flags,
    /// The configuration of the repository.
    Configuration,
    /// A comment of the source.
    Comment,
    /// The signature of the kernel: nobody wrote it.
    Guess,
}

/// A launch for a kernel whose arguments are known: everything in it is bound by index.
#[derive(Clone)]
pub struct Launched {
    /// Everything but names.
    pub launch: Written,
    /// The kernel's arguments; none of machine code, which has no names.
    pub arguments: Vec<Argument>,
    /// What says how large the grid is.
    pub origin: Origin,
    /// Where files that it names are read.
    pub files: SharedFiles,
}

/// What to say of a value that a kernel takes and a launch does not give.
fn missing_value(kernel: &str, argument: &Argument) -> Mistake {
    let (name, type_name) = (&argument.name, &argument.type_name);
    Mistake::usage(format!(
        "{kernel} needs a value for {name} ({}): the launch gives none",
        type_name.trim_start_matches("const ")
    ))
    .advice(format!("--arg {name}=VALUE, as in --arg {name}=64"))
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
            origin: Origin::Flags,
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
        let flags = Launched::new(flags, kernel, arguments, files)?;
        if !flags.launch.is_open() {
            return Ok(Some(flags));
        }
        let comment = text.map(|text| Written::in_comments(text, kernel));
        let Some(comment) = comment.transpose()?.flatten() else {
            return Ok(None);
        };
        let comment = Launched::new(comment, kernel, arguments, files)?;
        Ok(Some(flags.over(comment, Origin::Comment)))
    }

    /// This launch, and of another what is not in it.
    #[must_use]
    pub fn over(self, other: Launched, origin: Origin) -> Launched {
        Launched {
            launch: self.launch.or(other.launch),
            origin,
            ..other
        }
    }

    /// Returns true if the command line says how large the grid is.
    pub fn is_by_flags(&self) -> bool {
        self.origin == Origin::Flags
    }

    /// What to say when nothing gives a value to the argument at this index, if it is a value and not a buffer.
    pub fn missing(&self, kernel: &str, index: u32) -> Option<Mistake> {
        let argument = of_buffer(&self.arguments, index)?;
        let is_value = argument.buffer_size.is_some() && argument.members.is_empty();
        is_value.then(|| missing_value(kernel, argument))
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
