//! The little of Mach-O that GPU files use: sections and symbols.
//!
//! The `object` crate walks the load commands; this module checks every claim
//! against the bytes and remembers offsets, so that an error can point at them.

use crate::error::{Error, Problem};
use crate::gpu::Target;
use crate::view::{View, until_nul};
use object::LittleEndian;
use object::macho::{MachHeader64, Nlist64, SectionFlags};
use object::read::macho::{LoadCommandVariant, MachHeader, Nlist, Section as _, Segment as _};
use std::borrow::Cow;

/// The first four bytes of a 64-bit little-endian Mach-O.
pub const MAGIC: &[u8; 4] = &[0xCF, 0xFA, 0xED, 0xFE];

/// Bytes of the fixed header.
const HEADER_SIZE: u64 = 32;

/// Names are cut here: a hostile table could make every symbol share one endless
/// name, and reading them all would take quadratic time.
const LONGEST_NAME: usize = 4096;

/// A Mach-O file, or one nested in another.
#[derive(Clone, Debug)]
pub struct MachO<'a> {
    /// What it was compiled for.
    pub target: Target,
    /// The Mach-O file type.
    pub file_type: u32,
    /// Sections in file order.
    pub sections: Vec<Section<'a>>,
    /// Symbols defined in a section.
    pub symbols: Vec<Symbol<'a>>,
    /// Where the header lies in the file.
    pub offset: u64,
    /// How many bytes from the header on belong to this Mach-O, by its own account.
    pub extent: u64,
}

/// A named stretch of a Mach-O.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// `__TEXT`
    pub segment: Cow<'a, str>,
    /// `__text`
    pub name: Cow<'a, str>,
    /// The address its first byte is linked at.
    pub address: u64,
    /// Its bytes; empty for a section without any in the file.
    pub data: View<'a>,
}

/// A name for an address.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// The name, with its leading underscore.
    pub name: Cow<'a, str>,
    /// Index into [`MachO::sections`].
    pub section: usize,
    /// The address.
    pub address: u64,
}

impl<'a> MachO<'a> {
    /// Reads a Mach-O that starts at the first byte of `view`.
    pub fn read(view: View<'a>) -> Result<Self, Error> {
        view.slice(0, HEADER_SIZE, "the Mach-O header")?;
        if !view.bytes().starts_with(MAGIC) {
            return Err(Error::malformed(
                view.offset(0),
                "not a 64-bit little-endian Mach-O",
            ));
        }
        let fail = |error: object::read::Error| {
            Error::malformed(view.offset(0), format!("bad Mach-O: {error}"))
        };
        let header = MachHeader64::<LittleEndian>::parse(view.bytes(), 0).map_err(fail)?;
        let endian = LittleEndian;
        let mut macho = MachO {
            target: Target::new(header.cputype(endian).0, header.cpusubtype(endian).0),
            file_type: header.filetype(endian).0,
            sections: Vec::new(),
            symbols: Vec::new(),
            offset: view.offset(0),
            extent: HEADER_SIZE,
        };
        let mut commands = header
            .load_commands(endian, view.bytes(), 0)
            .map_err(fail)?;
        let mut symbol_table = None;
        while let Some(command) = commands.next().map_err(fail)? {
            macho.cover(command.offset(), command.cmdsize().into());
            match command.variant().map_err(fail)? {
                LoadCommandVariant::Segment64(segment, data) => {
                    macho.cover(segment.fileoff.get(endian), segment.filesize.get(endian));
                    for section in segment.sections(endian, data).map_err(fail)? {
                        macho.add_section(section, view, command.offset())?;
                    }
                }
                LoadCommandVariant::Symtab(table) => {
                    symbol_table = Some((command.offset(), table));
                }
                _ => {}
            }
        }
        if let Some((command, table)) = symbol_table {
            let stated_at = view.offset(command);
            let start = u64::from(table.symoff.get(endian));
            let count = table.nsyms.get(endian);
            let size = u64::from(count) * size_of::<Nlist64<LittleEndian>>() as u64;
            let entries = view.part(start, size, stated_at, || "the symbol table".into())?;
            let strings_start = u64::from(table.stroff.get(endian));
            let strings_size = u64::from(table.strsize.get(endian));
            let strings = view.part(strings_start, strings_size, stated_at, || {
                "the string table".into()
            })?;
            macho.cover(start, size);
            macho.cover(strings_start, strings_size);
            let (entries, _) = object::pod::slice_from_bytes(entries.bytes(), count as usize)
                .map_err(|()| Error::malformed(stated_at, "bad symbol table"))?;
            macho.add_symbols(entries, strings);
        }
        macho.extent = macho.extent.min(view.len());
        macho.check_overlap()?;
        Ok(macho)
    }

    /// The section `segment,name`.
    pub fn section(&self, segment: &str, name: &str) -> Option<&Section<'a>> {
        self.sections
            .iter()
            .find(|section| section.segment == segment && section.name == name)
    }

    /// The section that holds the byte at `offset` of the file.
    pub fn section_at(&self, offset: u64) -> Option<&Section<'a>> {
        self.sections
            .iter()
            .find(|section| section.data.range().contains(&offset))
    }

    fn cover(&mut self, start: u64, length: u64) {
        self.extent = self.extent.max(start.saturating_add(length));
    }

    fn add_section(
        &mut self,
        section: &'a object::macho::Section64<LittleEndian>,
        view: View<'a>,
        command: u64,
    ) -> Result<(), Error> {
        let endian = LittleEndian;
        let name = String::from_utf8_lossy(until_nul(section.sectname()));
        let segment = String::from_utf8_lossy(until_nul(section.segname()));
        let size = section.size(endian);
        let in_file = !has_no_bytes(section.flags(endian));
        let start = u64::from(section.offset(endian));
        let length = if in_file { size } else { 0 };
        let start = if length == 0 { 0 } else { start };
        let data = view.part(start, length, view.offset(command), || {
            format!("section {segment},{name}")
        })?;
        self.cover(start, length);
        self.sections.push(Section {
            segment,
            name,
            address: section.addr(endian),
            data,
        });
        Ok(())
    }

    /// Keeps the symbols that name a place in a section.
    fn add_symbols(&mut self, entries: &'a [Nlist64<LittleEndian>], strings: View<'a>) {
        let endian = LittleEndian;
        for entry in entries {
            let section = usize::from(entry.n_sect()).wrapping_sub(1);
            if !entry.is_definition() || section >= self.sections.len() {
                continue;
            }
            let start = entry.n_strx.get(endian) as usize;
            // A name outside the string table is no name.
            let Some(rest) = strings.bytes().get(start..) else {
                continue;
            };
            let window = rest.get(..LONGEST_NAME).unwrap_or(rest);
            self.symbols.push(Symbol {
                name: String::from_utf8_lossy(until_nul(window)),
                section,
                address: entry.n_value(endian),
            });
        }
    }

    fn check_overlap(&self) -> Result<(), Error> {
        let mut sections: Vec<_> = self
            .sections
            .iter()
            .filter(|section| !section.data.is_empty())
            .collect();
        sections.sort_by_key(|section| section.data.offset(0));
        for pair in sections.windows(2) {
            let [first, second] = pair else { continue };
            if first.data.range().end > second.data.offset(0) {
                let name =
                    |section: &Section<'_>| format!("section {},{}", section.segment, section.name);
                let problem = Problem::Overlap {
                    first: name(first),
                    second: name(second),
                };
                return Err(Error::new(second.data.offset(0), problem));
            }
        }
        Ok(())
    }
}

/// Whether a section only reserves memory.
fn has_no_bytes(flags: SectionFlags) -> bool {
    const ZERO_FILL: [u32; 3] = [0x1, 0xC, 0x12];
    ZERO_FILL.contains(&(flags.0 & 0xFF))
}

/// Whether these bytes start like a Mach-O this module reads.
pub fn is_macho(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}
