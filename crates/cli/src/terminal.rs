//! What may reach a terminal.
//!
//! Names come from files, devices and references of strangers, and a terminal obeys control characters: it renames
//! windows, moves the cursor, hides lines. On the way to one every control character becomes visible; only line
//! ends, tabs and the weights and colours of letters that reports are painted with pass.

use std::io::Write;

/// Passes text on to a terminal without what it would obey.
#[derive(Debug)]
pub(crate) struct Visible<W> {
    inner: W,
    state: State,
}

/// What came before.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// The first byte of U+0080 to U+00BF, of which the first half are control characters.
    Latin,
    /// An escape, and what followed it: a colour as long as it looks like one.
    Escape(Vec<u8>),
}

/// Longest colour: `ESC [ 1;4;31 m` and some more.
const LONGEST_COLOUR: usize = 32;

impl<W: Write> Visible<W> {
    pub(crate) fn new(inner: W) -> Visible<W> {
        Visible {
            inner,
            state: State::Text,
        }
    }

    fn filtered(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.state = match std::mem::replace(&mut self.state, State::Text) {
                State::Text => text(byte, &mut out),
                State::Latin => latin(byte, &mut out),
                State::Escape(seen) => escape(seen, byte, &mut out),
            };
        }
        out
    }
}

fn text(byte: u8, out: &mut Vec<u8>) -> State {
    match byte {
        b'\x1b' => return State::Escape(Vec::new()),
        0xc2 => return State::Latin,
        b'\n' | b'\t' => out.push(byte),
        // Control characters as their pictures, U+2400 and on.
        0..0x20 => out.extend([0xe2, 0x90, 0x80 + byte]),
        0x7f => out.extend("␡".as_bytes()),
        _ => out.push(byte),
    }
    State::Text
}

fn latin(byte: u8, out: &mut Vec<u8>) -> State {
    match byte {
        0x80..0xa0 => out.extend("\u{fffd}".as_bytes()),
        _ => out.extend([0xc2, byte]),
    }
    State::Text
}

fn escape(mut seen: Vec<u8>, byte: u8, out: &mut Vec<u8>) -> State {
    let inside = match seen.first() {
        None => byte == b'[',
        Some(_) => byte.is_ascii_digit() || byte == b';',
    };
    if !seen.is_empty() && byte == b'm' && leaves_text_readable(&seen) {
        out.push(b'\x1b');
        out.extend(&seen);
        out.push(b'm');
        return State::Text;
    }
    if inside && seen.len() < LONGEST_COLOUR {
        seen.push(byte);
        return State::Escape(seen);
    }
    out.extend("␛".as_bytes());
    out.extend(&seen);
    text(byte, out)
}

/// Returns true if all parameters of a colour (`[1;31`) are weights, underlines or foregrounds: names may hold colours too, and what
/// conceals, blinks or paints the background would hide the text behind them.
fn leaves_text_readable(seen: &[u8]) -> bool {
    let parameters = seen
        .get(1..)
        .unwrap_or_default()
        .split(|&byte| byte == b';');
    let mut numbers = parameters.map(|digits| std::str::from_utf8(digits).unwrap_or("?"));
    numbers.all(|digits| {
        let number = if digits.is_empty() {
            Ok(0)
        } else {
            digits.parse::<u8>()
        };
        matches!(number, Ok(0..=4 | 22..=24 | 31..=37 | 39 | 90..=97))
    })
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let filtered = self.filtered(bytes);
        self.inner.write_all(&filtered)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// A text without what a terminal would obey.
pub(crate) fn visible(text: &str) -> String {
    let mut out = Vec::new();
    let mut visible = Visible::new(&mut out);
    // Writing to memory cannot fail; an escape at the very end is left out.
    let _ = visible.write_all(text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn colours_lines_and_letters_pass() {
        for text in [
            "plain\n\ttext",
            "\x1b[1;31mred\x1b[0m",
            "é ü µ █ 日本",
            "\u{a0}",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        assert_eq!(visible("a\x1b]0;title\x07b"), "a␛]0;title␇b");
        assert_eq!(visible("\x1b[2J"), "␛[2J");
        assert_eq!(visible("\x1b\x1b[31m"), "␛\x1b[31m");
        for hidden in ["8", "30", "0;8", "7", "40", "38;5;0", "107", "31;8", "999"] {
            assert_eq!(visible(&format!("\x1b[{hidden}m")), format!("␛[{hidden}m"));
        }
        assert_eq!(visible("x\r\x08\u{9b}2J"), "x␍␈\u{fffd}2J");
        assert_eq!(
            visible(&format!("\x1b[{}m", "1;".repeat(40)))
                .matches('\x1b')
                .count(),
            0
        );
    }
}
