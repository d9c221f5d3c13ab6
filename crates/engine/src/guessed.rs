//! A launch that nobody wrote, tried before it is used.
//!
//! A signature leaves open which size a grid counts and how long a buffer is. Each candidate is run on this CPU at small
//! sizes, where an access outside a buffer ends the run; the first that ends well is the guess. A kernel whose threads loop
//! over a size gets a smaller one: what is cheap for a GPU's millions of threads is not when each of them repeats it.

use crate::{Error, Launched, Origin, Runner, SharedFiles};
use assay_device::{Constant, Settings};
use assay_front::Library;
use assay_launch::guess::{candidates, moderate, small};
use assay_launch::{Size, Written};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Operations in loops of a simdgroup that is tried.
const MAX_STEPS: u64 = 1 << 22;
/// How long one try may take. Steps bound it on every machine alike; the clock is for what steps do not count, and so wide that a
/// busy machine guesses the same launch.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Operations in loops, for each unit of the largest size, of a kernel that does not loop over it.
const FEW_STEPS: u64 = 4;

/// Bytes of buffers that a guess is tried with; filling more takes longer than trying.
const MOST_BYTES: u64 = 1 << 28;

/// What a guess is made for.
#[derive(Clone, Copy)]
pub struct Unlaunched<'a> {
    /// The library of the kernel.
    pub library: &'a Library,
    /// Its name.
    pub kernel: &'a str,
    /// Values of function constants.
    pub constants: &'a [Constant],
    /// What the user wrote of a launch, which a guess completes.
    pub flags: &'a Written,
    /// Who reads files that the flags name.
    pub files: &'a SharedFiles,
    /// Set to stop.
    pub cancel: &'a Option<Arc<AtomicBool>>,
}

/// A guessed launch.
pub struct Guessed {
    /// Ready to use.
    pub launched: Launched,
    /// As a user would write it, by the names of arguments.
    pub written: Written,
}

impl Unlaunched<'_> {
    /// A launch with which the kernel stays in its buffers; why there is none, otherwise.
    pub fn guess(&self) -> Result<Guessed, Error> {
        let mut runner = self.runner(MAX_STEPS)?;
        let facts = runner.facts().clone();
        let mut why = Error::usage("the types of its arguments do not say what they hold");
        for candidate in candidates(&facts.arguments, facts.max_threads) {
            let candidate = self.with_given_sizes(candidate);
            match self.tried(&mut runner, &candidate, &small(&candidate)) {
                Ok(()) => return self.scaled(candidate),
                Err(error) => why = error,
            }
            if self.is_cancelled() {
                break;
            }
        }
        Err(why)
    }

    fn is_cancelled(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.cancel.as_ref().is_some_and(|flag| flag.load(Relaxed))
    }

    fn runner(&self, max_steps: u64) -> Result<Runner, Error> {
        let settings = Settings {
            max_steps: Some(max_steps),
            timeout: Some(TIMEOUT),
            cancel: self.cancel.clone(),
            ..Settings::default()
        };
        let runner = Runner::new(self.library, self.kernel, self.constants, settings);
        Ok(runner?)
    }

    /// The flags with what the guess adds.
    fn completed(&self, runner: &Runner, guess: &Written) -> Result<Launched, Error> {
        let arguments = &runner.facts().arguments;
        let of =
            |written: &Written| Launched::new(written.clone(), self.kernel, arguments, self.files);
        let mut launched = of(self.flags)?.over(of(guess)?, Origin::Guess);
        // What the flags say about sizes counts for both.
        launched.launch.sizes = guess.with_sizes(&self.flags.sizes).sizes;
        let own = self
            .flags
            .sizes
            .iter()
            .filter(|size| !guess.sizes.iter().any(|guessed| guessed.name == size.name));
        launched.launch.sizes.extend(own.cloned());
        Ok(launched)
    }

    fn tried(&self, runner: &mut Runner, guess: &Written, sizes: &[Size]) -> Result<(), Error> {
        // What the user gives is tried as it is: the other sizes alone are made small.
        let guess = self.with_given_sizes(guess.with_sizes(sizes));
        let launched = self.completed(runner, &guess)?;
        let sizes = launched.launch.first_sizes()?;
        let (geometry, inputs) = launched.bound(&sizes)?;
        let resources = launched
            .launch
            .resources(&launched.arguments, &sizes, &**self.files)?;
        if !resources.textures.is_empty() || !resources.members.is_empty() {
            // Textures have no bounds that a wrong guess could leave.
            return Ok(());
        }
        if inputs.bytes() > MOST_BYTES {
            let mib = inputs.bytes() >> 20;
            return Err(Error::usage(format!(
                "buffers of {mib} MiB are too much to try a launch with: write its --grid, too"
            )));
        }
        runner.run(geometry, &inputs)?;
        Ok(())
    }

    /// The guess at sizes that a CPU and a model run in a moment.
    fn scaled(&self, guess: Written) -> Result<Guessed, Error> {
        let tried = small(&guess);
        let largest = tried.iter().flat_map(|size| &size.values).max();
        let steps = largest.unwrap_or(&1).saturating_mul(FEW_STEPS);
        let mut runner = self.runner(steps)?;
        let loops = self.tried(&mut runner, &guess, &tried).is_err();
        let guess = match loops {
            true => guess.with_sizes(&moderate(&guess)),
            false => guess,
        };
        // Sizes that the user gave are the user's.
        let guess = self.with_given_sizes(guess);
        let launched = self.completed(&runner, &guess)?;
        let written = match *self.flags == Written::default() {
            true => guess,
            false => launched.launch.clone(),
        };
        Ok(Guessed { launched, written })
    }

    /// A number that the flags give an argument is the value of the size of that name.
    fn with_given_sizes(&self, mut guess: Written) -> Written {
        for bound in &self.flags.arguments {
            let name = bound.target.to_string();
            if let Ok(value) = bound.value.parse::<u64>() {
                let mut sizes = guess.sizes.iter_mut();
                if let Some(size) = sizes.find(|size| size.name == name) {
                    size.values = vec![value];
                }
            }
        }
        guess
    }
}
