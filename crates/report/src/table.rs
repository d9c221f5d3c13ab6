//! Text tables that line up, fit a width, and survive a pipe.
//!
//! Columns are separated by two blanks, without frames: such tables can be cut,
//! sorted and compared with the usual tools. When the table is wider than the
//! terminal, the columns marked [`Column::shrink`] give way and their cells are
//! cut with `…`.
//!
//! ```
//! use assay_report::table::{Column, Table};
//! let mut table = Table::new([Column::left("kernel").shrink(), Column::right("cycles")]);
//! table.row(["naive_matmul", "412"]);
//! table.row(["tiled", "96"]);
//! assert_eq!(
//!     table.render(80),
//!     "kernel        cycles\nnaive_matmul     412\ntiled             96\n"
//! );
//! assert_eq!(
//!     table.render(16),
//!     "kernel    cycles\nnaive_m…     412\ntiled         96\n"
//! );
//! ```

use crate::style::{Painter, Role};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column: its heading and how its cells are placed.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    right: bool,
    shrink: bool,
}

impl Column {
    /// Cells flush left.
    pub fn left(heading: impl Into<String>) -> Self {
        Column {
            heading: heading.into(),
            right: false,
            shrink: false,
        }
    }

    /// Cells flush right, for figures.
    pub fn right(heading: impl Into<String>) -> Self {
        Column {
            heading: heading.into(),
            right: true,
            shrink: false,
        }
    }

    /// This column gives way when the table is too wide.
    pub fn shrink(mut self) -> Self {
        self.shrink = true;
        self
    }
}

/// A cell: text and, if it should stand out, the reason.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    role: Option<Role>,
}

impl Cell {
    /// A cell shown as `role`.
    pub fn new(text: impl Into<String>, role: Role) -> Self {
        Cell {
            text: text.into(),
            role: Some(role),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell {
            text: text.into(),
            role: None,
        }
    }
}

/// Rows under headings.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    painter: Painter,
    indent: usize,
}

const GAP: usize = 2;
const NARROWEST: usize = 4;

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            painter: Painter::default(),
            indent: 0,
        }
    }

    /// Paints headings and cells with `painter`.
    pub fn painter(mut self, painter: Painter) -> Self {
        self.painter = painter;
        self
    }

    /// Blanks before every line.
    pub fn indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a row; missing cells are empty, surplus cells are dropped.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) -> &mut Self {
        self.rows.push(
            cells
                .into_iter()
                .map(Into::into)
                .take(self.columns.len())
                .collect(),
        );
        self
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines at most `width` columns wide, as far as shrinking allows.
    pub fn render(&self, width: usize) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        let headings = self
            .columns
            .iter()
            .map(|column| (column.heading.as_str(), Some(Role::Dim)));
        if self.columns.iter().any(|column| !column.heading.is_empty()) {
            self.line(&mut out, headings, &widths);
        }
        for row in &self.rows {
            self.line(
                &mut out,
                row.iter().map(|cell| (cell.text.as_str(), cell.role)),
                &widths,
            );
        }
        out
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.heading.width()).collect();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(cell.text.width());
            }
        }
        let gaps = self.columns.len().saturating_sub(1) * GAP + self.indent;
        while widths.iter().sum::<usize>() + gaps > width {
            let widest = (0..widths.len())
                .filter(|&column| self.columns[column].shrink && widths[column] > NARROWEST)
                .max_by_key(|&column| widths[column]);
            match widest {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
        widths
    }

    fn line<'a>(
        &self,
        out: &mut String,
        cells: impl Iterator<Item = (&'a str, Option<Role>)>,
        widths: &[usize],
    ) {
        let start = out.len();
        out.push_str(&" ".repeat(self.indent));
        for (column, (text, role)) in cells.enumerate() {
            if column > 0 {
                out.push_str(&" ".repeat(GAP));
            }
            let text = fitted(text, widths[column]);
            let padding = " ".repeat(widths[column].saturating_sub(text.width()));
            let painted = match role {
                Some(role) => self.painter.paint(role, &text),
                None => text,
            };
            if self.columns[column].right {
                out.push_str(&padding);
                out.push_str(&painted);
            } else {
                out.push_str(&painted);
                out.push_str(&padding);
            }
        }
        let end = out.trim_end_matches(' ').len().max(start);
        out.truncate(end);
        out.push('\n');
    }
}

/// `text` cut to `width` columns, with `…` where something was left out.
pub fn fitted(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for character in text.chars() {
        let next = character.width().unwrap_or(0);
        if used + next + 1 > width {
            break;
        }
        used += next;
        out.push(character);
    }
    out.push('…');
    out
}
