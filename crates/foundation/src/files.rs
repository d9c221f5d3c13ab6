//! `NSURL`, `NSBundle`, `NSFileManager`.

use crate::collections::{array, dictionary};
use crate::error::set_error;
use crate::string::{string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;

/// What a URL says: a path, or another address.
#[derive(Debug, Default)]
pub struct Address(OnceLock<(String, bool, Strong)>);

impl Address {
    fn of_path(path: &str) -> Self {
        Self(OnceLock::from((path.to_owned(), true, string(path))))
    }

    fn of_text(text: &str) -> Self {
        match text.strip_prefix("file://") {
            Some(path) => Self::of_path(path),
            None => Self(OnceLock::from((
                text.to_owned(),
                !text.contains("://"),
                string(text),
            ))),
        }
    }

    fn path(&self) -> &str {
        self.0.get().map_or("", |(text, ..)| text)
    }
}

fn url(path: &str) -> Strong {
    // SAFETY: `Address` is the state of the class.
    unsafe { NSURL.make(Address::of_path(path)) }
}

/// The path of a URL.
///
/// # Safety
/// The object must be nil or alive as long as the result is used.
pub unsafe fn path<'a>(url: Id) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { NSURL.state::<Address>(url) }.map(Address::path)
}

/// A path without `.`, `..` and doubled separators.
pub(crate) fn standard(path: &str) -> String {
    use std::path::{Component, PathBuf};
    let mut plain = PathBuf::new();
    for part in std::path::Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain.to_string_lossy().into_owned()
}

class! {
    /// `NSURL`.
    pub NSURL = "NSURL": NSOBJECT, Address, ["NSCopying"];
    + "fileURLWithPath:" "@@:@" (this, path: Id) -> Id { url(text(path)).autoreleased() }
    + "fileURLWithPath:isDirectory:" "@@:@B" (this, path: Id, _folder: Bool) -> Id { url(text(path)).autoreleased() }
    + "URLWithString:" "@@:@" (this, address: Id) -> Id { NSURL.make(Address::of_text(text(address))).autoreleased() }
    - "initFileURLWithPath:" "@@:@" (this, path: Id) -> Id {
        let _ = this.0.set((text(path).to_owned(), true, string(text(path))));
        this.id
    }
    - "initFileURLWithFileSystemRepresentation:isDirectory:relativeToURL:" "@@:*B@" (this, path: *const c_char, _folder: Bool, from: Id) -> Id {
        let given = if path.is_null() { "".into() } else { CStr::from_ptr(path).to_string_lossy() };
        let whole = Path::new(self::path(from).unwrap_or("")).join(&*given);
        let whole = whole.to_string_lossy();
        let _ = this.0.set((whole.clone().into_owned(), true, string(&whole)));
        this.id
    }
    - "initWithString:" "@@:@" (this, address: Id) -> Id {
        if let Some(parts) = Address::of_text(text(address)).0.take() { let _ = this.0.set(parts); }
        this.id
    }
    - "path" "@@:" (this) -> Id { this.0.get().map_or(null_mut(), |(.., kept)| kept.id()) }
    - "absoluteString" "@@:" (this) -> Id {
        let (text, is_file, _) = this.0.get().cloned().unwrap_or_default();
        string(&if is_file { format!("file://{text}") } else { text }).autoreleased()
    }
    - "description" "@@:" (this) -> Id { string(this.path()).autoreleased() }
    - "isFileURL" "B@:" (this) -> Bool { Bool::from(this.0.get().is_some_and(|(_, is_file, _)| *is_file)) }
    - "fileSystemRepresentation" "r*@:" (this) -> *const c_char {
        let kept: Id = this.0.get().map_or(null_mut(), |(.., kept)| kept.id());
        if kept.is_null() { c"".as_ptr() } else { assay_objc::message::send(kept, assay_objc::Sel::new(c"UTF8String")) }
    }
    - "getFileSystemRepresentation:maxLength:" "B@:*Q" (this, into: *mut c_char, most: u64) -> Bool {
        let bytes = this.path().as_bytes();
        let fits = (bytes.len() as u64) < most && !into.is_null();
        if fits {
            std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), into, bytes.len());
            into.add(bytes.len()).write(0);
        }
        Bool::from(fits)
    }
    - "lastPathComponent" "@@:" (this) -> Id { string(&Path::new(this.path()).file_name().unwrap_or_default().to_string_lossy()).autoreleased() }
    - "URLByAppendingPathComponent:" "@@:@" (this, part: Id) -> Id { url(&Path::new(this.path()).join(text(part)).to_string_lossy()).autoreleased() }
    - "URLByDeletingLastPathComponent" "@@:" (this) -> Id {
        url(&Path::new(this.path()).parent().unwrap_or(Path::new("")).to_string_lossy()).autoreleased()
    }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { assay_objc::pool::objc_retain(this.id) }
}

/// The folder of a bundle; that of the program if none was given.
#[derive(Debug, Default)]
pub struct Folder(OnceLock<PathBuf>);

impl Folder {
    fn path(&self) -> PathBuf {
        let program = || {
            let program = std::env::current_exe().unwrap_or_default();
            program.parent().map(Path::to_owned).unwrap_or_default()
        };
        self.0.get_or_init(program).clone()
    }

    /// A file of the folder, if it exists.
    fn resource(&self, name: Id, kind: Id) -> Option<String> {
        // SAFETY: the callers' receivers got strings or nil.
        let (name, kind) = unsafe { (text(name), text(kind)) };
        let file = match kind.is_empty() {
            true => self.path().join(name),
            false => self.path().join(format!("{name}.{kind}")),
        };
        file.exists().then(|| file.to_string_lossy().into_owned())
    }
}

fn main_bundle() -> Id {
    static MAIN: OnceLock<Strong> = OnceLock::new();
    // SAFETY: `Folder` is the state of the class.
    MAIN.get_or_init(|| unsafe { NSBUNDLE.make(Folder::default()) })
        .id()
}

class! {
    /// `NSBundle`: the folder of the program.
    pub NSBUNDLE = "NSBundle": NSOBJECT, Folder, [];
    + "mainBundle" "@@:" (this) -> Id { main_bundle() }
    + "bundleForClass:" "@@:#" (this, _class: Id) -> Id { main_bundle() }
    + "bundleWithPath:" "@@:@" (this, path: Id) -> Id { NSBUNDLE.make(Folder(OnceLock::from(PathBuf::from(text(path))))).autoreleased() }
    + "bundleWithIdentifier:" "@@:@" (this, _name: Id) -> Id { null_mut() }
    + "allBundles" "@@:" (this) -> Id { array(Vec::new()).autoreleased() }
    + "allFrameworks" "@@:" (this) -> Id { array(Vec::new()).autoreleased() }
    - "bundlePath" "@@:" (this) -> Id { string(&this.path().to_string_lossy()).autoreleased() }
    - "resourcePath" "@@:" (this) -> Id { string(&this.path().to_string_lossy()).autoreleased() }
    - "bundleURL" "@@:" (this) -> Id { url(&this.path().to_string_lossy()).autoreleased() }
    - "resourceURL" "@@:" (this) -> Id { url(&this.path().to_string_lossy()).autoreleased() }
    - "bundleIdentifier" "@@:" (this) -> Id { null_mut() }
    - "executablePath" "@@:" (this) -> Id { string(&std::env::current_exe().unwrap_or_default().to_string_lossy()).autoreleased() }
    - "pathForResource:ofType:" "@@:@@" (this, name: Id, kind: Id) -> Id {
        this.resource(name, kind).map_or(null_mut(), |path| string(&path).autoreleased())
    }
    - "URLForResource:withExtension:" "@@:@@" (this, name: Id, kind: Id) -> Id {
        this.resource(name, kind).map_or(null_mut(), |path| url(&path).autoreleased())
    }
}

fn access(path: &str) -> bool {
    std::fs::File::open(path).is_ok()
}

class! {
    /// `NSFileManager`.
    pub NSFILEMANAGER = "NSFileManager": NSOBJECT, (), [];
    + "defaultManager" "@@:" (this) -> Id {
        static ONE: OnceLock<Strong> = OnceLock::new();
        ONE.get_or_init(|| NSFILEMANAGER.make(())).id()
    }
    - "fileExistsAtPath:" "B@:@" (this, path: Id) -> Bool { Bool::from(Path::new(text(path)).exists()) }
    - "fileExistsAtPath:isDirectory:" "B@:@^B" (this, path: Id, folder: *mut Bool) -> Bool {
        let path = Path::new(text(path));
        if let Some(folder) = folder.as_mut() { *folder = Bool::from(path.is_dir()); }
        Bool::from(path.exists())
    }
    - "isReadableFileAtPath:" "B@:@" (this, path: Id) -> Bool { Bool::from(access(text(path))) }
    - "currentDirectoryPath" "@@:" (this) -> Id { string(&std::env::current_dir().unwrap_or_default().to_string_lossy()).autoreleased() }
    - "contentsAtPath:" "@@:@" (this, path: Id) -> Id {
        std::fs::read(text(path)).map_or(null_mut(), |bytes| crate::data::data(bytes).autoreleased())
    }
    - "createDirectoryAtPath:withIntermediateDirectories:attributes:error:" "B@:@B@^@"
      (this, path: Id, above: Bool, _attributes: Id, error: *mut Id) -> Bool {
        let made = if above.get() { std::fs::create_dir_all(text(path)) } else { std::fs::create_dir(text(path)) };
        if let Err(why) = &made { set_error(error, "NSCocoaErrorDomain", 512, &format!("{}: {why}", text(path))); }
        Bool::from(made.is_ok())
    }
    - "removeItemAtPath:error:" "B@:@^@" (this, path: Id, error: *mut Id) -> Bool {
        let path = Path::new(text(path));
        let done = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        if let Err(why) = &done { set_error(error, "NSCocoaErrorDomain", 4, &format!("{}: {why}", path.display())); }
        Bool::from(done.is_ok())
    }
    - "attributesOfItemAtPath:error:" "@@:@^@" (this, path: Id, error: *mut Id) -> Id {
        match std::fs::symlink_metadata(text(path)) {
            Ok(found) => {
                let kind = if found.is_symlink() { "NSFileTypeSymbolicLink" } else if found.is_dir() { "NSFileTypeDirectory" } else { "NSFileTypeRegular" };
                let size = crate::number::unsigned(found.len());
                dictionary(vec![(string("NSFileType"), string(kind)), (string("NSFileSize"), size)]).autoreleased()
            }
            Err(why) => { set_error(error, "NSCocoaErrorDomain", 260, &format!("{}: {why}", text(path))); null_mut() }
        }
    }
    - "destinationOfSymbolicLinkAtPath:error:" "@@:@^@" (this, path: Id, error: *mut Id) -> Id {
        match std::fs::read_link(text(path)) {
            Ok(to) => string(&to.to_string_lossy()).autoreleased(),
            Err(why) => { set_error(error, "NSCocoaErrorDomain", 256, &format!("{}: {why}", text(path))); null_mut() }
        }
    }
}

/// `NSTemporaryDirectory`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn NSTemporaryDirectory() -> Id {
    string(&std::env::temp_dir().to_string_lossy()).autoreleased()
}

/// `_NSGetExecutablePath`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _NSGetExecutablePath(to: *mut u8, room: *mut u32) -> i32 {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.as_os_str().as_encoded_bytes();
    // SAFETY: the caller's room is as it says.
    unsafe {
        let Some(room) = room.as_mut() else { return -1 };
        if name.len() >= *room as usize {
            *room = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
            return -1;
        }
        std::ptr::copy_nonoverlapping(name.as_ptr(), to, name.len());
        *to.add(name.len()) = 0;
    }
    0
}
