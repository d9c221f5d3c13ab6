//! Images: what clang emits for an Objective-C file, and how it becomes known.
//!
//! On ELF the lists of an image stand in sections with C names (`objc_classlist`, …), so that the linker bounds each by two symbols.
//! The header `objc/objc.h` of our own SDK has a constructor that passes these bounds to [`assay_objc_register_image`].

use crate::class::{Class, Ivar, Method, Realised};
use crate::lock::{lock, write};
use crate::message::send;
use crate::protocol::{self, Protocol};
use crate::selector::Sel;
use std::ffi::{CStr, c_char};
use std::sync::Mutex;
use std::sync::atomic::AtomicPtr;

/// A compiler's description of a class or metaclass.
#[repr(C)]
#[derive(Debug)]
pub struct CompiledClass {
    flags: u32,
    start: u32,
    size: u32,
    reserved: u32,
    ivar_layout: *const u8,
    name: *const c_char,
    methods: *const List,
    protocols: *const ProtocolList,
    ivars: *const List,
    weak_layout: *const u8,
    properties: *const List,
}

/// Flag of a metaclass.
const META: u32 = 1;

/// A list of entries of one size, which follow it.
#[repr(C)]
#[derive(Debug)]
struct List {
    size: u32,
    count: u32,
}

#[repr(C)]
struct CompiledMethod {
    name: *const c_char,
    types: *const c_char,
    imp: *const (),
}

#[repr(C)]
struct CompiledIvar {
    offset: *mut u32,
    name: *const c_char,
    types: *const c_char,
    alignment: u32,
    size: u32,
}

#[repr(C)]
#[derive(Debug)]
struct ProtocolList {
    count: usize,
}

/// A compiler's description of a category.
#[repr(C)]
#[derive(Debug)]
pub struct Category {
    name: *const c_char,
    class: *const Class,
    instance_methods: *const List,
    class_methods: *const List,
    protocols: *const ProtocolList,
}

/// A list of pointers between two symbols.
#[repr(C)]
#[derive(Debug)]
pub struct Bounds<T> {
    start: *mut *mut T,
    end: *mut *mut T,
}

/// The lists of an image.
#[repr(C)]
#[derive(Debug)]
pub struct Image {
    selectors: Bounds<c_char>,
    classes: Bounds<Class>,
    categories: Bounds<Category>,
    protocols: Bounds<Protocol>,
}

impl CompiledClass {
    /// The name.
    pub(crate) unsafe fn name(&self) -> &'static CStr {
        // SAFETY: compilers write names that end with NUL.
        unsafe { CStr::from_ptr(self.name) }
    }
}

/// The entries of a list.
unsafe fn entries<'a, T: 'a>(list: *const List) -> impl Iterator<Item = &'a T> {
    // SAFETY: a list is null or followed by its entries.
    unsafe {
        let (size, count) = list
            .as_ref()
            .map_or((0, 0), |list| (list.size & 0xfffc, list.count));
        let first = list.cast::<u8>().wrapping_add(size_of::<List>());
        (0..count as usize).map(move |at| &*first.add(at * size as usize).cast::<T>())
    }
}

unsafe fn text(pointer: *const c_char) -> &'static CStr {
    match pointer.is_null() {
        true => c"",
        // SAFETY: compilers write texts that end with NUL and are never freed.
        false => unsafe { CStr::from_ptr(pointer) },
    }
}

unsafe fn methods(list: *const List) -> impl Iterator<Item = Method> {
    // SAFETY: the list is one of methods.
    let all = unsafe { entries::<CompiledMethod>(list) };
    all.map(|method| Method {
        // SAFETY: as compilers write them.
        selector: Sel::new(unsafe { text(method.name) }),
        // SAFETY: as above.
        types: unsafe { text(method.types) },
        imp: AtomicPtr::new(method.imp.cast_mut()),
    })
}

unsafe fn protocol_names(list: *const ProtocolList) -> Vec<String> {
    // SAFETY: a list is null or followed by as many pointers to protocols.
    unsafe {
        let count = list.as_ref().map_or(0, |list| list.count);
        let first: *const *const Protocol = list.cast::<usize>().wrapping_add(1).cast();
        let all = (0..count).filter_map(|at| (*first.add(at)).as_ref());
        all.map(|protocol| protocol.name().to_string_lossy().into_owned())
            .collect()
    }
}

/// What the runtime knows of a compiler's class. Variables move up if what it inherits from is larger than the compiler knew.
///
/// # Safety
/// The description must be the class's.
pub(crate) unsafe fn realise(class: &'static Class, compiled: *const CompiledClass) -> Realised {
    // SAFETY: the description is as it says; nothing reads the offsets of variables before the class is used.
    unsafe {
        let compiled = &*compiled;
        let is_meta = compiled.flags & META != 0;
        let above = class.superclass().filter(|_| !is_meta).map(Class::realised);
        let start = compiled.start as usize;
        let needed = above.map_or(0, |above| above.instance_size());
        let moved = needed.saturating_sub(start).next_multiple_of(16);
        let moved = if needed > start { moved } else { 0 };
        let mut realised = Realised::new(compiled.name(), is_meta, compiled.size as usize + moved);
        if let Some(above) = above {
            realised.construct = above.construct;
            realised.destroy = above.destroy;
        }
        let mut ivars = Vec::new();
        for ivar in entries::<CompiledIvar>(compiled.ivars) {
            if ivar.offset.is_null() {
                continue;
            }
            // Where nothing can move, compilers put the offset into read-only memory.
            if moved > 0 {
                *ivar.offset += u32::try_from(moved).unwrap_or(0);
            }
            let (name, types) = (text(ivar.name), text(ivar.types));
            let known: &'static Ivar = Box::leak(Box::new(Ivar {
                name,
                types,
                offset: *ivar.offset as usize,
            }));
            ivars.push(known);
        }
        *write(&realised.ivars) = ivars;
        *write(&realised.protocols) = protocol_names(compiled.protocols);
        methods(compiled.methods).for_each(|method| realised.insert(method));
        realised
    }
}

impl<T: 'static> Bounds<T> {
    /// The pointers of the list and where they stand.
    unsafe fn places(&self) -> impl Iterator<Item = &'static mut *mut T> {
        let bytes = (self.end as usize).saturating_sub(self.start as usize);
        let count = if self.start.is_null() {
            0
        } else {
            bytes / size_of::<usize>()
        };
        let start = self.start;
        // SAFETY: the linker's symbols bound the list.
        (0..count).map(move |at| unsafe { &mut *start.add(at) })
    }
}

/// Registers the lists of an image; a second time does nothing. `+load` is sent to its classes and categories that have one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn assay_objc_register_image(image: *const Image) {
    static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    // SAFETY: the SDK's constructor passes the bounds the linker gives.
    unsafe {
        let Some(image) = image.as_ref() else { return };
        // Every object file of an image has the constructor, and all see the same lists.
        let lists = [
            image.selectors.start as usize,
            image.classes.start as usize,
            image.categories.start as usize,
        ];
        let Some(key) = lists.into_iter().find(|start| *start != 0) else {
            return;
        };
        let mut known = lock(&KNOWN);
        if known.contains(&key) {
            return;
        }
        known.push(key);
        drop(known);
        for place in image.selectors.places() {
            let unique = Sel::new(text(*place));
            *place = crate::selector::sel_getName(unique).cast_mut();
        }
        for place in image.protocols.places() {
            if let Some(protocol) = (*place).as_ref() {
                protocol::publish(protocol);
            }
        }
        let classes: Vec<&'static Class> = image
            .classes
            .places()
            .filter_map(|place| (*place).as_ref())
            .collect();
        for class in &classes {
            class.realised();
            if let Some(meta) = class.isa() {
                meta.realised();
            }
            if !class.publish() {
                crate::diagnostics::tell(&format!(
                    "class {class:?} exists twice; the first is used by name"
                ));
            }
        }
        for place in image.categories.places() {
            add_category(*place);
        }
        let load = Sel::new(c"load");
        for class in classes {
            if class.isa().and_then(|meta| meta.own_method(load)).is_some() {
                send::<()>(class.as_id(), load);
            }
        }
    }
}

unsafe fn add_category(category: *const Category) {
    // SAFETY: the compiler's description is as it says.
    unsafe {
        let Some(category) = category.as_ref() else {
            return;
        };
        let Some(class): Option<&'static Class> = category.class.as_ref() else {
            return;
        };
        class.realised();
        let sides = [
            (Some(class), category.instance_methods),
            (class.isa(), category.class_methods),
        ];
        for (owner, list) in sides {
            let Some(owner) = owner else { continue };
            for method in methods(list) {
                let load = owner.is_meta() && method.selector.name() == "load";
                let imp = method.imp.into_inner();
                if load {
                    let function: unsafe extern "C-unwind" fn(crate::Id, Sel) =
                        std::mem::transmute(imp);
                    function(class.as_id(), method.selector);
                } else {
                    owner.add_method(method.selector, method.types, imp, true);
                }
            }
        }
        let names = protocol_names(category.protocols);
        write(&class.realised().protocols).extend(names);
    }
}
