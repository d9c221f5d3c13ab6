//! A static profiler of AGX machine code: what a kernel costs, and why.
//!
//! [`Profile::new`] takes an [`assay_agx::Program`] and returns plain data: control flow
//! and loops, register pressure and occupancy, cycles per unit, dependences, waits,
//! bounds and a verdict, and [`Finding`]s. [`render`] turns it into text, HTML or a
//! graph; the types serialise to the JSON of `schemas/assay.profile.json`.
//!
//! ```
//! use assay_agx::{assemble, Isa, Program};
//! use assay_chip::Chip;
//! use assay_profile::{Options, Profile, render};
//!
//! let source = "
//!     mov_imm r0l, 0
//!     mov_imm r1, 0, 0b0
//!     top: fmadd32 r2, r3, r4, r2
//!     iadd r1, r1, 1
//!     while_icmp r0l, ult, r1, 100, 2
//!     jmp_exec_any top
//!     pop_exec r0l, 2
//!     stop";
//! let code = assemble(Isa::G13, source, 0)?.code;
//! let program = Program { code, ..Program::new(Isa::G13, "dot") };
//! let profile = Profile::new(&program, &Options::new(Chip::named("m1")?))?;
//! assert_eq!(profile.main.loops[0].trips, Some(100));
//! assert_eq!(profile.main.loops[0].costs.f32.exact(), Some(1.0));
//! let text = render::text(&profile, &render::Style::default());
//! assert!(text.contains("modelled"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How far to trust it
//!
//! Every figure is *modelled*. Issue slots and unit cycles come from microbenchmarks by
//! others ([`assay_chip::CostTable`]), good to a few per cent for arithmetic. Latencies
//! are less certain (10 to 70 %). A device load takes at least what an L1 hit takes;
//! what caches do with a kernel's accesses cannot be seen in its code. In-order issue of
//! one simdgroup and even sharing by several are assumptions about the schedulers.
//! Trip counts that the code does not state count as one and are shown as unknown.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod bounds;
mod cfg;
mod class;
mod code;
mod compare;
mod cost;
mod dominators;
mod findings;
mod ids;
mod lanes;
mod loops;
mod part;
mod paths;
mod positions;
mod profile;
pub mod render;
mod schedule;
mod survey;
mod trips;
mod units;
mod waits;

pub use bounds::{Bound, BoundKind, Bounds, device_rate};
pub use cfg::{Block, Cfg, Edge, EdgeKind, End, Trouble};
pub use code::{Code, Entry};
pub use compare::{Better, Change, Difference, FIGURES, Figure, Figures, Weight, compare, figures};
pub use cost::{Charge, Charges, Costs, Cycles, number};
pub use dominators::Dominators;
pub use findings::{
    Cure, Finding, Gain, Look, Metric, RULES, Rule, Seen, Severity, SourceLine, TimeGain, recipes,
    rule,
};
pub use ids::{BlockId, InsnId, LoopId};
pub use lanes::Liveness;
pub use loops::{Loop, Loops};
pub use part::{BlockReport, FunctionReport, LoopReport, Part};
pub use paths::{Paths, paths, weights};
pub use positions::Positions;
pub use profile::{
    Error, NextStep, OccupancyReport, Options, Origin, Profile, Symbol, TensorOperation,
    UnknownOperation,
};
pub use schedule::{Chain, Mode, Timing};
pub use survey::{AccessSurvey, Known, LoopSurvey, Remark, Share, Survey};
pub use trips::trip_counts;
pub use units::UNITS;
pub use waits::Wait;
