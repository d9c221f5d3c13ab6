//! What git knows: where the repository is, which commit to compare with, and that commit's files, read from its objects
//! without touching the work tree.

use crate::failure::{Failure, Kind};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository with a work tree.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    pub(super) root: PathBuf,
}

/// The commit that kernels are compared with.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) commit: String,
    pub(super) tree: String,
    /// True if it is the merge base of what was named and this tree's commit.
    pub(super) merge_base: bool,
    /// True if history was cut off, so that there may be a merge base that is not here.
    pub(super) shallow: bool,
}

/// A file of a commit.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) object: String,
    pub(super) is_link: bool,
}

/// What git calls the mode of a submodule.
const MODULE: &str = "160000";

/// Symbolic links that are followed at most.
const MOST_LINKS: usize = 8;

/// Bytes of one file; larger ones are no source.
const LARGEST: u64 = 256 << 20;

impl Repository {
    /// The repository that a folder is in; none if it is in none, or there is no git.
    pub(super) fn around(folder: &Path) -> Option<Repository> {
        let here = Repository {
            root: folder.to_owned(),
        };
        let top = here.text(&["rev-parse", "--show-toplevel"]).ok()?;
        let root = PathBuf::from(top);
        Some(Repository {
            root: root.canonicalize().unwrap_or(root),
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.root)
            // A monitor is a program that the repository's configuration names.
            .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            .args(arguments)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.command(arguments).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    fn text(&self, arguments: &[&str]) -> Result<String, String> {
        let bytes = self.run(arguments)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    fn paths(&self, arguments: &[&str]) -> Result<Vec<String>, String> {
        let bytes = self.run(arguments)?;
        let names = bytes
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect())
    }

    /// Files of the work tree that are tracked, or new and not ignored.
    pub(super) fn files(&self) -> Result<Vec<String>, Failure> {
        let arguments = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let mut files = self.paths(&arguments).map_err(Failure::input)?;
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The commit to compare with: the merge base of `name` and HEAD, or what `name` is itself where history is cut off.
    pub(super) fn base(&self, name: &str) -> Result<Base, Failure> {
        let shallow = self.text(&["rev-parse", "--is-shallow-repository"]);
        let shallow = shallow.is_ok_and(|answer| answer == "true");
        if name.starts_with('-') {
            return Err(Failure::usage(format!(
                "--against {name}: that is no name of a commit"
            )));
        }
        let named = self.text(&[
            "rev-parse",
            "--verify",
            "--quiet",
            &format!("{name}^{{commit}}"),
        ]);
        let named = named.map_err(|_| self.unknown(name, shallow))?;
        let merge_base = self.text(&["merge-base", &named, "HEAD"]).ok();
        let merge_base = merge_base.filter(|commit| !commit.is_empty());
        let commit = merge_base.clone().unwrap_or_else(|| named.clone());
        let tree = self.text(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]);
        // A commit names its parents, also where a shallow clone does not have them.
        let head = self.text(&["cat-file", "-p", "HEAD"]).unwrap_or_default();
        let headers = head.lines().take_while(|line| !line.is_empty());
        let parent = format!("parent {named}");
        let shallow = shallow && !headers.into_iter().any(|line| line == parent);
        Ok(Base {
            tree: tree.map_err(Failure::input)?,
            merge_base: merge_base.is_some_and(|base| base != named),
            shallow,
            commit,
        })
    }

    fn unknown(&self, name: &str, shallow: bool) -> Failure {
        let message = format!("--against {name}: there is no such commit here");
        let short = name.strip_prefix("origin/").unwrap_or(name);
        Failure::usage(message).advice(match shallow {
            true => format!(
                "this is a shallow clone; fetch it: git fetch --depth=1 origin \
                 +refs/heads/{short}:refs/remotes/origin/{short}"
            ),
            false => {
                format!("fetch it first: git fetch origin {short}; git branch --all lists names")
            }
        })
    }

    /// The files of a tree, symbolic links among them; submodules are left out.
    pub(super) fn entries(&self, tree: &str) -> Result<Vec<Entry>, Failure> {
        let bytes = self.run(&["ls-tree", "-r", "-z", "--full-tree", tree]);
        let bytes = bytes.map_err(Failure::input)?;
        let lines = bytes.split(|byte| *byte == 0);
        let entries = lines.filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            let (facts, path) = line.split_once('\t')?;
            let mut facts = facts.split(' ');
            let (mode, kind, object) = (facts.next()?, facts.next()?, facts.next()?);
            (kind == "blob" && is_plain(Path::new(path))).then(|| Entry {
                path: path.to_owned(),
                object: object.to_owned(),
                is_link: mode == "120000",
            })
        });
        Ok(entries.collect())
    }

    /// Submodules that are at another commit in the index than in a tree.
    pub(super) fn moved_modules(&self, tree: &str) -> Vec<String> {
        let listed = |arguments: &[&str], object: usize| -> BTreeMap<String, String> {
            let lines = self.paths(arguments).unwrap_or_default().into_iter();
            let modules = lines.filter_map(|line| {
                let (facts, path) = line.split_once('\t')?;
                let mut facts = facts.split(' ');
                (facts.next()? == MODULE)
                    .then(|| Some((path.to_owned(), facts.nth(object)?.to_owned())))?
            });
            modules.collect()
        };
        let before = listed(&["ls-tree", "-r", "-z", "--full-tree", tree], 1);
        let now = listed(&["ls-files", "--stage", "-z", "--full-name", ":/"], 0);
        let moved = now
            .into_iter()
            .filter(|(path, object)| before.get(path).is_some_and(|known| known != object));
        moved.map(|(path, _)| path).collect()
    }

    /// The text of a file of a tree.
    pub(super) fn text_of(&self, entries: &[Entry], path: &str) -> Option<String> {
        let entry = entries.iter().find(|entry| entry.path == path)?;
        let bytes = self.objects().ok()?.read(&entry.object).ok()?;
        (!entry.is_link).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes files of a tree below a folder. Links become what they lead to, inside the tree.
    pub(super) fn extract(
        &self,
        entries: &[Entry],
        wanted: impl Fn(&str) -> bool,
        folder: &Path,
    ) -> Result<(), Failure> {
        let fail = |what: String| Failure::input(format!("cannot read the commit's files: {what}"));
        let by_path: BTreeMap<&str, &Entry> = entries
            .iter()
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        let mut objects = self.objects().map_err(|error| fail(error.to_string()))?;
        for entry in entries.iter().filter(|entry| wanted(&entry.path)) {
            let mut from = entry;
            let mut content = objects.read(&from.object).map_err(fail)?;
            for _ in 0..MOST_LINKS {
                if !from.is_link {
                    break;
                }
                let target = String::from_utf8_lossy(&content).into_owned();
                let Some(next) =
                    resolve(&from.path, &target).and_then(|p| by_path.get(p.as_str()).copied())
                else {
                    break;
                };
                from = next;
                content = objects.read(&from.object).map_err(fail)?;
            }
            if from.is_link {
                continue;
            }
            let path = folder.join(&entry.path);
            let parent = path.parent().unwrap_or(folder);
            let written =
                std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, content));
            written.map_err(|error| fail(format!("{}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Writes a whole tree below a folder, as git checks it out: modes and links as they are, submodules left out.
    pub(super) fn check_out(&self, tree: &str, folder: &Path) -> Result<(), Failure> {
        // An index of its own: that of the work tree is not touched.
        let index = tempfile::tempdir()?;
        let run = |arguments: &[&str]| {
            let mut command = self.command(arguments);
            let output = command
                .env("GIT_INDEX_FILE", index.path().join("index"))
                .output();
            let output = output.map_err(|error| Failure::input(format!("git: {error}")))?;
            let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            output.status.success().then_some(()).ok_or_else(|| {
                Failure::input(format!("cannot check out the commit's files: {told}"))
            })
        };
        run(&["read-tree", tree])?;
        run(&[
            "checkout-index",
            "--all",
            "--force",
            &format!("--prefix={}/", folder.display()),
        ])
    }

    fn objects(&self) -> std::io::Result<Objects> {
        let mut command = self.command(&["cat-file", "--batch"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || std::io::Error::other("no pipe");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Objects {
            child,
            input: Some(input),
            output,
        })
    }
}

/// A process that answers with objects.
struct Objects {
    child: std::process::Child,
    input: Option<std::process::ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Objects {
    fn read(&mut self, object: &str) -> Result<Vec<u8>, String> {
        let input = self.input.as_mut().ok_or("git is gone")?;
        writeln!(input, "{object}").map_err(|error| error.to_string())?;
        let mut head = String::new();
        self.output
            .read_line(&mut head)
            .map_err(|error| error.to_string())?;
        let mut words = head.split_whitespace();
        let size = words.nth(2).and_then(|size| size.parse::<u64>().ok());
        let Some(size) = size.filter(|size| *size <= LARGEST) else {
            return Err(format!("git says `{}` of {object}", head.trim()));
        };
        let mut content = vec![0; size as usize + 1];
        self.output
            .read_exact(&mut content)
            .map_err(|error| error.to_string())?;
        // After the content stands a line end.
        content.pop();
        Ok(content)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// Returns true if a path stays below where it starts.
fn is_plain(path: &Path) -> bool {
    let mut components = path.components();
    components.all(|component| matches!(component, Component::Normal(_)))
}

/// Where a link leads, if that is in the tree.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        return None;
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What to say where there must be a repository.
pub(super) fn no_repository() -> Failure {
    Failure::new(Kind::Usage, "--against compares with a commit, and this folder is in no git repository")
        .advice("keep figures in a file instead: baseline = \"assay-baseline.json\" in assay.toml, then assay gate --update")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_of_the_tree_or_nowhere() {
        assert_eq!(resolve("a/b/x.h", "../y.h").as_deref(), Some("a/y.h"));
        assert_eq!(resolve("x.h", "./d/y.h").as_deref(), Some("d/y.h"));
        assert_eq!(resolve("x.h", "../y.h"), None);
        assert_eq!(resolve("x.h", "/etc/passwd"), None);
        assert!(
            !is_plain(Path::new("../x"))
                && !is_plain(Path::new("/x"))
                && is_plain(Path::new("a/b"))
        );
    }
}
