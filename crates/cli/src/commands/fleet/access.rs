//! Which server, and as whom.

use crate::failure::Failure;
use crate::folders;
use assay_fleet::{Access, Priority, Roster};
use std::path::{Path, PathBuf};

/// How to reach a server.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct AccessArgs {
    /// The server: nats://host:4222, or tls://host:4222 [default: $ASSAY_FLEET]
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,

    #[command(flatten)]
    pub(super) identity: Identity,
}

/// Who one is.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Identity {
    /// A key file (assay fleet init makes them), or credentials of a NATS account [default: $ASSAY_FLEET_KEY]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Workers whose answers are believed, a line each: mini UA… m2 [default: workers.txt beside the key, if it is there]
    #[arg(long, value_name = "FILE")]
    trust_workers: Option<PathBuf>,

    /// The name of the user [default: the key file's name without its ending]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Certificates to believe besides the system's, for tls://
    #[arg(long, value_name = "FILE.pem")]
    ca: Option<PathBuf>,
}

/// What sends a command to other machines.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "On other machines")]
pub(crate) struct FleetArgs {
    /// Run it on workers of this server instead of here: nats://host:4222, or tls://host:4222
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) fleet: Option<String>,

    /// Pools to run it in, one job each: m1,m2,m4 [default: all that the server has]
    #[arg(long, value_name = "POOLS", value_delimiter = ',', requires = "fleet")]
    pub(crate) pools: Vec<String>,

    /// Ask workers even if the answer is known from the same question
    #[arg(long, requires = "fleet")]
    pub(crate) fresh: bool,

    /// Ask each question so often anew: the board's figure of a source is its middle run
    #[arg(long, value_name = "N", default_value_t = 1, requires = "fleet", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) runs: u32,

    /// What goes first
    #[arg(long, value_enum, value_name = "WHEN", requires = "fleet")]
    pub(crate) priority: Option<PriorityName>,

    /// Seconds that a job may take
    #[arg(long, value_name = "SECONDS", requires = "fleet", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) job_timeout: Option<u64>,

    /// Submit and do not wait: the jobs' names are printed, and assay fleet results collects their answers
    #[arg(long, requires = "fleet")]
    pub(crate) detach: bool,

    /// What Ctrl-C does with jobs that have no answer
    #[arg(long, value_enum, value_name = "WHAT", requires = "fleet")]
    pub(crate) on_interrupt: Option<OnInterrupt>,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnInterrupt {
    /// They are no longer wanted; the default
    #[default]
    Cancel,
    /// They stay, and their names are told: assay fleet results collects them
    Detach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PriorityName {
    /// Somebody waits for it
    High,
    /// As usual
    Normal,
    /// When nothing else is to do
    Low,
}

impl From<PriorityName> for Priority {
    fn from(name: PriorityName) -> Self {
        match name {
            PriorityName::High => Self::High,
            PriorityName::Normal => Self::Normal,
            PriorityName::Low => Self::Low,
        }
    }
}

impl AccessArgs {
    pub(super) fn access(&self) -> Result<Access, Failure> {
        let server = self.server.clone().or_else(|| {
            let server = folders::variable("ASSAY_FLEET")?;
            Some(server.display().to_string())
        });
        let server = server.ok_or_else(|| {
            Failure::usage("which server?").advice("--server nats://host:4222, or ASSAY_FLEET")
        })?;
        self.identity.access(server)
    }
}

impl Identity {
    /// A file beside the key, if it is there.
    pub(super) fn beside(&self, name: &str) -> Option<PathBuf> {
        let key = self.key.clone();
        let key = key.or_else(|| folders::variable("ASSAY_FLEET_KEY"))?;
        Some(key.with_file_name(name)).filter(|file| file.is_file())
    }

    pub(super) fn access(&self, server: String) -> Result<Access, Failure> {
        let path = self
            .key
            .clone()
            .or_else(|| folders::variable("ASSAY_FLEET_KEY"));
        let key = match &path {
            Some(path) => read(path)?,
            None => String::new(),
        };
        let stem = path.as_deref().and_then(Path::file_stem);
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        let user = self.user.clone().or(stem).ok_or_else(|| {
            Failure::usage("who are you?").advice(
                "--key FILE, whose name is yours; or --user NAME for a server without users",
            )
        })?;
        let list = self.trust_workers.clone();
        let roster = match list.or_else(|| self.beside("workers.txt")) {
            Some(path) => Roster::read(&read(&path)?)
                .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?,
            None => Roster::default(),
        };
        Ok(Access {
            server,
            user,
            roster,
            key,
            root_certificates: self.ca.clone(),
            patient: false,
        })
    }
}

/// A small text file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > 1 << 20 {
        return Err(Failure::input(format!(
            "{}: this is no key file",
            path.display()
        )));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}
