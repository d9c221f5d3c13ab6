//! `NSString`. A string is laid out as the constants that clang emits, so that both answer the same methods:
//! class, flags, address of the characters, length in bytes. Constants with other than ASCII characters are UTF-16.

use crate::collections;
use crate::error::set_error;
use assay_objc::message::send;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, MethodRow, Sel, Strong, class};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The characters of a string: UTF-8 that ends with NUL, and their number without it.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Text {
    characters: AtomicPtr<u8>,
    length: AtomicUsize,
}

impl Text {
    fn of(bytes: &[u8]) -> Self {
        let text = Self::default();
        text.set(bytes);
        text
    }

    /// Replaces the characters; what is not UTF-8 is replaced by U+FFFD.
    fn set(&self, bytes: &[u8]) {
        let mut kept = String::from_utf8_lossy(bytes).into_owned().into_bytes();
        let length = kept.len();
        kept.push(0);
        let new = Box::into_raw(kept.into_boxed_slice()).cast::<u8>();
        let old_length = self.length.swap(length, Relaxed);
        free(self.characters.swap(new, Relaxed), old_length);
    }
}

fn free(characters: *mut u8, length: usize) {
    if !characters.is_null() {
        let whole = std::ptr::slice_from_raw_parts_mut(characters, length + 1);
        // SAFETY: `set` made it of a box with this length.
        drop(unsafe { Box::from_raw(whole) });
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        free(*self.characters.get_mut(), *self.length.get_mut());
    }
}

/// Flags of a constant of UTF-16.
const UTF16_CONSTANT: u32 = 0x7d0;

/// A constant as clang lays it out.
#[repr(C)]
struct Constant {
    isa: *const c_void,
    flags: u32,
    characters: *const u8,
    length: usize,
}

/// The characters of a string; empty for nil.
///
/// # Safety
/// The object must be nil or a string that is alive and does not change while the result is used.
pub unsafe fn text<'a>(string: Id) -> &'a str {
    let bytes = unsafe_bytes(string);
    // Constants that a compiler wrote are ASCII or converted; all others are checked when they are made.
    std::str::from_utf8(bytes).unwrap_or_default()
}

fn unsafe_bytes<'a>(string: Id) -> &'a [u8] {
    if string.is_null() {
        return &[];
    }
    // SAFETY: the callers of `text` promise a string; all have the layout of constants.
    unsafe {
        let constant = &*string.cast::<Constant>();
        if constant.flags == UTF16_CONSTANT {
            return converted(constant);
        }
        match constant.characters.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(constant.characters, constant.length),
        }
    }
}

/// The UTF-8 of a UTF-16 constant, made once; with NUL behind it.
fn converted(constant: &Constant) -> &'static [u8] {
    static ALL: LazyLock<Mutex<HashMap<usize, &'static [u8]>>> = LazyLock::new(Mutex::default);
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let key = std::ptr::from_ref(constant) as usize;
    let whole = *all.entry(key).or_insert_with(|| {
        // SAFETY: the compiler's constant has that many units.
        let units = unsafe {
            std::slice::from_raw_parts(constant.characters.cast::<u16>(), constant.length)
        };
        let mut text = String::from_utf16_lossy(units);
        text.push('\0');
        Box::leak(text.into_bytes().into_boxed_slice())
    });
    &whole[..whole.len() - 1]
}

/// A new string.
pub fn string(text: &str) -> Strong {
    string_of(text.as_bytes())
}

fn string_of(bytes: &[u8]) -> Strong {
    // SAFETY: `Text` is the state of the class.
    unsafe { NSSTRING.make(Text::of(bytes)) }
}

/// A string for the caller of a method that does not give a reference away.
fn given(text: &str) -> Id {
    string(text).autoreleased()
}

/// A string of a class that inherits from `NSString`, by the class's own `alloc`.
unsafe fn of_class(class: Id, bytes: &[u8]) -> Id {
    // SAFETY: the receiver of a class method is a class; its objects have the state of strings.
    unsafe {
        let object: Id = send(class, Sel::new(c"alloc"));
        if let Some(text) = NSSTRING.state::<Text>(object) {
            text.set(bytes);
        }
        Strong::owned(object).autoreleased()
    }
}

unsafe fn c_text<'a>(text: *const c_char) -> &'a [u8] {
    match text.is_null() {
        true => &[],
        // SAFETY: the caller passes a text that ends with NUL.
        false => unsafe { CStr::from_ptr(text) }.to_bytes(),
    }
}

unsafe fn raw<'a>(bytes: *const u8, length: usize) -> &'a [u8] {
    match bytes.is_null() {
        true => &[],
        // SAFETY: the caller passes that many bytes.
        false => unsafe { std::slice::from_raw_parts(bytes, length) },
    }
}

/// Bytes in an encoding as UTF-8. UTF-16 has two numbers; everything else is taken as it is.
fn decode(bytes: &[u8], encoding: usize) -> Vec<u8> {
    const UTF16: [usize; 3] = [10, 0x9000_0100, 0x9400_0100];
    if !UTF16.contains(&encoding) {
        return bytes.to_vec();
    }
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    String::from_utf16_lossy(&units.collect::<Vec<_>>()).into_bytes()
}

/// Where a part of a string begins in bytes, counted in UTF-16 units.
fn byte_at(text: &str, unit: usize) -> usize {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        if units >= unit {
            return at;
        }
        units += character.len_utf16();
    }
    text.len()
}

/// `NSRange`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The first.
    pub location: usize,
    /// How many.
    pub length: usize,
}

/// What a search finds where there is nothing.
pub const NOT_FOUND: usize = isize::MAX as usize;

class! {
    /// `NSString`.
    pub NSSTRING = "NSString": NSOBJECT, Text, ["NSCopying"];
    + "string" "@@:" (this) -> Id { of_class(this, b"") }
    + "stringWithUTF8String:" "@@:r*" (this, text: *const c_char) -> Id { of_class(this, c_text(text)) }
    + "stringWithCString:encoding:" "@@:r*Q" (this, text: *const c_char, _encoding: usize) -> Id { of_class(this, c_text(text)) }
    + "stringWithString:" "@@:@" (this, other: Id) -> Id { of_class(this, text(other).as_bytes()) }
    + "stringWithContentsOfFile:encoding:error:" "@@:@Q^@" (this, path: Id, encoding: usize, error: *mut Id) -> Id {
        match std::fs::read(text(path)) {
            Ok(bytes) => of_class(this, &decode(&bytes, encoding)),
            Err(why) => {
                set_error(error, "NSCocoaErrorDomain", 260, &format!("{}: {why}", text(path)));
                null_mut()
            }
        }
    }
    + "pathWithComponents:" "@@:@" (this, parts: Id) -> Id {
        let path: std::path::PathBuf = collections::elements(parts).iter().map(|part| text(part.id())).collect();
        given(&path.to_string_lossy())
    }
    - "init" "@@:" (this) -> Id { this.set(b""); this.id }
    - "initWithUTF8String:" "@@:r*" (this, text: *const c_char) -> Id { this.set(c_text(text)); this.id }
    - "initWithCString:encoding:" "@@:r*Q" (this, text: *const c_char, _encoding: usize) -> Id { this.set(c_text(text)); this.id }
    - "initWithString:" "@@:@" (this, other: Id) -> Id { this.set(text(other).as_bytes()); this.id }
    // An `int`, as objc2 takes it where the runtime is not Apple's; others pass a longer word, of which this is the part that counts.
    - "initWithBytes:length:encoding:" "@@:r^vQi" (this, bytes: *const u8, length: usize, encoding: u32) -> Id {
        this.set(&decode(raw(bytes, length), encoding as usize));
        this.id
    }
    - "initWithBytesNoCopy:length:encoding:freeWhenDone:" "@@:^vQQB" (this, bytes: *mut u8, length: usize, encoding: usize, free: Bool) -> Id {
        this.set(&decode(raw(bytes, length), encoding));
        if free.get() { crate::data::free(bytes.cast()); }
        this.id
    }
    - "initWithData:encoding:" "@@:@Q" (this, data: Id, encoding: usize) -> Id { this.set(&decode(crate::bytes(data), encoding)); this.id }
    - "length" "Q@:" (this) -> usize { text(this.id).encode_utf16().count() }
    - "characterAtIndex:" "S@:Q" (this, index: usize) -> u16 { text(this.id).encode_utf16().nth(index).unwrap_or(0) }
    - "UTF8String" "r*@:" (this) -> *const c_char {
        let bytes = unsafe_bytes(this.id);
        if bytes.is_empty() { c"".as_ptr() } else { bytes.as_ptr().cast() }
    }
    - "cStringUsingEncoding:" "r*@:Q" (this, _encoding: usize) -> *const c_char { send(this.id, Sel::new(c"UTF8String")) }
    - "fileSystemRepresentation" "r*@:" (this) -> *const c_char { send(this.id, Sel::new(c"UTF8String")) }
    - "lengthOfBytesUsingEncoding:" "Q@:i" (this, _encoding: u32) -> usize { text(this.id).len() }
    - "maximumLengthOfBytesUsingEncoding:" "Q@:Q" (this, _encoding: usize) -> usize { text(this.id).len() }
    - "getCString:maxLength:encoding:" "B@:*QQ" (this, to: *mut u8, room: usize, _encoding: usize) -> Bool {
        let bytes = text(this.id).as_bytes();
        if bytes.len() >= room { return assay_objc::NO; }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        *to.add(bytes.len()) = 0;
        assay_objc::YES
    }
    - "getBytes:maxLength:usedLength:encoding:options:range:remainingRange:" "B@:^vQ^QQQ{_NSRange=QQ}^{_NSRange=QQ}"
      (this, to: *mut u8, room: usize, used: *mut usize, _encoding: usize, _options: usize, range: Range, rest: *mut Range) -> Bool {
        let whole = text(this.id);
        let (from, end) = (byte_at(whole, range.location), byte_at(whole, range.location.saturating_add(range.length)));
        let bytes = &whole.as_bytes()[from..end];
        let count = bytes.len().min(room);
        if !to.is_null() { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count); }
        if let Some(used) = used.as_mut() { *used = count; }
        if let Some(rest) = rest.as_mut() { *rest = Range { location: range.location + range.length, length: 0 }; }
        Bool::from(count == bytes.len())
    }
    - "dataUsingEncoding:" "@@:Q" (this, _encoding: usize) -> Id { crate::data::data(text(this.id).as_bytes().to_vec()).autoreleased() }
    - "isEqual:" "B@:@" (this, other: Id) -> Bool {
        let is_string = this.id == other || NSSTRING.state::<Text>(other).is_some();
        Bool::from(is_string && text(this.id) == text(other))
    }
    - "isEqualToString:" "B@:@" (this, other: Id) -> Bool { Bool::from(!other.is_null() && text(this.id) == text(other)) }
    - "compare:" "q@:@" (this, other: Id) -> isize { text(this.id).cmp(text(other)) as isize }
    - "caseInsensitiveCompare:" "q@:@" (this, other: Id) -> isize {
        text(this.id).to_lowercase().cmp(&text(other).to_lowercase()) as isize
    }
    - "hash" "Q@:" (this) -> usize {
        text(this.id).bytes().fold(5381, |hash: usize, byte| hash.wrapping_mul(33) ^ usize::from(byte))
    }
    - "containsString:" "B@:@" (this, other: Id) -> Bool { Bool::from(text(this.id).contains(text(other))) }
    - "hasPrefix:" "B@:@" (this, other: Id) -> Bool { Bool::from(text(this.id).starts_with(text(other))) }
    - "hasSuffix:" "B@:@" (this, other: Id) -> Bool { Bool::from(text(this.id).ends_with(text(other))) }
    - "rangeOfString:" "{_NSRange=QQ}@:@" (this, other: Id) -> Range {
        let (whole, part) = (text(this.id), text(other));
        match whole.find(part) {
            Some(at) => Range { location: whole[..at].encode_utf16().count(), length: part.encode_utf16().count() },
            None => Range { location: NOT_FOUND, length: 0 },
        }
    }
    - "substringToIndex:" "@@:Q" (this, end: usize) -> Id { let whole = text(this.id); given(&whole[..byte_at(whole, end)]) }
    - "substringFromIndex:" "@@:Q" (this, start: usize) -> Id { let whole = text(this.id); given(&whole[byte_at(whole, start)..]) }
    - "stringByAppendingString:" "@@:@" (this, other: Id) -> Id { given(&[text(this.id), text(other)].concat()) }
    - "stringByAppendingPathComponent:" "@@:@" (this, other: Id) -> Id { given(&Path::new(text(this.id)).join(text(other)).to_string_lossy()) }
    - "stringByAppendingPathExtension:" "@@:@" (this, other: Id) -> Id { given(&[text(this.id), ".", text(other)].concat()) }
    - "stringByDeletingLastPathComponent" "@@:" (this) -> Id {
        let above = Path::new(text(this.id)).parent();
        given(&above.unwrap_or(Path::new("")).to_string_lossy())
    }
    - "stringByDeletingPathExtension" "@@:" (this) -> Id { given(&Path::new(text(this.id)).with_extension("").to_string_lossy()) }
    - "lastPathComponent" "@@:" (this) -> Id {
        let name = Path::new(text(this.id)).file_name();
        given(&name.unwrap_or_default().to_string_lossy())
    }
    - "pathExtension" "@@:" (this) -> Id {
        let name = Path::new(text(this.id)).extension();
        given(&name.unwrap_or_default().to_string_lossy())
    }
    - "stringByReplacingOccurrencesOfString:withString:" "@@:@@" (this, old: Id, new: Id) -> Id { given(&text(this.id).replace(text(old), text(new))) }
    - "componentsSeparatedByString:" "@@:@" (this, separator: Id) -> Id {
        let parts = text(this.id).split(text(separator));
        collections::array(parts.map(string).collect()).autoreleased()
    }
    - "componentsSeparatedByCharactersInSet:" "@@:@" (this, set: Id) -> Id { crate::scanner::parts(this.id, set) }
    - "stringByTrimmingCharactersInSet:" "@@:@" (this, set: Id) -> Id { given(crate::scanner::trimmed(this.id, set)) }
    - "stringByStandardizingPath" "@@:" (this) -> Id { given(&crate::files::standard(text(this.id))) }
    - "lowercaseString" "@@:" (this) -> Id { given(&text(this.id).to_lowercase()) }
    - "uppercaseString" "@@:" (this) -> Id { given(&text(this.id).to_uppercase()) }
    - "intValue" "i@:" (this) -> i32 { text(this.id).trim().parse().unwrap_or(0) }
    - "integerValue" "q@:" (this) -> isize { text(this.id).trim().parse().unwrap_or(0) }
    - "longLongValue" "q@:" (this) -> i64 { text(this.id).trim().parse().unwrap_or(0) }
    - "doubleValue" "d@:" (this) -> f64 { text(this.id).trim().parse().unwrap_or(0.0) }
    - "floatValue" "f@:" (this) -> f32 { text(this.id).trim().parse().unwrap_or(0.0) }
    - "boolValue" "B@:" (this) -> Bool { Bool::from(text(this.id).trim_start().starts_with(['Y', 'y', 'T', 't', '1'])) }
    - "description" "@@:" (this) -> Id { this.id }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { string(text(this.id)).into_owned() }
    - "mutableCopyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id {
        NSMUTABLESTRING.make(Text::of(text(this.id).as_bytes())).into_owned()
    }
    + "stringWithFormat:" "@@:@" (this) -> Id { null_mut() }
    - "initWithFormat:" "@@:@" (this) -> Id { null_mut() }
    - "stringByAppendingFormat:" "@@:@" (this) -> Id { null_mut() }
}
class! {
    /// `NSMutableString`.
    pub NSMUTABLESTRING = "NSMutableString": NSSTRING, (), [];
    - "appendString:" "v@:@" (this, other: Id) {
        if let Some(own) = NSSTRING.state::<Text>(this.id) { own.set([text(this.id), text(other)].concat().as_bytes()); }
    }
    - "setString:" "v@:@" (this, other: Id) {
        if let Some(own) = NSSTRING.state::<Text>(this.id) { own.set(text(other).as_bytes()); }
    }
    - "appendFormat:" "v@:@" (this) { }
}

/// The class of constants, under the symbol that clang refers to.
pub static CONSTANT: assay_objc::Declaration = {
    #[unsafe(export_name = "__CFConstantStringClassReference")]
    static CLASS: assay_objc::Class = assay_objc::Class::declared();
    static METACLASS: assay_objc::Class = assay_objc::Class::declared();
    assay_objc::Declaration {
        name: c"__NSCFConstantString",
        class: &CLASS,
        metaclass: &METACLASS,
        mirror: None,
        superclass: Some(&NSSTRING),
        state: 0,
        construct: None,
        destroy: None,
        methods: CONSTANT_METHODS,
        protocols: &[],
    }
};

const CONSTANT_METHODS: &[MethodRow] = assay_objc::methods! { ();
    - "retain" "@@:" (this) -> Id { this.id }
    - "release" "v@:" (this) { }
    - "autorelease" "@@:" (this) -> Id { this.id }
    - "retainCount" "Q@:" (this) -> usize { NOT_FOUND }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { this.id }
    - "dealloc" "v@:" (this) { }
};

/// What every object answers with a string.
pub const DESCRIPTIONS: &[MethodRow] = assay_objc::methods! { ();
    + "description" "@@:" (this) -> Id { given((*this.cast::<assay_objc::Class>()).name()) }
    - "description" "@@:" (this) -> Id {
        given(&format!("<{:?}: {:p}>", assay_objc::object::class_of(this.id), this.id))
    }
    - "debugDescription" "@@:" (this) -> Id { send(this.id, Sel::new(c"description")) }
};

/// The description of an object, by the method every object has.
///
/// # Safety
/// The object must be alive, or nil.
pub unsafe fn description<'a>(object: Id) -> &'a str {
    if object.is_null() {
        return "(null)";
    }
    // SAFETY: the caller's promise.
    unsafe { text(send(object, Sel::new(c"description"))) }
}

/// `NSStringFromClass`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn NSStringFromClass(class: *const assay_objc::Class) -> Id {
    // SAFETY: classes are never freed; null is none.
    match unsafe { class.as_ref() } {
        Some(class) => given(class.name()),
        None => null_mut(),
    }
}

/// `NSStringFromSelector`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn NSStringFromSelector(selector: Sel) -> Id {
    given(selector.name())
}

/// `NSSelectorFromString`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn NSSelectorFromString(name: Id) -> Sel {
    // SAFETY: the caller passes a string.
    Sel::of(unsafe { text(name) })
}

/// `NSClassFromString`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn NSClassFromString(name: Id) -> *const assay_objc::Class {
    // SAFETY: the caller passes a string.
    let name = std::ffi::CString::new(unsafe { text(name) }).unwrap_or_default();
    assay_objc::Class::named(&name).map_or(null(), std::ptr::from_ref)
}
