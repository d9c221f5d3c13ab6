#!/usr/bin/env python3
"""Replays the promotions of MetalBench's own session as proposals of a model to `assay tune`.

    python3 scripts/metalbench_session.py REPOSITORY [--assay PROGRAM] [--only NAME]

REPOSITORY is a clone of MetalBench with its history (or its git directory). Five of its commits publish 53 faster times on M2; each
records the kernel's source before and after, and for 20 of them the two are the same text. Every promotion becomes a session: the source
before is the kernel, the source after is what a (scripted) model proposes, dispatched as MetalBench's registry says at that commit. Sizes
of metalbench.json replace those of slow kernels.

Prints a line per promotion and how many of each kind: kept, refused as the same program (duplicate), wrong results, no improvement, or no
session at all since the kernel was broken before (a race). Exit 1: a source that is the same was not refused; 3: the repository cannot
be read.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

COMMITS = ("8fc7d40", "56c75ff", "9582b6d", "ea16f21", "72c6aec")
SETS = ("common", "standard", "full")
HERE = pathlib.Path(__file__).parent


class Unreadable(Exception):
    pass


def show(repository, commit, path):
    """A file of a commit."""
    folder = repository / ".git" if (repository / ".git").exists() else repository
    line = ["git", "--git-dir", str(folder), "show", f"{commit}:{path}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unreadable(f"{commit}:{path}: {done.stderr.strip()}")
    return done.stdout


def namespace(text):
    """The names that a file of MetalBench's registry defines: plain tables, and functions that fill them."""
    names = {}
    exec(compile(text, "registry", "exec"), names)  # noqa: S102, the repository is the user's choice
    return names


def promotions(repository):
    """Every faster time on M2: (commit, kernel, record before, record after)."""
    for commit in COMMITS:
        before, after = (
            json.loads(show(repository, name, "session.json"))["apple-m2"] for name in (f"{commit}^", commit)
        )
        for kernel in sorted(after):
            if kernel in before and after[kernel]["best_time_ms"] < before[kernel]["best_time_ms"]:
                yield commit, kernel, before[kernel], after[kernel]


def entry(repository, commit, kernel, reduced):
    """How a kernel is dispatched, at sizes that a CPU runs in a moment."""
    tuning = namespace(show(repository, commit, "mlx/kernels/common/tuning.py"))["CHIP_TUNING"]
    for group in SETS:
        registry = namespace(show(repository, commit, f"mlx/kernels/{group}/registry.py"))["REGISTRY"]
        if kernel in registry:
            found = {**registry[kernel], **tuning.get((kernel, "m2"), {})}
            smaller = reduced.get(f"{kernel}/m2", reduced.get(kernel, {}))
            scalars = smaller.get("scalars", {})
            found["scalars"] = [
                {**one, "value": scalars.get(str(one["binding"]), one["value"])} for one in found["scalars"]
            ]
            for key in ("grid", "threadgroup", "input_shapes", "output_shape"):
                found[key] = smaller.get(key, found[key])
            return found
    raise Unreadable(f"{commit}: no registry has {kernel}")


def product(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def command(program, folder, launch):
    """The command line of a session."""
    line = [program, "tune", str(folder / "before.metal"), "-f", launch["metal_function"], "--format", "json"]
    line += ["--grid", ",".join(map(str, launch["grid"]))]
    line += ["--threadgroup", ",".join(map(str, launch["threadgroup"]))]
    for binding, shape in zip(launch["input_bindings"], launch["input_shapes"]):
        line += ["--buffer", f"{binding}=random:f32:{product(shape)}"]
    line += ["--buffer", f"{len(launch['input_shapes'])}=zeros:f32:{product(launch['output_shape'])}"]
    for scalar in launch["scalars"]:
        line += ["--bytes", f"{scalar['binding']}={scalar['dtype']}:{scalar['value']}"]
    line += ["--llm", f"replay:{folder / 'tape.jsonl'}", "--llm-mode", "source", "--only", "model"]
    return line + ["--rounds", "1", "--jobs", "1", "--max-calls", "1", "--attempts", str(folder / "attempts.db")]


def tape(source):
    """A cassette whose one answer is this source."""
    text = f'```toml\ntechnique = "as promoted"\n```\n```metal\n{source.rstrip()}\n```\n'
    head = {"cassette": 1, "kind": "scripted"}
    return "\n".join(json.dumps(line) for line in (head, {"model": "session", "text": text})) + "\n"


def replay(program, before, after, launch):
    """What became of the proposal: (kind, reason)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "before.metal").write_text(before)
        (folder / "tape.jsonl").write_text(tape(after))
        done = subprocess.run(command(program, folder, launch), capture_output=True, text=True, check=False)
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return "no session", f"exit {done.returncode}: {done.stderr.strip()}"
        if "error" in report:
            why = report["error"]["message"]
            return ("broken before" if "does what no kernel may" in why else "no session"), why
        if report["improved"]:
            return "kept", f"{report['claimed_gain']:.2f} times as fast, modelled"
        listed = [program, "attempts", "--attempts", str(folder / "attempts.db"), "--session", "1", "--format", "json"]
        attempts = json.loads(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)["attempts"]
        for attempt in attempts[1:]:
            proofs = [proof["failure"] for proof in attempt["verified"] if proof.get("failure")]
            for failure in [attempt["outcome"].get("failed"), *proofs]:
                if failure:
                    return failure["stage"], failure["why"]
        return "no improvement", report["reason"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("--assay", default="assay")
    parser.add_argument("--only", help="one kernel")
    args = parser.parse_args()
    reduced = json.loads((HERE / "metalbench.json").read_text())["reduced"]
    counted = collections.Counter()
    wrong = 0
    try:
        for commit, kernel, before, after in promotions(args.repository):
            if args.only not in (None, kernel):
                continue
            same = before["metal_source"] == after["metal_source"]
            launch = entry(args.repository, commit, kernel, reduced)
            kind, reason = replay(args.assay, before["metal_source"], after["metal_source"], launch)
            counted["the same source" if same else "another source", kind] += 1
            wrong += same and kind not in ("duplicate", "broken before")
            published = 100 * (1 - after["best_time_ms"] / before["best_time_ms"])
            text = "same" if same else "other"
            print(f"{commit}\t{kernel}\tpublished +{published:.1f} %\t{text}\t{kind}\t{reason.splitlines()[0]}", flush=True)
    except Unreadable as error:
        print(f"metalbench_session: {error}", file=sys.stderr)
        return 3
    print(f"\n{sum(counted.values())} promotions")
    for (source, kind), count in sorted(counted.items()):
        print(f"{count:4}  {source}: {kind}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
