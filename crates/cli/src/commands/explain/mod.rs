//! `assay explain`: the page of a finding's rule, a recipe, or any word of a report.

mod words;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_report::blocks::{Answer, Block, Figure};
use assay_report::envelope::Envelope;
use assay_report::rule::Rule;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Explain any word of a report: a finding's rule, a limit, a figure, a recipe
///
/// Without a word it lists rules, units and recipes; --full lists the other words too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay explain
  assay explain narrow-loads
  assay explain 'load/store unit'
  assay explain SCIB
  assay explain coarsen
  assay explain --format json | jq -r '.rules[].id'")]
pub(crate) struct Args {
    /// The word, as a report writes it
    #[arg(value_name = "WORD")]
    rule: Option<String>,

    /// List every word, not rules and recipes alone
    #[arg(long)]
    full: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.explain.json
    Json,
}

/// The pages of rules.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Document {
    /// Every rule, or the one that was asked for.
    rules: Vec<Page>,
}

/// A rule of any command that has findings.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Page {
    /// Its name in reports; of a word that is not a rule, in small letters with hyphens.
    id: String,
    /// The command whose reports name it.
    command: &'static str,
    /// What it finds, in a sentence.
    title: String,
    /// The page, as Markdown.
    page: String,
    /// Other spellings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
}

/// The rules of a crate.
type Rules = fn() -> Vec<Rule>;

/// Where rules come from: a command and its rules. A crate with findings is a row.
const REGISTRY: &[(&str, Rules)] = &[
    ("profile", || assay_profile::RULES.to_vec()),
    ("profile (a launch)", || {
        assay_engine::diagnosis::RULES.to_vec()
    }),
    ("profile (a unit)", || assay_profile::UNITS.to_vec()),
    ("trace", assay_trace::rules),
    ("gate", assay_gate::rules),
    (RECIPES, assay_rewrite::recipe::rules),
];

/// The command whose pages are recipes.
const RECIPES: &str = "rewrite";

fn pages() -> Vec<Page> {
    let rules = REGISTRY
        .iter()
        .flat_map(|(command, rules)| rules().into_iter().map(|rule| (*command, rule)));
    let pages = rules.map(|(command, rule)| Page {
        id: rule.id.to_owned(),
        command,
        title: rule.title(),
        page: rule.page().trim_start().to_owned(),
        also: Vec::new(),
    });
    let mut pages: Vec<Page> = pages.collect();
    // A word that is also a rule, a unit or a recipe is explained there.
    let words = words::pages().into_iter();
    let words: Vec<Page> = words
        .filter(|word| pages.iter().all(|page| page.id != word.id))
        .collect();
    pages.extend(words);
    pages
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut pages = pages();
    if let Some(wanted) = &args.rule {
        // Reports of earlier versions put the command before rules of traces.
        let wanted = wanted.strip_prefix("trace/").unwrap_or(wanted);
        let Some(found) = words::find(&pages, wanted) else {
            let names = pages
                .iter()
                .flat_map(|page| std::iter::once(&page.id).chain(&page.also))
                .filter(|name| name.len() > 2);
            let near = assay_report::nearest::nearest(names.map(String::as_str), wanted, 3);
            let failure = Failure::usage(format!("no report uses the word {wanted}"));
            return Err(match near.is_empty() {
                true => failure.advice("`assay explain --full` lists all words"),
                false => failure.advice(format!("did you mean {}?", near.join(" or "))),
            });
        };
        pages = vec![found.clone()];
    }
    let text = match (args.format, &args.rule) {
        (Format::Json, _) => {
            let document = Document { rules: pages };
            Envelope::new("assay.explain", 1, document).to_json()
        }
        (Format::Text, None) => list(&pages, args.full, context),
        (Format::Text, Some(_)) => pages.iter().map(|page| show(page, context)).collect(),
    };
    match args.format {
        Format::Text => context.write_prose(&text)?,
        Format::Json => context.write(&text)?,
    }
    Ok(Outcome::Fine)
}

/// Names of a row of the list.
const NAMES: usize = 10;

/// The first names of some pages, and how many there are besides.
fn names<'p>(label: &str, pages: impl Iterator<Item = &'p Page> + Clone) -> Figure {
    let left = pages.clone().count().saturating_sub(NAMES);
    let names: Vec<&str> = pages.take(NAMES).map(|page| page.id.as_str()).collect();
    let figure = Figure::new(label, names.join(" "));
    match left {
        0 => figure,
        _ => figure.note(format!("and {left} more")),
    }
}

/// Names by what they belong to; with a sentence each when everything is asked for.
fn list(pages: &[Page], full: bool, context: &Context) -> String {
    if full {
        let mut table = Table::new([
            Column::left("word"),
            Column::left("of"),
            Column::left("is").shrink(),
        ])
        .painter(context.painter);
        for page in pages {
            table.row([
                Cell::new(page.id.as_str(), Role::Name),
                page.command.into(),
                page.title.clone().into(),
            ]);
        }
        return table.render(context.width);
    }
    let mut answer = Answer::default();
    let mut figures: Vec<Figure> = Vec::new();
    for (command, _) in REGISTRY {
        let of = pages.iter().filter(|page| page.command == *command);
        figures.push(names(command, of));
    }
    let words = pages.iter().filter(|page| page.command == words::WORD);
    figures.push(names("words", words));
    answer.push(figures);
    answer.push(Block::noted(
        "assay explain WORD shows the page of any of them, assay explain --full lists all",
        Role::Dim,
    ));
    answer.terminal(&context.view())
}

fn show(page: &Page, context: &Context) -> String {
    let mut out = format!("{}\n", context.painter.paint(Role::Name, &page.id));
    let text = match context.folds {
        true => wrap::unwrap_paragraphs(&page.page),
        false => page.page.clone(),
    };
    for line in text.lines() {
        match line.strip_prefix("## ") {
            Some(heading) => out += &context.painter.paint(Role::Heading, heading),
            None if context.folds && !line.starts_with("    ") => {
                let rest = if line.starts_with(['-', '*']) { 2 } else { 0 };
                let separator = format!("\n{:rest$}", "");
                out += &wrap::hanging(line, context.width, 0, rest).join(&separator);
            }
            None => out += line,
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<Document>("assay.explain", 1);
    }

    #[test]
    fn every_page_has_the_headings_and_ids_are_unique() {
        let pages = pages();
        for page in pages.iter().filter(|page| page.command != words::WORD) {
            let headings = if page.command == RECIPES {
                ["## What it does", "## When it applies", "## When it hurts"]
            } else {
                ["## What it does", "## Why it matters", "## What to do"]
            };
            for heading in headings {
                assert!(page.page.contains(heading), "{} lacks {heading}", page.id);
            }
            assert!(page.title.ends_with('.'), "{}", page.id);
        }
        let mut ids: Vec<&str> = pages.iter().map(|page| page.id.as_str()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), pages.len());
    }

    /// Words that reports print and that are not rules, from where they are defined.
    fn printed() -> Vec<String> {
        use assay_predict::{Reason, reason_name, resources};
        let mut words: Vec<String> = Vec::new();
        let mut add = |word: &str| words.push(word.to_owned());
        Reason::ALL.map(reason_name).into_iter().for_each(&mut add);
        resources().for_each(&mut add);
        for kind in assay_profile::BoundKind::ALL {
            add(kind.name());
            add(kind.short());
        }
        assay_chip::Unit::ALL
            .map(assay_chip::Unit::name)
            .into_iter()
            .for_each(&mut add);
        assay_profile::FIGURES
            .iter()
            .for_each(|figure| add(figure.name));
        assay_chip::Parameter::ALL
            .iter()
            .for_each(|one| add(one.name()));
        for verdict in assay_trace::VerdictKind::ALL {
            add(verdict.word());
        }
        for heading in [
            "band",
            "tie",
            "likely",
            "FLOPS",
            "DRAM",
            "occupancy",
            "trips",
            "carried",
            "alone",
            "ld/st",
            "stall",
            "live",
            "critical path",
            "half-registers",
            "half-uniforms",
            "constant program",
            "class E",
            "class R",
            "modelled",
            "measured",
            "host",
            "warm caches",
            "core-2",
            "stand-in",
            "helped",
            "hurt",
            "right",
            "wrong",
        ] {
            add(heading);
        }
        words
    }

    #[test]
    fn every_word_that_a_report_prints_has_a_page() {
        let pages = pages();
        let unknown: Vec<String> = printed()
            .into_iter()
            .filter(|word| words::find(&pages, word).is_none())
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
