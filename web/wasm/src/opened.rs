//! A file of the page, and its profile, program and predicted times.

use crate::ask::Ask;
use crate::given::Given;
use crate::launch::Asked;
use crate::{page, thrown};
use assay_engine::answer::{overview, profiled};
use assay_engine::execution::{Task, tasks};
use assay_engine::loaded::{Loaded, Loader};
use assay_engine::profiling::{Document, Timed, lead};
use assay_engine::{Error, Phases, Settings, Workspace, front_error, prediction, shown_name};
use assay_front::programs::Document as Programs;
use assay_front::{Bytes, File, Form, Library, OpenConstants, Request, check_constants, constants};
use assay_predict::{Cache, Predicted, Sampling};
use assay_profile::Profile;
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// A file of the page.
#[wasm_bindgen]
pub struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Bytes,
    given: Arc<Given>,
}

/// What a question gives.
#[wasm_bindgen(getter_with_clone)]
pub struct Answer {
    /// The document of the program's `--format json`.
    pub document: String,
    /// The same for people, as the inside of a page.
    pub html: String,
    /// Remarks, one a line.
    pub notes: String,
}

/// Kernels of a file whose launches are guessed unasked.
const MOST_GUESSED: usize = 8;

#[wasm_bindgen]
impl Opened {
    /// A file by its name and bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, bytes: Vec<u8>) -> Opened {
        Opened {
            path: PathBuf::from(name),
            bytes: Bytes::from(bytes),
            given: Arc::default(),
        }
    }

    /// Bitcode of this source, made before by a clang; `checked` is what `--check` runs.
    pub fn give(&self, bitcode: Vec<u8>, checked: bool) {
        let options = assay_front::SourceOptions {
            checked,
            ..Ask::default().source()
        };
        self.given.add(options, bitcode);
    }

    /// What the file is, and the number of its kernels, as JSON.
    pub fn what(&self) -> Result<String, JsValue> {
        let what = self
            .names()
            .map(|(kind, names)| json!({ "kind": kind, "kernels": names.len() }));
        what.map(|what| what.to_string())
            .map_err(|error| thrown(&error))
    }

    /// Some of the kernels whose names hold a text, as JSON: how many there are, and the names from one on.
    pub fn kernels(&self, holding: &str, from: usize, most: usize) -> Result<String, JsValue> {
        let (_, mut names) = self.names().map_err(|error| thrown(&error))?;
        let wanted = holding.to_lowercase();
        names.retain(|name| name.to_lowercase().contains(&wanted));
        let shown: Vec<&String> = names.iter().skip(from).take(most).collect();
        Ok(json!({ "all": names.len(), "names": shown }).to_string())
    }

    /// `assay profile`.
    pub fn profile(&self, ask: &str) -> Result<Answer, JsValue> {
        let answer = Ask::parse(ask).and_then(|ask| self.profiled(&ask));
        answer.map_err(|error| thrown(&error))
    }

    /// `assay predict`.
    pub fn predict(&self, ask: &str) -> Result<Answer, JsValue> {
        let answer = Ask::parse(ask).and_then(|ask| self.predicted(&ask));
        answer.map_err(|error| thrown(&error))
    }

    /// `assay ir`; `html` is the program as text.
    pub fn program(&self, ask: &str) -> Result<Answer, JsValue> {
        let answer = Ask::parse(ask).and_then(|ask| self.programs(&ask));
        answer.map_err(|error| thrown(&error))
    }
}

/// Instructions that one simdgroup of a sample may execute: a tenth of what the program allows, since somebody waits.
const MOST_EXECUTED: u64 = 5_000_000;

fn sampling() -> Sampling {
    Sampling {
        max_steps: MOST_EXECUTED,
        ..Sampling::default()
    }
}

impl Opened {
    /// The file as text, where it is source.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn workspace(&self) -> Workspace {
        let compiler: Arc<Given> = Arc::clone(&self.given);
        Workspace::new(compiler, crate::launch::files())
    }

    pub(crate) fn open(&self) -> Result<File<'_>, Error> {
        if self.bytes.is_empty() {
            let shown = self.path.display();
            return Err(Error::input(format!(
                "{shown} is empty: there is no code in it"
            )));
        }
        let file = File::open(&self.path, &self.bytes);
        let file = file.map_err(|error| front_error(&self.path, error))?;
        Ok(file.named(shown_name(&self.path)))
    }

    /// The kernels of the file, source compiled on the way.
    pub(crate) fn library(&self, ask: &Ask, checked: bool) -> Result<Library, Error> {
        let options = assay_front::SourceOptions {
            checked,
            ..ask.source()
        };
        let library = self.open()?.library(&*self.given, &options);
        library.map_err(|error| front_error(&self.path, error))
    }

    fn names(&self) -> Result<(&'static str, Vec<String>), Error> {
        let file = self.open()?;
        if file.needs_code() {
            let kind = match file.is_source() {
                true => "source",
                false => "library",
            };
            let library = self.library(&Ask::default(), false)?;
            let names = library.kernels().iter().map(|kernel| kernel.name.clone());
            return Ok((kind, names.collect()));
        }
        let assay_front::Kind::Container(contents) = &file.kind else {
            return Ok(("code", vec![self.name()]));
        };
        let compiled = contents.compiled();
        let names = compiled.iter().enumerate().map(|(index, function)| {
            let name = function.name.as_deref();
            name.map_or_else(|| format!("#{index}"), str::to_owned)
        });
        Ok(("code", names.collect()))
    }

    /// The programs of the file: the one asked for, or all.
    pub(crate) fn loaded(
        &self,
        ask: &Ask,
        notes: &RefCell<Vec<String>>,
    ) -> Result<Vec<Loaded>, Error> {
        let workspace = self.workspace();
        let file = self.open()?;
        let settings = match file.needs_code() {
            true => ask.settings()?,
            false => Settings::default(),
        };
        let loader = Loader {
            workspace: &workspace,
            settings: &settings,
            function: ask.function.as_deref(),
            note: &|text| notes.borrow_mut().push(text.to_owned()),
            read: |_: &Path| None,
        };
        loader.programs(&self.path, &file, &mut Phases::default())
    }

    fn profiled(&self, ask: &Ask) -> Result<Answer, Error> {
        let notes = RefCell::default();
        let loaded = self.loaded(ask, &notes)?;
        let options = ask.options()?;
        let mut profiles = Vec::new();
        for one in &loaded {
            match one.profile(&options) {
                Ok(profile) => profiles.push(profile),
                Err(error) if loaded.len() == 1 => return Err(error),
                Err(error) => notes
                    .borrow_mut()
                    .push(format!("{}: {}", one.program.name, error.message)),
            }
        }
        if profiles.is_empty() {
            return Err(Error::input("no function could be profiled"));
        }
        let times = self.times(&loaded, &mut profiles, ask, &notes)?;
        let sources = loaded.first().map(|one| one.sources.as_ref());
        let html = match profiles.as_slice() {
            [only] => {
                let time = times.first().and_then(Option::as_ref);
                let first = profiled(only, time, sources, Detail::Screen).html();
                let whole = lead(only, time, sources).answer.html();
                format!("{first}<details><summary>The full report</summary>{whole}</details>")
            }
            several => {
                let both: Vec<_> = several
                    .iter()
                    .zip(times.iter().map(Option::as_ref))
                    .collect();
                overview(&both, Detail::Full).html()
            }
        };
        let document = Document::new(&self.name(), &profiles, times, sources);
        Ok(Answer {
            document: Envelope::new("assay.profile", 1, document).to_json(),
            html,
            notes: notes.into_inner().join("\n"),
        })
    }

    /// The predicted time of every profile that has a launch, whose findings become those of the launch.
    fn times(
        &self,
        loaded: &[Loaded],
        profiles: &mut [Profile],
        ask: &Ask,
        notes: &RefCell<Vec<String>>,
    ) -> Result<Vec<Option<Predicted>>, Error> {
        let guesses = profiles.len() <= MOST_GUESSED;
        if !ask.written()?.is_open() && profiles.len() > 1 {
            return Err(Error::usage(
                "a launch is for one kernel, and there are several",
            ));
        }
        let target = ask.target()?;
        let mut times = Vec::new();
        for profile in profiles {
            let mut named = loaded.iter();
            let found = named.find(|one| one.program.name == profile.name);
            let found = found.or(loaded.first().filter(|_| loaded.len() == 1));
            let time = found.and_then(|one| {
                self.time(one, ask, guesses, &target)
                    .inspect_err(|error| {
                        let text =
                            format!("{}: no predicted time: {}", one.program.name, error.message);
                        notes.borrow_mut().push(text);
                    })
                    .transpose()
            });
            times.push(match time {
                Some(Ok((predicted, findings, guess))) => {
                    notes.borrow_mut().extend(guess);
                    profile.findings = findings;
                    Some(predicted)
                }
                Some(Err(error)) if !ask.written()?.is_open() => return Err(error),
                _ => None,
            });
        }
        Ok(times)
    }

    #[allow(clippy::type_complexity, reason = "used once, above")]
    fn time(
        &self,
        loaded: &Loaded,
        ask: &Ask,
        guesses: bool,
        target: &assay_predict::Target,
    ) -> Result<Option<(Predicted, Vec<assay_profile::Finding>, Option<String>)>, Error> {
        let library = match guesses && !loaded.arguments.is_empty() {
            true => Some(self.library(ask, false)?),
            false => None,
        };
        let asked = Asked {
            opened: self,
            library: library.as_ref(),
            kernel: &loaded.program.name,
            arguments: &loaded.arguments,
        };
        let (launched, guess) = match library {
            Some(_) => asked.launch(ask)?,
            None => match asked.written(ask)? {
                Some(written) => (written, None),
                None => return Ok(None),
            },
        };
        let timed = Timed {
            program: &loaded.program,
            code: loaded.code(),
            launched: &launched,
            sources: &loaded.sources,
            text: self.text(),
            sampling: sampling(),
        };
        let (predicted, findings) = timed.predict(target, |_| {})?;
        let guess = guess.map(|comment| page::guessed(&comment));
        Ok(Some((predicted, findings, guess)))
    }

    /// The kernel with its launch, executed at each of its sizes.
    pub(crate) fn tasks(&self, ask: &Ask) -> Result<(Vec<Task>, Option<String>), Error> {
        let settings = Settings {
            threadgroup: None,
            ..ask.settings()?
        };
        let workspace = self.workspace();
        let kernel = workspace.open(&self.path, &self.bytes, ask.function.as_deref(), &settings)?;
        let made = kernel.code()?;
        let library = match made.arguments.is_empty() {
            true => None,
            false => Some(self.library(ask, false)?),
        };
        let asked = Asked {
            opened: self,
            library: library.as_ref(),
            kernel: &made.program.name,
            arguments: &made.arguments,
        };
        let (launched, guess) = asked.launch(ask)?;
        let tasks = tasks(&made.program, made.code, &launched, sampling(), |_| {})?;
        Ok((tasks, guess))
    }

    fn predicted(&self, ask: &Ask) -> Result<Answer, Error> {
        let (tasks, guess) = self.tasks(ask)?;
        let targets = ask.targets()?;
        let state = Cache::Warm;
        let mut report = prediction::report(&tasks, &targets, state, 1, |_| {})?;
        if let ([task], [target], Some(only)) = (&*tasks, &*targets, report.predictions.first_mut())
            && let Ok(passes) = &task.executed
        {
            let mut sources = assay_profile::render::Sources::default();
            if let Some(text) = self.text() {
                sources.add(&shown_name(&self.path).display().to_string(), text);
            }
            only.lines = assay_engine::lines::lines(passes, 1, target, state, Some(&sources))?;
        }
        let html = assay_predict::render::answer(&report, Detail::Full).html();
        Ok(Answer {
            document: Envelope::new("assay.predict", 1, prediction::Document::new(report))
                .to_json(),
            html,
            notes: guess
                .map(|comment| page::guessed(&comment))
                .unwrap_or_default(),
        })
    }

    fn programs(&self, ask: &Ask) -> Result<Answer, Error> {
        let fail = |error| front_error(&self.path, error);
        let library = self.library(ask, false)?;
        let chosen = library.choose(ask.function.as_deref()).map_err(fail)?;
        let given = ask.constants()?;
        let request = Request {
            constants: &given,
            open: OpenConstants::Keep,
            form: match ask.as_read {
                true => Form::AsRead,
                false => Form::Optimised,
            },
        };
        let programs: Result<Vec<_>, _> =
            chosen.iter().map(|one| one.program_as(&request)).collect();
        let programs = programs.map_err(fail)?;
        let modules = programs.iter().map(|program| &program.module);
        check_constants(&given, modules.clone().flat_map(constants)).map_err(fail)?;
        let texts: Vec<String> = modules.map(assay_ssa::print).collect();
        let document = Programs::new(&self.name(), &programs);
        Ok(Answer {
            document: Envelope::new("assay.ir", 1, document).to_json(),
            html: texts.join("\n"),
            notes: String::new(),
        })
    }
}
