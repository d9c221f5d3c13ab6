//! Accesses of neighbouring addresses made together.
//!
//! Loads of one block from one base at neighbouring offsets become one load of up to four
//! elements, at the place of the first of them; stores one store at the place of the last.
//! What lies between must not touch the same memory.

use crate::lower::memory::access::Direction;
use crate::lower::memory::address::Address;
use crate::lower::select::{Done, Lowerer, element};
use crate::mir::Slice;
use assay_agx::Width;
use assay_ssa::{Access, Block, Callee, Inst, InstData, Scalar, Space, TypeKind, Value};
use std::collections::{BTreeMap, HashMap};

/// Most elements of one access.
const MOST: u32 = 4;
/// Most bases that are kept open at once, so that long blocks take linear time.
const OPEN: usize = 48;
/// Bytes of the longest access that can be part of a larger one: fewer than [`MOST`] elements of up to four bytes.
const LONGEST: i64 = (MOST as i64 - 1) * 4;

/// What is made together.
#[derive(Debug, Default)]
pub(in crate::lower) struct Plans {
    groups: Vec<Group>,
    /// The group of an instruction.
    of: HashMap<Inst, usize>,
}

#[derive(Debug)]
struct Group {
    /// The instruction at whose place the access is made.
    place: Inst,
    members: Vec<Member>,
    /// Bytes of an element.
    unit: u32,
    /// All elements of a load, side by side; there once somebody needs one.
    data: Option<Slice>,
}

#[derive(Clone, Debug)]
struct Member {
    inst: Inst,
    ptr: Value,
    /// What is loaded or stored.
    value: Value,
    offset: i64,
    lanes: u32,
    access: Access,
    position: usize,
}

/// Accesses of one base that nothing has come between yet.
struct Bucket {
    direction: Direction,
    space: Space,
    address: Address,
    alias: Option<u32>,
    unit: u32,
    members: Vec<Member>,
    /// Where the members end that begin at an offset, the furthest of them.
    ends: BTreeMap<i64, i64>,
}

impl Bucket {
    fn push(&mut self, member: Member) {
        let end = member.offset + i64::from(member.lanes * self.unit);
        let furthest = self.ends.entry(member.offset).or_insert(end);
        *furthest = end.max(*furthest);
        self.members.push(member);
    }

    /// Returns true if a member has a byte in a range.
    fn overlaps(&self, start: i64, bytes: i64) -> bool {
        let near = self.ends.range(start - LONGEST..start + bytes);
        near.into_iter().any(|(_, &end)| start < end)
    }

    fn takes(&self, direction: Direction, space: Space, address: &Address, unit: u32) -> bool {
        self.direction == direction
            && self.space == space
            && self.unit == unit
            && self.address.base == address.base
            && self.address.terms == address.terms
    }
}

/// Memory an instruction touches.
struct Touch<'a> {
    space: Space,
    address: &'a Address,
    alias: Option<u32>,
    bytes: i64,
}

fn may_touch(bucket: &Bucket, touch: &Touch<'_>) -> bool {
    let device = |space| matches!(space, Space::Device | Space::Constant);
    if bucket.space != touch.space && !(device(bucket.space) && device(touch.space)) {
        return false;
    }
    if let (Some(a), Some(b)) = (bucket.alias, touch.alias)
        && a != b
    {
        return false;
    }
    if bucket.address.base == touch.address.base && bucket.address.terms == touch.address.terms {
        return bucket.overlaps(touch.address.offset, touch.bytes);
    }
    true
}

impl Lowerer<'_> {
    /// Plans the accesses of all blocks.
    pub(in crate::lower) fn plan(&mut self) -> Done {
        for &block in self.function.blocks() {
            self.plan_block(block)?;
        }
        Ok(())
    }

    fn plan_block(&mut self, block: Block) -> Done {
        let function = self.function;
        let mut open: Vec<Bucket> = Vec::new();
        for (position, &inst) in function.insts(block).iter().enumerate() {
            let (direction, ptr, value, access) = match *function.inst(inst) {
                InstData::Load { ptr, access } => match function.result(inst) {
                    Some(result) if !self.hoistable[result] => {
                        (Direction::Load, ptr, result, access)
                    }
                    _ => continue,
                },
                InstData::Store { ptr, value, access } => (Direction::Store, ptr, value, access),
                InstData::Call {
                    callee: Callee::Builtin(call),
                    ..
                } if !call.info().effects.reads() && !call.info().effects.writes() => continue,
                InstData::Call { .. }
                | InstData::MemCopy { .. }
                | InstData::MemSet { .. }
                | InstData::AtomicRmw { .. }
                | InstData::AtomicCompareExchange { .. } => {
                    self.close(&mut open, |_| true);
                    continue;
                }
                _ => continue,
            };
            let Some(space) = function.ty(ptr).space() else {
                continue;
            };
            let address = self.flatten(ptr)?;
            let alias = self.alias(&address, space);
            let bytes = self.module.types.store_size(function.ty(value));
            let touch = Touch {
                space,
                address: &address,
                alias,
                bytes: i64::from(bytes),
            };
            // A load waits for stores, a store for everything.
            self.close(&mut open, |bucket| {
                let waits = direction == Direction::Store || bucket.direction == Direction::Store;
                waits && may_touch(bucket, &touch)
            });
            let Some((unit, lanes)) = self.elements(value, access) else {
                continue;
            };
            let member = Member {
                inst,
                ptr,
                value,
                offset: address.offset,
                lanes,
                access,
                position,
            };
            let found = open
                .iter_mut()
                .find(|bucket| bucket.takes(direction, space, &address, unit));
            match found {
                Some(bucket) => bucket.push(member),
                None => {
                    if open.len() >= OPEN {
                        let bucket = open.remove(0);
                        self.form(bucket);
                    }
                    let mut bucket = Bucket {
                        direction,
                        space,
                        address,
                        alias,
                        unit,
                        members: Vec::new(),
                        ends: BTreeMap::new(),
                    };
                    bucket.push(member);
                    open.push(bucket);
                }
            }
        }
        self.close(&mut open, |_| true);
        Ok(())
    }

    /// Element size and number of a value that can be part of a larger access.
    fn elements(&self, value: Value, access: Access) -> Option<(u32, u32)> {
        let ty = self.function.ty(value);
        let (TypeKind::Scalar(scalar) | TypeKind::Vector(scalar, _)) = ty.kind() else {
            return None;
        };
        let plain = !access.is_atomic() && !access.volatile;
        let fits = !matches!(scalar, Scalar::I1 | Scalar::I64);
        let aligned = access.align() >= scalar.bytes();
        let lanes = u32::from(ty.lanes());
        (plain && fits && aligned && lanes < MOST).then_some((scalar.bytes(), lanes))
    }

    fn close(&mut self, open: &mut Vec<Bucket>, which: impl Fn(&Bucket) -> bool) {
        let mut index = 0;
        while let Some(bucket) = open.get(index) {
            if which(bucket) {
                let bucket = open.remove(index);
                self.form(bucket);
            } else {
                index += 1;
            }
        }
    }

    /// Makes groups of what is side by side.
    fn form(&mut self, bucket: Bucket) {
        let mut members = bucket.members;
        if members.len() < 2 {
            return;
        }
        members.sort_by_key(|member| (member.offset, member.position));
        let mut run: Vec<Member> = Vec::new();
        let unit = bucket.unit;
        for member in members {
            let (end, count) = run.iter().fold((None, 0), |(_, count), before: &Member| {
                let end = before.offset + i64::from(before.lanes * unit);
                (Some(end), count + before.lanes)
            });
            let follows = end == Some(member.offset) && count + member.lanes <= MOST;
            // A second access to the same place stays alone.
            let again = run.last().is_some_and(|last| last.offset == member.offset);
            if again {
                continue;
            }
            if !follows {
                self.group_of(std::mem::take(&mut run), unit, bucket.direction);
            }
            run.push(member);
        }
        self.group_of(run, unit, bucket.direction);
    }

    fn group_of(&mut self, members: Vec<Member>, unit: u32, direction: Direction) {
        if members.len() < 2 {
            return;
        }
        let place = match direction {
            Direction::Load => members.iter().min_by_key(|member| member.position),
            Direction::Store => members.iter().max_by_key(|member| member.position),
        };
        let Some(place) = place.map(|member| member.inst) else {
            return;
        };
        let group = self.plans.groups.len();
        for member in &members {
            self.plans.of.insert(member.inst, group);
        }
        self.plans.groups.push(Group {
            place,
            members,
            unit,
            data: None,
        });
    }

    /// The registers of a load that is part of a group.
    pub(in crate::lower) fn grouped_slots(&mut self, value: Value) -> Option<Vec<Slice>> {
        let inst = self.function.def_inst(value)?;
        let index = *self.plans.of.get(&inst)?;
        let group = self.plans.groups.get(index)?;
        let lanes: u32 = group.members.iter().map(|member| member.lanes).sum();
        let width = if group.unit == 4 {
            Width::W32
        } else {
            Width::W16
        };
        let data = match group.data {
            Some(data) => data,
            None => {
                let data = self.group(width, lanes as u8);
                self.plans.groups[index].data = Some(data);
                data
            }
        };
        let mut start = 0;
        for member in &self.plans.groups[index].members {
            if member.inst == inst {
                let all = start..start + member.lanes;
                return Some(all.map(|lane| element(data, lane as u8)).collect());
            }
            start += member.lanes;
        }
        None
    }

    /// Whether a load makes the access of a group somebody needs.
    pub(in crate::lower) fn leads(&self, inst: Inst) -> bool {
        let group = self.plans.of.get(&inst);
        let group = group.and_then(|&index| self.plans.groups.get(index));
        group.is_some_and(|group| group.place == inst && group.data.is_some())
    }

    pub(in crate::lower) fn load_planned(
        &mut self,
        inst: Inst,
        ptr: Value,
        access: Access,
        result: Value,
    ) -> Done {
        let Some(group) = self
            .plans
            .of
            .get(&inst)
            .and_then(|&at| self.plans.groups.get(at))
        else {
            return self.load(ptr, access, result);
        };
        let (Some(data), true) = (group.data, group.place == inst) else {
            return Ok(());
        };
        self.group_access(inst, Direction::Load, data)
    }

    pub(in crate::lower) fn store_planned(
        &mut self,
        inst: Inst,
        ptr: Value,
        value: Value,
        access: Access,
    ) -> Done {
        let Some(group) = self
            .plans
            .of
            .get(&inst)
            .and_then(|&at| self.plans.groups.get(at))
        else {
            return self.store(ptr, value, access);
        };
        if group.place != inst {
            return Ok(());
        }
        let parts: Vec<(Value, u32)> = group
            .members
            .iter()
            .map(|member| (member.value, member.lanes))
            .collect();
        let mut sources = Vec::new();
        for (value, lanes) in parts {
            for lane in 0..lanes {
                sources.push(self.src(value, lane)?);
            }
        }
        let data = self.side_by_side(&sources);
        self.group_access(inst, Direction::Store, data)
    }

    /// The access of a group, at an address relative to the one of its place.
    fn group_access(&mut self, inst: Inst, direction: Direction, data: Slice) -> Done {
        let group = self
            .plans
            .of
            .get(&inst)
            .and_then(|&at| self.plans.groups.get(at));
        let Some(group) = group else {
            return Ok(());
        };
        let unit = group.unit;
        let (Some(first), Some(place)) = (
            group.members.first().cloned(),
            group
                .members
                .iter()
                .find(|member| member.inst == inst)
                .cloned(),
        ) else {
            return Ok(());
        };
        let space = self.space(place.ptr)?;
        let mut address = self.address(place.ptr, unit)?;
        address.offset += first.offset - place.offset;
        let memory = self.memory(&address, space, place.access);
        self.transfer(direction, space, &address, 0, (unit, unit), data, memory)
    }
}
