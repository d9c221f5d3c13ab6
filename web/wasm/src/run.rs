//! Runs and checks on this CPU, with what their buffers hold afterwards.

use crate::ask::Ask;
use crate::launch::Asked;
use crate::opened::Opened;
use crate::{page, thrown};
use assay_device::{ArgumentBinding, Checks, Origin, Settings};
use assay_engine::ran::{Finding, Report, Shown, Times};
use assay_engine::{Error, Runner, diagnostics};
use assay_launch::Inputs;
use assay_report::blocks::View;
use assay_report::envelope::Envelope;
use assay_ssa::Argument;
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// What a run gave.
#[wasm_bindgen(getter_with_clone)]
pub struct Ran {
    /// The document of `assay run --format json`.
    pub document: String,
    /// The same as text.
    pub text: String,
    /// Remarks, one a line.
    pub notes: String,
    /// The buffers afterwards: objects with `index`, `name`, `type` and `bytes`.
    pub buffers: Array,
}

/// Operations a simdgroup may run in loops, when the page does not say: some seconds.
const MAX_STEPS: u64 = 1 << 24;
/// Bytes of buffers.
const MAX_MEMORY: u64 = 1 << 30;
/// Numbers of a buffer in the document.
const NUMBERS: usize = 16;

#[wasm_bindgen]
impl Opened {
    /// `assay run`, with every buffer printed.
    pub fn run(&self, ask: &str) -> Result<Ran, JsValue> {
        let ran = Ask::parse(ask).and_then(|ask| self.ran(&ask, None));
        ran.map_err(|error| thrown(&error))
    }

    /// `assay run --check`.
    pub fn check(&self, ask: &str) -> Result<Ran, JsValue> {
        let ran = Ask::parse(ask).and_then(|ask| self.ran(&ask, Some(Checks::default())));
        ran.map_err(|error| thrown(&error))
    }
}

impl Opened {
    fn ran(&self, ask: &Ask, checks: Option<Checks>) -> Result<Ran, Error> {
        let library = self.library(ask, checks.is_some())?;
        let kernel = match (&ask.function, library.kernels()) {
            (Some(name), _) => name.clone(),
            (None, [only]) => only.name.clone(),
            (None, several) => return Err(assay_engine::library_error(&self.path, several)),
        };
        let settings = Settings {
            max_steps: Some(ask.max_steps.unwrap_or(MAX_STEPS)),
            max_memory: Some(MAX_MEMORY),
            ..Settings::default()
        };
        let constants = ask.constants()?;
        let mut notes = Vec::new();
        let mut runner = match checks {
            None => Runner::new(&library, &kernel, &constants, settings)?,
            Some(checks) => {
                let (runner, why) =
                    Runner::to_check(&library, &kernel, &constants, (settings, checks))?;
                notes.extend(why.map(|why| format!("checked in its optimised form: {why}")));
                runner
            }
        };
        let arguments = runner.facts().arguments.clone();
        let plain = self.library(ask, false)?;
        let asked = Asked {
            opened: self,
            library: Some(&plain),
            kernel: &kernel,
            arguments: &arguments,
        };
        let (launched, guess) = asked.launch(ask)?;
        notes.extend(guess.map(|comment| page::guessed(&comment)));
        let sizes = launched.launch.first_sizes()?;
        let (geometry, inputs) = launched.bound(&sizes)?;
        let inputs = inputs.filled()?;
        let began = web_time::Instant::now();
        let (held, reports) = match checks {
            None => (runner.run(geometry, &inputs)?, None),
            Some(_) => (Vec::new(), Some(runner.check(geometry, &inputs)?)),
        };
        let took = began.elapsed();
        let (extent, threadgroup) = geometry;
        let report = Report {
            kernel,
            grid: extent.threads(threadgroup).unwrap_or_default(),
            plain: launched.launch.is_plain(),
            sizes,
            threadgroup,
            in_order: runner.runs_in_order()?,
            time: checks
                .is_none()
                .then(|| Times::new(&[took], Origin::Host, Some(1))),
            verdict: None,
            checked: reports.map(|reports| Finding::distinct(&reports, threadgroup)),
            warnings: checks.map(|_| {
                library
                    .warnings()
                    .iter()
                    .map(diagnostics::error_entry)
                    .collect()
            }),
            counts: None,
            buffers: shown(&held, &inputs, &arguments, ask.numbers.unwrap_or(NUMBERS)),
            files: Vec::new(),
        };
        let view = View {
            width: 100,
            ..View::default()
        };
        let text = report.text(&view, |_| None);
        let buffers = buffers(&held, &inputs, &arguments);
        Ok(Ran {
            document: Envelope::new("assay.run", 1, report).to_json(),
            text,
            notes: notes.join("\n"),
            buffers,
        })
    }
}

fn name_of(arguments: &[Argument], index: u32) -> &str {
    let mut arguments = arguments.iter();
    let found = arguments.find(|argument| argument.binding == ArgumentBinding::Buffer(index));
    found.map_or("buffer", |argument| &argument.name)
}

fn shown(
    held: &[(u32, Vec<u8>)],
    inputs: &Inputs,
    arguments: &[Argument],
    most: usize,
) -> Vec<Shown> {
    let each = held.iter().filter_map(|(index, data)| {
        let buffer = inputs.buffer(*index)?;
        Some(Shown::new(
            *index,
            name_of(arguments, *index),
            buffer.element,
            data,
            most,
        ))
    });
    each.collect()
}

/// The buffers as the page takes them.
fn buffers(held: &[(u32, Vec<u8>)], inputs: &Inputs, arguments: &[Argument]) -> Array {
    let all = Array::new();
    for (index, data) in held {
        let Some(buffer) = inputs.buffer(*index) else {
            continue;
        };
        let one = Object::new();
        let fields: [(&str, JsValue); 4] = [
            ("index", (*index).into()),
            ("name", name_of(arguments, *index).into()),
            ("type", buffer.element.name.into()),
            ("bytes", Uint8Array::from(data.as_slice()).into()),
        ];
        for (name, value) in fields {
            // A fresh object takes any field.
            let _ = Reflect::set(&one, &name.into(), &value);
        }
        all.push(&one);
    }
    all
}
