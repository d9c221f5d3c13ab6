//! The sources behind the rows of a page, each with what it changed in the one before it.

use super::short;
use crate::entry::Entry;
use assay_report::html::escape;
use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bytes of sources on a page; what is longer is left to the JSON export.
const LARGEST: usize = 8 << 20;

/// Lines of a source that are compared with the one before; comparing takes time that grows with the square.
const MOST_LINES: usize = 20_000;

/// Lines around a change.
const AROUND: usize = 3;

/// The sources of a page, in the order in which rows name them.
pub(super) struct Sources<'a> {
    history: &'a [Entry],
    shown: Vec<&'a Entry>,
    names: BTreeSet<&'a str>,
    bytes: usize,
    left_out: usize,
}

impl<'a> Sources<'a> {
    pub(super) fn new(history: &'a [Entry]) -> Sources<'a> {
        Sources {
            history,
            shown: Vec::new(),
            names: BTreeSet::new(),
            bytes: 0,
            left_out: 0,
        }
    }

    /// What a row says of its source: the start of its hash, and a link to the text if that is on the page.
    pub(super) fn cell(&mut self, entry: &Entry) -> String {
        let hash = escape(short(&entry.source_hash));
        if self.take(entry) {
            format!("<a href=\"#source-{hash}\">{hash}</a>")
        } else {
            hash
        }
    }

    /// Puts the source of an entry on the page. Returns true if it is there.
    fn take(&mut self, entry: &Entry) -> bool {
        if self.names.contains(entry.source_hash.as_str()) {
            return true;
        }
        let has_text =
            |known: &&Entry| known.source_hash == entry.source_hash && known.source.is_some();
        let Some(known) = self
            .history
            .iter()
            .find(|known| has_text(known) && same_place(known, entry))
        else {
            return false;
        };
        let bytes = known.source.as_ref().map_or(0, String::len);
        if self.bytes + bytes > LARGEST {
            self.left_out += 1;
            return false;
        }
        self.bytes += bytes;
        self.names.insert(&known.source_hash);
        self.shown.push(known);
        true
    }

    /// The texts, folded.
    pub(super) fn section(&self, out: &mut String) {
        if self.shown.is_empty() {
            return;
        }
        out.push_str("<h2>Sources</h2>\n");
        for entry in &self.shown {
            self.one(out, entry);
        }
        if self.left_out > 0 {
            let _ = writeln!(
                out,
                "<p class=\"dim\">{} more are left out for their size; <code>assay board export --format json</code> has \
                 all.</p>",
                self.left_out
            );
        }
    }

    fn one(&self, out: &mut String, entry: &Entry) {
        let hash = escape(short(&entry.source_hash));
        let text = entry.source.as_deref().unwrap_or_default();
        let _ = writeln!(
            out,
            "<details class=\"source\" id=\"source-{hash}\"><summary><code>{hash}</code> {} <span class=\"dim\">{}, \
             {} lines</span></summary>",
            escape(&entry.title()),
            escape(&entry.run.source_path),
            text.lines().count()
        );
        if let Some(before) = self.before(entry) {
            let _ = writeln!(
                out,
                "<h3>Changed in <code>{}</code>, the source before it here <span class=\"dim\">({}, {} → {})</span></h3>",
                escape(short(&before.source_hash)),
                escape(before.run.taken_at.get(..10).unwrap_or_default()),
                assay_report::number::nanoseconds(before.run.median_ms * 1e6),
                assay_report::number::nanoseconds(entry.run.median_ms * 1e6),
            );
            difference(out, before.source.as_deref().unwrap_or_default(), text);
            out.push_str("<h3>The whole source</h3>\n");
        }
        let _ = writeln!(
            out,
            "<pre class=\"code\" tabindex=\"0\">{}</pre></details>",
            escape(text)
        );
    }

    /// The source at the same place whose run was taken last before this one's.
    fn before(&self, entry: &Entry) -> Option<&'a Entry> {
        let earlier = self.history.iter().filter(|other| {
            same_place(other, entry)
                && other.source_hash != entry.source_hash
                && other.source.is_some()
                && other.run.id < entry.run.id
        });
        earlier.max_by_key(|other| other.run.id)
    }
}

/// Returns true if two results compete: same kernel, type, sizes, device, clock and way of measuring.
fn same_place(a: &Entry, b: &Entry) -> bool {
    let place = |entry: &Entry| {
        let device = &entry.device;
        let (name, origin) = (device.name.clone(), device.origin.clone());
        (
            entry.kernel.clone(),
            entry.dtype.clone(),
            entry.mode.clone(),
            name,
            origin,
        )
    };
    a.sizes == b.sizes && place(a) == place(b)
}

/// What changed, line by line, with some lines around.
fn difference(out: &mut String, before: &str, after: &str) {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let lines = before.len().max(after.len());
    if lines > MOST_LINES {
        let _ = writeln!(out, "<p class=\"dim\">Not compared: {lines} lines.</p>");
        return;
    }
    let changes = capture_diff_slices(Algorithm::Myers, &before, &after);
    out.push_str("<pre class=\"code diff\" tabindex=\"0\">");
    for (number, group) in group_diff_ops(changes, AROUND).iter().enumerate() {
        if number > 0 {
            out.push_str("<i class=\"gap\">⋯</i>\n");
        }
        let changes = group.iter().flat_map(|op| op.iter_changes(&before, &after));
        for change in changes {
            let (tag, sign) = match change.tag() {
                ChangeTag::Delete => ("del", '-'),
                ChangeTag::Insert => ("ins", '+'),
                ChangeTag::Equal => ("span", ' '),
            };
            let _ = writeln!(out, "<{tag}>{sign} {}</{tag}>", escape(change.value()));
        }
    }
    out.push_str("</pre>\n");
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_has_signs_and_stays_text() {
        let mut out = String::new();
        difference(&mut out, "a\nb < c\nd\n", "a\nb > c\nd\n");
        assert_eq!(
            out,
            "<pre class=\"code diff\" tabindex=\"0\"><span>  a</span>\n<del>- b &lt; c</del>\n<ins>+ b &gt; c</ins>\n\
             <span>  d</span>\n</pre>\n"
        );
    }
}
