//! Classes whose methods are Rust functions.

use crate::class::Declaration;
use crate::object::{self, Id};
use crate::strong::Strong;
use std::ops::Deref;

/// The receiver of a message, and the state its class keeps in it.
#[derive(Debug)]
pub struct Receiver<'a, S> {
    /// The object.
    pub id: Id,
    state: &'a S,
}

impl<S> Receiver<'_, S> {
    /// The receiver of a message, for the methods that [`class!`](crate::class!) makes.
    ///
    /// # Safety
    /// The object must be alive and of a class whose state is an `S`; or `S` must have no size.
    pub unsafe fn new(id: Id) -> Self {
        // SAFETY: the state lies there; one without a size only needs an aligned address, which objects have.
        let state = unsafe { &*object::state_address(id).cast::<S>() };
        Self { id, state }
    }
}

impl<S> Deref for Receiver<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.state
    }
}

impl Declaration {
    /// An object of the class with a state.
    ///
    /// # Safety
    /// `S` must be the state the class was declared with.
    pub unsafe fn make<S>(&'static self, state: S) -> Strong {
        self.register();
        let object = object::create_raw(self.class, 0);
        if !object.is_null() {
            // SAFETY: the memory is there and nothing is in it yet; the reference is ours.
            unsafe { object::state_address(object).cast::<S>().write(state) };
        }
        // SAFETY: the reference is ours.
        unsafe { Strong::owned(object) }
    }

    /// The state of an object, if it is of this class or inherits from it.
    ///
    /// # Safety
    /// The object must be null or alive as long as the result is used, and `S` the state the class was declared with.
    pub unsafe fn state<'a, S>(&'static self, object: Id) -> Option<&'a S> {
        if object.is_null() {
            return None;
        }
        // SAFETY: the object is alive; the class says what lies in it.
        unsafe {
            let is_one = object::class_of(object).inherits(self.class);
            is_one.then(|| &*object::state_address(object).cast::<S>())
        }
    }
}

/// Writes the default of a state into an object's memory.
///
/// # Safety
/// There must be room for one, aligned.
pub unsafe fn construct<S: Default>(memory: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { memory.cast::<S>().write(S::default()) };
}

/// Drops the state in an object's memory.
///
/// # Safety
/// There must be one, which nothing uses afterwards.
pub unsafe fn destroy<S>(memory: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { memory.cast::<S>().drop_in_place() };
}

/// The table of methods of a class: sign, selector, type encoding, arguments and body. `B` in an encoding is `BOOL`.
#[macro_export]
macro_rules! methods {
    ($state:ty; $($sign:tt $selector:literal $types:literal ($this:ident $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)? $body:block)*) => {
        &[$({
            #[allow(improper_ctypes_definitions, clippy::too_many_arguments)]
            unsafe extern "C-unwind" fn method(receiver: $crate::Id, _selector: $crate::Sel $(, $argument: $type)*) $(-> $result)? {
                // SAFETY: who sends a message promises that receiver and arguments are alive and of the types of the encoding.
                #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe)]
                unsafe {
                    $crate::receiver!($sign $this receiver $state);
                    $body
                }
            }
            $crate::MethodRow {
                on_class: $crate::is_class_method!($sign),
                selector: match ::std::ffi::CStr::from_bytes_with_nul(concat!($selector, "\0").as_bytes()) {
                    Ok(text) => text,
                    Err(_) => panic!("a selector contains NUL"),
                },
                types: match ::std::ffi::CStr::from_bytes_with_nul(concat!($types, "\0").as_bytes()) {
                    Ok(text) => text,
                    Err(_) => panic!("an encoding contains NUL"),
                },
                function: method as *const (),
            }
        }),*]
    };
}

/// Part of [`methods!`].
#[doc(hidden)]
#[macro_export]
macro_rules! is_class_method {
    (+) => {
        true
    };
    (-) => {
        false
    };
}

/// Part of [`methods!`]: class methods see the class, instance methods the object and its state.
#[doc(hidden)]
#[macro_export]
macro_rules! receiver {
    (+ $this:ident $receiver:ident $state:ty) => {
        let $this: $crate::Id = $receiver;
        let _ = $this;
    };
    (- $this:ident $receiver:ident $state:ty) => {
        let $this = $crate::declared::Receiver::<$state>::new($receiver);
        let _ = &$this;
    };
}

/// Declares a class as a table:
///
/// ```
/// use assay_objc::{Id, class, root::NSOBJECT};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// #[derive(Default)]
/// struct Count(AtomicU64);
///
/// class! {
///     /// Counts.
///     pub COUNTER = "Counter": NSOBJECT, Count, [];
///     - "add:" "v@:Q" (this, more: u64) { this.0.fetch_add(more, Relaxed); }
///     - "value" "Q@:" (this) -> u64 { this.0.load(Relaxed) }
/// }
/// COUNTER.register();
/// ```
#[macro_export]
macro_rules! class {
    ($(#[$attribute:meta])* $visibility:vis $declaration:ident = $name:literal: $superclass:path, $state:ty, [$($protocol:literal),*]; $($rows:tt)*) => {
        $(#[$attribute])*
        $visibility static $declaration: $crate::Declaration = {
            #[unsafe(export_name = concat!("OBJC_CLASS_$_", $name))]
            static CLASS: $crate::Class = $crate::Class::declared();
            #[unsafe(export_name = concat!("OBJC_METACLASS_$_", $name))]
            static METACLASS: $crate::Class = $crate::Class::declared();
            // The class under the name that objc2 refers to.
            #[unsafe(export_name = concat!("._OBJC_CLASS_", $name))]
            static MIRROR: $crate::Class = $crate::Class::declared();
            $crate::Declaration {
                name: match ::std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                    Ok(text) => text,
                    Err(_) => panic!("a name contains NUL"),
                },
                class: &CLASS,
                metaclass: &METACLASS,
                mirror: Some(&MIRROR),
                superclass: Some(&$superclass),
                state: ::std::mem::size_of::<$state>(),
                construct: $crate::declared::constructor::<$state>(),
                destroy: $crate::declared::destructor::<$state>(),
                methods: $crate::methods!($state; $($rows)*),
                protocols: &[$($protocol),*],
            }
        };
    };
}

/// The function that makes a state, if there is anything to make.
pub const fn constructor<S: Default>() -> Option<unsafe fn(*mut u8)> {
    if size_of::<S>() == 0 {
        return None;
    }
    assert!(align_of::<S>() <= 16, "objects are aligned to 16 bytes");
    Some(construct::<S>)
}

/// The function that drops a state, if there is anything to drop.
pub const fn destructor<S>() -> Option<unsafe fn(*mut u8)> {
    if std::mem::needs_drop::<S>() {
        Some(destroy::<S>)
    } else {
        None
    }
}
