//! Opens files that the text of a stranger names: an agent's argument, a job, a launch in a comment, a configuration.
//!
//! A path is looked up in some folders and nowhere else. What lies outside has one answer, whether it exists or not. What lies
//! inside is opened from the handle of its folder down, one name at a time, and no name may be a link: what was a link when the
//! path was looked up has been resolved by then, so a path that changes meanwhile leads nowhere. What was opened must be a plain
//! file of a real file system: a FIFO would be waited for, a device has no end, and files of `/proc` tell about processes.

use std::fs::File;
use std::io::{Error, Read};
use std::path::{Component, Path, PathBuf};

/// Bytes of a file that are read where nobody asks for fewer.
pub const LARGEST: u64 = 512 << 20;

/// Why a path was refused, in words that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// Folders that may be read, by their real paths.
///
/// ```
/// use assay_msl::beneath::Folders;
/// use std::path::Path;
///
/// let folders = Folders::new([env!("CARGO_MANIFEST_DIR")]);
/// let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
/// assert!(folders.read(&file, 1 << 20).is_ok());
/// let refused = folders.read(Path::new("/etc/passwd"), 1 << 20).unwrap_err();
/// assert_eq!(refused.message, "/etc/passwd is outside the allowed folders");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Folders by any paths; one that is not there allows nothing.
    pub fn new<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Folders {
        let real = |folder: P| folder.as_ref().canonicalize().ok();
        Folders(folders.into_iter().filter_map(real).collect())
    }

    /// Their real paths.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// The real path of what lies in one of the folders, or would if it were made: its own folder is there.
    pub fn real(&self, path: &Path) -> Result<PathBuf, Refused> {
        let (real, missing) = self.lookup(path).ok_or_else(|| self.outside(path))?;
        match missing > 1 {
            true => Err(unreadable(path, &Error::from(std::io::ErrorKind::NotFound))),
            false => Ok(real),
        }
    }

    /// Returns true if something lies there, inside the folders.
    pub fn has(&self, path: &Path) -> bool {
        matches!(self.lookup(path), Some((_, 0)))
    }

    /// Returns true if a path leads into the folders, or would if something were there.
    pub fn holds(&self, path: &Path) -> bool {
        self.lookup(path).is_some()
    }

    /// Opens a plain file to be read.
    pub fn open(&self, path: &Path) -> Result<File, Refused> {
        let real = self.real(path)?;
        let cannot = |error: Error| unreadable(path, &error);
        let file = self.beneath(&real, Purpose::Read).map_err(cannot)?;
        let facts = file.metadata().map_err(cannot)?;
        let shown = path.display();
        if facts.is_dir() {
            let message = format!("{shown} is a folder");
            return Err(refused(message, Some("name a file inside it")));
        }
        if !facts.is_file() || is_of_the_kernel(&file) {
            let message = format!("{shown} is not a plain file");
            return Err(refused(
                message,
                Some("devices, pipes and /proc are not read here"),
            ));
        }
        if facts.len() > LARGEST {
            return Err(too_large(path, LARGEST));
        }
        Ok(file)
    }

    /// The bytes of a plain file, at most so many.
    pub fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>, Refused> {
        let file = self.open(path)?;
        let mut bytes = Vec::new();
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        let read = read.map_err(|error| unreadable(path, &error))?;
        match read as u64 > most {
            true => Err(too_large(path, most)),
            false => Ok(bytes),
        }
    }

    /// Makes a file that is not there yet.
    pub fn create(&self, path: &Path) -> Result<File, Refused> {
        let real = self.real(path)?;
        let made = self.beneath(&real, Purpose::Create);
        made.map_err(|error| refused(format!("cannot write {}: {error}", path.display()), None))
    }

    /// Where a path really leads inside the folders, and how many of its last names are not there.
    ///
    /// `..` is taken from the text: a question about `a/../b` must not tell whether `a` exists.
    fn lookup(&self, path: &Path) -> Option<(PathBuf, usize)> {
        let plain = plain(path);
        let (there, real) = plain
            .ancestors()
            .find_map(|there| Some((there, there.canonicalize().ok()?)))?;
        let missing = plain.strip_prefix(there).ok()?;
        if let Some(first) = missing.components().next() {
            // A link that leads nowhere may lead out some day.
            let link = there.join(first).symlink_metadata();
            if link.is_ok_and(|link| link.is_symlink()) {
                return None;
            }
        }
        let real = match missing.as_os_str().is_empty() {
            true => real,
            false => real.join(missing),
        };
        let inside = self.0.iter().any(|folder| real.starts_with(folder));
        inside.then(|| (real, missing.components().count()))
    }

    fn outside(&self, path: &Path) -> Refused {
        let names = self.0.iter().map(|folder| folder.display().to_string());
        let names: Vec<String> = names.collect();
        let message = format!("{} is outside the allowed folders", path.display());
        refused(message, Some(&format!("allowed: {}", names.join(", "))))
    }

    /// Opens a file by its real path from the handle of the folder it lies in, without following a link.
    #[cfg(unix)]
    fn beneath(&self, real: &Path, purpose: Purpose) -> std::io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        let outside = || Error::other("it is outside the allowed folders");
        let folder = self.0.iter().find(|folder| real.starts_with(folder));
        let folder = folder.ok_or_else(outside)?;
        let mut names = Vec::new();
        for component in real
            .strip_prefix(folder)
            .map_err(|_| outside())?
            .components()
        {
            match component {
                Component::Normal(name) => names.push(name),
                _ => return Err(outside()),
            }
        }
        let last = names
            .pop()
            .ok_or_else(|| Error::from(std::io::ErrorKind::IsADirectory))?;
        let down = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let mut handle = rustix::fs::open(folder, down, Mode::empty())?;
        for name in names {
            handle = openat(&handle, name, down, Mode::empty())?;
        }
        let (flags, mode) = match purpose {
            // A FIFO without a writer would be waited for.
            Purpose::Read => (
                OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
                Mode::empty(),
            ),
            Purpose::Create => {
                let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                (new, Mode::from_raw_mode(0o666))
            }
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&handle, last, flags, mode)?.into())
    }

    /// Handles of folders are not to be had here.
    #[cfg(not(unix))]
    fn beneath(&self, real: &Path, purpose: Purpose) -> std::io::Result<File> {
        if !self.0.iter().any(|folder| real.starts_with(folder)) {
            return Err(Error::other("it is outside the allowed folders"));
        }
        match purpose {
            Purpose::Read => File::open(real),
            Purpose::Create => File::options().write(true).create_new(true).open(real),
        }
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Read,
    Create,
}

/// A path from the root without `.` and `..`, by its text alone.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Returns true for files that the kernel makes up: `/proc`, `/sys` and what is mounted below them.
#[cfg(target_os = "linux")]
fn is_of_the_kernel(file: &File) -> bool {
    /// `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, both versions of `cgroup`, `bpf`, `configfs`.
    const KINDS: [i64; 9] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
        0x6265_6570,
    ];
    rustix::fs::fstatfs(file).is_ok_and(|system| {
        #[allow(
            clippy::useless_conversion,
            reason = "the type differs by architecture"
        )]
        KINDS.contains(&i64::from(system.f_type))
    })
}

#[cfg(not(target_os = "linux"))]
fn is_of_the_kernel(_: &File) -> bool {
    false
}

fn refused(message: String, advice: Option<&str>) -> Refused {
    Refused {
        message,
        advice: advice.map(str::to_owned),
    }
}

fn unreadable(path: &Path, error: &Error) -> Refused {
    refused(format!("cannot read {}: {error}", path.display()), None)
}

fn too_large(path: &Path, most: u64) -> Refused {
    let shown = path.display();
    let message = format!("{shown} has more than {most} bytes, the most that is read");
    refused(message, None)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct World {
        _folder: tempfile::TempDir,
        root: PathBuf,
        outside: PathBuf,
        folders: Folders,
    }

    fn world() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, outside) = (base.join("inside"), base.join("outside"));
        for folder in [&root, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("k.metal"), "text").unwrap();
        }
        World {
            _folder: folder,
            folders: Folders::new([&root]),
            root,
            outside,
        }
    }

    #[test]
    fn only_what_really_lies_inside_is_allowed() {
        let World {
            root,
            outside,
            folders,
            ..
        } = &world();
        symlink(outside.join("k.metal"), root.join("link.metal")).unwrap();
        symlink(outside, root.join("folder")).unwrap();
        symlink("../outside/new.metal", root.join("dangling.metal")).unwrap();
        symlink("k.metal", root.join("inner.metal")).unwrap();
        let fine = |name: &str| folders.real(&root.join(name)).is_ok();
        for name in ["k.metal", "new.metal", "inner.metal", "../inside/k.metal"] {
            assert!(fine(name), "{name}");
        }
        for bad in [
            "../outside/k.metal",
            "link.metal",
            "folder/k.metal",
            "folder/new.metal",
            "dangling.metal",
            "/etc/passwd",
            "no/such/folder/k.metal",
            "..",
        ] {
            assert!(!fine(bad), "{bad}");
        }
        // A neighbour whose name starts alike is another folder.
        std::fs::create_dir(root.with_file_name("inside2")).unwrap();
        assert!(!fine("../inside2/new.metal"));
    }

    #[test]
    fn what_lies_outside_has_one_answer() {
        let World {
            root,
            outside,
            folders,
            ..
        } = &world();
        symlink(outside, root.join("folder")).unwrap();
        symlink("../nowhere", root.join("nowhere")).unwrap();
        let answer = |path: &Path| {
            let refused = folders.open(path).expect_err("it is outside");
            let shown = path.display().to_string();
            (refused.message.replace(&shown, "it"), refused.advice)
        };
        let one = answer(&outside.join("k.metal"));
        assert_eq!(one.0, "it is outside the allowed folders");
        for path in [
            outside.join("missing.metal"),
            outside.join("missing/folder/k.metal"),
            root.join("../outside"),
            root.join("../missing"),
            root.join("folder/k.metal"),
            root.join("folder/missing/k.metal"),
            root.join("nowhere"),
            root.join("nowhere/k.metal"),
            "/srv/secret".into(),
            "/proc/self/environ".into(),
            "/dev/zero".into(),
        ] {
            assert_eq!(answer(&path), one, "{}", path.display());
        }
        // Ways through what exists and through what does not are the same way.
        for way in [
            "../outside/../inside/k.metal",
            "../missing/../inside/k.metal",
        ] {
            assert!(folders.open(&root.join(way)).is_ok(), "{way}");
        }
    }

    #[test]
    fn only_plain_files_are_read_and_only_so_far() {
        let World { root, folders, .. } = &world();
        let fifo = root.join("fifo.npy");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        std::fs::create_dir(root.join("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        for name in ["fifo.npy", "folder", "socket", "missing"] {
            assert!(folders.open(&root.join(name)).is_err(), "{name}");
        }
        let everything = Folders::new(["/"]);
        for name in ["/dev/zero", "/dev/null", "/dev/tty"] {
            assert!(everything.open(Path::new(name)).is_err(), "{name}");
        }
        if cfg!(target_os = "linux") {
            assert!(everything.open(Path::new("/proc/self/environ")).is_err());
        }
        let file = root.join("k.metal");
        assert_eq!(folders.read(&file, 4).ok().as_deref(), Some(&b"text"[..]));
        assert!(folders.read(&file, 3).is_err());
        let huge = File::create(root.join("huge")).unwrap();
        huge.set_len(LARGEST + 1).unwrap();
        assert!(folders.open(&root.join("huge")).is_err());
        assert!(folders.create(&file).is_err());
        assert!(folders.create(&root.join("new")).is_ok());
    }

    /// Swaps a folder with a link to the outside as fast as it can, while files are read and made in it.
    #[test]
    fn a_folder_that_turns_into_a_link_leads_nowhere() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let World {
            root,
            outside,
            folders,
            ..
        } = &world();
        let (part, link, aside) = (root.join("part"), root.join("link"), root.join("aside"));
        std::fs::create_dir(&part).unwrap();
        std::fs::write(part.join("k.metal"), "ours").unwrap();
        std::fs::write(outside.join("k.metal"), "secret").unwrap();
        symlink(outside, &link).unwrap();
        let done = AtomicBool::new(false);
        let (mut read, mut made) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for (from, to) in [
                        (&part, &aside),
                        (&link, &part),
                        (&part, &link),
                        (&aside, &part),
                    ] {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            });
            let before = std::time::Instant::now();
            let mut number = 0;
            while (read < 200 || made < 200) && before.elapsed().as_secs() < 20 {
                number += 1;
                if let Ok(bytes) = folders.read(&part.join("k.metal"), 100) {
                    assert_eq!(bytes, b"ours");
                    read += 1;
                }
                if folders
                    .create(&part.join(format!("new-{number}.metal")))
                    .is_ok()
                {
                    made += 1;
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(read > 0 && made > 0, "{read} {made}");
        assert_eq!(std::fs::read_dir(outside).unwrap().count(), 1);
    }
}
