//! `assay metal sdk`: a folder with what programs are built against.

use super::library;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::folders;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Print a folder with headers, libraries, and files for clang, CMake, Cargo and Python
///
/// The folder is made anew when something in it has changed. In it: `include` (our own declarations of Metal's compute API,
/// Foundation and the runtime), `lib` (one shared object under the names programs are linked to), `flags` (clang @flags),
/// `toolchain.cmake`, `cargo.toml` (cargo --config) and `python` (for PYTHONPATH).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay metal sdk
  assay metal sdk --folder sdk
  clang @$(assay metal sdk)/flags -fobjc-arc main.m -o main -lobjc")]
pub(crate) struct Args {
    /// Where to put it, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// The files of the folder, from `crates/metal/sdk`.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../metal/sdk/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files! {
    "include/Availability.h"
    "include/AvailabilityMacros.h"
    "include/Block.h"
    "include/CoreFoundation/CoreFoundation.h"
    "include/CoreGraphics/CGColorSpace.h"
    "include/CoreGraphics/CGGeometry.h"
    "include/Foundation/Foundation.h"
    "include/IOSurface/IOSurfaceRef.h"
    "include/Metal/MTL4.h"
    "include/Metal/MTLArgumentEncoder.h"
    "include/Metal/MTLDevice.h"
    "include/Metal/MTLIndirectCommandBuffer.h"
    "include/Metal/MTLTexture.h"
    "include/Metal/Metal.h"
    "include/MetalKit/MetalKit.h"
    "include/QuartzCore/QuartzCore.h"
    "include/TargetConditionals.h"
    "include/dispatch/dispatch.h"
    "include/mach/mach.h"
    "include/mach/mach_time.h"
    "include/mach/vm_page_size.h"
    "include/objc/message.h"
    "include/objc/objc.h"
    "include/objc/runtime.h"
    "include/sys/sysctl.h"
    "bin/rustc-wrapper"
    "cargo.toml"
    "flags"
    "python/sitecustomize.py"
    "toolchain.cmake"
};

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let folder = make(args.folder.as_deref())?;
    let mut output = context.output()?;
    writeln!(output, "{}", folder.display())?;
    output.finish()?;
    Ok(Outcome::Fine)
}

/// Makes the folder, or finds it as it is to be.
pub(super) fn make(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let library = library::find()?;
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => usual()?,
    };
    let told = |error: std::io::Error| {
        Failure::new(Kind::Input, format!("{}: {error}", folder.display()))
            .advice("assay metal sdk --folder FOLDER puts it elsewhere")
    };
    std::fs::create_dir_all(&folder).map_err(told)?;
    let folder = folder.canonicalize().map_err(told)?;
    if folder.to_string_lossy().contains(['"', '\\', ' ', ',']) {
        return Err(Failure::input(format!("{}: files for Cargo, CMake and clang name this folder; its path must not contain spaces, commas, quotes or backslashes", folder.display()))
            .advice("assay metal sdk --folder FOLDER puts it elsewhere"));
    }
    fill(&folder, &library).map_err(told)?;
    Ok(folder)
}

/// The folder in the user's cache, one per version.
fn usual() -> Result<PathBuf, Failure> {
    let named = folders::variable("ASSAY_CACHE");
    let cache = named.or_else(|| folders::cache().map(|cache| cache.join("assay")));
    let cache = cache.ok_or_else(|| {
        Failure::new(Kind::Missing, "there is no home folder to keep it in")
            .advice("assay metal sdk --folder FOLDER")
    })?;
    Ok(cache.join(concat!("metal-sdk-", env!("CARGO_PKG_VERSION"))))
}

fn fill(folder: &Path, library: &Path) -> std::io::Result<()> {
    for (name, text) in FILES {
        let text = text.replace("@SDK@", &folder.to_string_lossy());
        replace(&folder.join(name), &text)?;
    }
    let libraries = folder.join("lib");
    std::fs::create_dir_all(&libraries)?;
    for name in library::NAMES {
        link(library, &libraries.join(format!("lib{name}.so")))?;
    }
    Ok(())
}

/// Writes a file, unless it is there with this text: build systems look at the time of headers.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let new = beside(path);
    std::fs::write(&new, text)?;
    #[cfg(unix)]
    if path.parent().is_some_and(|parent| parent.ends_with("bin")) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755))?;
    }
    std::fs::rename(new, path)
}

/// A name for what will be renamed to `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    name.into()
}

#[cfg(unix)]
fn link(library: &Path, path: &Path) -> std::io::Result<()> {
    if std::fs::read_link(path).is_ok_and(|there| there == library) {
        return Ok(());
    }
    let new = beside(path);
    std::os::unix::fs::symlink(library, &new)?;
    std::fs::rename(new, path)
}

#[cfg(not(unix))]
fn link(library: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::copy(library, path).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_sdk_is_in_the_table() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../metal/sdk");
        let mut folders = vec![root.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push(
                        path.strip_prefix(&root)
                            .unwrap()
                            .to_string_lossy()
                            .into_owned(),
                    ),
                }
            }
        }
        found.sort();
        let mut known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_filled_once_and_names_itself() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("one.so");
        std::fs::write(&library, "").unwrap();
        let sdk = folder.path().join("sdk");
        std::fs::create_dir(&sdk).unwrap();
        fill(&sdk, &library).unwrap();
        let cargo = std::fs::read_to_string(sdk.join("cargo.toml")).unwrap();
        assert!(cargo.contains(&format!("{}/lib", sdk.display())));
        assert_eq!(
            std::fs::read_link(sdk.join("lib/libMetal.so")).unwrap(),
            library
        );
        let time = |name: &str| {
            std::fs::metadata(sdk.join(name))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = time("include/Metal/Metal.h");
        fill(&sdk, &library).unwrap();
        assert_eq!(time("include/Metal/Metal.h"), before);
    }
}
