//! The launch of a kernel: of flags, of a comment of its source, or guessed.

use crate::ask::Ask;
use crate::opened::Opened;
use assay_engine::{Error, Launched, SharedFiles, Unlaunched};
use assay_front::Library;
use assay_launch::NoFiles;
use assay_ssa::Argument;
use std::sync::Arc;

/// The page has no files that a launch could name.
pub(crate) fn files() -> SharedFiles {
    Arc::new(NoFiles)
}

/// A kernel whose launch is wanted.
pub(crate) struct Asked<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) library: Option<&'a Library>,
    pub(crate) kernel: &'a str,
    pub(crate) arguments: &'a [Argument],
}

impl Asked<'_> {
    /// The launch that is written.
    pub(crate) fn written(&self, ask: &Ask) -> Result<Option<Launched>, Error> {
        let text = self.opened.text();
        Launched::find(text, self.kernel, self.arguments, ask.written()?, &files())
    }

    /// The launch that is written, or a guess, with the comment that would say it.
    pub(crate) fn launch(&self, ask: &Ask) -> Result<(Launched, Option<String>), Error> {
        if let Some(launched) = self.written(ask)? {
            return Ok((launched, None));
        }
        let library = self.library.filter(|_| !self.arguments.is_empty());
        let library = library.ok_or_else(assay_engine::execution::no_launch)?;
        let unlaunched = Unlaunched {
            library,
            kernel: self.kernel,
            constants: &ask.constants()?,
            flags: &ask.written()?,
            files: &files(),
            cancel: &None,
        };
        let guessed = unlaunched.guess().map_err(|why| {
            let kernel = self.kernel;
            let message = format!(
                "{kernel} has no launch, and none can be guessed: {}",
                why.message
            );
            Error::new(why.kind, message).advised(why.advice)
        })?;
        Ok((guessed.launched, Some(guessed.written.comment(self.kernel))))
    }
}
