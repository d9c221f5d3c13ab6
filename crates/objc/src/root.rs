//! `NSObject`, what all classes inherit from. Foundation adds what needs strings.

use crate::class::{Class, Declaration};
use crate::message::{send, send_with};
use crate::object::{self, Bool, Id, class_of};
use crate::pool;
use crate::protocol::Protocol;
use crate::selector::Sel;
use std::ffi::c_void;

unsafe fn class<'a>(object: Id) -> &'a Class
where
    'a: 'static,
{
    // SAFETY: the receiver of a class method is a class, and classes are never freed.
    unsafe { &*object.cast::<Class>() }
}

/// `NSObject`.
pub static NSOBJECT: Declaration = {
    #[unsafe(export_name = "OBJC_CLASS_$_NSObject")]
    static CLASS: Class = Class::declared();
    #[unsafe(export_name = "OBJC_METACLASS_$_NSObject")]
    static METACLASS: Class = Class::declared();
    #[unsafe(export_name = "._OBJC_CLASS_NSObject")]
    static MIRROR: Class = Class::declared();
    Declaration {
        name: c"NSObject",
        class: &CLASS,
        metaclass: &METACLASS,
        mirror: Some(&MIRROR),
        superclass: None,
        state: 0,
        construct: None,
        destroy: None,
        methods: METHODS,
        protocols: &["NSObject"],
    }
};

const METHODS: &[crate::MethodRow] = crate::methods! { ();
    + "alloc" "@@:" (this) -> Id { object::create(class(this), 0) }
    + "allocWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { send(this, Sel::new(c"alloc")) }
    + "new" "@@:" (this) -> Id {
        let object: Id = send(this, Sel::new(c"alloc"));
        if object.is_null() { object } else { send(object, Sel::new(c"init")) }
    }
    + "initialize" "v@:" (this) { }
    + "class" "#@:" (this) -> Id { this }
    + "superclass" "#@:" (this) -> *mut Class { class(this).superclass().map_or(std::ptr::null_mut(), Class::as_ptr) }
    + "self" "@@:" (this) -> Id { this }
    + "hash" "Q@:" (this) -> usize { this as usize }
    + "isEqual:" "B@:@" (this, other: Id) -> Bool { Bool::from(this == other) }
    + "retain" "@@:" (this) -> Id { this }
    + "release" "v@:" (this) { }
    + "autorelease" "@@:" (this) -> Id { this }
    + "retainCount" "Q@:" (this) -> usize { 1 }
    + "copy" "@@:" (this) -> Id { this }
    + "respondsToSelector:" "B@::" (this, selector: Sel) -> Bool {
        Bool::from(class_of(this).method(selector.unique()).is_some())
    }
    + "instancesRespondToSelector:" "B@::" (this, selector: Sel) -> Bool {
        Bool::from(class(this).method(selector.unique()).is_some())
    }
    + "instanceMethodForSelector:" "^?@::" (this, selector: Sel) -> *const () {
        crate::class::find(class(this), selector).unwrap_or(std::ptr::null())
    }
    + "isSubclassOfClass:" "B@:#" (this, other: *mut Class) -> Bool {
        Bool::from(other.as_ref().is_some_and(|other| class(this).inherits(other)))
    }
    + "isKindOfClass:" "B@:#" (this, other: *mut Class) -> Bool {
        Bool::from(other.as_ref().is_some_and(|other| class_of(this).inherits(other)))
    }
    + "conformsToProtocol:" "B@:@" (this, protocol: *const Protocol) -> Bool {
        crate::protocol::class_conformsToProtocol(this.cast(), protocol)
    }
    - "init" "@@:" (this) -> Id { this.id }
    - "dealloc" "v@:" (this) { object::dispose(this.id) }
    - "retain" "@@:" (this) -> Id { object::retain(this.id) }
    - "release" "v@:" (this) { pool::release(this.id) }
    - "autorelease" "@@:" (this) -> Id { pool::autorelease(this.id) }
    - "retainCount" "Q@:" (this) -> usize { object::retain_count(this.id) }
    - "class" "#@:" (this) -> Id { class_of(this.id).as_id() }
    - "superclass" "#@:" (this) -> *mut Class { class_of(this.id).superclass().map_or(std::ptr::null_mut(), Class::as_ptr) }
    - "self" "@@:" (this) -> Id { this.id }
    - "zone" "^v@:" (this) -> *mut c_void { std::ptr::null_mut() }
    - "isProxy" "B@:" (this) -> Bool { crate::NO }
    - "hash" "Q@:" (this) -> usize { this.id as usize }
    - "isEqual:" "B@:@" (this, other: Id) -> Bool { Bool::from(this.id == other) }
    - "copy" "@@:" (this) -> Id { send_with(this.id, Sel::new(c"copyWithZone:"), std::ptr::null_mut::<c_void>()) }
    - "mutableCopy" "@@:" (this) -> Id { send_with(this.id, Sel::new(c"mutableCopyWithZone:"), std::ptr::null_mut::<c_void>()) }
    - "isKindOfClass:" "B@:#" (this, other: *mut Class) -> Bool {
        Bool::from(other.as_ref().is_some_and(|other| class_of(this.id).inherits(other)))
    }
    - "isMemberOfClass:" "B@:#" (this, other: *mut Class) -> Bool {
        Bool::from(std::ptr::eq(class_of(this.id), other))
    }
    - "conformsToProtocol:" "B@:@" (this, protocol: *const Protocol) -> Bool {
        crate::protocol::class_conformsToProtocol(class_of(this.id).as_ptr(), protocol)
    }
    - "respondsToSelector:" "B@::" (this, selector: Sel) -> Bool {
        Bool::from(class_of(this.id).method(selector.unique()).is_some())
    }
    - "methodForSelector:" "^?@::" (this, selector: Sel) -> *const () {
        crate::class::find(class_of(this.id), selector).unwrap_or(std::ptr::null())
    }
    - "performSelector:" "@@::" (this, selector: Sel) -> Id { send(this.id, selector) }
    - "performSelector:withObject:" "@@::@" (this, selector: Sel, argument: Id) -> Id {
        send_with(this.id, selector, argument)
    }
    - "doesNotRecognizeSelector:" "v@::" (this, selector: Sel) {
        crate::diagnostics::unrecognised(this.id, class_of(this.id), selector)
    }
};

/// Makes the runtime's own classes known.
pub fn register() {
    NSOBJECT.register();
    for class in [
        &crate::block::NSBLOCK,
        &crate::block::STACK_BLOCK,
        &crate::block::HEAP_BLOCK,
        &crate::block::GLOBAL_BLOCK,
    ] {
        class.register();
    }
}
