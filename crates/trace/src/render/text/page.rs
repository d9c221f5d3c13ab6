//! What the report is written on: lines, headings, paragraphs and tables of one width.

use super::TextStyle;
use crate::render::micros;
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use assay_report::wrap::hanging;
use std::fmt::Write;

pub(super) struct Page {
    pub(super) out: String,
    pub(super) style: TextStyle,
}

impl Page {
    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    pub(super) fn heading(&mut self, text: &str) {
        let painted = self.style.painter.paint(Role::Heading, text);
        let _ = writeln!(self.out, "\n{painted}");
    }

    pub(super) fn paint(&self, role: Role, text: &str) -> String {
        self.style.painter.paint(role, text)
    }

    pub(super) fn table(&self, columns: impl IntoIterator<Item = Column>) -> Table {
        Table::new(columns).painter(self.style.painter).indent(2)
    }

    pub(super) fn show(&mut self, table: &Table) {
        let text = table.render(self.style.width);
        self.out.push_str(&text);
    }

    /// A paragraph, its first line behind `bullet`, the others under it.
    pub(super) fn wrapped(&mut self, bullet: &str, text: &str) {
        let indent = bullet.chars().count();
        let blank = " ".repeat(indent);
        let pieces = hanging(text, self.style.width.max(indent + 20), indent, indent);
        for (index, piece) in pieces.iter().enumerate() {
            let before = if index == 0 { bullet } else { &blank };
            self.line(&format!("{before}{piece}"));
        }
    }
}

/// `mean 1 µs, median 2 µs, p99 3 µs, max 4 µs`.
pub(super) fn spread(
    mean: Option<f64>,
    median: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
) -> String {
    format!(
        "mean {}, median {}, p99 {}, max {}",
        micros(mean),
        micros(median),
        micros(p99),
        micros(max)
    )
}
