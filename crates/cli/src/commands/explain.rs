//! `assay explain`: the manual page of a finding's rule.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_report::envelope::Envelope;
use assay_report::rule::Rule;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Explain a rule of a report's findings, a unit of its tables or a recipe; without a name, list all
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay explain
  assay explain narrow-loads
  assay explain SCIB
  assay explain coarsen
  assay explain --format json | jq -r '.rules[].id'")]
pub(crate) struct Args {
    /// The rule, as a report names it
    rule: Option<String>,

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
    /// Its name in reports.
    id: &'static str,
    /// The command whose reports name it.
    command: &'static str,
    /// What it finds, in a sentence.
    title: String,
    /// The page, as Markdown.
    page: String,
}

/// The rules of a crate.
type Rules = fn() -> Vec<Rule>;

/// Where rules come from: a command and its rules. A crate with findings is a row.
const REGISTRY: &[(&str, Rules)] = &[
    ("profile", || assay_profile::RULES.to_vec()),
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
        id: rule.id,
        command,
        title: rule.title(),
        page: rule.page().trim_start().to_owned(),
    });
    pages.collect()
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut pages = pages();
    if let Some(wanted) = &args.rule {
        // Reports of earlier versions put the command before rules of traces.
        let wanted = wanted.strip_prefix("trace/").unwrap_or(wanted);
        let names: Vec<&str> = pages.iter().map(|page| page.id).collect();
        let same = |name: &&str| name.eq_ignore_ascii_case(wanted);
        let wanted = names.iter().copied().find(same).unwrap_or(wanted);
        if !names.contains(&wanted) {
            let near = assay_report::nearest::nearest(names.iter().copied(), wanted, 3);
            let failure = Failure::usage(format!("no rule is called {wanted}"));
            return Err(match near.is_empty() {
                true => failure.advice("`assay explain` lists all rules"),
                false => failure.advice(format!("did you mean {}?", near.join(" or "))),
            });
        }
        pages.retain(|page| page.id == wanted);
    }
    let text = match (args.format, &args.rule) {
        (Format::Json, _) => {
            let document = Document { rules: pages };
            Envelope::new("assay.explain", 1, document).to_json()
        }
        (Format::Text, None) => list(&pages, context),
        (Format::Text, Some(_)) => pages.iter().map(|page| show(page, context)).collect(),
    };
    match args.format {
        Format::Text => context.write_prose(&text)?,
        Format::Json => context.write(&text)?,
    }
    Ok(Outcome::Fine)
}

fn list(pages: &[Page], context: &Context) -> String {
    let mut table = Table::new([
        Column::left("rule"),
        Column::left("of"),
        Column::left("finds").shrink(),
    ])
    .painter(context.painter);
    for page in pages {
        table.row([
            Cell::new(page.id, Role::Name),
            page.command.into(),
            page.title.clone().into(),
        ]);
    }
    table.render(context.width)
}

fn show(page: &Page, context: &Context) -> String {
    let mut out = format!("{}\n", context.painter.paint(Role::Name, page.id));
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
        for page in &pages {
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
        let mut ids: Vec<&str> = pages.iter().map(|page| page.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), pages.len());
    }
}
