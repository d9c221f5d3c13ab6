//! A profile for `sandbox-exec`: what a compiler may do is listed, everything else is denied.

use super::toolchain::Toolchain;
use super::{Access, Sandbox};
use crate::compiler::Compiler;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that applies a profile; part of every macOS.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Where the system's own libraries lie, and the developer tools that `clang` on the path is a door to.
const SYSTEM: [&str; 7] = [
    "/System",
    "/usr/lib",
    "/usr/share",
    "/usr/bin",
    "/Library/Developer",
    "/Applications/Xcode.app",
    "/private/var/db/xcode_select_link",
];

/// Of these only the names and times are looked at.
const EVERYWHERE: &str = "(allow file-read-metadata)";

/// Tries a profile on a program that does nothing.
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, reason = "only tested elsewhere")
)]
pub(super) fn find() -> Sandbox {
    find_with(Path::new(PROGRAM))
}

fn find_with(program: &Path) -> Sandbox {
    let mut command = Command::new(program);
    command.args(["-p", "(version 1)(allow default)", "/usr/bin/true"]);
    let ran = command.stdin(Stdio::null()).stderr(Stdio::null()).status();
    match ran {
        Ok(status) if status.success() => Sandbox::Present("sandbox-exec".to_owned()),
        Ok(status) => Sandbox::Missing(format!("sandbox-exec ended with {status}")),
        Err(error) => Sandbox::Missing(format!("{}: {error}", program.display())),
    }
}

/// A command as `sandbox-exec` runs it.
pub(super) fn confined(
    command: Command,
    compiler: &Compiler,
    access: &Access,
    program: &Path,
) -> Command {
    let mut confined = Command::new(program);
    let chain = Toolchain::of(compiler);
    confined.arg("-p").arg(profile(&chain, access));
    confined.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => confined.env(name, value),
            None => confined.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        confined.current_dir(folder);
    }
    // A command does not tell its streams: all of ours are pipes.
    confined
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    confined
}

/// The profile. Later rules win over earlier ones.
fn profile(chain: &Toolchain, access: &Access) -> String {
    let mut rules = vec![
        "(version 1)".to_owned(),
        "(deny default)".to_owned(),
        "(allow sysctl-read)".to_owned(),
        "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))".to_owned(),
        "(allow signal (target self))".to_owned(),
        EVERYWHERE.to_owned(),
    ];
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    read.extend(chain.read.iter().cloned());
    match access {
        Access::Everything => rules.push("(allow file-read*)".to_owned()),
        Access::Only(paths) => read.extend(paths.iter().cloned()),
    }
    rules.extend(read.iter().map(|path| allow("file-read*", path)));
    let system = SYSTEM.iter().map(PathBuf::from);
    let run: Vec<PathBuf> = system.chain(chain.run.iter().cloned()).collect();
    rules.extend(run.iter().map(|path| allow("process-exec", path)));
    rules.join("\n") + "\n"
}

fn allow(what: &str, path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = real.to_string_lossy();
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("(allow {what} (subpath \"{name}\"))")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn everything_is_denied_that_is_not_listed() {
        let chain = Toolchain {
            read: vec!["/opt/llvm/lib".into()],
            run: vec!["/opt/llvm/bin/clang".into()],
        };
        let folder = tempfile::tempdir().expect("a folder");
        let odd = folder
            .path()
            .canonicalize()
            .expect("a folder")
            .join("a \"b\"");
        std::fs::create_dir(&odd).expect("a folder");
        let text = profile(&chain, &Access::Only(vec![odd.clone()]));
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(text.contains("(allow process-exec (subpath \"/opt/llvm/bin/clang\"))"));
        let shown = odd.display().to_string().replace('"', "\\\"");
        assert!(text.contains(&format!("(allow file-read* (subpath \"{shown}\"))")));
        for never in [
            "file-write",
            "network",
            "process-fork",
            "(allow file-read*)\n",
        ] {
            assert!(!text.contains(never), "{never}: {text}");
        }
        let owner = profile(&chain, &Access::Everything);
        assert!(owner.contains("(allow file-read*)\n") && !owner.contains("file-write"));
    }

    #[test]
    fn the_compiler_is_run_by_the_program_that_applies_the_profile() {
        let folder = tempfile::tempdir().expect("a folder");
        let fake = folder.path().join("sandbox-exec");
        let script = "#!/bin/sh\n[ \"$1\" = -p ] || exit 9\ncase \"$2\" in \"(version 1)\"*) ;; *) exit 8;; esac\n\
                      case \"$2\" in *file-write*) exit 7;; esac\nshift 2\nexec \"$@\"\n";
        std::fs::write(&fake, script).expect("a file");
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        assert!(matches!(
            find_with(Path::new("/nonexistent/sandbox-exec")),
            Sandbox::Missing(_)
        ));
        let compiler = Compiler::new("/bin/sh");
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "printf '%s' \"$0 $GIVEN\"", "a b"])
            .env("GIVEN", "too");
        let mut confined = confined(command, &compiler, &Access::Everything, &fake);
        let output = confined.output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a b too");
        assert!(output.status.success());
    }
}
