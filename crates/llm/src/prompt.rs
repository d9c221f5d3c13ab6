//! What models are told: templates of this crate, filled with what the search knows.
//!
//! The part that stays the same through a session comes first, so that providers can keep it. Everything has a priority, and
//! what does not fit is cut from the least important on. Sizes that are held out, seeds and oracles are never in a prompt:
//! they are not among the things a prompt is made of.

use crate::answer::MOST_PROPOSALS;
use assay_rewrite::recipe::RECIPES;
use assay_tune::advice;
use assay_tune::attempts::{Attempt, Geometry, Outcome, Prediction};
use assay_tune::session::proposer::{Fault, Situation, Story};
use std::fmt::Write as _;

/// How models answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Sequences of recipes: a model cannot write code.
    #[default]
    Recipe,
    /// A whole source.
    Source,
}

impl Mode {
    /// The template with its version, as attempts record it. A changed template has another version.
    pub const fn version(self) -> &'static str {
        match self {
            Mode::Recipe => "recipe-1",
            Mode::Source => "source-2",
        }
    }

    const fn template(self) -> &'static str {
        match self {
            Mode::Recipe => include_str!("../prompts/recipe.md"),
            Mode::Source => include_str!("../prompts/source.md"),
        }
    }
}

/// What is known about the kernel before anything is tried.
#[derive(Clone, Debug, Default)]
pub struct Brief {
    /// The kernel.
    pub kernel: String,
    /// Facts of the chip, a sentence a line.
    pub chip: Vec<String>,
    /// What its arguments are and which sizes they have.
    pub launch: Vec<String>,
    /// How far results may be off.
    pub tolerance: String,
    /// What an analysis finds, a sentence each, with lines.
    pub findings: Vec<String>,
    /// Knobs with their values.
    pub knobs: Vec<String>,
}

/// Bytes of a prompt at most, the system's part left out.
pub const LONGEST_PROMPT: usize = 96 << 10;
/// Attempts that are told.
const TOLD: usize = 10;

/// A part of a prompt.
struct Section {
    /// The smaller, the sooner it is cut.
    priority: u8,
    heading: &'static str,
    text: String,
}

fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("{{{{{name}}}}}"), value);
    }
    text
}

/// The part of a prompt that stays the same through a session.
pub fn system(mode: Mode, brief: &Brief) -> String {
    let chip = brief.chip.iter().map(|fact| format!("- {fact}\n"));
    let chip: String = chip.collect();
    let head = filled(
        include_str!("../prompts/system.md"),
        &[("chip", chip.trim_end())],
    );
    let recipes = RECIPES.iter().map(|recipe| {
        let letter = recipe.class.letter();
        let title = recipe.rule().title();
        format!("- {}:{} [{letter}] {title}\n", recipe.id, recipe.usage)
    });
    let recipes: String = recipes.collect();
    let terms: Vec<&str> = advice::terms().collect();
    let values = [
        ("recipes", recipes.trim_end()),
        ("terms", &terms.join(", ")),
        ("most", &MOST_PROPOSALS.to_string()),
    ];
    head + "\n" + &filled(mode.template(), &values)
}

/// The template of new kernels with its version.
pub const WRITE: &str = "write-1";

/// The part of a prompt for a new kernel that stays the same.
pub fn write_system(chip: &[String]) -> String {
    let chip = chip.iter().map(|fact| format!("- {fact}\n"));
    let chip: String = chip.collect();
    let head = filled(
        include_str!("../prompts/system.md"),
        &[("chip", chip.trim_end())],
    );
    head + "\n" + include_str!("../prompts/write.md")
}

/// The part that says where the search stands. `direction` keeps proposals that are made at once apart.
pub fn user(mode: Mode, brief: &Brief, situation: &Situation<'_>, direction: &str) -> String {
    let mut launch = brief.launch.join("\n");
    if let Some(geometry) = &situation.original.geometry {
        let _ = write!(launch, "\n{}", dispatch(geometry));
    }
    let mut sections = vec![
        Section {
            priority: 9,
            heading: "The kernel's launch",
            text: launch,
        },
        Section {
            priority: 8,
            heading: "What counts as right",
            text: brief.tolerance.clone(),
        },
        Section {
            priority: 10,
            heading: "The original",
            text: fenced(situation.original.source.as_deref().unwrap_or_default()),
        },
        Section {
            priority: 7,
            heading: "Where the original's time goes (modelled)",
            text: times(situation.original),
        },
        Section {
            priority: 6,
            heading: "Findings",
            text: list(&brief.findings),
        },
        Section {
            priority: 5,
            heading: "Knobs of the kernel",
            text: list(&brief.knobs),
        },
    ];
    sections.extend(standing(mode, situation));
    sections.push(Section {
        priority: 8,
        heading: "What was tried",
        text: stories(situation),
    });
    sections.push(Section {
        priority: 10,
        heading: "Now",
        text: direction.to_owned(),
    });
    fitted(sections, LONGEST_PROMPT)
}

/// What is known about the fastest attempt, where it is not the original.
fn standing(mode: Mode, situation: &Situation<'_>) -> Vec<Section> {
    let best = situation.best;
    let mut sections = Vec::new();
    if best.ordinal != situation.original.ordinal {
        let mut text = format!("attempt {}: {}\n{}", best.ordinal, best.genome, times(best));
        if mode == Mode::Source {
            text += &format!("\n{}", fenced(best.source.as_deref().unwrap_or_default()));
        }
        sections.push(Section {
            priority: 7,
            heading: "The fastest so far",
            text,
        });
    }
    if mode == Mode::Recipe {
        let mut recipes: Vec<(&str, Vec<&str>)> = Vec::new();
        for choice in situation.choices {
            match recipes.iter_mut().find(|(id, _)| *id == choice.recipe) {
                Some((_, steps)) => steps.push(&choice.step),
                None => recipes.push((&choice.recipe, vec![&choice.step])),
            }
        }
        let lines = recipes.iter().map(|(id, steps)| {
            let steps: Vec<&str> = steps.iter().take(12).copied().collect();
            format!("{id}: {}", steps.join(" "))
        });
        sections.push(Section {
            priority: 6,
            heading: "Steps that apply to the fastest so far, as its next step",
            text: list(&lines.collect::<Vec<_>>()),
        });
    }
    sections
}

fn dispatch(geometry: &Geometry) -> String {
    let (name, grid) = match geometry.groups.is_empty() {
        true => ("grid in threads", &geometry.grid),
        false => ("grid in threadgroups", &geometry.groups),
    };
    format!(
        "{name}: {}; threadgroup: {}",
        grid.join(", "),
        geometry.threadgroup.join(", ")
    )
}

fn fenced(source: &str) -> String {
    format!("```metal\n{}\n```", source.trim_end())
}

fn list(lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!("- {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn times(attempt: &Attempt) -> String {
    let Outcome::Timed(prediction) = &attempt.outcome else {
        return String::new();
    };
    let Prediction {
        time_us,
        low_us,
        high_us,
        limited_by,
        terms,
        ..
    } = prediction;
    let mut text = format!(
        "{time_us} µs (four of five kernels of its class lie between {low_us} and {high_us}); the largest term is {limited_by}"
    );
    for (name, us) in terms {
        let _ = write!(text, "\n- {name}: {us} µs");
    }
    text
}

/// The last attempts with what became of them and of their hypotheses.
fn stories(situation: &Situation<'_>) -> String {
    let original = match &situation.original.outcome {
        Outcome::Timed(prediction) => prediction.terms.clone(),
        Outcome::Failed(_) => Vec::new(),
    };
    let time = situation.original.time().unwrap_or(f64::NAN);
    let all = situation.stories;
    let last = &all[all.len().saturating_sub(TOLD)..];
    let lines: Vec<String> = last
        .iter()
        .map(|story| tale(story, time, &original))
        .collect();
    list(&lines)
}

fn tale(story: &Story, original_us: f64, original: &[(String, f64)]) -> String {
    let mut text = story.technique.clone();
    if !story.genome.is_empty() {
        let _ = write!(text, " ({})", story.genome);
    }
    if let Some((us, _)) = &story.time {
        let _ = write!(
            text,
            ": {us} µs, {:.2} times as fast as the original",
            original_us / us
        );
    }
    if let Some(failure) = &story.failure {
        let _ = write!(text, "; refused: {failure}");
    }
    if let Some(verdict) = contradicted(story, original) {
        let _ = write!(text, "; {verdict}");
    }
    text
}

/// What the model makes of a proposal's hypothesis.
fn contradicted(story: &Story, original: &[(String, f64)]) -> Option<String> {
    let (hypothesis, (_, terms)) = (story.hypothesis.as_ref()?, story.time.as_ref()?);
    let us = |terms: &[(String, f64)]| {
        let found = terms.iter().find(|(name, _)| *name == hypothesis.term);
        found.map_or(0.0, |(_, us)| *us)
    };
    let (before, after) = (us(original), us(terms));
    if before <= 0.0 {
        return Some(format!(
            "hypothesis contradicted: {} takes no time in the original",
            hypothesis.term
        ));
    }
    let fell = 1.0 - after / before;
    let verdict = match fell >= 0.5 * hypothesis.falls_by {
        true => "held",
        false => "contradicted",
    };
    Some(format!(
        "hypothesis {verdict}: {} was to fall by {:.0} %, and {} by {:.0} %",
        hypothesis.term,
        100.0 * hypothesis.falls_by,
        if fell >= 0.0 { "fell" } else { "rose" },
        100.0 * fell.abs()
    ))
}

/// Sections as text; the least important are cut until all fit.
fn fitted(mut sections: Vec<Section>, most: usize) -> String {
    sections.retain(|section| !section.text.trim().is_empty());
    let length = |sections: &[Section]| -> usize {
        let each = sections
            .iter()
            .map(|it| it.heading.len() + it.text.len() + 5);
        each.sum()
    };
    while length(&sections) > most {
        let over = length(&sections) - most;
        let least = sections.iter_mut().filter(|it| !it.text.ends_with(CUT));
        let Some(least) = least.min_by_key(|section| section.priority) else {
            break;
        };
        let keep = least.text.len().saturating_sub(over + CUT.len());
        let end = (0..=keep)
            .rev()
            .find(|&end| least.text.is_char_boundary(end));
        least.text.truncate(end.unwrap_or(0));
        least.text.push_str(CUT);
    }
    let texts = sections
        .iter()
        .map(|it| format!("# {}\n{}\n", it.heading, it.text));
    texts.collect::<Vec<_>>().join("\n")
}

const CUT: &str = "\n[the rest is left out]";

/// What a model is told about faults of its answer.
pub fn repair(faults: &[Fault]) -> String {
    let lines = faults.iter().map(|fault| {
        let place = match fault.place {
            Some(place) => format!("proposal {} ({})", place + 1, fault.technique),
            None => fault.technique.clone(),
        };
        format!(
            "- {place}, {}: {}",
            fault.failure.stage.name(),
            fault.failure.why
        )
    });
    let lines: Vec<String> = lines.collect();
    filled(
        include_str!("../prompts/repair.md"),
        &[("faults", &lines.join("\n"))],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(priority: u8, length: usize) -> Section {
        Section {
            priority,
            heading: "h",
            text: "é".repeat(length / 2),
        }
    }

    #[test]
    fn the_least_important_is_cut_first() {
        let text = fitted(
            vec![section(9, 1000), section(1, 1000), section(5, 1000)],
            2500,
        );
        assert!(text.len() <= 2600, "{}", text.len());
        let parts: Vec<&str> = text.split("# h\n").collect();
        assert!(!parts[1].contains(CUT) && parts[2].contains(CUT) && !parts[3].contains(CUT));
    }

    #[test]
    fn hypotheses_are_held_against_the_model() {
        let story = |after: f64| Story {
            attempt: Some(3),
            technique: "t".to_owned(),
            genome: "coarsen:x=4".to_owned(),
            hypothesis: Some(assay_tune::attempts::Hypothesis {
                term: "barriers".to_owned(),
                falls_by: 0.5,
            }),
            time: Some((50.0, vec![("barriers".to_owned(), after)])),
            failure: None,
        };
        let original = [("barriers".to_owned(), 40.0)];
        let verdict = |after| contradicted(&story(after), &original).unwrap();
        assert_eq!(
            verdict(20.0),
            "hypothesis held: barriers was to fall by 50 %, and fell by 50 %"
        );
        assert_eq!(
            verdict(50.0),
            "hypothesis contradicted: barriers was to fall by 50 %, and rose by 25 %"
        );
        let tale = tale(&story(20.0), 100.0, &original);
        assert!(
            tale.starts_with(
                "t (coarsen:x=4): 50 µs, 2.00 times as fast as the original; hypothesis held"
            ),
            "{tale}"
        );
    }
}
