//! Machine code among the members of a capture: binary archives and GPU Mach-Os, by the chip each slice is for.

use super::Members;
use super::document::{CodeSlice, Member};
use assay_container::fat::{self, SliceContent};
use assay_container::gpu::Target;
use assay_container::image::Image;
use assay_container::{Contents, macho, mtlb};

/// The first bytes of members that may hold code: a buffer of numbers is not looked into.
const MAGICS: [&[u8]; 3] = [fat::MAGIC, macho::MAGIC, mtlb::MAGIC];

/// Returns true if a member begins like a file of code.
pub(super) fn is_code(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// The slices of all members with machine code.
pub(super) fn slices(members: &Members<'_>, list: &[Member]) -> Vec<CodeSlice> {
    let mut found = Vec::new();
    for member in list {
        let Some(bytes) = members.code(member) else {
            continue;
        };
        match assay_container::open(&bytes) {
            Ok(Contents::Archive(archive)) => {
                for part in &archive.slices {
                    found.extend(match &part.content {
                        SliceContent::Image(image) => Some(code(&member.name, image)),
                        _ => unread(&member.name, part.target),
                    });
                }
            }
            Ok(Contents::Image(image)) => found.push(code(&member.name, &image)),
            _ => {}
        }
    }
    found
}

/// A slice of machine code.
fn code(member: &str, image: &Image<'_>) -> CodeSlice {
    CodeSlice {
        member: member.to_owned(),
        target: image.target(),
        functions: image.functions.len() as u64,
        decodable: image.isa().is_some(),
    }
}

/// A slice of machine code whose form is not known; nothing of AIR.
fn unread(member: &str, target: Target) -> Option<CodeSlice> {
    let is_air = matches!(target, Target::Air(_));
    (!is_air).then(|| CodeSlice {
        member: member.to_owned(),
        target: target.to_string(),
        functions: 0,
        decodable: false,
    })
}
