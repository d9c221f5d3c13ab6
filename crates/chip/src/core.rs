//! What one core of every chip has whose instruction set is generated here.

use crate::{Chip, DEFAULT_CHIP, Parameter};
use std::sync::OnceLock;

/// Figures of a core that code depends on whatever the chip: the default chip's, and the same for all of its and its
/// predecessor's family (a test compares them).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreFacts {
    /// Schedulers, each with simdgroups of its own.
    pub schedulers: u32,
    /// Bytes per cycle between the core's own memories and its registers.
    pub bytes_per_cycle: f64,
    /// Bytes of threadgroup memory that one threadgroup may use.
    pub threadgroup_limit: u32,
    /// Bytes of code that the instruction cache holds.
    pub instruction_cache_bytes: u32,
}

impl CoreFacts {
    /// The facts.
    pub fn get() -> &'static CoreFacts {
        static FACTS: OnceLock<CoreFacts> = OnceLock::new();
        FACTS.get_or_init(|| {
            let chip = Chip::named(DEFAULT_CHIP).ok();
            CoreFacts::of(|parameter| chip.as_ref().and_then(|chip| chip.get(parameter)))
        })
    }

    fn of(figure: impl Fn(Parameter) -> Option<f64>) -> CoreFacts {
        let at_least_one = |parameter| figure(parameter).unwrap_or(1.0).max(1.0);
        CoreFacts {
            schedulers: at_least_one(Parameter::SchedulersPerCore) as u32,
            bytes_per_cycle: at_least_one(Parameter::OnCoreBytesPerCycle),
            threadgroup_limit: (at_least_one(Parameter::ThreadgroupLimitKib) * 1024.0) as u32,
            instruction_cache_bytes: (at_least_one(Parameter::InstructionCacheKib) * 1024.0) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CoreFacts;
    use crate::{Parameter, chips};

    #[test]
    fn every_chip_with_costs_has_the_same_core() {
        for chip in chips().iter().filter(|chip| chip.has_costs()) {
            assert_eq!(
                CoreFacts::of(|parameter| chip.get(parameter)),
                *CoreFacts::get(),
                "{}",
                chip.name
            );
            assert!(chip.get(Parameter::SchedulersPerCore).is_some());
        }
    }
}
