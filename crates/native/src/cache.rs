//! Object files kept on disk.
//!
//! Whoever can write an object file can run code as the user who loads it. The folder must therefore belong to the user and be
//! writable by nobody else, and a file begins with the hash of what follows: one that was cut short is compiled again.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Changes when the same text is to be compiled in another way.
const VERSION: &str = "1";

const HASH: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file name for a text compiled by a command on this CPU.
    pub(crate) fn key(&self, command: &str, text: &str) -> String {
        let mut hash = Sha256::new();
        for part in [VERSION, &cpu(), command, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let hex = hash.finalize();
        hex.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        if !is_private(&self.folder) {
            return None;
        }
        let bytes = std::fs::read(self.folder.join(key)).ok()?;
        let (hash, object) = bytes.split_at_checked(HASH)?;
        (Sha256::digest(object)[..] == *hash).then(|| object.to_vec())
    }

    /// Keeps an object file. A folder that cannot be written only costs the next compilation.
    pub(crate) fn put(&self, key: &str, object: &[u8]) {
        if !self.folder.exists() {
            let _ = make_private(&self.folder);
        }
        if !is_private(&self.folder) {
            return;
        }
        let unfinished = self.folder.join(format!("{key}.{}", std::process::id()));
        let mut bytes = Sha256::digest(object).to_vec();
        bytes.extend_from_slice(object);
        let written = std::fs::write(&unfinished, bytes)
            .and_then(|()| std::fs::rename(&unfinished, self.folder.join(key)));
        if written.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(_folder: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Returns true if a folder is the user's own, and nobody else may write to it.
#[cfg(unix)]
fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let found = std::fs::symlink_metadata(folder);
    found.is_ok_and(|found| found.is_dir() && found.uid() == own && found.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_private(_folder: &Path) -> bool {
    false
}

/// What code compiled for this very CPU depends on.
fn cpu() -> String {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::__cpuid_count;
        let leaves = [(0, 0), (1, 0), (7, 0), (7, 1), (0x8000_0001, 0)];
        let registers = leaves.map(|(leaf, sub)| {
            #[allow(unused_unsafe, reason = "safe in newer compilers")]
            // SAFETY: every CPU of this architecture has the instruction.
            let found = unsafe { __cpuid_count(leaf, sub) };
            // Not the number of the core that runs this, which is in `ebx` of leaf 1.
            let ebx = if leaf == 1 { 0 } else { found.ebx };
            (found.eax, ebx, found.ecx & !(1 << 27), found.edx)
        });
        format!("{registers:?}")
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::env::consts::ARCH.to_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_was_changed_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().join("native"));
        let key = cache.key("clang", "text");
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"object");
        assert_eq!(cache.get(&key).as_deref(), Some(&b"object"[..]));
        let file = folder.path().join("native").join(&key);
        let mut bytes = std::fs::read(&file).expect("the file");
        *bytes.last_mut().expect("a byte") ^= 1;
        std::fs::write(&file, bytes).expect("written");
        assert_eq!(cache.get(&key), None);
        assert_ne!(key, cache.key("clang", "other text"));
        assert_ne!(key, cache.key("other clang", "text"));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(folder.path().to_owned());
        let key = cache.key("clang", "text");
        cache.put(&key, b"object");
        assert!(cache.get(&key).is_some());
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).expect("permissions");
        assert_eq!(cache.get(&key), None);
    }
}
