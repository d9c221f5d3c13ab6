//! Buffers, heaps and residency sets.

use crate::address::Allocation;
use crate::deferred::{self, Region};
use crate::device;
use crate::report::wrong_use;
use crate::settings::{Skip, settings};
use crate::texture;
use assay_foundation::string::{Range, string};
use assay_objc::block::{Block, Callback};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory is given out in pages of this size, as on an Apple GPU.
const PAGE: usize = 16 << 10;
/// Bytes of a page of this system: a program that asks Linux for whole pages gets these, not those of a Mac.
const SYSTEM_PAGE: usize = 4 << 10;
/// Longest buffer.
pub(crate) const MAX_BUFFER: usize = 16 << 30;

/// `MTLStorageMode`s.
const MANAGED: usize = 1;
const PRIVATE: usize = 2;
const MEMORYLESS: usize = 3;

/// Bytes of all buffers and heaps.
pub(crate) static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn mmap(
        at: *mut c_void,
        bytes: usize,
        access: i32,
        flags: i32,
        file: i32,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: usize) -> i32;
}

/// Zeroed pages of this process.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    start: usize,
    bytes: usize,
    /// Where the program sees them somewhere else.
    region: Option<Arc<Region>>,
}

impl Pages {
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        const READ_WRITE: i32 = 3;
        const PRIVATE_ANONYMOUS: i32 = 0x22;
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        if settings().skip == Skip::Unread {
            let region = Region::with_room(bytes)?;
            ALLOCATED.fetch_add(bytes, Relaxed);
            return Some(Self {
                start: region.work(),
                bytes,
                region: Some(region),
            });
        }
        // SAFETY: new pages, at a place the system chooses.
        let start =
            unsafe { mmap(null_mut(), bytes, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0) } as usize;
        if start == usize::MAX {
            return None;
        }
        ALLOCATED.fetch_add(bytes, Relaxed);
        Some(Self {
            start,
            bytes,
            region: None,
        })
    }
}

impl Pages {
    pub(crate) fn start(&self) -> usize {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.bytes > 0 {
            ALLOCATED.fetch_sub(self.bytes, Relaxed);
            if settings().check {
                let start = self.start as u64;
                crate::order::forget_memory(start..start.saturating_add(self.bytes as u64));
            }
            if self.region.is_none() {
                // SAFETY: `new` made them, and nothing uses them any more.
                unsafe { munmap(self.start as *mut c_void, self.bytes) };
            }
        }
    }
}

/// What an allocation's memory is.
#[derive(Debug, Default)]
pub(crate) enum Memory {
    #[default]
    None,
    Own(Pages),
    /// The program's, with what it wants to be told at the end.
    Lent {
        _done: Option<Deallocator>,
        /// If it is of `vm_allocate`, and that is ours.
        region: Option<Arc<Region>>,
        /// The program cannot write it.
        constant: bool,
    },
    /// Part of another allocation, which it keeps.
    Part {
        of: Arc<Allocation>,
    },
    /// Part of a heap, which it keeps.
    Heap {
        pages: Arc<Pages>,
    },
}

impl Memory {
    /// The region it lies in, where kernels may be put off.
    pub(crate) fn region(&self) -> Option<&Arc<Region>> {
        match self {
            Self::None => None,
            Self::Own(pages) => pages.region.as_ref(),
            Self::Heap { pages } => pages.region.as_ref(),
            Self::Lent { region, .. } => region.as_ref(),
            Self::Part { of } => of.memory.region(),
        }
    }

    /// Returns true if the program cannot write it.
    pub(crate) fn is_constant(&self) -> bool {
        match self {
            Self::Lent { constant, .. } => *constant,
            Self::Part { of } => of.memory.is_constant(),
            _ => false,
        }
    }

    /// Bytes of its pages, if they are its own.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self {
            Self::Own(pages) => Some(pages.bytes),
            _ => None,
        }
    }
}

/// Tells the program that its memory is no longer needed, when dropped.
#[derive(Debug)]
pub(crate) struct Deallocator {
    block: Callback,
    start: usize,
    length: usize,
}

impl Drop for Deallocator {
    fn drop(&mut self) {
        if settings().check {
            let start = self.start as u64;
            crate::order::forget_memory(start..start.saturating_add(self.length as u64));
        }
        // SAFETY: deallocators take address and length.
        unsafe { self.block.call_with_two(self.start, self.length) };
    }
}

/// A buffer.
#[derive(Debug, Default)]
pub struct Buffer {
    number: u64,
    pub(crate) length: usize,
    pub(crate) allocation: Arc<Allocation>,
    options: usize,
    heap: Strong,
    heap_offset: usize,
    purgeable: AtomicUsize,
}

/// Of the next buffer. Numbers of allocations are given out again, those of buffers are not.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Buffer {
    /// Which buffer it is.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.allocation.start as *mut u8
    }

    /// Bytes that a kernel can access without touching other memory.
    pub(crate) fn reachable(&self) -> usize {
        self.allocation.reachable()
    }

    fn contents(&self) -> *mut u8 {
        if self.storage() == PRIVATE {
            wrong_use(&format!(
                "contents of a {}, whose storage mode is private: nil is answered",
                self.name()
            ));
            return null_mut();
        }
        // Kernels may see the same memory at another address.
        match self.allocation.memory.region() {
            Some(region) => region.seen_by_program(self.allocation.start) as *mut u8,
            None => self.start(),
        }
    }

    fn did_modify(&self, range: Range) {
        if self.storage() != MANAGED {
            wrong_use(&format!(
                "didModifyRange: of a {}, whose storage mode is not managed",
                self.name()
            ));
        }
        if range.location.saturating_add(range.length) > self.length {
            let Range { location, length } = range;
            wrong_use(&format!(
                "didModifyRange: {length} bytes at offset {location} of a {}",
                self.name()
            ));
        }
    }

    /// Returns true if the program has given up what is in it.
    pub(crate) fn is_purged(&self) -> bool {
        // `MTLPurgeableStateEmpty`.
        self.purgeable.load(Relaxed) == 4
    }

    /// The addresses of its bytes.
    pub(crate) fn range(&self) -> std::ops::Range<u64> {
        let start = self.allocation.start as u64;
        start..start.saturating_add(self.length as u64)
    }

    /// Returns true if Metal orders accesses to it by itself: unless the program says otherwise, for buffers of the device, but
    /// not for those of heaps.
    pub(crate) fn is_tracked(&self) -> bool {
        match self.options >> 8 & 3 {
            1 => false,
            2 => true,
            _ => self.heap.is_nil() || heap_is_tracked(&self.heap),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.allocation.name()
    }

    /// The storage mode in the options: 2 is private.
    fn storage(&self) -> usize {
        self.options >> 4 & 15
    }
}

/// A buffer over memory, as the rest says it.
fn make((start, length): (usize, usize), memory: Memory, rest: Buffer) -> Strong {
    // SAFETY: `Buffer` is the state of the class.
    unsafe {
        BUFFER.make(Buffer {
            number: NUMBERS.fetch_add(1, Relaxed),
            length,
            allocation: Allocation::new(start, length, memory),
            ..rest
        })
    }
}

/// A new buffer with pages of its own; nil if it is too long or there is no memory.
pub(crate) fn buffer(length: usize, options: usize) -> Strong {
    if length == 0 || length > MAX_BUFFER {
        wrong_use(&format!(
            "a buffer of {length} bytes: expected 1 to {MAX_BUFFER}"
        ));
        if length != 0 {
            return Strong::nil();
        }
    }
    if options >> 4 & 15 >= MEMORYLESS {
        wrong_use("a buffer whose storage mode is memoryless: only textures can be");
    }
    match Pages::new(length) {
        None => Strong::nil(),
        Some(pages) => make(
            (pages.start, length),
            Memory::Own(pages),
            Buffer {
                options,
                ..Buffer::default()
            },
        ),
    }
}

/// A buffer with a copy of bytes.
pub(crate) unsafe fn buffer_of(bytes: *const u8, length: usize, options: usize) -> Strong {
    if bytes.is_null() {
        wrong_use("newBufferWithBytes: the address is null");
        return buffer(length, options);
    }
    if options >> 4 & 15 == PRIVATE {
        wrong_use(
            "newBufferWithBytes: the storage mode is private, which the program cannot write",
        );
    }
    let made = buffer(length, options);
    // SAFETY: the caller passes that many bytes, and the new buffer has room for them.
    unsafe {
        if let Some(state) = BUFFER.state::<Buffer>(made.id()) {
            std::ptr::copy_nonoverlapping(bytes, state.start(), length);
        }
    }
    made
}

/// A buffer over the program's memory.
pub(crate) unsafe fn buffer_over(
    start: *mut u8,
    length: usize,
    options: usize,
    deallocator: *const Block,
) -> Strong {
    if start.is_null() || length == 0 {
        wrong_use(&format!(
            "newBufferWithBytesNoCopy: {length} bytes at {start:p}: expected memory"
        ));
        return Strong::nil();
    }
    if !(start as usize).is_multiple_of(SYSTEM_PAGE) || !length.is_multiple_of(SYSTEM_PAGE) {
        wrong_use(&format!(
            "newBufferWithBytesNoCopy: {length} bytes at {start:p}: expected an address and a length that are multiples of a page ({SYSTEM_PAGE} bytes)"
        ));
    }
    if options >> 4 & 15 == PRIVATE {
        wrong_use("newBufferWithBytesNoCopy: the storage mode is private: expected shared");
    }
    // SAFETY: the caller passes a block or null.
    let block = unsafe { Callback::keep(deallocator) };
    let _done = block.map(|block| Deallocator {
        block,
        start: start as usize,
        length,
    });
    let region = deferred::region_at(start as usize, length);
    let constant = region.is_none() && deferred::is_constant(start as usize, length);
    let start = match &region {
        Some(region) => region.seen_by_kernels(start as usize),
        None => start as usize,
    };
    make(
        (start, length),
        Memory::Lent {
            _done,
            region,
            constant,
        },
        Buffer {
            options,
            ..Buffer::default()
        },
    )
}

class! {
    /// `id<MTLBuffer>`.
    pub BUFFER = "AssayMTLBuffer": NSOBJECT, Buffer, ["MTLBuffer", "MTLResource", "MTLAllocation"];
    - "length" "Q@:" (this) -> usize { this.length }
    - "contents" "^v@:" (this) -> *mut u8 { this.contents() }
    - "gpuAddress" "Q@:" (this) -> u64 { this.allocation.address() }
    - "didModifyRange:" "v@:{_NSRange=QQ}" (this, range: Range) { this.did_modify(range); }
    - "label" "@@:" (this) -> Id { lock(&this.allocation.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.allocation.label) = string(assay_foundation::text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "allocatedSize" "Q@:" (this) -> usize { this.reachable() }
    - "storageMode" "Q@:" (this) -> usize { this.storage() }
    - "cpuCacheMode" "Q@:" (this) -> usize { this.options & 15 }
    - "hazardTrackingMode" "Q@:" (this) -> usize { if this.is_tracked() { 2 } else { 1 } }
    - "resourceOptions" "Q@:" (this) -> usize { this.options }
    - "heap" "@@:" (this) -> Id { this.heap.id() }
    - "heapOffset" "Q@:" (this) -> usize { this.heap_offset }
    - "isAliasable" "B@:" (this) -> assay_objc::Bool { assay_objc::NO }
    - "makeAliasable" "v@:" (this) { }
    - "setPurgeableState:" "Q@:Q" (this, state: usize) -> usize {
        // 1 keeps the state; 2 is non-volatile, as what was never set.
        let old = if state == 1 { this.purgeable.load(Relaxed) } else { this.purgeable.swap(state, Relaxed) };
        if old == 0 { 2 } else { old }
    }
    - "addDebugMarker:range:" "v@:@{_NSRange=QQ}" (this, _marker: Id, _range: Range) { }
    - "removeAllDebugMarkers" "v@:" (this) { }
    - "newTextureWithDescriptor:offset:bytesPerRow:" "@@:@QQ" (this, descriptor: Id, offset: usize, row: usize) -> Id {
        texture::texture_of_buffer(this.id, descriptor, offset, row).into_owned()
    }
}

/// A heap: memory of its own if buffers are placed in it, else only a sum.
#[derive(Debug, Default)]
pub struct Heap {
    size: usize,
    options: usize,
    placed: Option<Arc<Pages>>,
    used: AtomicUsize,
    label: Mutex<Strong>,
}

/// Returns true if a heap tracks hazards, which the program must ask for.
fn heap_is_tracked(heap: &Strong) -> bool {
    // SAFETY: the reference keeps it.
    let heap = unsafe { HEAP.state::<Heap>(heap.id()) };
    heap.is_some_and(|heap| heap.options >> 8 & 3 == 2)
}

/// Bytes to which buffers of heaps are aligned.
pub(crate) const HEAP_ALIGNMENT: usize = 256;

/// A heap; `placement` lets the program say where buffers lie.
pub(crate) fn heap(size: usize, options: usize, placement: bool) -> Strong {
    if size == 0 {
        wrong_use("newHeapWithDescriptor: the size is zero");
        return Strong::nil();
    }
    let placed = placement.then(|| Pages::new(size).map(Arc::new)).flatten();
    if placement && placed.is_none() {
        return Strong::nil();
    }
    // SAFETY: `Heap` is the state of the class.
    unsafe {
        HEAP.make(Heap {
            size,
            options,
            placed,
            ..Heap::default()
        })
    }
}

class! {
    /// `id<MTLHeap>`.
    pub HEAP = "AssayMTLHeap": NSOBJECT, Heap, ["MTLHeap", "MTLAllocation"];
    - "size" "Q@:" (this) -> usize { this.size }
    - "usedSize" "Q@:" (this) -> usize { this.used.load(Relaxed) }
    - "currentAllocatedSize" "Q@:" (this) -> usize { this.size }
    - "allocatedSize" "Q@:" (this) -> usize { this.size }
    - "type" "q@:" (this) -> isize { if this.placed.is_some() { 1 } else { 0 } }
    - "storageMode" "Q@:" (this) -> usize { this.options >> 4 & 15 }
    - "cpuCacheMode" "Q@:" (this) -> usize { this.options & 15 }
    - "hazardTrackingMode" "Q@:" (this) -> usize { if this.options >> 8 & 3 == 2 { 2 } else { 1 } }
    - "resourceOptions" "Q@:" (this) -> usize { this.options }
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(assay_foundation::text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "setPurgeableState:" "Q@:Q" (this, _state: usize) -> usize { 2 }
    - "maxAvailableSizeWithAlignment:" "Q@:Q" (this, _alignment: usize) -> usize { this.size.saturating_sub(this.used.load(Relaxed)) }
    - "newBufferWithLength:options:" "@@:QQ" (this, length: usize, options: usize) -> Id { this.buffer(this.id, length, options).into_owned() }
    - "newTextureWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id { texture::texture(descriptor).into_owned() }
    - "newBufferWithLength:options:offset:" "@@:QQQ" (this, length: usize, options: usize, offset: usize) -> Id {
        this.buffer_at(this.id, length, options, offset).into_owned()
    }
}

impl Heap {
    /// Says what of a buffer's options is not the heap's.
    fn validate(&self, what: &str, length: usize, options: usize) {
        if length == 0 {
            wrong_use(&format!("{what}: a buffer of no bytes"));
        }
        let (own, wanted) = (self.options >> 4 & 15, options >> 4 & 15);
        if own != wanted {
            wrong_use(&format!(
                "{what}: storage mode {wanted}: expected that of the heap, {own}"
            ));
        }
    }

    /// A buffer at a place of the heap's choice.
    unsafe fn buffer(&self, own: Id, length: usize, options: usize) -> Strong {
        if self.placed.is_some() {
            wrong_use("newBufferWithLength: of a placement heap: expected an offset");
        }
        self.validate("newBufferWithLength: of a heap", length, options);
        if length > self.size {
            return Strong::nil();
        }
        let Some(pages) = Pages::new(length) else {
            return Strong::nil();
        };
        make(
            (pages.start, length),
            Memory::Own(pages),
            Buffer {
                options,
                // SAFETY: the receiver is alive.
                heap: unsafe { Strong::retain(own) },
                ..Buffer::default()
            },
        )
    }

    /// A buffer at an offset that the program chooses.
    unsafe fn buffer_at(&self, own: Id, length: usize, options: usize, offset: usize) -> Strong {
        let what = "newBufferWithLength:options:offset: of a heap";
        self.validate(what, length, options);
        if !offset.is_multiple_of(HEAP_ALIGNMENT) {
            wrong_use(&format!(
                "{what}: offset {offset}: expected a multiple of {HEAP_ALIGNMENT}"
            ));
        }
        let fits = offset
            .checked_add(length)
            .is_some_and(|end| end <= self.size);
        match &self.placed {
            Some(pages) if fits => make(
                (pages.start + offset, length),
                Memory::Heap {
                    pages: Arc::clone(pages),
                },
                Buffer {
                    options,
                    // SAFETY: the receiver is alive.
                    heap: unsafe { Strong::retain(own) },
                    heap_offset: offset,
                    ..Buffer::default()
                },
            ),
            Some(_) => {
                wrong_use(&format!(
                    "{what}: {length} bytes at offset {offset} of a heap of {}",
                    self.size
                ));
                Strong::nil()
            }
            None => {
                wrong_use(&format!(
                    "{what}: the heap's type is automatic: expected placement"
                ));
                Strong::nil()
            }
        }
    }
}

/// A residency set: memory is always resident, so it is only a list.
#[derive(Debug, Default)]
pub struct ResidencySet {
    members: Mutex<Vec<Strong>>,
    label: Mutex<Strong>,
}

pub(crate) fn residency_set(label: Strong) -> Strong {
    // SAFETY: `ResidencySet` is the state of the class.
    unsafe {
        RESIDENCY_SET.make(ResidencySet {
            label: Mutex::new(label),
            ..ResidencySet::default()
        })
    }
}

class! {
    /// `id<MTLResidencySet>`.
    pub RESIDENCY_SET = "AssayMTLResidencySet": NSOBJECT, ResidencySet, ["MTLResidencySet"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "addAllocation:" "v@:@" (this, member: Id) {
        let mut all = lock(&this.members);
        if !all.iter().any(|known| known.id() == member) { all.push(Strong::retain(member)); }
    }
    - "addAllocations:count:" "v@:r^@Q" (this, members: *const Id, count: usize) {
        let mut all = lock(&this.members);
        for at in 0..count {
            let member = *members.add(at);
            if !all.iter().any(|known| known.id() == member) { all.push(Strong::retain(member)); }
        }
    }
    - "removeAllocation:" "v@:@" (this, member: Id) { lock(&this.members).retain(|known| known.id() != member); }
    - "removeAllocations:count:" "v@:r^@Q" (this, members: *const Id, count: usize) {
        for at in 0..count { let member = *members.add(at); lock(&this.members).retain(|known| known.id() != member); }
    }
    - "removeAllAllocations" "v@:" (this) { lock(&this.members).clear(); }
    - "containsAllocation:" "B@:@" (this, member: Id) -> assay_objc::Bool { lock(&this.members).iter().any(|known| known.id() == member).into() }
    - "allocationCount" "Q@:" (this) -> usize { lock(&this.members).len() }
    - "allAllocations" "@@:" (this) -> Id { assay_foundation::collections::array(lock(&this.members).clone()).autoreleased() }
    - "allocatedSize" "Q@:" (this) -> u64 {
        let size = assay_objc::Sel::new(c"allocatedSize");
        lock(&this.members).iter().map(|member| assay_objc::message::send::<u64>(member.id(), size)).sum()
    }
    - "commit" "v@:" (this) { }
    - "requestResidency" "v@:" (this) { }
    - "endResidency" "v@:" (this) { }
}
