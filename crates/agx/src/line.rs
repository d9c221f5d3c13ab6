//! A line of text under construction.
//!
//! Printing is mostly copying: register names, small numbers and suffixes come from
//! tables, as eight bytes at a time, of which only the first few count. That is several
//! times faster than formatting, and needs no branches for the usual operands.

use crate::memo::{Name, PLACE};
use crate::operand::{Hint, MiniFloat, Modifiers, Width};

/// A line whose pieces are copied whole, although only their first bytes count: the next piece overwrites the rest. The end is
/// kept in a register, not in the string, which would be loaded and stored for every piece.
pub(crate) struct Padded<'text> {
    text: &'text mut String,
    /// Where the string starts, and where the line ends.
    start: *mut u8,
    end: *mut u8,
}

impl<'text> Padded<'text> {
    /// A line of at most `room` bytes, those of pieces that do not count included.
    #[inline(always)]
    pub(crate) fn begin(text: &'text mut String, room: usize) -> Padded<'text> {
        text.reserve(room);
        let length = text.len();
        // SAFETY: the bytes are written by `copy` alone, and the string's length is set when they are all ASCII.
        let start = unsafe { text.as_mut_vec() }.as_mut_ptr();
        Padded {
            text,
            start,
            end: start.wrapping_add(length),
        }
    }

    /// Copies `piece` to the end and moves the end by `length`.
    #[inline(always)]
    fn copy<const SIZE: usize>(&mut self, piece: &[u8; SIZE], length: u8) {
        // SAFETY: the string has room: `begin` has reserved bytes for a name and two places for every piece, and each is copied
        // once. Bytes behind a string's length may hold anything.
        unsafe { self.end.cast::<[u8; SIZE]>().write_unaligned(*piece) };
        self.end = self.end.wrapping_add(usize::from(length));
    }

    #[inline(always)]
    pub(crate) fn name(&mut self, name: &Name) {
        self.copy(&name.bytes, name.length);
    }

    #[inline(always)]
    pub(crate) fn piece(&mut self, words: [u64; PLACE / 8], length: u8) {
        let end = self.end;
        for word in words {
            self.copy(&word.to_le_bytes(), 8);
        }
        self.end = end.wrapping_add(usize::from(length));
    }

    /// The length of the string up to the line's end.
    #[inline(always)]
    pub(crate) fn length(&self) -> usize {
        self.end as usize - self.start as usize
    }

    /// Has a piece appended to the string itself, and goes on with room for `room` more bytes.
    #[cold]
    pub(crate) fn compose(
        mut self,
        room: usize,
        append: impl FnOnce(&mut String),
    ) -> Padded<'text> {
        self.set_length();
        append(self.text);
        Padded::begin(self.text, room)
    }

    /// Ends the line and puts an ASCII character at `place`, over what is there or at the end.
    #[inline(always)]
    pub(crate) fn finish(mut self, place: usize, character: u8) {
        if self.length() == place {
            self.end = self.end.wrapping_add(1);
        }
        // SAFETY: inside the room, like a piece; an ASCII character, as all bytes of names and operands.
        unsafe { *self.start.add(place) = character & 0x7f };
        self.set_length();
    }

    #[inline(always)]
    fn set_length(&mut self) {
        let length = self.length();
        // SAFETY: all bytes up to the end have been written, and are ASCII: pieces are names and texts that `Line` composed.
        unsafe { self.text.as_mut_vec().set_len(length) };
    }
}

/// Text being appended to a `String`.
pub(crate) struct Line<'text> {
    bytes: &'text mut Vec<u8>,
}

/// Up to seven characters, and their number in the last byte.
type Word = [u8; 8];

impl<'text> Line<'text> {
    pub(crate) fn new(text: &'text mut String) -> Line<'text> {
        // SAFETY: `Line` appends ASCII only, and never cuts into what was there before,
        // so the string stays valid UTF-8. The words of the tables are ASCII, and
        // `push` takes a `str`.
        let bytes = unsafe { text.as_mut_vec() };
        Line { bytes }
    }

    /// Appends any text.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends bytes of which the first `length` count.
    #[inline]
    pub(crate) fn push_padded<const SIZE: usize>(&mut self, bytes: &[u8; SIZE], length: u8) {
        let end = self.bytes.len() + usize::from(length);
        self.bytes.extend_from_slice(bytes);
        self.bytes.truncate(end);
    }

    #[inline]
    fn push_word(&mut self, word: Word) {
        self.push_padded(&word, word[7]);
    }

    /// `_`-joined registers of one file.
    #[inline]
    pub(crate) fn registers(&mut self, file: File, half: u16, width: Width, count: u8) {
        let (names, first, count) = match (file, width) {
            (File::General, Width::W16) => (&GENERAL_HALVES, half, count),
            (File::General, Width::W32) => (&GENERAL_WORDS, half / 2, count),
            (File::General, Width::W64) => (&GENERAL_WORDS, half / 2, count * 2),
            (File::Uniform, Width::W16) => (&UNIFORM_HALVES, half, count),
            (File::Uniform, Width::W32) => (&UNIFORM_WORDS, half / 2, count),
            (File::Uniform, Width::W64) => (&UNIFORM_WORDS, half / 2, count * 2),
        };
        if count == 1 {
            return self.push_word(names[usize::from(first) % NAMES]);
        }
        for i in 0..u16::from(count) {
            if i != 0 {
                self.push_padded(b"_", 1);
            }
            self.push_word(names[usize::from(first + i) % NAMES]);
        }
    }

    /// `.cache` or `.discard`.
    #[inline]
    pub(crate) fn hint(&mut self, hint: Hint) {
        let (bytes, length) = match hint {
            Hint::None => (b"\0\0\0\0\0\0\0\0", 0),
            Hint::Cache => (b".cache\0\0", 6),
            Hint::Discard => (b".discard", 8),
        };
        self.push_padded(bytes, length);
    }

    /// `.abs`, `.neg`, `.sx`.
    #[inline]
    pub(crate) fn modifiers(&mut self, mods: Modifiers) {
        if mods == Modifiers::NONE {
            return;
        }
        if mods.abs {
            self.push(".abs");
        }
        if mods.neg {
            self.push(".neg");
        }
        if mods.sx {
            self.push(".sx");
        }
        if mods.bfloat {
            self.push(".bfloat");
        }
    }

    /// A decimal number.
    #[inline]
    pub(crate) fn int(&mut self, value: i64) {
        match usize::try_from(value) {
            Ok(small) if small < NUMBERS.len() => self.push_word(NUMBERS[small]),
            _ => self.long_int(value),
        }
    }

    fn long_int(&mut self, value: i64) {
        let mut digits = [b'-'; 20];
        let mut at = digits.len();
        let mut rest = value.unsigned_abs();
        while at > 1 && (rest != 0 || at == digits.len()) {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        at -= usize::from(value < 0);
        self.bytes.extend_from_slice(&digits[at..]);
    }

    /// Upper-case hexadecimal without leading zeros.
    pub(crate) fn hex(&mut self, value: u64) {
        let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            let nibble = (value >> (4 * digit)) as usize & 15;
            self.push("0123456789ABCDEF".get(nibble..=nibble).unwrap_or_default());
        }
    }

    /// A binary number with this many digits, the highest first.
    pub(crate) fn binary(&mut self, value: u16, digits: u8) {
        for bit in (0..digits.min(16)).rev() {
            self.push(if value >> bit & 1 != 0 { "1" } else { "0" });
        }
    }

    /// A minifloat as the shortest exact decimal with at least one digit after the point.
    #[inline]
    pub(crate) fn float(&mut self, value: MiniFloat) {
        let (bytes, length) = &FLOATS[usize::from(value.0)];
        self.push_padded(bytes, *length);
    }
}

/// A register file.
#[derive(Clone, Copy)]
pub(crate) enum File {
    General,
    Uniform,
}

/// More names than there are registers: a tuple may run over the end.
const NAMES: usize = 544;

static GENERAL_HALVES: [Word; NAMES] = half_names(b'r');
static GENERAL_WORDS: [Word; NAMES] = word_names(b'r');
static UNIFORM_HALVES: [Word; NAMES] = half_names(b'u');
static UNIFORM_WORDS: [Word; NAMES] = word_names(b'u');
static NUMBERS: [Word; 256] = {
    let mut words = [[0; 8]; 256];
    let mut i = 0;
    while i < words.len() {
        words[i] = with_number([0; 8], i as u16);
        i += 1;
    }
    words
};
static FLOATS: [([u8; 12], u8); 256] = {
    let mut words = [([0; 12], 0); 256];
    let mut i = 0;
    while i < words.len() {
        words[i] = float_word(MiniFloat(i as u8));
        i += 1;
    }
    words
};

const fn with(mut word: Word, character: u8) -> Word {
    word[word[7] as usize] = character;
    word[7] += 1;
    word
}

const fn with_number(mut word: Word, number: u16) -> Word {
    if number >= 100 {
        word = with(word, b'0' + (number / 100) as u8);
    }
    if number >= 10 {
        word = with(word, b'0' + (number / 10 % 10) as u8);
    }
    with(word, b'0' + (number % 10) as u8)
}

const fn half_names(file: u8) -> [Word; NAMES] {
    let mut names = [[0; 8]; NAMES];
    let mut i = 0;
    while i < NAMES {
        let part = if i % 2 == 0 { b'l' } else { b'h' };
        names[i] = with(with_number(with([0; 8], file), i as u16 / 2), part);
        i += 1;
    }
    names
}

const fn word_names(file: u8) -> [Word; NAMES] {
    let mut names = [[0; 8]; NAMES];
    let mut i = 0;
    while i < NAMES {
        names[i] = with_number(with([0; 8], file), i as u16);
        i += 1;
    }
    names
}

const fn float_word(value: MiniFloat) -> ([u8; 12], u8) {
    let mut bytes = [0; 12];
    let mut length = 0;
    if value.is_negative() {
        bytes[0] = b'-';
        length = 1;
    }
    let sixty_fourths = value.sixty_fourths();
    let whole = sixty_fourths / 64;
    if whole >= 10 {
        bytes[length] = b'0' + (whole / 10) as u8;
        length += 1;
    }
    bytes[length] = b'0' + (whole % 10) as u8;
    bytes[length + 1] = b'.';
    length += 2;
    // 1/64 is 0.015625: six digits are exact.
    let mut millionths = (sixty_fourths % 64) as u32 * 15_625;
    let mut unit = 100_000;
    loop {
        bytes[length] = b'0' + (millionths / unit) as u8;
        length += 1;
        millionths %= unit;
        unit /= 10;
        if millionths == 0 {
            return (bytes, length as u8);
        }
    }
}
