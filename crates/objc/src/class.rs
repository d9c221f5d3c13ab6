//! Classes: what compilers lay out, what the runtime makes of it, and the search for methods.
//!
//! A class is five words, as clang emits it. The last points to the compiler's description until the class is *realised*;
//! then to a `Realised`, marked by its lowest bit. Methods are found through one table for all classes and selectors whose entries
//! are never freed, so a reader takes no lock.

use crate::diagnostics;
use crate::image::{self, CompiledClass};
use crate::lock::{lock, read, write};
use crate::object::Id;
use crate::selector::Sel;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU8, AtomicUsize};
use std::sync::{Condvar, LazyLock, Mutex, OnceLock, RwLock};
use std::thread::ThreadId;

/// A function that implements a method.
pub type Imp = *const ();

/// A class or metaclass, as compilers lay it out.
#[repr(C)]
pub struct Class {
    isa: AtomicPtr<Class>,
    superclass: AtomicPtr<Class>,
    cache: AtomicPtr<c_void>,
    vtable: AtomicPtr<c_void>,
    data: AtomicPtr<c_void>,
}

/// What `_objc_empty_cache` stands for in a compiler's classes; nothing reads it.
#[unsafe(export_name = "_objc_empty_cache")]
pub static EMPTY_CACHE: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
/// As above.
#[unsafe(export_name = "_objc_empty_vtable")]
pub static EMPTY_VTABLE: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

/// A method of one class.
#[derive(Debug)]
pub struct Method {
    pub(crate) selector: Sel,
    pub(crate) types: &'static CStr,
    pub(crate) imp: AtomicPtr<()>,
}

/// An instance variable.
#[derive(Debug)]
pub struct Ivar {
    pub(crate) name: &'static CStr,
    pub(crate) types: &'static CStr,
    pub(crate) offset: usize,
}

/// What the runtime knows of a class.
pub(crate) struct Realised {
    pub(crate) name: &'static CStr,
    pub(crate) is_meta: bool,
    size: AtomicUsize,
    methods: RwLock<HashMap<Sel, &'static Method>>,
    pub(crate) ivars: RwLock<Vec<&'static Ivar>>,
    pub(crate) protocols: RwLock<Vec<String>>,
    /// Makes the state of a Rust class.
    pub(crate) construct: Option<unsafe fn(*mut u8)>,
    /// Drops it.
    pub(crate) destroy: Option<unsafe fn(*mut u8)>,
    /// Objects that were made and not deallocated.
    pub(crate) alive: AtomicI64,
    initialised: Mutex<Initialised>,
    /// Whether objects have a count in front of them: 0 if that is not known yet.
    counts: AtomicU8,
}

#[derive(Clone, Copy, PartialEq)]
enum Initialised {
    Not,
    Running(ThreadId),
    Done,
}

static INITIALISED: Condvar = Condvar::new();

/// A class whose methods are Rust functions; made by [`class!`](crate::class!).
#[derive(Debug)]
pub struct Declaration {
    /// Its name.
    pub name: &'static CStr,
    /// The class.
    pub class: &'static Class,
    /// Its metaclass.
    pub metaclass: &'static Class,
    /// The same class once more, for programs that refer to it by another symbol.
    pub mirror: Option<&'static Class>,
    /// What it inherits from; nothing for a root.
    pub superclass: Option<&'static Declaration>,
    /// Size of its state; zero if it has none of its own.
    pub state: usize,
    /// Makes the state in an object's memory.
    pub construct: Option<unsafe fn(*mut u8)>,
    /// Drops it.
    pub destroy: Option<unsafe fn(*mut u8)>,
    /// Its methods.
    pub methods: &'static [MethodRow],
    /// Names of the protocols it adopts.
    pub protocols: &'static [&'static str],
}

/// One method of a table.
#[derive(Debug)]
pub struct MethodRow {
    /// Whether classes answer it or their objects.
    pub on_class: bool,
    /// Its selector.
    pub selector: &'static CStr,
    /// Types of result, receiver, selector and arguments, without offsets. `B` stands for `BOOL`.
    pub types: &'static CStr,
    /// What implements it: an `extern "C"` function of these types.
    pub function: Imp,
}

// SAFETY: the function is code.
unsafe impl Send for MethodRow {}
// SAFETY: as above.
unsafe impl Sync for MethodRow {}

static CLASSES: LazyLock<RwLock<HashMap<&'static CStr, &'static Class>>> =
    LazyLock::new(RwLock::default);
static REALISING: Mutex<()> = Mutex::new(());

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Class {
    /// A class that [`Declaration::register`] will fill.
    pub const fn declared() -> Self {
        Self {
            isa: AtomicPtr::new(null_mut()),
            superclass: AtomicPtr::new(null_mut()),
            cache: AtomicPtr::new(null_mut()),
            vtable: AtomicPtr::new(null_mut()),
            data: AtomicPtr::new(null_mut()),
        }
    }

    /// Its address, as C sees it.
    pub fn as_ptr(&'static self) -> *mut Class {
        std::ptr::from_ref(self).cast_mut()
    }

    /// The class as an object, which answers class methods.
    pub fn as_id(&'static self) -> Id {
        self.as_ptr().cast()
    }

    /// The metaclass of a class.
    pub fn isa(&self) -> Option<&'static Class> {
        // SAFETY: the word is null or points to a class, and classes are never freed.
        unsafe { self.isa.load(Relaxed).as_ref() }
    }

    /// What it inherits from.
    pub fn superclass(&self) -> Option<&'static Class> {
        // SAFETY: as in `isa`.
        unsafe { self.superclass.load(Relaxed).as_ref() }
    }

    /// The class and all it inherits from.
    pub fn chain(&'static self) -> impl Iterator<Item = &'static Class> {
        std::iter::successors(Some(self), |class| class.superclass())
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        let name = self.c_name().to_str();
        name.unwrap_or("<class whose name is not UTF-8>")
    }

    pub(crate) fn c_name(&self) -> &'static CStr {
        match self.data() {
            Data::Realised(realised) => realised.name,
            // SAFETY: the compiler's description is as it says.
            Data::Compiled(compiled) => unsafe { (*compiled).name() },
            Data::Nothing => c"<class that was not registered>",
        }
    }

    /// Returns true for a metaclass.
    pub fn is_meta(&'static self) -> bool {
        self.realised().is_meta
    }

    /// Returns true if it is a class or inherits from it.
    pub fn inherits(&'static self, from: &'static Class) -> bool {
        let from = std::ptr::from_ref(from.realised());
        self.chain()
            .any(|class| std::ptr::eq(class.realised(), from))
    }

    /// Makes a second class of another: all that is known is shared, only the address differs.
    fn mirror(&self, other: &'static Class) {
        self.superclass
            .store(other.superclass.load(Relaxed), Relaxed);
        self.isa.store(other.isa.load(Relaxed), Relaxed);
        self.data.store(other.data.load(Acquire), Release);
    }

    fn data(&self) -> Data {
        let data = self.data.load(Acquire);
        match data as usize {
            0 => Data::Nothing,
            bits if bits & 1 == 1 => {
                let realised: *const Realised = data.cast::<u8>().wrapping_sub(1).cast();
                // SAFETY: a marked word points to a `Realised` that is never freed.
                Data::Realised(unsafe { &*realised })
            }
            _ => Data::Compiled(data.cast()),
        }
    }

    fn set_realised(&self, realised: Realised) {
        let kept: *mut Realised = Box::into_raw(Box::new(realised));
        self.data
            .store(kept.cast::<u8>().wrapping_add(1).cast(), Release);
    }

    /// What the runtime knows of it; a class from a compiler is realised now.
    pub(crate) fn realised(&'static self) -> &'static Realised {
        match self.data() {
            Data::Realised(realised) => realised,
            _ => self.realise(),
        }
    }

    #[cold]
    fn realise(&'static self) -> &'static Realised {
        // What it inherits from first: layouts begin where that ends.
        if let Some(above) = self.superclass() {
            above.realised();
        }
        let _one_at_a_time = lock(&REALISING);
        match self.data() {
            Data::Realised(realised) => return realised,
            Data::Compiled(compiled) => {
                // SAFETY: the compiler's description is as it says.
                self.set_realised(unsafe { image::realise(self, compiled) });
            }
            Data::Nothing => self.set_realised(Realised::new(
                c"<class that was not registered>",
                false,
                size_of::<usize>(),
            )),
        }
        match self.data() {
            Data::Realised(realised) => realised,
            _ => diagnostics::fatal("a class cannot be realised", &[]),
        }
    }

    /// Makes the class known by its name. Returns false if another has it.
    pub(crate) fn publish(&'static self) -> bool {
        let mut classes = write(&CLASSES);
        let known = *classes.entry(self.c_name()).or_insert(self);
        std::ptr::eq(known, self)
    }

    /// Returns true if objects of the class have a count of references in front of them: those whose retain and release are the
    /// root's. Classes themselves, constants and blocks have none.
    #[inline]
    pub(crate) fn counts_itself(&'static self) -> bool {
        match self.realised().counts.load(Relaxed) {
            0 => self.find_out_who_counts(),
            known => known == 1,
        }
    }

    #[cold]
    fn find_out_who_counts(&'static self) -> bool {
        let root = crate::root::NSOBJECT.class;
        let same = |name: &CStr| {
            let selector = Sel::new(name);
            let imp = |class: &'static Class| {
                class
                    .method(selector)
                    .map(|method| method.imp.load(Acquire))
            };
            imp(root).is_some_and(|ours| imp(self) == Some(ours))
        };
        let counts = !self.is_meta() && same(c"retain") && same(c"release");
        let known = if counts { 1 } else { 2 };
        self.realised().counts.store(known, Relaxed);
        counts
    }

    /// The class of a name.
    pub fn named(name: &CStr) -> Option<&'static Class> {
        read(&CLASSES).get(name).copied()
    }

    /// All classes.
    pub fn all() -> Vec<&'static Class> {
        let mut all: Vec<_> = read(&CLASSES).values().copied().collect();
        all.sort_by_key(|class| class.name());
        all
    }

    /// A class that is put together at run time, with its metaclass; published by `objc_registerClassPair`.
    pub(crate) fn pair(
        superclass: Option<&'static Class>,
        name: &CStr,
        extra: usize,
    ) -> &'static Class {
        let name: &'static CStr = Box::leak(CString::from(name).into_boxed_c_str());
        let class: &'static Class = Box::leak(Box::new(Class::declared()));
        let meta: &'static Class = Box::leak(Box::new(Class::declared()));
        let size = superclass.map_or(size_of::<usize>(), |above| above.realised().instance_size());
        let mut realised = Realised::new(name, false, size + extra);
        if let Some(above) = superclass {
            realised.construct = above.realised().construct;
        }
        class.set_realised(realised);
        meta.set_realised(Realised::new(name, true, size_of::<Class>()));
        class.link(meta, superclass);
        class
    }

    /// Sets metaclass and superclass of both.
    fn link(&'static self, meta: &'static Class, superclass: Option<&'static Class>) {
        let (above, root_meta) = match superclass {
            Some(above) => {
                let root = above.chain().last().unwrap_or(above);
                (above.isa(), root.isa().unwrap_or(meta))
            }
            // The root's metaclass inherits from the root: classes answer a root's instance methods.
            None => (Some(self), meta),
        };
        let superclass = superclass.map_or(null_mut(), Class::as_ptr);
        self.superclass.store(superclass, Relaxed);
        meta.superclass
            .store(above.map_or(null_mut(), Class::as_ptr), Relaxed);
        meta.isa.store(root_meta.as_ptr(), Relaxed);
        self.isa.store(meta.as_ptr(), Release);
    }

    /// Adds a method; `replace` overwrites one of this class.
    pub(crate) fn add_method(
        &'static self,
        selector: Sel,
        types: &'static CStr,
        imp: Imp,
        replace: bool,
    ) -> bool {
        let realised = self.realised();
        let mut methods = write(&realised.methods);
        match methods.get(&selector) {
            Some(_) if !replace => return false,
            Some(known) => known.imp.store(imp.cast_mut(), Release),
            None => {
                let imp = AtomicPtr::new(imp.cast_mut());
                let kept: &'static Method = Box::leak(Box::new(Method {
                    selector,
                    types,
                    imp,
                }));
                methods.insert(selector, kept);
            }
        }
        drop(methods);
        refresh();
        true
    }

    /// Adds the methods of a table, over those of the same selectors.
    pub fn add_rows(&'static self, rows: &'static [MethodRow]) {
        for row in rows {
            let owner = match row.on_class {
                true => self.isa().unwrap_or(self),
                false => self,
            };
            owner.add_method(
                Sel::new(row.selector),
                encoding(row.types),
                row.function,
                true,
            );
        }
    }

    /// The method that objects of the class answer a selector with.
    pub fn method(&'static self, selector: Sel) -> Option<&'static Method> {
        self.chain().find_map(|class| class.own_method(selector))
    }

    pub(crate) fn own_method(&'static self, selector: Sel) -> Option<&'static Method> {
        read(&self.realised().methods).get(&selector).copied()
    }

    pub(crate) fn own_methods(&'static self) -> Vec<&'static Method> {
        let mut all: Vec<_> = read(&self.realised().methods).values().copied().collect();
        all.sort_by_key(|method| method.selector.name());
        all
    }
}

/// A table's encoding with `B` as the platform spells `BOOL`, kept for ever.
fn encoding(types: &'static CStr) -> &'static CStr {
    if BOOL == b'B' || !types.to_bytes().contains(&b'B') {
        return types;
    }
    let bytes = types.to_bytes().iter();
    let bytes: Vec<u8> = bytes
        .map(|&byte| if byte == b'B' { BOOL } else { byte })
        .collect();
    match CString::new(bytes) {
        Ok(text) => Box::leak(text.into_boxed_c_str()),
        Err(_) => types,
    }
}

/// How `BOOL` is encoded: as what clang makes of it on Linux's x86-64, `unsigned char` for objc2's sake is the same byte.
pub const BOOL: u8 = if cfg!(target_arch = "aarch64") {
    b'B'
} else {
    b'C'
};

enum Data {
    Nothing,
    Compiled(*const CompiledClass),
    Realised(&'static Realised),
}

impl Realised {
    pub(crate) fn new(name: &'static CStr, is_meta: bool, size: usize) -> Self {
        Self {
            name,
            is_meta,
            size: AtomicUsize::new(size),
            methods: RwLock::default(),
            ivars: RwLock::default(),
            protocols: RwLock::default(),
            construct: None,
            destroy: None,
            alive: AtomicI64::new(0),
            initialised: Mutex::new(Initialised::Not),
            counts: AtomicU8::new(0),
        }
    }

    pub(crate) fn insert(&self, method: Method) {
        let kept: &'static Method = Box::leak(Box::new(method));
        write(&self.methods).insert(kept.selector, kept);
    }

    pub(crate) fn instance_size(&self) -> usize {
        self.size.load(Relaxed)
    }

    pub(crate) fn set_instance_size(&self, size: usize) {
        self.size.store(size, Relaxed);
    }

    /// Lets every class give back what ARC keeps in its instance variables.
    ///
    /// # Safety
    /// The object must have been alive until now.
    pub(crate) unsafe fn destroy_ivars(&self, object: Id) {
        static SELECTOR: OnceLock<Sel> = OnceLock::new();
        let selector = *SELECTOR.get_or_init(|| Sel::new(c".cxx_destruct"));
        // SAFETY: the caller's promise.
        let class = unsafe { crate::object::class_of(object) };
        for method in class.chain().filter_map(|class| class.own_method(selector)) {
            let imp = method.imp.load(Acquire);
            // SAFETY: the compiler gives this method that type.
            unsafe {
                let destruct: unsafe extern "C-unwind" fn(Id, Sel) = std::mem::transmute(imp);
                destruct(object, selector);
            }
        }
    }
}

impl Declaration {
    /// Makes the class known to the runtime, after those it inherits from. Doing it twice is fine.
    pub fn register(&'static self) {
        if matches!(self.class.data(), Data::Realised(_)) {
            return;
        }
        let above = self.superclass;
        if let Some(above) = above {
            above.register();
        }
        let inherited = above.map(|above| above.class.realised());
        let size = match (self.state, inherited) {
            (0, Some(above)) => above.instance_size(),
            (0, None) => size_of::<usize>(),
            (state, _) => crate::object::STATE + state,
        };
        let mut realised = Realised::new(self.name, false, size);
        realised.construct = self
            .construct
            .or(inherited.and_then(|above| above.construct));
        realised.destroy = self.destroy.or(inherited.and_then(|above| above.destroy));
        *write(&realised.protocols) = self.protocols.iter().map(|&name| name.to_owned()).collect();
        self.metaclass
            .set_realised(Realised::new(self.name, true, size_of::<Class>()));
        self.class
            .link(self.metaclass, above.map(|above| above.class));
        self.class.set_realised(realised);
        self.class.add_rows(self.methods);
        for protocol in self.protocols {
            crate::protocol::declare(protocol);
        }
        self.class.publish();
        if let Some(mirror) = self.mirror {
            mirror.mirror(self.class);
        }
    }
}

/// What a selector means to a class, found once.
struct Found {
    class: &'static Class,
    selector: Sel,
    imp: AtomicPtr<()>,
}

const SLOTS: usize = 1 << 14;
static CACHE: [AtomicPtr<Found>; SLOTS] = [const { AtomicPtr::new(null_mut()) }; SLOTS];
static FOUND: LazyLock<Mutex<HashMap<(usize, Sel), &'static Found>>> =
    LazyLock::new(Mutex::default);

fn slot(class: &'static Class, selector: Sel) -> &'static AtomicPtr<Found> {
    let mixed = (std::ptr::from_ref(class) as usize >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ selector.address().wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    &CACHE[(mixed >> 40) % SLOTS]
}

/// The function that objects of a class answer a selector with, after the class was initialised.
#[inline]
pub(crate) fn find(class: &'static Class, selector: Sel) -> Option<Imp> {
    // SAFETY: entries are never freed.
    if let Some(found) = unsafe { slot(class, selector).load(Acquire).as_ref() }
        && std::ptr::eq(found.class, class)
        && found.selector == selector
    {
        return Some(found.imp.load(Relaxed));
    }
    search(class, selector)
}

#[cold]
fn search(class: &'static Class, selector: Sel) -> Option<Imp> {
    initialise(class);
    let unique = selector.unique();
    // Looked up under the lock of `refresh`: else a method replaced in between would be kept in its old form for ever.
    let mut all = lock(&FOUND);
    let method = class.method(unique)?;
    let imp = method.imp.load(Acquire);
    let key = (std::ptr::from_ref(class) as usize, selector);
    let found = *all.entry(key).or_insert_with(|| {
        Box::leak(Box::new(Found {
            class,
            selector,
            imp: AtomicPtr::new(imp),
        }))
    });
    slot(class, selector).store(std::ptr::from_ref(found).cast_mut(), Release);
    Some(imp)
}

/// Looks up again what was found before a method changed.
fn refresh() {
    for found in lock(&FOUND).values() {
        if let Some(method) = found.class.method(found.selector.unique()) {
            found.imp.store(method.imp.load(Acquire), Release);
        }
    }
}

/// Changes what implements a method, for all that inherit it.
pub(crate) fn set_implementation(method: &'static Method, imp: Imp) -> Imp {
    let old = method.imp.swap(imp.cast_mut(), Acquire);
    refresh();
    old
}

/// Sends `+initialize` before the first message to a class, to what it inherits from first, once.
fn initialise(class: &'static Class) {
    // A metaclass stands for its class.
    let class = match class.is_meta() {
        true => match Class::named(class.c_name()) {
            Some(known) if known.isa().is_some_and(|meta| std::ptr::eq(meta, class)) => known,
            _ => return,
        },
        false => class,
    };
    if let Some(above) = class.superclass() {
        initialise(above);
    }
    let realised = class.realised();
    let this = std::thread::current().id();
    let mut state = lock(&realised.initialised);
    loop {
        match *state {
            Initialised::Done => return,
            Initialised::Running(thread) if thread == this => return,
            Initialised::Running(_) => {
                state = INITIALISED
                    .wait(state)
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            Initialised::Not => break,
        }
    }
    *state = Initialised::Running(this);
    drop(state);
    let selector = Sel::new(c"initialize");
    if let Some(method) = class.isa().and_then(|meta| meta.method(selector)) {
        let imp = method.imp.load(Acquire);
        // SAFETY: the method has that type by convention.
        unsafe {
            let send: unsafe extern "C-unwind" fn(Id, Sel) = std::mem::transmute(imp);
            send(class.as_id(), selector);
        }
    }
    *lock(&realised.initialised) = Initialised::Done;
    INITIALISED.notify_all();
}
