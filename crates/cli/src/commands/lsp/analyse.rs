//! From the text of a document to what is known about it: compiled, profiled, predicted.

use crate::configuration;
use crate::generate::{self, Generator};
use crate::launch;
use crate::phases;
use crate::prediction::{self, Code, Launched, lines, target, task};
use crate::source::ThisMachine;
use assay_agx::{Isa, Program};
use assay_chip::Chip;
use assay_front::{CompilerError, Error, Kernel, Library, Source, SourceOptions};
use assay_launch::Written;
use assay_lsp::server::Settings;
use assay_lsp::{KernelReport, Problem};
use assay_predict::{Cache, Predicted, Sampling};
use assay_profile::{Options, Origin, Profile};
use assay_ssa::Argument;
use std::path::PathBuf;

/// A version of a document.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) settings: Settings,
}

impl Snapshot {
    /// Compiles it. What is wrong is for the editor, not an error.
    pub(super) fn compile(&self) -> Result<Library, Vec<Problem>> {
        let options = SourceOptions {
            defines: self.settings.defines.clone(),
            include_folders: self
                .settings
                .include_folders
                .iter()
                .map(PathBuf::from)
                .collect(),
            ..SourceOptions::default()
        };
        let options = configuration::complete(options, &self.path);
        let source = Source {
            path: &self.path,
            text: self.text.as_bytes(),
        };
        Library::compile(source, &ThisMachine, &options).map_err(|error| match error {
            Error::Compiler(CompilerError::Failed(assay_msl::Error::Source(errors))) => errors
                .iter()
                .map(|error| Problem::of(error, &self.path))
                .collect(),
            // A file with helpers only, or of other stages.
            Error::NoKernels | Error::Compiler(CompilerError::OtherStages { .. }) => Vec::new(),
            other => {
                let mut message = other.to_string();
                if let Some(advice) = other.advice() {
                    message = format!("{message}\n{advice}");
                }
                vec![Problem::anywhere(message)]
            }
        })
    }

    /// How a kernel is launched: by the comment in the source, or by the settings.
    pub(super) fn launch(
        &self,
        kernel: &str,
        arguments: &[Argument],
    ) -> Result<Option<Launched>, String> {
        let comment = Written::in_comments(&self.text, kernel);
        let written = match comment.map_err(|mistake| mistake.message)? {
            Some(written) => Some(written),
            None => match self.settings.launch(kernel)? {
                Some(written) => Some(written),
                None => self.configured(kernel)?,
            },
        };
        let launched = written.map(|written| launch::launched(written, kernel, arguments));
        launched.transpose().map_err(|mistake| mistake.message)
    }

    /// How assay.toml says that a kernel is launched, unless it names files.
    fn configured(&self, kernel: &str) -> Result<Option<Written>, String> {
        let Some(configured) = configuration::of(&self.path) else {
            return Ok(None);
        };
        let launch = configured
            .launch(kernel)
            .map_err(|mistake| mistake.message)?;
        let reads = |name: &String| name.ends_with(".npy") || name.ends_with(".png");
        let launch = launch.filter(|it| !it.names.iter().any(reads));
        Ok(launch.map(|it| it.written))
    }

    /// Returns true if a comment or the settings say how a kernel is launched.
    pub(super) fn has_launch(&self, kernel: &str) -> bool {
        matches!(Written::in_comments(&self.text, kernel), Ok(Some(_)))
            || matches!(self.settings.launch(kernel), Ok(Some(_)))
            || matches!(self.configured(kernel), Ok(Some(_)))
    }

    /// Generates code for a kernel, profiles it and predicts its time.
    pub(super) fn kernel(&self, kernel: &Kernel) -> KernelReport {
        match self.profiled(kernel) {
            Ok(report) => report,
            Err(why) => KernelReport::refused(&kernel.name, &why),
        }
    }

    fn profiled(&self, kernel: &Kernel) -> Result<KernelReport, String> {
        let generator = Generator {
            constants: &[],
            isa: Isa::G13,
            threadgroup: None,
        };
        let made = generator.generate(kernel, &mut phases::told());
        let mut made = made.map_err(|refused| refused.message)?;
        generate::name_files(&mut made.program, &self.path);
        let launched = self.launch(&kernel.name, &made.arguments);
        let known = launched.as_ref().ok().and_then(Option::as_ref);
        let options = self.options(known, made.assumed)?;
        let profile = Profile::new(&made.program, &options).map_err(|error| error.to_string())?;
        let predicted =
            known.map(|launched| self.predicted(&made.program, launched, &options.chip));
        let (predicted, not_timed) = match (predicted, launched) {
            (Some(Ok(predicted)), _) => (Some(predicted), None),
            (Some(Err(why)), _) | (None, Err(why)) => (None, Some(why)),
            (None, Ok(_)) => (None, None),
        };
        let file = self.path.display().to_string();
        let report = KernelReport::new(&profile, predicted.as_ref(), &file);
        Ok(KernelReport {
            name: kernel.name.clone(),
            not_timed,
            ..report
        })
    }

    fn options(
        &self,
        launched: Option<&Launched>,
        assumed: Vec<String>,
    ) -> Result<Options, String> {
        let chip = Chip::named(&self.settings.chip).map_err(|error| error.to_string())?;
        let threadgroup = launched.and_then(|launched| {
            let sizes = launched.launch.first_sizes().ok()?;
            let threads = launched.launch.threadgroup(&sizes).ok()??;
            let count: u64 = threads.iter().map(|&axis| u64::from(axis)).product();
            (1..=1024).contains(&count).then_some(threads)
        });
        Ok(Options {
            threadgroup,
            origin: Origin::Assay,
            assumed_constants: assumed,
            ..Options::new(chip)
        })
    }

    fn predicted(
        &self,
        program: &Program,
        launched: &Launched,
        chip: &Chip,
    ) -> Result<Predicted, String> {
        let predict = || {
            let target = target(chip.clone(), None)?;
            let tasks = task::tasks(program, Code::Generated, launched, Sampling::default())?;
            let task = tasks.into_iter().next().ok_or_else(task::no_launch)?;
            let passes = task.executed?;
            let state = Cache::Warm;
            let kernel = &task.kernel;
            let predicted = prediction::predicted(kernel, task.code, &passes, 1, &target, state);
            let mut predicted = predicted?;
            predicted.lines = lines::lines(&passes, 1, &target, state, None)?;
            Ok(predicted)
        };
        predict().map_err(|failure: crate::failure::Failure| failure.message)
    }
}
