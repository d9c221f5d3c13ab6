//! Metallibs inside other files: programs and libraries carry them as data.
//!
//! The four letters `MTLB` also occur as text (this program contains them), so a
//! hit counts only when a complete metallib follows.

use crate::macho::MachO;
use crate::mtlb::{self, Header, Metallib};
use crate::view::View;

/// A metallib found inside another file.
#[derive(Clone, Debug)]
pub struct Embedded<'a> {
    /// The library.
    pub metallib: Metallib<'a>,
    /// `segment,section` of the Mach-O that holds it, if it is one.
    pub section: Option<String>,
}

/// Broken libraries are skipped, but not without end: in a hostile file each could
/// cost as much as the whole file.
const MOST_FALSE_STARTS: usize = 64;

/// Finds the metallibs in `bytes`, in order.
pub fn find(bytes: &[u8]) -> Vec<Embedded<'_>> {
    let view = View::new(bytes);
    let macho = MachO::read(view).ok();
    let mut found = Vec::new();
    let mut at = 0;
    let mut false_starts = 0;
    while let Some(start) = next_magic(bytes, at) {
        let candidate = view
            .tail(start as u64, "a metallib")
            .and_then(Metallib::read);
        match candidate {
            Ok(metallib) if metallib.header().size >= Header::SIZE => {
                let section = macho
                    .as_ref()
                    .and_then(|macho| macho.section_at(start as u64))
                    .map(|section| format!("{},{}", section.segment, section.name));
                at = start.saturating_add(metallib.bytes().len());
                found.push(Embedded { metallib, section });
            }
            _ => {
                let mimics = view
                    .tail(start as u64, "a metallib")
                    .is_ok_and(|view| Header::read(view).is_ok());
                false_starts += usize::from(mimics);
                if false_starts > MOST_FALSE_STARTS {
                    break;
                }
                at = start + 4;
            }
        }
    }
    found
}

fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = rest.windows(4).position(|window| window == mtlb::MAGIC)?;
    Some(from + found)
}
