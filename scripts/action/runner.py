"""Runs a composite action as GitHub's runner does, for tests: `runner.py ACTION_FOLDER WORKSPACE [INPUT=VALUE…]`.

Steps run in order with their environment files (GITHUB_OUTPUT, GITHUB_ENV, GITHUB_PATH, GITHUB_STEP_SUMMARY), working
folders, conditions and expressions. Of `uses:` steps only those this action has are known: caches are folders beside the
workspace, an upload of SARIF copies the file. What is printed goes to standard output; the summary and outputs are written to
RUNNER_TEMP. Exits with the status of the first step that fails.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


class Runner:
    def __init__(self, action, workspace, inputs):
        self.folder = pathlib.Path(action).resolve()
        self.workspace = pathlib.Path(workspace).resolve()
        self.action = yaml.safe_load((self.folder / "action.yml").read_text())
        self.temp = pathlib.Path(os.environ["RUNNER_TEMP"])
        self.steps = {}
        self.environment = {}
        self.path = []
        known = self.action["inputs"]
        unknown = set(inputs) - set(known)
        if unknown:
            raise SystemExit(f"runner: no inputs {unknown}")
        self.inputs = {name: str(one.get("default", "")) for name, one in known.items()} | inputs

    def lookup(self, name):
        """The value of a context's property; what is not there is empty, as on GitHub."""
        head, *rest = name.split(".")
        if head == "inputs":
            return self.inputs.get(".".join(rest), "")
        if head == "steps":
            return self.steps.get(rest[0], {}).get(rest[2], "")
        if head == "runner":
            return {"os": "Linux", "arch": "X64"}.get(rest[0], "")
        if head == "github":
            # What an event says, as EVENT_BEFORE or EVENT_MERGE_GROUP_BASE_SHA.
            return os.environ.get("_".join(rest if rest[0] == "event" else ["GITHUB", *rest]).upper(), "")
        raise SystemExit(f"runner: unknown expression {name}")

    def text(self, value):
        return EXPRESSION.sub(lambda found: self.lookup(found[1].strip()), str(value))

    def holds(self, condition):
        """Comparisons with a literal, joined by &&."""
        for part in str(condition).split("&&"):
            left, operator, right = re.fullmatch(r"\s*(\S+)\s*(==|!=)\s*'(.*)'\s*", part).groups()
            if (self.lookup(left) == right) != (operator == "=="):
                return False
        return True

    def uses(self, step):
        given = {name: self.text(value) for name, value in step.get("with", {}).items()}
        name = step["uses"].split("@")[0]
        if name == "actions/cache":
            kept = self.temp.parent / "caches"
            kept.mkdir(exist_ok=True)
            wanted = [given["key"], *given.get("restore-keys", "").split()]
            for key in wanted:
                found = sorted(kept.glob(key + "*"), key=lambda one: one.stat().st_mtime)
                if found:
                    shutil.copytree(found[-1], given["path"], dirs_exist_ok=True)
                    print(f"cache: {found[-1].name}")
                    break
            self.saves = getattr(self, "saves", []) + [(given["path"], kept / given["key"])]
        elif name == "github/codeql-action/upload-sarif":
            shutil.copy(given["sarif_file"], self.temp / "uploaded.sarif")
        else:
            raise SystemExit(f"runner: unknown action {name}")

    def run(self, step):
        files = {}
        for name in ["OUTPUT", "ENV", "PATH", "STEP_SUMMARY"]:
            path = self.temp / f"file-{name.lower()}"
            path.write_text("")
            files["GITHUB_" + name] = str(path)
        script = self.temp / "step.sh"
        script.write_text(self.text(step["run"]))
        environment = dict(os.environ) | self.environment | files
        environment |= {name: self.text(value) for name, value in step.get("env", {}).items()}
        environment["PATH"] = ":".join([*self.path, environment["PATH"]])
        environment["GITHUB_ACTION_PATH"] = str(self.folder)
        environment["GITHUB_WORKSPACE"] = str(self.workspace)
        where = self.workspace / self.text(step.get("working-directory", "."))
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        status = subprocess.run(command, cwd=where, env=environment, check=False).returncode
        pairs = lambda name: dict(line.split("=", 1) for line in pathlib.Path(files[name]).read_text().splitlines())
        self.environment |= pairs("GITHUB_ENV")
        self.path = pathlib.Path(files["GITHUB_PATH"]).read_text().split() + self.path
        if "id" in step:
            self.steps[step["id"]] = pairs("GITHUB_OUTPUT")
        with (self.temp / "summary.md").open("a") as summary:
            summary.write(pathlib.Path(files["GITHUB_STEP_SUMMARY"]).read_text())
        return status

    def main(self):
        status = 0
        for step in self.action["runs"]["steps"]:
            if "if" in step and not self.holds(step["if"]):
                continue
            if "uses" in step:
                self.uses(step)
                continue
            sys.stdout.flush()
            status = self.run(step)
            if status != 0:
                break
        for path, key in getattr(self, "saves", []):
            if not key.exists() and pathlib.Path(path).exists():
                shutil.copytree(path, key)
        with (self.temp / "outputs").open("w") as outputs:
            for name, one in self.action["outputs"].items():
                outputs.write(f"{name}={self.text(one['value'])}\n")
        return status


if __name__ == "__main__":
    given = dict(one.split("=", 1) for one in sys.argv[3:])
    sys.exit(Runner(sys.argv[1], sys.argv[2], given).main())
