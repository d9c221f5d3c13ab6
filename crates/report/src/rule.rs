//! Rules: what a report's findings are instances of, each with a manual page.
//!
//! A rule is one file of a domain crate. Its id is a name in kebab case, the same in every report and for
//! `assay explain`, and no two crates use the same one. Its page is the comment its file or declaration begins with, in
//! Markdown, with the headings *What it does*, *Why it matters*, *What to do*.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Likely to decide the speed.
    High,
    /// Worth a try.
    Medium,
    /// Good to know.
    Low,
}

impl Severity {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        }
    }
}

/// A word of a report as the name of its page: small letters, figures and single hyphens.
///
/// ```
/// assert_eq!(assay_report::rule::slug("load/store unit"), "load-store-unit");
/// assert_eq!(assay_report::rule::slug("complex unit (IC)"), "complex-unit-ic");
/// ```
pub fn slug(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for character in word.chars() {
        match character.is_alphanumeric() {
            true => out.extend(character.to_lowercase()),
            false if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            false => {}
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// A rule: its id and its page.
///
/// ```
/// use assay_report::rule::Rule;
/// let rule = Rule::new("narrow-loads", "//! ## What it does\n//! Finds loads of 16 bits. More.\n\nfn check() {}");
/// assert_eq!(rule.title(), "Finds loads of 16 bits.");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its id: `narrow-loads`.
    pub id: &'static str,
    comment: &'static str,
}

impl Rule {
    /// A rule from the text of its file, which begins with the page as a module comment, or from the lines of a
    /// documentation comment.
    pub const fn new(id: &'static str, comment: &'static str) -> Rule {
        Rule { id, comment }
    }

    /// The manual page, as Markdown.
    pub fn page(&self) -> String {
        let blank = |line: &'static str| line.strip_prefix(' ').unwrap_or(line);
        let lines: Vec<&str> = match self.comment.starts_with("//!") {
            true => {
                let lines = self.comment.lines();
                let lines = lines.map_while(|line| line.strip_prefix("//!"));
                lines.map(blank).collect()
            }
            false => self.comment.lines().map(blank).collect(),
        };
        lines.join("\n")
    }

    /// What it finds: the first sentence of the page, past its headings.
    pub fn title(&self) -> String {
        let page = self.page();
        let lines = page.lines().map(str::trim);
        let text = lines.skip_while(|line| line.is_empty() || line.starts_with('#'));
        let paragraph: Vec<&str> = text.take_while(|line| !line.is_empty()).collect();
        let paragraph = paragraph.join(" ");
        match paragraph.split_once(". ") {
            Some((sentence, _)) => format!("{sentence}."),
            None => paragraph,
        }
    }
}
