//! The switches that a program's environment gives.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Kernels that do not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skip {
    /// None of them.
    #[default]
    None,
    /// Those whose results the program does not read (`deferred.rs`).
    Unread,
    /// All; copies and fills run.
    All,
}

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `ASSAY_METAL_CHECK`: every dispatch is checked.
    pub check: bool,
    /// `ASSAY_METAL_STOP`: the first report ends the process, with 1.
    pub stop: bool,
    /// `ASSAY_METAL_LOG`: 1 tells what was compiled and a summary, 2 every dispatch.
    pub log: u32,
    /// `ASSAY_METAL_CHIP`: which chip the device says it is.
    pub chip: Option<String>,
    /// `ASSAY_METAL_REPORT`: a file for the reports, as lines of JSON.
    pub report: Option<PathBuf>,
    /// `ASSAY_METAL_SUPPRESS`: a file with reports that are known.
    pub suppress: Option<PathBuf>,
    /// `ASSAY_METAL_RECORD`: a file for what the program encodes.
    pub record: Option<PathBuf>,
    /// `ASSAY_METAL_CLOCK`: a socket whose other end tells GPU times (`assay metal run --clock modelled`).
    pub clock: Option<PathBuf>,
    /// `ASSAY_METAL_NO_EXECUTE`: which kernels do not run.
    pub skip: Skip,
    /// `ASSAY_NATIVE` is not 0: dispatches that take long go on as machine code.
    pub native: bool,
    zombies: bool,
    leaks: bool,
}

/// The settings of this process.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let is_on = |name: &str| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
        };
        Settings {
            check: is_on("ASSAY_METAL_CHECK"),
            stop: is_on("ASSAY_METAL_STOP"),
            log: std::env::var("ASSAY_METAL_LOG")
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
            chip: std::env::var("ASSAY_METAL_CHIP").ok(),
            report: std::env::var_os("ASSAY_METAL_REPORT").map(PathBuf::from),
            suppress: std::env::var_os("ASSAY_METAL_SUPPRESS").map(PathBuf::from),
            record: std::env::var_os("ASSAY_METAL_RECORD")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            clock: std::env::var_os("ASSAY_METAL_CLOCK")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            skip: match std::env::var("ASSAY_METAL_NO_EXECUTE").as_deref() {
                Ok("all") => Skip::All,
                Ok("" | "0") | Err(_) => Skip::None,
                Ok(_) => Skip::Unread,
            },
            native: std::env::var_os("ASSAY_NATIVE").is_none_or(|value| value != "0"),
            zombies: is_on("ASSAY_METAL_ZOMBIES"),
            leaks: is_on("ASSAY_METAL_LEAKS"),
        }
    })
}

/// A folder for compiled sources.
pub(crate) fn cache() -> PathBuf {
    if let Some(folder) = std::env::var_os("ASSAY_CACHE") {
        return folder.into();
    }
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home);
    base.unwrap_or_else(std::env::temp_dir).join("assay")
}

/// Sets up what must be so from the start.
pub(crate) fn apply() {
    if settings().skip == Skip::Unread {
        crate::deferred::start();
    }
    if settings().zombies {
        assay_objc::diagnostics::keep_zombies();
    }
}

/// Whether objects that are left at exit are listed.
pub(crate) fn leaks() -> bool {
    settings().leaks
}
