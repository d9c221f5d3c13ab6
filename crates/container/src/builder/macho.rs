//! Mach-Os: one function's code, and images of several functions.

use super::{align, small};
use crate::gpu::{CPU_TYPE_APPLE_GPU, Gpu};
use crate::macho::MAGIC;

/// Collects sections and symbols and writes a Mach-O.
#[derive(Clone, Debug)]
pub struct MachOBuilder {
    cpu_type: u32,
    subtype: u32,
    sections: Vec<(String, String, Vec<u8>)>,
    symbols: Vec<(String, u8, u64)>,
}

const HEADER: usize = 32;
const SEGMENT: usize = 72;
const SECTION: usize = 80;
const SYMTAB: usize = 24;
const ALIGNMENT: usize = 16;
const LC_SEGMENT_64: u32 = 0x19;
const LC_SYMTAB: u32 = 0x2;
const N_SECT_EXTERNAL: u8 = 0x0F;
const GPU_DYLIB: u32 = 13;

impl MachOBuilder {
    /// An empty Mach-O for this target.
    pub fn new(cpu_type: u32, subtype: u32) -> Self {
        MachOBuilder {
            cpu_type,
            subtype,
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Adds a section in a segment of its own.
    pub fn section(mut self, segment: &str, name: &str, data: &[u8]) -> Self {
        self.sections
            .push((segment.to_owned(), name.to_owned(), data.to_vec()));
        self
    }

    /// Names the byte at `offset` of the section added as number `section`, from 1.
    pub fn symbol(mut self, name: &str, section: u8, offset: u64) -> Self {
        self.symbols.push((name.to_owned(), section, offset));
        self
    }

    /// The file's bytes.
    pub fn build(&self) -> Vec<u8> {
        let commands = self.sections.len() * (SEGMENT + SECTION) + SYMTAB;
        let mut body = Vec::new();
        let body_start = (HEADER + commands).next_multiple_of(ALIGNMENT);
        let mut out = self.header(commands);
        for (segment, name, data) in &self.sections {
            align(&mut body, ALIGNMENT);
            let offset = small(body_start + body.len());
            body.extend(data);
            segment_command(&mut out, segment, name, offset, small(data.len()));
        }
        align(&mut body, ALIGNMENT);
        let (entries, strings) = self.symbol_table();
        let symbols_at = small(body_start + body.len());
        let strings_at = symbols_at.saturating_add(small(entries.len()));
        for word in [
            LC_SYMTAB,
            small(SYMTAB),
            symbols_at,
            small(self.symbols.len()),
            strings_at,
            small(strings.len()),
        ] {
            out.extend(word.to_le_bytes());
        }
        out.resize(body_start, 0);
        out.extend(body);
        out.extend(entries);
        out.extend(strings);
        out
    }

    fn header(&self, commands: usize) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let count = small(self.sections.len() + 1);
        for word in [
            self.cpu_type,
            self.subtype,
            GPU_DYLIB,
            count,
            small(commands),
            0,
            0,
        ] {
            out.extend(word.to_le_bytes());
        }
        out
    }

    fn symbol_table(&self) -> (Vec<u8>, Vec<u8>) {
        let mut entries = Vec::new();
        let mut strings = vec![0];
        for (name, section, value) in &self.symbols {
            entries.extend(small(strings.len()).to_le_bytes());
            entries.extend([N_SECT_EXTERNAL, *section, 0, 0]);
            entries.extend(value.to_le_bytes());
            strings.extend(name.as_bytes());
            strings.push(0);
        }
        (entries, strings)
    }
}

/// A segment with one section, both linked at address 0.
fn segment_command(out: &mut Vec<u8>, segment: &str, name: &str, offset: u32, size: u32) {
    let name16 = |text: &str| {
        let mut name = text.as_bytes().to_vec();
        name.resize(16, 0);
        name
    };
    let wide = |out: &mut Vec<u8>, value: u32| out.extend(u64::from(value).to_le_bytes());
    out.extend(LC_SEGMENT_64.to_le_bytes());
    out.extend(small(SEGMENT + SECTION).to_le_bytes());
    out.extend(name16(segment));
    for value in [0, size, offset, size] {
        wide(out, value);
    }
    for word in [7_u32, 5, 1, 0] {
        out.extend(word.to_le_bytes());
    }
    out.extend(name16(name));
    out.extend(name16(segment));
    wide(out, 0);
    wide(out, size);
    out.extend(offset.to_le_bytes());
    out.extend([0; 28]);
}

/// Collects the code of one function and writes its nested Mach-O.
#[derive(Clone, Debug)]
pub struct FunctionBuilder {
    gpu: Gpu,
    code: Vec<u8>,
    symbols: Vec<(String, u64)>,
    metadata: Option<Vec<u8>>,
}

impl FunctionBuilder {
    /// A function without code.
    pub fn new(gpu: Gpu) -> Self {
        FunctionBuilder {
            gpu,
            code: Vec::new(),
            symbols: Vec::new(),
            metadata: None,
        }
    }

    /// Adds code under any symbol.
    pub fn helper(mut self, symbol: &str, code: &[u8]) -> Self {
        self.symbols
            .push((symbol.to_owned(), self.code.len() as u64));
        self.code.extend(code);
        self
    }

    /// Adds the code every thread runs.
    pub fn main(self, code: &[u8]) -> Self {
        self.helper("_agc.main", code)
    }

    /// Adds the code run once per dispatch.
    pub fn constant_program(self, code: &[u8]) -> Self {
        self.helper("_agc.main.constant_program", code)
    }

    /// Adds metadata, see [`super::MetadataBuilder`].
    pub fn metadata(mut self, bytes: &[u8]) -> Self {
        self.metadata = Some(bytes.to_vec());
        self
    }

    /// The nested Mach-O's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut macho = MachOBuilder::new(CPU_TYPE_APPLE_GPU, self.gpu.subtype);
        macho = macho.section("__TEXT", "__text", &self.code);
        for (name, offset) in &self.symbols {
            macho = macho.symbol(name, 1, *offset);
        }
        if let Some(metadata) = &self.metadata {
            macho = macho.section("__GPU_METADATA", "__compute", metadata);
        }
        macho.build()
    }
}

/// A Mach-O whose compute section holds these functions.
pub fn image(gpu: Gpu, functions: &[Vec<u8>]) -> Vec<u8> {
    let mut section = Vec::new();
    for function in functions {
        align(&mut section, ALIGNMENT);
        section.extend(function);
    }
    MachOBuilder::new(CPU_TYPE_APPLE_GPU, gpu.subtype)
        .section("__TEXT", "__compute", &section)
        .build()
}
