//! Special registers: what `get_sr` reads. Each family numbers them in its own way.

use crate::isa::Family;

/// A special register of a family.
///
/// ```
/// use assay_agx::{Family, SpecialRegister};
/// let register = SpecialRegister::new(Family::G15, 32);
/// assert_eq!(register.name(), Some("thread_position_in_grid.x"));
/// assert_eq!(register.in_family(Family::G13), Some(SpecialRegister::new(Family::G13, 80)));
/// assert_eq!(SpecialRegister::new(Family::G15, 80).name(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecialRegister {
    /// Who numbers it.
    pub family: Family,
    /// Its number.
    pub number: u8,
}

impl SpecialRegister {
    /// The special register of this number.
    pub const fn new(family: Family, number: u8) -> SpecialRegister {
        SpecialRegister { family, number }
    }

    /// The special register with this name.
    pub fn named(family: Family, name: &str) -> Option<SpecialRegister> {
        let found = names(family).iter().find(|&&(_, word)| word == name)?;
        Some(SpecialRegister::new(family, found.0))
    }

    /// Its name, where its meaning is known.
    pub fn name(self) -> Option<&'static str> {
        let names = names(self.family);
        let at = names.binary_search_by_key(&self.number, |&(number, _)| number);
        Some(names.get(at.ok()?)?.1)
    }

    /// The register of another family that holds the same.
    pub fn in_family(self, family: Family) -> Option<SpecialRegister> {
        if family == self.family {
            Some(self)
        } else {
            SpecialRegister::named(family, self.name()?)
        }
    }
}

/// The names of a family's registers, by ascending number.
const fn names(family: Family) -> &'static [(u8, &'static str)] {
    match family {
        Family::G13 => G13,
        Family::G15 => G15,
    }
}

const G13: &[(u8, &str)] = &[
    (0, "threadgroup_position_in_grid.x"),
    (1, "threadgroup_position_in_grid.y"),
    (2, "threadgroup_position_in_grid.z"),
    (4, "threads_per_threadgroup.x"),
    (5, "threads_per_threadgroup.y"),
    (6, "threads_per_threadgroup.z"),
    (8, "dispatch_threads_per_threadgroup.x"),
    (9, "dispatch_threads_per_threadgroup.y"),
    (10, "dispatch_threads_per_threadgroup.z"),
    (20, "core_index"),
    (21, "vm_slot"),
    (48, "thread_position_in_threadgroup.x"),
    (49, "thread_position_in_threadgroup.y"),
    (50, "thread_position_in_threadgroup.z"),
    (51, "thread_index_in_threadgroup"),
    (52, "thread_index_in_simdgroup"),
    (53, "simdgroup_index_in_threadgroup"),
    (56, "active_thread_index_in_quadgroup"),
    (58, "active_thread_index_in_simdgroup"),
    (60, "internal_coverage_mask"),
    (62, "backfacing"),
    (63, "is_active_thread"),
    (80, "thread_position_in_grid.x"),
    (81, "thread_position_in_grid.y"),
    (82, "thread_position_in_grid.z"),
    (124, "input_sample_mask"),
    (144, "opfifo_cmd"),
    (146, "opfifo_data_l"),
    (147, "opfifo_data_h"),
];

/// As far as programs show it.
const G15: &[(u8, &str)] = &[
    (2, "thread_index_in_simdgroup"),
    (5, "simdgroup_index_in_threadgroup"),
    (21, "active_thread_index_in_simdgroup"),
    (24, "threads_per_threadgroup.x"),
    (25, "threads_per_threadgroup.y"),
    (26, "threads_per_threadgroup.z"),
    (28, "threadgroup_position_in_grid.x"),
    (29, "threadgroup_position_in_grid.y"),
    (30, "threadgroup_position_in_grid.z"),
    (32, "thread_position_in_grid.x"),
    (33, "thread_position_in_grid.y"),
    (34, "thread_position_in_grid.z"),
    (36, "thread_position_in_threadgroup.x"),
    (37, "thread_position_in_threadgroup.y"),
    (38, "thread_position_in_threadgroup.z"),
    (39, "thread_index_in_threadgroup"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend() {
        for family in [Family::G13, Family::G15] {
            assert!(names(family).is_sorted_by(|one, next| one.0 < next.0));
        }
    }
}
