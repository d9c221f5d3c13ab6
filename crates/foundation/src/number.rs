//! `NSNumber` and `NSValue`.

use crate::string::string;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// A number as it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Truth(bool),
}

/// The state of a number.
#[derive(Debug, Default)]
pub struct Number(OnceLock<Value>);

impl Number {
    fn value(&self) -> Value {
        self.0.get().copied().unwrap_or(Value::Signed(0))
    }

    fn signed(&self) -> i64 {
        match self.value() {
            Value::Signed(value) => value,
            Value::Unsigned(value) => value as i64,
            Value::Real(value) => value as i64,
            Value::Truth(value) => value.into(),
        }
    }

    fn unsigned(&self) -> u64 {
        match self.value() {
            Value::Real(value) => value as u64,
            _ => self.signed() as u64,
        }
    }

    fn real(&self) -> f64 {
        match self.value() {
            Value::Signed(value) => value as f64,
            Value::Unsigned(value) => value as f64,
            Value::Real(value) => value,
            Value::Truth(value) => value.into(),
        }
    }

    fn text(&self) -> String {
        match self.value() {
            Value::Signed(value) => value.to_string(),
            Value::Unsigned(value) => value.to_string(),
            Value::Real(value) => value.to_string(),
            Value::Truth(value) => u8::from(value).to_string(),
        }
    }

    fn kind(&self) -> &'static std::ffi::CStr {
        match self.value() {
            Value::Signed(_) => c"q",
            Value::Unsigned(_) => c"Q",
            Value::Real(_) => c"d",
            Value::Truth(_) => c"c",
        }
    }
}

fn number(value: Value) -> Strong {
    // SAFETY: `Number` is the state of the class.
    unsafe { NSNUMBER.make(Number(OnceLock::from(value))) }
}

/// A new number.
pub fn unsigned(value: u64) -> Strong {
    number(Value::Unsigned(value))
}

class! {
    /// `NSValue`.
    pub NSVALUE = "NSValue": NSOBJECT, (), ["NSCopying"];
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { assay_objc::pool::objc_retain(this.id) }
}
class! {
    /// `NSNumber`.
    pub NSNUMBER = "NSNumber": NSVALUE, Number, [];
    + "numberWithBool:" "@@:B" (this, value: Bool) -> Id { number(Value::Truth(value.get())).autoreleased() }
    + "numberWithChar:" "@@:c" (this, value: i8) -> Id { number(Value::Signed(value.into())).autoreleased() }
    + "numberWithUnsignedChar:" "@@:C" (this, value: u8) -> Id { number(Value::Unsigned(value.into())).autoreleased() }
    + "numberWithShort:" "@@:s" (this, value: i16) -> Id { number(Value::Signed(value.into())).autoreleased() }
    + "numberWithUnsignedShort:" "@@:S" (this, value: u16) -> Id { number(Value::Unsigned(value.into())).autoreleased() }
    + "numberWithInt:" "@@:i" (this, value: i32) -> Id { number(Value::Signed(value.into())).autoreleased() }
    + "numberWithUnsignedInt:" "@@:I" (this, value: u32) -> Id { number(Value::Unsigned(value.into())).autoreleased() }
    + "numberWithLong:" "@@:q" (this, value: i64) -> Id { number(Value::Signed(value)).autoreleased() }
    + "numberWithUnsignedLong:" "@@:Q" (this, value: u64) -> Id { number(Value::Unsigned(value)).autoreleased() }
    + "numberWithLongLong:" "@@:q" (this, value: i64) -> Id { number(Value::Signed(value)).autoreleased() }
    + "numberWithUnsignedLongLong:" "@@:Q" (this, value: u64) -> Id { number(Value::Unsigned(value)).autoreleased() }
    + "numberWithInteger:" "@@:q" (this, value: i64) -> Id { number(Value::Signed(value)).autoreleased() }
    + "numberWithUnsignedInteger:" "@@:Q" (this, value: u64) -> Id { number(Value::Unsigned(value)).autoreleased() }
    + "numberWithFloat:" "@@:f" (this, value: f32) -> Id { number(Value::Real(value.into())).autoreleased() }
    + "numberWithDouble:" "@@:d" (this, value: f64) -> Id { number(Value::Real(value)).autoreleased() }
    - "initWithBool:" "@@:B" (this, value: Bool) -> Id { let _ = this.0.set(Value::Truth(value.get())); this.id }
    - "initWithInt:" "@@:i" (this, value: i32) -> Id { let _ = this.0.set(Value::Signed(value.into())); this.id }
    - "initWithUnsignedInt:" "@@:I" (this, value: u32) -> Id { let _ = this.0.set(Value::Unsigned(value.into())); this.id }
    - "initWithInteger:" "@@:q" (this, value: i64) -> Id { let _ = this.0.set(Value::Signed(value)); this.id }
    - "initWithUnsignedInteger:" "@@:Q" (this, value: u64) -> Id { let _ = this.0.set(Value::Unsigned(value)); this.id }
    - "initWithDouble:" "@@:d" (this, value: f64) -> Id { let _ = this.0.set(Value::Real(value)); this.id }
    - "boolValue" "B@:" (this) -> Bool { Bool::from(this.real() != 0.0) }
    - "charValue" "c@:" (this) -> i8 { this.signed() as i8 }
    - "unsignedCharValue" "C@:" (this) -> u8 { this.unsigned() as u8 }
    - "shortValue" "s@:" (this) -> i16 { this.signed() as i16 }
    - "unsignedShortValue" "S@:" (this) -> u16 { this.unsigned() as u16 }
    - "intValue" "i@:" (this) -> i32 { this.signed() as i32 }
    - "unsignedIntValue" "I@:" (this) -> u32 { this.unsigned() as u32 }
    - "longValue" "q@:" (this) -> i64 { this.signed() }
    - "unsignedLongValue" "Q@:" (this) -> u64 { this.unsigned() }
    - "longLongValue" "q@:" (this) -> i64 { this.signed() }
    - "unsignedLongLongValue" "Q@:" (this) -> u64 { this.unsigned() }
    - "integerValue" "q@:" (this) -> i64 { this.signed() }
    - "unsignedIntegerValue" "Q@:" (this) -> u64 { this.unsigned() }
    - "floatValue" "f@:" (this) -> f32 { this.real() as f32 }
    - "doubleValue" "d@:" (this) -> f64 { this.real() }
    - "objCType" "r*@:" (this) -> *const c_char { this.kind().as_ptr() }
    - "stringValue" "@@:" (this) -> Id { string(&this.text()).autoreleased() }
    - "description" "@@:" (this) -> Id { string(&this.text()).autoreleased() }
    - "hash" "Q@:" (this) -> usize { this.unsigned() as usize }
    - "isEqual:" "B@:@" (this, other: Id) -> Bool {
        let other = NSNUMBER.state::<Number>(other);
        Bool::from(other.is_some_and(|other| this.real() == other.real() && this.signed() == other.signed()))
    }
}
