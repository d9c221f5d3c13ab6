//! When machine code is made: in the background, once a kernel's dispatches have taken longer than making it.

use super::CpuDevice;
use crate::ids::PipelineId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Host time that a kernel's dispatches must have taken before machine code is made for it: about what that costs.
const WORTH: Duration = Duration::from_millis(100);

/// What became of a kernel's machine code for threadgroups of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeState {
    /// Its dispatches have taken too little time to be worth it.
    NotWorth,
    /// It is being made.
    InTheMaking,
    /// Dispatches run it.
    Ready(assay_exec::Native),
    /// There is none, and why.
    Refused(assay_exec::NativeError),
}

#[derive(Debug)]
struct Entry {
    taken: Duration,
    state: Arc<Mutex<NativeState>>,
}

/// The machine code of a pipeline, by the size of threadgroups.
#[derive(Debug, Default)]
pub(super) struct Native {
    entries: HashMap<[u32; 3], Entry>,
}

impl CpuDevice {
    /// What became of a pipeline's machine code for threadgroups of a size. Nothing if it was not dispatched with such, or the device
    /// makes none.
    pub fn native_state(&self, pipeline: PipelineId, threadgroup: [u32; 3]) -> Option<NativeState> {
        let entry = self
            .pipelines
            .get(pipeline)
            .ok()?
            .native
            .entries
            .get(&threadgroup)?;
        let state = entry.state.lock().unwrap_or_else(PoisonError::into_inner);
        Some(state.clone())
    }

    /// Notes how long a dispatch took, and has machine code made if that is worth it.
    pub(super) fn note_run(&mut self, pipeline: PipelineId, threadgroup: [u32; 3], took: Duration) {
        let Some(compiler) = self.settings.native.clone() else {
            return;
        };
        let Ok(pipeline) = self.pipelines.get_mut(pipeline) else {
            return;
        };
        let entry = pipeline
            .native
            .entries
            .entry(threadgroup)
            .or_insert_with(|| Entry {
                taken: Duration::ZERO,
                state: Arc::new(Mutex::new(NativeState::NotWorth)),
            });
        let before = entry.taken;
        entry.taken = before.saturating_add(took);
        if before >= WORTH || entry.taken < WORTH {
            return;
        }
        let set = |state: &Mutex<NativeState>, new: NativeState| {
            *state.lock().unwrap_or_else(PoisonError::into_inner) = new;
        };
        let (program, state) = (pipeline.program.clone(), Arc::clone(&entry.state));
        set(&state, NativeState::InTheMaking);
        let made = std::thread::Builder::new()
            .name("assay native".to_owned())
            .spawn(move || {
                let made = program.make_native(&compiler, threadgroup);
                set(
                    &state,
                    made.map_or_else(NativeState::Refused, NativeState::Ready),
                );
            });
        // Without a thread the kernel stays interpreted.
        drop(made);
    }
}
