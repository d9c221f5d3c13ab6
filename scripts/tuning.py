#!/usr/bin/env python3
"""Judges `assay tune` by the kernels of examples/tuning, and says what share of them it makes fast.

    python3 scripts/tuning.py [--assay PROGRAM] [--evaluations N] [--jobs N] [--page FILE] [--results FOLDER] [--only TEXT]...
    python3 scripts/tuning.py [--assay PROGRAM] --check

Of the sixty naive spellings it counts those with a claimed gain of 1.5 and more, and those whose result reaches 0.6 of the speed of
the pattern's hand-written version; of the thirty cooperative kernels those that improve at all; of the thirty good ones those for
which more than 1.05 is claimed, which is wrong. Times are modelled. Results are kept in a folder, so that a run that was stopped
goes on; --only takes kernels whose name contains a text. With --page the tables are written there.
With --check nothing is tuned: every spelling must leave what the hand-written version leaves, at small sizes, and kernels have no faults.
Exit 1: a line of the four is not reached, or a kernel ends with an error.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "examples/tuning"
FAST, SHARE, IDLE = 1.5, 0.6, 1.05
PAGE = """# A tuner by kernels nobody tuned

Made by `python3 scripts/tuning.py --evaluations {evaluations} --page docs/tuning.md`, for the M2. The kernels are those of
`examples/tuning`. Times are modelled; *claimed* is the gain corrected for being the best of many; *expert* is the share of the
hand-written version's speed that the result reaches.
"""
HEAD = "| kernel | before, µs | after, µs | claimed | expert | by |\n|---|---|---|---|---|---|"


def targets():
    """What is tuned: group, name, and what `assay tune` is given."""
    for group in ("naive", "cooperative"):
        for path in sorted((FOLDER / group).glob("*.metal")):
            yield group, path.stem, str(path)
    for line in (FOLDER / "good.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            path = FOLDER / line
            yield "good", path.stem, str(path) if path.suffix == ".metal" else line


def answer(line):
    """What a command says as JSON, or its error."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": f"exit {done.returncode}: {done.stderr.strip()[-200:]}"}}


def tuned(args, group, name, target):
    """The report of a search; one that was made before is read."""
    kept = args.results / f"{group}.{name}.{args.evaluations}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    attempts = kept.with_suffix(".db")
    line = [args.assay, "tune", target, "--evaluations", str(args.evaluations), "--budget", "1h", "--format", "json"]
    report = answer([*line, "--attempts", str(attempts)])
    attempts.unlink(missing_ok=True)
    if "error" not in report:
        kept.write_text(json.dumps(report))
    return report


def expert(args, pattern):
    """Predicted microseconds of the hand-written version of a pattern."""
    report = answer([args.assay, "predict", str(FOLDER / f"expert/{pattern}.metal"), "--chip", "m2", "--format", "json"])
    return report["predictions"][0]["time_us"]


def row(name, report, by_hand):
    if "error" in report:
        return f"| {name} | | | | | {report['error']['message'].splitlines()[0]} |"
    kept = report["improved"]
    after = report["best_us"] if kept else report["original_us"]
    steps = " ".join(report["recipes"] + [f"{knob['name']}={knob['value']}" for knob in report["knobs"]])
    claimed = f"{report['claimed_gain']:.2f} ×" if kept else "–"
    reached = f"{by_hand / after:.2f}" if by_hand else ""
    how = f"`{steps}`" if kept else "no improvement found"
    return f"| {name} | {report['original_us']:.1f} | {after:.1f} | {claimed} | {reached} | {how} |"


def check(assay):
    """How many kernels are not what they should be."""
    runs = []
    for line in (FOLDER / "patterns.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        pattern, sizes = line.split(" | ")
        flags = [flag for size in sizes.split() for flag in ("--size", size)]
        expert_version = str(FOLDER / f"expert/{pattern}.metal")
        runs.append([expert_version, "--check", *flags])
        for spelling in sorted((FOLDER / "naive").glob(f"{pattern}.*.metal")):
            runs.append([str(spelling), "--against", expert_version, *flags])
            runs.append([str(spelling), "--check", *flags])
    runs += [[str(path), "--check"] for path in sorted((FOLDER / "cooperative").glob("*.metal"))]
    wrong = 0
    for run in runs:
        done = subprocess.run([assay, "run", *run], capture_output=True, text=True, check=False)
        if done.returncode:
            wrong += 1
            print(f"{' '.join(run)}\n{done.stdout}{done.stderr}")
    print(f"{len(runs)} runs, {wrong} wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=str(ROOT / "target/release/assay"))
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "target/tuning")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--check", action="store_true", help="compare spellings with the experts', and tune nothing")
    args = parser.parse_args()
    if args.check:
        return int(check(args.assay) > 0)
    args.results.mkdir(parents=True, exist_ok=True)
    chosen = [t for t in targets() if not args.only or any(text in f"{t[0]}/{t[1]}" for text in args.only)]
    by_hand = {name.split(".")[0]: None for group, name, _ in chosen if group == "naive"}
    for pattern in by_hand:
        by_hand[pattern] = expert(args, pattern)
    lines = {"naive": [], "cooperative": [], "good": []}
    fast = near = better = idle = failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        reports = pool.map(lambda target: tuned(args, *target), chosen)
        for (group, name, _), report in zip(chosen, reports):
            reference = by_hand.get(name.split(".")[0]) if group == "naive" else None
            lines[group].append(row(name, report, reference))
            print(lines[group][-1], flush=True)
            if "error" in report:
                failed += 1
                continue
            claimed = report["claimed_gain"] if report["improved"] else 1.0
            after = report["best_us"] if report["improved"] else report["original_us"]
            fast += group == "naive" and claimed >= FAST
            near += group == "naive" and reference / after >= SHARE
            better += group == "cooperative" and report["improved"]
            idle += group == "good" and claimed > IDLE
    counts = {group: len(rows) for group, rows in lines.items()}
    goals = [
        (f"claimed {FAST} times as fast or more, of {counts['naive']} naive spellings", fast, 48, fast >= 48),
        (f"at least {SHARE} of the expert's speed, of {counts['naive']} naive spellings", near, 40, near >= 40),
        (f"improved, of {counts['cooperative']} cooperative kernels", better, 10, better >= 10),
        (f"claimed more than {IDLE}, of {counts['good']} good kernels", idle, 0, idle == 0),
    ]
    text = ["## In short", "", "| what | how many | goal |", "|---|---|---|"]
    text += [f"| {what} | {count} | {goal} |" for what, count, goal, _ in goals]
    if failed:
        text += ["", f"{failed} kernels end with an error."]
    titles = {"naive": "Naive spellings", "cooperative": "Cooperative kernels", "good": "Good kernels"}
    for group, rows in lines.items():
        if rows:
            text += ["", f"## {titles[group]}", "", HEAD, *rows]
    print("\n".join(text[: 8 + 2 * bool(failed)]))
    if args.page:
        page = PAGE.format(evaluations=args.evaluations)
        args.page.write_text(page + "\n" + "\n".join(text) + "\n")
    return int(failed > 0 or not args.only and not all(reached for *_, reached in goals))


if __name__ == "__main__":
    sys.exit(main())
