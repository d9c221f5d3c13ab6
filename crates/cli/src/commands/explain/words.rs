//! The words of reports that are not rules: terms of times, figures of profiles and chips, kinds of numbers.
//!
//! `words.md` has a section for each: its name, an optional line `also:` with other spellings between bars, a line `of:` with the commands
//! that print it, and the explanation. Figures of `assay diff` and of `assay chips` have their meaning where they are defined.

use super::Page;
use assay_chip::Parameter;
use assay_report::rule::slug;

const TEXT: &str = include_str!("words.md");

/// What pages of words are listed under.
pub(super) const WORD: &str = "word";

/// A page for every word.
pub(super) fn pages() -> Vec<Page> {
    let mut pages: Vec<Page> = TEXT.split("## ").filter_map(page).collect();
    let figures = assay_profile::FIGURES.iter();
    let figures = figures.map(|figure| (figure.name, figure.meaning, "diff"));
    let chips = Parameter::ALL.iter();
    let chips = chips.map(|one| (one.name(), one.meaning(), "chips"));
    for (name, meaning, of) in figures.chain(chips) {
        if find(&pages, name).is_none() {
            let text = format!("A figure of `assay {of}`: {meaning}.");
            pages.push(made(name, &[], of, &text));
        }
    }
    pages
}

fn page(section: &str) -> Option<Page> {
    let (name, rest) = section.split_once('\n')?;
    let (mut also, mut of, mut text) = (Vec::new(), "", String::new());
    for line in rest.lines() {
        if let Some(names) = line.strip_prefix("also: ") {
            also = names.split(" | ").collect();
        } else if let Some(commands) = line.strip_prefix("of: ") {
            of = commands;
        } else {
            text += line;
            text.push('\n');
        }
    }
    Some(made(name, &also, of, text.trim()))
}

fn made(name: &str, also: &[&str], of: &str, text: &str) -> Page {
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    Page {
        id: slug(name),
        command: WORD,
        title: text[..end].to_owned(),
        page: format!("{name} (in reports of {of})\n\n{text}\n"),
        also: also.iter().map(|name| slug(name)).collect(),
    }
}

/// The page of a word, as it may be written in a report: capitals, blanks and plural aside.
pub(super) fn find<'p>(pages: &'p [Page], word: &str) -> Option<&'p Page> {
    let wanted = slug(word);
    let single = wanted.strip_suffix('s').unwrap_or(&wanted);
    let is = |page: &&Page| slug(&page.id) == wanted || page.also.contains(&wanted);
    let nearly = |page: &&Page| {
        let names = std::iter::once(&page.id).chain(&page.also);
        let names = names.map(|name| name.strip_suffix('s').unwrap_or(name));
        names.into_iter().any(|name| name == single)
    };
    let pages = || pages.iter().filter(|_| !wanted.is_empty());
    pages().find(is).or_else(|| pages().find(nearly))
}
