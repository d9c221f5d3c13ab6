//! What happens in a made-up run.

use super::Random;
use crate::events::Span;

/// A run in a few numbers. Times are nanoseconds and means; single values vary.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Steps (tokens, iterations).
    pub steps: u64,
    /// Labels of the encoders of one step, with their mean GPU time.
    pub kernels: Vec<(String, u64)>,
    /// Encoders per command buffer.
    pub encoders_per_buffer: usize,
    /// Time the host needs to encode one encoder.
    pub encode: u64,
    /// Time from commit to start on an idle GPU.
    pub launch: u64,
    /// Whether the host waits for each command buffer before encoding the next.
    pub waits: bool,
    /// Command buffers the host may be ahead of the GPU when it does not wait.
    pub ahead: usize,
    /// Command queues used in turn; work of different queues overlaps.
    pub queues: usize,
    /// Another process's executions: mean duration and mean distance, none when 0.
    pub other: (u64, u64),
    /// A pause after this many steps, of this length.
    pub pause: Option<(u64, u64)>,
    /// Bytes of the buffer each step allocates, and whether the next step frees it.
    pub allocates: Option<(u64, bool)>,
    /// The longest time for which the host is away before it encodes a command buffer (a file is read, a lock is waited for): each
    /// time another one, short ones as often as long ones. None when 0.
    pub stalls: u64,
}

impl Scenario {
    fn base(steps: u64) -> Self {
        Scenario {
            seed: 1,
            steps,
            kernels: Vec::new(),
            encoders_per_buffer: 1,
            encode: 8_000,
            launch: 90_000,
            waits: false,
            ahead: 3,
            queues: 1,
            other: (40_000, 4_000_000),
            pause: None,
            allocates: None,
            stalls: 0,
        }
    }

    /// An unfused program: 490 tiny executions per step, a command buffer for five of
    /// them, and a wait for each.
    pub fn eager(steps: u64) -> Self {
        let operations = [
            "rms_norm", "matmul", "rope", "softmax", "silu", "mul", "add",
        ];
        let kernels = (0..490).map(|index| {
            let name = operations
                .get(index % operations.len())
                .copied()
                .unwrap_or("add");
            (format!("layer {}:{name}", index / 14), 9_000)
        });
        Scenario {
            kernels: kernels.collect(),
            encoders_per_buffer: 5,
            waits: true,
            ..Scenario::base(steps)
        }
    }

    /// The same program compiled: 70 longer executions per step, queued ahead.
    pub fn compiled(steps: u64) -> Self {
        let kernels = (0..70).map(|index| {
            let name = if index % 2 == 0 {
                "fused_attention"
            } else {
                "fused_mlp"
            };
            (format!("layer {}:{name}", index / 2), 45_000)
        });
        Scenario {
            kernels: kernels.collect(),
            encoders_per_buffer: 35,
            encode: 6_000,
            ..Scenario::base(steps)
        }
    }

    /// A program that copies more than it computes.
    pub fn transfer_heavy(steps: u64) -> Self {
        let kernels = vec![
            ("upload:Blit Command 0".to_owned(), 160_000),
            ("compute:scale".to_owned(), 50_000),
            ("download:Blit Command 0".to_owned(), 180_000),
        ];
        Scenario {
            kernels,
            encoders_per_buffer: 3,
            ..Scenario::base(steps)
        }
    }

    /// A program that shares the GPU with a busy neighbour.
    pub fn contended(steps: u64) -> Self {
        Scenario {
            kernels: vec![("mine:kernel".to_owned(), 200_000)],
            encoders_per_buffer: 1,
            encode: 5_000,
            launch: 60_000,
            other: (900_000, 50_000),
            ..Scenario::base(steps)
        }
    }

    /// A dense program on several queues whose work overlaps.
    pub fn multi_queue(steps: u64) -> Self {
        Scenario {
            kernels: vec![
                ("left:gemm".to_owned(), 400_000),
                ("right:gemm".to_owned(), 350_000),
            ],
            encoders_per_buffer: 1,
            queues: 2,
            encode: 5_000,
            ..Scenario::base(steps)
        }
    }

    /// A program that allocates four megabytes in every step and never frees them.
    pub fn leaking(steps: u64) -> Self {
        Scenario {
            kernels: vec![("step:decode".to_owned(), 400_000)],
            allocates: Some((4 << 20, false)),
            ..Scenario::base(steps)
        }
    }

    /// Large work items with a wait after each: dense kernels, idle between them.
    pub fn synchronised(steps: u64) -> Self {
        Scenario {
            kernels: vec![("step:train".to_owned(), 2_000_000)],
            waits: true,
            encode: 1_500_000,
            launch: 120_000,
            ..Scenario::base(steps)
        }
    }
}

/// One execution on the GPU.
#[derive(Clone, Debug)]
pub struct Execution {
    /// When.
    pub span: Span,
    /// When its command buffer was committed.
    pub commit: u64,
    /// When the host began and ended encoding it.
    pub encoding: Span,
    /// Its label.
    pub label: String,
    /// Its command buffer.
    pub command_buffer: u64,
    /// Its encoder.
    pub encoder: u64,
    /// Whether it is the target's or the neighbour's.
    pub target: bool,
}

/// A run that was played.
#[derive(Clone, Debug)]
pub struct Trace {
    executions: Vec<Execution>,
    /// Completion notices: time and command buffer.
    pub completions: Vec<(u64, u64)>,
    /// Buffers allocated: when, how large, and when they were freed.
    pub allocations: Vec<(u64, u64, Option<u64>)>,
}

/// When the first command buffer is encoded.
const BEGIN: u64 = 500_000_000;
/// From GPU end to the completion notice.
const NOTICE: u64 = 95_000;
/// Ids of the target's objects start here.
const FIRST_ID: u64 = 0x1_0274_b58b;

impl Trace {
    /// Plays a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let mut random = Random::new(scenario.seed);
        let queues = scenario.queues.max(1);
        let mut host = BEGIN;
        let mut gpu = vec![BEGIN; queues];
        let mut id = FIRST_ID;
        let mut executions = Vec::new();
        let mut completions = Vec::new();
        let mut in_flight: Vec<u64> = Vec::new();
        let mut buffers = 0usize;
        let per_buffer = scenario.encoders_per_buffer.max(1);
        let neighbour = Neighbour::new(scenario, &mut random);
        let mut allocations: Vec<(u64, u64, Option<u64>)> = Vec::new();
        for step in 0..scenario.steps {
            if let Some((bytes, freed)) = scenario.allocates {
                if let Some(before) = allocations.last_mut().filter(|_| freed) {
                    before.2 = Some(host);
                }
                allocations.push((host, bytes, None));
            }
            if let Some((after, length)) = scenario.pause
                && step == after
            {
                host += length;
            }
            for chunk in scenario.kernels.chunks(per_buffer) {
                if scenario.stalls > 0 {
                    host += scenario.stalls >> (random.next() % 8);
                }
                let buffer = id;
                id += 1;
                let first = executions.len();
                for (label, _) in chunk {
                    let length = random.about(scenario.encode);
                    executions.push(Execution {
                        span: Span::default(),
                        commit: 0,
                        encoding: Span::new(host, length),
                        label: label.clone(),
                        command_buffer: buffer,
                        encoder: id,
                        target: true,
                    });
                    host += length + 500;
                    id += 1;
                }
                let commit = host + 2_500;
                let queue = buffers % queues;
                buffers += 1;
                let free = gpu.get(queue).copied().unwrap_or(BEGIN);
                let mut at = if free > commit + scenario.launch {
                    free + 600
                } else {
                    commit + random.about(scenario.launch)
                };
                for (execution, (_, mean)) in executions.iter_mut().skip(first).zip(chunk) {
                    at = neighbour.free_from(at);
                    let length = random.about(*mean).max(1_000);
                    execution.commit = commit;
                    execution.span = Span::new(at, length);
                    at += length + 400;
                }
                let end = at - 400;
                if let Some(place) = gpu.get_mut(queue) {
                    *place = end;
                }
                let completed = end + random.about(NOTICE);
                completions.push((completed, buffer));
                in_flight.push(completed);
                host = if scenario.waits {
                    completed + 3_000
                } else {
                    commit + 1_000
                };
                if in_flight.len() > scenario.ahead.max(1) {
                    let oldest = in_flight.remove(0);
                    host = host.max(oldest);
                }
            }
        }
        let end = executions.iter().map(|e| e.span.end).max().unwrap_or(BEGIN);
        executions.extend(neighbour.until(end));
        executions.sort_by_key(|execution| (execution.span, execution.encoder));
        completions.sort_unstable();
        Trace {
            executions,
            completions,
            allocations,
        }
    }

    /// The executions of both processes, by start.
    pub fn all(&self) -> &[Execution] {
        &self.executions
    }

    /// The target's executions, by start.
    pub fn executions(&self) -> Vec<&Execution> {
        self.executions.iter().filter(|e| e.target).collect()
    }
}

/// Another process that takes the GPU at regular times.
struct Neighbour {
    length: u64,
    distance: u64,
    offset: u64,
}

impl Neighbour {
    fn new(scenario: &Scenario, random: &mut Random) -> Self {
        let (length, distance) = scenario.other;
        Neighbour {
            length,
            distance,
            offset: random.next() % 1000,
        }
    }

    /// The first moment from `at` on at which it does not hold the GPU. Only a neighbour
    /// that takes most of the GPU is waited for; others run beside.
    fn free_from(&self, at: u64) -> u64 {
        if self.length <= self.distance {
            return at;
        }
        let period = self.length + self.distance;
        let phase = at.saturating_sub(BEGIN + self.offset) % period;
        if phase < self.length {
            at + (self.length - phase)
        } else {
            at
        }
    }

    fn until(&self, end: u64) -> Vec<Execution> {
        if self.length == 0 {
            return Vec::new();
        }
        let period = self.length + self.distance;
        let mut at = BEGIN + self.offset;
        let mut out = Vec::new();
        let mut id = 0x521_6000;
        while at < end {
            out.push(Execution {
                span: Span::new(at, self.length),
                commit: at.saturating_sub(50_000),
                encoding: Span::new(at.saturating_sub(90_000), 20_000),
                label: "Command Buffer 0:Render Command 0".to_owned(),
                command_buffer: id,
                encoder: id + 1,
                target: false,
            });
            id += 2;
            at += period;
        }
        out
    }
}
