//! The program form to machine instructions.
//!
//! * `control/shape` prepares the control tree, `control/emit` lays it out with mask instructions.
//! * `select` walks over the program backwards; `leaf`, `source` and `operand` say where
//!   numbers are and what an instruction can take along.
//! * `lift` moves what concerns the whole dispatch to the constant program.
//! * The other modules have the instructions by what they are about: `integer/` (up to 32 bits) and
//!   `int64/`, `float/`, `memory/`, `simdgroup/`.

mod builtin;
mod cast;
mod compare;
mod constant;
mod control;
mod float;
mod hoist;
mod impossible;
mod instruction;
mod int64;
mod integer;
mod leaf;
mod lift;
mod memory;
mod operand;
mod pack;
mod position;
mod select;
mod simdgroup;
mod source;
mod texture;

use crate::mir::{self, Kernel};
use crate::{Error, ErrorKind, Options};
use assay_agx::{Call, Line, Program};
use assay_ssa::analysis::{Cfg, Dominators, Loops, UniformityInfo};
use assay_ssa::{
    Binding, Block, Function, Id, IdMap, IdVec, Loc, Location, Locations, Module, ValueDef,
};
use select::{Lowerer, Mode, NodeCode};
use std::collections::HashMap;

/// Half registers there are.
const HALF_REGISTERS: u16 = 256;

/// Lowers one kernel of an optimised module.
pub fn lower(module: &Module, kernel: &str, options: &Options) -> Result<Kernel, Error> {
    let found = module
        .kernel(kernel)
        .ok_or_else(|| ErrorKind::NoKernel(kernel.to_owned()))?;
    let function = module
        .functions
        .get(found.function)
        .ok_or_else(|| ErrorKind::Internal("the kernel has no function".to_owned()))?;
    let possible = impossible::without(module, function);
    let function = possible.as_ref().unwrap_or(function);
    let rewritten = texture::index_arrays(found, function);
    let (function, texture_elements) = match &rewritten {
        Some((function, elements)) => (function, elements.clone()),
        None => (function, texture::Elements::new()),
    };
    let tree = assay_opt::structurize::structurize(function)
        .map_err(|error| ErrorKind::Unsupported(format!("this control flow ({error})")))?;
    let uses = function.use_counts();
    let (region, count) = control::shape::shape(&tree);
    let (region, count) = control::exits::hand_on(region, count, function, &uses);
    let mut lowerer = Lowerer {
        module,
        kernel: found,
        function,
        uses,
        mode: Mode::Main,
        layout: memory::layout::Layout::default(),
        hoistable: hoist::hoistable(module, found, function),
        stored: Vec::new(),
        stored_at: HashMap::new(),
        vregs: IdVec::new(),
        slots: IdMap::with_len(None, function.num_values()),
        allocas: HashMap::new(),
        out: Vec::new(),
        loc: None,
        block: None,
        info: UniformityInfo::of_kernel(function),
        plans: memory::merge::Plans::default(),
        uses_selector: false,
        held: HashMap::new(),
        depths: depths(function),
        inst_blocks: function.inst_blocks(),
        lane_place: None,
        lane_indices: Vec::new(),
        texture_elements,
        samplers: Vec::new(),
    };
    lowerer.refuse_missing_functions()?;
    lay_out(&mut lowerer, function)?;
    lowerer.plan()?;
    let mut codes: Vec<Option<NodeCode>> = vec![None; count];
    lowerer.region(&region, &mut codes)?;
    let mut region = region;
    if let Some(code) = lowerer.lane_place_code() {
        // A node of its own, before everything else.
        region.insert(
            0,
            control::shape::Node::Copy {
                id: codes.len(),
                pairs: Vec::new(),
            },
        );
        codes.push(Some(code));
    }
    let mut main = control::emit::emit(&region, codes);
    main.vregs = std::mem::take(&mut lowerer.vregs);
    main.stack_bytes = lowerer.layout.stack_bytes;
    main.uses_selector = lowerer.uses_selector;
    let lifted = lift::lift(&mut main, &mut lowerer.layout);
    let constant = constant_program(&mut lowerer, &lifted, &main.vregs)?;
    lowerer.layout.check()?;
    finish(&lowerer, options, main, constant)
}

/// How many loops each block is in.
fn depths(function: &Function) -> IdMap<Block, u32> {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut depths = IdMap::with_len(0, function.num_blocks());
    for &block in function.blocks() {
        depths[block] = loops.depth(block);
    }
    depths
}

/// Arguments, threadgroup variables and constant data in order.
fn lay_out(lowerer: &mut Lowerer<'_>, function: &Function) -> Result<(), Error> {
    lowerer.lay_out_textures();
    for index in 0..function.num_values() {
        let value = assay_ssa::Id::from_index(index);
        if let ValueDef::Global(id) = function.def(value)
            && lowerer.uses[value] > 0
        {
            let group = lowerer.layout.global(lowerer.module, id);
            if group.is_none() {
                lowerer.layout.table(lowerer.module, id);
            }
        }
    }
    let entry = function.entry();
    for (index, &param) in entry
        .map_or(&[][..], |entry| function.params(entry))
        .iter()
        .enumerate()
    {
        let index = index as u32;
        let argument = lowerer.kernel.argument_of_param(index);
        // Most textures and samplers are in state registers, and only the others have a handle.
        let has_state = argument.is_some_and(|argument| {
            matches!(argument.binding, Binding::Texture(_) | Binding::Sampler(_))
        });
        if lowerer.uses[param] > 0 && !has_state {
            lowerer.param_uniform(index);
        }
    }
    Ok(())
}

fn constant_program(
    lowerer: &mut Lowerer<'_>,
    lifted: &lift::Lifted,
    vregs: &IdVec<mir::VReg, mir::VRegData>,
) -> Result<Option<mir::Function>, Error> {
    if lowerer.stored.is_empty() && lifted.is_empty() {
        return Ok(None);
    }
    lowerer.mode = Mode::Constant;
    lowerer.slots = IdMap::with_len(None, lowerer.function.num_values());
    let lifted = lowerer.lifted(lifted, vregs)?;
    let code = lowerer.constant_program(lifted)?;
    let node = [control::shape::Node::Run {
        id: 0,
        block: assay_ssa::Id::from_index(0),
    }];
    let codes = vec![Some(NodeCode {
        code,
        ..NodeCode::default()
    })];
    let mut function = control::emit::emit(&node, codes);
    function.vregs = std::mem::take(&mut lowerer.vregs);
    Ok(Some(function))
}

fn finish(
    lowerer: &Lowerer<'_>,
    options: &Options,
    main: mir::Function,
    constant: Option<mir::Function>,
) -> Result<Kernel, Error> {
    let module = lowerer.module;
    let mut program = Program::new(options.isa, &lowerer.kernel.name);
    program.bindings = lowerer.layout.bindings.clone();
    program.constants = lowerer.layout.constants();
    program.data = lowerer.layout.data.clone();
    program.half_uniforms = Some(lowerer.layout.half_uniforms());
    program.threadgroup_bytes = Some(lowerer.layout.threadgroup_bytes);
    program.threadgroup_size = options.threadgroup;
    program.declared_threads = lowerer.kernel.max_threads;
    program.files = module
        .locations
        .files()
        .map(|(_, name)| name.to_owned())
        .collect();
    let lines = source_lines(&module.locations, &mut program);
    let dispatched = options
        .threadgroup
        .map(|size| size.iter().fold(1u32, |all, &n| all.saturating_mul(n)));
    // What the source declares holds for every dispatch: Metal compiles a pipeline before it knows one.
    let threads = lowerer.kernel.max_threads.max(dispatched);
    let limit = threads.map_or(HALF_REGISTERS, register_limit);
    Ok(Kernel {
        program,
        main,
        constant,
        lines,
        register_limit: limit,
    })
}

/// The user's line of every location, and into the program the calls that brought them there.
fn source_lines(locations: &Locations, program: &mut Program) -> IdVec<Loc, Line> {
    let place = |location: &Location| (location.file.index() as u32, location.line);
    let mut known = HashMap::new();
    let mut lines = IdVec::default();
    for (loc, _) in locations.iter() {
        let chain = locations.user_chain(loc);
        let mut caller = None;
        for pair in chain.windows(2).rev() {
            let [inner, outer] = pair else { continue };
            let (file, line) = place(outer);
            let key = (inner.function, file, line, caller);
            caller = Some(*known.entry(key).or_insert_with(|| {
                program.calls.push(Call {
                    function: locations.function_name(inner).unwrap_or("").to_owned(),
                    file,
                    line,
                    caller,
                });
                program.calls.len() as u32 - 1
            }));
        }
        let (file, line) = chain.first().map_or((0, 0), |location| place(location));
        lines.push(Line {
            offset: 0,
            file,
            line,
            column: chain.first().map_or(0, |location| location.column),
            call: caller,
        });
    }
    lines
}

/// The most half registers with which this many threads fit a core.
fn register_limit(threads: u32) -> u16 {
    let fits = |halves: &u16| {
        let threads_then = assay_chip::occupancy::threads_for_half_registers(u32::from(*halves));
        threads_then.is_some_and(|most| most >= threads)
    };
    (1..=HALF_REGISTERS)
        .rev()
        .find(fits)
        .unwrap_or(HALF_REGISTERS)
}
