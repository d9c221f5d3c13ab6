//! What a run is limited by, with the measurements that say so.
//!
//! The thresholds are those of the usual profiling guides: above 80 % busy the
//! kernels themselves are the limit, below 30 % the GPU mostly waits to be given
//! work, and in between it depends on what the idle time consists of.

use super::document::{Analysis, Confidence, Program, Transfers, Verdict, VerdictKind};

/// Busy fraction from which on the kernels are the limit.
pub(crate) const DENSE: f64 = 0.8;
/// Busy fraction below which the GPU mostly waits.
pub(crate) const SPARSE: f64 = 0.3;
/// Share of copies in GPU time that makes a run transfer-bound.
const COPIES: f64 = 0.5;
/// Executions below which any verdict is a guess.
const FEW: u64 = 20;

/// The verdict on everything computed so far (`analysis.verdict` is ignored).
pub(crate) fn judge(analysis: &Analysis, used_table: bool) -> Verdict {
    if analysis.recording.origin == "capture" {
        return Verdict {
            kind: VerdictKind::NoTimes,
            confidence: Confidence::High,
            summary: summary(VerdictKind::NoTimes).to_owned(),
            evidence: vec![
                "a .gputrace bundle records calls; record a Metal System Trace for times"
                    .to_owned(),
            ],
            also: Vec::new(),
        };
    }
    if let Some(program) = analysis.program.as_ref().filter(|one| one.gpu_ms > 0.0) {
        return of_program(program);
    }
    if analysis.intervals.rows_target == 0 {
        return no_work(analysis, used_table);
    }
    let facts = Facts::of(analysis);
    let kind = facts.kind();
    let mut verdict = Verdict {
        kind,
        confidence: facts.confidence(analysis, kind),
        summary: summary(kind).to_owned(),
        evidence: Vec::new(),
        also: facts.also(kind),
    };
    evidence(analysis, &facts, &mut verdict.evidence);
    verdict
}

/// The verdict on a recorded program: what its modelled time consists of, gaps within encoders included.
fn of_program(program: &Program) -> Verdict {
    let share = |part: f64| part / program.gpu_ms;
    let (kernels, gaps, copies) = (
        share(program.kernels_ms),
        share(program.overhead_ms),
        share(program.copies_ms),
    );
    let kind = if copies >= COPIES {
        VerdictKind::TransferBound
    } else if gaps >= 0.5 {
        VerdictKind::LaunchBound
    } else if kernels >= DENSE {
        VerdictKind::KernelBound
    } else {
        VerdictKind::Mixed
    };
    // How long gaps are is known within a factor of three: a verdict that a third or thrice of them changes is not sure.
    let is_sure = match kind {
        VerdictKind::LaunchBound => gaps / 3.0 >= kernels + copies,
        VerdictKind::KernelBound => kernels >= DENSE * (kernels + 3.0 * gaps + copies),
        _ => false,
    };
    let mut evidence = vec![format!(
        "kernels take {:.3} ms of {:.3} ms (modelled), gaps between dispatches and starts of command buffers {:.3} ms, copies {:.3} ms",
        program.kernels_ms, program.gpu_ms, program.overhead_ms, program.copies_ms
    )];
    if program.host.waits > 0 {
        evidence.push(format!(
            "the program waited for the GPU {} times; what a real round trip costs is not in this time",
            program.host.waits
        ));
    }
    Verdict {
        kind,
        confidence: if is_sure {
            Confidence::High
        } else {
            Confidence::Medium
        },
        summary: summary(kind).to_owned(),
        evidence,
        also: Vec::new(),
    }
}

/// The few numbers that decide.
struct Facts {
    utilization: f64,
    /// Share of command-buffer pairs with a strong synchronisation point.
    strong: f64,
    /// Share of idle time in gaps at strong points.
    strong_idle: f64,
    /// Share of idle time in which another process held the GPU.
    contended_idle: f64,
    contended_window: f64,
    copies: f64,
    wiring: f64,
    /// GPU work per command buffer against the cost of launching one.
    work_us: f64,
    launch_us: f64,
}

impl Facts {
    fn of(analysis: &Analysis) -> Self {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let gaps = &analysis.gaps;
        let sync = &analysis.synchronisation;
        let buffers = analysis.intervals.command_buffers.max(1) as f64;
        Facts {
            utilization: analysis.gpu.utilization,
            strong: share(sync.strong as f64, sync.pairs as f64),
            strong_idle: share(sync.strong_gap_ms, gaps.total_ms),
            contended_idle: share(gaps.contended_ms, gaps.total_ms),
            contended_window: share(gaps.contended_ms, analysis.window.span_ms),
            copies: analysis.transfers.blit_share,
            wiring: share(
                analysis.transfers.wiring_ms.unwrap_or(0.0),
                analysis.window.span_ms,
            ),
            work_us: analysis.gpu.busy_ms * 1e3 / buffers,
            launch_us: analysis.latency.median_us.unwrap_or(0.0),
        }
    }

    fn kind(&self) -> VerdictKind {
        if self.is_contended() {
            VerdictKind::Contended
        } else if self.is_transfer_bound() {
            VerdictKind::TransferBound
        } else if self.utilization >= DENSE {
            VerdictKind::KernelBound
        } else if self.utilization < SPARSE {
            // Waiting for each buffer hurts whatever its size, but when a buffer holds
            // less work than it costs to launch, the launches are the limit: even
            // without the waits the GPU would idle.
            if self.is_synchronised() && self.work_us > self.launch_us {
                VerdictKind::SynchronisationBound
            } else {
                VerdictKind::LaunchBound
            }
        } else if self.is_synchronised() {
            VerdictKind::SynchronisationBound
        } else {
            VerdictKind::Mixed
        }
    }

    fn is_contended(&self) -> bool {
        self.contended_idle >= 0.5 && self.contended_window >= 0.2
    }

    fn is_transfer_bound(&self) -> bool {
        self.copies >= COPIES || self.wiring >= SPARSE
    }

    fn is_synchronised(&self) -> bool {
        self.strong >= 0.5 && self.strong_idle >= 0.5
    }

    fn also(&self, kind: VerdictKind) -> Vec<VerdictKind> {
        let applies = [
            (VerdictKind::LaunchBound, self.utilization < SPARSE),
            (VerdictKind::SynchronisationBound, self.is_synchronised()),
            (VerdictKind::TransferBound, self.copies >= 0.2),
            (VerdictKind::Contended, self.contended_window >= 0.1),
        ];
        let others = applies
            .into_iter()
            .filter(|&(other, yes)| yes && other != kind);
        others.map(|(other, _)| other).collect()
    }

    fn confidence(&self, analysis: &Analysis, kind: VerdictKind) -> Confidence {
        let few = analysis.intervals.rows_target < FEW;
        let distance = match kind {
            VerdictKind::KernelBound => self.utilization - DENSE,
            VerdictKind::LaunchBound => SPARSE - self.utilization,
            VerdictKind::SynchronisationBound => self.strong_idle - 0.5,
            VerdictKind::TransferBound => (self.copies - COPIES).max(self.wiring - SPARSE),
            VerdictKind::Contended => self.contended_idle - 0.5,
            _ => 0.0,
        };
        let commits_known = analysis.gaps.unexplained_ms <= analysis.gaps.total_ms * 0.2;
        match (few, distance, commits_known) {
            (true, ..) => Confidence::Low,
            (false, distance, true) if distance >= 0.1 => Confidence::High,
            (false, distance, _) if distance >= 0.02 => Confidence::Medium,
            _ if kind == VerdictKind::Mixed => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

fn summary(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::NoGpuWork => "the target did no GPU work",
        VerdictKind::KernelBound => {
            "the GPU is busy nearly all the time: the kernels themselves are the limit"
        }
        VerdictKind::LaunchBound => {
            "the GPU mostly waits to be given work: there is too little of it per submission"
        }
        VerdictKind::SynchronisationBound => {
            "host and GPU take turns: the host waits for the GPU before it submits more"
        }
        VerdictKind::TransferBound => "copies and memory work take most of the GPU's time",
        VerdictKind::Contended => "other processes hold the GPU while the target's work is ready",
        VerdictKind::Mixed => "no single cause limits this run",
        VerdictKind::NoTimes => "this recording holds calls but no times",
    }
}

fn evidence(analysis: &Analysis, facts: &Facts, out: &mut Vec<String>) {
    let gaps = &analysis.gaps;
    out.push(format!(
        "the GPU ran the target's work for {:.3} ms of {:.3} ms ({:.3} %)",
        analysis.gpu.busy_ms,
        analysis.window.span_ms,
        facts.utilization * 100.0
    ));
    if gaps.count > 0 && facts.utilization < DENSE {
        out.push(format!(
            "{} gaps, {:.1} µs each on average, against {:.1} µs of work per command buffer",
            gaps.count,
            gaps.mean_us.unwrap_or(0.0),
            facts.work_us
        ));
    }
    if gaps.host_late > 0 && facts.utilization < DENSE {
        out.push(format!(
            "in {} of {} gaps the next work was committed after the GPU had run dry: {:.3} ms waiting for the host, {:.3} ms from commit to start",
            gaps.host_late, gaps.count, gaps.host_wait_ms, gaps.launch_ms
        ));
    }
    let sync = &analysis.synchronisation;
    if facts.strong >= 0.2 {
        out.push(format!(
            "{} of {} command buffers were committed only after the one before was reported complete",
            sync.strong, sync.pairs
        ));
    }
    if facts.copies >= 0.2 {
        out.push(format!(
            "{} blit executions take {:.1} % of the target's GPU time; {}",
            analysis.transfers.blits,
            facts.copies * 100.0,
            copied(&analysis.transfers)
        ));
    }
    if facts.contended_window >= 0.05 {
        out.push(format!(
            "other processes held the GPU for {:.3} ms while committed work of the target waited",
            gaps.contended_ms
        ));
    }
    if facts.utilization >= DENSE
        && let Some(top) = analysis.labels.first()
    {
        out.push(format!(
            "{} takes {:.1} % of the target's GPU time",
            top.label,
            top.share * 100.0
        ));
    }
}

/// What copies moved, and how fast.
fn copied(transfers: &Transfers) -> String {
    let Some((bytes, gbs)) = transfers.blit_bytes.zip(transfers.blit_gbs) else {
        return "how many bytes they move is not in the recording (--work gives it)".to_owned();
    };
    let part = transfers
        .blit_of_bandwidth
        .map_or_else(String::new, |part| {
            format!(
                ", read and written {:.0} % of the chip's bandwidth",
                part * 100.0
            )
        });
    format!(
        "they move {} at {gbs:.2} GB/s{part}",
        assay_report::number::bytes(bytes)
    )
}

fn no_work(analysis: &Analysis, used_table: bool) -> Verdict {
    let mut evidence = vec![format!(
        "{} of {} rows of metal-gpu-intervals belong to the target",
        0, analysis.intervals.rows_total
    )];
    let target = &analysis.recording.target;
    match (target.exit_status, &target.termination) {
        (Some(0), _) | (None, None) => {}
        (Some(status), _) => evidence.push(format!("the target exited with status {status}")),
        (None, Some(reason)) => evidence.push(format!("the target ended: {reason}")),
    }
    if !used_table {
        evidence.push("no metal-gpu-intervals table was among the inputs".to_owned());
    }
    let sure = used_table && analysis.intervals.rows_total > 0 && target.pid.is_some();
    Verdict {
        kind: VerdictKind::NoGpuWork,
        confidence: if sure {
            Confidence::High
        } else {
            Confidence::Low
        },
        summary: summary(VerdictKind::NoGpuWork).to_owned(),
        evidence,
        also: Vec::new(),
    }
}
