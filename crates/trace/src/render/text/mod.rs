//! The report as text for a terminal, a file per topic.

mod gaps;
mod gpu;
mod host;
mod memory;
mod page;
mod program;
mod screen;
mod summary;
mod work;

pub(in crate::render) use program::host;

use crate::analysis::document::Analysis;
use crate::analysis::view::View;
use crate::analysis::{Options, analyze_view};
use crate::error::Error;
use crate::recording::Recording;
use assay_report::blocks::{Detail, View as BlockView};
use assay_report::style::Painter;
use page::Page;

/// How to lay text out.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Columns.
    pub width: usize,
    /// Colour, or none.
    pub painter: Painter,
    /// Rows per table.
    pub top: usize,
    /// What fits a screen, or everything.
    pub detail: Detail,
    /// Also what is usually left out: tables read, histogram, queue.
    pub verbose: bool,
}

/// The report on a recording.
pub fn report_text(
    recording: &Recording,
    options: &Options,
    style: TextStyle,
) -> Result<(Analysis, String), Error> {
    let view = View::new(recording, options)?;
    let analysis = analyze_view(&view, options);
    if style.detail == Detail::Screen && recording.capture.is_none() {
        let (painter, width) = (style.painter, style.width);
        let answer = match &analysis.program {
            Some(program) => program::screen(&analysis, program),
            None => screen::screen(&analysis, &view),
        };
        let text = answer.terminal(&BlockView {
            painter,
            width,
            ..BlockView::default()
        });
        return Ok((analysis, text));
    }
    let mut page = Page {
        out: String::new(),
        style,
    };
    if recording.capture.is_none() {
        page.head(&analysis);
    }
    if let Some(capture) = &recording.capture {
        let text = crate::capture::text::render(capture, style);
        page.out.push_str(&text);
    }
    if recording.capture.is_none() {
        page.verdict(&analysis.verdict);
        if analysis.intervals.rows_target > 0 {
            page.program(&analysis);
            page.timeline(&view);
            page.figures(&analysis);
            page.gaps(&analysis);
            page.labels(&analysis);
            page.throughput(&analysis);
            page.host(&analysis);
            page.memory(&analysis);
            page.others(&analysis);
            page.extras(&analysis);
            page.baseline(&analysis);
        }
        page.findings(&analysis.findings);
        page.missing(&analysis.recording);
    }
    if style.verbose {
        page.tables(&analysis.recording);
    }
    page.warnings(&analysis.recording.warnings);
    Ok((analysis, page.out))
}
