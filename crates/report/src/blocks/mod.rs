//! A report as a list of blocks, each rendered once to a terminal, to Markdown and to HTML.
//!
//! A command says *what* it found (a headline, figures, bars, lines of source, advice); how that looks is decided here, so that
//! the same answer reaches a terminal of 80 columns, a pull request's comment, a page and an agent. An answer is a first
//! screen: it fits 80×24, and says how to see more.
//!
//! ```
//! use assay_report::blocks::{Answer, Bar, Block, Headline, View};
//! let mut answer = Answer::default();
//! answer.push(Headline { name: "saxpy".into(), value: "12 µs".into(), note: "8–16 µs, modelled".into(), ..Headline::default() });
//! answer.push(Block::bars("Where the time goes", vec![Bar::new("DRAM", "10 µs", 0.8)]));
//! let text = answer.terminal(&View { width: 60, ..View::default() });
//! assert_eq!(text, "saxpy  12 µs  (8–16 µs, modelled)\nWhere the time goes\n  DRAM  10 µs  80 %  ███████████████████▎\n");
//! assert!(answer.markdown().starts_with("**saxpy** 12 µs (8–16 µs, modelled)\n"));
//! ```

mod html;
mod markdown;
mod terminal;

use crate::style::{Painter, Role};
use crate::table::Table;

pub use html::STYLE;
pub(crate) use html::class as role_class;
pub(crate) use markdown::escaped;

/// What a command answers: blocks in reading order.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Block {
    /// The answer to the question, in a line.
    Headline(Headline),
    /// A title over the blocks that follow.
    Heading(String),
    /// Sentences.
    Paragraph(Paragraph),
    /// Key figures, one a line.
    Figures(Vec<Figure>),
    /// Rows under headings; empty headings make a list.
    Table(Table),
    /// Shares of a whole.
    Bars(Bars),
    /// Lines of source with what they take.
    Source(Source),
    /// Text as it is: machine code, a rewritten source.
    Listing(Listing),
    /// A drawing. Texts show its caption.
    Picture(Picture),
    /// What to do, with code.
    Advice(Advice),
}

/// The answer: what was looked at, where, and the figure.
#[derive(Clone, Debug, Default)]
pub struct Headline {
    /// The kernel, file or run.
    pub name: String,
    /// The chip or device; may be empty.
    pub place: String,
    /// The figure: `10.6 ms`.
    pub value: String,
    /// Its band and kind: `7.2–15.6 ms, modelled`.
    pub note: String,
    /// How the figure is shown.
    pub role: Option<Role>,
}

/// Sentences that belong together.
#[derive(Clone, Debug, Default)]
pub struct Paragraph {
    /// The text, without line ends.
    pub text: String,
    /// Why it stands out.
    pub role: Option<Role>,
}

/// A figure with a label.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The figure with its unit.
    pub value: String,
    /// What to know about it.
    pub note: String,
    /// Why the figure stands out.
    pub role: Option<Role>,
}

impl Figure {
    /// A figure that does not stand out.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Figure {
        Figure {
            label: label.into(),
            value: value.into(),
            ..Figure::default()
        }
    }

    /// The same with a remark.
    pub fn note(mut self, note: impl Into<String>) -> Figure {
        self.note = note.into();
        self
    }

    /// The same shown as `role`.
    pub fn role(mut self, role: Role) -> Figure {
        self.role = Some(role);
        self
    }
}

/// Bars under a title.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// The title; may be empty.
    pub title: String,
    /// The bars.
    pub rows: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    /// What it is.
    pub label: String,
    /// The figure with its unit; may be empty.
    pub value: String,
    /// Part of the whole, 0 to 1.
    pub share: f64,
    /// What to know about it.
    pub note: String,
}

impl Bar {
    /// A bar without a remark.
    pub fn new(label: impl Into<String>, value: impl Into<String>, share: f64) -> Bar {
        Bar {
            label: label.into(),
            value: value.into(),
            share,
            note: String::new(),
        }
    }
}

/// Lines of source under a title.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The title; may be empty.
    pub title: String,
    /// The lines, in the order they are to be read.
    pub lines: Vec<SourceLine>,
}

/// A line of source and its heat.
#[derive(Clone, Debug, Default)]
pub struct SourceLine {
    /// `19`, or `tile.h:19` where several files are shown.
    pub place: String,
    /// Its part of the whole, 0 to 1.
    pub share: f64,
    /// The text, or why it is not known.
    pub text: String,
    /// The reason, in a few words; may be empty.
    pub why: String,
}

/// Text as it is, under a title.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The title; may be empty.
    pub title: String,
    /// The lines.
    pub text: String,
    /// The language's name for a fence: `metal`.
    pub language: &'static str,
}

/// A drawing made by Assay.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// SVG, inserted as it is.
    pub svg: String,
    /// What it shows, for those who cannot see it.
    pub caption: String,
}

/// What to do.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// The rule that says so; may be empty.
    pub rule: String,
    /// How much it matters: a share of the time, or a severity.
    pub weight: String,
    /// Where: `softmax.metal:19`.
    pub place: String,
    /// What was seen, and what to do.
    pub text: String,
    /// Lines that begin with `-`, `+` or a blank.
    pub patch: Vec<String>,
    /// A command to copy.
    pub command: String,
    /// What it would bring.
    pub gain: String,
    /// Why it stands out.
    pub role: Option<Role>,
}

/// How much of an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What fits a screen.
    Screen,
    /// Everything.
    Full,
}

impl Detail {
    /// How many rows are shown: all, or as many as fit.
    pub fn rows(self, most: usize) -> usize {
        match self {
            Detail::Screen => most,
            Detail::Full => usize::MAX,
        }
    }
}

/// How an answer is laid out on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Colour or not.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
    /// Source lines and remarks under them are folded at `width`, as a terminal needs and a pipe does not.
    pub folds: bool,
}

impl Default for View {
    fn default() -> Self {
        View {
            painter: Painter::default(),
            width: 100,
            folds: false,
        }
    }
}

impl Answer {
    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Block>) {
        self.blocks.push(block.into());
    }

    /// Text for a terminal; no line is longer than the view, as far as its words allow.
    pub fn terminal(&self, view: &View) -> String {
        terminal::render(self, view)
    }

    /// Markdown, in which names of others stay text.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// The inside of a page's body; [`STYLE`] belongs into its style sheet.
    pub fn html(&self) -> String {
        html::render(self)
    }
}

impl Block {
    /// Sentences that do not stand out.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Paragraph(Paragraph {
            text: text.into(),
            role: None,
        })
    }

    /// Sentences shown as `role`.
    pub fn noted(text: impl Into<String>, role: Role) -> Block {
        Block::Paragraph(Paragraph {
            text: text.into(),
            role: Some(role),
        })
    }

    /// Bars under a title.
    pub fn bars(title: impl Into<String>, rows: Vec<Bar>) -> Block {
        Block::Bars(Bars {
            title: title.into(),
            rows,
        })
    }
}

macro_rules! from {
    ($($kind:ident),*) => {
        $(impl From<$kind> for Block {
            fn from(block: $kind) -> Block {
                Block::$kind(block)
            }
        })*
    };
}

from!(
    Headline, Paragraph, Table, Bars, Source, Listing, Picture, Advice
);

impl From<Vec<Figure>> for Block {
    fn from(figures: Vec<Figure>) -> Block {
        Block::Figures(figures)
    }
}

/// A share as a whole percentage; small ones keep a digit.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value {
        value if !value.is_finite() => "?".to_owned(),
        value if value > 0.0 && value < 0.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

#[cfg(test)]
mod tests;
