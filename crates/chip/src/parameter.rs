//! What is known of a chip: the names, units and limits of its figures.

use crate::Error;

macro_rules! parameters {
    ($($variant:ident = $name:literal, $unit:literal, $whole:literal, $meaning:literal;)*) => {
        /// A figure a chip may have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Parameter {
            $(#[doc = $meaning] $variant,)*
        }

        impl Parameter {
            /// Every parameter, in the order they are shown.
            pub const ALL: &'static [Parameter] = &[$(Parameter::$variant,)*];

            /// The name used in tables and overrides.
            pub const fn name(self) -> &'static str {
                match self { $(Parameter::$variant => $name,)* }
            }

            /// Its unit; empty for a count.
            pub const fn unit(self) -> &'static str {
                match self { $(Parameter::$variant => $unit,)* }
            }

            /// What it is, in words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Parameter::$variant => $meaning,)* }
            }

            const fn is_whole(self) -> bool {
                match self { $(Parameter::$variant => $whole,)* }
            }
        }
    };
}

parameters! {
    Cores = "cores", "", true, "GPU cores";
    ClockGhz = "clock_ghz", "GHz", false, "highest GPU clock";
    LanesPerCore = "lanes_per_core", "", true, "lanes that execute together on a core";
    SchedulersPerCore = "schedulers_per_core", "", true, "schedulers per core, each for 32 lanes";
    RegisterFileKib = "register_file_kib", "KiB", false, "registers per core";
    MaxResidentThreads = "max_resident_threads", "", true, "most threads a core holds at once";
    ThreadgroupMemoryKib = "threadgroup_memory_kib", "KiB", false, "threadgroup memory per core";
    ThreadgroupLimitKib = "threadgroup_limit_kib", "KiB", false, "threadgroup memory one threadgroup may use";
    InstructionCacheKib = "instruction_cache_kib", "KiB", false, "instruction cache per core";
    L1Kib = "l1_kib", "KiB", false, "data cache per core";
    CacheLineBytes = "cache_line_bytes", "B", true, "cache line";
    L2Kib = "l2_kib", "KiB", false, "cache shared by the GPU's cores";
    SlcMib = "slc_mib", "MiB", false, "system-level cache, shared with the CPU";
    DramGbs = "dram_gbs", "GB/s", false, "memory bandwidth";
    SlcGbs = "slc_gbs", "GB/s", false, "bandwidth of the system-level cache seen by the GPU";
    OnCoreBytesPerCycle = "on_core_bytes_per_cycle", "B/cycle", false, "bytes per cycle from a core's own memory";
    L2BytesPerCycle = "l2_bytes_per_cycle", "B/cycle", false, "bytes per cycle from L2 to a core";
    ShuffleBytesPerCycle = "shuffle_bytes_per_cycle", "B/cycle", false, "bytes per cycle exchanged between lanes";
    L1LatencyNs = "l1_latency_ns", "ns", false, "time of a dependent load that hits L1";
    L2LatencyNs = "l2_latency_ns", "ns", false, "time of a dependent load that hits L2";
    SlcLatencyNs = "slc_latency_ns", "ns", false, "time of a dependent load that hits the system-level cache";
    DramLatencyNs = "dram_latency_ns", "ns", false, "time of a dependent load from memory";
    DependencePenalty32 = "dependence_penalty_32", "cycles", false, "cycles lost by using a 32-bit result at once, at full occupancy";
    DependencePenalty16 = "dependence_penalty_16", "cycles", false, "cycles lost by using a 16-bit result at once, at full occupancy";
}

/// No figure of a chip comes near this.
const LARGEST: f64 = 1e9;

impl Parameter {
    /// The parameter with this name.
    pub fn named(name: &str) -> Result<Parameter, Error> {
        let found = Parameter::ALL
            .iter()
            .copied()
            .find(|parameter| parameter.name() == name);
        found.ok_or_else(|| Error::UnknownParameter {
            asked: name.to_owned(),
            known: join(Parameter::ALL.iter().map(|parameter| parameter.name())),
        })
    }

    /// A value for it, checked.
    pub fn parse(self, value: &str) -> Result<f64, Error> {
        let bad = |rule| Error::BadValue {
            parameter: self,
            value: value.to_owned(),
            rule,
        };
        let number: f64 = value.trim().parse().map_err(|_| bad("not a number"))?;
        if !(number > 0.0 && number < LARGEST) {
            return Err(bad("it must be above 0 and below 1,000,000,000"));
        }
        if self.is_whole() && number.fract() != 0.0 {
            return Err(bad("it must be a whole number"));
        }
        Ok(number)
    }
}

pub(crate) fn join<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
