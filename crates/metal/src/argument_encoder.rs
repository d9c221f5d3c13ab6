//! Argument encoders: they write the addresses and ids of an argument buffer where the kernel's struct has them.
//!
//! Of Metal source the compiler says where members lie; an encoder of descriptors lays its own struct out, as C would.

use crate::deferred;
use crate::device;
use crate::library::{FUNCTION, Function};
use crate::plain;
use crate::report::wrong_use;
use crate::resource::{BUFFER, Buffer, lock};
use crate::sampler::{SAMPLER, SamplerState};
use crate::texture::{TEXTURE, Texture};
use assay_foundation::collections;
use assay_foundation::string::{Range, string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use assay_ssa::MemberKind;
use std::ptr::null_mut;
use std::sync::Mutex;

/// A member of the struct.
#[derive(Clone, Copy, Debug)]
struct Member {
    id: u64,
    kind: MemberKind,
    offset: usize,
}

/// The struct of an argument buffer.
#[derive(Debug, Default)]
struct Layout {
    members: Vec<Member>,
    length: usize,
    align: usize,
}

/// An argument encoder, and the buffer it writes to, from an offset on.
#[derive(Debug, Default)]
pub struct ArgumentEncoder {
    layout: Layout,
    target: Mutex<(Strong, usize)>,
    label: Mutex<Strong>,
}

/// An encoder for what a kernel takes at an index of buffers; nil if that is not a struct whose members are known.
///
/// # Safety
/// The function must be one, alive, or nil.
pub(crate) unsafe fn of_function(function: Id, index: u64) -> Strong {
    // SAFETY: the caller's promise.
    let known = unsafe { FUNCTION.state::<Function>(function) };
    let layout = known.and_then(|function| {
        let arguments = function.arguments();
        let found = arguments.iter().find(|argument| {
            argument.binding == assay_ssa::Binding::Buffer(u32::try_from(index).unwrap_or(u32::MAX))
        })?;
        let members = found.members.iter().map(|member| Member {
            id: u64::from(member.id),
            kind: member.kind,
            offset: member.offset as usize,
        });
        Some(Layout {
            members: members.collect(),
            length: found.size as usize,
            align: found.align.max(1) as usize,
        })
    });
    match layout.filter(|layout| !layout.members.is_empty()) {
        Some(layout) => encoder(layout),
        None => {
            wrong_use(&format!(
                "newArgumentEncoderWithBufferIndex: {index}: the kernel takes no struct there whose members are known: \
                 expected one with pointers, textures or samplers, in a library of Metal source; nil is answered"
            ));
            Strong::nil()
        }
    }
}

/// `MTLDataType` of textures, samplers and pointers.
const TEXTURE_TYPE: u64 = 58;
const SAMPLER_TYPE: u64 = 59;
const POINTER_TYPE: u64 = 60;

/// An encoder for a list of `MTLArgumentDescriptor`s.
///
/// # Safety
/// It must be an array of these, or nil.
pub(crate) unsafe fn of_descriptors(descriptors: Id) -> Strong {
    // SAFETY: the caller's promise.
    let mut all: Vec<[u64; 3]> = unsafe { collections::elements(descriptors) }
        .iter()
        .map(|one| {
            [c"index", c"dataType", c"arrayLength"]
                // SAFETY: as above.
                .map(|name| unsafe { plain::get(one.id(), name) }.unwrap_or(0))
        })
        .collect();
    all.sort_unstable();
    let mut layout = Layout {
        align: 8,
        ..Layout::default()
    };
    for [index, kind, count] in all {
        let (size, kind) = match kind {
            TEXTURE_TYPE => (8, MemberKind::Texture),
            SAMPLER_TYPE => (8, MemberKind::Sampler),
            POINTER_TYPE => (8, MemberKind::Pointer),
            kind => (
                crate::constants::size_of_type(kind).unwrap_or(8),
                MemberKind::Value,
            ),
        };
        let align = size.next_power_of_two().min(16);
        layout.align = layout.align.max(align);
        for element in 0..count.clamp(1, 1 << 20) {
            let offset = layout.length.next_multiple_of(align);
            layout.members.push(Member {
                id: index + element,
                kind,
                offset,
            });
            layout.length = offset + size;
        }
    }
    layout.length = layout.length.next_multiple_of(layout.align);
    if layout.members.is_empty() {
        wrong_use("newArgumentEncoderWithArguments: there are no arguments; nil is answered");
        return Strong::nil();
    }
    encoder(layout)
}

fn encoder(layout: Layout) -> Strong {
    // SAFETY: `ArgumentEncoder` is the state of the class.
    unsafe {
        ARGUMENT_ENCODER.make(ArgumentEncoder {
            layout,
            ..ArgumentEncoder::default()
        })
    }
}

impl ArgumentEncoder {
    unsafe fn set_target(&self, buffer: Id, offset: usize) {
        // SAFETY: the caller's buffer is alive, or nil.
        let (known, kept) = unsafe { (BUFFER.state::<Buffer>(buffer), Strong::retain(buffer)) };
        if let Some(known) = known {
            if offset.saturating_add(self.layout.length) > known.length {
                wrong_use(&format!(
                    "setArgumentBuffer: {} bytes at offset {offset} of a {} do not fit",
                    self.layout.length,
                    known.name()
                ));
            }
            if !offset.is_multiple_of(self.layout.align.max(1)) {
                wrong_use(&format!(
                    "setArgumentBuffer: offset {offset}: expected a multiple of {}",
                    self.layout.align
                ));
            }
        } else if !buffer.is_null() {
            wrong_use("setArgumentBuffer: what is given is not a buffer");
        }
        *lock(&self.target) = (kept, offset);
    }

    /// Where a member lies in the program's memory; null, with a report, if there is no such member or no room for it.
    fn place(&self, what: &str, index: u64, kind: MemberKind, bytes: usize) -> *mut u8 {
        let found = self.layout.members.iter().find(|member| member.id == index);
        let Some(member) = found.filter(|member| member.kind == kind) else {
            match found {
                Some(member) => wrong_use(&format!(
                    "{what}: index {index} is a {:?} of the argument buffer",
                    member.kind
                )),
                None => wrong_use(&format!("{what}: the argument buffer has no index {index}")),
            }
            return null_mut();
        };
        let target = lock(&self.target);
        // SAFETY: the reference keeps it.
        let Some(buffer) = (unsafe { BUFFER.state::<Buffer>(target.0.id()) }) else {
            wrong_use(&format!("{what}: setArgumentBuffer: comes first"));
            return null_mut();
        };
        let at = target.1.saturating_add(member.offset);
        match at.saturating_add(bytes) <= buffer.length {
            true => {
                deferred::touch(&buffer.allocation);
                buffer.start().wrapping_add(at)
            }
            false => null_mut(),
        }
    }

    fn write(&self, what: &str, index: u64, kind: MemberKind, handle: u64) {
        let place = self.place(what, index, kind, 8);
        if !place.is_null() {
            // SAFETY: eight bytes from there on are in the buffer.
            unsafe { place.cast::<u64>().write_unaligned(handle) };
        }
    }

    unsafe fn set_buffer(&self, buffer: Id, offset: usize, index: u64) {
        // SAFETY: the caller's buffer is alive, or nil.
        let known = unsafe { BUFFER.state::<Buffer>(buffer) };
        let address = known.map_or(0, |known| known.allocation.address() + offset as u64);
        self.write("setBuffer", index, MemberKind::Pointer, address);
    }

    unsafe fn set_texture(&self, texture: Id, index: u64) {
        // SAFETY: the caller's texture is alive, or nil.
        let known = unsafe { TEXTURE.state::<Texture>(texture) };
        let handle = known.map_or(0, |known| known.allocation.address());
        self.write("setTexture", index, MemberKind::Texture, handle);
    }

    unsafe fn set_sampler(&self, sampler: Id, index: u64) {
        // SAFETY: the caller's sampler is alive, or nil.
        let known = unsafe { SAMPLER.state::<SamplerState>(sampler) };
        let handle = known.map_or(0, SamplerState::handle);
        self.write("setSamplerState", index, MemberKind::Sampler, handle);
    }
}

class! {
    /// `id<MTLArgumentEncoder>`.
    pub ARGUMENT_ENCODER = "AssayMTLArgumentEncoder": NSOBJECT, ArgumentEncoder, ["MTLArgumentEncoder"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "encodedLength" "Q@:" (this) -> usize { this.layout.length }
    - "alignment" "Q@:" (this) -> usize { this.layout.align }
    - "setArgumentBuffer:offset:" "v@:@Q" (this, buffer: Id, offset: usize) { this.set_target(buffer, offset); }
    - "setArgumentBuffer:startOffset:arrayElement:" "v@:@QQ" (this, buffer: Id, start: usize, element: usize) {
        this.set_target(buffer, start.saturating_add(element.saturating_mul(this.layout.length)));
    }
    - "setBuffer:offset:atIndex:" "v@:@QQ" (this, buffer: Id, offset: usize, index: u64) { this.set_buffer(buffer, offset, index); }
    - "setBuffers:offsets:withRange:" "v@:r^@r^Q{_NSRange=QQ}" (this, buffers: *const Id, offsets: *const usize, range: Range) {
        if buffers.is_null() || offsets.is_null() { return wrong_use("setBuffers: the arrays of buffers and offsets must not be null"); }
        for at in 0..range.length { this.set_buffer(*buffers.add(at), *offsets.add(at), (range.location + at) as u64); }
    }
    - "setTexture:atIndex:" "v@:@Q" (this, texture: Id, index: u64) { this.set_texture(texture, index); }
    - "setTextures:withRange:" "v@:r^@{_NSRange=QQ}" (this, textures: *const Id, range: Range) {
        if textures.is_null() { return wrong_use("setTextures: the array must not be null"); }
        for at in 0..range.length { this.set_texture(*textures.add(at), (range.location + at) as u64); }
    }
    - "setSamplerState:atIndex:" "v@:@Q" (this, sampler: Id, index: u64) { this.set_sampler(sampler, index); }
    - "setSamplerStates:withRange:" "v@:r^@{_NSRange=QQ}" (this, samplers: *const Id, range: Range) {
        if samplers.is_null() { return wrong_use("setSamplerStates: the array must not be null"); }
        for at in 0..range.length { this.set_sampler(*samplers.add(at), (range.location + at) as u64); }
    }
    - "constantDataAtIndex:" "^v@:Q" (this, index: u64) -> *mut u8 { this.place("constantDataAtIndex", index, MemberKind::Value, 0) }
    - "newArgumentEncoderForBufferAtIndex:" "@@:Q" (this, index: u64) -> Id {
        wrong_use(&format!("newArgumentEncoderForBufferAtIndex: {index}: what a member points to is not known; nil is answered"));
        null_mut()
    }
}
