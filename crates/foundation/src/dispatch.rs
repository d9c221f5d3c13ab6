//! libdispatch as engines use it: queues, groups, semaphores, `apply`, `once`, data. All are objects that count references.
//!
//! A serial queue runs its work in order on one thread at a time; a concurrent one gives each piece a thread of its own.

use crate::data;
use assay_objc::block::{Block, Callback};
use assay_objc::pool::{autoreleasepool, objc_release, objc_retain};
use assay_objc::root::NSOBJECT;
use assay_objc::{Declaration, Id, Strong, class};
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

type Work = Box<dyn FnOnce() + Send>;
type Function = unsafe extern "C-unwind" fn(*mut c_void);

/// `DISPATCH_TIME_FOREVER`.
const FOREVER: u64 = u64::MAX;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue.
#[derive(Default)]
pub struct Queue {
    concurrent: bool,
    label: String,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    running: bool,
}

class! {
    /// `dispatch_queue_t`.
    pub QUEUE = "OS_dispatch_queue": NSOBJECT, Queue, [];
}

/// A group: pieces of work that have not ended, and what is done when all have.
#[derive(Default)]
pub struct Group {
    open: Mutex<(usize, Vec<Work>)>,
    done: Condvar,
}

class! {
    /// `dispatch_group_t`.
    pub GROUP = "OS_dispatch_group": NSOBJECT, Group, [];
}

/// A semaphore.
#[derive(Default)]
pub struct Semaphore {
    value: Mutex<i64>,
    raised: Condvar,
}

class! {
    /// `dispatch_semaphore_t`.
    pub SEMAPHORE = "OS_dispatch_semaphore": NSOBJECT, Semaphore, [];
}

/// The state of an object that a program passes, for as long as the call.
unsafe fn state<'a, S>(class: &'static Declaration, object: Id) -> &'a S {
    // SAFETY: the caller's object is alive.
    match unsafe { class.state::<S>(object) } {
        Some(state) => state,
        None => {
            assay_objc::diagnostics::fatal(&format!("{object:p} is not a {:?}", class.name), &[])
        }
    }
}

/// Runs work in the background on a queue.
unsafe fn enqueue(queue: Id, work: Work) {
    // SAFETY: the caller's queue is alive; the thread keeps it so.
    let (own, kept) = unsafe { (state::<Queue>(&QUEUE, queue), Strong::retain(queue)) };
    if own.concurrent {
        background(Box::new(move || {
            work();
            drop(kept);
        }));
        return;
    }
    let mut waiting = lock(&own.waiting);
    waiting.work.push_back(work);
    if waiting.running {
        return;
    }
    waiting.running = true;
    drop(waiting);
    drain(kept);
}

/// Runs what waits in a serial queue that is marked as running, on a thread, until nothing is left.
fn drain(queue: Strong) {
    background(Box::new(move || {
        // SAFETY: the queue is kept alive.
        let own = unsafe { state::<Queue>(&QUEUE, queue.id()) };
        loop {
            let mut waiting = lock(&own.waiting);
            let Some(next) = waiting.work.pop_front() else {
                waiting.running = false;
                return;
            };
            drop(waiting);
            autoreleasepool(next);
        }
    }));
}

/// Runs work on another thread; on this one if there can be no more.
fn background(work: Work) {
    let shared = Arc::new(Mutex::new(Some(work)));
    let other = Arc::clone(&shared);
    let run = move || {
        let work = lock(&other).take();
        if let Some(work) = work {
            autoreleasepool(work);
        }
    };
    if std::thread::Builder::new()
        .name("dispatch".to_owned())
        .spawn(run)
        .is_err()
        && let Some(work) = lock(&shared).take()
    {
        work();
    }
}

/// Runs work on a queue and waits for it. It runs on this thread, in its place in the order of a serial queue.
unsafe fn wait_for(queue: Id, work: impl FnOnce()) {
    // SAFETY: the caller's queue is alive.
    let own = unsafe { state::<Queue>(&QUEUE, queue) };
    if own.concurrent {
        return work();
    }
    let mut waiting = lock(&own.waiting);
    if waiting.running {
        // The queue's thread waits while this one has its turn.
        let turn = Arc::new(Turn::default());
        let other = Arc::clone(&turn);
        waiting.work.push_back(Box::new(move || {
            other.advance(Stage::Begun);
            other.wait_for(Stage::Ended);
        }));
        drop(waiting);
        turn.wait_for(Stage::Begun);
        work();
        turn.advance(Stage::Ended);
        return;
    }
    waiting.running = true;
    drop(waiting);
    work();
    let mut waiting = lock(&own.waiting);
    if waiting.work.is_empty() {
        waiting.running = false;
        return;
    }
    drop(waiting);
    // SAFETY: as above.
    drain(unsafe { Strong::retain(queue) });
}

/// The turn of a thread that waits for its place in a serial queue.
#[derive(Default)]
struct Turn {
    stage: Mutex<Stage>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waits,
    Begun,
    Ended,
}

impl Turn {
    fn advance(&self, stage: Stage) {
        *lock(&self.stage) = stage;
        self.changed.notify_all();
    }

    fn wait_for(&self, stage: Stage) {
        let mut now = lock(&self.stage);
        while *now != stage {
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

unsafe fn block_work(block: *const Block) -> Work {
    // SAFETY: the caller's block is one without arguments.
    let kept = unsafe { Callback::keep(block) };
    Box::new(move || {
        if let Some(block) = kept {
            // SAFETY: as above.
            unsafe { block.call() };
        }
    })
}

struct Context(*mut c_void);
// SAFETY: who passes a context to a queue promises that its function may use it on another thread.
unsafe impl Send for Context {}

fn function_work(context: *mut c_void, function: Function) -> Work {
    let context = Context(context);
    Box::new(move || {
        let context = context;
        // SAFETY: the caller's function takes its context.
        unsafe { function(context.0) };
    })
}

fn make_queue(label: &str, concurrent: bool) -> Strong {
    // SAFETY: `Queue` is the state of the class.
    unsafe {
        QUEUE.make(Queue {
            concurrent,
            label: label.to_owned(),
            ..Queue::default()
        })
    }
}

fn global() -> Id {
    static GLOBAL: OnceLock<Strong> = OnceLock::new();
    GLOBAL
        .get_or_init(|| make_queue("com.apple.root.default-qos", true))
        .id()
}

/// `_dispatch_queue_attr_concurrent`: its address says that a queue is concurrent.
#[unsafe(no_mangle)]
pub static _dispatch_queue_attr_concurrent: AtomicUsize = AtomicUsize::new(0);

/// C functions whose objects are alive and of the type they say.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: objects are alive and of the type they say, functions and blocks take what they are given.
            #[allow(unused_unsafe)]
            unsafe { $body }
        }
    )*};
}

functions! {
    dispatch_queue_create(label: *const c_char, attribute: *const c_void) -> Id {
        let label = if label.is_null() { c"" } else { CStr::from_ptr(label) };
        make_queue(&label.to_string_lossy(), !attribute.is_null()).into_owned()
    }
    dispatch_queue_create_with_target(label: *const c_char, attribute: *const c_void, _target: Id) -> Id {
        dispatch_queue_create(label, attribute)
    }
    dispatch_queue_get_label(queue: Id) -> *const c_char {
        // Kept for ever, as few queues are asked.
        let own = if queue.is_null() { "" } else { &state::<Queue>(&QUEUE, queue).label };
        std::ffi::CString::new(own).unwrap_or_default().into_raw()
    }
    dispatch_get_global_queue(_priority: isize, _flags: usize) -> Id { global() }
    dispatch_get_main_queue() -> Id {
        static MAIN: OnceLock<Strong> = OnceLock::new();
        MAIN.get_or_init(|| make_queue("com.apple.main-thread", false)).id()
    }
    dispatch_async(queue: Id, block: *const Block) { enqueue(queue, block_work(block)) }
    dispatch_async_f(queue: Id, context: *mut c_void, function: Function) { enqueue(queue, function_work(context, function)) }
    dispatch_barrier_async(queue: Id, block: *const Block) { enqueue(queue, block_work(block)) }
    dispatch_sync(queue: Id, block: *const Block) {
        if let Some(block) = Callback::keep(block) { wait_for(queue, || block.call()); }
    }
    dispatch_sync_f(queue: Id, context: *mut c_void, function: Function) { wait_for(queue, || function(context)) }
    dispatch_barrier_sync(queue: Id, block: *const Block) { dispatch_sync(queue, block) }
    dispatch_apply(count: usize, _queue: Id, block: *const Block) {
        if let Some(block) = Callback::keep(block) { apply(count, &|index| block.call_with(index)); }
    }
    dispatch_apply_f(count: usize, _queue: Id, context: *mut c_void, function: unsafe extern "C-unwind" fn(*mut c_void, usize)) {
        let context = context as usize;
        apply(count, &|index| function(context as *mut c_void, index));
    }
    dispatch_once(once: *mut isize, block: *const Block) {
        if let Some(block) = Callback::keep(block) { run_once(once, || block.call()); }
    }
    dispatch_once_f(once: *mut isize, context: *mut c_void, function: Function) { run_once(once, || function(context)) }
    dispatch_group_create() -> Id { GROUP.make(Group::default()).into_owned() }
    dispatch_group_enter(group: Id) { lock(&state::<Group>(&GROUP, group).open).0 += 1; }
    dispatch_group_leave(group: Id) {
        let own = state::<Group>(&GROUP, group);
        let mut open = lock(&own.open);
        open.0 = open.0.saturating_sub(1);
        if open.0 == 0 {
            own.done.notify_all();
            let next = std::mem::take(&mut open.1);
            drop(open);
            next.into_iter().for_each(background);
        }
    }
    dispatch_group_async(group: Id, queue: Id, block: *const Block) { in_group(group, queue, block_work(block)) }
    dispatch_group_async_f(group: Id, queue: Id, context: *mut c_void, function: Function) {
        in_group(group, queue, function_work(context, function))
    }
    dispatch_group_notify(group: Id, _queue: Id, block: *const Block) {
        let own = state::<Group>(&GROUP, group);
        let work = block_work(block);
        let mut open = lock(&own.open);
        if open.0 == 0 { drop(open); background(work) } else { open.1.push(work) }
    }
    dispatch_group_wait(group: Id, until: u64) -> isize {
        let own = state::<Group>(&GROUP, group);
        wait_until(&own.done, lock(&own.open), until, |open| open.0 == 0).map_or(1, |_| 0)
    }
    dispatch_semaphore_create(value: isize) -> Id {
        let value = Mutex::new(value as i64);
        SEMAPHORE.make(Semaphore { value, raised: Condvar::new() }).into_owned()
    }
    dispatch_semaphore_signal(semaphore: Id) -> isize {
        let own = state::<Semaphore>(&SEMAPHORE, semaphore);
        *lock(&own.value) += 1;
        own.raised.notify_one();
        0
    }
    dispatch_semaphore_wait(semaphore: Id, until: u64) -> isize {
        let own = state::<Semaphore>(&SEMAPHORE, semaphore);
        match wait_until(&own.raised, lock(&own.value), until, |value| *value > 0) {
            Some(mut value) => { *value -= 1; 0 }
            None => 1,
        }
    }
    dispatch_time(from: u64, after: i64) -> u64 {
        if from == FOREVER { return FOREVER }
        let start = if from == 0 { crate::system::nanoseconds() } else { from };
        start.saturating_add_signed(after).clamp(1, FOREVER - 1)
    }
    dispatch_after(at: u64, queue: Id, block: *const Block) {
        let (work, queue) = (block_work(block), Strong::retain(queue));
        background(Box::new(move || {
            std::thread::sleep(Duration::from_nanos(at.saturating_sub(crate::system::nanoseconds())));
            // SAFETY: the queue is kept alive.
            unsafe { enqueue(queue.id(), work) };
        }));
    }
    dispatch_retain(object: Id) { objc_retain(object); }
    dispatch_release(object: Id) { objc_release(object) }
    dispatch_data_create(start: *const u8, length: usize, _queue: Id, destructor: *const Block) -> Id {
        // The default destructor, null or not a block of the caller's, means that the bytes are copied.
        let is_default = destructor.is_null();
        let done = if is_default { None } else { Callback::keep(destructor) };
        data::lent(start, length, done).into_owned()
    }
    dispatch_data_get_size(object: Id) -> usize { crate::bytes(object).len() }
    dispatch_data_create_map(object: Id, start: *mut *const u8, length: *mut usize) -> Id {
        let bytes = crate::bytes(object);
        if let Some(start) = start.as_mut() { *start = bytes.as_ptr(); }
        if let Some(length) = length.as_mut() { *length = bytes.len(); }
        objc_retain(object)
    }
}

/// `_dispatch_data_destructor_free`: the block that means C's `free`. Null, so the bytes are copied and the caller's leak.
#[unsafe(no_mangle)]
pub static _dispatch_data_destructor_free: AtomicUsize = AtomicUsize::new(0);

unsafe fn in_group(group: Id, queue: Id, work: Work) {
    // SAFETY: the caller's objects are alive.
    unsafe {
        dispatch_group_enter(group);
        let kept = Strong::retain(group);
        let counted = Box::new(move || {
            work();
            dispatch_group_leave(kept.id());
        });
        enqueue(queue, counted);
    }
}

/// Calls a function with each index, on as many threads as there are CPUs.
fn apply(count: usize, call: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            autoreleasepool(|| call(index));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..crate::system::processors().min(count) {
            // Without another thread this one does all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// Runs a function the first time; others wait until it has ended.
unsafe fn run_once(once: *mut isize, function: impl FnOnce()) {
    static ENDED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    // SAFETY: the caller's word is writable and only used here.
    let word = unsafe { AtomicI64::from_ptr(once.cast()) };
    match word.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            function();
            let _held = lock(&ENDED.0);
            word.store(-1, Ordering::Release);
            ENDED.1.notify_all();
        }
        Err(-1) => {}
        Err(_) => {
            let mut held = lock(&ENDED.0);
            while word.load(Ordering::Acquire) != -1 {
                held = ENDED.1.wait(held).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Waits for a condition until a time of [`crate::system::nanoseconds`]; nothing if it did not come true. Zero does not wait.
fn wait_until<'a, T>(
    condition: &Condvar,
    mut guard: MutexGuard<'a, T>,
    until: u64,
    holds: impl Fn(&T) -> bool,
) -> Option<MutexGuard<'a, T>> {
    while !holds(&guard) {
        let now = crate::system::nanoseconds();
        if until != FOREVER && until <= now {
            return None;
        }
        let left = Duration::from_nanos(until.saturating_sub(now)).min(Duration::from_secs(3600));
        let waited = condition
            .wait_timeout(guard, left)
            .unwrap_or_else(PoisonError::into_inner);
        guard = waited.0;
    }
    Some(guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Mutex<Vec<u32>>;

    /// A note of a number in a log, as the work of a queue.
    struct Note<'a>(&'a Log, u32);

    unsafe extern "C-unwind" fn write(note: *mut c_void) {
        // SAFETY: the test keeps its notes.
        let note = unsafe { &*note.cast::<Note<'_>>() };
        lock(note.0).push(note.1);
    }

    #[test]
    fn a_serial_queue_keeps_the_order_of_asynchronous_and_waiting_work() {
        crate::register();
        for _ in 0..200 {
            let log = Log::default();
            let notes: Vec<Note<'_>> = (0..8).map(|number| Note(&log, number)).collect();
            let context = |at: usize| std::ptr::from_ref(&notes[at]).cast_mut().cast();
            let queue = make_queue("order", false);
            // SAFETY: the queue is alive; notes are until it has run all of them.
            unsafe {
                wait_for(queue.id(), || {
                    (0..3).for_each(|at| dispatch_async_f(queue.id(), context(at), write));
                    assert!(lock(&log).is_empty());
                });
                dispatch_async_f(queue.id(), context(3), write);
                dispatch_sync_f(queue.id(), context(4), write);
                assert_eq!(lock(&log).last(), Some(&4));
                (5..8).for_each(|at| dispatch_async_f(queue.id(), context(at), write));
                wait_for(queue.id(), || {});
            }
            assert_eq!(*lock(&log), [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }
}
