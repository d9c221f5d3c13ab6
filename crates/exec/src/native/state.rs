//! A program's machine code, and when it is made.
//!
//! The text that code is made of is kept with the program, shared by its copies. Code is made when asked for, or in the background
//! once dispatches have taken so long that it is worth it; a dispatch that still runs then goes on with it.

use super::makers::{Makers, Order};
use super::{Code, Native, NativeError, Source, make, run};
use crate::bindings::Bindings;
use crate::dispatch::{Limits, Statistics};
use crate::error::RunError;
use crate::geometry::Grid;
use assay_native::Compiler;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// What became of a program's machine code for threadgroups of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NativeState {
    /// Its dispatches have taken too little time to be worth it.
    #[default]
    NotWorth,
    /// It is being made, or waits for its turn.
    InTheMaking,
    /// Dispatches run it.
    Ready(Native),
    /// There is none, and why.
    Refused(NativeError),
}

/// Machine code for threadgroups of one size.
#[derive(Debug, Default)]
struct Entry {
    taken: Duration,
    state: NativeState,
    code: Option<Arc<Code>>,
}

impl Entry {
    fn settle(&mut self, made: Result<(Code, Native), NativeError>) -> Result<Native, NativeError> {
        match made {
            Ok((code, facts)) => {
                self.code = Some(Arc::new(code));
                self.state = NativeState::Ready(facts.clone());
                Ok(facts)
            }
            Err(why) => {
                self.state = NativeState::Refused(why.clone());
                Err(why)
            }
        }
    }
}

/// Who makes code in the background, and after how much time of interpreting.
#[derive(Debug)]
struct Background {
    compiler: Arc<Compiler>,
    worth: Duration,
}

#[derive(Debug)]
struct Shared {
    source: Source,
    background: OnceLock<Background>,
    entries: Mutex<HashMap<[u32; 3], Entry>>,
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, HashMap<[u32; 3], Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Code of a program for threadgroups of one size, made in the background.
#[derive(Debug)]
struct Later {
    shared: Arc<Shared>,
    compiler: Arc<Compiler>,
    threadgroup: [u32; 3],
}

static MAKERS: Makers<Later> = Makers::new();

impl Later {
    fn settle(self, made: Result<(Code, Native), NativeError>) {
        let mut entries = self.shared.entries();
        // What went wrong is in its state.
        let _ = entries.entry(self.threadgroup).or_default().settle(made);
    }
}

impl Order for Later {
    fn taken(&self) -> Duration {
        let entries = self.shared.entries();
        let entry = entries.get(&self.threadgroup);
        entry.map_or(Duration::ZERO, |entry| entry.taken)
    }

    fn make(self) {
        // Nobody is left who would run it.
        if Arc::strong_count(&self.shared) == 1 {
            return;
        }
        // Others wait for the state: it is set whatever happens.
        let made = catch_unwind(AssertUnwindSafe(|| {
            make(&self.shared.source, &self.compiler, self.threadgroup)
        }));
        self.settle(
            made.unwrap_or_else(|_| Err(NativeError::Refused("making it panicked".into()))),
        );
    }

    fn refuse(self, why: String) {
        self.settle(Err(NativeError::Refused(why)));
    }
}

/// A program's text and machine code, shared by its copies. Nothing if it was compiled without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Option<Arc<Shared>>);

impl Slot {
    pub(crate) fn of(source: Source) -> Self {
        Self(Some(Arc::new(Shared {
            source,
            background: OnceLock::new(),
            entries: Mutex::default(),
        })))
    }

    pub(super) fn source(&self) -> Option<&Source> {
        self.0.as_ref().map(|shared| &shared.source)
    }

    /// The code for threadgroups of a size, if there is any.
    pub(crate) fn code(&self, threadgroup: [u32; 3]) -> Option<Arc<Code>> {
        self.0.as_ref()?.entries().get(&threadgroup)?.code.clone()
    }

    /// Returns true if code for threadgroups of a size may appear while a dispatch is interpreted.
    pub(crate) fn may_come(&self, threadgroup: [u32; 3]) -> bool {
        self.0.as_ref().is_some_and(|shared| {
            shared.background.get().is_some()
                && !matches!(
                    shared.entries().get(&threadgroup).map(|entry| &entry.state),
                    Some(NativeState::Refused(_) | NativeState::Ready(_))
                )
        })
    }

    /// What became of the code for threadgroups of a size.
    pub(super) fn state(&self, threadgroup: [u32; 3]) -> NativeState {
        match &self.0 {
            None => NativeState::Refused(NativeError::NoSource),
            Some(shared) => {
                let entries = shared.entries();
                let state = entries.get(&threadgroup).map(|entry| entry.state.clone());
                state.unwrap_or_default()
            }
        }
    }

    pub(super) fn make_later(&self, compiler: Arc<Compiler>, worth: Duration) {
        if let Some(shared) = &self.0 {
            // The first who asks decides.
            let _ = shared.background.set(Background { compiler, worth });
        }
    }

    pub(super) fn make_now(
        &self,
        compiler: &Compiler,
        threadgroup: [u32; 3],
    ) -> Result<Native, NativeError> {
        let shared = self.0.as_ref().ok_or(NativeError::NoSource)?;
        let made = make(&shared.source, compiler, threadgroup);
        let mut entries = shared.entries();
        entries.entry(threadgroup).or_default().settle(made)
    }

    /// Has code made at once, or waits for what is being made; nothing changes afterwards.
    pub(super) fn settle(&self, threadgroup: [u32; 3]) {
        let Some(shared) = &self.0 else { return };
        let Some(background) = shared.background.get() else {
            return;
        };
        let is_it =
            |later: &Later| Arc::ptr_eq(&later.shared, shared) && later.threadgroup == threadgroup;
        if let Some(later) = MAKERS.take(is_it) {
            later.make();
        }
        while self.state(threadgroup) == NativeState::InTheMaking {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.state(threadgroup) == NativeState::NotWorth {
            // What went wrong is in its state.
            let _ = self.make_now(&background.compiler, threadgroup);
        }
    }

    /// Notes how long interpreting has taken, and has code made if that is worth it.
    pub(crate) fn note(&self, threadgroup: [u32; 3], took: Duration) {
        let Some(shared) = &self.0 else { return };
        let Some(background) = shared.background.get() else {
            return;
        };
        let mut entries = shared.entries();
        let entry = entries.entry(threadgroup).or_default();
        entry.taken = entry.taken.saturating_add(took);
        if entry.state != NativeState::NotWorth || entry.taken < background.worth {
            return;
        }
        entry.state = NativeState::InTheMaking;
        drop(entries);
        MAKERS.add(Later {
            shared: Arc::clone(shared),
            compiler: Arc::clone(&background.compiler),
            threadgroup,
        });
    }

    /// Runs the threadgroups of a grid from one on by code of this program.
    pub(crate) fn run(
        &self,
        (code, first): (&Code, u64),
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Statistics, RunError> {
        match &self.0 {
            Some(shared) => run::run(&shared.source, (code, first), grid, bindings, limits),
            None => Err(RunError::BadGrid(
                "a program without machine code".to_owned(),
            )),
        }
    }
}
