//! Two files' kernels side by side.

use crate::ask::Ask;
use crate::opened::{Answer, Opened};
use crate::thrown;
use assay_engine::{Error, prediction};
use assay_predict::{Cache, Compared, Predicted, Target};
use assay_profile::{Difference, compare, figures};
use assay_report::blocks::Detail;
use serde::Serialize;
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Both predictions, and what differs in the code.
#[derive(Serialize)]
struct Document {
    /// Predicted times, where both kernels have a launch.
    predicted: Option<Compared>,
    /// Why there are none.
    not_predicted: Option<String>,
    figures: Vec<Difference>,
}

/// `assay diff` of one kernel each.
#[wasm_bindgen]
pub fn diff(
    before: &Opened,
    after: &Opened,
    before_ask: &str,
    after_ask: &str,
) -> Result<Answer, JsValue> {
    let both = Ask::parse(before_ask).and_then(|old| Ok((old, Ask::parse(after_ask)?)));
    let answer = both.and_then(|(old, new)| compared((before, &old), (after, &new)));
    answer.map_err(|error| thrown(&error))
}

fn compared(before: (&Opened, &Ask), after: (&Opened, &Ask)) -> Result<Answer, Error> {
    let target = after.1.target()?;
    let times = predicted(before, &target).and_then(|old| Ok((old, predicted(after, &target)?)));
    let (time, not_predicted) = match times {
        Ok((old, new)) => (Some(Compared::new(old, new, &target)), None),
        Err(error) => (None, Some(format!("no predicted time: {}", error.message))),
    };
    let of = |(opened, ask): (&Opened, &Ask)| {
        let loaded = opened.loaded(ask, &RefCell::default())?;
        let first = loaded
            .first()
            .ok_or_else(|| Error::input("there is no kernel"))?;
        first
            .profile(&ask.options()?)
            .map(|profile| figures(&profile))
    };
    let differences = compare(&of(before)?, &of(after)?, 0.0);
    let html = time
        .as_ref()
        .map(|time| assay_predict::render::compared(time, Detail::Full).html());
    let document = Document {
        predicted: time,
        not_predicted: not_predicted.clone(),
        figures: differences,
    };
    Ok(Answer {
        document: serde_json::to_string(&document)
            .map_err(|error| Error::input(error.to_string()))?,
        html: html.unwrap_or_default(),
        notes: not_predicted.unwrap_or_default(),
    })
}

fn predicted((opened, ask): (&Opened, &Ask), target: &Target) -> Result<Predicted, Error> {
    let (tasks, _) = opened.tasks(ask)?;
    let task = tasks.into_iter().next();
    let task = task.ok_or_else(|| Error::usage("the launch has no sizes"))?;
    let passes = task.executed?;
    prediction::predicted(&task.kernel, task.code, &passes, 1, target, Cache::Warm)
}
