//! Metallibs.

use super::small;
use crate::mtlb::{FunctionKind, MAGIC};

/// Collects functions and writes a metallib for macOS.
#[derive(Clone, Debug, Default)]
pub struct MetallibBuilder {
    functions: Vec<Function>,
    sources: Vec<(String, Vec<u8>)>,
    uuid: Option<[u8; 16]>,
    without_sizes: bool,
}

#[derive(Clone, Debug)]
struct Function {
    name: String,
    kind: FunctionKind,
    bitcode: Vec<u8>,
}

const HEADER: usize = 88;

impl MetallibBuilder {
    /// A library without functions.
    pub fn new() -> Self {
        MetallibBuilder::default()
    }

    /// Adds a compute kernel.
    pub fn kernel(self, name: &str, bitcode: &[u8]) -> Self {
        self.function(name, FunctionKind::Kernel, bitcode)
    }

    /// Adds a function of any kind.
    pub fn function(mut self, name: &str, kind: FunctionKind, bitcode: &[u8]) -> Self {
        self.functions.push(Function {
            name: name.to_owned(),
            kind,
            bitcode: bitcode.to_vec(),
        });
        self
    }

    /// Adds an archive of sources.
    pub fn source(mut self, id: &str, data: &[u8]) -> Self {
        self.sources.push((id.to_owned(), data.to_vec()));
        self
    }

    /// Gives the library an identity.
    pub fn uuid(mut self, uuid: [u8; 16]) -> Self {
        self.uuid = Some(uuid);
        self
    }

    /// Leaves out the sizes of modules, as old compilers did.
    pub fn without_sizes(mut self) -> Self {
        self.without_sizes = true;
        self
    }

    /// The library's bytes.
    pub fn build(&self) -> Vec<u8> {
        let list = self.list();
        let metadata = self.metadata();
        let sources = self.source_section();
        let extension_at = HEADER + list.len();
        // The extension's length does not depend on the positions inside it.
        let extension_size = self.extension(0, sources.len()).len();
        let public_at = extension_at + extension_size;
        let private_at = public_at + metadata.len();
        let bitcode_at = private_at + metadata.len();
        let bitcode: Vec<u8> = self
            .functions
            .iter()
            .flat_map(|f| f.bitcode.clone())
            .collect();
        let sources_at = bitcode_at + bitcode.len();
        let mut out = MAGIC.to_vec();
        out.extend([0x01, 0x80, 2, 0, 7, 0, 0, 0x81, 14, 0, 0, 0]);
        let size = sources_at + sources.len();
        let sections = [
            (HEADER, list.len().saturating_sub(4)),
            (public_at, metadata.len()),
            (private_at, metadata.len()),
            (bitcode_at, bitcode.len()),
        ];
        let words = sections.iter().flat_map(|&(start, length)| [start, length]);
        for value in std::iter::once(size).chain(words) {
            out.extend((value as u64).to_le_bytes());
        }
        out.extend(list);
        out.extend(self.extension(sources_at, sources.len()));
        out.extend(&metadata);
        out.extend(&metadata);
        out.extend(bitcode);
        out.extend(sources);
        out
    }

    fn list(&self) -> Vec<u8> {
        let mut out = small(self.functions.len()).to_le_bytes().to_vec();
        let mut bitcode = 0_u64;
        for (number, function) in self.functions.iter().enumerate() {
            let mut tags = Vec::new();
            let mut name = function.name.clone().into_bytes();
            name.push(0);
            tag(&mut tags, b"NAME", &name);
            tag(&mut tags, b"TYPE", &[function.kind.code()]);
            tag(&mut tags, b"HASH", &[0; 32]);
            let metadata = 8 * number as u64;
            let offsets = [metadata, metadata, bitcode];
            let offsets: Vec<u8> = offsets.iter().flat_map(|o| o.to_le_bytes()).collect();
            tag(&mut tags, b"OFFT", &offsets);
            tag(&mut tags, b"VERS", &[2, 0, 6, 0, 3, 0, 1, 0]);
            let size = function.bitcode.len() as u64;
            if !self.without_sizes {
                tag(&mut tags, b"MDSZ", &size.to_le_bytes());
            }
            tags.extend(b"ENDT");
            out.extend(small(tags.len() + 4).to_le_bytes());
            out.extend(tags);
            bitcode += size;
        }
        out
    }

    /// An empty group of tags per function.
    fn metadata(&self) -> Vec<u8> {
        b"\x08\0\0\0ENDT".repeat(self.functions.len())
    }

    fn extension(&self, sources_at: usize, sources_size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.sources.is_empty() {
            let mut place = (sources_at as u64).to_le_bytes().to_vec();
            place.extend((sources_size as u64).to_le_bytes());
            tag(&mut out, b"HSRD", &place);
        }
        if let Some(uuid) = &self.uuid {
            tag(&mut out, b"UUID", uuid);
        }
        if !out.is_empty() {
            out.extend(b"ENDT");
        }
        out
    }

    fn source_section(&self) -> Vec<u8> {
        if self.sources.is_empty() {
            return Vec::new();
        }
        let mut out = small(self.sources.len()).to_le_bytes().to_vec();
        out.extend(b"-frecord-sources\0/work\0");
        for (id, data) in &self.sources {
            let mut content = id.clone().into_bytes();
            content.push(0);
            content.extend(data);
            out.extend(small(16 + content.len()).to_le_bytes());
            out.extend(b"SARC");
            out.extend(small(content.len()).to_le_bytes());
            out.extend(content);
            out.extend(b"ENDT");
        }
        out
    }
}

fn tag(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend(name);
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    out.extend(length.to_le_bytes());
    out.extend(content);
}
