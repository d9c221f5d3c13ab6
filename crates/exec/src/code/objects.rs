//! Objects: the arrays and variables that share threadgroup or thread memory.
//!
//! In a program that is checked they lie apart, with a guard zone behind each, so that an index past the end of one array
//! is not one of the next.

use std::ops::Range;

/// An array or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) start: u32,
    pub(crate) len: u32,
    /// Its name in the source, where that is known.
    pub(crate) name: String,
}

/// The objects of one kind of memory, in order of their offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects(Vec<Object>);

/// The objects a program declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    pub(crate) thread: Objects,
    pub(crate) threadgroup: Objects,
}

impl Objects {
    /// Adds an object behind the others. Returns where the next may lie: behind the guard zone.
    pub(crate) fn add(&mut self, start: u32, len: u32, name: String) -> u32 {
        self.0.push(Object { start, len, name });
        // An index that is wrong by a row or a tile still ends in the zone.
        let guard = len.clamp(64, 4096).next_multiple_of(16);
        start.saturating_add(len).saturating_add(guard)
    }

    /// Returns true if bytes lie in one object.
    pub(crate) fn hold(&self, offset: u64, size: u32) -> bool {
        self.before(offset).is_some_and(|object| {
            let end = u64::from(object.start) + u64::from(object.len);
            offset + u64::from(size) <= end
        })
    }

    /// The last object that starts at an offset or before it.
    pub(crate) fn before(&self, offset: u64) -> Option<&Object> {
        let after = self.0.partition_point(|o| u64::from(o.start) <= offset);
        self.0.get(after.checked_sub(1)?)
    }

    /// The bytes between the objects and up to the end of the memory.
    pub(crate) fn gaps(&self, end: u32) -> Vec<Range<u32>> {
        let starts = self.0.iter().skip(1).map(|object| object.start);
        let next = starts.chain([end]);
        let gap = |(object, next): (&Object, u32)| object.start.saturating_add(object.len)..next;
        self.0.iter().zip(next).map(gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Objects;

    #[test]
    fn an_access_lies_in_one_object_or_in_none() {
        let mut objects = Objects::default();
        let next = objects.add(0, 100, "a".to_owned());
        assert_eq!(next, 100 + 112);
        let end = objects.add(next, 8, "b".to_owned());
        assert!(objects.hold(96, 4) && objects.hold(212, 8));
        assert!(!objects.hold(97, 4) && !objects.hold(100, 1) && !objects.hold(211, 1));
        assert_eq!(objects.before(150).map(|o| o.name.as_str()), Some("a"));
        assert_eq!(objects.gaps(end), [100..212, 220..end]);
        assert!(!Objects::default().hold(0, 1));
    }
}
