#!/usr/bin/env python3
"""Tunes the naive kernels of examples/naive, and hand-tuned kernels of the registry, and says what was gained.

    python3 scripts/naive.py [--assay PROGRAM] [--budget 5m] [--page FILE] [--only NAME]...

For every naive kernel: predicted time before and after, the gain, the gain that is claimed (shrunk for selection), what did it. The
naive product is also held against the hand-written simdgroup version. Of hand-tuned kernels the right answer is "no improvement",
or a gain that survives shrinking. Times are modelled. With --page the tables are written there.
Exit 1: fewer than ten naive kernels become 1.5 times as fast, or the product stays below 80 % of the hand-written one.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parent.parent
# Kernels of the registry that a person tuned for the operations of examples/naive.
TUNED = "sqr_mm batch_mm transpose_2d softmax layer_norm rms_norm l1_norm matvec conv2d cosine_similarity".split()
PAGE = """# From naive to fast

Made by `python3 scripts/naive.py --page docs/tuning.md`: `assay tune` with default settings and a budget of {budget} a kernel, for the M2.
Times are modelled; *claimed* is the gain corrected for being the best of many.
"""


def tuned(assay, target, budget, attempts):
    """The report of a search, or why there is none; and seconds."""
    start = time.monotonic()
    line = [assay, "tune", str(target), "--budget", budget, "--attempts", attempts, "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": f"exit {done.returncode}: {done.stderr.strip()}"}}, seconds
    return report, seconds


def row(name, report, seconds):
    if "error" in report:
        return f"| {name} | | | | | {report['error']['message'].splitlines()[0]} | |"
    kept = report["improved"]
    what = " ".join(report["recipes"] + [f"{knob['name']}={knob['value']}" for knob in report["knobs"]])
    how = f"`{what}`" if kept else f"no improvement: {report['reason']}"
    best = report["best_us"] if kept else report["original_us"]
    claimed = f"{report['claimed_gain']:.2f} ×" if kept else "–"
    gain = f"{report['original_us'] / best:.2f} ×"
    times = f"{report['original_us']:.0f} | {best:.0f}"
    return f"| {name} | {times} | {gain} | {claimed} | {how} | {report['evaluations']} in {seconds:.0f} s |"


HEAD = """| kernel | before, µs | after, µs | gain | claimed | by | evaluations |
|---|---|---|---|---|---|---|"""


def by_hand(assay):
    """Predicted microseconds of the hand-written simdgroup product, at the naive one's sizes."""
    source = ROOT / "examples/kernels/matmul_simdgroup.metal"
    line = [assay, "predict", str(source), "-f", "matmul_simdgroup_f32", "--chip", "m2", "--format", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["predictions"][0]["time_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=str(ROOT / "target/release/assay"))
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--no-twins", action="store_true", help="naive kernels alone")
    args = parser.parse_args()
    lines = ["## Naive kernels", "", HEAD]
    fast, share = 0, None
    with tempfile.TemporaryDirectory() as folder:
        attempts = str(pathlib.Path(folder) / "attempts.db")

        def search(name, target):
            report, seconds = tuned(args.assay, target, args.budget, attempts)
            lines.append(row(name, report, seconds))
            print(lines[-1], flush=True)
            return report

        for source in sorted((ROOT / "examples/naive").glob("*.metal")):
            if args.only and source.stem not in args.only:
                continue
            report = search(source.stem, source)
            if report.get("improved"):
                fast += report["original_us"] / report["best_us"] >= 1.5
                if source.stem == "matmul":
                    share = by_hand(args.assay) / report["best_us"]
        lines += ["", f"{fast} kernels become 1.5 times as fast or more.", ""]
        if share is not None:
            hand = "`examples/kernels/matmul_simdgroup.metal`"
            lines += [f"The naive product reaches {100 * share:.0f} % of the speed of the hand-written {hand}.", ""]
        lines += ["## Hand-tuned kernels of the registry", "", HEAD]
        for name in [] if args.no_twins else TUNED:
            if not args.only or name in args.only:
                search(name, name)
    print("\n".join(lines))
    if args.page:
        args.page.write_text(PAGE.format(budget=args.budget) + "\n" + "\n".join(lines) + "\n")
    return 1 if not args.only and (fast < 10 or share is None or share < 0.8) else 0


if __name__ == "__main__":
    sys.exit(main())
