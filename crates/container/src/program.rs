//! From a container's function to a program the other crates understand.

use crate::error::{Error, Problem};
use crate::gpu::Gpu;
use crate::image::{CompiledFunction, Image, Role};
use assay_agx::{Isa, Op, Program};
use std::ops::Range;

/// A program and what the container knows beyond it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The program. Its `code` holds main and the helper functions as they lie in
    /// the file, since calls between them are relative.
    pub program: Program,
    /// Functions inside `program.code`, in order of address.
    pub symbols: Vec<CodeSymbol>,
    /// Where `program.code` starts in the file.
    pub code_offset: u64,
    /// Where `program.constant_program` starts in the file, if there is one.
    pub constant_program_offset: Option<u64>,
}

/// A named stretch of a program's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSymbol {
    /// The symbol.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Where it lies in the program's code.
    pub range: Range<u32>,
}

impl Gpu {
    /// The instruction set, for GPUs that can be decoded.
    pub fn isa(self) -> Option<Isa> {
        if !self.is_decodable() {
            return None;
        }
        self.name()?.parse().ok()
    }
}

impl Image<'_> {
    /// The instruction set: the GPU's, or for one whose number is not published, that of the first function that tells.
    pub fn isa(&self) -> Option<Isa> {
        let functions = || self.functions.iter().find_map(CompiledFunction::isa);
        self.gpu.isa().or_else(functions)
    }

    /// The GPU for people: its name, or for one whose number is not published, what its code is.
    pub fn target(&self) -> String {
        let gpu = self.gpu;
        match self.isa().filter(|_| gpu.name().is_none()) {
            Some(isa) => format!(
                "an Apple GPU with {} code (cpusubtype {})",
                isa.name(),
                gpu.subtype
            ),
            None => gpu.to_string(),
        }
    }
}

impl CompiledFunction<'_> {
    /// The instruction set: the GPU's, or for one whose number is not published, G15's when
    /// the code is whole in it.
    pub fn isa(&self) -> Option<Isa> {
        let unnamed = || {
            let main = self.main().filter(|_| self.gpu.name().is_none())?;
            is_whole(Isa::G15, self.bytes_of(main)).then_some(Isa::G15)
        };
        self.gpu.isa().or_else(unnamed)
    }

    /// The function as a program: code, constant program and the stated sizes.
    ///
    /// An error for a GPU that cannot be decoded, and for a function without code.
    pub fn to_program(&self) -> Result<Extracted, Error> {
        let isa = self.isa().ok_or_else(|| {
            let gpu = self.gpu.to_string();
            Error::new(self.code_offset, Problem::Undecodable { gpu })
        })?;
        let main = self
            .main()
            .ok_or_else(|| Error::missing(self.code_offset, "no code under _agc.main"))?;
        let constant = self.constant_program();
        let span = span(
            self.parts
                .iter()
                .filter(|part| part.role != Role::ConstantProgram)
                .map(|part| part.range.clone()),
        );
        let code = self.code.get(span.clone()).unwrap_or_default();
        let place =
            |range: &Range<usize>| small(range.start - span.start)..small(range.end - span.start);
        let symbols = self
            .parts
            .iter()
            .filter(|part| part.range.start >= span.start && part.range.end <= span.end)
            .map(|part| CodeSymbol {
                name: part.name.clone().into_owned(),
                role: part.role,
                range: place(&part.range),
            })
            .collect();
        let mut program = Program::new(isa, self.name.as_deref().unwrap_or_default());
        program.code = code.to_vec();
        program.entry = small(main.range.start - span.start);
        program.constant_program = constant
            .map(|part| self.bytes_of(part).to_vec())
            .unwrap_or_default();
        self.state_sizes(&mut program);
        Ok(Extracted {
            program,
            symbols,
            code_offset: self.code_offset + span.start as u64,
            constant_program_offset: constant
                .map(|part| self.code_offset + part.range.start as u64),
        })
    }

    fn state_sizes(&self, program: &mut Program) {
        let Some(metadata) = &self.metadata else {
            return;
        };
        // Stated in 32-bit units. The unit of uniforms is not established, so their
        // number stays unknown here.
        program.half_registers = metadata
            .registers
            .and_then(|words| u16::try_from(words.checked_mul(2)?).ok());
        program.scratch_bytes = metadata.spill_bytes;
        program.threadgroup_bytes = metadata.threadgroup_bytes;
    }
}

/// From the first start to the last end.
fn span(ranges: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    ranges
        .reduce(|all, range| all.start.min(range.start)..all.end.max(range.end))
        .unwrap_or(0..0)
}

fn small(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Raw code as a program: nothing is known but the bytes.
pub fn raw_program(isa: Isa, name: &str, code: &[u8]) -> Program {
    Program {
        code: code.to_vec(),
        ..Program::new(isa, name)
    }
}

/// Whether bytes look like a program: walking from the first byte a `stop` or `ret`
/// is reached, and most of what lies before it is known.
pub(crate) fn looks_like_code(bytes: &[u8]) -> bool {
    looks_like_g13(bytes) || is_whole(Isa::G15, bytes)
}

/// Returns true if every byte up to a `stop` belongs to an instruction of the set, and there
/// are a few of them.
fn is_whole(isa: Isa, bytes: &[u8]) -> bool {
    let items = assay_agx::walk(isa, bytes).take(MOST_EXAMINED);
    let mut count = 0;
    for (_, item) in items {
        match item.known() {
            Some(instruction) if instruction.op() == Op::Stop => return count >= 2,
            Some(_) => count += 1,
            None => return false,
        }
    }
    count == MOST_EXAMINED
}

fn looks_like_g13(bytes: &[u8]) -> bool {
    let mut known = 0_usize;
    let mut unknown = 0_usize;
    for (_, item) in assay_agx::walk(Isa::G13, bytes).take(MOST_EXAMINED) {
        match item.known() {
            Some(instruction) if matches!(instruction.op(), Op::Stop | Op::Ret) => {
                return known >= unknown.saturating_mul(3);
            }
            Some(_) => known += 1,
            None => unknown += 1,
        }
    }
    // A long program is judged by its beginning.
    known + unknown == MOST_EXAMINED && known >= unknown.saturating_mul(20)
}

const MOST_EXAMINED: usize = 4096;
