//! What rules look at, and the questions several of them ask.

use crate::part::{LoopReport, Part};
use crate::profile::{Options, Profile};
use crate::schedule::Timing;
use crate::{BlockId, InsnId};
use assay_agx::{AccessKind, Class, Instruction, Operand, Program, RegSet, Space};
use assay_chip::Unit;

/// A profile under examination.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The profile, complete but for its findings.
    pub profile: &'a Profile,
    /// The program.
    pub program: &'a Program,
    /// What was assumed.
    pub options: &'a Options,
}

impl<'a> Look<'a> {
    pub(crate) fn new(profile: &'a Profile, program: &'a Program, options: &'a Options) -> Self {
        Look {
            profile,
            program,
            options,
        }
    }

    /// The main part.
    pub fn main(&self) -> &'a Part {
        &self.profile.main
    }

    /// Latencies and costs.
    pub fn timing(&self) -> Timing<'a> {
        self.profile.main.timing(self.options.memory_latency)
    }

    /// An instruction, when it is known.
    pub fn insn(&self, id: InsnId) -> Option<&'a Instruction> {
        self.profile.main.code.get(id)?.known()
    }

    /// Half-registers an instruction reads. Worked out once, when it was decoded.
    #[inline]
    pub fn reads(&self, id: InsnId) -> RegSet {
        let entry = self.profile.main.code.get(id);
        entry.map_or(RegSet::EMPTY, |entry| entry.reads)
    }

    /// Half-registers an instruction writes. Worked out once, when it was decoded.
    #[inline]
    pub fn writes(&self, id: InsnId) -> RegSet {
        let entry = self.profile.main.code.get(id);
        entry.map_or(RegSet::EMPTY, |entry| entry.writes)
    }

    /// Issue slots of an instruction, as far as known.
    pub fn issue(&self, id: InsnId) -> f64 {
        let charge = self.profile.main.charges.get(id.index());
        charge
            .and_then(|charge| charge.issue)
            .map_or(0.0, f64::from)
    }

    /// Cycles of its unit, as far as known.
    pub fn cycles(&self, id: InsnId) -> f64 {
        let charge = self.profile.main.charges.get(id.index());
        charge
            .and_then(|charge| charge.cycles)
            .map_or(0.0, f64::from)
    }

    /// The unit of an instruction.
    pub fn unit(&self, id: InsnId) -> Option<Unit> {
        Some(self.profile.main.charges.get(id.index())?.unit)
    }

    /// How often an instruction runs, by known trip counts.
    pub fn weight(&self, id: InsnId) -> f64 {
        let main = &self.profile.main;
        let block = main.cfg.block_of(id);
        let around = block
            .into_iter()
            .flat_map(|block| main.loop_nest.around(block));
        around
            .map(|id| {
                let trips = main.loops.get(id.index()).and_then(|report| report.trips);
                trips.map_or(1.0, |trips| trips as f64)
            })
            .product()
    }

    /// Executed instructions, in order of address.
    pub fn executed(&self) -> impl Iterator<Item = (InsnId, &'a Instruction)> {
        let main = &self.profile.main;
        main.cfg
            .reached()
            .flat_map(|(_, block)| block.ids())
            .filter_map(|id| Some((id, main.code.get(id)?.known()?)))
    }

    /// Executed blocks with their instructions.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, Vec<(InsnId, &'a Instruction)>)> {
        let main = &self.profile.main;
        main.cfg.reached().map(|(id, block)| {
            let insns = block
                .ids()
                .filter_map(|id| Some((id, main.code.get(id)?.known()?)));
            (id, insns.collect())
        })
    }

    /// The bases in uniforms at which the program itself writes device memory.
    pub fn written_bases(&self) -> Vec<Operand> {
        let mut bases = Vec::new();
        for access in self.executed().filter_map(|(_, insn)| insn.memory()) {
            let writes = matches!(access.kind, AccessKind::Store | AccessKind::Atomic(_));
            let uniform = matches!(access.base, Operand::Uniform(_));
            if writes && uniform && access.space == Space::Device && !bases.contains(&access.base) {
                bases.push(access.base);
            }
        }
        bases
    }

    /// The instructions of a loop that are not in a loop inside it.
    pub fn own_body(&self, report: &LoopReport) -> Vec<(InsnId, &'a Instruction)> {
        let main = &self.profile.main;
        report
            .blocks
            .iter()
            .filter(|&&block| main.loop_nest.innermost(block) == Some(report.id))
            .filter_map(|&block| main.cfg.block(block))
            .flat_map(|block| block.ids())
            .filter_map(|id| Some((id, main.code.get(id)?.known()?)))
            .collect()
    }

    /// Registers written anywhere in a loop.
    pub fn written_in(&self, report: &LoopReport) -> RegSet {
        let main = &self.profile.main;
        main.body(report)
            .into_iter()
            .fold(RegSet::EMPTY, |all, id| all.union(self.writes(id)))
    }

    /// Conditions open at an instruction.
    pub fn if_depth(&self, id: InsnId) -> u32 {
        let main = &self.profile.main;
        let Some(block) = main.cfg.block_of(id) else {
            return 0;
        };
        main.blocks
            .binary_search_by_key(&block, |report| report.id)
            .ok()
            .and_then(|at| main.blocks.get(at))
            .map_or(0, |report| report.if_depth)
    }
}

/// Whether an instruction only computes a value from its operands.
pub(crate) fn is_pure(insn: &Instruction) -> bool {
    matches!(
        insn.class(),
        Class::Float32
            | Class::Float16
            | Class::Logic
            | Class::IntegerAdd
            | Class::IntegerMultiply
            | Class::BitField
            | Class::BitCount
            | Class::Select
            | Class::Convert
            | Class::Round
            | Class::Transcendental
    )
}
