//! Answers as Markdown, for pull requests, notes and agents.

use super::{Advice, Answer, Block, percent};

pub(super) fn render(answer: &Answer) -> String {
    let mut out = String::new();
    for block in &answer.blocks {
        let text = one(block);
        if text.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out += &text;
    }
    out
}

fn one(block: &Block) -> String {
    match block {
        Block::Headline(headline) => {
            let mut line = format!("**{}**", escaped(&headline.name));
            for part in [&headline.place, &headline.value] {
                if !part.is_empty() {
                    line += &format!(" {}", escaped(part));
                }
            }
            if !headline.note.is_empty() {
                line += &format!(" ({})", escaped(&headline.note));
            }
            line + "\n"
        }
        Block::Heading(text) => title(text),
        Block::Paragraph(paragraph) => format!("{}\n", escaped(&paragraph.text)),
        Block::Figures(figures) => {
            let lines = figures.iter().map(|figure| {
                let note = match figure.note.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", escaped(&figure.note)),
                };
                format!(
                    "- {}: {}{note}\n",
                    escaped(&figure.label),
                    escaped(&figure.value)
                )
            });
            lines.collect()
        }
        Block::Table(table) => table.markdown(),
        Block::Bars(bars) => {
            let rows = bars.rows.iter().map(|row| {
                let figure = match row.value.is_empty() {
                    true => String::new(),
                    false => format!(", {}", escaped(&row.value)),
                };
                let note = match row.note.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", escaped(&row.note)),
                };
                format!(
                    "- {}: {}{figure}{note}\n",
                    escaped(&row.label),
                    percent(row.share)
                )
            });
            title(&bars.title) + &rows.collect::<String>()
        }
        Block::Source(source) => {
            let rows = source.lines.iter().map(|line| {
                let why = match line.why.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", escaped(&line.why)),
                };
                format!(
                    "- {}, {}: {}{why}\n",
                    escaped(&line.place),
                    percent(line.share),
                    code(&line.text)
                )
            });
            title(&source.title) + &rows.collect::<String>()
        }
        Block::Listing(listing) => title(&listing.title) + &fenced(&listing.text, listing.language),
        Block::Picture(picture) => format!("*{}*\n", escaped(&picture.caption)),
        Block::Advice(advice) => advised(advice),
    }
}

fn advised(advice: &Advice) -> String {
    let mut words = Vec::new();
    if !advice.weight.is_empty() {
        words.push(format!("**{}**", escaped(&advice.weight)));
    }
    if !advice.rule.is_empty() {
        words.push(code(&advice.rule));
    }
    if !advice.place.is_empty() {
        words.push(escaped(&advice.place));
    }
    let mut out = words.join(" ");
    if !advice.text.is_empty() {
        out += if out.is_empty() { "" } else { ": " };
        out += &escaped(&advice.text);
    }
    if !advice.gain.is_empty() {
        out += &format!(" ({})", escaped(&advice.gain));
    }
    out.push('\n');
    if !advice.patch.is_empty() {
        out.push('\n');
        out += &fenced(&advice.patch.join("\n"), "diff");
    }
    if !advice.command.is_empty() {
        out.push('\n');
        out += &fenced(&advice.command, "sh");
    }
    out
}

fn title(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("**{}**\n\n", escaped(text)),
    }
}

/// A fence longer than any run of backticks in the text.
fn fenced(text: &str, language: &str) -> String {
    let mut longest = 0;
    for run in text.split(|character| character != '`') {
        longest = longest.max(run.len());
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// A text as code in a line.
fn code(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace(['\n', '\r'], " ");
    match text.contains('`') {
        false => format!("`{text}`"),
        true => {
            let longest = text.split(|character| character != '`').map(str::len).max();
            let fence = "`".repeat(longest.unwrap_or(0) + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// A text whose characters mean nothing to Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(character);
            }
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '@' => out += "@\u{200b}",
            '\n' | '\r' => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}
