//! Blit encoders: copies and fills of buffers, copies of textures.

use crate::command::Command;
use crate::device;
use crate::indirect::{INDIRECT_COMMANDS, IndirectCommands};
use crate::report::wrong_use;
use crate::resource::{BUFFER, Buffer};
use crate::session::Session;
use crate::texel_copy::{Side, TexelCopy};
use assay_foundation::string::{Range, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};

/// A blit encoder.
#[derive(Debug, Default)]
pub struct Blit {
    session: Session,
}

pub(crate) fn blit(commands: Id) -> Strong {
    // SAFETY: the command buffer is alive; `Blit` is the state of the class.
    unsafe {
        let session = Session::new(commands, false);
        BLIT.make(Blit { session })
    }
}

/// The bytes of a range that lie in a buffer, and a report of the rest.
unsafe fn inside(what: &str, buffer: Id, from: usize, length: usize) -> usize {
    // SAFETY: the caller's buffer is alive.
    let Some(known) = (unsafe { BUFFER.state::<Buffer>(buffer) }) else {
        wrong_use(&format!("{what}: there is no buffer"));
        return 0;
    };
    let fits = known.length.saturating_sub(from).min(length);
    if fits < length {
        wrong_use(&format!(
            "{what}: {length} bytes at offset {from} of a {}; {fits} of them are accessed",
            known.name()
        ));
    }
    fits
}

/// Encodes a fill.
pub(crate) unsafe fn fill(session: &Session, buffer: Id, range: Range, value: u8) {
    // SAFETY: the caller's buffer is alive, or nil.
    let (length, kept) = unsafe {
        (
            inside("fillBuffer", buffer, range.location, range.length),
            Strong::retain(buffer),
        )
    };
    if range.length == 0 {
        wrong_use("fillBuffer: the range has no bytes");
    }
    session.add(Command::Fill {
        buffer: kept,
        from: range.location,
        length,
        value,
        origin: session.origin("fillBuffer", format!("{length} bytes")),
    });
}

/// Encodes a copy.
pub(crate) unsafe fn copy(
    session: &Session,
    (from, at): (Id, usize),
    (to, to_at): (Id, usize),
    size: usize,
) {
    // SAFETY: the caller's buffers are alive, or nil.
    let (length, source, target) = unsafe {
        let source = inside("copyFromBuffer, source", from, at, size);
        let target = inside("copyFromBuffer, destination", to, to_at, size);
        (source.min(target), Strong::retain(from), Strong::retain(to))
    };
    if size == 0 {
        wrong_use("copyFromBuffer: the size is zero");
    }
    if from == to && at.abs_diff(to_at) < length {
        wrong_use(&format!(
            "copyFromBuffer: {length} bytes from offset {at} to offset {to_at} of one buffer overlap"
        ));
    }
    session.add(Command::Copy {
        from: source,
        at,
        to: target,
        to_at,
        length,
        origin: session.origin("copyFromBuffer", format!("{length} bytes")),
    });
}

impl Blit {
    fn copy_texels(&self, from: Side, to: Side, size: [u64; 3]) {
        let copy = TexelCopy { from, to, size };
        self.session.add(Command::Texels(Box::new(copy)));
    }
}

class! {
    /// `id<MTLBlitCommandEncoder>`.
    pub BLIT = "AssayMTLBlitCommandEncoder": NSOBJECT, Blit, ["MTLBlitCommandEncoder", "MTLCommandEncoder"];
    - "label" "@@:" (this) -> Id { this.session.label().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { this.session.set_label(label); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "fillBuffer:range:value:" "v@:@{_NSRange=QQ}C" (this, buffer: Id, range: Range, value: u8) { fill(&this.session, buffer, range, value); }
    - "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:" "v@:@Q@QQ" (this, from: Id, at: usize, to: Id, to_at: usize, size: usize) {
        copy(&this.session, (from, at), (to, to_at), size);
    }
    - "copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:"
      "v@:@QQQ{?=QQQ}@QQ{?=QQQ}"
      (this, from: Id, offset: usize, row: usize, image: usize, size: [u64; 3], to: Id, slice: u64, level: u64, origin: [u64; 3]) {
        this.copy_texels(Side::buffer(from, offset, row, image), Side::texture(to, (slice, level), origin), size);
    }
    - "copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:options:"
      "v@:@QQQ{?=QQQ}@QQ{?=QQQ}Q"
      (this, from: Id, offset: usize, row: usize, image: usize, size: [u64; 3], to: Id, slice: u64, level: u64, origin: [u64; 3], _options: u64) {
        this.copy_texels(Side::buffer(from, offset, row, image), Side::texture(to, (slice, level), origin), size);
    }
    - "copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:"
      "v@:@QQ{?=QQQ}{?=QQQ}@QQQ"
      (this, from: Id, slice: u64, level: u64, origin: [u64; 3], size: [u64; 3], to: Id, offset: usize, row: usize, image: usize) {
        this.copy_texels(Side::texture(from, (slice, level), origin), Side::buffer(to, offset, row, image), size);
    }
    - "copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:options:"
      "v@:@QQ{?=QQQ}{?=QQQ}@QQQQ"
      (this, from: Id, slice: u64, level: u64, origin: [u64; 3], size: [u64; 3], to: Id, offset: usize, row: usize, image: usize, _options: u64) {
        this.copy_texels(Side::texture(from, (slice, level), origin), Side::buffer(to, offset, row, image), size);
    }
    - "copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:"
      "v@:@QQ{?=QQQ}{?=QQQ}@QQ{?=QQQ}"
      (this, from: Id, slice: u64, level: u64, origin: [u64; 3], size: [u64; 3], to: Id, to_slice: u64, to_level: u64, to_origin: [u64; 3]) {
        this.copy_texels(Side::texture(from, (slice, level), origin), Side::texture(to, (to_slice, to_level), to_origin), size);
    }
    - "generateMipmapsForTexture:" "v@:@" (this, _texture: Id) {
        wrong_use("generateMipmapsForTexture: is not available: levels but the first keep what is in them");
    }
    - "synchronizeTexture:slice:level:" "v@:@QQ" (this, _texture: Id, _slice: u64, _level: u64) { }
    - "synchronizeResource:" "v@:@" (this, _resource: Id) { }
    - "resetCommandsInBuffer:withRange:" "v@:@{_NSRange=QQ}" (this, commands: Id, range: Range) {
        match INDIRECT_COMMANDS.state::<IndirectCommands>(commands) {
            Some(commands) => commands.reset(range),
            None => wrong_use("resetCommandsInBuffer: there is no indirect command buffer"),
        }
    }
    - "optimizeIndirectCommandBuffer:withRange:" "v@:@{_NSRange=QQ}" (this, _commands: Id, _range: Range) { }
    - "optimizeContentsForGPUAccess:" "v@:@" (this, _resource: Id) { }
    - "optimizeContentsForCPUAccess:" "v@:@" (this, _resource: Id) { }
    - "updateFence:" "v@:@" (this, fence: Id) { this.session.update_fence(fence); }
    - "waitForFence:" "v@:@" (this, fence: Id) { this.session.wait_for_fence(fence); }
    - "endEncoding" "v@:" (this) { this.session.end(); }
    - "insertDebugSignpost:" "v@:@" (this, _name: Id) { }
    - "pushDebugGroup:" "v@:@" (this, name: Id) { this.session.push_group(text(name)); }
    - "popDebugGroup" "v@:" (this) { this.session.pop_group(); }
}
