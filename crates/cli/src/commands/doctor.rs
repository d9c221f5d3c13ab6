//! `assay doctor`: what this machine can do, and how to get the rest.

use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use crate::platform::{Platform, system_tool};
use crate::toolchain::{self, Candidate, Verdict};
use assay_bench::reference::python::{self, Library};
use assay_device::{GpuDevice, Machine, MachineProbe, MetalSettings};
use assay_msl::Sandbox;
use assay_report::envelope::Envelope;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[cfg(test)]
use schemars::JsonSchema;

/// Say what this machine can do, and how to get the rest
///
/// Ends with 0 when Metal source can be compiled, which everything else builds on, and
/// with 4 when not. What only a Mac offers is listed, not required.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay doctor
  assay doctor --format json
  ASSAY_CLANG=/opt/llvm/bin/clang assay doctor")]
pub(crate) struct Args {
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.doctor.json
    Json,
}

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Document {
    /// Whether the main job, compiling and examining kernels, can be done.
    ready: bool,
    /// The clang that is used; null when none will do.
    compiler: Option<String>,
    /// Every clang that was looked at, in order of preference.
    candidates: Vec<CandidateEntry>,
    capabilities: Vec<Capability>,
}

/// A clang that was looked at.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct CandidateEntry {
    command: String,
    /// Where it was found.
    origin: &'static str,
    accepted: bool,
    /// Its version text, when accepted.
    version: Option<String>,
    /// Why it was refused.
    reason: Option<String>,
}

/// Something a machine may or may not offer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Capability {
    name: &'static str,
    /// What it is for.
    purpose: &'static str,
    present: bool,
    /// What was found.
    detail: String,
    /// How to get it; null when present or when this machine cannot have it.
    fix: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let examined = toolchain::examine();
    let used = examined.iter().find(|(_, verdict)| verdict.is_ok());
    let document = Document {
        ready: used.is_some(),
        compiler: used.map(|(candidate, _)| candidate.compiler.command_line()),
        capabilities: capabilities(used),
        candidates: examined
            .iter()
            .map(|(c, v)| candidate_entry(c, v))
            .collect(),
    };
    let ready = document.ready;
    let text = match args.format {
        Format::Json => Envelope::new("assay.doctor", 1, document).to_json(),
        Format::Text => render(&document, context),
    };
    match args.format {
        Format::Text => context.write_prose(&text)?,
        Format::Json => context.write(&text)?,
    }
    Ok(if ready {
        Outcome::Fine
    } else {
        Outcome::Missing
    })
}

fn candidate_entry(candidate: &Candidate, verdict: &Verdict) -> CandidateEntry {
    CandidateEntry {
        command: candidate.compiler.command_line(),
        origin: candidate.origin,
        accepted: verdict.is_ok(),
        version: verdict.as_ref().ok().map(|passed| passed.version.clone()),
        reason: verdict.as_ref().err().cloned(),
    }
}

fn capabilities(used: Option<&(Candidate, Verdict)>) -> Vec<Capability> {
    let folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let gpu = assay_device::open_metal(MetalSettings::default());
    vec![
        clang(used),
        sandbox(used),
        cache(&toolchain::wanted_cache_folder()),
        chip(),
        metal_gpu(gpu.as_deref()),
        counters(gpu.as_deref()),
        developer_tool(
            &folders,
            "Metal compiler",
            &["metal", "-v"],
            "compile with Apple's own compiler",
            METAL_TOOLCHAIN,
        ),
        developer_tool(
            &folders,
            "metal-tt",
            &["metal-tt", "--version"],
            "Apple's machine code for any GPU",
            METAL_TOOLCHAIN,
        ),
        xctrace(&folders),
        mlx(&folders),
    ]
}

fn clang(used: Option<&(Candidate, Verdict)>) -> Capability {
    let detail = used.and_then(|(candidate, verdict)| {
        let version = &verdict.as_ref().ok()?.version;
        Some(format!("{version} ({})", candidate.compiler.command_line()))
    });
    Capability {
        name: "clang",
        purpose: "compile Metal source",
        present: detail.is_some(),
        fix: detail
            .is_none()
            .then(|| toolchain::install_advice().to_owned()),
        detail: detail.unwrap_or_else(|| "none that passes the probe".to_owned()),
    }
}

/// Whether the compiler is confined by the system, besides the rules for what it is given.
fn sandbox(used: Option<&(Candidate, Verdict)>) -> Capability {
    let confined = used.is_none_or(|(_, verdict)| verdict.as_ref().is_ok_and(|p| p.confined));
    let (present, detail) = match assay_msl::sandbox() {
        Sandbox::Present(what) if confined => (true, what.clone()),
        Sandbox::Present(_) => {
            let detail = "this clang does not run in it; only the rules for source text hold";
            (false, detail.to_owned())
        }
        Sandbox::Missing(why) => (false, format!("{why}; only the rules for source text hold")),
    };
    let fix = match (present, assay_msl::sandbox()) {
        (true, _) => None,
        (false, Sandbox::Present(_)) => {
            Some("let ASSAY_CLANG name the program of a clang itself, not a script that starts one")
        }
        (false, Sandbox::Missing(_)) if !Platform::here().is_mac() => {
            Some("a kernel from 5.13 on with Landlock among its security modules, and seccomp")
        }
        (false, Sandbox::Missing(_)) => None,
    };
    Capability {
        name: "sandbox",
        purpose: "confine the compiler",
        present,
        detail,
        fix: fix.map(str::to_owned),
    }
}

fn cache(folder: &Path) -> Capability {
    let writable =
        std::fs::create_dir_all(folder).and_then(|()| tempfile::NamedTempFile::new_in(folder));
    Capability {
        name: "cache folder",
        purpose: "keep compiled headers",
        present: writable.is_ok(),
        detail: match &writable {
            Ok(_) => folder.display().to_string(),
            Err(error) => format!("{}: {error}", folder.display()),
        },
        fix: writable
            .is_err()
            .then(|| "let ASSAY_CACHE name a folder that can be written".to_owned()),
    }
}

const METAL_TOOLCHAIN: &str = "install Xcode, then sudo xcode-select -s /Applications/Xcode.app and xcodebuild -downloadComponent MetalToolchain";

/// Which chip this is, and whether its facts are known.
fn chip() -> Capability {
    let machine = Machine::detect(&System);
    Capability {
        name: "Apple chip",
        purpose: "choose the chip's facts",
        present: machine.is_some(),
        detail: machine.map_or_else(|| NEEDS_A_MAC.to_owned(), |machine| describe(&machine)),
        fix: None,
    }
}

/// `Apple M2 Max, 38 GPU cores, 32 GB, macOS 15.5; profiled as m2-max`
fn describe(machine: &Machine) -> String {
    let mut parts = vec![machine.name.clone()];
    parts.extend(machine.gpu_cores.map(|cores| format!("{cores} GPU cores")));
    parts.extend(machine.memory.map(|bytes| format!("{} GB", bytes >> 30)));
    parts.extend(
        machine
            .system
            .as_ref()
            .map(|version| format!("macOS {version}")),
    );
    let known = match &machine.chip {
        Some(chip) => format!("--chip {chip}"),
        None => "not among the chips known (assay chips)".to_owned(),
    };
    format!("{}; {known}", parts.join(", "))
}

fn metal_gpu(gpu: Result<&dyn GpuDevice, &assay_device::Error>) -> Capability {
    Capability {
        name: "Metal GPU",
        purpose: "run and time on the real GPU",
        present: gpu.is_ok(),
        detail: match gpu {
            Ok(gpu) => gpu.facts().name.clone(),
            Err(_) if !Platform::here().is_mac() => NEEDS_A_MAC.to_owned(),
            Err(error) => error.to_string(),
        },
        fix: None,
    }
}

/// Whether dispatches are timed one by one.
fn counters(gpu: Result<&dyn GpuDevice, &assay_device::Error>) -> Capability {
    let timing = match gpu {
        Ok(gpu) => gpu.dispatch_timing(),
        Err(_) => Err(NEEDS_A_MAC.to_owned()),
    };
    Capability {
        name: "GPU counters",
        purpose: "time each dispatch",
        present: timing.is_ok(),
        detail: timing.map_or_else(|why| why, |way| format!("timestamps {way}")),
        fix: None,
    }
}

/// Recording needs the tool and, for processes of others, the developer mode.
fn xctrace(folders: &[PathBuf]) -> Capability {
    let mut found = developer_tool(
        folders,
        "xctrace",
        &["xctrace", "version"],
        "record GPU traces",
        "install Xcode from the App Store, then sudo xcode-select -s /Applications/Xcode.app",
    );
    if !found.present {
        return found;
    }
    let security = toolchain::on_path(folders, "DevToolsSecurity");
    let status = security.and_then(|tool| first_output(Command::new(tool).arg("-status")));
    match status {
        Some(status) if status.contains("disabled") => {
            found.present = false;
            found.detail = "installed, but developer mode is disabled".to_owned();
            found.fix = Some("sudo DevToolsSecurity -enable".to_owned());
        }
        Some(_) => found.detail.push_str(", developer mode enabled"),
        None => {}
    }
    found
}

/// The machine's own tools.
pub(crate) struct System;

impl MachineProbe for System {
    fn sysctl(&self, name: &str) -> Option<String> {
        first_output(Command::new(system_tool("sysctl")).args(["-n", name]))
    }

    fn io_registry(&self) -> Option<String> {
        let output = Command::new(system_tool("ioreg"))
            .args(["-rc", "AGXAccelerator", "-d", "1"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

const NEEDS_A_MAC: &str = "needs a Mac";

/// A tool that `xcrun` finds and that runs, with arguments that make it say its version: Xcode 26 without its Metal toolchain
/// has a file called `metal` that only says what is missing.
fn developer_tool(
    folders: &[PathBuf],
    name: &'static str,
    version: &[&str],
    purpose: &'static str,
    fix: &str,
) -> Capability {
    let Some(xcrun) = toolchain::on_path(folders, "xcrun") else {
        let mac = Platform::here().is_mac();
        return Capability {
            name,
            purpose,
            present: false,
            detail: if mac {
                "xcrun is not there".to_owned()
            } else {
                NEEDS_A_MAC.to_owned()
            },
            fix: mac.then(|| "xcode-select --install".to_owned()),
        };
    };
    let tool = version.first().copied().unwrap_or(name);
    let found = first_output(Command::new(&xcrun).args(["--find", tool]));
    let trouble = found
        .as_ref()
        .and_then(|_| complaint(Command::new(&xcrun).args(version)));
    let present = found.is_some() && trouble.is_none();
    Capability {
        name,
        purpose,
        present,
        fix: (!present).then(|| fix.to_owned()),
        detail: match (found, trouble) {
            (Some(_), Some(trouble)) => format!("does not run: {trouble}"),
            (Some(path), None) => path,
            (None, _) => "not installed".to_owned(),
        },
    }
}

/// The first line a program says when it fails; `None` when it succeeds.
fn complaint(command: &mut Command) -> Option<String> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return Some(error.to_string()),
    };
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| !line.trim().is_empty());
    (!output.status.success())
        .then(|| first.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
}

fn mlx(folders: &[PathBuf]) -> Capability {
    let named = std::env::var_os("ASSAY_PYTHON").map(PathBuf::from);
    let python = named
        .or_else(|| toolchain::on_path(folders, "python3"))
        .or_else(|| toolchain::on_path(folders, "python"));
    let version = python.as_ref().and_then(|python| {
        let script = "import importlib.metadata as m; print(m.version('mlx'))";
        first_output(&mut python::inline(python, script))
    });
    Capability {
        name: "MLX in Python",
        purpose: "compare with a reference",
        present: version.is_some(),
        fix: version.is_none().then(|| {
            format!(
                "python3 -m pip install {}, or ASSAY_PYTHON=… names a Python that has it",
                Library::Mlx.package(Platform::here().is_mac())
            )
        }),
        detail: match (version, python) {
            (Some(version), _) => format!("mlx {version}"),
            (None, Some(_)) => "not installed".to_owned(),
            (None, None) => "no Python on the path".to_owned(),
        },
    }
}

/// The first line a program prints, when it succeeds.
fn first_output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().map(str::to_owned);
    first.filter(|line| output.status.success() && !line.is_empty())
}

fn render(document: &Document, context: &Context) -> String {
    let mut table = Table::new([
        Column::left(""),
        Column::left("for"),
        Column::left("here"),
        Column::left("found").shrink(),
    ])
    .painter(context.painter);
    for capability in &document.capabilities {
        let (word, role) = match capability.present {
            true => ("yes", Role::Good),
            false if capability.name == "clang" => ("no", Role::Bad),
            false => ("no", Role::Warn),
        };
        table.row([
            Cell::new(capability.name, Role::Name),
            Cell::from(capability.purpose),
            Cell::new(word, role),
            Cell::from(capability.detail.clone()),
        ]);
    }
    let mut out = table.render(context.width);
    let refused: Vec<&CandidateEntry> =
        document.candidates.iter().filter(|c| !c.accepted).collect();
    if !refused.is_empty() {
        out.push_str("\nRefused:\n");
        for candidate in refused {
            let reason = candidate.reason.as_deref().unwrap_or("");
            out.push_str(&format!("  {} {reason}\n", candidate.command));
        }
    }
    let fixes = document
        .capabilities
        .iter()
        .filter_map(|c| Some((c.name, c.fix.as_ref()?)));
    for (index, (name, fix)) in fixes.enumerate() {
        out.push_str(if index == 0 {
            "\nTo get the rest:\n"
        } else {
            ""
        });
        out.push_str(&format!("  {name}: {fix}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_checked_in() {
        crate::schema::check::<super::Document>("assay.doctor", 1);
    }
}
