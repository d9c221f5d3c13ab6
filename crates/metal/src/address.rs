//! Addresses of the device. What has one stands in a table by its number: `gpuAddress` is the number above bit 40 and an offset below, as
//! the executor counts, so that kernels can follow the addresses they find in memory, and only as far as the allocation reaches.

use crate::log;
use crate::resource::{Memory, lock};
use assay_exec::{Bindings, BoundTexture, MOST_RESIDENTS, resident_address};
use assay_objc::Strong;
use assay_texture::{Layout, Sampler};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

/// What lies at an address.
#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    #[default]
    Buffer,
    Texture(Layout),
    Sampler(Sampler),
}

/// Memory with an address of the device.
#[derive(Debug, Default)]
pub(crate) struct Allocation {
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) label: Mutex<Strong>,
    /// What keeps the memory: kernels may run on it when the program has let go of it.
    pub(crate) memory: Memory,
    kind: Kind,
    number: u32,
}

/// Numbers given back are not given out again before so many others, so that an address that is kept too long leads nowhere.
const REST: usize = 1024;

#[derive(Debug, Default)]
struct Table {
    /// By number, from 1 on.
    entries: Vec<Weak<Allocation>>,
    free: VecDeque<u32>,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    entries: Vec::new(),
    free: VecDeque::new(),
});

impl Allocation {
    /// Enters memory in the table. Without a free number its address is zero, and kernels reach it through bindings alone.
    pub(crate) fn new(start: usize, length: usize, memory: Memory) -> Arc<Self> {
        Self::enter((start, length), memory, Kind::Buffer)
    }

    /// The same for texels.
    pub(crate) fn of_texture(
        start: usize,
        length: usize,
        memory: Memory,
        layout: Layout,
    ) -> Arc<Self> {
        Self::enter((start, length), memory, Kind::Texture(layout))
    }

    /// The same for a sampler, which has no memory.
    pub(crate) fn of_sampler(sampler: Sampler) -> Arc<Self> {
        Self::enter((0, 0), Memory::None, Kind::Sampler(sampler))
    }

    fn enter((start, length): (usize, usize), memory: Memory, kind: Kind) -> Arc<Self> {
        let mut table = lock(&TABLE);
        let is_full = table.entries.len() as u32 + 1 >= MOST_RESIDENTS;
        let free = match table.free.len() > REST || is_full {
            true => table.free.pop_front(),
            false => None,
        };
        let number = match free {
            Some(number) => number,
            None if is_full => 0,
            None => {
                // The log of a dispatch has a number for itself.
                if table.entries.is_empty() {
                    table.entries.resize_with(log::NUMBER as usize, Weak::new);
                }
                table.entries.push(Weak::new());
                table.entries.len() as u32
            }
        };
        let made = Arc::new(Self {
            start,
            length,
            label: Mutex::default(),
            memory,
            kind,
            number,
        });
        if let Some(entry) = entry(&mut table, number) {
            *entry = Arc::downgrade(&made);
        }
        made
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// `gpuAddress`.
    pub(crate) fn address(&self) -> u64 {
        resident_address(self.number)
    }

    /// Its label, or its size.
    pub(crate) fn name(&self) -> String {
        // SAFETY: a label is a string or nil.
        let label = unsafe { assay_foundation::text(lock(&self.label).id()) };
        let kind = match self.kind {
            Kind::Buffer => "buffer",
            Kind::Texture(_) => "texture",
            Kind::Sampler(_) => "sampler",
        };
        match label.is_empty() {
            true => format!("{kind} of {} bytes", self.length),
            false => format!("{kind} \"{label}\" of {} bytes", self.length),
        }
    }

    /// Binds it as the texture or sampler of an index.
    ///
    /// # Safety
    /// As for [`Self::bound_texture`].
    pub(crate) unsafe fn bind(&self, index: u32, bindings: &mut Bindings) {
        match self.kind {
            // SAFETY: the caller's promise.
            Kind::Texture(layout) => unsafe {
                bindings.set_texture(index, self.bound_texture(layout));
            },
            Kind::Sampler(sampler) => bindings.set_sampler(index, sampler),
            Kind::Buffer => {}
        }
    }

    pub(crate) fn is_texture(&self) -> bool {
        matches!(self.kind, Kind::Texture(_))
    }

    pub(crate) fn is_sampler(&self) -> bool {
        matches!(self.kind, Kind::Sampler(_))
    }

    /// The texels as they are bound.
    ///
    /// # Safety
    /// The allocation must be kept, and only kernels access it, as long as the result is used.
    pub(crate) unsafe fn bound_texture(&self, layout: Layout) -> BoundTexture {
        // SAFETY: the caller's promise.
        let texels = unsafe { assay_exec::Buffer::lent(self.start as *mut u8, self.length, true) };
        BoundTexture {
            layout,
            texels,
            undefined: false,
        }
    }

    /// Makes it reachable for a kernel by its address; no further than its length if `exact`.
    ///
    /// # Safety
    /// As for [`Self::bound_texture`].
    pub(crate) unsafe fn make_resident(&self, bindings: &mut Bindings, exact: bool) {
        let length = if exact { self.length } else { self.reachable() };
        match self.kind {
            Kind::Buffer => {
                // SAFETY: the caller's promise.
                let memory =
                    unsafe { assay_exec::Buffer::lent(self.start as *mut u8, length, true) };
                bindings.set_resident(self.number, memory, &self.name());
            }
            Kind::Texture(layout) => {
                // SAFETY: as above.
                let texture = unsafe { self.bound_texture(layout) };
                bindings.set_resident_texture(self.number, texture, &self.name());
            }
            Kind::Sampler(sampler) => bindings.set_resident_sampler(self.number, sampler),
        }
    }

    /// Bytes that a kernel can access without touching other memory: up to the end of its pages.
    pub(crate) fn reachable(&self) -> usize {
        self.memory.bytes().unwrap_or(self.length)
    }
}

fn entry(table: &mut Table, number: u32) -> Option<&mut Weak<Allocation>> {
    let index = number.checked_sub(1)?;
    table.entries.get_mut(index as usize)
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut table = lock(&TABLE);
        if let Some(entry) = entry(&mut table, self.number) {
            *entry = Weak::new();
            table.free.push_back(self.number);
        }
    }
}

/// What lies at an address, and how far behind its start; nothing for an address that leads nowhere.
pub(crate) fn find(address: u64) -> Option<(Arc<Allocation>, u64)> {
    let number = u32::try_from(address / resident_address(1)).ok()?;
    let mut table = lock(&TABLE);
    let found = entry(&mut table, number)?.upgrade()?;
    Some((found, address % resident_address(1)))
}

/// All that has an address now, kept for as long as the result is.
pub(crate) fn all() -> Vec<Arc<Allocation>> {
    let table = lock(&TABLE);
    table.entries.iter().filter_map(Weak::upgrade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rest_before_they_are_given_out_again() {
        let first = Allocation::new(0, 0, Memory::None);
        let number = first.number();
        assert!(number > 0 && all().iter().any(|one| one.number() == number));
        drop(first);
        assert!(all().iter().all(|one| one.number() != number));
        let next = Allocation::new(0, 0, Memory::None);
        assert_ne!(next.number(), number);
    }
}
