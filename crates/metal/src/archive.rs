//! Binary archives, which keep compiled pipelines for other runs. Compiled sources are kept in a cache of their own, so an
//! archive is a list of the kernels it was given.

use crate::device;
use crate::library::{FUNCTION, Function};
use crate::plain;
use crate::report::wrong_use;
use crate::resource::lock;
use assay_foundation::string::{string, text};
use assay_foundation::{files, no_error, set_error};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, YES, class};
use std::ptr::null_mut;
use std::sync::Mutex;

/// The first line of an archive's file.
const FIRST_LINE: &str = "assay metal binary archive\n";

/// A binary archive.
#[derive(Debug, Default)]
pub struct Archive {
    kernels: Mutex<Vec<String>>,
    label: Mutex<Strong>,
}

/// An archive, of the file of a descriptor if that names one.
///
/// # Safety
/// The descriptor must be one or nil, the place null or writable.
pub(crate) unsafe fn archive(descriptor: Id, error: *mut Id) -> Strong {
    // SAFETY: the caller's promise; `Archive` is the state of the class.
    unsafe {
        no_error(error);
        let url: Id = plain::get(descriptor, c"url").unwrap_or(null_mut());
        let kernels = match files::path(url) {
            None => Vec::new(),
            Some(path) => match read(path) {
                Ok(kernels) => kernels,
                Err(why) => {
                    // 1 is `MTLBinaryArchiveErrorInvalidFile`.
                    set_error(
                        error,
                        "MTLBinaryArchiveDomain",
                        1,
                        &format!("{path}: {why}"),
                    );
                    return Strong::nil();
                }
            },
        };
        ARCHIVE.make(Archive {
            kernels: Mutex::new(kernels),
            ..Archive::default()
        })
    }
}

fn read(path: &str) -> Result<Vec<String>, String> {
    let bytes = std::fs::read_to_string(path).map_err(|why| why.to_string())?;
    let kernels = bytes.strip_prefix(FIRST_LINE);
    let kernels = kernels.ok_or("not an archive that was made here")?;
    Ok(kernels.lines().map(str::to_owned).collect())
}

impl Archive {
    /// Adds the kernel of a pipeline or function descriptor.
    unsafe fn add(&self, function: Id, error: *mut Id) -> Bool {
        // SAFETY: the method's encoding says what these are.
        unsafe {
            no_error(error);
            let Some(function) = FUNCTION.state::<Function>(function) else {
                wrong_use(
                    "addComputePipelineFunctionsWithDescriptor: the descriptor has no function",
                );
                set_error(error, "MTLBinaryArchiveDomain", 3, "there is no function");
                return NO;
            };
            lock(&self.kernels).push(function.name.clone());
        }
        YES
    }

    unsafe fn serialize(&self, url: Id, error: *mut Id) -> Bool {
        let mut file = FIRST_LINE.to_owned();
        for kernel in lock(&self.kernels).iter() {
            file.push_str(kernel);
            file.push('\n');
        }
        // SAFETY: the method's encoding says what these are.
        unsafe {
            no_error(error);
            let path = files::path(url).unwrap_or("");
            match std::fs::write(path, file) {
                Ok(()) => YES,
                Err(why) => {
                    set_error(
                        error,
                        "MTLBinaryArchiveDomain",
                        1,
                        &format!("{path}: {why}"),
                    );
                    NO
                }
            }
        }
    }
}

class! {
    /// `id<MTLBinaryArchive>`.
    pub ARCHIVE = "AssayMTLBinaryArchive": NSOBJECT, Archive, ["MTLBinaryArchive"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "addComputePipelineFunctionsWithDescriptor:error:" "B@:@^@" (this, descriptor: Id, error: *mut Id) -> Bool {
        this.add(plain::get(descriptor, c"computeFunction").unwrap_or(null_mut()), error)
    }
    - "addFunctionWithDescriptor:library:error:" "B@:@@^@" (this, descriptor: Id, _library: Id, error: *mut Id) -> Bool {
        no_error(error);
        let name = plain::get::<Id>(descriptor, c"name").unwrap_or(null_mut());
        lock(&this.kernels).push(text(name).to_owned());
        YES
    }
    - "addLibraryWithDescriptor:error:" "B@:@^@" (this, _descriptor: Id, error: *mut Id) -> Bool { no_error(error); YES }
    - "serializeToURL:error:" "B@:@^@" (this, url: Id, error: *mut Id) -> Bool { this.serialize(url, error) }
}
