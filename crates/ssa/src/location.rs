//! Where an instruction came from: file, line, column, and the calls it was inlined through.

use crate::id::{Id, IdVec, define_ids};
use std::collections::HashMap;

define_ids! {
    /// A source location of a module.
    Loc = "!";
    /// A source file of a module.
    FileId = "file";
    /// A function's name in the source.
    NameId = "name";
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// The file.
    pub file: FileId,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The function of the source that holds the line, if it is known.
    pub function: Option<NameId>,
    /// Where the function holding this line was inlined, if it was.
    pub inlined_at: Option<Loc>,
}

/// The files and locations of a module.
#[derive(Clone, Default, Debug)]
pub struct Locations {
    files: IdVec<FileId, String>,
    names: IdVec<NameId, String>,
    entries: IdVec<Loc, Location>,
}

/// Whether a file is a header of the Metal library: ours, under the name our front end gives it, or Apple's.
fn is_library(file: &str) -> bool {
    file.contains("/<metal>/") || file.contains("/include/metal/")
}

impl Locations {
    /// The id of a file name, entered if it is new.
    pub fn file(&mut self, name: &str) -> FileId {
        match self.files.find(|known| known == name) {
            Some(id) => id,
            None => self.files.push(name.to_owned()),
        }
    }

    /// The id of a function's name, entered if it is new.
    pub fn name(&mut self, name: &str) -> NameId {
        match self.names.find(|known| known == name) {
            Some(id) => id,
            None => self.names.push(name.to_owned()),
        }
    }

    /// The name of the function that holds a location.
    pub fn function_name(&self, location: &Location) -> Option<&str> {
        self.names.get(location.function?).map(String::as_str)
    }

    /// Enters a location. The caller avoids duplicates where it can; they only cost memory.
    pub fn add(&mut self, location: Location) -> Loc {
        if let Some((id, _)) = self
            .entries
            .iter()
            .next_back()
            .filter(|(_, last)| **last == location)
        {
            return id;
        }
        self.entries.push(location)
    }

    /// Enters a location without looking for an equal one.
    pub(crate) fn push(&mut self, location: Location) -> Loc {
        self.entries.push(location)
    }

    /// A location.
    pub fn get(&self, loc: Loc) -> Option<&Location> {
        self.entries.get(loc)
    }

    /// A file's name.
    pub fn file_name(&self, file: FileId) -> &str {
        self.files.get(file).map_or("?", String::as_str)
    }

    /// All files.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (FileId, &str)> {
        self.files.iter().map(|(id, name)| (id, name.as_str()))
    }

    /// All locations.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Loc, &Location)> {
        self.entries.iter()
    }

    /// The location and those it was inlined at, innermost first. Stops at a cycle.
    pub fn chain(&self, loc: Loc) -> impl Iterator<Item = &Location> {
        let mut next = Some(loc);
        let mut left = self.entries.len();
        std::iter::from_fn(move || {
            let location = self.entries.get(next?)?;
            left = left.checked_sub(1)?;
            // A chain only ever goes to entries made before; anything else would be a cycle.
            next = location.inlined_at;
            Some(location)
        })
    }

    /// The innermost location of the chain that lies in a file accepted by `wanted` with a known line:
    /// the user's line, when library headers are not wanted.
    pub fn resolve(&self, loc: Loc, mut wanted: impl FnMut(&str) -> bool) -> Option<&Location> {
        self.chain(loc)
            .find(|location| location.line != 0 && wanted(self.file_name(location.file)))
    }

    /// The line of the user's that an instruction works for: the innermost of its chain outside library headers, or,
    /// if the chain never leaves them, its outermost.
    pub fn user_line(&self, loc: Loc) -> Option<&Location> {
        let known = || self.chain(loc).filter(|location| location.line != 0);
        known()
            .find(|location| !is_library(self.file_name(location.file)))
            .or_else(|| known().last())
    }

    /// The user's part of a chain, innermost first: what is left without the library's headers. It begins with
    /// [`Locations::user_line`].
    pub fn user_chain(&self, loc: Loc) -> Vec<&Location> {
        let known = || self.chain(loc).filter(|location| location.line != 0);
        let user = |location: &&Location| !is_library(self.file_name(location.file));
        let chain: Vec<&Location> = known().filter(user).collect();
        match chain.is_empty() {
            true => known().last().into_iter().collect(),
            false => chain,
        }
    }

    /// Enters `outer` as the place the chain of `inner` was inlined at; what an inliner needs. `known` holds
    /// what was entered for this `outer` before.
    pub fn inline(&mut self, inner: Loc, outer: Loc, known: &mut HashMap<Loc, Loc>) -> Loc {
        if let Some(&known) = known.get(&inner) {
            return known;
        }
        let Some(location) = self.entries.get(inner).cloned() else {
            return outer;
        };
        let inlined_at = match location.inlined_at {
            Some(at) if at.index() < inner.index() => self.inline(at, outer, known),
            _ => outer,
        };
        let made = self.entries.push(Location {
            inlined_at: Some(inlined_at),
            ..location
        });
        known.insert(inner, made);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_helper_counts_and_that_of_the_library_does_not() {
        let mut locations = Locations::default();
        let (kernel, library) = (
            locations.file("a.metal"),
            locations.file("/<metal>/metal_math"),
        );
        let at = |file, line, inlined_at| Location {
            file,
            line,
            column: 0,
            function: None,
            inlined_at,
        };
        let call = locations.add(at(kernel, 40, None));
        let helper = locations.add(at(kernel, 12, Some(call)));
        let inside = locations.add(at(library, 99, Some(helper)));
        let alone = locations.add(at(library, 98, None));
        let line = |loc| locations.user_line(loc).map(|location| location.line);
        assert_eq!(
            [call, helper, inside, alone].map(line),
            [Some(40), Some(12), Some(12), Some(98)]
        );
        let chain = |loc| {
            let lines = locations.user_chain(loc).into_iter();
            lines.map(|location| location.line).collect::<Vec<_>>()
        };
        assert_eq!(chain(inside), [12, 40]);
        assert_eq!(chain(alone), [98]);
    }
}
