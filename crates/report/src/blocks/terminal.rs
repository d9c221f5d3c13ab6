//! Answers on a terminal: a heading stands at the margin, what belongs to it two columns in.

use super::{Advice, Answer, Bars, Block, Figure, Headline, Source, View, percent};
use crate::bar::bar;
use crate::style::Role;
use crate::table::fitted;
use crate::wrap::hanging;
use unicode_width::UnicodeWidthStr;

/// Columns of the longest bar.
const BAR: usize = 24;
/// Labels longer than this do not push the others' figures away.
const LABEL: usize = 24;

pub(super) fn render(answer: &Answer, view: &View) -> String {
    let mut page = Page {
        out: String::new(),
        view: *view,
    };
    for block in &answer.blocks {
        page.block(block);
    }
    page.out
}

struct Page {
    out: String,
    view: View,
}

impl Page {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Headline(headline) => self.headline(headline),
            Block::Heading(text) => self.heading(text),
            Block::Paragraph(paragraph) => self.words(&paragraph.text, paragraph.role, 0, 0),
            Block::Figures(figures) => self.figures(figures),
            Block::Table(table) => {
                let table = table.clone().painter(self.view.painter).indent(2);
                self.out += &table.render(self.view.width);
            }
            Block::Bars(bars) => self.bars(bars),
            Block::Source(source) => self.source(source),
            Block::Listing(listing) => {
                self.heading(&listing.title);
                for line in listing.text.lines() {
                    self.out += line.trim_end();
                    self.out.push('\n');
                }
            }
            Block::Picture(picture) => self.words(&picture.caption, Some(Role::Dim), 2, 2),
            Block::Advice(advice) => self.advice(advice),
        }
    }

    fn heading(&mut self, text: &str) {
        if !text.is_empty() {
            self.words(text, Some(Role::Heading), 0, 2);
        }
    }

    /// A text between `first` and `rest` columns of indentation and the right margin.
    fn words(&mut self, text: &str, role: Option<Role>, first: usize, rest: usize) {
        for (index, piece) in hanging(text, self.view.width, first, rest)
            .iter()
            .enumerate()
        {
            let indent = if index == 0 { first } else { rest };
            self.out += &" ".repeat(indent);
            self.out += &self.painted(role, piece.trim_end());
            self.out.push('\n');
        }
    }

    fn painted(&self, role: Option<Role>, text: &str) -> String {
        match role {
            Some(role) => self.view.painter.paint(role, text),
            None => text.to_owned(),
        }
    }

    fn headline(&mut self, headline: &Headline) {
        let paint = |role, text: &str| self.view.painter.paint(role, text);
        let name = paint(Role::Name, &headline.name);
        let mut parts = vec![match headline.place.is_empty() {
            true => name,
            false => format!("{name} {}", headline.place),
        }];
        if !headline.value.is_empty() {
            let role = headline.role.unwrap_or(Role::Figure);
            // Painted word by word, so that a colour does not go on in the next line.
            let words: Vec<String> = headline
                .value
                .split(' ')
                .map(|word| paint(role, word))
                .collect();
            parts.push(words.join(" "));
        }
        if !headline.note.is_empty() {
            parts.push(format!("({})", headline.note));
        }
        for (index, piece) in hanging(&parts.join("  "), self.view.width, 0, 2)
            .iter()
            .enumerate()
        {
            self.out += if index == 0 { "" } else { "  " };
            self.out += piece.trim();
            self.out.push('\n');
        }
    }

    fn figures(&mut self, figures: &[Figure]) {
        let label = figures.iter().map(|figure| figure.label.width());
        let label = label.max().unwrap_or(0).min(LABEL);
        let margin = 2 + label + 2;
        for figure in figures {
            let padding = " ".repeat(label.saturating_sub(figure.label.width()));
            let text = match figure.note.is_empty() {
                true => figure.value.clone(),
                false => format!("{}  {}", figure.value, figure.note),
            };
            let value = figure.value.as_str();
            for (index, piece) in hanging(&text, self.view.width, margin, margin)
                .iter()
                .enumerate()
            {
                match index {
                    0 => {
                        self.out += "  ";
                        self.out += &self.painted(Some(Role::Dim), &figure.label);
                        self.out += &padding;
                        self.out += "  ";
                        match piece.strip_prefix(value) {
                            Some(rest) => {
                                self.out += &self.painted(figure.role, value);
                                self.out += rest.trim_end();
                            }
                            None => self.out += piece.trim_end(),
                        }
                    }
                    _ => {
                        self.out += &" ".repeat(margin);
                        self.out += piece.trim();
                    }
                }
                self.out.push('\n');
            }
        }
    }

    fn bars(&mut self, bars: &Bars) {
        self.heading(&bars.title);
        let widest = |text: fn(&super::Bar) -> &str| {
            let widths = bars.rows.iter().map(|row| text(row).width());
            widths.max().unwrap_or(0)
        };
        let (label, value) = (widest(|row| &row.label), widest(|row| &row.value));
        let gap = if value > 0 { 2 } else { 0 };
        let taken = 2 + label + gap + value + 2 + 5 + 2;
        let width = self.view.width.saturating_sub(taken).clamp(4, BAR);
        for row in &bars.rows {
            let (name, figure) = (&row.label, &row.value);
            let shown = percent(row.share);
            let left = label.saturating_sub(name.width());
            let right = value.saturating_sub(figure.width());
            let drawn = bar(row.share, width);
            let mut line = format!(
                "  {name}{:left$}{:gap$}{:right$}{figure}  {shown:>4}  {}",
                "",
                "",
                "",
                drawn.trim_end()
            );
            let end = line.width();
            let note = row.note.as_str();
            if !note.is_empty() && end + 2 + note.width() <= self.view.width {
                line += "  ";
                line += &self.view.painter.paint(Role::Dim, note);
            }
            self.out += line.trim_end();
            self.out.push('\n');
            if !note.is_empty() && end + 2 + note.width() > self.view.width {
                self.words(note, Some(Role::Dim), 4, 4);
            }
        }
    }

    fn source(&mut self, source: &Source) {
        self.heading(&source.title);
        let place = source.lines.iter().map(|line| line.place.width());
        let place = place.max().unwrap_or(0);
        let room = self.view.width.saturating_sub(2 + place + 2 + 5 + 2);
        for line in &source.lines {
            let padding = place.saturating_sub(line.place.width());
            let share = percent(line.share);
            let role = heat(line.share);
            let (text, why) = (fitted(&line.text, room), line.why.as_str());
            self.out += &format!("  {:padding$}{}  ", "", line.place);
            self.out += &" ".repeat(5usize.saturating_sub(share.width()));
            self.out += &self.painted(role, &share);
            self.out += "  ";
            self.out += &text;
            if !why.is_empty() && text.width() + 2 + why.width() <= room {
                let left = room - text.width() - why.width();
                self.out += &" ".repeat(left);
                self.out += &self.view.painter.paint(Role::Dim, why);
            }
            self.trim();
            self.out.push('\n');
        }
    }

    fn advice(&mut self, advice: &Advice) {
        let painter = self.view.painter;
        let paint = |role, text: &str| painter.paint(role, text);
        let mut first = Vec::new();
        if !advice.weight.is_empty() {
            let role = advice.role.unwrap_or(Role::Figure);
            first.push(paint(role, &advice.weight));
        }
        if !advice.rule.is_empty() {
            first.push(paint(Role::Name, &advice.rule));
        }
        if !advice.place.is_empty() {
            first.push(advice.place.clone());
        }
        let mut text = first.join("  ");
        if !advice.text.is_empty() {
            text += if text.is_empty() { "" } else { ": " };
            text += &advice.text;
        }
        self.words(&text, None, 2, 4);
        for line in &advice.patch {
            let role = match line.as_bytes().first() {
                Some(b'+') => Some(Role::Good),
                Some(b'-') => Some(Role::Bad),
                _ => Some(Role::Dim),
            };
            let line = fitted(line, self.view.width.saturating_sub(4));
            self.out += "    ";
            self.out += &self.painted(role, &line);
            self.out.push('\n');
        }
        let command = advice.command.as_str();
        let gain = advice.gain.as_str();
        let together = 4 + command.width() + 4 + gain.width();
        match (command.is_empty(), gain.is_empty()) {
            (true, true) => {}
            (true, false) => self.words(gain, Some(Role::Good), 4, 4),
            (false, false) if together <= self.view.width => {
                self.out += &format!("    {command}    {}\n", paint(Role::Good, gain));
            }
            (false, _) => {
                // A command stays in one line: it is there to be copied.
                self.out += &format!("    {command}\n");
                if !gain.is_empty() {
                    self.words(gain, Some(Role::Good), 6, 6);
                }
            }
        }
    }

    fn trim(&mut self) {
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
    }
}

/// How hot a line is: a quarter of the time and more, a twentieth and more.
pub(super) fn heat(share: f64) -> Option<Role> {
    match share {
        share if share >= 0.25 => Some(Role::Bad),
        share if share >= 0.05 => Some(Role::Warn),
        _ => Some(Role::Dim),
    }
}
