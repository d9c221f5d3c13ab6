//! A function's tables of exceptions (LSDA), as the Itanium C++ ABI has them: which calls have a landing pad, and what it catches.

use std::ffi::{c_int, c_void};

/// What a landing pad does about one type.
pub(super) struct Action {
    /// Positive: the number of a type that is caught; zero: code that cleans up.
    pub(super) filter: i64,
    /// That type; null for any.
    pub(super) caught: *const c_void,
}

/// Where an exception goes on in a function.
pub(super) struct LandingPad {
    pub(super) address: usize,
    /// In order; none for code that only cleans up.
    pub(super) actions: Vec<Action>,
}

unsafe extern "C-unwind" {
    fn _Unwind_GetLanguageSpecificData(context: *mut c_void) -> *const u8;
    fn _Unwind_GetRegionStart(context: *mut c_void) -> usize;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_before: *mut c_int) -> usize;
}

// How a pointer is written (DWARF): its width, what it is relative to, whether it is the address of the pointer.
const OMITTED: u8 = 0xff;
const RELATIVE: u8 = 0x10;
const INDIRECT: u8 = 0x80;

/// Bytes of a table, read one after the other.
struct Reader(*const u8);

impl Reader {
    unsafe fn read<T>(&mut self) -> T {
        // SAFETY: the caller reads what the table says is there.
        unsafe {
            let value = self.0.cast::<T>().read_unaligned();
            self.0 = self.0.add(size_of::<T>());
            value
        }
    }

    unsafe fn leb(&mut self, is_signed: bool) -> i64 {
        let (mut value, mut shift) = (0_i64, 0);
        loop {
            // SAFETY: as above.
            let byte = unsafe { self.read::<u8>() };
            value |= i64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                if is_signed && byte & 0x40 != 0 && shift < 64 {
                    value |= -1 << shift;
                }
                return value;
            }
        }
    }

    unsafe fn pointer(&mut self, encoding: u8) -> usize {
        // SAFETY: as above; what is indirect points to a pointer.
        unsafe {
            let at = self.0 as usize;
            let value = match encoding & 0x0f {
                1 => self.leb(false) as usize,
                2 => self.read::<u16>() as usize,
                3 => self.read::<u32>() as usize,
                9 => self.leb(true) as usize,
                10 => self.read::<i16>() as usize,
                11 => self.read::<i32>() as usize,
                _ => self.read::<usize>(),
            };
            if value == 0 {
                return 0;
            }
            let value = match encoding & 0x70 {
                RELATIVE => value.wrapping_add(at),
                _ => value,
            };
            match encoding & INDIRECT {
                0 => value,
                _ => (value as *const usize).read_unaligned(),
            }
        }
    }
}

/// Bytes of a pointer in a table that is indexed.
fn width(encoding: u8) -> usize {
    match encoding & 0x0f {
        2 | 10 => 2,
        3 | 11 => 4,
        _ => 8,
    }
}

/// The landing pad of the call that a frame is in; nothing if it has none.
///
/// # Safety
/// The context must be the unwinder's.
pub(super) unsafe fn landing_pad(context: *mut c_void) -> Option<LandingPad> {
    // SAFETY: the unwinder says where the tables of the frame's function are, which a compiler has written.
    unsafe {
        let table = _Unwind_GetLanguageSpecificData(context);
        if table.is_null() {
            return None;
        }
        let mut is_before = 0;
        let address = _Unwind_GetIPInfo(context, &raw mut is_before);
        // After a call the address is the next instruction's, which may be of another entry.
        let address = if is_before == 0 { address - 1 } else { address };
        let start = _Unwind_GetRegionStart(context);
        let mut reader = Reader(table);
        let encoding: u8 = reader.read();
        let pads = match encoding {
            OMITTED => start,
            _ => reader.pointer(encoding),
        };
        let types_encoding: u8 = reader.read();
        let mut types = std::ptr::null();
        if types_encoding != OMITTED {
            let distance = reader.leb(false) as usize;
            types = reader.0.add(distance);
        }
        let encoding: u8 = reader.read();
        let length = reader.leb(false) as usize;
        let actions = reader.0.add(length);
        while reader.0 < actions {
            let from = start.wrapping_add(reader.pointer(encoding));
            let length = reader.pointer(encoding);
            let pad = reader.pointer(encoding);
            let action = reader.leb(false);
            if address < from {
                return None;
            }
            if address - from < length {
                return (pad != 0).then(|| LandingPad {
                    address: pads.wrapping_add(pad),
                    actions: read_actions(actions, action, (types, types_encoding)),
                });
            }
        }
        None
    }
}

/// The actions of an entry, whose number is one more than where the first lies.
unsafe fn read_actions(
    table: *const u8,
    first: i64,
    (types, encoding): (*const u8, u8),
) -> Vec<Action> {
    let mut all = Vec::new();
    if first == 0 {
        return all;
    }
    // SAFETY: the table was written by a compiler.
    unsafe {
        let mut reader = Reader(table.offset(first as isize - 1));
        loop {
            let filter = reader.leb(true);
            let at = reader.0;
            let next = reader.leb(true);
            let caught = match filter > 0 && !types.is_null() {
                true => Reader(types.sub(filter as usize * width(encoding))).pointer(encoding),
                false => 0,
            };
            all.push(Action {
                filter,
                caught: caught as *const c_void,
            });
            if next == 0 {
                return all;
            }
            reader = Reader(at.offset(next as isize));
        }
    }
}
