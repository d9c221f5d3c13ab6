//! Answers as the inside of a page.

use super::terminal::heat;
use super::{Advice, Answer, Block, percent};
use crate::html::escape;
use crate::style::Role;

/// The style of blocks: part of the page's style sheet.
pub const STYLE: &str = include_str!("blocks.css");

pub(super) fn render(answer: &Answer) -> String {
    answer.blocks.iter().map(one).collect()
}

/// The class of a role in the page's style sheet.
pub(crate) fn class(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Good) => "good",
        Some(Role::Warn) => "warn",
        Some(Role::Bad) => "bad",
        Some(Role::Dim) => "dim",
        _ => "plain",
    }
}

fn one(block: &Block) -> String {
    match block {
        Block::Headline(headline) => format!(
            "<h1>{} <span class=dim>{}</span> <b class={}>{}</b></h1><p class=dim>{}</p>",
            escape(&headline.name),
            escape(&headline.place),
            class(headline.role),
            escape(&headline.value),
            escape(&headline.note)
        ),
        Block::Heading(text) => title(text),
        Block::Paragraph(paragraph) => format!(
            "<p class={}>{}</p>",
            class(paragraph.role),
            escape(&paragraph.text)
        ),
        Block::Figures(figures) => {
            let rows = figures.iter().map(|figure| {
                format!(
                    "<div><dt>{}</dt><dd><b class={}>{}</b> <span class=dim>{}</span></dd></div>",
                    escape(&figure.label),
                    class(figure.role),
                    escape(&figure.value),
                    escape(&figure.note)
                )
            });
            format!("<dl class=figures>{}</dl>", rows.collect::<String>())
        }
        Block::Table(table) => format!("<div class=wide>{}</div>", table.html()),
        Block::Bars(bars) => {
            let rows = bars.rows.iter().map(|row| {
                format!(
                    "<tr><td>{}</td><td class=n>{}</td><td class=n>{}</td><td class=track>{}</td><td class=\"long dim\">{}</td></tr>",
                    escape(&row.label),
                    escape(&row.value),
                    percent(row.share),
                    track(row.share, class(heat(row.share))),
                    escape(&row.note)
                )
            });
            let rows: String = rows.collect();
            format!(
                "{}<div class=wide><table class=bars>{rows}</table></div>",
                title(&bars.title)
            )
        }
        Block::Source(source) => {
            let rows = source.lines.iter().map(|line| {
                format!(
                    "<tr><td class=n>{}</td><td class=n>{}</td><td class=track>{}</td><td class=long><code>{}</code></td>\
                     <td class=\"long dim\">{}</td></tr>",
                    escape(&line.place),
                    percent(line.share),
                    track(line.share, class(heat(line.share))),
                    escape(&line.text),
                    escape(&line.why)
                )
            });
            let rows: String = rows.collect();
            format!(
                "{}<div class=wide><table class=bars>{rows}</table></div>",
                title(&source.title)
            )
        }
        Block::Listing(listing) => format!(
            "{}<pre class=wide>{}</pre>",
            title(&listing.title),
            escape(&listing.text)
        ),
        Block::Picture(picture) => format!(
            "<figure>{}<figcaption class=dim>{}</figcaption></figure>",
            picture.svg,
            escape(&picture.caption)
        ),
        Block::Advice(advice) => advised(advice),
    }
}

/// A bar of a table.
fn track(share: f64, class: &str) -> String {
    let width = 100.0 * share.clamp(0.0, 1.0);
    format!("<span class=\"track {class}\"><i style=\"width:{width:.1}%\"></i></span>")
}

fn title(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("<h2>{}</h2>", escape(text)),
    }
}

fn advised(advice: &Advice) -> String {
    let mut out = format!(
        "<section class=advice><p><b class={}>{}</b> <span class=mono>{}</span> <span class=dim>{}</span></p>",
        class(advice.role),
        escape(&advice.weight),
        escape(&advice.rule),
        escape(&advice.place)
    );
    if !advice.text.is_empty() {
        out += &format!("<p>{}</p>", escape(&advice.text));
    }
    if !advice.patch.is_empty() {
        let lines = advice.patch.iter().map(|line| {
            let class = match line.as_bytes().first() {
                Some(b'+') => "good",
                Some(b'-') => "bad",
                _ => "dim",
            };
            format!("<span class={class}>{}</span>\n", escape(line))
        });
        out += &format!("<pre class=wide>{}</pre>", lines.collect::<String>());
    }
    if !advice.command.is_empty() {
        out += &format!("<pre class=wide>{}</pre>", escape(&advice.command));
    }
    if !advice.gain.is_empty() {
        out += &format!("<p class=good>{}</p>", escape(&advice.gain));
    }
    out + "</section>"
}
