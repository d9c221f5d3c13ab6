//! Object files mapped into memory.
//!
//! Sections that a program needs at run time are laid one after the other, references between them are filled in, and the
//! whole is made executable and no longer writable. Code may call three functions it does not bring along: those that copy and fill
//! memory, which compilers call for what they recognise as such.

use memmap2::{Mmap, MmapMut};
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex,
};
use std::collections::HashMap;

/// Most bytes of an image.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of a jump to an address far away.
const JUMP: usize = 16;

/// Why an object file cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It is not an object file of this machine.
    #[error("not an object file of this machine: {0}")]
    Unreadable(String),
    /// It calls something that it does not bring along.
    #[error("the code calls \"{0}\", which is not part of it")]
    UnknownFunction(String),
    /// It refers to a place in a way that is not known here.
    #[error("unknown relocation {0}")]
    UnknownRelocation(String),
    /// No memory for it.
    #[error("no memory for machine code: {0}")]
    NoMemory(String),
}

/// Machine code in memory.
#[derive(Debug)]
pub struct Image {
    memory: Mmap,
    symbols: HashMap<String, usize>,
}

fn unreadable(error: impl std::fmt::Display) -> LoadError {
    LoadError::Unreadable(error.to_string())
}

/// The functions that code may call, by name.
fn outside(name: &str) -> Option<usize> {
    unsafe extern "C" {
        fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
        fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8;
        fn memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8;
    }
    Some(match name {
        "memcpy" => memcpy as *const () as usize,
        "memmove" => memmove as *const () as usize,
        "memset" => memset as *const () as usize,
        _ => return None,
    })
}

/// An object file being laid out.
struct Layout<'a> {
    file: object::File<'a>,
    places: HashMap<SectionIndex, usize>,
    /// Jumps to functions outside, by name.
    jumps: HashMap<String, usize>,
    bytes: Vec<u8>,
}

impl Image {
    /// Maps an object file.
    pub fn load(object: &[u8]) -> Result<Self, LoadError> {
        let mut layout = Layout {
            file: object::File::parse(object).map_err(unreadable)?,
            places: HashMap::new(),
            jumps: HashMap::new(),
            bytes: Vec::new(),
        };
        layout.sections()?;
        layout.jumps()?;
        let no_memory = |error: std::io::Error| LoadError::NoMemory(error.to_string());
        let mut memory = MmapMut::map_anon(layout.bytes.len().max(1)).map_err(no_memory)?;
        layout.relocate(memory.as_ptr() as usize)?;
        let symbols = layout.symbols();
        memory
            .get_mut(..layout.bytes.len())
            .unwrap_or_default()
            .copy_from_slice(&layout.bytes);
        Ok(Self {
            memory: memory.make_exec().map_err(no_memory)?,
            symbols,
        })
    }

    /// Where a function of the object file begins.
    pub fn function(&self, name: &str) -> Option<*const u8> {
        let at = *self.symbols.get(name)?;
        self.memory.get(at..).map(<[u8]>::as_ptr)
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.memory.len()
    }
}

impl Layout<'_> {
    /// Lays out the sections that exist at run time.
    fn sections(&mut self) -> Result<(), LoadError> {
        for section in self.file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                return Err(unreadable("it is not in ELF format"));
            };
            let has = |flag: object::elf::SectionFlags| (sh_flags & flag) == flag;
            let is_loaded = has(object::elf::SHF_ALLOC);
            if !is_loaded || section.name() == Ok(".eh_frame") {
                continue;
            }
            let writable = has(object::elf::SHF_WRITE);
            if writable && section.size() > 0 && section.name() != Ok(".data.rel.ro") {
                return Err(unreadable("it has writable data"));
            }
            let data = section.uncompressed_data().map_err(unreadable)?;
            let align = section.align().clamp(1, 4096) as usize;
            let start = self.bytes.len().next_multiple_of(align);
            if start + data.len() > MOST_BYTES {
                return Err(unreadable("it is too large"));
            }
            self.bytes.resize(start, 0);
            self.bytes.extend_from_slice(&data);
            self.places.insert(section.index(), start);
        }
        Ok(())
    }

    /// A jump for each function outside: it may be farther away than a call reaches.
    fn jumps(&mut self) -> Result<(), LoadError> {
        for symbol in self.file.symbols() {
            let name = symbol.name().unwrap_or_default();
            if !symbol.is_undefined() || name.is_empty() {
                continue;
            }
            // A table that position-independent code of this kind names and does not use.
            if name == "_GLOBAL_OFFSET_TABLE_" {
                continue;
            }
            let address = outside(name);
            let address = address.ok_or_else(|| LoadError::UnknownFunction(name.to_owned()))?;
            let start = self.bytes.len().next_multiple_of(JUMP);
            self.bytes.resize(start, 0);
            // jmp [rip + 0], and the address behind it.
            self.bytes.extend_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
            self.bytes.extend_from_slice(&address.to_le_bytes());
            self.jumps.insert(name.to_owned(), start);
        }
        Ok(())
    }

    /// Where a symbol lies.
    fn place_of(&self, index: SymbolIndex) -> Result<usize, LoadError> {
        let symbol = self.file.symbol_by_index(index).map_err(unreadable)?;
        let name = symbol.name().unwrap_or_default();
        let place = match symbol.section_index() {
            Some(section) => {
                let start = self.places.get(&section);
                start.map(|start| start.wrapping_add(symbol.address() as usize))
            }
            None => self.jumps.get(name).copied(),
        };
        place.ok_or_else(|| LoadError::UnknownFunction(name.to_owned()))
    }

    /// Fills in the references, for an image that lies at an address.
    fn relocate(&mut self, base: usize) -> Result<(), LoadError> {
        let mut filled: Vec<(usize, Vec<u8>)> = Vec::new();
        for section in self.file.sections() {
            let Some(&start) = self.places.get(&section.index()) else {
                continue;
            };
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return Err(LoadError::UnknownRelocation(format!("{relocation:?}")));
                };
                let target = self.place_of(symbol)? as i64 + relocation.addend();
                let at = start + offset as usize;
                let RelocationFlags::Elf { r_type, .. } = relocation.flags() else {
                    return Err(LoadError::UnknownRelocation(format!("{relocation:?}")));
                };
                let bytes = match r_type {
                    object::elf::R_X86_64_PC32 | object::elf::R_X86_64_PLT32 => {
                        ((target - at as i64) as i32).to_le_bytes().to_vec()
                    }
                    object::elf::R_X86_64_PC64 => (target - at as i64).to_le_bytes().to_vec(),
                    object::elf::R_X86_64_64 => {
                        (base as i64).wrapping_add(target).to_le_bytes().to_vec()
                    }
                    other => return Err(LoadError::UnknownRelocation(other.to_string())),
                };
                filled.push((at, bytes));
            }
        }
        for (at, bytes) in filled {
            let place = self.bytes.get_mut(at..at + bytes.len());
            let place = place.ok_or_else(|| unreadable("a reference outside its section"))?;
            place.copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn symbols(&self) -> HashMap<String, usize> {
        let defined = self.file.symbols().filter(|symbol| symbol.is_definition());
        let place = |symbol: &object::Symbol<'_, '_>| {
            let start = self.places.get(&symbol.section_index()?)?;
            Some((
                symbol.name().ok()?.to_owned(),
                start + symbol.address() as usize,
            ))
        };
        defined.filter_map(|symbol| place(&symbol)).collect()
    }
}
