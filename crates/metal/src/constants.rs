//! Values of function constants.

use crate::report::wrong_use;
use crate::resource::lock;
use assay_foundation::string::{Range, text};
use assay_front::GivenConstant;
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, class};
use std::ffi::c_void;
use std::sync::Mutex;

/// Values of function constants.
#[derive(Debug, Default)]
pub struct Constants(pub(crate) Mutex<Vec<GivenConstant>>);

/// `MTLDataType`: its number, the name in constants, bytes of an element.
const TYPES: [(u64, &str, usize); 12] = [
    (3, "float", 4),
    (16, "half", 2),
    (29, "int", 4),
    (33, "uint", 4),
    (37, "short", 2),
    (41, "ushort", 2),
    (45, "char", 1),
    (49, "uchar", 1),
    (53, "bool", 1),
    (81, "long", 8),
    (85, "ulong", 8),
    (121, "bfloat", 2),
];

/// Bytes of an `MTLDataType`; nothing of one that is not a scalar or vector.
pub(crate) fn size_of_type(kind: u64) -> Option<usize> {
    let scalar = |&&(number, ..): &&(u64, &str, usize)| (number..number + 4).contains(&kind);
    let (number, _, size) = TYPES.iter().find(scalar)?;
    let lanes = (kind - number + 1) as usize;
    Some(size * if lanes == 3 { 4 } else { lanes })
}

/// A value of a type at an address, as a constant; and the bytes to the next.
unsafe fn constant(key: &str, kind: u64, value: *const u8) -> Option<(GivenConstant, usize)> {
    // Vectors of two to four elements follow their scalar.
    let scalar = |&&(number, ..): &&(u64, &str, usize)| (number..number + 4).contains(&kind);
    let Some(&(number, name, size)) = TYPES.iter().find(scalar) else {
        wrong_use(&format!(
            "function constant {key}: data type {kind} is not a scalar or vector"
        ));
        return None;
    };
    let lanes = (kind - number + 1) as usize;
    let zeros = vec!["0"; lanes].join(",");
    let typed = if lanes == 1 {
        name.to_owned()
    } else {
        format!("{name}{lanes}")
    };
    let zeros = if name == "bool" {
        zeros.replace('0', "false")
    } else {
        zeros
    };
    let mut given: GivenConstant = format!("{key}={typed}:{zeros}").parse().ok()?;
    for (lane, element) in given.elements.iter_mut().enumerate() {
        let mut word = [0; 8];
        // SAFETY: the program passes a value of the type it names.
        unsafe { std::ptr::copy_nonoverlapping(value.add(lane * size), word.as_mut_ptr(), size) };
        *element = u64::from_le_bytes(word);
        if name == "bool" {
            *element = u64::from(*element != 0);
        }
    }
    let stride = if lanes == 3 { 4 } else { lanes } * size;
    Some((given, stride))
}

impl Constants {
    unsafe fn set(&self, key: &str, kind: u64, value: *const u8) -> usize {
        if value.is_null() {
            wrong_use(&format!(
                "function constant {key}: the address of its value is null"
            ));
            return 0;
        }
        // SAFETY: the caller's promise.
        let Some((given, stride)) = (unsafe { constant(key, kind, value) }) else {
            return 0;
        };
        let mut all = lock(&self.0);
        all.retain(|known| known.key != given.key);
        all.push(given);
        stride
    }
}

class! {
    /// `MTLFunctionConstantValues`.
    pub CONSTANTS = "MTLFunctionConstantValues": NSOBJECT, Constants, ["NSCopying"];
    - "setConstantValue:type:atIndex:" "v@:r^vQQ" (this, value: *const u8, kind: u64, index: u64) { this.set(&index.to_string(), kind, value); }
    - "setConstantValue:type:withName:" "v@:r^vQ@" (this, value: *const u8, kind: u64, name: Id) { this.set(text(name), kind, value); }
    - "setConstantValues:type:withRange:" "v@:r^vQ{_NSRange=QQ}" (this, values: *const u8, kind: u64, range: Range) {
        let mut at = values;
        for index in range.location..range.location.saturating_add(range.length) {
            at = at.add(this.set(&index.to_string(), kind, at));
        }
    }
    - "reset" "v@:" (this) { lock(&this.0).clear(); }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { CONSTANTS.make(Constants(Mutex::new(lock(&this.0).clone()))).into_owned() }
}
