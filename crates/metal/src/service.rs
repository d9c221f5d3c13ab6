//! The compiler's service: functions of a library of macOS by which programs without Apple's tools compile Metal source to a library's
//! bytes. What they are given here holds the source, which is compiled once to see that it can be, and again, from the cache, when a
//! library is made of the bytes.

use crate::library;
use crate::settings::settings;
use assay_front::SourceOptions;
use assay_objc::block::Block;
use std::ffi::{CString, c_char, c_void};
use std::ptr::null;

/// How the bytes begin, and how they end: as those of a metallib do.
const BEGIN: &[u8] = b"MTLB assay source\n";
const END: &[u8] = b"ENDT";
/// The request that compiles source.
const COMPILE: i32 = 13;
/// Bytes of a reply before the library's.
const HEADER: usize = 16;

/// Source and the arguments of its compiler.
struct Request<'a> {
    source: &'a str,
    arguments: &'a str,
}

impl<'a> Request<'a> {
    /// Reads `LENGTH LENGTH SOURCE ARGUMENTS`, both padded with zeros.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (lengths, rest) = bytes.split_at_checked(16)?;
        let length = |at: usize| {
            let word: [u8; 8] = lengths.get(at..at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(word)).ok()
        };
        let (source, rest) = rest.split_at_checked(length(0)?)?;
        let (arguments, _) = rest.split_at_checked(length(8)?)?;
        let text = |bytes: &'a [u8]| {
            let bytes = bytes.split(|byte| *byte == 0).next()?;
            std::str::from_utf8(bytes).ok()
        };
        Some(Self {
            source: text(source)?,
            arguments: text(arguments)?,
        })
    }

    fn options(&self) -> SourceOptions {
        let mut options = SourceOptions::default();
        for argument in self.arguments.split_ascii_whitespace() {
            if let Some(standard) = argument.strip_prefix("-std=") {
                options.standard = standard.parse().unwrap_or_default();
            } else if let Some(define) = argument.strip_prefix("-D") {
                options.defines.push(define.to_owned());
            } else if argument == "-fno-fast-math" {
                options.fast_math = false;
            }
        }
        options
    }

    /// The library's bytes, if the source can be compiled.
    fn build(&self) -> Result<Vec<u8>, String> {
        library::compile(self.source, &self.options())?;
        let mut bytes = BEGIN.to_vec();
        bytes.extend(self.arguments.bytes());
        bytes.push(0);
        bytes.extend(self.source.bytes());
        bytes.push(0);
        bytes.extend(END);
        Ok(bytes)
    }
}

/// The source and options in the bytes of a library that this service made.
pub(crate) fn source(bytes: &[u8]) -> Option<(String, SourceOptions)> {
    let rest = bytes.strip_prefix(BEGIN)?.strip_suffix(END)?;
    let mut parts = rest.split(|byte| *byte == 0);
    let mut part = || std::str::from_utf8(parts.next()?).ok();
    let (arguments, source) = (part()?, part()?);
    let request = Request { source, arguments };
    Some((source.to_owned(), request.options()))
}

/// Makes a service.
#[unsafe(no_mangle)]
pub extern "C" fn MTLCodeGenServiceCreate(_name: *const c_char) -> *const c_void {
    static SERVICE: u8 = 0;
    (&raw const SERVICE).cast()
}

/// Compiles source and calls a block with an error's number, the reply's bytes and their number, and an error's words.
///
/// # Safety
/// The request must have so many bytes, and the block take these arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MTLCodeGenServiceBuildRequest(
    _service: *const c_void,
    _unused: *const c_void,
    kind: i32,
    request: *const u8,
    length: usize,
    block: *const Block,
) {
    if request.is_null() || block.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(request, length) };
    let built = match Request::parse(bytes).filter(|_| kind == COMPILE) {
        Some(request) => request.build(),
        None => Err(format!(
            "request {kind} of {length} bytes is not one to compile source"
        )),
    };
    type Invoke = unsafe extern "C" fn(*const Block, i32, *const u8, usize, *const c_char);
    // SAFETY: a block's function stands behind its class and flags; the caller promises that it takes these arguments.
    let answer = |error: i32, reply: &[u8], words: *const c_char| unsafe {
        let invoke = block.cast::<Invoke>().add(2).read_unaligned();
        let reply = (reply.as_ptr(), reply.len());
        invoke(
            block,
            error,
            if reply.1 == 0 { null() } else { reply.0 },
            reply.1,
            words,
        );
    };
    match built {
        Ok(library) => {
            let mut reply = vec![0; HEADER];
            reply[8..12].copy_from_slice(&(HEADER as u32).to_le_bytes());
            reply.extend(library);
            answer(0, &reply, null());
        }
        Err(why) => {
            if settings().log > 0 {
                crate::report::log(1, || why.clone());
            }
            let words = CString::new(why.replace('\0', " ")).unwrap_or_default();
            answer(1, &[], words.as_ptr());
        }
    }
}

/// Releases a service, of which nothing is kept.
#[unsafe(no_mangle)]
pub extern "C" fn MTLCodeGenServiceDestroy(_service: *const c_void) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_source_and_arguments() {
        let (source, arguments) = (
            b"kernel void k() {}\0\0",
            b"-std=metal3.1 -fno-fast-math -DN=4\0",
        );
        let mut bytes = Vec::new();
        for part in [source.len(), arguments.len()] {
            bytes.extend((part as u64).to_le_bytes());
        }
        bytes.extend(source);
        bytes.extend(arguments);
        let request = Request::parse(&bytes).expect("a request");
        let options = request.options();
        assert_eq!(request.source, "kernel void k() {}");
        assert!(!options.fast_math && options.defines == ["N=4"]);
        for cut in 0..bytes.len() - 1 {
            assert!(Request::parse(&bytes[..cut]).is_none());
        }
    }
}
