//! Blocks: closures as clang lays them out, on the stack until they are copied.

use crate::class;
use crate::object::Id;
use crate::pool::{objc_release, objc_retain};
use crate::root::NSOBJECT;
use std::alloc::Layout;
use std::ffi::c_void;
use std::ptr::{addr_of, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

/// The bits of a count of references, in steps of two.
const COUNT: i32 = 0xfffe;
const IS_HEAP: i32 = 1 << 24;
const HAS_HELPERS: i32 = 1 << 25;
const IS_GLOBAL: i32 = 1 << 28;

/// A block.
#[repr(C)]
#[derive(Debug)]
pub struct Block {
    isa: *const crate::Class,
    flags: AtomicI32,
    reserved: i32,
    invoke: *const (),
    descriptor: *const Descriptor,
}

#[repr(C)]
#[derive(Debug)]
struct Descriptor {
    reserved: usize,
    size: usize,
    copy: Option<unsafe extern "C-unwind" fn(*mut Block, *const Block)>,
    dispose: Option<unsafe extern "C-unwind" fn(*const Block)>,
}

/// A `__block` variable.
#[repr(C)]
struct Variable {
    isa: *const c_void,
    forwarding: *mut Variable,
    flags: AtomicI32,
    size: u32,
    keep: Option<unsafe extern "C-unwind" fn(*mut Variable, *mut Variable)>,
    dispose: Option<unsafe extern "C-unwind" fn(*mut Variable)>,
}

/// Declares the class of a kind of blocks under the symbol clang refers to.
macro_rules! kinds {
    ($($declaration:ident, $name:literal, $symbol:literal;)*) => {$(
        #[doc = concat!("`", $symbol, "`: what blocks of this kind are objects of.")]
        pub static $declaration: crate::Declaration = {
            #[unsafe(export_name = $symbol)]
            static CLASS: crate::Class = crate::Class::declared();
            static METACLASS: crate::Class = crate::Class::declared();
            crate::Declaration {
                name: $name,
                class: &CLASS,
                metaclass: &METACLASS,
        mirror: None,
                superclass: Some(&NSBLOCK),
                state: 0,
                construct: None,
                destroy: None,
                methods: &[],
                protocols: &[],
            }
        };
    )*};
}
kinds! {
    STACK_BLOCK, c"__NSStackBlock__", "_NSConcreteStackBlock";
    HEAP_BLOCK, c"__NSMallocBlock__", "_NSConcreteMallocBlock";
    GLOBAL_BLOCK, c"__NSGlobalBlock__", "_NSConcreteGlobalBlock";
}

class! {
    /// What blocks answer as objects.
    pub NSBLOCK = "NSBlock": NSOBJECT, (), [];
    - "retain" "@@:" (this) -> Id { _Block_copy(this.id.cast()).cast() }
    - "copy" "@@:" (this) -> Id { _Block_copy(this.id.cast()).cast() }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { _Block_copy(this.id.cast()).cast() }
    - "release" "v@:" (this) { _Block_release(this.id.cast()) }
    - "autorelease" "@@:" (this) -> Id { crate::pool::autorelease(this.id) }
    - "retainCount" "Q@:" (this) -> usize { 1 }
    - "dealloc" "v@:" (this) { }
}

/// `_Block_copy`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_copy(block: *const Block) -> *mut Block {
    // SAFETY: the caller's block is one and alive, or null.
    unsafe {
        let Some(known) = block.as_ref() else {
            return null_mut();
        };
        let flags = known.flags.load(Ordering::Relaxed);
        if flags & IS_HEAP != 0 {
            known.flags.fetch_add(2, Ordering::Relaxed);
            return block.cast_mut();
        }
        if flags & IS_GLOBAL != 0 {
            return block.cast_mut();
        }
        let size = (*known.descriptor).size;
        let Ok(layout) = Layout::from_size_align(size, 16) else {
            return null_mut();
        };
        let copy: *mut Block = std::alloc::alloc(layout).cast();
        if copy.is_null() {
            return copy;
        }
        std::ptr::copy_nonoverlapping(block.cast::<u8>(), copy.cast(), size);
        (*copy).isa = HEAP_BLOCK.class;
        (*copy).flags = AtomicI32::new((flags & !(COUNT | 1)) | IS_HEAP | 2);
        if let (true, Some(helper)) = (flags & HAS_HELPERS != 0, (*known.descriptor).copy) {
            helper(copy, block);
        }
        copy
    }
}

/// `_Block_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_release(block: *const Block) {
    // SAFETY: as for `_Block_copy`; the reference is the caller's.
    unsafe {
        let Some(known) = block.as_ref() else { return };
        let flags = known.flags.load(Ordering::Relaxed);
        if flags & IS_HEAP == 0 || flags & IS_GLOBAL != 0 {
            return;
        }
        if known.flags.fetch_sub(2, Ordering::AcqRel) & COUNT != 2 {
            return;
        }
        if let (true, Some(helper)) = (flags & HAS_HELPERS != 0, (*known.descriptor).dispose) {
            helper(block);
        }
        if let Ok(layout) = Layout::from_size_align((*known.descriptor).size, 16) {
            std::alloc::dealloc(block.cast_mut().cast(), layout);
        }
    }
}

/// `objc_retainBlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_retainBlock(block: *const Block) -> *mut Block {
    // SAFETY: as for `_Block_copy`.
    unsafe { _Block_copy(block) }
}

/// What a captured variable is, in the flags of the helpers' calls.
const OBJECT: i32 = 3;
const BLOCK: i32 = 7;
const VARIABLE: i32 = 8;
const WEAK_VARIABLE: i32 = 8 | 16;
/// The call comes from a `__block` variable's own helper: objects in it are not retained.
const FROM_VARIABLE: i32 = 128;

/// `_Block_object_assign`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_object_assign(
    to: *mut *const c_void,
    from: *const c_void,
    flags: i32,
) {
    // SAFETY: compilers pass a variable of the kind the flags say.
    unsafe {
        *to = match flags & (FROM_VARIABLE | 31) {
            OBJECT => objc_retain(from.cast_mut().cast()).cast(),
            BLOCK => _Block_copy(from.cast()).cast(),
            VARIABLE | WEAK_VARIABLE => copy_variable(from.cast_mut().cast()).cast(),
            _ => from,
        };
    }
}

/// `_Block_object_dispose`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_object_dispose(from: *const c_void, flags: i32) {
    // SAFETY: as above.
    unsafe {
        match flags & (FROM_VARIABLE | 31) {
            OBJECT => objc_release(from.cast_mut().cast()),
            BLOCK => _Block_release(from.cast()),
            VARIABLE | WEAK_VARIABLE => release_variable(from.cast_mut().cast()),
            _ => {}
        }
    }
}

/// A `__block` variable's copy on the heap, made once; the original forwards to it.
unsafe fn copy_variable(variable: *mut Variable) -> *mut Variable {
    // SAFETY: the compiler's variable is as it says.
    unsafe {
        let current = (*variable).forwarding;
        let flags = (*current).flags.load(Ordering::Relaxed);
        if flags & IS_HEAP != 0 {
            (*current).flags.fetch_add(2, Ordering::Relaxed);
            return current;
        }
        let size = (*variable).size as usize;
        let Ok(layout) = Layout::from_size_align(size, 16) else {
            return variable;
        };
        let copy: *mut Variable = std::alloc::alloc(layout).cast();
        if copy.is_null() {
            return variable;
        }
        let has_helpers = flags & HAS_HELPERS != 0;
        let header = std::mem::offset_of!(Variable, keep) + if has_helpers { 16 } else { 0 };
        let whole = if has_helpers { header } else { size };
        std::ptr::copy_nonoverlapping(variable.cast::<u8>(), copy.cast(), whole);
        // One reference for the block, one for the scope the variable was declared in.
        addr_of!((*copy).flags)
            .cast_mut()
            .write(AtomicI32::new(flags | IS_HEAP | 4));
        (*copy).forwarding = copy;
        (*variable).forwarding = copy;
        if has_helpers {
            std::ptr::copy_nonoverlapping(
                variable.cast::<u8>().add(header),
                copy.cast::<u8>().add(header),
                size.saturating_sub(header),
            );
            if let Some(keep) = (*variable).keep {
                keep(copy, variable);
            }
        }
        copy
    }
}

unsafe fn release_variable(variable: *mut Variable) {
    // SAFETY: as above.
    unsafe {
        let current = (*variable).forwarding;
        let flags = (*current).flags.load(Ordering::Relaxed);
        if flags & IS_HEAP == 0 || (*current).flags.fetch_sub(2, Ordering::AcqRel) & COUNT != 2 {
            return;
        }
        if let (true, Some(dispose)) = (flags & HAS_HELPERS != 0, (*current).dispose) {
            dispose(current);
        }
        if let Ok(layout) = Layout::from_size_align((*current).size as usize, 16) {
            std::alloc::dealloc(current.cast(), layout);
        }
    }
}

/// A block that Rust code keeps and calls.
#[derive(Debug)]
pub struct Callback(*mut Block);

// SAFETY: who hands a block to an interface that calls it on another thread promises that this is fine.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    /// Keeps a block; nothing for null.
    ///
    /// # Safety
    /// The block must be one and alive, or null.
    pub unsafe fn keep(block: *const Block) -> Option<Self> {
        // SAFETY: the caller's promise.
        let copy = unsafe { _Block_copy(block) };
        (!copy.is_null()).then_some(Self(copy))
    }

    /// The function to call, with the block as first argument.
    pub fn function(&self) -> (*const (), *mut Block) {
        // SAFETY: this keeps the block alive.
        (unsafe { (*self.0).invoke }, self.0)
    }

    /// Calls a block without arguments and result.
    ///
    /// # Safety
    /// The block must be of that type.
    pub unsafe fn call(&self) {
        let (function, block) = self.function();
        // SAFETY: the caller's promise.
        unsafe {
            let invoke: unsafe extern "C-unwind" fn(*mut Block) = std::mem::transmute(function);
            invoke(block);
        }
    }

    /// Calls a block with one argument.
    ///
    /// # Safety
    /// The block must be of that type.
    pub unsafe fn call_with<A>(&self, argument: A) {
        let (function, block) = self.function();
        // SAFETY: the caller's promise.
        unsafe {
            let invoke: unsafe extern "C-unwind" fn(*mut Block, A) = std::mem::transmute(function);
            invoke(block, argument);
        }
    }

    /// Calls a block with two arguments.
    ///
    /// # Safety
    /// The block must be of that type.
    pub unsafe fn call_with_two<A, B>(&self, first: A, second: B) {
        let (function, block) = self.function();
        // SAFETY: the caller's promise.
        unsafe {
            let invoke: unsafe extern "C-unwind" fn(*mut Block, A, B) =
                std::mem::transmute(function);
            invoke(block, first, second);
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's.
        unsafe { _Block_release(self.0) };
    }
}
