//! Copies of texels: between textures, and between a texture and a buffer.

use crate::report::wrong_use;
use crate::resource::{BUFFER, Buffer};
use crate::texture::{Region, TEXTURE, Texture};
use assay_objc::{Id, Strong};

/// One side of a copy.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// A buffer: offset, bytes of a row and of an image.
    Buffer(Strong, usize, usize, usize),
    /// A texture: slice, level, origin.
    Texture(Strong, u64, u64, [u64; 3]),
}

/// A copy of as many texels.
#[derive(Clone, Debug)]
pub(crate) struct TexelCopy {
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) size: [u64; 3],
}

/// Bytes of a texture's region, row by row.
fn rows(side: &Side, size: [u64; 3], mut row: impl FnMut(*mut u8, usize)) {
    let Side::Texture(object, slice, level, origin) = side else {
        return;
    };
    let region = Region {
        origin: *origin,
        size,
    };
    // SAFETY: the command keeps the texture.
    if let Some(texture) = unsafe { TEXTURE.state::<Texture>(object.id()) } {
        let what = "a copy of texels";
        texture.rows(what, region, (*level, *slice), (0, 0), |place, _, bytes| {
            row(place, bytes);
        });
    }
}

impl Side {
    /// A texture's side.
    ///
    /// # Safety
    /// The object must be alive, or nil.
    pub(crate) unsafe fn texture(
        texture: Id,
        (slice, level): (u64, u64),
        origin: [u64; 3],
    ) -> Self {
        // SAFETY: the caller's promise.
        let (known, kept) = unsafe { (TEXTURE.state::<Texture>(texture), Strong::retain(texture)) };
        if known.is_none() {
            wrong_use("a copy of texels: the texture is nil or not one");
        }
        Self::Texture(kept, slice, level, origin)
    }

    /// A buffer's side.
    ///
    /// # Safety
    /// The object must be alive, or nil.
    pub(crate) unsafe fn buffer(buffer: Id, offset: usize, row: usize, image: usize) -> Self {
        // SAFETY: the caller's promise.
        let (known, kept) = unsafe { (BUFFER.state::<Buffer>(buffer), Strong::retain(buffer)) };
        if known.is_none() {
            wrong_use("a copy of texels: the buffer is nil or not one");
        }
        Self::Buffer(kept, offset, row, image)
    }

    /// The places of rows of the region, and how many bytes each has; those of a buffer as many as `bytes` says.
    fn places(&self, size: [u64; 3], bytes: usize) -> Vec<(*mut u8, usize)> {
        let mut found = Vec::new();
        match self {
            Self::Texture(..) => rows(self, size, |place, bytes| found.push((place, bytes))),
            Self::Buffer(object, offset, row, image) => {
                // SAFETY: the command keeps the buffer.
                let Some(buffer) = (unsafe { BUFFER.state::<Buffer>(object.id()) }) else {
                    return found;
                };
                for deep in 0..size[2] as usize {
                    for down in 0..size[1] as usize {
                        let at = offset
                            .saturating_add(deep.saturating_mul(*image))
                            .saturating_add(down.saturating_mul(*row));
                        if at.saturating_add(bytes) > buffer.length {
                            wrong_use(&format!(
                                "a copy of texels: {bytes} bytes at offset {at} of a {}; the rest is not copied",
                                buffer.name()
                            ));
                            return found;
                        }
                        found.push((buffer.start().wrapping_add(at), bytes));
                    }
                }
            }
        }
        found
    }
}

impl TexelCopy {
    /// Copies.
    pub(crate) fn run(&self) {
        let mut bytes = 0;
        for side in [&self.from, &self.to] {
            rows(side, [self.size[0], 1, 1], |_, row| bytes = row);
        }
        let from = self.from.places(self.size, bytes);
        let to = self.to.places(self.size, bytes);
        for ((from, length), (to, room)) in from.into_iter().zip(to) {
            // SAFETY: both were found to be inside; they may overlap.
            unsafe { std::ptr::copy(from, to, length.min(room)) };
        }
    }
}
