//! Landlock and seccomp. Both bind the thread that asks for them and what it starts, so a thread of its own asks, starts the
//! compiler and ends: nothing of ours is bound.

use super::toolchain::Toolchain;
use super::{Access, Sandbox};
use crate::compiler::Compiler;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::OnceLock;

/// The newest Landlock whose restrictions are asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V6;

/// Starts a command in a thread that has given up everything else.
pub(super) fn spawn(
    mut command: Command,
    compiler: &Compiler,
    access: &Access,
) -> io::Result<Child> {
    let chain = Toolchain::of(compiler);
    in_thread(move || {
        restrict(&chain, access)?;
        command.spawn()
    })
}

/// Tries the sandbox on a thread that does nothing else.
pub(super) fn find() -> Sandbox {
    match in_thread(|| restrict(&Toolchain::default(), &Access::Only(Vec::new()))) {
        Ok(version) => Sandbox::Present(format!("Landlock (version {version}) and seccomp")),
        Err(error) => Sandbox::Missing(error.to_string()),
    }
}

fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread of the sandbox panicked")))
    })
}

/// Restricts this thread, for good; the version of Landlock.
fn restrict(chain: &Toolchain, access: &Access) -> io::Result<i32> {
    let version = files(chain, access).map_err(io::Error::other)?;
    let Some(version) = version else {
        return Err(io::Error::other("this kernel has no Landlock"));
    };
    // Their programs are the same every time, and took longer to make than everything else here.
    static FILTERS: OnceLock<Result<[BpfProgram; 2], String>> = OnceLock::new();
    let filters = FILTERS.get_or_init(|| filters().map_err(|error| error.to_string()));
    let filters = filters.as_ref();
    for filter in filters.map_err(|error| io::Error::other(error.as_str()))? {
        seccompiler::apply_filter(filter).map_err(io::Error::other)?;
    }
    Ok(version)
}

/// No file is written and none read but these; no connection of TCP, no signal to others.
fn files(chain: &Toolchain, access: &Access) -> Result<Option<i32>, landlock::RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let everything = [PathBuf::from("/")];
    let given = match access {
        Access::Everything => everything.as_slice(),
        Access::Only(paths) => paths,
    };
    let rules = allow(rules, &chain.read, read)?;
    let rules = allow(rules, given, read)?;
    let status = allow(rules, &chain.run, run)?.restrict_self()?;
    let version = match status.landlock {
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => kernel_abi.unwrap_or(effective_abi as i32),
        _ => 0,
    };
    let holds = status.ruleset != RulesetStatus::NotEnforced;
    Ok(holds.then_some(version))
}

/// What is not there needs no rule.
fn allow(
    mut rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    for path in paths {
        let Ok(handle) = PathFd::new(path) else {
            continue;
        };
        let access = match path.is_dir() {
            true => access,
            false => access & AccessFs::from_file(NEWEST),
        };
        rules = rules.add_rule(PathBeneath::new(handle, access))?;
    }
    Ok(rules)
}

/// The flags with which a C library starts another program: the parent waits until the child has begun to run it.
const SPAWN: u64 = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as u64;

/// System calls that a compiler has no use for. Files are Landlock's, but not their owners, times and attributes.
const REFUSED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pidfd_getfd,
    libc::SYS_setsid,
    libc::SYS_execveat,
    libc::SYS_memfd_create,
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_io_uring_setup,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
];

/// The same that only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// Calls of x86-64's second interface have this bit.
#[cfg(target_arch = "x86_64")]
const SECOND_INTERFACE: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_INTERFACE: Option<i64> = None;

/// One filter per answer.
fn filters() -> Result<[BpfProgram; 2], seccompiler::Error> {
    let argument =
        |operator, value| SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value);
    // Threads, and the way this library starts a program. Landlock lets no program but the compiler be run.
    let no_thread = argument(SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)?;
    let no_spawn = argument(SeccompCmpOp::Ne, SPAWN)?;
    let process = SeccompRule::new(vec![no_thread, no_spawn])?;
    let always = REFUSED.iter().chain(OLDER).map(|&call| (call, Vec::new()));
    let always = always.chain([(libc::SYS_clone, vec![process])]);
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = always.collect();
    if let Some(bit) = SECOND_INTERFACE {
        let again = REFUSED.iter().chain(OLDER).chain(&[
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_execve,
        ]);
        refused.extend(again.map(|call| (call | bit, Vec::new())));
    }
    // Its flags lie in memory, where a filter cannot look: libraries go on to `clone` when there is none.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let answer = |error: i32| SeccompAction::Errno(error.unsigned_abs());
    Ok([
        filter(refused, answer(libc::EPERM))?,
        filter(unknown, answer(libc::ENOSYS))?,
    ])
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    answer: SeccompAction,
) -> Result<BpfProgram, seccompiler::Error> {
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, machine)?;
    Ok(filter.try_into()?)
}
