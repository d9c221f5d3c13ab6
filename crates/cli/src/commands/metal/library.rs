//! Where the shared object with Metal's API is.

use crate::failure::{Failure, Kind};
use crate::folders;
use std::path::{Path, PathBuf};

/// Its file name.
const NAME: &str = "libassay_metal_api.so";

/// The names under which programs are linked to it, or look for it while they run.
pub(super) const NAMES: &[&str] = &[
    "objc",
    "Metal",
    "Foundation",
    "CoreFoundation",
    "CoreGraphics",
    "IOKit",
    "MetalKit",
    "QuartzCore",
    "MTLCompiler",
    "System",
    "dispatch",
    "gnustep-base",
    "BlocksRuntime",
];

/// The shared object: what `ASSAY_METAL_LIBRARY` names, or the one beside this program, in the `lib` folder beside its folder, or in
/// the build folders of a clone.
pub(super) fn find() -> Result<PathBuf, Failure> {
    if cfg!(target_os = "macos") {
        return Err(Failure::new(
            Kind::Missing,
            "this Mac has Metal itself: assay metal stands in for it on Linux",
        )
        .advice("run the program as it is; assay trace record -- PROGRAM measures it"));
    }
    if let Some(named) = folders::variable("ASSAY_METAL_LIBRARY") {
        let missing = || {
            Failure::input(format!(
                "ASSAY_METAL_LIBRARY: {} is not a file",
                named.display()
            ))
        };
        return if named.is_file() {
            Ok(absolute(&named))
        } else {
            Err(missing())
        };
    }
    let program = std::env::current_exe().unwrap_or_default();
    let places = places(&absolute(&program));
    let found = places.iter().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        Failure::new(Kind::Missing, format!("{NAME}, Metal's API for Linux, is not beside this program"))
            .advice("in a clone: cargo build --release -p assay-metal-api; elsewhere: set ASSAY_METAL_LIBRARY to the file")
    })
}

fn places(program: &Path) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else {
        return Vec::new();
    };
    let near = [folder, &folder.join("../lib"), &folder.join("../lib/assay")]
        .map(|folder| folder.join(NAME));
    // target/debug/assay beside target/release: the same clone.
    let of_clone = ["release", "debug"].map(|profile| folder.join("..").join(profile).join(NAME));
    near.into_iter().chain(of_clone).collect()
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_beside_the_program_comes_first() {
        let all = places(Path::new("/opt/assay/bin/assay"));
        assert_eq!(all[0], Path::new("/opt/assay/bin/libassay_metal_api.so"));
        assert_eq!(
            all[1],
            Path::new("/opt/assay/bin/../lib/libassay_metal_api.so")
        );
    }
}
