//! Reading answers: recipes as JSON, or a source with a short TOML header.
//!
//! An answer is data. What cannot be read is returned with the reason, part by part, so that the model can repair it.

use crate::edits::edited;
use assay_rewrite::recipe::{Parameter, RECIPES, Recipe};
use assay_tune::advice;
use assay_tune::attempts::{Geometry, Hypothesis};
use assay_tune::session::Written;
use assay_tune::session::proposer::{Content, Proposed};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Proposals of one answer at most.
pub const MOST_PROPOSALS: usize = 8;
/// Steps of a proposal at most.
const MOST_STEPS: usize = 6;
/// Characters of a technique at most.
const LONGEST_TECHNIQUE: usize = 200;

/// The pattern of a recipe's steps: `coarsen(:(x=\d+|block)(,…)*)?`.
fn pattern(recipe: &Recipe) -> String {
    let parameters = recipe.parameters.iter().map(|parameter| match parameter {
        Parameter::Number(name) => format!("{name}=[0-9]+"),
        Parameter::Word(word) => (*word).to_owned(),
    });
    let one = parameters.collect::<Vec<_>>().join("|");
    match one.is_empty() {
        true => recipe.id.to_owned(),
        false => format!("{}(:({one})(,({one}))*)?", recipe.id),
    }
}

/// The schema of answers in recipe mode, made of the recipes and the terms of the time model.
pub fn schema() -> Value {
    let patterns: Vec<String> = RECIPES.iter().map(pattern).collect();
    let terms: Vec<&str> = advice::terms().collect();
    json!({
        "type": "object",
        "properties": {
            "proposals": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_PROPOSALS,
                "items": {
                    "type": "object",
                    "properties": {
                        "technique": {"type": "string", "maxLength": LONGEST_TECHNIQUE},
                        "hypothesis": {
                            "type": "object",
                            "properties": {
                                "term": {"type": "string", "enum": terms},
                                "falls_by": {"type": "number", "minimum": 0, "maximum": 1},
                            },
                            "required": ["term", "falls_by"],
                            "additionalProperties": false,
                        },
                        "steps": {
                            "type": "array",
                            "maxItems": MOST_STEPS,
                            "items": {"type": "string", "pattern": format!("^({})$", patterns.join("|"))},
                        },
                        "knobs": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                    "required": ["technique", "hypothesis", "steps"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["proposals"],
        "additionalProperties": false,
    })
}

/// A proposal as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipes {
    technique: String,
    hypothesis: Hypothesis,
    steps: Vec<String>,
    #[serde(default)]
    knobs: BTreeMap<String, Value>,
}

/// A part of an answer, or why it cannot be read.
pub type Parts = Vec<Result<Proposed, String>>;

/// Reads an answer in recipe mode.
///
/// ```
/// use assay_llm::answer::recipes;
/// let answer = r#"{"proposals":[
///     {"technique":"four results a thread","hypothesis":{"term":"load/store unit","falls_by":0.5},"steps":["coarsen:x=4"]},
///     {"technique":"magic","hypothesis":{"term":"load/store unit","falls_by":0.5},"steps":["go-faster"]}]}"#;
/// let parts = recipes(answer)?;
/// assert!(parts[0].is_ok());
/// assert!(parts[1].as_ref().unwrap_err().starts_with("there is no recipe \"go-faster\""));
/// # Ok::<(), String>(())
/// ```
pub fn recipes(text: &str) -> Result<Parts, String> {
    let json = object(text).ok_or("the answer holds no JSON object")?;
    let value: Value =
        serde_json::from_str(json).map_err(|error| format!("the JSON cannot be read: {error}"))?;
    let list = value.get("proposals").and_then(Value::as_array);
    let list = list.ok_or("the JSON has no list \"proposals\"")?;
    if list.is_empty() {
        return Err("the list \"proposals\" is empty".to_owned());
    }
    Ok(list.iter().take(MOST_PROPOSALS).map(recipe).collect())
}

/// The JSON object of an answer, which may stand in a fence or between words.
fn object(text: &str) -> Option<&str> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    text.get(start..=end)
}

fn recipe(value: &Value) -> Result<Proposed, String> {
    let read: Recipes = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    if read.steps.len() > MOST_STEPS {
        return Err(format!("{} steps; {MOST_STEPS} at most", read.steps.len()));
    }
    if read.steps.is_empty() && read.knobs.is_empty() {
        return Err("neither steps nor knobs: that is the kernel as it is".to_owned());
    }
    let mut steps = Vec::new();
    for step in &read.steps {
        let step: assay_rewrite::recipe::Step = step.parse().map_err(|it| format!("{it}"))?;
        steps.push(step.to_string());
    }
    let mut knobs = Vec::new();
    for (name, value) in read.knobs {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        knobs.push((name, word(&text)?));
    }
    Ok(Proposed {
        technique: technique(&read.technique),
        hypothesis: Some(sound(read.hypothesis)?),
        knobs,
        content: Content::Steps(steps),
    })
}

/// A value of a knob: a number or a word.
fn word(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-';
    match !text.is_empty() && text.len() <= 32 && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is no value for a knob")),
    }
}

/// A technique as it is kept and shown: one line without control characters.
fn technique(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    visible
        .take(LONGEST_TECHNIQUE)
        .collect::<String>()
        .trim()
        .to_owned()
}

fn sound(hypothesis: Hypothesis) -> Result<Hypothesis, String> {
    if !advice::terms().any(|term| term == hypothesis.term) {
        let terms: Vec<&str> = advice::terms().collect();
        return Err(format!(
            "there is no term {:?}; terms are {}",
            technique(&hypothesis.term),
            terms.join(", ")
        ));
    }
    match (0.0..=1.0).contains(&hypothesis.falls_by) {
        true => Ok(hypothesis),
        false => Err(format!(
            "falls_by is a share from 0 to 1, not {}",
            hypothesis.falls_by
        )),
    }
}

/// The header of a source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    technique: String,
    hypothesis: Option<Hypothesis>,
    geometry: Option<Asked>,
    #[serde(default)]
    knobs: BTreeMap<String, Vec<toml::Value>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    grid: Vec<String>,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    threadgroup: Vec<String>,
}

/// Reads an answer in source mode: a block of TOML, then a block of Metal, or edits of the source that the model was shown.
pub fn source(text: &str, shown: Option<&str>) -> Result<Parts, String> {
    let blocks = fenced(text)?;
    let find = |names: &[&str]| {
        let mut found = blocks
            .iter()
            .filter(|(language, _)| names.contains(language));
        found.next().map(|(_, body)| *body)
    };
    let header = find(&["toml"]).ok_or("there is no block ```toml with the header")?;
    if let Some(source) = find(&["metal", "cpp", "c++", "msl"]) {
        return Ok(vec![written(header, source)]);
    }
    let edits = find(&["edit", "diff"]).ok_or("there is no block ```metal with the source")?;
    let shown = shown.ok_or("there is no source to edit: answer with a block ```metal")?;
    Ok(vec![
        edited(shown, edits).and_then(|source| written(header, &source)),
    ])
}

/// The source that a prompt showed last: the fastest so far, or else the original.
pub fn shown(prompt: &str) -> Option<&str> {
    let blocks = fenced(prompt).ok()?;
    let mut sources = blocks
        .iter()
        .filter(|(language, _)| *language == "metal")
        .map(|(_, body)| *body);
    sources.next_back()
}

/// The fenced blocks of a text: language and body.
fn fenced(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("```") {
        let (language, body) = after.split_once('\n').ok_or("a block ``` has no end")?;
        let (body, after) = body
            .split_once("\n```")
            .ok_or("a block ``` has no end: the answer was cut")?;
        blocks.push((language.trim(), body));
        rest = after;
    }
    Ok(blocks)
}

fn written(header: &str, source: &str) -> Result<Proposed, String> {
    let header: Header =
        toml::from_str(header).map_err(|error| format!("the header: {}", error.message()))?;
    let mut text = source.trim_end().to_owned() + "\n";
    for (name, values) in &header.knobs {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || name.is_empty() || values.is_empty() || values.len() > 16 {
            return Err(format!(
                "knob {name:?}: a name with up to 16 values is needed"
            ));
        }
        let values = values.iter().map(|value| match value {
            toml::Value::String(text) => word(text),
            toml::Value::Integer(number) => word(&number.to_string()),
            toml::Value::Boolean(flag) => word(&flag.to_string()),
            _ => Err(format!("knob {name}: values are numbers or words")),
        });
        let values: Vec<String> = values.collect::<Result<_, String>>()?;
        let comment = format!("// assay: tune {name} = {}", values.join(","));
        if !text.contains(&comment) {
            text += &format!("{comment}\n");
        }
    }
    let asked = header.geometry.unwrap_or_default();
    if !asked.grid.is_empty() && !asked.groups.is_empty() {
        return Err("the geometry has a grid in threads or in groups, not both".to_owned());
    }
    Ok(Proposed {
        technique: technique(&header.technique),
        hypothesis: header.hypothesis.map(sound).transpose()?,
        knobs: Vec::new(),
        content: Content::Source(Written {
            source: text,
            geometry: Geometry {
                grid: asked.grid,
                groups: asked.groups,
                threadgroup: asked.threadgroup,
                ..Geometry::default()
            },
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_wrong_say_why_and_the_others_stay() {
        let part = |json: &str| {
            recipes(&format!("{{\"proposals\":[{json}]}}"))
                .unwrap()
                .remove(0)
        };
        let hypothesis = r#""hypothesis":{"term":"barriers","falls_by":0.2}"#;
        let why = |json: &str| part(json).unwrap_err();
        assert!(
            part(&format!(
                r#"{{"technique":"t",{hypothesis},"steps":["coarsen: x=4"]}}"#
            ))
            .is_ok()
        );
        let unknown = format!(r#"{{"technique":"t",{hypothesis},"steps":[],"shell":"rm"}}"#);
        assert!(
            why(&unknown).starts_with("unknown field `shell`"),
            "{}",
            why(&unknown)
        );
        let term = r#"{"technique":"t","hypothesis":{"term":"luck","falls_by":0.2},"steps":["coarsen:x=2"]}"#;
        assert!(why(term).starts_with("there is no term \"luck\"; terms are arithmetic"));
        let nothing = format!(r#"{{"technique":"t",{hypothesis},"steps":[]}}"#);
        assert!(why(&nothing).starts_with("neither steps nor knobs"));
        let knob = format!(
            r#"{{"technique":"t",{hypothesis},"steps":[],"knobs":{{"TM":"4; rm -rf /"}}}}"#
        );
        assert!(why(&knob).ends_with("is no value for a knob"));
    }

    #[test]
    fn answers_that_are_no_answer_say_why() {
        let why = |text: &str| recipes(text).unwrap_err();
        assert_eq!(why("I cannot help."), "the answer holds no JSON object");
        assert!(why("{\"proposals\": [").starts_with("the answer holds no JSON"));
        assert_eq!(why("{\"a\":1}"), "the JSON has no list \"proposals\"");
        assert!(source("no blocks", None).unwrap_err().contains("```toml"));
        assert!(
            source("```toml\ntechnique = \"x\"", None)
                .unwrap_err()
                .contains("cut")
        );
    }

    #[test]
    fn a_source_has_a_header_with_geometry_and_knobs() {
        let answer = "Sure.\n```toml\ntechnique = \"a simdgroup a row\"\n[hypothesis]\nterm = \"memory latency\"\nfalls_by = 0.6\n\
            [geometry]\ngrid = [\"R*32\"]\nthreadgroup = [\"TG\"]\n[knobs]\nTG = [64, 128]\n```\n```metal\n#define TG 64\nkernel void k() {}\n```\n";
        let proposed = source(answer, None).unwrap().remove(0).unwrap();
        let Content::Source(written) = proposed.content else {
            panic!("a source");
        };
        assert_eq!(written.geometry.threadgroup, ["TG"]);
        assert!(
            written.source.ends_with("// assay: tune TG = 64,128\n"),
            "{}",
            written.source
        );
    }

    #[test]
    fn a_long_source_may_be_answered_with_edits_of_the_one_shown_last() {
        let prompt = "# The original\n```metal\nint a;\n```\n\n# The fastest so far\n```metal\nint a;\nint b;\n```\n";
        let answer = "```toml\ntechnique = \"t\"\n```\n```edit\n<<<<<<< SEARCH\nint b;\n=======\nint4 b;\n>>>>>>> REPLACE\n```\n";
        let proposed = source(answer, shown(prompt)).unwrap().remove(0).unwrap();
        let Content::Source(written) = proposed.content else {
            panic!("a source");
        };
        assert_eq!(written.source, "int a;\nint4 b;\n");
        let why = source(answer, shown("# The original\n```metal\nint a;\n```\n"));
        assert!(
            why.unwrap()
                .remove(0)
                .unwrap_err()
                .contains("not in the source")
        );
        assert!(
            source(answer, None)
                .unwrap_err()
                .contains("no source to edit")
        );
    }

    #[test]
    fn the_schema_knows_every_recipe() {
        let text = schema().to_string();
        for recipe in RECIPES {
            assert!(text.contains(recipe.id), "{}", recipe.id);
        }
    }
}
