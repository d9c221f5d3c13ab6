//! LLVM bitcode, bare or in Apple's wrapper: recognised, not read.

use crate::error::Error;
use crate::view::View;

/// The wrapper's first four bytes, `0x0B17C0DE` little-endian.
pub const WRAPPER_MAGIC: &[u8; 4] = &[0xDE, 0xC0, 0x17, 0x0B];
/// The first four bytes of a bitstream.
pub const RAW_MAGIC: &[u8; 4] = b"BC\xC0\xDE";

/// An LLVM module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitcode<'a> {
    /// The module as it stands in the file.
    pub bytes: &'a [u8],
    /// The bitstream inside the wrapper, or the same bytes when there is none.
    pub bitstream: &'a [u8],
    /// Where the bitstream starts in the file.
    pub offset: u64,
    /// Whether there is a wrapper.
    pub wrapped: bool,
}

/// Whether these bytes start like LLVM bitcode.
pub fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(WRAPPER_MAGIC) || bytes.starts_with(RAW_MAGIC)
}

/// Finds the bitstream: strips the wrapper if there is one and checks its claims.
///
/// ```
/// let module = assay_container::bitcode::parse(b"BC\xC0\xDE\x35\x14\0\0")?;
/// assert!(!module.wrapped);
/// # Ok::<(), assay_container::Error>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Bitcode<'_>, Error> {
    const WHAT: &str = "the bitcode wrapper";
    let view = View::new(bytes);
    if bytes.starts_with(RAW_MAGIC) {
        return Ok(Bitcode {
            bytes,
            bitstream: bytes,
            offset: 0,
            wrapped: false,
        });
    }
    if !bytes.starts_with(WRAPPER_MAGIC) {
        return Err(Error::malformed(0, "not LLVM bitcode"));
    }
    let start = u64::from(view.u32(8, WHAT)?);
    let length = u64::from(view.u32(12, WHAT)?);
    let stream = view.part(start, length, 8, || "the wrapped bitcode".into())?;
    if !stream.bytes().starts_with(RAW_MAGIC) {
        return Err(Error::malformed(start, "the wrapper holds no LLVM bitcode"));
    }
    Ok(Bitcode {
        bytes,
        bitstream: stream.bytes(),
        offset: start,
        wrapped: true,
    })
}
