//! A profile as text, as a page, as a graph.

mod answer;
mod closing;
mod dot;
mod flame;
mod html;
mod lines;
mod listing;
mod side;
mod source;
mod stacks;
mod text;
mod time;

pub use answer::{advice, estimate, findings, hot_lines, lead, limit, name, occupancy, warnings};
pub use dot::dot;
pub use html::{html, html_with_source, html_with_time};
pub use lines::{LineCost, lines};
pub use listing::{ListingRow, listing, rows};
pub use source::Sources;
pub use stacks::{Frame, FunctionCost, Stacks};
pub use text::{sections, text};

use assay_report::blocks::Answer;
use assay_report::style::Painter;

/// What the cost of the source is broken down by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The line an instruction came from, the innermost of inlined calls.
    #[default]
    Line,
    /// The function that holds the line.
    Function,
    /// The chain of calls from the kernel down to the line.
    Chain,
}

/// A part of the report for those who look closer, each asked for by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Registers, threadgroup memory and occupancy.
    Registers,
    /// Cycles by unit.
    Units,
    /// Loops, per iteration.
    Loops,
    /// Float operations and bytes of a simdgroup.
    Work,
    /// What each wait stands for.
    Waits,
    /// What limits the hottest loop.
    Bounds,
    /// Source lines of a simdgroup alone.
    Lines,
    /// Basic blocks.
    Blocks,
    /// Instructions by class, and the constant program.
    Mix,
    /// Every finding.
    Findings,
    /// The annotated listing.
    Asm,
}

impl Section {
    /// All, in the order of the report.
    pub const ALL: [Section; 11] = [
        Section::Registers,
        Section::Units,
        Section::Loops,
        Section::Work,
        Section::Waits,
        Section::Bounds,
        Section::Lines,
        Section::Blocks,
        Section::Mix,
        Section::Findings,
        Section::Asm,
    ];

    /// The name it is asked for by.
    pub const fn name(self) -> &'static str {
        match self {
            Section::Registers => "registers",
            Section::Units => "units",
            Section::Loops => "loops",
            Section::Work => "work",
            Section::Waits => "waits",
            Section::Bounds => "bounds",
            Section::Lines => "lines",
            Section::Blocks => "blocks",
            Section::Mix => "mix",
            Section::Findings => "findings",
            Section::Asm => "asm",
        }
    }
}

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Colour or not.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
    /// The text of source files, to be shown between the instructions.
    pub sources: Option<&'a Sources>,
    /// What the cost of the source is broken down by.
    pub view: View,
}

/// What a page leads with: the answer, and what each source line takes of a predicted time.
#[derive(Clone, Debug, Default)]
pub struct Lead {
    /// The report's first screen, with all findings.
    pub answer: Answer,
    /// The lines; none without a predicted time.
    pub lines: Vec<LeadLine>,
}

/// A source line's part of a predicted time.
#[derive(Clone, Debug, Default)]
pub struct LeadLine {
    /// The file, as the program names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its share of the whole time.
    pub share: f64,
    /// Its time, and why.
    pub why: String,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Style {
            painter: Painter::default(),
            width: 100,
            sources: None,
            view: View::Line,
        }
    }
}
