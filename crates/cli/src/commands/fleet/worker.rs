//! `assay fleet worker`.

use super::access::{AccessArgs, read};
use super::child::Children;
use super::{failure, runtime};
use crate::commands::bench::DeviceName;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::{interrupt, machine, toolchain};
use assay_fleet::{Access, Error, Fleet, Machine, Stop, Trust, Worker, WorkerOptions, names};
use std::path::PathBuf;
use std::time::Duration;

/// Take jobs of a pool and run them here
///
/// Connects to the server, says what this machine is, and takes one job at a time, in turns with benchmarks that run here
/// otherwise. A job runs in a process of its own with limits: one that hangs or crashes is lost, the worker is not. When the
/// server is away the worker waits for it. SIGTERM or Ctrl-C ends it after the job it is at; a second one at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet worker --server nats://macs.example:4222 --key mini-m2.nk --pool m2 --device metal
  assay fleet worker --pool m2 --key mini-m2.nk --trust submitters.txt
  assay fleet worker --server nats://127.0.0.1:4222 --user linux-1 --pool cpu --allow-unsigned")]
pub(super) struct Args {
    #[command(flatten)]
    access: AccessArgs,

    /// Whose jobs to take [default: this Mac's chip, or cpu]
    #[arg(long, value_name = "POOL")]
    pool: Option<String>,

    /// What runs kernels
    #[arg(long, value_enum, value_name = "DEVICE", default_value_t = DeviceName::Cpu)]
    device: DeviceName,

    /// Submitters whose signed jobs are run, and their public keys, a line each: alice UA… [default: submitters.txt beside the key]
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,

    /// Also run jobs that nobody has signed: whoever can reach the server may have kernels run here
    #[arg(long)]
    allow_unsigned: bool,

    /// Memory of a job, where the system can limit it (Linux)
    #[arg(long, value_name = "GIB", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1024))]
    memory: u64,

    /// How often a job is tried before it is given up
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    deliveries: u64,

    /// End after so many jobs
    #[arg(long, value_name = "N")]
    most: Option<u64>,

    /// The version to work as; for tests of upgrades
    #[arg(long, hide = true, default_value = env!("CARGO_PKG_VERSION"))]
    as_version: String,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let access = args.access.access()?;
    let chip = machine::mac().and_then(|mac| mac.chip);
    let pool = args
        .pool
        .clone()
        .or(chip)
        .unwrap_or_else(|| "cpu".to_owned());
    if !names::is_token(&pool) {
        return Err(Failure::usage(format!(
            "--pool {pool}: letters, digits, - and _"
        )));
    }
    let list = args.trust.clone();
    let list = list.or_else(|| args.access.identity.beside("submitters.txt"));
    let keys = match &list {
        Some(path) => Trust::read(&read(path)?)
            .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?,
        None if args.allow_unsigned => Default::default(),
        None => {
            return Err(Failure::usage("whose jobs are to be run?").advice(
                "--trust submitters.txt, which assay fleet init writes; or --allow-unsigned for everybody's",
            ));
        }
    };
    let compiler = toolchain::find().ok();
    if compiler.is_none() && args.device == DeviceName::Cpu {
        return Err(
            Failure::new(Kind::Missing, "a worker needs a clang to compile kernels")
                .advice(toolchain::install_advice()),
        );
    }
    let options = WorkerOptions {
        pool: pool.clone(),
        machine: Machine {
            worker: access.user.clone(),
            device: assay_sweep::device_name(args.device.origin()).to_owned(),
            version: args.as_version.clone(),
            facts: facts(compiler.map(|compiler| compiler.identity)),
        },
        trust: Trust {
            required: !args.allow_unsigned,
            keys,
        },
        deliveries: args.deliveries,
        most: args.most,
    };
    let children = Children::new(assay_sweep::device_name(args.device.origin()), args.memory)?;
    interrupt::cooperate();
    let answered = runtime()?.block_on(async {
        let (ask, stop) = Stop::new();
        tokio::spawn(watch_for_signals(ask));
        let fleet = tokio::select! {
            fleet = connect(&access, context) => fleet?,
            () = signalled() => return Ok(0),
        };
        context.note(&format!(
            "assay fleet worker {}: pool {pool}, {}",
            access.user, access.server
        ));
        let worker = Worker::new(fleet, options, children);
        worker.work(&stop, &mut |text| context.note(text)).await
    });
    let answered = answered.map_err(failure)?;
    context.note(&format!("answered {answered} jobs"));
    Ok(Outcome::Fine)
}

/// Connects; a server that is away is waited for, one that refuses is not.
async fn connect(access: &Access, context: &Context) -> Result<Fleet, Error> {
    match Fleet::connect(access).await {
        Err(error @ Error::Unreachable { .. }) => {
            context.note(&format!("waiting for the server: {error}"));
            let patient = Access {
                patient: true,
                ..access.clone()
            };
            Fleet::connect(&patient).await
        }
        connected => connected,
    }
}

/// Passes a signal on.
async fn watch_for_signals(ask: tokio::sync::watch::Sender<bool>) {
    signalled().await;
    let _ = ask.send(true);
}

async fn signalled() {
    while !interrupt::requested() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What this machine is, as far as it is known.
fn facts(compiler: Option<String>) -> std::collections::BTreeMap<String, String> {
    let mac = machine::mac();
    let known = [
        ("chip", mac.as_ref().and_then(|mac| mac.chip.clone())),
        (
            "gpu_cores",
            mac.as_ref()
                .and_then(|mac| mac.gpu_cores)
                .map(|cores| cores.to_string()),
        ),
        ("processor", machine::processor(mac.as_ref())),
        ("threads", Some(machine::threads().to_string())),
        (
            "memory_bytes",
            machine::memory_bytes(mac.as_ref()).map(|bytes| bytes.to_string()),
        ),
        ("os", Some(std::env::consts::OS.to_owned())),
        ("os_release", machine::system(mac.as_ref())),
        ("compiler", compiler),
    ];
    let known = known.into_iter();
    known
        .filter_map(|(name, fact)| Some((name.to_owned(), fact?)))
        .collect()
}
