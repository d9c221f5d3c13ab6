//! What the runtime tells about a program that uses it wrongly: unknown selectors, messages to freed objects, references
//! given back once too often, objects outside a pool, objects that are left at exit.

use crate::class::Class;
use crate::object::{Id, set_class};
use crate::selector::Sel;
use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, OnceLock};

static ZOMBIES: AtomicBool = AtomicBool::new(false);
static OUTSIDE_POOLS: AtomicU64 = AtomicU64::new(0);
static DEAD: LazyLock<Mutex<HashMap<usize, &'static Class>>> = LazyLock::new(Mutex::default);

/// The class that freed objects get; it answers nothing.
static ZOMBIE: Class = Class::declared();

/// Writes lines to standard error, in one piece.
pub fn tell(text: &str) {
    // Nothing is left to tell if standard error is closed.
    let _ = std::io::stderr().write_all(format!("assay metal: {text}\n").as_bytes());
}

/// Ends the process with a reason and the calls that led to it.
pub fn fatal(what: &str, details: &[String]) -> ! {
    let trace = Backtrace::force_capture();
    tell(&format!("{what}\n{}\n{trace}", details.join("\n")));
    std::process::abort()
}

/// Keeps the memory of freed objects, so that a message to one names its class.
pub fn keep_zombies() {
    ZOMBIES.store(true, Relaxed);
}

/// Returns true if the memory of a freed object is kept.
pub(crate) fn keep_zombie(object: Id, class: &'static Class) -> bool {
    if !ZOMBIES.load(Relaxed) {
        return false;
    }
    crate::lock::lock(&DEAD).insert(object as usize, class);
    // SAFETY: the memory is still there, and a zombie has no variables.
    unsafe { set_class(object, &ZOMBIE) };
    true
}

fn dead(object: Id) -> Option<&'static Class> {
    crate::lock::lock(&DEAD).get(&(object as usize)).copied()
}

#[cold]
pub(crate) fn unrecognised(receiver: Id, class: &'static Class, selector: Sel) -> ! {
    if let Some(was) = dead(receiver) {
        fatal(
            &format!(
                "-[{was:?} {selector:?}] was sent to an object at {receiver:p} that has been freed"
            ),
            &[],
        );
    }
    let sign = if class.is_meta() { '+' } else { '-' };
    let mut text =
        format!("{sign}[{class:?} {selector:?}]: the class does not answer this selector");
    if let Some(name) = nearest(class, selector.name()) {
        text.push_str(&format!("; nearest: {name}"));
    }
    match MAKER.get() {
        // SAFETY: the exception is new.
        Some(make) => unsafe {
            crate::exception::objc_exception_throw(make("NSInvalidArgumentException", &text))
        },
        None => fatal(&text, &[]),
    }
}

static MAKER: OnceLock<fn(&str, &str) -> Id> = OnceLock::new();

/// Sets what makes an exception of a name and a reason.
pub fn set_exception_maker(make: fn(&str, &str) -> Id) {
    // The first one stays.
    let _ = MAKER.set(make);
}

/// The selector of a class that shares the longest start with a name.
fn nearest(class: &'static Class, wanted: &str) -> Option<&'static str> {
    let common = |name: &str| {
        let pairs = name.bytes().zip(wanted.bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let all = class.chain().flat_map(Class::own_methods);
    let best = all
        .map(|method| method.selector.name())
        .max_by_key(|name| common(name))?;
    (common(best) >= 4).then_some(best)
}

#[cold]
pub(crate) fn over_released(object: Id) -> bool {
    // SAFETY: its memory is still there, or this could not have been read.
    let class = dead(object).unwrap_or_else(|| unsafe { crate::object::class_of(object) });
    fatal(
        &format!("a reference to a {class:?} at {object:p} was given back once too often"),
        &[],
    )
}

pub(crate) fn outside_pool() {
    OUTSIDE_POOLS.fetch_add(1, Relaxed);
}

/// Objects that were autoreleased while a thread had no pool: they are never freed.
pub fn objects_outside_pools() -> u64 {
    OUTSIDE_POOLS.load(Relaxed)
}

/// Objects that are alive, by class, most first.
pub fn alive() -> Vec<(&'static str, i64)> {
    let all = Class::all().into_iter();
    let counted = all.map(|class| (class.name(), class.realised().alive.load(Relaxed)));
    let mut counted: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
    counted.sort_by_key(|(_, count)| -count);
    counted
}
