//! What may reach a terminal.
//!
//! Names come from files, devices and references of strangers, and a terminal obeys control characters: it renames
//! windows, moves the cursor, hides lines, paints. On the way to one every control character becomes visible; only line ends, tabs and
//! the colours of reports pass. Those are sealed by a number that no name can know.

use assay_report::style::Painter;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::sync::LazyLock;

/// What the colours of reports begin with, another one in each process: `[`, a number, and `;`.
static SEAL: LazyLock<(u64, String)> = LazyLock::new(|| {
    let number = RandomState::new().build_hasher().finish();
    (number, format!("[{number};"))
});

/// A painter whose colours pass.
pub(crate) fn painter(colour: bool) -> Painter {
    match colour {
        true => Painter::sealed(SEAL.0),
        false => Painter::new(false),
    }
}

/// Clears the terminal that standard output is, for a page that is drawn again and again.
#[cfg(feature = "fleet")]
pub(crate) fn clear() -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(b"\x1b[H\x1b[2J")?;
    stdout.flush()
}

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

/// Longest colour: a seal of up to 20 digits, and `1;31`.
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
    if byte == b'm'
        && let Some(code) = seen.strip_prefix(SEAL.1.as_bytes())
    {
        out.extend(b"\x1b[");
        out.extend(code);
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
    use super::{painter, visible};
    use assay_report::style::Role;

    #[test]
    fn colours_of_reports_lines_and_letters_pass() {
        for text in ["plain\n\ttext", "é ü µ █ 日本", "\u{a0}"] {
            assert_eq!(visible(text), text);
        }
        let painted = painter(true).paint(Role::Bad, "red \x1b[32mgreen");
        assert_eq!(visible(&painted), "\x1b[1;31mred ␛[32mgreen\x1b[0m");
        assert_eq!(painter(false).paint(Role::Bad, "red"), "red");
    }

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        assert_eq!(visible("a\x1b]0;title\x07b"), "a␛]0;title␇b");
        for escape in ["2J", "31m", "8m", "0m", "m", "1;31m", "38;5;0m", "123;31m"] {
            assert_eq!(visible(&format!("\x1b[{escape}")), format!("␛[{escape}"));
        }
        assert_eq!(visible("\x1b\x1b[31m"), "␛␛[31m");
        assert_eq!(visible("x\r\x08\u{9b}2J"), "x␍␈\u{fffd}2J");
        let long = format!("\x1b[{}m", "1;".repeat(40));
        assert!(!visible(&long).contains('\x1b'));
    }
}
