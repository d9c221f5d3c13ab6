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
    fn colours_take_no_room() {
        assert_eq!(wrap("\u{1b}[31mone\u{1b}[0m two", 7, 0).len(), 1);
    }
}
