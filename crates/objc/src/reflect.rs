//! The C functions that ask about classes, methods and variables, and make new ones.

use crate::class::{Class, Imp, Ivar, Method, set_implementation};
use crate::lock::{read, write};
use crate::object::{Bool, Id, class_of, set_class};
use crate::selector::Sel;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::Acquire;

type Name = *const c_char;

fn kept(text: &CStr) -> &'static CStr {
    Box::leak(CString::from(text).into_boxed_c_str())
}

/// A string that its caller frees with `free`.
fn allocated(text: &[u8]) -> *mut c_char {
    // SAFETY: the memory has room for the text and NUL.
    unsafe {
        let copy = malloc(text.len() + 1);
        if !copy.is_null() {
            std::ptr::copy_nonoverlapping(text.as_ptr(), copy.cast(), text.len());
            *copy.add(text.len()) = 0;
        }
        copy.cast()
    }
}

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut u8;
}

fn class_named(name: Name) -> *mut Class {
    if name.is_null() {
        return null_mut();
    }
    // SAFETY: the caller's name ends with NUL.
    let found = Class::named(unsafe { CStr::from_ptr(name) });
    found.map_or(null_mut(), Class::as_ptr)
}

/// C functions whose pointers are null or what they say: classes, methods and variables are never freed.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: pointers are null or what they say; objects are alive.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
    )*};
}

functions! {
    objc_lookUpClass(name: Name) -> *mut Class { class_named(name) }
    objc_getClass(name: Name) -> *mut Class { class_named(name) }
    objc_getMetaClass(name: Name) -> *mut Class {
        let class = class_named(name).as_ref();
        class.and_then(Class::isa).map_or(null_mut(), Class::as_ptr)
    }
    objc_getRequiredClass(name: Name) -> *mut Class {
        let class = class_named(name);
        if class.is_null() && !name.is_null() {
            let name = CStr::from_ptr(name).to_string_lossy();
            crate::diagnostics::fatal(&format!("there is no class {name}"), &[]);
        }
        class
    }
    objc_getClassList(buffer: *mut *mut Class, room: i32) -> i32 {
        let all = Class::all();
        let room = if buffer.is_null() { 0 } else { usize::try_from(room).unwrap_or(0) };
        for (at, class) in all.iter().take(room).enumerate() {
            *buffer.add(at) = class.as_ptr();
        }
        i32::try_from(all.len()).unwrap_or(i32::MAX)
    }
    class_getName(class: *mut Class) -> Name {
        class.as_ref().map_or(c"nil".as_ptr(), |class| class.c_name().as_ptr())
    }
    class_getSuperclass(class: *mut Class) -> *mut Class {
        let above = class.as_ref().and_then(Class::superclass);
        above.map_or(null_mut(), Class::as_ptr)
    }
    class_isMetaClass(class: *mut Class) -> Bool {
        Bool::from(class.as_ref().is_some_and(|class: &'static Class| class.is_meta()))
    }
    class_getInstanceSize(class: *mut Class) -> usize {
        class.as_ref().map_or(0, |class: &'static Class| class.realised().instance_size())
    }
    class_getInstanceMethod(class: *mut Class, selector: Sel) -> *const Method {
        let found = class.as_ref().and_then(|class: &'static Class| class.method(selector.unique()));
        found.map_or(null(), std::ptr::from_ref)
    }
    class_getClassMethod(class: *mut Class, selector: Sel) -> *const Method {
        let meta = class.as_ref().and_then(Class::isa);
        let found = meta.and_then(|meta| meta.method(selector.unique()));
        found.map_or(null(), std::ptr::from_ref)
    }
    class_respondsToSelector(class: *mut Class, selector: Sel) -> Bool {
        Bool::from(!class_getInstanceMethod(class, selector).is_null())
    }
    class_getMethodImplementation(class: *mut Class, selector: Sel) -> Imp {
        method_getImplementation(class_getInstanceMethod(class, selector))
    }
    class_copyMethodList(class: *mut Class, count: *mut u32) -> *mut *const Method {
        let all = class.as_ref().map_or(Vec::new(), |class: &'static Class| class.own_methods());
        if let Some(count) = count.as_mut() {
            *count = u32::try_from(all.len()).unwrap_or(u32::MAX);
        }
        let list: *mut *const Method = malloc((all.len() + 1) * size_of::<usize>()).cast();
        if !list.is_null() {
            for (at, method) in all.iter().enumerate() {
                *list.add(at) = std::ptr::from_ref(*method);
            }
            *list.add(all.len()) = null();
        }
        list
    }
    class_addMethod(class: *mut Class, selector: Sel, imp: Imp, types: Name) -> Bool {
        let types = if types.is_null() { c"" } else { kept(CStr::from_ptr(types)) };
        let class: Option<&'static Class> = class.as_ref();
        Bool::from(class.is_some_and(|class| class.add_method(selector.unique(), types, imp, false)))
    }
    class_replaceMethod(class: *mut Class, selector: Sel, imp: Imp, types: Name) -> Imp {
        let types = if types.is_null() { c"" } else { kept(CStr::from_ptr(types)) };
        let Some(class): Option<&'static Class> = class.as_ref() else { return null() };
        let old = class.own_method(selector.unique()).map(|method| method.imp.load(Acquire).cast_const());
        class.add_method(selector.unique(), types, imp, true);
        old.unwrap_or(null())
    }
    class_addIvar(class: *mut Class, name: Name, size: usize, alignment: u8, types: Name) -> Bool {
        let Some(class): Option<&'static Class> = class.as_ref() else { return crate::NO };
        if name.is_null() || alignment > 4 {
            return crate::NO;
        }
        let realised = class.realised();
        let offset = realised.instance_size().next_multiple_of(1 << alignment);
        realised.set_instance_size(offset + size);
        let types = if types.is_null() { c"" } else { kept(CStr::from_ptr(types)) };
        let ivar = Ivar { name: kept(CStr::from_ptr(name)), types, offset };
        write(&realised.ivars).push(Box::leak(Box::new(ivar)));
        crate::YES
    }
    class_getInstanceVariable(class: *mut Class, name: Name) -> *const Ivar {
        let Some(class): Option<&'static Class> = class.as_ref() else { return null() };
        if name.is_null() {
            return null();
        }
        let name = CStr::from_ptr(name);
        let found = class.chain().find_map(|class| {
            let ivars = read(&class.realised().ivars);
            ivars.iter().copied().find(|ivar| ivar.name == name)
        });
        found.map_or(null(), std::ptr::from_ref)
    }
    ivar_getName(ivar: *const Ivar) -> Name { ivar.as_ref().map_or(null(), |ivar| ivar.name.as_ptr()) }
    ivar_getTypeEncoding(ivar: *const Ivar) -> Name { ivar.as_ref().map_or(null(), |ivar| ivar.types.as_ptr()) }
    ivar_getOffset(ivar: *const Ivar) -> isize {
        ivar.as_ref().map_or(0, |ivar| isize::try_from(ivar.offset).unwrap_or(0))
    }
    object_getClass(object: Id) -> *mut Class {
        match object.is_null() {
            true => null_mut(),
            false => class_of(object).as_ptr(),
        }
    }
    object_setClass(object: Id, class: *mut Class) -> *mut Class {
        let old = object_getClass(object);
        if let (false, Some(class)) = (object.is_null(), class.as_ref()) {
            set_class(object, class);
        }
        old
    }
    object_getClassName(object: Id) -> Name { class_getName(object_getClass(object)) }
    object_isClass(object: Id) -> Bool { class_isMetaClass(object_getClass(object)) }
    method_getName(method: *const Method) -> Sel {
        match method.as_ref() {
            Some(method) => method.selector,
            None => Sel::new(c""),
        }
    }
    method_getImplementation(method: *const Method) -> Imp {
        method.as_ref().map_or(null(), |method| method.imp.load(Acquire).cast_const())
    }
    method_getTypeEncoding(method: *const Method) -> Name {
        method.as_ref().map_or(null(), |method| method.types.as_ptr())
    }
    method_setImplementation(method: *const Method, imp: Imp) -> Imp {
        method.as_ref().map_or(null(), |method| set_implementation(method, imp))
    }
    method_exchangeImplementations(one: *const Method, other: *const Method) {
        if let (Some(one), Some(other)) = (one.as_ref(), other.as_ref()) {
            let old = set_implementation(one, other.imp.load(Acquire));
            set_implementation(other, old);
        }
    }
    method_getNumberOfArguments(method: *const Method) -> u32 {
        let types = method.as_ref().map_or(0, |method| encodings(method.types.to_bytes()).len());
        u32::try_from(types.saturating_sub(1)).unwrap_or(0)
    }
    method_copyReturnType(method: *const Method) -> *mut c_char {
        method.as_ref().map_or(null_mut(), |method| {
            let types = encodings(method.types.to_bytes());
            types.first().map_or(null_mut(), |text| allocated(text))
        })
    }
    method_copyArgumentType(method: *const Method, index: u32) -> *mut c_char {
        method.as_ref().map_or(null_mut(), |method| {
            let types = encodings(method.types.to_bytes());
            types.get(index as usize + 1).map_or(null_mut(), |text| allocated(text))
        })
    }
    objc_allocateClassPair(above: *mut Class, name: Name, extra: usize) -> *mut Class {
        if name.is_null() || Class::named(CStr::from_ptr(name)).is_some() {
            return null_mut();
        }
        Class::pair(above.as_ref(), CStr::from_ptr(name), extra).as_ptr()
    }
    objc_registerClassPair(class: *mut Class) {
        if let Some(class) = class.as_ref() {
            let class: &'static Class = class;
            class.publish();
        }
    }
}

/// The types of a method's encoding: result, receiver, selector, arguments; without qualifiers in front and offsets behind.
pub fn encodings(types: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = types;
    while !rest.is_empty() {
        let length = type_length(rest, 0).max(1);
        found.push(&rest[..length]);
        rest = &rest[length..];
        let digits = rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'-')
            .count();
        rest = &rest[digits..];
    }
    found
}

/// Length of the type a text begins with.
fn type_length(text: &[u8], depth: usize) -> usize {
    if depth > 64 {
        return text.len();
    }
    match text.first() {
        None => 0,
        Some(b'r' | b'n' | b'N' | b'o' | b'O' | b'R' | b'V' | b'A' | b'^') => {
            1 + type_length(&text[1..], depth + 1)
        }
        // A block, or an object with its class.
        Some(b'@') => match text.get(1) {
            Some(b'?') => 2,
            Some(b'"') => {
                let name = text[2..].iter().position(|&byte| byte == b'"');
                name.map_or(text.len(), |end| end + 3)
            }
            _ => 1,
        },
        Some(b'{' | b'(' | b'[') => {
            let mut open = 0;
            for (at, byte) in text.iter().enumerate() {
                match byte {
                    b'{' | b'(' | b'[' => open += 1,
                    b'}' | b')' | b']' => open -= 1,
                    _ => {}
                }
                if open == 0 {
                    return at + 1;
                }
            }
            text.len()
        }
        Some(_) => 1,
    }
}
