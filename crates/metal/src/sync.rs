//! Events, shared events, fences.

use crate::device;
use crate::order;
use crate::report::wrong_use;
use crate::resource::lock;
use crate::settings::settings;
use assay_foundation::string::string;
use assay_objc::block::{Block, Callback};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A counter that queues and the program raise and wait for.
#[derive(Debug, Default)]
pub struct Event {
    identity: Identity,
    value: Mutex<u64>,
    raised: Condvar,
    listeners: Mutex<Vec<(u64, Callback)>>,
    label: Mutex<Strong>,
}

impl Event {
    /// Sets the value, wakes who waits, and calls who wanted to know.
    pub(crate) fn set(&self, own: Id, value: u64) {
        *lock(&self.value) = value;
        self.raised.notify_all();
        let mut reached = Vec::new();
        lock(&self.listeners).retain_mut(|(wanted, block)| {
            let is_reached = *wanted <= value;
            if is_reached {
                let (function, pointer) = block.function();
                // SAFETY: the block stays alive in the list that this one becomes part of.
                reached.extend(unsafe { Callback::keep(pointer) });
                let _ = function;
            }
            !is_reached
        });
        if !reached.is_empty() {
            self.saw(value);
        }
        for block in reached {
            // SAFETY: such blocks take the event and the value.
            unsafe { block.call_with_two(own, value) };
        }
    }

    /// Its name, for `order`.
    pub(crate) fn number(&self) -> u64 {
        self.identity.0
    }

    /// The program sees that the event has a value.
    fn saw(&self, value: u64) {
        if settings().check {
            order::saw_event(self.number(), value);
        }
    }

    pub(crate) fn value(&self) -> u64 {
        *lock(&self.value)
    }

    /// Waits until the value is at least this. Returns false if the time is over.
    pub(crate) fn wait(&self, wanted: u64, timeout: Option<Duration>) -> bool {
        let end = timeout.and_then(|time| Instant::now().checked_add(time));
        let mut value = lock(&self.value);
        while *value < wanted {
            let left = match end {
                Some(end) => end.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return false;
            }
            let waited = self.raised.wait_timeout(value, left);
            value = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// Names an event or fence, since addresses come to be others' when objects are gone.
#[derive(Debug)]
pub(crate) struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Relaxed) + 1)
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        if settings().check {
            order::forget_object(self.0);
        }
    }
}

/// The name of an event.
pub(crate) fn event_number(object: &Strong) -> u64 {
    // SAFETY: the reference keeps it.
    let event = unsafe { EVENT.state::<Event>(object.id()) };
    event.map_or(0, Event::number)
}

/// The name of a fence.
pub(crate) fn fence_number(object: &Strong) -> Option<u64> {
    // SAFETY: the reference keeps it.
    let fence = unsafe { FENCE.state::<Fence>(object.id()) };
    fence.map(|fence| fence.identity.0)
}

pub(crate) fn event() -> Strong {
    // SAFETY: `Event` is the state of the class.
    unsafe { EVENT.make(Event::default()) }
}

class! {
    /// `id<MTLSharedEvent>`, which is also what `newEvent` gives.
    pub EVENT = "AssayMTLSharedEvent": NSOBJECT, Event, ["MTLSharedEvent", "MTLEvent"];
    - "signaledValue" "Q@:" (this) -> u64 {
        let value = this.value();
        this.saw(value);
        value
    }
    - "setSignaledValue:" "v@:Q" (this, value: u64) {
        let before = this.value();
        if value < before {
            wrong_use(&format!("setSignaledValue: {value}: the event has {before}, and its value may only grow"));
        }
        if settings().check { order::set_event(this.number(), value); }
        this.set(this.id, value);
    }
    - "waitUntilSignaledValue:timeoutMS:" "B@:QQ" (this, value: u64, milliseconds: u64) -> Bool {
        let forever = milliseconds > u64::from(u32::MAX) * 1000;
        let reached = this.wait(value, (!forever).then(|| Duration::from_millis(milliseconds)));
        if reached { this.saw(value); }
        reached.into()
    }
    - "notifyListener:atValue:block:" "v@:@Q@?" (this, _listener: Id, value: u64, block: *const Block) {
        let Some(block) = Callback::keep(block) else { return wrong_use("notifyListener: the block is nil") };
        if this.value() >= value {
            this.saw(value);
            block.call_with_two(this.id, value);
        } else {
            lock(&this.listeners).push((value, block));
        }
    }
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(assay_foundation::text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
}

/// A fence: encoders of a queue run in order, so there is nothing to wait for; `order` knows what it would order.
#[derive(Debug, Default)]
pub struct Fence {
    identity: Identity,
    label: Mutex<Strong>,
}

class! {
    /// `id<MTLFence>`.
    pub FENCE = "AssayMTLFence": NSOBJECT, Fence, ["MTLFence"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(assay_foundation::text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
}
class! {
    /// `MTLSharedEventListener`: its blocks run where the event is raised.
    pub LISTENER = "MTLSharedEventListener": NSOBJECT, (), [];
    + "sharedListener" "@@:" (this) -> Id { LISTENER.make(()).autoreleased() }
    - "initWithDispatchQueue:" "@@:@" (this, _queue: Id) -> Id { this.id }
}
