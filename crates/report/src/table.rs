//! Text tables that line up, fit a width, and survive a pipe.
//!
//! Columns are separated by two blanks, without frames: such tables can be cut,
//! sorted and compared with the usual tools. A table wider than the terminal gives way
//! in this order: long headings break into lines, the columns marked [`Column::shrink`]
//! are cut with `…` down to a readable width, and columns that still find no place stand
//! below, under the first column repeated.
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
//!
//! let mut wide = Table::new([Column::left("loop"), Column::right("FLOP per byte"), Column::right("share of peak")]);
//! wide.row(["L0", "0.7", "1.5 %"]);
//! assert_eq!(
//!     wide.render(30),
//!     "       FLOP per\nloop       byte  share of peak\nL0          0.7          1.5 %\n"
//! );
//! assert_eq!(wide.render(12), "      FLOP\n       per\nloop  byte\nL0     0.7\n      share\n         of\nloop   peak\nL0    1.5 %\n");
//! ```

use crate::blocks::{escaped, role_class};
use crate::html::escape;
use crate::style::{Painter, Role};
use crate::wrap::hanging;
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

/// Columns of a table that stand side by side, each with its width.
type Block = Vec<(usize, usize)>;

const GAP: usize = 2;
/// A shrinking column is not cut below this while there is another way.
const READABLE: usize = 16;
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

    /// The table as Markdown, in which cells stay text.
    pub fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut out = row(&mut self.columns.iter().map(|column| escaped(&column.heading)));
        out += &row(&mut self.columns.iter().map(|column| match column.right {
            true => "---:".to_owned(),
            false => "---".to_owned(),
        }));
        for cells in &self.rows {
            out += &row(&mut (0..self.columns.len()).map(|column| {
                let cell = cells.get(column);
                cell.map_or(String::new(), |cell| escaped(&cell.text))
            }));
        }
        out
    }

    /// The table as an element of a page.
    pub fn html(&self) -> String {
        let side = |column: usize| match self.columns[column].right {
            true => " class=n",
            false => "",
        };
        let mut out = "<table class=stack><tr>".to_owned();
        for (at, column) in self.columns.iter().enumerate() {
            out += &format!("<th{}>{}</th>", side(at), escape(&column.heading));
        }
        out += "</tr>";
        for cells in &self.rows {
            out += "<tr>";
            for at in 0..self.columns.len() {
                let cell = cells.get(at);
                let text = cell.map_or("", |cell| cell.text.as_str());
                let role = role_class(cell.and_then(|cell| cell.role));
                let class = match (self.columns[at].right, role) {
                    (_, "plain") => side(at).to_owned(),
                    (true, role) => format!(" class=\"n {role}\""),
                    (false, role) => format!(" class={role}"),
                };
                // On a narrow screen a row is a paragraph that begins with its first cell.
                let heading = match (at, self.columns[at].heading.as_str()) {
                    (0, _) | (_, "") => String::new(),
                    (_, heading) => format!(" data-h=\"{}\"", escape(heading)),
                };
                out += &format!("<td{class}{heading}>{}</td>", escape(text));
            }
            out += "</tr>";
        }
        out + "</table>"
    }

    /// Rows that were added.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines at most `width` columns wide, as far as its words allow.
    pub fn render(&self, width: usize) -> String {
        let mut out = String::new();
        for block in self.blocks(width) {
            self.headings(&mut out, &block);
            for row in &self.rows {
                self.line(&mut out, &block, |column| match row.get(column) {
                    Some(cell) => (cell.text.as_str(), cell.role),
                    None => ("", None),
                });
            }
        }
        out
    }

    /// Headings, in as many lines as the longest needs, the last just above the rows.
    fn headings(&self, out: &mut String, block: &Block) {
        let lines: Vec<Vec<String>> = block
            .iter()
            .map(|&(column, width)| hanging(&self.columns[column].heading, width, 0, 0))
            .collect();
        if self.columns.iter().all(|column| column.heading.is_empty()) {
            return;
        }
        let height = lines.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut next = lines.iter();
            self.line(out, block, |_| {
                let words = next.next().map_or(&[][..], Vec::as_slice);
                let text = (at + words.len())
                    .checked_sub(height)
                    .and_then(|i| words.get(i));
                (text.map_or("", String::as_str), Some(Role::Dim))
            });
        }
    }

    /// The columns of the table with their widths, in blocks that fit `width` one by one.
    fn blocks(&self, width: usize) -> Vec<Block> {
        let cells = |column: usize| {
            let of_rows = self.rows.iter().filter_map(|row| row.get(column));
            of_rows.map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        let room = width.saturating_sub(self.indent);
        let mut block: Block = (0..self.columns.len())
            .map(|column| {
                (
                    column,
                    cells(column).max(self.columns[column].heading.width()),
                )
            })
            .collect();
        if self.break_headings(&mut block, room, cells) {
            return vec![block];
        }
        let mut cut = block.clone();
        if self.shrink(&mut cut, room, READABLE) {
            return vec![cut];
        }
        self.fold(&block, room)
    }

    /// Narrows columns to their cells and the longest word of their heading, those first that
    /// gain most, until `block` fits. Returns true if it does.
    fn break_headings(
        &self,
        block: &mut Block,
        room: usize,
        cells: impl Fn(usize) -> usize,
    ) -> bool {
        let least = |column: usize| {
            let words = self.columns[column]
                .heading
                .split(' ')
                .map(UnicodeWidthStr::width);
            words.max().unwrap_or(0).max(cells(column))
        };
        let mut gains: Vec<(usize, usize)> = block
            .iter()
            .enumerate()
            .map(|(at, &(column, width))| (width - least(column), at))
            .filter(|&(gain, _)| gain > 0)
            .collect();
        gains.sort_by_key(|&(gain, at)| (std::cmp::Reverse(gain), at));
        for (gain, at) in gains {
            let excess = taken(block).saturating_sub(room);
            if excess == 0 {
                break;
            }
            block[at].1 -= gain.min(excess);
        }
        taken(block) <= room
    }

    /// Cuts shrinking columns, the widest first, down to `least`, until `block` fits. Returns true if it does.
    fn shrink(&self, block: &mut Block, room: usize, least: usize) -> bool {
        while taken(block) > room {
            let widest = block
                .iter_mut()
                .filter(|(column, width)| self.columns[*column].shrink && *width > least)
                .max_by_key(|(_, width)| *width);
            match widest {
                Some((_, width)) => *width -= 1,
                None => return false,
            }
        }
        true
    }

    /// Several blocks, each the first column and as many of the others as fit.
    fn fold(&self, block: &Block, room: usize) -> Vec<Block> {
        let Some((&key, rest)) = block.split_first() else {
            return Vec::new();
        };
        let mut blocks: Vec<Block> = Vec::new();
        for &column in rest {
            match blocks.last_mut() {
                Some(last) if taken(last) + GAP + column.1 <= room => last.push(column),
                _ => blocks.push(vec![key, column]),
            }
        }
        if blocks.is_empty() {
            blocks.push(vec![key]);
        }
        for block in &mut blocks {
            self.shrink(block, room, NARROWEST);
        }
        blocks
    }

    fn line<'a>(
        &self,
        out: &mut String,
        block: &Block,
        mut cell: impl FnMut(usize) -> (&'a str, Option<Role>),
    ) {
        let start = out.len();
        out.push_str(&" ".repeat(self.indent));
        for (at, &(column, width)) in block.iter().enumerate() {
            if at > 0 {
                out.push_str(&" ".repeat(GAP));
            }
            let (text, role) = cell(column);
            let text = fitted(text, width);
            let padding = " ".repeat(width.saturating_sub(text.width()));
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

/// Columns a block takes.
fn taken(block: &Block) -> usize {
    let gaps = block.len().saturating_sub(1) * GAP;
    block.iter().map(|(_, width)| width).sum::<usize>() + gaps
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
