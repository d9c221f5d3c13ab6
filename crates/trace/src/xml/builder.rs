//! Turns the elements of a row into cells.
//!
//! The fast scanner and the quick-xml fallback both call [`RowBuilder`], so a value
//! means the same whichever of them met it.

use super::slot::{Definitions, Kind, Slot};
use super::tag::{Class, Tag, Tags};
use super::text::{TextId, Texts, unescape};
use rustc_hash::FxHashMap;

/// What a reader wants of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Nothing: the column is only read for the definitions inside.
    Nothing,
    /// Its value.
    Value,
}

/// Elements nest four deep in real exports.
const DEEPEST: usize = 64;
/// No table has more than twenty columns.
pub(crate) const MOST_CELLS: usize = 256;
/// Frames kept of one stack.
const MOST_FRAMES: usize = 1024;

/// A thread as exports describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadName {
    pub(crate) pid: Option<u64>,
    pub(crate) name: TextId,
}

/// A function on a call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function, or its address when it has no symbol.
    pub function: TextId,
    /// The library or program it lies in.
    pub binary: TextId,
}

/// Everything rows share: texts, threads, stacks.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) texts: Texts,
    pub(crate) threads: FxHashMap<u64, ThreadName>,
    /// Names of processes by id.
    pub(crate) processes: FxHashMap<u64, TextId>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) frame_ids: FxHashMap<Frame, u32>,
    /// Call stacks, innermost frame first.
    pub(crate) stacks: Vec<Box<[u32]>>,
}

impl Shared {
    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&id) = self.frame_ids.get(&frame) {
            return id;
        }
        let id = self.frames.len() as u32;
        self.frames.push(frame);
        self.frame_ids.insert(frame, id);
        id
    }
}

/// An element whose end has not been seen.
#[derive(Debug)]
struct Open {
    tag: Tag,
    id: Option<u64>,
    wanted: bool,
    display: TextId,
    first: Option<TextId>,
    number: Option<u64>,
    process: Option<Slot>,
    frames: Vec<u32>,
}

/// Why a row cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Not what the fast scanner understands; the fallback may.
    Unusual,
    /// Elements nest too deep, or there are too many.
    TooMuch,
    /// A `ref` to an id that was never defined.
    RefToNothing(u64),
    /// A `ref` that the first pass did not see: read again, keeping everything.
    NotKept,
    /// Not well-formed.
    Malformed,
}

pub(crate) struct RowBuilder {
    pub(crate) tags: Tags,
    pub(crate) definitions: Definitions,
    pub(crate) shared: Shared,
    pub(crate) cells: Vec<Slot>,
    pub(crate) wants: Vec<Want>,
    /// Whether structured text is kept as displayed instead of its first piece.
    pub(crate) display_labels: bool,
    size: Tag,
    /// What is wrong with the row, found while going on with it: what it defines may be
    /// referred to by good rows.
    pub(crate) trouble: Option<Trouble>,
    open: Vec<Open>,
    /// Open elements beyond the depth that is looked into.
    too_deep: usize,
    /// Stacks whose vectors can be used again.
    spare: Vec<u32>,
}

impl RowBuilder {
    pub(crate) fn new(definitions: Definitions, shared: Shared) -> Self {
        let mut tags = Tags::new();
        let size = tags.get(b"size-in-bytes");
        RowBuilder {
            tags,
            size,
            display_labels: false,
            definitions,
            shared,
            cells: Vec::new(),
            wants: Vec::new(),
            trouble: None,
            too_deep: 0,
            open: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn begin_row(&mut self) {
        self.cells.clear();
        self.open.clear();
        self.trouble = None;
        self.too_deep = 0;
    }

    /// Open elements inside the row.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.open.len() + self.too_deep
    }

    #[inline]
    fn want(&self) -> Want {
        if self.open.is_empty() {
            self.wants
                .get(self.cells.len())
                .copied()
                .unwrap_or(Want::Nothing)
        } else if self.open.last().is_some_and(|open| open.wanted) {
            Want::Value
        } else {
            Want::Nothing
        }
    }

    /// `<tag ref="id"/>`.
    #[inline]
    pub(crate) fn reference(&mut self, tag: Tag, id: u64) -> Result<(), Trouble> {
        let slot = self.definitions.get(id).ok_or(Trouble::NotKept)?;
        let slot = if slot.kind == Kind::Undefined {
            self.trouble.get_or_insert(Trouble::RefToNothing(id));
            Slot::SENTINEL
        } else if slot.tag != tag.id {
            self.trouble.get_or_insert(Trouble::Malformed);
            Slot::SENTINEL
        } else {
            slot
        };
        self.finish(tag, None, slot)
    }

    /// `<tag id="…">text</tag>`, where `text` is still escaped.
    #[inline]
    pub(crate) fn leaf(
        &mut self,
        tag: Tag,
        id: Option<u64>,
        display: &[u8],
        text: &[u8],
    ) -> Result<(), Trouble> {
        let want = self.want();
        let keep = id.is_some_and(|id| self.definitions.keeps(id));
        if want == Want::Nothing && !keep {
            return self.finish(tag, None, Slot::SENTINEL);
        }
        let slot = match tag.class {
            Class::Number => number(text),
            Class::Float => float(text),
            Class::Unknown => self.unknown(text),
            Class::Sentinel => Slot::SENTINEL,
            Class::Text | Class::Filler => self.text(text),
            // A container without children: all there is to know is its display text.
            Class::Label => Slot {
                text: self.shared.texts.add(&unescape(display)),
                number: Slot::NO_NUMBER,
                kind: Kind::Label,
                ..Slot::UNDEFINED
            },
            Class::Process | Class::Thread | Class::Stack | Class::Frame | Class::Binary => {
                self.open(tag, id, display, &[])?;
                return self.close();
            }
        };
        let slot = Slot {
            tag: tag.id,
            ..slot
        };
        self.finish(tag, id, slot)
    }

    /// `<sentinel/>`.
    #[inline]
    pub(crate) fn sentinel(&mut self, tag: Tag) -> Result<(), Trouble> {
        self.finish(tag, None, Slot::SENTINEL)
    }

    /// `<tag id="…">` with children to come. `name` is the attribute of that name.
    pub(crate) fn open(
        &mut self,
        tag: Tag,
        id: Option<u64>,
        display: &[u8],
        name: &[u8],
    ) -> Result<(), Trouble> {
        if self.open.len() >= DEEPEST {
            self.trouble.get_or_insert(Trouble::TooMuch);
            self.too_deep += 1;
            return Ok(());
        }
        let want = self.want();
        let wanted = want != Want::Nothing || id.is_some_and(|id| self.definitions.keeps(id));
        let names_itself = matches!(tag.class, Class::Process | Class::Thread);
        let shows = self.display_labels && tag.class == Class::Label;
        let display = if wanted && (names_itself || shows) {
            self.shared.texts.add(&unescape(display))
        } else if wanted && !name.is_empty() {
            self.shared.texts.add(&unescape(name))
        } else {
            TextId::EMPTY
        };
        self.open.push(Open {
            tag,
            id,
            wanted,
            display,
            first: None,
            number: None,
            process: None,
            frames: std::mem::take(&mut self.spare),
        });
        Ok(())
    }

    /// The end of the innermost open element.
    pub(crate) fn close(&mut self) -> Result<(), Trouble> {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return Ok(());
        }
        let Some(mut open) = self.open.pop() else {
            return Err(Trouble::Malformed);
        };
        let slot = if open.wanted {
            self.container(&mut open)
        } else {
            Slot::SENTINEL
        };
        open.frames.clear();
        self.spare = open.frames;
        let slot = Slot {
            tag: open.tag.id,
            ..slot
        };
        self.finish(open.tag, open.id, slot)
    }

    fn container(&mut self, open: &mut Open) -> Slot {
        let shown = open.display != TextId::EMPTY;
        match open.tag.class {
            Class::Process => {
                let name = process_name(self.shared.texts.get(open.display)).to_owned();
                let name = self.shared.texts.add(&name);
                let pid = open.number.unwrap_or(Slot::NO_NUMBER);
                self.shared.processes.insert(pid, name);
                Slot {
                    number: pid,
                    text: name,
                    kind: Kind::Process,
                    ..Slot::UNDEFINED
                }
            }
            Class::Thread => self.thread(open),
            Class::Stack => {
                // A tagged backtrace wraps a plain one.
                let index = open.number.unwrap_or_else(|| {
                    self.shared.stacks.push(open.frames.as_slice().into());
                    self.shared.stacks.len() as u64 - 1
                });
                Slot {
                    number: index,
                    kind: Kind::Stack,
                    ..Slot::UNDEFINED
                }
            }
            Class::Frame => Slot {
                number: self.shared.frame(Frame {
                    function: open.display,
                    binary: open.first.unwrap_or_default(),
                }) as u64,
                text: open.display,
                kind: Kind::Text,
                ..Slot::UNDEFINED
            },
            Class::Binary => Slot {
                text: open.display,
                kind: Kind::Text,
                ..Slot::UNDEFINED
            },
            _ => Slot {
                number: open.number.unwrap_or(Slot::NO_NUMBER),
                text: match open.first {
                    Some(first) if !shown => first,
                    _ => open.display,
                },
                kind: Kind::Label,
                ..Slot::UNDEFINED
            },
        }
    }

    fn thread(&mut self, open: &Open) -> Slot {
        let name = thread_name(self.shared.texts.get(open.display)).to_owned();
        let name = self.shared.texts.add(&name);
        let tid = open.number.unwrap_or(Slot::NO_NUMBER);
        let process = open.process.unwrap_or(Slot::UNDEFINED);
        let pid = (process.kind == Kind::Process).then_some(process.number);
        self.shared.threads.insert(tid, ThreadName { pid, name });
        Slot {
            number: tid,
            text: name,
            kind: Kind::Thread,
            ..Slot::UNDEFINED
        }
    }

    /// A value is complete: it is a cell, or a piece of the element around it.
    #[inline]
    fn finish(&mut self, tag: Tag, id: Option<u64>, slot: Slot) -> Result<(), Trouble> {
        if let Some(id) = id {
            self.definitions.set(id, slot);
        }
        let size = self.size.id;
        let Some(parent) = self.open.last_mut() else {
            if self.cells.len() < MOST_CELLS {
                self.cells.push(slot);
            } else {
                self.trouble.get_or_insert(Trouble::TooMuch);
            }
            return Ok(());
        };
        if !parent.wanted {
            return Ok(());
        }
        let is_number = slot.kind == Kind::Number && parent.number.is_none();
        match (parent.tag.class, tag.class) {
            (Class::Process | Class::Thread, Class::Number) if is_number => {
                parent.number = Some(slot.number);
            }
            (Class::Label, Class::Number) if is_number && tag.id == size => {
                parent.number = Some(slot.number);
            }
            (Class::Thread, Class::Process) => parent.process = Some(slot),
            (Class::Stack, Class::Frame) if parent.frames.len() < MOST_FRAMES => {
                parent.frames.push(slot.number as u32);
            }
            (Class::Stack, Class::Stack) => parent.number = Some(slot.number),
            (Class::Frame, Class::Binary) => parent.first = Some(slot.text),
            (_, Class::Text | Class::Label | Class::Unknown)
                if parent.first.is_none() && matches!(slot.kind, Kind::Text | Kind::Label) =>
            {
                parent.first = Some(slot.text);
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Slot {
        Slot {
            text: self.shared.texts.add(&unescape(text)),
            kind: Kind::Text,
            ..Slot::UNDEFINED
        }
    }

    fn unknown(&mut self, text: &[u8]) -> Slot {
        let leading_zero = text.len() > 1 && text.first() == Some(&b'0');
        if !text.is_empty() && !leading_zero {
            let slot = number(text);
            if slot.kind == Kind::Number {
                return slot;
            }
        }
        self.text(text)
    }
}

/// A decimal integer that fills `text`.
#[inline]
pub(crate) fn number(text: &[u8]) -> Slot {
    let mut value = 0u64;
    let mut good = !text.is_empty() && text.len() <= 20;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            good = false;
            break;
        }
        match value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit)))
        {
            Some(next) => value = next,
            None => {
                good = false;
                break;
            }
        }
    }
    Slot {
        number: value,
        kind: if good { Kind::Number } else { Kind::Bad },
        ..Slot::UNDEFINED
    }
}

fn float(text: &[u8]) -> Slot {
    let value = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|value| value.is_finite());
    match value {
        Some(value) => Slot {
            number: value.to_bits(),
            kind: Kind::Float,
            ..Slot::UNDEFINED
        },
        None => Slot {
            kind: Kind::Bad,
            ..Slot::UNDEFINED
        },
    }
}

/// `WindowServer (420)` → `WindowServer`.
fn process_name(display: &str) -> &str {
    match display.rsplit_once(" (") {
        Some((name, rest)) if rest.ends_with(')') => name,
        _ => display,
    }
}

/// `Main Thread 0x1f6b2d (p, pid: 7)` (26) or `Main Thread (0x1f6b2d) (p, pid: 7)`
/// (27) → `Main Thread`.
fn thread_name(display: &str) -> &str {
    let end = display
        .find(" 0x")
        .or_else(|| display.find(" (0x"))
        .unwrap_or(display.len());
    display[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_freed_of_their_numbers() {
        assert_eq!(process_name("Helper (GPU) (6857)"), "Helper (GPU)");
        assert_eq!(process_name("plain"), "plain");
        assert_eq!(
            thread_name("Main Thread 0x1f6b2d (p, pid: 7)"),
            "Main Thread"
        );
        assert_eq!(
            thread_name("Main Thread (0x1f6b2d) (p, pid: 7)"),
            "Main Thread"
        );
    }

    #[test]
    fn numbers_use_the_whole_range_of_u64_and_no_more() {
        assert_eq!(number(b"18446744073709551615").number, u64::MAX);
        assert_eq!(number(b"18446744073709551615").kind, Kind::Number);
        for bad in [
            "18446744073709551616",
            "-1",
            "",
            "1e9",
            "99999999999999999999",
        ] {
            assert_eq!(number(bad.as_bytes()).kind, Kind::Bad, "{bad}");
        }
    }
}
