//! Element names: numbered once, and what kind of value each holds.

use super::slot::TagId;
use rustc_hash::FxHashMap;

/// What an element of a given name holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// An integer in the text; anything else is an error in that cell.
    Number,
    /// A decimal fraction.
    Float,
    /// Text, even if it looks like a number.
    Text,
    /// Punctuation between the pieces of a label.
    Filler,
    /// `<process><pid/>…`.
    Process,
    /// `<thread><tid/><process/>…`.
    Thread,
    /// Structured text.
    Label,
    /// A call stack of `<frame name= addr=><binary/>`.
    Stack,
    /// One frame of it.
    Frame,
    /// The library a frame lies in.
    Binary,
    /// Not described anywhere: a number if it reads as one, else text.
    Unknown,
    /// `<sentinel/>`.
    Sentinel,
}

/// Element names whose class is known. Names are Instruments' engineering types.
const CLASSES: &[(Class, &[&str])] = &[
    (
        Class::Number,
        &[
            "start-time",
            "event-time",
            "sample-time",
            "duration",
            "duration-on-core",
            "duration-waiting",
            "weight",
            "cycle-weight",
            "pid",
            "tid",
            "uint64",
            "uint32",
            "size-in-bytes",
            "metal-command-buffer-id",
            "metal-encoder-id",
            "gpu-frame-number",
            "metal-nesting-level",
            "render-buffer-depth",
            "connection-uuid64",
            "boolean",
            "gpu-hardware-trace",
            "address",
            "text-address",
            "metal-workload-priority",
        ],
    ),
    (
        Class::Float,
        &["percent", "fixed-decimal", "system-cpu-percent"],
    ),
    (
        Class::Text,
        &[
            "string",
            "short-string",
            "metal-object-label",
            "metal-device-name",
            "metal-event-name",
            "metal-event",
            "metal-memory-level-event",
            "metal-residency-set-resource-event",
            "metal-residency-set-usage-event",
            "gpu-channel-name",
            "gpu-state",
            "gpu-driver-name",
            "gpu-event-name",
            "gpu-counter-name",
            "gpu-memory-event-name",
            "gpu-performance-state",
            "thermal-state",
            "thread-state",
            "shader-compiler-name",
            "signpost-name",
            "subsystem",
            "category",
            "event-type",
            "event-concept",
            "format-string",
            "file-path",
            "uuid",
            "hang-type",
            "app-period",
            "ar-event-name",
            "mps-event-name",
            "raw-string",
            "device-session",
            "layout-id",
        ],
    ),
    (Class::Filler, &["narrative-text"]),
    (Class::Process, &["process"]),
    (Class::Thread, &["thread"]),
    (
        Class::Label,
        &[
            "formatted-label",
            "narrative",
            "os-log-metadata",
            "thread-name",
            "text-symbol",
        ],
    ),
    (
        Class::Stack,
        &["backtrace", "tagged-backtrace", "text-backtrace"],
    ),
    (Class::Frame, &["frame"]),
    (Class::Binary, &["binary"]),
    (Class::Sentinel, &["sentinel"]),
];

/// A name with its number and class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    pub(crate) id: TagId,
    pub(crate) class: Class,
}

/// The element names of a file.
pub(crate) struct Tags {
    tags: FxHashMap<Box<[u8]>, Tag>,
    /// A small direct-mapped cache in front of the map: exports use some thirty
    /// names, tens of times per row.
    cache: Vec<Option<(Box<[u8]>, Tag)>>,
}

/// No export uses more than a few dozen names.
const MOST_TAGS: usize = 4096;
const CACHE: usize = 256;

impl Tags {
    pub(crate) fn new() -> Self {
        let mut tags = Tags {
            tags: FxHashMap::default(),
            cache: vec![None; CACHE],
        };
        for &(class, names) in CLASSES {
            for name in names {
                tags.add(name.as_bytes(), class);
            }
        }
        tags
    }

    fn add(&mut self, name: &[u8], class: Class) -> Tag {
        let id = TagId(self.tags.len().min(MOST_TAGS) as u16);
        let tag = Tag { id, class };
        if self.tags.len() < MOST_TAGS {
            self.tags.insert(name.into(), tag);
        }
        tag
    }

    #[inline]
    pub(crate) fn get(&mut self, name: &[u8]) -> Tag {
        let place = cache_place(name);
        if let Some(Some((cached, tag))) = self.cache.get(place)
            && **cached == *name
        {
            return *tag;
        }
        self.get_slowly(name, place)
    }

    #[cold]
    fn get_slowly(&mut self, name: &[u8], place: usize) -> Tag {
        let tag = match self.tags.get(name) {
            Some(&tag) => tag,
            None => self.add(name, Class::Unknown),
        };
        if let Some(slot) = self.cache.get_mut(place) {
            *slot = Some((name.into(), tag));
        }
        tag
    }
}

#[inline]
fn cache_place(name: &[u8]) -> usize {
    let first = name.first().copied().unwrap_or(0) as usize;
    let last = name.last().copied().unwrap_or(0) as usize;
    let middle = name.get(name.len() / 2).copied().unwrap_or(0) as usize;
    (first.wrapping_mul(31) ^ last.wrapping_mul(7) ^ middle.wrapping_mul(13) ^ (name.len() * 3))
        % CACHE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_number_and_class() {
        let mut tags = Tags::new();
        let duration = tags.get(b"duration");
        assert_eq!(duration.class, Class::Number);
        assert_eq!(tags.get(b"duration").id, duration.id);
        assert_eq!(tags.get(b"thread").class, Class::Thread);
        let odd = tags.get(b"something-new");
        assert_eq!(odd.class, Class::Unknown);
        assert_eq!(tags.get(b"something-new").id, odd.id);
        assert_ne!(tags.get(b"something-else").id, odd.id);
    }
}
