//! Machine code for programs, made by clang from the bytecode.
//!
//! | file | what it does |
//! |---|---|
//! | `meaning` | what each lane function computes, noted when bytecode is made |
//! | `known` | how lanes differ in each register, for threadgroups of a size |
//! | `emit` | writes a program as LLVM's text: registers, masks, which operation is written how |
//! | `control`, `collectives`, `helpers` | branches, loops and barriers; reductions, shuffles and products; functions that are called |
//! | `arithmetic`, `machine` | arithmetic as `assay-num` defines it, and mathematics composed of it |
//! | `memory`, `tile`, `text` | loads and stores; those of matrices; the text form |
//! | `run` | runs the code over a grid |
//! | `state`, `parts` | when code is made; dispatches in parts, between which it takes over |
//!
//! One function runs a simdgroup: registers are vectors of 32 lanes, or one number where all lanes follow from it; the mask is a
//! number, and branches jump where no lane is left, as in the interpreter. What has no code of its own (and every
//! access that does not fit where it should) calls the interpreter's function for that operation: results, faults and their places are
//! the interpreter's.

mod arithmetic;
mod collectives;
mod control;
mod emit;
mod helpers;
mod known;
mod machine;
mod makers;
mod meaning;
mod memory;
mod parts;
mod run;
mod state;
mod text;
mod tile;

pub(crate) use known::{Parameter, parameters};
pub(crate) use meaning::{Meaning, meaning};
pub(crate) use parts::Parts;
pub use state::NativeState;
pub(crate) use state::Slot;

use crate::code::{Op, Program, Reg};
use assay_native::{CompileError, Compiler, Image};
use assay_ssa::builtin::Builtin;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a program is interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NativeError {
    /// It was not compiled with [`Options::native`](crate::Options::native).
    #[error("the program was compiled without what machine code is made of")]
    NoSource,
    /// There is no code for it.
    #[error("no machine code: {0}")]
    Refused(String),
    /// clang failed.
    #[error(transparent)]
    NotCompiled(#[from] assay_native::CompileError),
    /// Its object file cannot be used.
    #[error(transparent)]
    NotLoaded(#[from] assay_native::LoadError),
}

/// What making machine code took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Native {
    /// Time to write the text, to compile it, and to map the object file.
    pub emitted: Duration,
    /// See above.
    pub compiled: Duration,
    /// See above.
    pub loaded: Duration,
    /// The object file came from the cache.
    pub cached: bool,
    /// Bytes of the text and of the code in memory.
    pub text: usize,
    /// See above.
    pub code: usize,
    /// The operations that call the interpreter, by name.
    pub interpreted: Vec<String>,
}

/// A program as it is before registers are shared.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) program: Program,
    pub(crate) meanings: Vec<Meaning>,
    pub(crate) parameters: HashMap<Reg, Parameter>,
    /// The positions it asks for.
    pub(crate) positions: Vec<(Builtin, u8)>,
}

impl Source {
    pub(crate) fn new(
        program: Program,
        meanings: Vec<Meaning>,
        parameters: HashMap<Reg, Parameter>,
    ) -> Self {
        let mut positions = Vec::new();
        for op in &program.ops {
            if let Op::Position { which, axis, .. } = *op
                && !positions.contains(&(which, axis))
            {
                positions.push((which, axis));
            }
        }
        Self {
            program,
            meanings,
            parameters,
            positions,
        }
    }

    fn position(&self, which: Builtin, axis: u8) -> Option<usize> {
        self.positions
            .iter()
            .position(|known| *known == (which, axis))
    }
}

/// Machine code for whole threadgroups of one size.
#[derive(Debug)]
pub(crate) struct Code {
    /// Keeps the functions alive.
    _image: Image,
    suspends: bool,
    start: *const u8,
    resume: *const u8,
    is_done: *const u8,
    /// For each position, whether the code takes the first lane's number for it.
    scalar_positions: Vec<bool>,
}

// SAFETY: the code is never written, and all it works on is given to it by its caller.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Runs a simdgroup, to its end or its first barrier. Returns the handle of a coroutine, or null.
    ///
    /// # Safety
    /// The context must be one of this code's program.
    unsafe fn start(&self, context: *mut u8) -> *mut u8 {
        // SAFETY: the functions have these types (`emit`), as the flag says.
        unsafe {
            if self.suspends {
                let start: unsafe extern "C" fn(*mut u8) -> *mut u8 =
                    std::mem::transmute(self.start);
                return start(context);
            }
            let start: unsafe extern "C" fn(*mut u8) = std::mem::transmute(self.start);
            start(context);
        }
        std::ptr::null_mut()
    }

    /// # Safety
    /// The handle must be of a suspended coroutine of this code.
    unsafe fn resume(&self, handle: *mut u8) {
        // SAFETY: as above.
        unsafe {
            let resume: unsafe extern "C" fn(*mut u8) = std::mem::transmute(self.resume);
            resume(handle);
        }
    }

    /// # Safety
    /// As for [`resume`](Self::resume).
    unsafe fn is_done(&self, handle: *mut u8) -> bool {
        // SAFETY: as above.
        unsafe {
            let is_done: unsafe extern "C" fn(*mut u8) -> u32 = std::mem::transmute(self.is_done);
            is_done(handle) != 0
        }
    }
}

impl Program {
    /// Makes machine code for whole threadgroups of a size. [`Program::run`] uses it from then on; results are the same.
    pub fn make_native(
        &self,
        compiler: &Compiler,
        threadgroup: [u32; 3],
    ) -> Result<Native, NativeError> {
        self.native.make_now(compiler, threadgroup)
    }

    /// Has machine code made in the background for every size of threadgroups whose dispatches have been interpreted for so long. A
    /// dispatch that still runs then goes on with it.
    pub fn make_native_later(&self, compiler: Arc<Compiler>, worth: Duration) {
        self.native.make_later(compiler, worth);
    }

    /// Makes what [`Program::make_native_later`] would make sooner or later, or waits for it: what runs threadgroups of this size no
    /// longer changes. Who compares times calls it before the first.
    pub fn settle_native(&self, threadgroup: [u32; 3]) {
        self.native.settle(threadgroup);
    }

    /// What became of machine code for threadgroups of a size.
    pub fn native_state(&self, threadgroup: [u32; 3]) -> NativeState {
        self.native.state(threadgroup)
    }

    /// The text that machine code for threadgroups of a size is made of.
    pub fn native_text(&self, threadgroup: [u32; 3]) -> Result<String, NativeError> {
        let source = self.native.source().ok_or(NativeError::NoSource)?;
        emitted(source, threadgroup).map(|(emitted, _)| emitted.text)
    }
}

fn emitted(
    source: &Source,
    threadgroup: [u32; 3],
) -> Result<(emit::Emitted, Vec<bool>), NativeError> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(NativeError::Refused(
            "only Linux on x86-64 has it".to_owned(),
        ));
    }
    let threads = threadgroup
        .iter()
        .try_fold(1u32, |product, &side| product.checked_mul(side));
    let Some(1..=1024) = threads else {
        return Err(NativeError::Refused(format!(
            "threadgroups of {threadgroup:?} threads"
        )));
    };
    let roots = memory::roots(&source.program);
    let known = known::analyse(source, &roots, threadgroup);
    let known = known
        .ok_or_else(|| NativeError::Refused("its registers have no end to be known".to_owned()))?;
    let positions = source.positions.iter().map(|&(which, axis)| {
        let ops = source.program.ops.iter();
        let scalar = |op: &Op| match *op {
            Op::Position {
                which: w,
                axis: a,
                d,
            } => (w, a) == (which, axis) && known.of(d).is_scalar(),
            _ => false,
        };
        ops.clone().any(scalar)
    });
    let positions = positions.collect();
    let emitted = emit::emit(source, &known, &roots, threadgroup);
    let emitted = emitted.map_err(|emit::Refused(why)| NativeError::Refused(why))?;
    Ok((emitted, positions))
}

fn make(
    source: &Source,
    compiler: &Compiler,
    threadgroup: [u32; 3],
) -> Result<(Code, Native), NativeError> {
    let start = Instant::now();
    let (emitted, scalar_positions) = emitted(source, threadgroup)?;
    let written = Instant::now();
    let (object, cached) = match compiler.compile(&emitted.text) {
        // An older clang.
        Err(CompileError::Failed { message, .. })
            if emitted.suspends && message.contains("intrinsic") =>
        {
            let old = emitted
                .text
                .replace(emit::COROUTINE_END, emit::OLD_COROUTINE_END);
            compiler.compile(&old)?
        }
        compiled => compiled?,
    };
    let compiled = Instant::now();
    let image = Image::load(&object)?;
    let missing =
        |name: &str| NativeError::Refused(format!("its object file has no function \"{name}\""));
    let function = |name: &str| image.function(name).ok_or_else(|| missing(name));
    let begin = function("simdgroup")?;
    let (resume, is_done) = match emitted.suspends {
        true => (function("resume")?, function("is_done")?),
        false => (begin, begin),
    };
    let facts = Native {
        emitted: written - start,
        compiled: compiled - written,
        loaded: compiled.elapsed(),
        cached,
        text: emitted.text.len(),
        code: image.bytes(),
        interpreted: emitted.cold.into_iter().collect(),
    };
    let code = Code {
        suspends: emitted.suspends,
        start: begin,
        resume,
        is_done,
        scalar_positions,
        _image: image,
    };
    Ok((code, facts))
}
