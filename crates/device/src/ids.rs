//! Names for what a device holds.

use crate::Error;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl Id for $name {
            const WORD: &str = $word;
            fn new(number: u32) -> Self {
                Self(number)
            }
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

/// What a [`Table`] is indexed by.
pub(crate) trait Id: Copy {
    const WORD: &str;
    fn new(number: u32) -> Self;
    fn number(self) -> u32;
}

ids! {
    /// Compiled code.
    LibraryId = "library";
    /// A kernel ready to run.
    PipelineId = "pipeline";
    /// Memory of a device.
    BufferId = "buffer";
    /// Dispatches that were started together.
    SubmissionId = "submission";
}

/// Things by id. A place is used once, so an old id never names something new.
#[derive(Debug)]
pub(crate) struct Table<I, T> {
    things: Vec<Option<T>>,
    id: std::marker::PhantomData<I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            id: std::marker::PhantomData,
        }
    }
}

impl<I: Id, T> Table<I, T> {
    pub(crate) fn add(&mut self, thing: T) -> Result<I, Error> {
        let number = u32::try_from(self.things.len()).map_err(|_| Error::TooMany(I::WORD))?;
        self.things.push(Some(thing));
        Ok(I::new(number))
    }

    pub(crate) fn get(&self, id: I) -> Result<&T, Error> {
        let thing = self.things.get(id.number() as usize);
        thing.and_then(Option::as_ref).ok_or_else(|| unknown(id))
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Result<&mut T, Error> {
        let thing = self.things.get_mut(id.number() as usize);
        thing.and_then(Option::as_mut).ok_or_else(|| unknown(id))
    }

    pub(crate) fn take(&mut self, id: I) -> Result<T, Error> {
        let thing = self.things.get_mut(id.number() as usize);
        thing.and_then(Option::take).ok_or_else(|| unknown(id))
    }
}

fn unknown<I: Id>(id: I) -> Error {
    Error::NoSuchId {
        what: I::WORD,
        number: id.number(),
    }
}
