//! `NSProcessInfo`, `NSAutoreleasePool`, `NSLock`, `NSDate`, `NSThread`.

use crate::collections::{array, dictionary};
use crate::string::string;
use assay_objc::pool::{
    objc_autorelease, objc_autoreleasePoolPop, objc_autoreleasePoolPush, objc_retain,
};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, class};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `NSOperatingSystemVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Version {
    major: isize,
    minor: isize,
    patch: isize,
}

/// The version of macOS that programs are told.
pub const SYSTEM: Version = Version {
    major: 15,
    minor: 5,
    patch: 0,
};

class! {
    /// `NSProcessInfo`.
    pub NSPROCESSINFO = "NSProcessInfo": NSOBJECT, (), [];
    + "processInfo" "@@:" (this) -> Id {
        static ONE: OnceLock<Strong> = OnceLock::new();
        ONE.get_or_init(|| NSPROCESSINFO.make(())).id()
    }
    - "arguments" "@@:" (this) -> Id {
        let all = std::env::args_os().map(|one| string(&one.to_string_lossy()));
        array(all.collect()).autoreleased()
    }
    - "environment" "@@:" (this) -> Id {
        let all = std::env::vars_os().map(|(name, value)| (string(&name.to_string_lossy()), string(&value.to_string_lossy())));
        dictionary(all.collect()).autoreleased()
    }
    - "processName" "@@:" (this) -> Id {
        let program = std::env::current_exe().unwrap_or_default();
        string(&program.file_name().unwrap_or_default().to_string_lossy()).autoreleased()
    }
    - "processIdentifier" "i@:" (this) -> i32 { std::process::id() as i32 }
    - "processorCount" "Q@:" (this) -> usize { crate::system::processors() }
    - "activeProcessorCount" "Q@:" (this) -> usize { crate::system::processors() }
    - "physicalMemory" "Q@:" (this) -> u64 { crate::system::memory() }
    - "systemUptime" "d@:" (this) -> f64 { crate::system::nanoseconds() as f64 * 1e-9 }
    - "operatingSystemVersion" "{?=qqq}@:" (this) -> Version { SYSTEM }
    - "operatingSystemVersionString" "@@:" (this) -> Id { string("Version 15.5 (on Linux)").autoreleased() }
    - "isOperatingSystemAtLeastVersion:" "B@:{?=qqq}" (this, wanted: Version) -> Bool { Bool::from(SYSTEM >= wanted) }
    - "isLowPowerModeEnabled" "B@:" (this) -> Bool { NO }
    - "thermalState" "q@:" (this) -> isize { 0 }
}

/// The token of a pool, plus one so that zero is none.
#[derive(Debug, Default)]
pub struct Pool(AtomicUsize);

impl Drop for Pool {
    fn drop(&mut self) {
        let token = *self.0.get_mut();
        if token != 0 {
            // SAFETY: the token is of this pool.
            unsafe { objc_autoreleasePoolPop(token) };
        }
    }
}

class! {
    /// `NSAutoreleasePool`.
    pub NSAUTORELEASEPOOL = "NSAutoreleasePool": NSOBJECT, Pool, [];
    - "init" "@@:" (this) -> Id { this.0.store(objc_autoreleasePoolPush(), Ordering::Relaxed); this.id }
    - "drain" "v@:" (this) { assay_objc::pool::objc_release(this.id) }
    - "addObject:" "v@:@" (this, object: Id) { objc_autorelease(objc_retain(object)); }
    + "addObject:" "v@:@" (this, object: Id) { objc_autorelease(object); }
    + "showPools" "v@:" (this) { }
}

/// A lock that any thread may open.
#[derive(Debug, Default)]
pub struct Lock {
    held: Mutex<bool>,
    freed: Condvar,
}

impl Lock {
    fn enter(&self, wait: bool) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held {
            if !wait {
                return false;
            }
            held = self
                .freed
                .wait(held)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *held = true;
        true
    }

    fn leave(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.freed.notify_one();
    }
}

class! {
    /// `NSLock`.
    pub NSLOCK = "NSLock": NSOBJECT, Lock, ["NSLocking"];
    - "lock" "v@:" (this) { this.enter(true); }
    - "tryLock" "B@:" (this) -> Bool { Bool::from(this.enter(false)) }
    - "unlock" "v@:" (this) { this.leave(); }
}

/// Seconds from 1970 to 2001, from which Apple counts.
const SINCE_1970: f64 = 978_307_200.0;

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// A point in time.
#[derive(Debug, Default)]
pub struct Date(OnceLock<f64>);

class! {
    /// `NSDate`.
    pub NSDATE = "NSDate": NSOBJECT, Date, [];
    + "date" "@@:" (this) -> Id { NSDATE.make(Date(OnceLock::from(now()))).autoreleased() }
    + "timeIntervalSinceReferenceDate" "d@:" (this) -> f64 { now() - SINCE_1970 }
    - "timeIntervalSince1970" "d@:" (this) -> f64 { *this.0.get_or_init(now) }
    - "timeIntervalSinceReferenceDate" "d@:" (this) -> f64 { *this.0.get_or_init(now) - SINCE_1970 }
    - "timeIntervalSinceNow" "d@:" (this) -> f64 { *this.0.get_or_init(now) - now() }
}
class! {
    /// `NSThread`.
    pub NSTHREAD = "NSThread": NSOBJECT, (), [];
    + "isMainThread" "B@:" (this) -> Bool {
        // The kernel gives a process's first thread the process's number.
        Bool::from(std::fs::read_link("/proc/thread-self").is_ok_and(|path| path.ends_with(std::process::id().to_string())))
    }
    + "isMultiThreaded" "B@:" (this) -> Bool { assay_objc::YES }
    + "sleepForTimeInterval:" "v@:d" (this, seconds: f64) {
        if let Ok(time) = Duration::try_from_secs_f64(seconds) { std::thread::sleep(time); }
    }
}
