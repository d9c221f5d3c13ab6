//! The manual pages of rules, as files that editors can open.

use crate::toolchain;
use assay_lsp::Pages;
use assay_report::rule::Rule;
use std::io::Write;

/// The page of a rule, as Markdown.
pub(super) fn page(rule: &str) -> Option<String> {
    rules()
        .into_iter()
        .find(|one| one.id == rule)
        .map(|rule| rule.page())
}

fn rules() -> Vec<Rule> {
    let mut rules = assay_profile::RULES.to_vec();
    rules.extend_from_slice(assay_engine::diagnosis::RULES);
    rules.extend(assay_rewrite::recipe::rules());
    rules
}

/// Writes all pages to the cache folder; without it findings have no link.
pub(super) fn write() -> Pages {
    let folder = toolchain::cache_folder().join(concat!("pages-", env!("CARGO_PKG_VERSION")));
    let mut pages = Pages::new();
    if std::fs::create_dir_all(&folder).is_err() {
        return pages;
    }
    for rule in rules() {
        let path = folder.join(format!("{}.md", rule.id));
        let text = format!("# {}\n\n{}\n", rule.id, rule.page().trim());
        let known = std::fs::read_to_string(&path).is_ok_and(|old| old == text);
        let written = known
            || tempfile::NamedTempFile::new_in(&folder)
                .and_then(|mut file| {
                    file.write_all(text.as_bytes())?;
                    file.persist(&path).map_err(|error| error.error)
                })
                .is_ok();
        if let Some(uri) = assay_lsp::server::uri::of(&path).filter(|_| written) {
            pages.insert(rule.id.to_owned(), uri);
        }
    }
    pages
}
