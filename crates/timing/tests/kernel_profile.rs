//! The surface of the module this crate replaces: what programs written for it rely on,
//! and what was wrong there and is right here.

use assay_timing::kernel_profile::{
    self, DispatchEntry, ProfileEntry, convert_gpu_ticks_to_ns, dump, dump_dispatches, record,
    record_clock_pair, record_dispatch, reset,
};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests of the process-wide recorder take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    reset();
    turn
}

fn dispatch(cb_label: &str, op_kind: &'static str, dispatch_index: u32, start: u64, gpu_ns: u64) {
    record_dispatch(DispatchEntry {
        cb_label: cb_label.into(),
        op_kind,
        dispatch_index,
        gpu_ns,
        start_gpu_ns: start,
        end_gpu_ns: start + gpu_ns,
    });
}

#[test]
fn labels_come_back_by_total_time() {
    let _turn = alone();
    record("ffn", 10);
    record("attn", 300);
    record("attn", 100);
    record("norm", 40);
    let entry = |count, total_ns, min_ns, max_ns| ProfileEntry {
        count,
        total_ns,
        min_ns,
        max_ns,
    };
    let expected = [
        ("attn".to_owned(), entry(2, 400, 100, 300)),
        ("norm".to_owned(), entry(1, 40, 40, 40)),
        ("ffn".to_owned(), entry(1, 10, 10, 10)),
    ];
    assert_eq!(dump(), expected);
    reset();
    assert_eq!(dump(), []);
}

#[test]
fn dispatches_come_back_grouped_by_command_buffer_label() {
    let _turn = alone();
    dispatch("attn", "RmsNorm", 0, 1_000, 100);
    dispatch("ffn", "Other", 0, 2_000, 250);
    dispatch("attn", "Sdpa", 1, 1_100, 500);
    let groups = dump_dispatches();
    let shape: Vec<_> = groups
        .iter()
        .map(|(label, entries)| {
            let entries = entries
                .iter()
                .map(|e| (e.op_kind, e.dispatch_index, e.gpu_ns));
            (label.as_str(), entries.collect::<Vec<_>>())
        })
        .collect();
    let attn = vec![("RmsNorm", 0, 100), ("Sdpa", 1, 500)];
    assert_eq!(shape, [("attn", attn), ("ffn", vec![("Other", 0, 250)])]);
    assert_eq!(groups[0].1[1].start_gpu_ns, 1_100);
    assert_eq!(groups[0].1[1].end_gpu_ns, 1_600);
    reset();
    assert_eq!(dump_dispatches(), []);
}

#[test]
fn a_dispatch_of_which_only_the_duration_is_known_is_kept() {
    let _turn = alone();
    record_dispatch(DispatchEntry {
        cb_label: "attn".into(),
        op_kind: "Sdpa",
        dispatch_index: 0,
        gpu_ns: 77,
        start_gpu_ns: 0,
        end_gpu_ns: 0,
    });
    assert_eq!(dump_dispatches()[0].1[0].gpu_ns, 77);
}

#[test]
fn ticks_convert_one_to_one_then_by_ratio_then_by_slope_and_offset() {
    let _turn = alone();
    assert_eq!(convert_gpu_ticks_to_ns(12_345), 12_345);
    // Pairs with a zero are none.
    record_clock_pair(0, 1_000);
    record_clock_pair(2_000, 0);
    assert_eq!(convert_gpu_ticks_to_ns(7), 7);
    record_clock_pair(2_000_000_000, 1_000_000_000);
    assert_eq!(convert_gpu_ticks_to_ns(500_000_000), 1_000_000_000);
    // One tick is in truth one nanosecond; the clocks started one second apart.
    record_clock_pair(3_000_000_000, 2_000_000_000);
    assert_eq!(convert_gpu_ticks_to_ns(1_500_000_000), 2_500_000_000);
    reset();
    assert_eq!(convert_gpu_ticks_to_ns(12_345), 12_345);
}

#[test]
fn a_cross_check_works_by_label_too() {
    let _turn = alone();
    record("attn", 1_000);
    dispatch("attn", "Sdpa", 0, 10, 700);
    let check = kernel_profile::global().snapshot().cross_check();
    assert_eq!(check.warnings().count(), 1);
    dispatch("attn", "RmsNorm", 1, 710, 320);
    let check = kernel_profile::global().snapshot().cross_check();
    assert_eq!(check.warnings().count(), 0);
    assert_eq!(check.labels[0].dispatch_ns, 1_020);
}

/// Run in a child process with variables set; says what it found.
#[test]
#[ignore = "a part of `the_environment_decides_what_is_wanted`"]
#[allow(clippy::print_stdout)]
fn child_that_says_what_is_wanted() {
    let wanted = (
        kernel_profile::is_enabled(),
        kernel_profile::is_dispatch_enabled(),
    );
    println!("wanted={wanted:?}");
}

#[test]
fn the_environment_decides_what_is_wanted() {
    let names = [
        "MLX_PROFILE_CB",
        "MLX_PROFILE_DISPATCH",
        "ASSAY_PROFILE_CB",
        "ASSAY_PROFILE_DISPATCH",
    ];
    let ask = |variables: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        names.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .args([
                "--ignored",
                "--exact",
                "--nocapture",
                "child_that_says_what_is_wanted",
            ])
            .envs(variables.iter().copied());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let from = text.find("wanted=").unwrap() + "wanted=".len();
        text[from..].lines().next().unwrap().to_owned()
    };
    assert_eq!(ask(&[]), "(false, false)");
    assert_eq!(ask(&[("MLX_PROFILE_CB", "1")]), "(true, false)");
    assert_eq!(ask(&[("MLX_PROFILE_CB", "0")]), "(false, false)");
    assert_eq!(ask(&[("MLX_PROFILE_CB", "")]), "(false, false)");
    assert_eq!(ask(&[("MLX_PROFILE_CB", "false")]), "(false, false)");
    assert_eq!(ask(&[("MLX_PROFILE_DISPATCH", "1")]), "(true, true)");
    assert_eq!(ask(&[("ASSAY_PROFILE_DISPATCH", "yes")]), "(true, true)");
    assert_eq!(ask(&[("ASSAY_PROFILE_CB", "1")]), "(true, false)");
    assert_eq!(
        ask(&[("ASSAY_PROFILE_CB", "0"), ("MLX_PROFILE_CB", "1")]),
        "(false, false)"
    );
}

#[test]
fn switches_can_be_overridden_through_every_handle() {
    let _turn = alone();
    use assay_timing::Switches;
    kernel_profile::set_switches(Switches::ALL);
    assert!(kernel_profile::is_dispatch_enabled() && kernel_profile::global().is_enabled());
    kernel_profile::global().set_switches(Switches::default());
    assert!(!kernel_profile::is_enabled() && !kernel_profile::is_dispatch_enabled());
}
