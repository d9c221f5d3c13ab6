//! `NSArray`, `NSDictionary` and `NSSet`. Keys are found by going over all: the dictionaries of Metal programs are small.

use crate::string::{Range, description, string};
use assay_objc::message::send_with;
use assay_objc::object::class_of;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Sel, Strong, class};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The objects of an array or set.
#[derive(Debug, Default)]
pub struct Elements(RwLock<Vec<Strong>>);

/// The pairs of a dictionary.
#[derive(Debug, Default)]
pub struct Pairs(RwLock<Vec<(Strong, Strong)>>);

impl Elements {
    fn read(&self) -> RwLockReadGuard<'_, Vec<Strong>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Strong>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pairs {
    fn read(&self) -> RwLockReadGuard<'_, Vec<(Strong, Strong)>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<(Strong, Strong)>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new array.
pub fn array(elements: Vec<Strong>) -> Strong {
    // SAFETY: `Elements` is the state of the class.
    unsafe { NSARRAY.make(Elements(RwLock::new(elements))) }
}

/// A new dictionary of keys with values.
pub fn dictionary(pairs: Vec<(Strong, Strong)>) -> Strong {
    // SAFETY: `Pairs` is the state of the class.
    unsafe { NSDICTIONARY.make(Pairs(RwLock::new(pairs))) }
}

/// The objects of an array; none for nil or another object.
///
/// # Safety
/// The object must be alive, or nil.
pub unsafe fn elements(array: Id) -> Vec<Strong> {
    // SAFETY: the caller's promise.
    let state = unsafe { NSARRAY.state::<Elements>(array) };
    state.map_or(Vec::new(), |all| all.read().clone())
}

/// The keys and values of a dictionary; none for nil or another object.
///
/// # Safety
/// The object must be alive, or nil.
pub unsafe fn pairs(dictionary: Id) -> Vec<(Strong, Strong)> {
    // SAFETY: the caller's promise.
    let state = unsafe { NSDICTIONARY.state::<Pairs>(dictionary) };
    state.map_or(Vec::new(), |all| all.read().clone())
}

unsafe fn equal(a: Id, b: Id) -> bool {
    static SELECTOR: OnceLock<Sel> = OnceLock::new();
    let selector = *SELECTOR.get_or_init(|| Sel::new(c"isEqual:"));
    // SAFETY: both are alive; every object has the method.
    a == b || unsafe { send_with::<_, Bool>(a, selector, b) }.get()
}

unsafe fn many(objects: *const Id, count: usize) -> Vec<Strong> {
    // SAFETY: the caller passes that many objects that are alive.
    (0..count)
        .map(|at| unsafe { Strong::retain(*objects.add(at)) })
        .collect()
}

fn out_of_bounds(object: Id, index: usize, count: usize) -> ! {
    // SAFETY: the receiver is alive.
    let class = unsafe { class_of(object) };
    assay_objc::diagnostics::fatal(
        &format!("index {index} of a {class:?} with {count} objects"),
        &[],
    )
}

unsafe fn at(array: Id, elements: &Elements, index: usize) -> Id {
    let elements = elements.read();
    match elements.get(index) {
        Some(found) => found.id(),
        None => out_of_bounds(array, index, elements.len()),
    }
}

/// The state of a loop over a collection, as compilers lay it out.
#[repr(C)]
#[derive(Debug)]
pub struct Enumeration {
    state: usize,
    items: *mut Id,
    mutations: *mut usize,
    extra: [usize; 5],
}

/// Hands the next objects to a loop, in the room it has for them.
unsafe fn enumerate(
    next: &[Id],
    loop_state: *mut Enumeration,
    room: *mut Id,
    count: usize,
) -> usize {
    static MUTATIONS: usize = 0;
    // SAFETY: compilers pass a state and room for so many objects.
    unsafe {
        let state = &mut *loop_state;
        let now = next.get(state.state..).unwrap_or_default();
        let now = &now[..now.len().min(count)];
        for (at, object) in now.iter().enumerate() {
            *room.add(at) = *object;
        }
        state.state += now.len();
        state.items = room;
        state.mutations = (&raw const MUTATIONS).cast_mut();
        now.len()
    }
}

class! {
    /// `NSArray`.
    pub NSARRAY = "NSArray": NSOBJECT, Elements, ["NSCopying", "NSFastEnumeration"];
    + "array" "@@:" (this) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    + "arrayWithObject:" "@@:@" (this, object: Id) -> Id {
        let made = Strong::owned(assay_objc::pool::objc_opt_new(this.cast()));
        if let Some(own) = NSARRAY.state::<Elements>(made.id()) { own.write().push(Strong::retain(object)); }
        made.autoreleased()
    }
    + "arrayWithObjects:count:" "@@:r^@Q" (this, objects: *const Id, count: usize) -> Id {
        let made = Strong::owned(assay_objc::pool::objc_opt_new(this.cast()));
        if let Some(own) = NSARRAY.state::<Elements>(made.id()) { *own.write() = many(objects, count); }
        made.autoreleased()
    }
    + "arrayWithArray:" "@@:@" (this, other: Id) -> Id {
        let made = Strong::owned(assay_objc::pool::objc_opt_new(this.cast()));
        if let Some(own) = NSARRAY.state::<Elements>(made.id()) { *own.write() = elements(other); }
        made.autoreleased()
    }
    - "initWithObjects:count:" "@@:r^@Q" (this, objects: *const Id, count: usize) -> Id { *this.write() = many(objects, count); this.id }
    - "initWithArray:" "@@:@" (this, other: Id) -> Id { *this.write() = elements(other); this.id }
    - "count" "Q@:" (this) -> usize { this.read().len() }
    - "objectAtIndex:" "@@:Q" (this, index: usize) -> Id { at(this.id, &this, index) }
    - "objectAtIndexedSubscript:" "@@:Q" (this, index: usize) -> Id { at(this.id, &this, index) }
    - "getObjects:" "v@:^@" (this, into: *mut Id) {
        for (at, object) in this.read().iter().enumerate() { into.add(at).write(object.id()); }
    }
    - "getObjects:range:" "v@:^@{_NSRange=QQ}" (this, into: *mut Id, range: Range) {
        for (at, object) in this.read().iter().skip(range.location).take(range.length).enumerate() { into.add(at).write(object.id()); }
    }
    - "firstObject" "@@:" (this) -> Id { this.read().first().map_or(null_mut(), Strong::id) }
    - "lastObject" "@@:" (this) -> Id { this.read().last().map_or(null_mut(), Strong::id) }
    - "containsObject:" "B@:@" (this, object: Id) -> Bool { Bool::from(this.read().iter().any(|one| equal(one.id(), object))) }
    - "indexOfObject:" "Q@:@" (this, object: Id) -> usize {
        this.read().iter().position(|one| equal(one.id(), object)).unwrap_or(crate::string::NOT_FOUND)
    }
    - "arrayByAddingObject:" "@@:@" (this, object: Id) -> Id {
        let mut all = this.read().clone();
        all.push(Strong::retain(object));
        array(all).autoreleased()
    }
    - "subarrayWithRange:" "@@:{_NSRange=QQ}" (this, range: Range) -> Id {
        let all = this.read();
        let end = range.location.saturating_add(range.length);
        match all.get(range.location..end) {
            Some(part) => array(part.to_vec()).autoreleased(),
            None => out_of_bounds(this.id, end, all.len()),
        }
    }
    - "getObjects:range:" "v@:^@{_NSRange=QQ}" (this, to: *mut Id, range: Range) {
        for index in 0..range.length { *to.add(index) = at(this.id, &this, range.location + index); }
    }
    - "componentsJoinedByString:" "@@:@" (this, separator: Id) -> Id {
        let parts: Vec<&str> = this.read().iter().map(|one| description(one.id())).collect();
        string(&parts.join(crate::text(separator))).autoreleased()
    }
    - "isEqual:" "B@:@" (this, other: Id) -> Bool {
        let (own, other) = (elements(this.id), elements(other));
        Bool::from(own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| equal(a.id(), b.id())))
    }
    - "description" "@@:" (this) -> Id {
        let parts: Vec<String> = this.read().iter().map(|one| format!("    {}", description(one.id()))).collect();
        string(&format!("(\n{}\n)", parts.join(",\n"))).autoreleased()
    }
    - "countByEnumeratingWithState:objects:count:" "Q@:^{?=Q^@^Q[5Q]}^@Q"
      (this, state: *mut Enumeration, room: *mut Id, count: usize) -> usize {
        let all: Vec<Id> = this.read().iter().map(Strong::id).collect();
        enumerate(&all, state, room, count)
    }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { array(this.read().clone()).into_owned() }
    - "mutableCopyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id {
        NSMUTABLEARRAY.make(Elements(RwLock::new(this.read().clone()))).into_owned()
    }
    + "arrayWithObjects:" "@@:@" (this) -> Id { null_mut() }
}

/// Changes the objects of a mutable array or set.
unsafe fn change(array: Id, change: impl FnOnce(&mut Vec<Strong>)) {
    // SAFETY: the receiver is one.
    if let Some(own) = unsafe { NSARRAY.state::<Elements>(array) } {
        change(&mut own.write());
    }
}

class! {
    /// `NSMutableArray`.
    pub NSMUTABLEARRAY = "NSMutableArray": NSARRAY, (), [];
    + "arrayWithCapacity:" "@@:Q" (this, _room: usize) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    - "initWithCapacity:" "@@:Q" (this, _room: usize) -> Id { this.id }
    - "addObject:" "v@:@" (this, object: Id) { let object = Strong::retain(object); change(this.id, |all| all.push(object)); }
    - "addObjectsFromArray:" "v@:@" (this, other: Id) { let more = elements(other); change(this.id, |all| all.extend(more)); }
    - "insertObject:atIndex:" "v@:@Q" (this, object: Id, index: usize) {
        let object = Strong::retain(object);
        change(this.id, |all| if index <= all.len() { all.insert(index, object) } else { out_of_bounds(this.id, index, all.len()) });
    }
    - "replaceObjectAtIndex:withObject:" "v@:Q@" (this, index: usize, object: Id) {
        let object = Strong::retain(object);
        change(this.id, |all| match all.get_mut(index) { Some(old) => *old = object, None => out_of_bounds(this.id, index, all.len()) });
    }
    - "setObject:atIndexedSubscript:" "v@:@Q" (this, object: Id, index: usize) {
        let object = Strong::retain(object);
        change(this.id, |all| match index {
            _ if index < all.len() => all[index] = object,
            _ if index == all.len() => all.push(object),
            _ => out_of_bounds(this.id, index, all.len()),
        });
    }
    - "removeObject:" "v@:@" (this, object: Id) { change(this.id, |all| all.retain(|one| !equal(one.id(), object))); }
    - "removeObjectAtIndex:" "v@:Q" (this, index: usize) {
        change(this.id, |all| if index < all.len() { drop(all.remove(index)) } else { out_of_bounds(this.id, index, all.len()) });
    }
    - "removeLastObject" "v@:" (this) { change(this.id, |all| drop(all.pop())); }
    - "removeAllObjects" "v@:" (this) { change(this.id, Vec::clear); }
}
class! {
    /// `NSSet`: an array whose objects are all different.
    pub NSSET = "NSSet": NSOBJECT, Elements, [];
    + "set" "@@:" (this) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    + "setWithArray:" "@@:@" (this, other: Id) -> Id {
        let mut all: Vec<Strong> = Vec::new();
        for one in elements(other) {
            if !all.iter().any(|known| equal(known.id(), one.id())) { all.push(one); }
        }
        NSSET.make(Elements(RwLock::new(all))).autoreleased()
    }
    - "count" "Q@:" (this) -> usize { this.read().len() }
    - "containsObject:" "B@:@" (this, object: Id) -> Bool { Bool::from(this.read().iter().any(|one| equal(one.id(), object))) }
    - "allObjects" "@@:" (this) -> Id { array(this.read().clone()).autoreleased() }
    - "anyObject" "@@:" (this) -> Id { this.read().first().map_or(null_mut(), Strong::id) }
    - "countByEnumeratingWithState:objects:count:" "Q@:^{?=Q^@^Q[5Q]}^@Q"
      (this, state: *mut Enumeration, room: *mut Id, count: usize) -> usize {
        let all: Vec<Id> = this.read().iter().map(Strong::id).collect();
        enumerate(&all, state, room, count)
    }
}

/// Changes the objects of a mutable set.
unsafe fn change_set(set: Id, change: impl FnOnce(&mut Vec<Strong>)) {
    // SAFETY: the receiver is one.
    if let Some(own) = unsafe { NSSET.state::<Elements>(set) } {
        change(&mut own.write());
    }
}

class! {
    /// `NSMutableSet`.
    pub NSMUTABLESET = "NSMutableSet": NSSET, (), [];
    + "setWithCapacity:" "@@:Q" (this, _room: usize) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    - "addObject:" "v@:@" (this, object: Id) {
        let object = Strong::retain(object);
        change_set(this.id, |all| if !all.iter().any(|one| equal(one.id(), object.id())) { all.push(object) });
    }
    - "removeObject:" "v@:@" (this, object: Id) { change_set(this.id, |all| all.retain(|one| !equal(one.id(), object))); }
    - "removeAllObjects" "v@:" (this) { change_set(this.id, Vec::clear); }
}

impl Pairs {
    unsafe fn find(&self, key: Id) -> Option<Id> {
        let pairs = self.read();
        // SAFETY: the caller's key is alive.
        let found = pairs
            .iter()
            .find(|(known, _)| unsafe { equal(known.id(), key) });
        found.map(|(_, value)| value.id())
    }

    unsafe fn set(&self, key: Id, value: Id) {
        // SAFETY: the caller's objects are alive. A key is copied, so that it does not change.
        let (copied, value) = unsafe {
            let copy: Id = assay_objc::message::send(key, Sel::new(c"copy"));
            (Strong::owned(copy), Strong::retain(value))
        };
        let mut pairs = self.write();
        // SAFETY: as above.
        let known = pairs
            .iter_mut()
            .find(|(known, _)| unsafe { equal(known.id(), key) });
        match known {
            Some((_, old)) => *old = value,
            None => pairs.push((copied, value)),
        }
    }
}

unsafe fn paired(keys: *const Id, values: *const Id, count: usize) -> Vec<(Strong, Strong)> {
    // SAFETY: the caller passes that many of each.
    unsafe {
        many(keys, count)
            .into_iter()
            .zip(many(values, count))
            .collect()
    }
}

class! {
    /// `NSDictionary`.
    pub NSDICTIONARY = "NSDictionary": NSOBJECT, Pairs, ["NSCopying", "NSFastEnumeration"];
    + "dictionary" "@@:" (this) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    + "dictionaryWithObject:forKey:" "@@:@@" (this, value: Id, key: Id) -> Id { dictionary(paired(&raw const key, &raw const value, 1)).autoreleased() }
    + "dictionaryWithObjects:forKeys:count:" "@@:r^@r^@Q" (this, values: *const Id, keys: *const Id, count: usize) -> Id {
        dictionary(paired(keys, values, count)).autoreleased()
    }
    + "dictionaryWithObjects:forKeys:" "@@:@@" (this, values: Id, keys: Id) -> Id {
        dictionary(elements(keys).into_iter().zip(elements(values)).collect()).autoreleased()
    }
    + "dictionaryWithDictionary:" "@@:@" (this, other: Id) -> Id { dictionary(pairs(other)).autoreleased() }
    - "initWithObjects:forKeys:count:" "@@:r^@r^@Q" (this, values: *const Id, keys: *const Id, count: usize) -> Id {
        *this.write() = paired(keys, values, count);
        this.id
    }
    - "initWithObjects:forKeys:" "@@:@@" (this, values: Id, keys: Id) -> Id {
        *this.write() = elements(keys).into_iter().zip(elements(values)).collect();
        this.id
    }
    - "count" "Q@:" (this) -> usize { this.read().len() }
    - "objectForKey:" "@@:@" (this, key: Id) -> Id { this.find(key).unwrap_or(null_mut()) }
    - "objectForKeyedSubscript:" "@@:@" (this, key: Id) -> Id { this.find(key).unwrap_or(null_mut()) }
    - "valueForKey:" "@@:@" (this, key: Id) -> Id { this.find(key).unwrap_or(null_mut()) }
    - "allKeys" "@@:" (this) -> Id { array(this.read().iter().map(|(key, _)| key.clone()).collect()).autoreleased() }
    - "allValues" "@@:" (this) -> Id { array(this.read().iter().map(|(_, value)| value.clone()).collect()).autoreleased() }
    - "countByEnumeratingWithState:objects:count:" "Q@:^{?=Q^@^Q[5Q]}^@Q"
      (this, state: *mut Enumeration, room: *mut Id, count: usize) -> usize {
        let all: Vec<Id> = this.read().iter().map(|(key, _)| key.id()).collect();
        enumerate(&all, state, room, count)
    }
    - "description" "@@:" (this) -> Id {
        let parts = pairs(this.id);
        let parts: Vec<String> = parts.iter().map(|(key, value)| format!("    {} = {};", description(key.id()), description(value.id()))).collect();
        string(&format!("{{\n{}\n}}", parts.join("\n"))).autoreleased()
    }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { dictionary(this.read().clone()).into_owned() }
    - "mutableCopyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id {
        NSMUTABLEDICTIONARY.make(Pairs(RwLock::new(this.read().clone()))).into_owned()
    }
    + "dictionaryWithObjectsAndKeys:" "@@:@" (this) -> Id { null_mut() }
}
class! {
    /// `NSMutableDictionary`.
    pub NSMUTABLEDICTIONARY = "NSMutableDictionary": NSDICTIONARY, (), [];
    + "dictionaryWithCapacity:" "@@:Q" (this, _room: usize) -> Id { Strong::owned(assay_objc::pool::objc_opt_new(this.cast())).autoreleased() }
    - "initWithCapacity:" "@@:Q" (this, _room: usize) -> Id { this.id }
    - "setObject:forKey:" "v@:@@" (this, value: Id, key: Id) {
        if let Some(own) = NSDICTIONARY.state::<Pairs>(this.id) { own.set(key, value); }
    }
    - "setObject:forKeyedSubscript:" "v@:@@" (this, value: Id, key: Id) {
        if let Some(own) = NSDICTIONARY.state::<Pairs>(this.id) { own.set(key, value); }
    }
    - "setValue:forKey:" "v@:@@" (this, value: Id, key: Id) {
        if let Some(own) = NSDICTIONARY.state::<Pairs>(this.id) { own.set(key, value); }
    }
    - "removeObjectForKey:" "v@:@" (this, key: Id) {
        if let Some(own) = NSDICTIONARY.state::<Pairs>(this.id) { own.write().retain(|(known, _)| !equal(known.id(), key)); }
    }
    - "removeAllObjects" "v@:" (this) {
        if let Some(own) = NSDICTIONARY.state::<Pairs>(this.id) { own.write().clear(); }
    }
}
