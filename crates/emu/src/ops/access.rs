//! Loads, stores and atomics.

use crate::device::DeviceMemory;
use crate::fault::{FaultKind, Memory};
use crate::format;
use crate::op::{Access, Atomic, Base, Dest, Index, LANES, Part, Row};
use crate::simdgroup::{Simdgroup, element_mask};
use assay_agx::AtomicOp;

/// A fault of one lane.
pub(crate) type LaneFault = (u32, FaultKind);

/// Threadgroup memory.
#[derive(Debug)]
pub(crate) struct GroupMemory {
    words: Vec<u32>,
    bytes: u32,
}

impl GroupMemory {
    pub(crate) fn new(bytes: u32, fill: u32) -> GroupMemory {
        GroupMemory {
            words: vec![fill; (bytes as usize).div_ceil(4)],
            bytes,
        }
    }

    fn load(&self, address: u64, size: u64) -> Option<u32> {
        self.in_bounds(address, size)?;
        let word = self.words.get(address as usize / 4)?;
        Some(word >> ((address & 3) * 8) & element_mask(size))
    }

    fn store(&mut self, address: u64, size: u64, value: u32) -> Option<()> {
        self.in_bounds(address, size)?;
        let word = self.words.get_mut(address as usize / 4)?;
        let shift = (address & 3) * 8;
        let mask = element_mask(size) << shift;
        *word = *word & !mask | value << shift & mask;
        Some(())
    }

    fn in_bounds(&self, address: u64, size: u64) -> Option<()> {
        (address + size <= u64::from(self.bytes)).then_some(())
    }
}

/// The byte address of the first element, per lane. Unaligned addresses are rounded
/// down, as the hardware does.
fn addresses(
    simdgroup: &Simdgroup,
    base: Base,
    index: Index,
    scale: u64,
    align: u64,
) -> [u64; LANES] {
    let indices = match index {
        Index::Fixed(_) => Row::ZERO,
        Index::Signed(source) | Index::Unsigned(source) => simdgroup.read(source),
    };
    let (low, high) = match base {
        Base::Fixed(_) => (Row::ZERO, Row::ZERO),
        Base::Half(source) => (simdgroup.read(source), Row::ZERO),
        Base::Pair(row) => (
            simdgroup.row(u16::from(row)),
            simdgroup.row(u16::from(row) + 1),
        ),
    };
    std::array::from_fn(|lane| {
        let start = match base {
            Base::Fixed(address) => address,
            _ => u64::from(high.0[lane]) << 32 | u64::from(low.0[lane]),
        };
        let index = match index {
            Index::Fixed(index) => i64::from(index) as u64,
            Index::Signed(_) => i64::from(indices.0[lane] as i32) as u64,
            Index::Unsigned(_) => u64::from(indices.0[lane]),
        };
        start.wrapping_add(index.wrapping_mul(scale)) & !(align - 1)
    })
}

/// Where the elements of a load or store are.
fn device_addresses(simdgroup: &Simdgroup, access: &Access) -> [u64; LANES] {
    let element = format::element_bytes(access.format);
    let scale = u64::from(access.scale);
    let found = addresses(simdgroup, access.base, access.index, scale, element);
    match access.offset {
        0 => found,
        offset => found.map(|address| address.wrapping_add_signed(i64::from(offset))),
    }
}

/// Threadgroup addresses are 16 bits and wrap.
fn group_addresses(simdgroup: &Simdgroup, access: &Access) -> [u64; LANES] {
    device_addresses(simdgroup, access).map(|address| address & 0xffff)
}

/// Stack offsets count bytes, whatever the format.
fn stack_addresses(simdgroup: &Simdgroup, access: &Access) -> [u64; LANES] {
    device_addresses(simdgroup, access)
}

/// The lanes of a mask.
fn each_lane(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            lane as usize
        })
    })
}

/// The register of component `n`.
fn component(access: &Access, n: u32) -> Dest {
    let half = u32::from(access.half) + n * if access.wide { 2 } else { 1 };
    Dest {
        row: (half / 2) as u8,
        part: match (access.wide, half % 2) {
            (true, _) => Part::Whole,
            (_, 0) => Part::Low,
            _ => Part::High,
        },
        pair: false,
    }
}

fn outside(memory: Memory, address: u64, bytes: u64, size: u64) -> FaultKind {
    FaultKind::OutOfBounds {
        memory,
        address,
        bytes: bytes as u32,
        place: None,
        size,
    }
}

fn outside_buffers(device: &DeviceMemory, address: u64, bytes: u64) -> FaultKind {
    FaultKind::OutOfBounds {
        memory: Memory::Device,
        address,
        bytes: bytes as u32,
        place: device.place(address),
        size: 0,
    }
}

/// Loads with `read`, which gives the element at an address.
fn load(
    simdgroup: &mut Simdgroup,
    access: &Access,
    addresses: &[u64; LANES],
    read: impl Fn(&Simdgroup, usize, u64, u64) -> Result<u32, FaultKind>,
) -> Result<(), LaneFault> {
    let element = format::element_bytes(access.format);
    let converts = format::converts(access.format);
    let mut values = [Row::ZERO; 4];
    let mut count = 0;
    let fault = |lane: usize, kind| (lane as u32, kind);
    if access.format.is_packed() {
        count = format::packed_components(access.format);
        for lane in each_lane(simdgroup.exec) {
            let word = read(simdgroup, lane, addresses[lane], 4).map_err(|k| fault(lane, k))?;
            for n in 0..count {
                values[n as usize].0[lane] =
                    format::load_packed(access.format, word, n, access.wide);
            }
        }
    } else {
        for n in (0..4).filter(|n| access.mask >> n & 1 != 0) {
            let out = &mut values[count as usize];
            count += 1;
            for lane in each_lane(simdgroup.exec) {
                let address = addresses[lane].wrapping_add(u64::from(n) * element);
                let raw = read(simdgroup, lane, address, element).map_err(|k| fault(lane, k))?;
                out.0[lane] = match converts {
                    true => format::load(access.format, raw, n, access.wide),
                    false => raw,
                };
            }
        }
    }
    for (n, value) in (0..count).zip(&values) {
        simdgroup.write(component(access, n), value);
    }
    Ok(())
}

/// The values a store writes: address, size and value, lane by lane.
fn stored(
    simdgroup: &Simdgroup,
    access: &Access,
    addresses: &[u64; LANES],
    mut write: impl FnMut(usize, u64, u64, u32) -> Result<(), FaultKind>,
) -> Result<(), LaneFault> {
    let element = format::element_bytes(access.format);
    let converts = format::converts(access.format);
    let mut spaces = [Row::ZERO; 4];
    let count = match access.format.is_packed() {
        true => format::packed_components(access.format),
        false => access.mask.count_ones(),
    };
    for (n, space) in (0..count).zip(&mut spaces) {
        let register = component(access, n);
        let source = crate::op::Source {
            row: u16::from(register.row),
            part: register.part,
        };
        *space = simdgroup.read(source);
    }
    if access.format.is_packed() {
        for lane in each_lane(simdgroup.exec) {
            let registers = [0, 1, 2, 3].map(|n: usize| spaces[n].0[lane]);
            let word = format::store_packed(access.format, registers, access.wide);
            write(lane, addresses[lane], 4, word).map_err(|kind| (lane as u32, kind))?;
        }
        return Ok(());
    }
    let components = (0..4).filter(|n| access.mask >> n & 1 != 0);
    for (n, value) in components.zip(&spaces) {
        for lane in each_lane(simdgroup.exec) {
            let address = addresses[lane].wrapping_add(n * element);
            let bits = match converts {
                true => format::store(access.format, value.0[lane], n as u32, access.wide),
                false => value.0[lane],
            };
            write(lane, address, element, bits).map_err(|kind| (lane as u32, kind))?;
        }
    }
    Ok(())
}

/// How many 128-byte lines of device memory an access of the active lanes touches.
pub(crate) fn lines(simdgroup: &Simdgroup, access: &Access) -> u32 {
    let (addresses, bytes) = device_span(simdgroup, access);
    distinct_lines(simdgroup.exec, &addresses, bytes)
}

/// The same for an atomic.
pub(crate) fn atomic_lines(simdgroup: &Simdgroup, atomic: &Atomic) -> u32 {
    let (addresses, bytes) = atomic_span(simdgroup, atomic);
    distinct_lines(simdgroup.exec, &addresses, bytes)
}

/// Bytes from the first to the last component that is moved.
fn reach(access: &Access) -> u64 {
    let element = format::element_bytes(access.format);
    let before = match access.format.is_packed() {
        true => 0,
        false => u64::from(7 - (access.mask & 15).leading_zeros().min(7)) * element,
    };
    before + element
}

/// First byte per lane and bytes per lane of an access to device memory.
pub(crate) fn device_span(simdgroup: &Simdgroup, access: &Access) -> ([u64; LANES], u64) {
    (device_addresses(simdgroup, access), reach(access))
}

/// The same for threadgroup memory.
pub(crate) fn group_span(simdgroup: &Simdgroup, access: &Access) -> ([u64; LANES], u64) {
    (group_addresses(simdgroup, access), reach(access))
}

/// The same for the stack.
pub(crate) fn stack_span(simdgroup: &Simdgroup, access: &Access) -> ([u64; LANES], u64) {
    (stack_addresses(simdgroup, access), reach(access))
}

/// The same for an atomic.
pub(crate) fn atomic_span(simdgroup: &Simdgroup, atomic: &Atomic) -> ([u64; LANES], u64) {
    (addresses(simdgroup, atomic.base, atomic.index, 4, 4), 4)
}

fn distinct_lines(exec: u32, addresses: &[u64; LANES], bytes: u64) -> u32 {
    const LINE: u64 = 128;
    let mut lines = [0; 2 * LANES];
    let mut count = 0;
    for lane in each_lane(exec) {
        let first = addresses[lane] / LINE;
        let last = addresses[lane].wrapping_add(bytes - 1) / LINE;
        for line in [first, last] {
            if !lines[..count].contains(&line) {
                lines[count] = line;
                count += 1;
            }
        }
    }
    count as u32
}

pub(crate) fn device_load(
    simdgroup: &mut Simdgroup,
    device: &DeviceMemory,
    access: &Access,
) -> Result<(), LaneFault> {
    let addresses = device_addresses(simdgroup, access);
    load(simdgroup, access, &addresses, |_, _, address, size| {
        device
            .load(address, size)
            .ok_or_else(|| outside_buffers(device, address, size))
    })
}

pub(crate) fn device_store(
    simdgroup: &Simdgroup,
    device: &DeviceMemory,
    access: &Access,
) -> Result<(), LaneFault> {
    let addresses = device_addresses(simdgroup, access);
    stored(simdgroup, access, &addresses, |_, address, size, value| {
        device
            .store(address, size, value)
            .ok_or_else(|| outside_buffers(device, address, size))
    })
}

pub(crate) fn group_load(
    simdgroup: &mut Simdgroup,
    group: &GroupMemory,
    access: &Access,
) -> Result<(), LaneFault> {
    let addresses = group_addresses(simdgroup, access);
    load(simdgroup, access, &addresses, |_, _, address, size| {
        let bytes = u64::from(group.bytes);
        group
            .load(address, size)
            .ok_or_else(|| outside(Memory::Threadgroup, address, size, bytes))
    })
}

pub(crate) fn group_store(
    simdgroup: &Simdgroup,
    group: &mut GroupMemory,
    access: &Access,
) -> Result<(), LaneFault> {
    let addresses = group_addresses(simdgroup, access);
    let bytes = u64::from(group.bytes);
    stored(simdgroup, access, &addresses, |_, address, size, value| {
        group
            .store(address, size, value)
            .ok_or_else(|| outside(Memory::Threadgroup, address, size, bytes))
    })
}

/// Loads from the stack; gives, per component, the lanes that found no value.
pub(crate) fn stack_load(
    simdgroup: &mut Simdgroup,
    access: &Access,
) -> Result<[u32; 4], LaneFault> {
    let addresses = stack_addresses(simdgroup, access);
    load(
        simdgroup,
        access,
        &addresses,
        |simdgroup, lane, address, size| {
            let stack = &simdgroup.stack;
            stack
                .load(lane, address as i64, size)
                .ok_or_else(|| outside(Memory::Stack, address, size, stack.bytes()))
        },
    )?;
    let element = format::element_bytes(access.format);
    let mut empty = [0; 4];
    for (offset, lanes) in stack_components(access).zip(&mut empty) {
        for lane in each_lane(simdgroup.exec) {
            let address = addresses[lane].wrapping_add(offset) as i64;
            let found = simdgroup.stack.is_empty(lane, address, element);
            *lanes |= u32::from(found) << lane;
        }
    }
    Ok(empty)
}

/// Byte offsets of the elements a stack access moves, one per register.
fn stack_components(access: &Access) -> impl Iterator<Item = u64> + use<> {
    let element = format::element_bytes(access.format);
    let (packed, mask) = (access.format.is_packed(), access.mask);
    let count = format::packed_components(access.format);
    (0..4u64)
        .filter(move |n| match packed {
            true => *n < u64::from(count),
            false => mask >> n & 1 != 0,
        })
        .map(move |n| if packed { 0 } else { n * element })
}

/// The registers of a load or store, one per component.
pub(crate) fn data_registers(access: &Access) -> impl Iterator<Item = Dest> + use<> {
    let access = *access;
    stack_components(&access)
        .enumerate()
        .map(move |(n, _)| component(&access, n as u32))
}

/// Stores to the stack; `empty` has, per component, the lanes whose register holds no
/// value: a function saves registers that its caller may never have used.
pub(crate) fn stack_store(
    simdgroup: &mut Simdgroup,
    access: &Access,
    empty: [u32; 4],
) -> Result<(), LaneFault> {
    let addresses = stack_addresses(simdgroup, access);
    // The stack is part of the simdgroup that the values come from.
    let mut stack = std::mem::replace(&mut simdgroup.stack, crate::simdgroup::Stack::new(0, 0));
    let bytes = stack.bytes();
    let stored = stored(
        simdgroup,
        access,
        &addresses,
        |lane, address, size, value| {
            stack
                .store(lane, address as i64, size, value)
                .ok_or_else(|| outside(Memory::Stack, address, size, bytes))
        },
    );
    let element = format::element_bytes(access.format);
    for (offset, lanes) in stack_components(access).zip(empty) {
        for lane in each_lane(simdgroup.exec) {
            let address = addresses[lane].wrapping_add(offset) as i64;
            stack.set_empty(lane, address, element, lanes >> lane & 1 != 0);
        }
    }
    simdgroup.stack = stack;
    stored
}

/// The half uniforms a `uniform_store` sets, with the first active lane's values.
pub(crate) fn uniform_values(simdgroup: &Simdgroup, access: &Access) -> Vec<(i64, u16)> {
    let Index::Fixed(first) = access.index else {
        return Vec::new();
    };
    let lane = simdgroup.exec.trailing_zeros() as usize % LANES;
    let mut values = Vec::new();
    let components = (0..4i64).filter(|n| access.mask >> n & 1 != 0);
    for (n, place) in components.enumerate() {
        let register = component(access, n as u32);
        let word = simdgroup.row(u16::from(register.row)).0[lane];
        let first = i64::from(first) * i64::from(access.scale);
        match register.part {
            Part::Whole => {
                values.push((first + place * 2, word as u16));
                values.push((first + place * 2 + 1, (word >> 16) as u16));
            }
            Part::Low | Part::LowSigned => values.push((first + place, word as u16)),
            Part::High | Part::HighSigned => values.push((first + place, (word >> 16) as u16)),
        }
    }
    values
}

/// What memory holds after an atomic, from what it held, the value and the comparand.
fn combined(op: AtomicOp, old: u32, value: u32, expected: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Sub => old.wrapping_sub(value),
        AtomicOp::Exchange => value,
        AtomicOp::CompareExchange if old == expected => value,
        AtomicOp::CompareExchange => old,
        AtomicOp::UnsignedMin => old.min(value),
        AtomicOp::SignedMin => (old as i32).min(value as i32) as u32,
        AtomicOp::UnsignedMax => old.max(value),
        AtomicOp::SignedMax => (old as i32).max(value as i32) as u32,
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::FloatAdd => crate::arith::add(old, value),
        AtomicOp::Unknown(_) => old,
    }
}

/// Performs an atomic lane by lane, in ascending order; `update` replaces a word by a
/// function of it and gives the old one.
fn atomic(
    simdgroup: &mut Simdgroup,
    atomic: &Atomic,
    addresses: &[u64; LANES],
    mut update: impl FnMut(u64, &dyn Fn(u32) -> u32) -> Result<u32, FaultKind>,
) -> Result<(), LaneFault> {
    let value = simdgroup.row(u16::from(atomic.value));
    let expected = match atomic.op {
        AtomicOp::CompareExchange => simdgroup.row(u16::from(atomic.value) + 1),
        _ => Row::ZERO,
    };
    let mut old = Row::ZERO;
    for lane in each_lane(simdgroup.exec) {
        let new = |old| combined(atomic.op, old, value.0[lane], expected.0[lane]);
        old.0[lane] = update(addresses[lane], &new).map_err(|kind| (lane as u32, kind))?;
    }
    if let Some(row) = atomic.result {
        let to = Dest {
            row,
            part: Part::Whole,
            pair: false,
        };
        simdgroup.write(to, &old);
    }
    Ok(())
}

pub(crate) fn device_atomic(
    simdgroup: &mut Simdgroup,
    device: &DeviceMemory,
    op: &Atomic,
) -> Result<(), LaneFault> {
    let addresses = addresses(simdgroup, op.base, op.index, 4, 4);
    atomic(simdgroup, op, &addresses, |address, new| {
        device
            .update(address, new)
            .ok_or_else(|| outside_buffers(device, address, 4))
    })
}

pub(crate) fn group_atomic(
    simdgroup: &mut Simdgroup,
    group: &mut GroupMemory,
    op: &Atomic,
) -> Result<(), LaneFault> {
    let addresses = addresses(simdgroup, op.base, op.index, 4, 4);
    let bytes = u64::from(group.bytes);
    atomic(simdgroup, op, &addresses, |address, new| {
        let address = address & 0xffff;
        let fault = || outside(Memory::Threadgroup, address, 4, bytes);
        let old = group.load(address, 4).ok_or_else(fault)?;
        group.store(address, 4, new(old)).ok_or_else(fault)?;
        Ok(old)
    })
}
