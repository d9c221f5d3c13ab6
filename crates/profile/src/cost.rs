//! What instructions cost, and sums of that which never hide the unknown.

use crate::cfg::Block;
use crate::code::{Code, Entry};
use assay_agx::{Operand, Space};
use assay_chip::{Chip, CostModel, CostTable, Key, Parameter, Unit};
use std::ops::{Add, AddAssign, Mul};

/// Modelled cycles: what is known, and how many parts of the sum are not.
///
/// ```
/// use assay_profile::Cycles;
/// let sum = Cycles::known(3.0) + Cycles::UNKNOWN;
/// assert_eq!(sum.to_string(), "≥ 3 (1 unknown)");
/// assert_eq!(sum.exact(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cycles {
    /// The sum of what is known; a lower bound of the whole.
    pub known: f64,
    /// How many parts have no known cost. Unless 0, the whole has no upper bound.
    pub unknown: u32,
}

impl Cycles {
    /// Nothing.
    pub const ZERO: Cycles = Cycles {
        known: 0.0,
        unknown: 0,
    };
    /// One part of unknown cost.
    pub const UNKNOWN: Cycles = Cycles {
        known: 0.0,
        unknown: 1,
    };

    /// A known amount.
    pub const fn known(cycles: f64) -> Cycles {
        Cycles {
            known: cycles,
            unknown: 0,
        }
    }

    /// From a cost that may be unknown.
    pub fn from_cost(cost: Option<f64>) -> Cycles {
        cost.map_or(Cycles::UNKNOWN, Cycles::known)
    }

    /// The value when nothing is unknown.
    pub fn exact(self) -> Option<f64> {
        (self.unknown == 0).then_some(self.known)
    }

    /// The larger lower bound; unknown parts of either stay.
    #[must_use]
    pub fn max(self, other: Cycles) -> Cycles {
        Cycles {
            known: self.known.max(other.known),
            unknown: self.unknown.max(other.unknown),
        }
    }
}

impl Add for Cycles {
    type Output = Cycles;

    fn add(self, other: Cycles) -> Cycles {
        Cycles {
            known: self.known + other.known,
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

impl AddAssign for Cycles {
    fn add_assign(&mut self, other: Cycles) {
        *self = *self + other;
    }
}

impl Mul<f64> for Cycles {
    type Output = Cycles;

    fn mul(self, times: f64) -> Cycles {
        Cycles {
            known: self.known * times,
            unknown: self.unknown,
        }
    }
}

impl std::fmt::Display for Cycles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = number(self.known);
        match self.unknown {
            0 => f.pad(&text),
            unknown => f.pad(&format!("≥ {text} ({unknown} unknown)")),
        }
    }
}

/// At most two decimals, none when they are zero.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Threads of a simdgroup.
pub(crate) const LANES: f64 = 32.0;

/// What one instruction costs one simdgroup on its scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// The row of the cost table.
    pub key: Key,
    /// What it occupies.
    pub unit: Unit,
    /// Issue slots.
    pub issue: Option<f32>,
    /// Cycles of its unit.
    pub cycles: Option<f32>,
    /// Cycles until its result can be used.
    pub latency: Option<f32>,
    /// Bytes of device memory it moves, for 32 lanes that do not share; one lane's
    /// when all read the same place.
    pub device_bytes: u32,
    /// Bytes of threadgroup memory it moves.
    pub threadgroup_bytes: u32,
    /// Whether its bytes are unknown, as a texture's are.
    pub bytes_unknown: bool,
    /// Float operations of all lanes: a multiply-add is two.
    pub flops: f32,
}

/// The costs of every instruction of a program part.
#[derive(Clone, Debug)]
pub struct Charges {
    charges: Vec<Charge>,
    model: CostModel,
}

impl Charges {
    /// Looks every instruction up.
    pub fn new(code: &Code, chip: &Chip, model: CostModel) -> Charges {
        let table = CostTable::of(model);
        let on_core = chip
            .get(Parameter::OnCoreBytesPerCycle)
            .zip(chip.get(Parameter::SchedulersPerCore))
            .map(|(bytes, schedulers)| bytes / schedulers);
        let charges = code
            .entries()
            .iter()
            .map(|entry| charge(entry, table, on_core))
            .collect();
        Charges { charges, model }
    }

    /// One instruction's.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Charge> {
        self.charges.get(index)
    }

    /// Which table they come from.
    pub fn model(&self) -> CostModel {
        self.model
    }

    /// The sum over a block.
    pub fn block(&self, block: &Block) -> Costs {
        let range = block.insns.start as usize..block.insns.end as usize;
        let mut costs = Costs::default();
        for charge in self.charges.get(range).unwrap_or_default() {
            costs.add(charge);
        }
        costs
    }
}

fn charge(entry: &Entry, table: &CostTable, on_core: Option<f64>) -> Charge {
    let Some(insn) = entry.known() else {
        // What a placeholder stands for accesses memory, and nothing else is known of what it costs.
        let stands_for = entry.stands_for;
        let bytes = stands_for.and_then(|stands_for| stands_for.bytes);
        return Charge {
            key: Key::Unknown,
            unit: match stands_for {
                Some(_) => Unit::Memory,
                None => Unit::Control,
            },
            issue: None,
            cycles: None,
            latency: None,
            device_bytes: bytes.map_or(0, |bytes| u32::from(bytes) * LANES as u32),
            threadgroup_bytes: 0,
            bytes_unknown: bytes.is_none(),
            flops: 0.0,
        };
    };
    let key = Key::of(insn);
    let cost = table.get(key);
    let mut charge = Charge {
        key,
        unit: cost.unit,
        issue: cost.dispatch.map(|value| value as f32),
        cycles: cost.cycles.map(|value| value as f32),
        latency: cost.latency.map(|value| value as f32),
        device_bytes: 0,
        threadgroup_bytes: 0,
        bytes_unknown: false,
        flops: insn.flops() as f32 * LANES as f32,
    };
    if cost.unit != Unit::Memory {
        return charge;
    }
    let Some(access) = insn.memory() else {
        return charge;
    };
    let lanes = match (access.base, access.index) {
        // The same address in every lane.
        (Operand::Uniform(_), Operand::Imm(_)) => 1,
        _ => LANES as u32,
    };
    let bytes = access.bytes_per_lane().map(|bytes| bytes * lanes);
    match access.space {
        Space::Device | Space::Stack => charge.device_bytes = bytes.unwrap_or(0),
        Space::Threadgroup => charge.threadgroup_bytes = bytes.unwrap_or(0),
        _ => {}
    }
    let moves_data = matches!(
        access.space,
        Space::Device | Space::Stack | Space::Threadgroup
    );
    charge.bytes_unknown = bytes.is_none() || !moves_data && access.space != Space::Uniform;
    // The table leaves data to the chip's bytes per cycle.
    if charge.cycles.is_none() && moves_data {
        charge.cycles = bytes
            .zip(on_core)
            .map(|(bytes, rate)| (f64::from(bytes) / rate) as f32);
    }
    charge
}

/// Sums over some instructions, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// Instructions.
    pub instructions: f64,
    /// Issue slots of the scheduler.
    pub issue: Cycles,
    /// Single-precision arithmetic.
    pub f32: Cycles,
    /// Half-precision arithmetic.
    pub f16: Cycles,
    /// Selects, integer adds, moves, cross-lane.
    pub scib: Cycles,
    /// The complex unit, which runs beside the others.
    pub ic: Cycles,
    /// Loads and stores: data at the core's bytes per cycle.
    pub memory: Cycles,
    /// Jumps, execution masks, waits, barriers: issue slots.
    pub control: Cycles,
    /// Bytes of device memory.
    pub device_bytes: f64,
    /// Bytes of threadgroup memory.
    pub threadgroup_bytes: f64,
    /// Instructions whose bytes are not in those sums because they are not known:
    /// textures, images, unknown instructions.
    pub unsized_accesses: u32,
    /// Float operations of all lanes: a multiply-add is two.
    pub flops: f64,
}

impl Costs {
    /// Adds an instruction.
    pub fn add(&mut self, charge: &Charge) {
        self.instructions += 1.0;
        self.issue += Cycles::from_cost(charge.issue.map(f64::from));
        let cycles = match charge.unit {
            Unit::Control => charge.issue,
            _ => charge.cycles,
        };
        *self.unit_mut(charge.unit) += Cycles::from_cost(cycles.map(f64::from));
        self.device_bytes += f64::from(charge.device_bytes);
        self.threadgroup_bytes += f64::from(charge.threadgroup_bytes);
        self.unsized_accesses += u32::from(charge.bytes_unknown);
        self.flops += f64::from(charge.flops);
    }

    /// One unit's cycles.
    pub fn unit(&self, unit: Unit) -> Cycles {
        match unit {
            Unit::F32 => self.f32,
            Unit::F16 => self.f16,
            Unit::Scib => self.scib,
            Unit::Ic => self.ic,
            Unit::Memory => self.memory,
            Unit::Control => self.control,
        }
    }

    fn unit_mut(&mut self, unit: Unit) -> &mut Cycles {
        match unit {
            Unit::F32 => &mut self.f32,
            Unit::F16 => &mut self.f16,
            Unit::Scib => &mut self.scib,
            Unit::Ic => &mut self.ic,
            Unit::Memory => &mut self.memory,
            Unit::Control => &mut self.control,
        }
    }

    /// Adds another sum, `times` over.
    pub fn add_times(&mut self, other: &Costs, times: f64) {
        self.instructions += other.instructions * times;
        self.issue += other.issue * times;
        for unit in Unit::ALL {
            *self.unit_mut(unit) += other.unit(unit) * times;
        }
        self.device_bytes += other.device_bytes * times;
        self.threadgroup_bytes += other.threadgroup_bytes * times;
        self.flops += other.flops * times;
        let unsized_accesses = self.unsized_accesses;
        self.unsized_accesses = unsized_accesses.saturating_add(other.unsized_accesses);
    }

    /// Issue slots and the complex unit run side by side: the larger counts.
    pub fn alu(&self) -> Cycles {
        self.issue.max(self.ic)
    }

    /// The resource that takes longest: `issue`, `IC` or `memory`.
    pub fn bound(&self) -> &'static str {
        let (issue, ic, memory) = (self.issue.known, self.ic.known, self.memory.known);
        if issue >= ic && issue >= memory {
            "issue"
        } else if ic >= memory {
            "IC"
        } else {
            "memory"
        }
    }
}
