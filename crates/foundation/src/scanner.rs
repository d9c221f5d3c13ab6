//! `NSCharacterSet` and `NSScanner`: strings taken apart.

use crate::collections::array;
use crate::string::{string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, YES, class};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which characters a set has.
#[derive(Debug, Default)]
enum Members {
    #[default]
    None,
    Kind(fn(char) -> bool),
    Listed(Vec<char>),
}

/// A set of characters.
#[derive(Debug, Default)]
pub struct Characters {
    members: Members,
    is_inverted: bool,
}

impl Characters {
    fn contains(&self, one: char) -> bool {
        let is_member = match &self.members {
            Members::None => false,
            Members::Kind(has) => has(one),
            Members::Listed(all) => all.contains(&one),
        };
        is_member != self.is_inverted
    }

    fn inverted(&self) -> Self {
        let members = match &self.members {
            Members::None => Members::None,
            Members::Kind(has) => Members::Kind(*has),
            Members::Listed(all) => Members::Listed(all.clone()),
        };
        Self {
            members,
            is_inverted: !self.is_inverted,
        }
    }
}

fn make(members: Members) -> Id {
    let set = Characters {
        members,
        is_inverted: false,
    };
    // SAFETY: `Characters` is the state of the class.
    unsafe { NSCHARACTERSET.make(set) }.autoreleased()
}

fn is_blank(one: char) -> bool {
    one.is_whitespace() && !is_newline(one)
}

fn is_newline(one: char) -> bool {
    matches!(
        one,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

class! {
    /// `NSCharacterSet`.
    pub NSCHARACTERSET = "NSCharacterSet": NSOBJECT, Characters, [];
    + "whitespaceCharacterSet" "@@:" (this) -> Id { make(Members::Kind(is_blank)) }
    + "newlineCharacterSet" "@@:" (this) -> Id { make(Members::Kind(is_newline)) }
    + "whitespaceAndNewlineCharacterSet" "@@:" (this) -> Id { make(Members::Kind(char::is_whitespace)) }
    + "decimalDigitCharacterSet" "@@:" (this) -> Id { make(Members::Kind(|one| one.is_ascii_digit())) }
    + "alphanumericCharacterSet" "@@:" (this) -> Id { make(Members::Kind(char::is_alphanumeric)) }
    + "letterCharacterSet" "@@:" (this) -> Id { make(Members::Kind(char::is_alphabetic)) }
    + "characterSetWithCharactersInString:" "@@:@" (this, all: Id) -> Id { make(Members::Listed(text(all).chars().collect())) }
    - "invertedSet" "@@:" (this) -> Id { NSCHARACTERSET.make(this.inverted()).autoreleased() }
    - "characterIsMember:" "B@:S" (this, one: u16) -> Bool { Bool::from(char::from_u32(one.into()).is_some_and(|one| this.contains(one))) }
}

/// A string's parts between characters of a set.
///
/// # Safety
/// The objects must be a string and a set, or nil.
pub(crate) unsafe fn parts(whole: Id, set: Id) -> Id {
    // SAFETY: the caller's promise.
    let (whole, set) = unsafe { (text(whole), NSCHARACTERSET.state::<Characters>(set)) };
    let is_separator = |one: char| set.is_some_and(|set| set.contains(one));
    array(whole.split(is_separator).map(string).collect()).autoreleased()
}

/// A string without the characters of a set at both ends.
///
/// # Safety
/// As for [`parts`].
pub(crate) unsafe fn trimmed<'a>(whole: Id, set: Id) -> &'a str {
    // SAFETY: the caller's promise.
    let (whole, set) = unsafe { (text(whole), NSCHARACTERSET.state::<Characters>(set)) };
    whole.trim_matches(|one: char| set.is_some_and(|set| set.contains(one)))
}

/// Where a scanner is, and what it passes over before it looks.
#[derive(Debug, Default)]
struct Progress {
    whole: String,
    at: usize,
    skipped: Strong,
}

/// A scanner.
#[derive(Debug, Default)]
pub struct Scanner(Mutex<Progress>);

impl Scanner {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what `take` gives of the rest: a length in bytes. Nothing moves if it gives none.
    unsafe fn scan(&self, into: *mut Id, take: impl FnOnce(&str) -> Option<usize>) -> Bool {
        let mut progress = self.progress();
        // SAFETY: it is a set or nil.
        let set = unsafe { NSCHARACTERSET.state::<Characters>(progress.skipped.id()) };
        let is_skipped = |one: char| set.is_some_and(|set| set.contains(one));
        let rest = progress.whole.get(progress.at..).unwrap_or("");
        let looked = rest.trim_start_matches(is_skipped);
        let Some(length) = take(looked) else {
            return NO;
        };
        let found = string(looked.get(..length).unwrap_or(""));
        progress.at = progress.at + (rest.len() - looked.len()) + length;
        // SAFETY: the caller's place is null or writable.
        if let Some(into) = unsafe { into.as_mut() } {
            *into = found.autoreleased();
        }
        YES
    }
}

class! {
    /// `NSScanner`.
    pub NSSCANNER = "NSScanner": NSOBJECT, Scanner, [];
    + "scannerWithString:" "@@:@" (this, whole: Id) -> Id {
        let progress = Progress { whole: text(whole).to_owned(), ..Progress::default() };
        progress.started().autoreleased()
    }
    - "initWithString:" "@@:@" (this, whole: Id) -> Id {
        this.progress().whole = text(whole).to_owned();
        this.id
    }
    - "string" "@@:" (this) -> Id { string(&this.progress().whole).autoreleased() }
    - "isAtEnd" "B@:" (this) -> Bool { let progress = this.progress(); Bool::from(progress.at >= progress.whole.len()) }
    - "charactersToBeSkipped" "@@:" (this) -> Id { this.progress().skipped.clone().autoreleased() }
    - "setCharactersToBeSkipped:" "v@:@" (this, set: Id) { this.progress().skipped = Strong::retain(set); }
    - "scanString:intoString:" "B@:@^@" (this, wanted: Id, into: *mut Id) -> Bool {
        let wanted = text(wanted);
        this.scan(into, |rest| (!wanted.is_empty() && rest.starts_with(wanted)).then_some(wanted.len()))
    }
    - "scanUpToString:intoString:" "B@:@^@" (this, end: Id, into: *mut Id) -> Bool {
        let end = text(end);
        this.scan(into, |rest| Some(rest.find(end).unwrap_or(rest.len())).filter(|length| *length > 0))
    }
    - "scanCharactersFromSet:intoString:" "B@:@^@" (this, set: Id, into: *mut Id) -> Bool {
        let set = NSCHARACTERSET.state::<Characters>(set);
        this.scan(into, |rest| {
            let is_other = |one: char| !set.is_some_and(|set| set.contains(one));
            Some(rest.find(is_other).unwrap_or(rest.len())).filter(|length| *length > 0)
        })
    }
}

impl Progress {
    /// A scanner that passes over blanks and new lines, as all do at first.
    fn started(mut self) -> Strong {
        let blanks = Characters {
            members: Members::Kind(char::is_whitespace),
            is_inverted: false,
        };
        // SAFETY: these are the states of the classes.
        unsafe {
            self.skipped = NSCHARACTERSET.make(blanks);
            NSSCANNER.make(Scanner(Mutex::new(self)))
        }
    }
}
