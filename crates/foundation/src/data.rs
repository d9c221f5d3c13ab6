//! `NSData`, which is also what `dispatch_data_t` is.

use assay_objc::block::Callback;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};

unsafe extern "C" {
    /// C's `free`, for memory that programs hand over.
    pub(crate) fn free(memory: *mut c_void);
}

/// Bytes, or those of someone who is told when they are no longer needed.
#[derive(Debug, Default)]
pub struct Data(RwLock<Bytes>);

#[derive(Debug)]
enum Bytes {
    Own(Vec<u8>),
    Lent {
        start: usize,
        length: usize,
        done: Done,
    },
}

/// What is done with lent bytes at the end.
#[derive(Debug)]
enum Done {
    Nothing,
    Free,
    Call(Callback),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Self::Lent { start, done, .. } = self {
            match done {
                Done::Nothing => {}
                // SAFETY: who lent the memory said that it is C's.
                Done::Free => unsafe { free(*start as *mut c_void) },
                // SAFETY: destructors of data take nothing.
                Done::Call(block) => unsafe { block.call() },
            }
        }
    }
}

impl Data {
    fn of(bytes: Vec<u8>) -> Self {
        Self(RwLock::new(Bytes::Own(bytes)))
    }

    fn set(&self, bytes: Bytes) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    fn place(&self) -> (*const u8, usize) {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Bytes::Own(bytes) => (bytes.as_ptr(), bytes.len()),
            Bytes::Lent { start, length, .. } => (*start as *const u8, *length),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        if let Bytes::Own(bytes) = &mut *self.0.write().unwrap_or_else(PoisonError::into_inner) {
            change(bytes);
        }
    }
}

/// New data.
pub fn data(bytes: Vec<u8>) -> Strong {
    // SAFETY: `Data` is the state of the class.
    unsafe { NSDATA.make(Data::of(bytes)) }
}

/// Data of memory that is freed by a block, or copied if there is none.
pub(crate) unsafe fn lent(start: *const u8, length: usize, done: Option<Callback>) -> Strong {
    let bytes = match done {
        Some(block) => Bytes::Lent {
            start: start as usize,
            length,
            done: Done::Call(block),
        },
        // SAFETY: the caller passes that many bytes.
        None => Bytes::Own(unsafe { raw(start, length) }.to_vec()),
    };
    // SAFETY: `Data` is the state of the class.
    unsafe { NSDATA.make(Data(RwLock::new(bytes))) }
}

unsafe fn raw<'a>(start: *const u8, length: usize) -> &'a [u8] {
    match start.is_null() || length == 0 {
        true => &[],
        // SAFETY: the caller passes that many bytes.
        false => unsafe { std::slice::from_raw_parts(start, length) },
    }
}

/// The bytes of data; none for nil or another object.
///
/// # Safety
/// The object must be nil or alive, and not change while the result is used.
pub unsafe fn bytes<'a>(object: Id) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe {
        let place = NSDATA.state::<Data>(object).map(Data::place);
        place.map_or(&[], |(start, length)| raw(start, length))
    }
}

class! {
    /// `NSData`.
    pub NSDATA = "NSData": NSOBJECT, Data, ["NSCopying"];
    + "data" "@@:" (this) -> Id { data(Vec::new()).autoreleased() }
    + "dataWithBytes:length:" "@@:r^vQ" (this, start: *const u8, length: usize) -> Id { data(raw(start, length).to_vec()).autoreleased() }
    + "dataWithBytesNoCopy:length:" "@@:^vQ" (this, start: *mut u8, length: usize) -> Id {
        NSDATA.make(Data(RwLock::new(Bytes::Lent { start: start as usize, length, done: Done::Free }))).autoreleased()
    }
    + "dataWithBytesNoCopy:length:freeWhenDone:" "@@:^vQB" (this, start: *mut u8, length: usize, free: Bool) -> Id {
        let done = if free.get() { Done::Free } else { Done::Nothing };
        NSDATA.make(Data(RwLock::new(Bytes::Lent { start: start as usize, length, done }))).autoreleased()
    }
    + "dataWithContentsOfFile:" "@@:@" (this, path: Id) -> Id {
        std::fs::read(crate::text(path)).map_or(std::ptr::null_mut(), |bytes| data(bytes).autoreleased())
    }
    + "dataWithData:" "@@:@" (this, other: Id) -> Id { data(bytes(other).to_vec()).autoreleased() }
    - "initWithBytes:length:" "@@:r^vQ" (this, start: *const u8, length: usize) -> Id {
        this.set(Bytes::Own(raw(start, length).to_vec()));
        this.id
    }
    - "initWithBytesNoCopy:length:freeWhenDone:" "@@:^vQB" (this, start: *mut u8, length: usize, free: Bool) -> Id {
        let done = if free.get() { Done::Free } else { Done::Nothing };
        this.set(Bytes::Lent { start: start as usize, length, done });
        this.id
    }
    - "initWithContentsOfFile:" "@@:@" (this, path: Id) -> Id {
        match std::fs::read(crate::text(path)) {
            Ok(bytes) => { this.set(Bytes::Own(bytes)); this.id }
            Err(_) => { assay_objc::pool::objc_release(this.id); std::ptr::null_mut() }
        }
    }
    - "bytes" "r^v@:" (this) -> *const u8 { this.place().0 }
    - "length" "Q@:" (this) -> usize { this.place().1 }
    - "isEqualToData:" "B@:@" (this, other: Id) -> Bool { Bool::from(bytes(this.id) == bytes(other)) }
    - "writeToFile:atomically:" "B@:@B" (this, path: Id, _whole: Bool) -> Bool {
        Bool::from(std::fs::write(crate::text(path), bytes(this.id)).is_ok())
    }
    - "getBytes:length:" "v@:^vQ" (this, to: *mut u8, length: usize) {
        let own = bytes(this.id);
        std::ptr::copy_nonoverlapping(own.as_ptr(), to, own.len().min(length));
    }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { data(bytes(this.id).to_vec()).into_owned() }
    - "mutableCopyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id {
        NSMUTABLEDATA.make(Data::of(bytes(this.id).to_vec())).into_owned()
    }
}
class! {
    /// `NSMutableData`.
    pub NSMUTABLEDATA = "NSMutableData": NSDATA, (), [];
    + "dataWithLength:" "@@:Q" (this, length: usize) -> Id { NSMUTABLEDATA.make(Data::of(vec![0; length])).autoreleased() }
    + "dataWithCapacity:" "@@:Q" (this, _room: usize) -> Id { NSMUTABLEDATA.make(Data::default()).autoreleased() }
    + "data" "@@:" (this) -> Id { NSMUTABLEDATA.make(Data::default()).autoreleased() }
    - "mutableBytes" "^v@:" (this) -> *const u8 { NSDATA.state::<Data>(this.id).map_or(std::ptr::null(), |data| data.place().0) }
    - "setLength:" "v@:Q" (this, length: usize) {
        if let Some(data) = NSDATA.state::<Data>(this.id) { data.change(|bytes| bytes.resize(length, 0)); }
    }
    - "appendBytes:length:" "v@:r^vQ" (this, start: *const u8, length: usize) {
        if let Some(data) = NSDATA.state::<Data>(this.id) { data.change(|bytes| bytes.extend_from_slice(raw(start, length))); }
    }
    - "appendData:" "v@:@" (this, other: Id) {
        let more = bytes(other).to_vec();
        if let Some(data) = NSDATA.state::<Data>(this.id) { data.change(|bytes| bytes.extend(more)); }
    }
}
