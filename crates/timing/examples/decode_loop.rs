//! A decode loop without a GPU: the calls an inference engine makes, with times drawn
//! from a small simulation instead of a device, and the reports it gets.
//!
//! ```text
//! cargo run -p assay-timing --example decode_loop                    # the table
//! cargo run -p assay-timing --example decode_loop -- json            # or json, csv, dispatch-csv,
//! cargo run -p assay-timing --example decode_loop -- chrome > t.json # chrome, recording
//! ```
//!
//! On a Mac the same calls are made for you by `assay_timing::metal`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use assay_timing::sampling::{Recycled, SampleChain};
use assay_timing::{CommandBufferSample, LabelId, Recorder, RecorderOptions, Sampling, TimeSource};
use std::process::ExitCode;

const TOKENS: usize = 64;
const LAYERS: usize = 16;
/// The simulated GPU counts at 24 MHz and started 3 s after the host's clock.
const NS_PER_TICK: f64 = 1e9 / 24e6;
const GPU_EPOCH_NS: u64 = 3_000_000_000;

/// Kernels of a command buffer and their usual times in nanoseconds.
const ATTENTION: [(&str, u64); 5] = [
    ("rms_norm_f16", 4_000),
    ("qkv_matvec_q4", 31_000),
    ("rope_f16", 3_500),
    ("sdpa_decode_f16", 22_000),
    ("out_matvec_q4", 12_000),
];
const FFN: [(&str, u64); 4] = [
    ("rms_norm_f16", 4_000),
    ("gate_up_matvec_q4", 58_000),
    ("silu_mul_f16", 5_000),
    ("down_matvec_q4", 33_000),
];
const HEAD: [(&str, u64); 2] = [("lm_head_matvec_q4", 410_000), ("argmax_f16", 9_000)];

/// The host's and the GPU's time, and a random number generator.
struct Machine {
    recorder: Recorder,
    host_ns: u64,
    gpu_free_ns: u64,
    seed: u64,
}

impl Machine {
    /// A number from 0 up to `below`, the same in every run.
    fn random(&mut self, below: u64) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.seed >> 33) % below.max(1)
    }

    fn ticks(ns: u64) -> u64 {
        ((ns - GPU_EPOCH_NS) as f64 / NS_PER_TICK) as u64
    }

    /// One command buffer: encode, commit, run, resolve, record.
    fn run(&mut self, label: LabelId, kernels: &[(LabelId, u64)]) {
        let id = self.recorder.begin_command_buffer();
        let created = self.host_ns;
        let mut chain = SampleChain::default();
        let mut samples = Vec::new();
        self.host_ns += 6_000 + self.random(2_000);
        let committed = self.host_ns;
        // The GPU starts when it is free and the launch has gone through.
        let start = self.gpu_free_ns.max(committed + 4_000 + self.random(3_000));
        let mut now = start;
        for (kernel, usual_ns) in kernels {
            chain.next(*kernel, || Some(Recycled::new(())));
            let took = usual_ns + self.random(usual_ns / 8);
            samples.extend([Self::ticks(now), Self::ticks(now + took)]);
            now += took;
        }
        let end = now;
        self.gpu_free_ns = end;
        // What a completion handler does: a clock pair, then the samples, then the buffer.
        let jitter = self.random(800);
        self.recorder
            .record_clock_pair(end + jitter, Self::ticks(end));
        let dispatches = Some(chain.dispatches());
        chain.resolve(&self.recorder, id, label, |(), _| Some(samples.clone()));
        self.recorder.record_command_buffer(&CommandBufferSample {
            dispatches,
            sampling: Sampling::EncoderPerDispatch,
            created_ns: Some(created),
            committed_ns: Some(committed),
            completed_ns: Some(end + 9_000),
            ..CommandBufferSample::new(id, label, start, end)
        });
    }
}

fn simulate(recorder: &Recorder) {
    let ids = |kernels: &[(&str, u64)]| -> Vec<(LabelId, u64)> {
        let id = |(name, ns): &(&str, u64)| (recorder.label(name), *ns);
        kernels.iter().map(id).collect()
    };
    let phases = [
        (recorder.label("decode.attention"), ids(&ATTENTION)),
        (recorder.label("decode.ffn"), ids(&FFN)),
    ];
    let head = (recorder.label("decode.head"), ids(&HEAD));
    let mut machine = Machine {
        recorder: recorder.clone(),
        host_ns: 10_000_000_000,
        gpu_free_ns: 0,
        seed: 7,
    };
    machine
        .recorder
        .record_clock_pair(machine.host_ns, Machine::ticks(machine.host_ns));
    for _ in 0..TOKENS {
        for _ in 0..LAYERS {
            for (label, kernels) in &phases {
                machine.run(*label, kernels);
            }
        }
        machine.run(head.0, &head.1);
        // The token is read back and sampled on the host before the next one starts.
        machine.host_ns = machine.gpu_free_ns + 60_000 + machine.random(40_000);
    }
}

fn main() -> ExitCode {
    // A real engine: `if assay_timing::is_enabled()` around recording into `global()`.
    let recorder = Recorder::with_options(&RecorderOptions {
        time_source: TimeSource::Modelled,
        process_name: Some("decode_loop".into()),
        ..RecorderOptions::default()
    });
    simulate(&recorder);
    let snapshot = recorder.snapshot();
    let format = std::env::args().nth(1);
    let report = match format.as_deref() {
        None | Some("text") => snapshot.to_text(),
        Some("json") => snapshot.to_json(),
        Some("csv") => snapshot.to_csv(),
        Some("dispatch-csv") => snapshot.to_dispatch_csv(),
        Some("chrome") => snapshot.to_chrome_trace(),
        Some("recording") => snapshot.to_recording(),
        Some(other) => {
            eprintln!("unknown format {other}; text, json, csv, dispatch-csv, chrome or recording");
            return ExitCode::from(2);
        }
    };
    print!("{report}");
    ExitCode::SUCCESS
}
