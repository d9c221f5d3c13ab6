//! What the runtime promises, by messages as compilers send them.

// Messages are sent to objects that the test has just made, with the types of the tables above.
#![allow(clippy::undocumented_unsafe_blocks, unused_unsafe)]

use crate::message::objc_msgSend;
#[cfg(target_arch = "x86_64")]
use crate::message::objc_msgSend_stret;
use crate::object::{Id, create, retain_count};
use crate::pool::{
    autoreleasepool, objc_alloc_init, objc_autorelease, objc_autoreleasePoolPop,
    objc_autoreleasePoolPush, objc_opt_new, objc_release, objc_retain,
};
use crate::reflect::*;
use crate::root::NSOBJECT;
use crate::{Bool, Class, Sel, Strong, association, class, weak};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Three(u64, u64, u64);
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Two(u64, f64);
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Floats(f64, f64);

static DROPPED: AtomicI64 = AtomicI64::new(0);

#[derive(Default)]
struct Probe(AtomicU64);

impl Drop for Probe {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

class! {
    /// Answers every kind of result.
    PROBE = "Probe": NSOBJECT, Probe, ["Probing"];
    - "integer" "Q@:" (this) -> u64 { 0x0123_4567_89ab_cdef }
    - "real:plus:" "d@:df" (this, a: f64, b: f32) -> f64 { a + f64::from(b) }
    - "three:" "{T=QQQ}@:Q" (this, first: u64) -> Three { Three(first, 2, 3) }
    - "two" "{T=Qd}@:" (this) -> Two { Two(7, 0.5) }
    - "floats:" "{T=dd}@:d" (this, first: f64) -> Floats { Floats(first, -1.0) }
    - "many:b:c:d:e:f:g:h:x:y:" "d@:QQQQQQQQdd" (this, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, x: f64, y: f64) -> f64 {
        (a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h) as f64 + x * y
    }
    - "add:" "v@:Q" (this, more: u64) { this.0.fetch_add(more, Relaxed); }
    - "sum" "Q@:" (this) -> u64 { this.0.load(Relaxed) }
    + "answer" "i@:" (this) -> i32 { 42 }
}
class! {
    /// Inherits.
    CHILD = "ProbeChild": PROBE, (), [];
    - "integer" "Q@:" (this) -> u64 { 1 }
}

/// `objc_msgSend` as a function of a type.
macro_rules! send {
    ($entry:ident: $receiver:expr, $selector:literal $(, $argument:expr => $type:ty)* ; $result:ty) => {{
        let function: unsafe extern "C-unwind" fn(Id, Sel $(, $type)*) -> $result =
            unsafe { std::mem::transmute($entry as *const ()) };
        unsafe { function($receiver, Sel::new($selector) $(, $argument)*) }
    }};
}

fn probe() -> Strong {
    crate::root::register();
    PROBE.register();
    CHILD.register();
    unsafe { Strong::owned(objc_alloc_init(PROBE.class.as_ptr())) }
}

fn child() -> Strong {
    drop(probe());
    unsafe { Strong::owned(objc_opt_new(CHILD.class.as_ptr())) }
}

#[test]
fn every_kind_of_result_arrives() {
    let object = probe();
    let id = object.id();
    assert_eq!(
        send!(objc_msgSend: id, c"integer"; u64),
        0x0123_4567_89ab_cdef
    );
    assert_eq!(
        send!(objc_msgSend: id, c"real:plus:", 1.5 => f64, 0.25 => f32; f64),
        1.75
    );
    assert_eq!(send!(objc_msgSend: id, c"two"; Two), Two(7, 0.5));
    assert_eq!(
        send!(objc_msgSend: id, c"floats:", 2.5 => f64; Floats),
        Floats(2.5, -1.0)
    );
    // On arm64 a register of its own has the result's address.
    #[cfg(target_arch = "aarch64")]
    use objc_msgSend as objc_msgSend_stret;
    assert_eq!(
        send!(objc_msgSend_stret: id, c"three:", 9 => u64; Three),
        Three(9, 2, 3)
    );
    let many = send!(objc_msgSend: id, c"many:b:c:d:e:f:g:h:x:y:", 1 => u64, 2 => u64, 3 => u64, 4 => u64, 5 => u64, 6 => u64, 7 => u64, 8 => u64, 3.0 => f64, 0.5 => f64; f64);
    assert_eq!(many, 204.0 + 1.5);
    assert_eq!(send!(objc_msgSend: PROBE.class.as_id(), c"answer"; i32), 42);
}

#[test]
fn a_message_to_nil_answers_zero() {
    let nil: Id = null_mut();
    assert_eq!(send!(objc_msgSend: nil, c"integer"; u64), 0);
    assert_eq!(
        send!(objc_msgSend: nil, c"real:plus:", 1.5 => f64, 0.25 => f32; f64),
        0.0
    );
    assert_eq!(send!(objc_msgSend: nil, c"two"; Two), Two(0, 0.0));
    assert_eq!(
        send!(objc_msgSend: nil, c"floats:", 2.5 => f64; Floats),
        Floats(0.0, 0.0)
    );
    let imp = unsafe { crate::message::objc_msg_lookup(nil, Sel::new(c"integer")) };
    let imp: unsafe extern "C-unwind" fn(Id, Sel) -> f64 = unsafe { std::mem::transmute(imp) };
    assert_eq!(unsafe { imp(nil, Sel::new(c"integer")) }, 0.0);
}

#[test]
fn a_child_answers_with_its_own_method_and_inherits_the_rest() {
    let object = child();
    assert_eq!(send!(objc_msgSend: object.id(), c"integer"; u64), 1);
    assert_eq!(send!(objc_msgSend: object.id(), c"two"; Two), Two(7, 0.5));
    send!(objc_msgSend: object.id(), c"add:", 5 => u64; ());
    assert_eq!(send!(objc_msgSend: object.id(), c"sum"; u64), 5);
    let kind = |class: &'static Class| send!(objc_msgSend: object.id(), c"isKindOfClass:", class.as_ptr() => *mut Class; Bool);
    assert!(kind(PROBE.class).get() && kind(NSOBJECT.class).get());
    assert!(CHILD.class.adopts("Probing") && !CHILD.class.adopts("Other"));
}

#[test]
fn a_pool_gives_back_what_it_was_given_and_the_state_is_dropped() {
    let before = DROPPED.load(Relaxed);
    let object = probe();
    let token = objc_autoreleasePoolPush();
    unsafe {
        objc_autorelease(objc_retain(object.id()));
        autoreleasepool(|| objc_autorelease(objc_retain(object.id())));
        assert_eq!(retain_count(object.id()), 2);
        objc_autoreleasePoolPop(token);
        assert_eq!(retain_count(object.id()), 1);
    }
    drop(object);
    assert!(DROPPED.load(Relaxed) > before);
}

#[test]
fn a_weak_reference_becomes_nil() {
    let object = probe();
    let mut place: Id = null_mut();
    let mut copy: Id = null_mut();
    unsafe {
        weak::objc_initWeak(&raw mut place, object.id());
        weak::objc_copyWeak(&raw mut copy, &raw mut place);
        let held = weak::objc_loadWeakRetained(&raw mut place);
        assert_eq!(held, object.id());
        objc_release(held);
        drop(object);
        assert!(place.is_null() && weak::objc_loadWeakRetained(&raw mut copy).is_null());
        weak::objc_destroyWeak(&raw mut place);
        weak::objc_destroyWeak(&raw mut copy);
    }
}

#[test]
fn an_associated_object_goes_with_its_owner() {
    let owner = probe();
    let value = probe();
    unsafe {
        association::objc_setAssociatedObject(owner.id(), 1, value.id(), 0x301);
        assert_eq!(retain_count(value.id()), 2);
        autoreleasepool(|| {
            assert_eq!(
                association::objc_getAssociatedObject(owner.id(), 1),
                value.id()
            );
            assert!(association::objc_getAssociatedObject(owner.id(), 2).is_null());
        });
        drop(owner);
        assert_eq!(retain_count(value.id()), 1);
    }
}

#[test]
fn a_replaced_method_is_found_by_all_who_had_found_the_old_one() {
    crate::root::register();
    unsafe extern "C-unwind" fn one(_: Id, _: Sel) -> u64 {
        1
    }
    unsafe extern "C-unwind" fn two(_: Id, _: Sel) -> u64 {
        2
    }
    unsafe {
        let above = objc_allocateClassPair(NSOBJECT.class.as_ptr(), c"Above".as_ptr(), 0);
        let below = objc_allocateClassPair(above, c"Below".as_ptr(), 0);
        objc_registerClassPair(above);
        objc_registerClassPair(below);
        let selector = Sel::new(c"number");
        class_addMethod(above, selector, one as *const (), c"Q@:".as_ptr());
        let object = Strong::owned(create(&*below, 0));
        assert_eq!(send!(objc_msgSend: object.id(), c"number"; u64), 1);
        class_addMethod(below, selector, two as *const (), c"Q@:".as_ptr());
        assert_eq!(send!(objc_msgSend: object.id(), c"number"; u64), 2);
        assert!(objc_allocateClassPair(above, c"Above".as_ptr(), 0).is_null());
    }
}

#[test]
fn a_method_replaced_while_it_is_first_sent_is_the_new_one_afterwards() {
    crate::root::register();
    unsafe extern "C-unwind" fn old(_: Id, _: Sel) -> u64 {
        1
    }
    unsafe extern "C-unwind" fn new(_: Id, _: Sel) -> u64 {
        2
    }
    let selector = Sel::new(c"raced");
    for n in 0..300 {
        let name = std::ffi::CString::new(format!("Raced{n}")).unwrap();
        let class = unsafe { objc_allocateClassPair(NSOBJECT.class.as_ptr(), name.as_ptr(), 0) };
        let object = unsafe {
            objc_registerClassPair(class);
            class_addMethod(class, selector, old as *const (), c"Q@:".as_ptr());
            Strong::owned(create(&*class, 0))
        };
        let class = class as usize;
        let together = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                together.wait();
                let first = send!(objc_msgSend: object.id(), c"raced"; u64);
                assert!(first == 1 || first == 2);
            });
            together.wait();
            let types = c"Q@:".as_ptr();
            unsafe { class_replaceMethod(class as *mut Class, selector, new as *const (), types) };
        });
        assert_eq!(send!(objc_msgSend: object.id(), c"raced"; u64), 2);
    }
}

#[test]
fn many_threads_send_retain_and_refer_weakly_at_once() {
    let object = probe();
    let shared = &object;
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(move || {
                for _ in 0..2_000 {
                    autoreleasepool(|| {
                        send!(objc_msgSend: shared.id(), c"add:", 1 => u64; ());
                        let own = child();
                        let mut place: Id = null_mut();
                        unsafe {
                            weak::objc_initWeak(&raw mut place, shared.id());
                            objc_autorelease(objc_retain(shared.id()));
                            weak::objc_destroyWeak(&raw mut place);
                            weak::objc_initWeak(&raw mut place, own.id());
                            drop(own);
                        }
                        assert!(place.is_null());
                    });
                }
            });
        }
    });
    assert_eq!(send!(objc_msgSend: object.id(), c"sum"; u64), 64_000);
    assert_eq!(unsafe { retain_count(object.id()) }, 1);
}

#[test]
fn two_threads_racing_for_the_last_reference_see_it_whole_or_gone() {
    for _ in 0..500 {
        let object = probe();
        let mut place: Id = null_mut();
        unsafe { weak::objc_initWeak(&raw mut place, object.id()) };
        let address = &raw mut place as usize;
        std::thread::scope(|scope| {
            scope.spawn(move || unsafe {
                let held = weak::objc_loadWeakRetained(address as *mut Id);
                if !held.is_null() {
                    send!(objc_msgSend: held, c"add:", 1 => u64; ());
                    objc_release(held);
                }
            });
            drop(object);
        });
        assert!(place.is_null());
    }
}

#[test]
fn encodings_are_taken_apart() {
    let texts = |types: &'static str| -> Vec<&'static str> {
        let all = encodings(types.as_bytes()).into_iter();
        all.filter_map(|text| std::str::from_utf8(text).ok())
            .collect()
    };
    assert_eq!(texts("v24@0:8Q16"), ["v", "@", ":", "Q"]);
    assert_eq!(
        texts("{MTLSize=QQQ}@:r^v@?^@"),
        ["{MTLSize=QQQ}", "@", ":", "r^v", "@?", "^@"]
    );
    assert_eq!(texts("@\"NSString\"16"), ["@\"NSString\""]);
    assert_eq!(texts("{unfinished"), ["{unfinished"]);
}

#[test]
fn a_block_is_copied_once_and_freed_with_its_last_reference() {
    use crate::block::{_Block_copy, _Block_release};
    #[repr(C)]
    struct Literal {
        isa: *const Class,
        flags: i32,
        reserved: i32,
        invoke: unsafe extern "C-unwind" fn(*const Literal) -> u64,
        descriptor: *const [usize; 2],
        captured: u64,
    }
    unsafe extern "C-unwind" fn invoke(block: *const Literal) -> u64 {
        unsafe { (*block).captured }
    }
    crate::root::register();
    let descriptor = [0, size_of::<Literal>()];
    let literal = Literal {
        isa: crate::block::STACK_BLOCK.class,
        flags: 0,
        reserved: 0,
        invoke,
        descriptor: &raw const descriptor,
        captured: 77,
    };
    unsafe {
        let copy = _Block_copy((&raw const literal).cast());
        assert_eq!(_Block_copy(copy), copy);
        let known: *const Literal = copy.cast();
        assert_eq!(((*known).invoke)(known), 77);
        // As an object: the message takes and gives back a reference.
        objc_release(objc_retain(copy.cast()));
        _Block_release(copy);
        assert_eq!(((*known).invoke)(known), 77);
        _Block_release(copy);
    }
}
