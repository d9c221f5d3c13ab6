//! Arrays of Python's as memory that a kernel borrows for one call.

use crate::errors;
use assay_device::Lent;
use assay_exec::Buffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// The buffers that a call borrows: their exporters keep them where they are until this is dropped.
pub(crate) struct Borrowed {
    held: Vec<(u32, PyUntypedBuffer)>,
}

impl Borrowed {
    /// Asks objects for their memory. It must be contiguous; that it fits the kernel's arguments is checked later.
    pub(crate) fn new(py: Python<'_>, bound: &[(u32, Bound<'_, PyAny>)]) -> PyResult<Self> {
        let mut held = Vec::with_capacity(bound.len());
        for (index, object) in bound {
            let buffer = PyUntypedBuffer::get(object)?;
            if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
                let message = format!("buffer {index}: its numbers do not lie side by side");
                let advice = "numpy.ascontiguousarray makes a copy that does";
                return Err(errors::usage(py, &message, advice));
            }
            held.push((*index, buffer));
        }
        Ok(Borrowed { held })
    }

    /// The memory, for one run that ends before `self` is dropped.
    ///
    /// # Safety
    /// The result must not be used after `self` was dropped.
    pub(crate) unsafe fn lend(&self) -> Vec<(u32, Lent)> {
        let mut lent: Vec<(u32, Lent)> = Vec::with_capacity(self.held.len() + 1);
        for (place, (index, buffer)) in self.held.iter().enumerate() {
            let (base, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
            // One array bound twice is one region, so that checks see accesses through both indices.
            let same = self.held.iter().take(place).find(|(_, known)| {
                known.buf_ptr() == buffer.buf_ptr()
                    && known.len_bytes() == len
                    && known.readonly() == buffer.readonly()
            });
            let memory = match same.filter(|_| len > 0) {
                Some((of, _)) => Lent::Same(*of),
                // SAFETY: the exporter keeps `len` bytes there as long as `self` exists, says the buffer protocol; they are
                // written only if it allows that. Another Python thread that writes the array meanwhile races with
                // the kernel as threads of the kernel race with each other: numbers may be old or new.
                None => Lent::Memory(unsafe { Buffer::lent(base, len, !buffer.readonly()) }),
            };
            lent.push((*index, memory));
        }
        lent
    }

    /// Copies of the memory, for a run whose results nobody keeps.
    pub(crate) fn copies(&self) -> Vec<(u32, Lent)> {
        // SAFETY: the lent buffers are only copied from.
        let lent = unsafe { self.lend() };
        lent.into_iter()
            .map(|(index, lent)| match lent {
                Lent::Memory(buffer) => (index, Lent::Memory(buffer.clone())),
                other => (index, other),
            })
            .collect()
    }
}
