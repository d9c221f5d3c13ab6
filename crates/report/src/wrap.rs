//! Breaking lines between words.

/// Cuts a text so that each piece, after `indent` columns (six for all but the first),
/// fits into `width` columns. Colours take no room; a word longer than a line stays whole.
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    hanging(text, width, indent, 6)
}

/// The same with `rest` columns before all pieces but the first.
pub fn hanging(text: &str, width: usize, first: usize, rest: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut column = first;
    for (index, word) in text.split(' ').enumerate() {
        let length = columns(word);
        if index > 0 {
            if column + 1 + length > width && !piece.trim().is_empty() {
                pieces.push(std::mem::take(&mut piece));
                column = rest;
            } else {
                piece.push(' ');
                column += 1;
            }
        }
        piece += word;
        column += length;
    }
    pieces.push(piece);
    pieces
}

/// Folds every line of a text that is longer than `width`. What follows is indented like the line, by two columns more.
///
/// ```
/// use assay_report::wrap::fold;
/// assert_eq!(fold("  one two three\n", 10), "  one two\n    three\n");
/// ```
pub fn fold(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        if columns(content) <= width {
            out += line;
            continue;
        }
        let words = content.trim_start_matches(' ');
        let indent = content.len() - words.len();
        let pieces = hanging(words, width, indent, indent + 2);
        for (index, piece) in pieces.iter().enumerate() {
            let (before, end) = (
                if index == 0 { indent } else { indent + 2 },
                if index + 1 == pieces.len() { "" } else { "\n" },
            );
            out.extend(std::iter::repeat_n(' ', before));
            out += piece;
            out += end;
        }
        out += &line[content.len()..];
    }
    out
}

/// The paragraphs and list items of a Markdown text as one line each, to be folded anew. Headings, code and tables stay.
pub fn unwrap_paragraphs(markdown: &str) -> String {
    let starts_block = |line: &str| {
        let word = line.trim_start();
        word.starts_with(['#', '|', '-', '*']) || line.starts_with("    ") || word.is_empty()
    };
    let mut out = String::with_capacity(markdown.len());
    let mut fenced = false;
    let mut open = false;
    for line in markdown.lines() {
        let fence = line.trim_start().starts_with("```");
        if open && !fenced && !fence && !starts_block(line) {
            out.push(' ');
            out += line.trim_start();
            continue;
        }
        if open {
            out.push('\n');
        }
        fenced ^= fence;
        let alone = fenced || fence || line.starts_with(['#', '|']) || line.starts_with("    ");
        out += line;
        open = !alone && !line.trim().is_empty();
        if !open {
            out.push('\n');
        }
    }
    if open {
        out.push('\n');
    }
    out
}

/// Columns a word takes: its characters without colours (`ESC [ … m`).
fn columns(word: &str) -> usize {
    let mut count = 0;
    let mut characters = word.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => while characters.next().is_some_and(|c| c != 'm') {},
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_spaces() {
        assert_eq!(wrap("a   b", 80, 2), ["a   b"]);
        assert_eq!(wrap("one two three", 12, 0), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4, 2), ["unbreakable"]);
        assert_eq!(wrap("", 4, 2), [""]);
    }

    #[test]
    fn folded_lines_keep_their_indentation_and_short_ones_their_blanks() {
        assert_eq!(fold("a   b\n\n", 5), "a   b\n\n");
        assert_eq!(fold("  ab cd ef", 7), "  ab cd\n    ef");
        assert_eq!(fold("unbreakable\nx", 4), "unbreakable\nx");
        for width in 1..40 {
            let text = "  a line of several words\nand another one, which is longer than that\n";
            let folded = fold(text, width);
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(words(&folded), words(text));
        }
    }

    #[test]
    fn paragraphs_become_lines_and_code_stays() {
        let text = "# T\n\none\ntwo\n\n- a\n  b\n- c\n\n```\nx\ny\n```\nend\n";
        assert_eq!(
            unwrap_paragraphs(text),
            "# T\n\none two\n\n- a b\n- c\n\n```\nx\ny\n```\nend\n"
        );
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(wrap("\u{1b}[31mone\u{1b}[0m two", 7, 0).len(), 1);
    }
}
