//! What a page shows beside answers.

use crate::thrown;
use assay_engine::Error;
use assay_report::html;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// What is said of a launch that nobody wrote.
pub(crate) fn guessed(comment: &str) -> String {
    format!("launch guessed from the signature; to change it, copy into the source: // {comment}")
}

/// The style sheet of answers: of the report's pages, its blocks and its pictures.
#[wasm_bindgen]
pub fn style() -> String {
    let parts = [
        html::STYLE,
        assay_report::blocks::STYLE,
        assay_report::chart::STYLE,
    ];
    parts.join("\n")
}

/// The chips that times are predicted for, as JSON: name, title, and whether costs are known.
#[wasm_bindgen]
pub fn chips() -> String {
    let chips = assay_chip::chips().iter();
    let chips = chips.map(|chip| {
        serde_json::json!({ "name": chip.name, "title": chip.title, "costs": chip.has_costs(), "default": chip.name == assay_chip::DEFAULT_CHIP })
    });
    serde_json::Value::from_iter(chips).to_string()
}

/// The manual page of a finding, in Markdown.
#[wasm_bindgen]
pub fn explain(rule: &str) -> Result<String, JsValue> {
    let mut rules = assay_engine::diagnosis::RULES
        .iter()
        .chain(assay_profile::RULES);
    let page = rules.find(|known| known.id == rule).map(|rule| rule.page());
    page.ok_or_else(|| thrown(&Error::usage(format!("there is no finding {rule}"))))
}
