#!/usr/bin/env bash
# The GitHub Action and the pre-commit hook, run here as a runner runs them: a release is installed by checksum from a server on
# this machine, pull requests that make a kernel worse, wrong or racy are gated in shallow clones, annotations, summary,
# SARIF and caches are looked at. ASSAY names the program to hand out; without it one is built.
# Exit 3: a package registry cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

say() { printf 'gate: %s\n' "$*"; }
fail() {
  say "$1" >&2
  shift
  for file in "$@"; do sed 's/^/  | /' "$file" >&2; done
  exit 1
}
venv=$PWD/target/gate-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" || { say "no venv"; exit 3; }
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet pyyaml pre-commit ||
  { say "the package registry cannot be reached"; exit 3; }

if [ -z "${ASSAY:-}" ]; then
  # The program as `make test` builds it, so that nothing is built twice.
  cargo test --quiet --workspace --test frame --no-run
  ASSAY=$PWD/target/debug/assay
fi
work=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$work"' EXIT
# What -i means differs between GNU's sed and that of macOS.
edit() { sed "$1" "$2" >"$work/edited" && cat "$work/edited" >"$2"; }
git() { command git -c user.name=Gate -c user.email=gate@example.com -c init.defaultBranch=main -c protocol.file.allow=always "$@"; }

# The release, as scripts/release.sh lays it out, on a server of its own.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=assay-$version-$(rustc -vV | sed -n 's/^host: //p')
release=$work/server/someone/assay/releases/download/v$version
mkdir -p "$release" "$work/$name"
strip -o "$work/$name/assay" "$ASSAY" 2>/dev/null || cp -p "$ASSAY" "$work/$name/assay"
tar -czf "$release/$name.tar.gz" -C "$work" "$name"
(cd "$release" && { sha256sum "$name.tar.gz" 2>/dev/null || shasum -a 256 "$name.tar.gz"; } >"$name.tar.gz.sha256")
"$venv/bin/python" -u -m http.server --bind 127.0.0.1 --directory "$work/server" 0 >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 50); do grep -q 'port' "$work/server.log" && break; sleep 0.1; done
port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/server.log" | head -n 1)

# A repository with a kernel, and branches as pull requests.
origin=$work/origin
mkdir -p "$origin/gpu/kernels"
sed 's/M=1024 --size N=1024 --size K=1024/M=128 --size N=128 --size K=128/' examples/kernels/matmul_tiled.metal >"$origin/gpu/kernels/matmul.metal"
printf '[[kernels]]\nfiles = ["kernels/*.metal"]\n' >"$origin/gpu/assay.toml"
(cd "$origin" && git init -q && git add -A && git commit -q -m "A kernel")
branch() { # NAME SED-SCRIPT
  (cd "$origin" && git checkout -q -b "$1" main && edit "$2" gpu/kernels/matmul.metal && git commit -q -a -m "$1" && git checkout -q main)
}
branch worse 's/acc = fma(.*/acc = fma(A[row * K + t + k], B[(t + k) * N + col], acc);/'
branch wrong 's/C\[row \* N + col\] = acc;/C[row * N + col] = acc + 1;/'
branch racy '25d'
branch fine 's/16 by 16 tiles/Tiles of 16 by 16/'

# The action on a pull request: a shallow checkout of the branch, the base not fetched.
export RUNNER_OS=Linux RUNNER_ARCH=X64 GITHUB_SERVER_URL=http://127.0.0.1:$port
export GITHUB_ACTION_REPOSITORY=someone/assay GITHUB_ACTION_REF=v$version GITHUB_ACTIONS=true CI=true
run=0
act() { # BRANCH INPUT=VALUE…
  run=$((run + 1))
  # What GitHub makes of a pull request: its merge into the base.
  (cd "$origin" && git branch -q -f merged main && git checkout -q merged && git merge -q --no-ff -m Merge "$1" && git checkout -q main)
  act_on merged "$@"
}
act_on() { # CHECKOUT BRANCH INPUT=VALUE…
  export RUNNER_TEMP=$work/runner/temp-$run RUNNER_TOOL_CACHE=$work/runner/tools-$run GITHUB_BASE_REF=${BASE_REF-main}
  GITHUB_SHA=$(git -C "$origin" rev-parse "$1")
  export GITHUB_SHA
  mkdir -p "$RUNNER_TEMP" "$RUNNER_TOOL_CACHE"
  rm -rf "$work/checkout"
  git clone -q --depth 1 --branch "$1" "file://$origin" "$work/checkout"
  shift 2
  env -u ASSAY_CACHE "$venv/bin/python" "$root/scripts/action/runner.py" "$root" "$work/checkout" working-directory=gpu sarif=true "$@" >"$work/log" 2>&1
}
caught() { # BRANCH ANNOTATION
  if act "$1"; then fail "the pull request '$1' passed" "$work/log"; fi
  grep -qF "$2" "$work/log" || fail "the pull request '$1' has no annotation $2" "$work/log"
  grep -q '❌ assay gate failed' "$RUNNER_TEMP/summary.md" || fail "no summary" "$work/log"
  grep -q '^passed=false$' "$RUNNER_TEMP/outputs" || fail "no output" "$RUNNER_TEMP/outputs"
  "$venv/bin/python" - "$RUNNER_TEMP/uploaded.sarif" <<'PY' || fail "the SARIF that was uploaded has no result in gpu/kernels" "$work/log"
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
place = run["results"][0]["locations"][0]["physicalLocation"]
sys.exit(place["artifactLocation"]["uri"] != "gpu/kernels/matmul.metal")
PY
  say "caught: $1, $2"
}
act fine || fail "a pull request that changes a comment failed" "$work/log"
grep -q '✅ assay gate passed' "$RUNNER_TEMP/summary.md" || fail "no summary" "$work/log"
caught worse '::error file=gpu/kernels/matmul.metal,line=23,title=matmul_tiled%3A slower::'
grep -q '^cache: assay-gate-Linux-X64-[0-9a-f]*$' "$work/log" || fail "the cache of the run before was not used" "$work/log"
caught wrong '::error file=gpu/kernels/matmul.metal,line=27,title=matmul_tiled%3A wrong-result::'
caught racy '::error file=gpu/kernels/matmul.metal,line=19,title=matmul_tiled%3A not-clean::'

# An archive that is not what was published is not run.
(cd "$release" && cp "$name.tar.gz" kept && printf x >>"$name.tar.gz")
if act fine; then fail "an archive with another checksum was installed" "$work/log"; fi
grep -q 'does not have its published checksum' "$work/log" || fail "no word about the checksum" "$work/log"
(cd "$release" && mv kept "$name.tar.gz")
if act fine version=77.0.0; then fail "a release that is not there was installed" "$work/log"; fi
grep -q 'cannot download' "$work/log" || fail "no word about the download" "$work/log"
if act fine 'version=$(touch /tmp/owned)'; then fail "a version that is none was taken" "$work/log"; fi
say "releases are installed by checksum, others refused"

# From source. A stand-in for cargo hands the program out, so that nothing is built twice; GATE_BUILD=1 lets the real one build it.
mkdir -p "$work/stand"
cat >"$work/stand/cargo" <<'CARGO'
#!/usr/bin/env bash
echo "$*" >>"$STAND_LOG"
while [ $# -gt 0 ]; do
  case $1 in
    --target-dir) target=$2 ;;
    --manifest-path) manifest=$2 ;;
  esac
  shift
done
[ -f "$manifest" ] && mkdir -p "$target/release" && cp -p "$STAND_PROGRAM" "$target/release/assay"
CARGO
chmod +x "$work/stand/cargo"
export STAND_LOG=$work/stand/log STAND_PROGRAM=$ASSAY
built() { # TIMES HOW
  [ "$(wc -l <"$STAND_LOG")" = "$1" ] || fail "built $(wc -l <"$STAND_LOG") times: $2" "$work/log" "$STAND_LOG"
}
plain=$PATH
[ -n "${GATE_BUILD:-}" ] || PATH=$work/stand:$PATH
: >"$STAND_LOG"
act fine version=build || fail "the action does not build" "$work/log"
grep -q '✅ assay gate passed' "$RUNNER_TEMP/summary.md" || fail "no summary" "$work/log"
if [ -z "${GATE_BUILD:-}" ]; then
  built 1 "version: build"
  # What the action asks of cargo is there to be built, by the lock file as it is.
  grep -q -- '^build --release --locked .* -p assay-metal ' "$STAND_LOG" || fail "built otherwise" "$STAND_LOG"
  PATH=$plain cargo tree --quiet --locked --manifest-path "$root/Cargo.toml" -p assay-metal --depth 0 >/dev/null ||
    fail "cargo cannot build assay-metal by its lock file"
  # The same source is not built again; a branch is a source, and a pull request is judged by what was built.
  GITHUB_ACTION_REF=main caught wrong '::error file=gpu/kernels/matmul.metal,line=27,title=matmul_tiled%3A wrong-result::'
  built 1 "called by a branch, with the program in the cache"
  grep -q '^cache: assay-program-' "$work/log" || fail "the program of the run before was not used" "$work/log"
  PATH=$(mktemp -d "$work/empty.XXXXXX"):/usr/bin:/bin
  rm -rf "$work"/runner/caches/assay-program-*
  if ! command -v cargo >/dev/null; then
    if act fine version=build; then fail "built without cargo" "$work/log"; fi
    grep -q 'building needs cargo' "$work/log" || fail "no word about cargo" "$work/log"
  fi
fi
PATH=$plain
say "builds from source where there is no release, once for a source"

# What an older cached program has left, or nothing at all, makes no difference; a push compares with the commit before.
BASE_REF=
EVENT_BEFORE=$(git -C "$origin" rev-parse main)
export EVENT_BEFORE
caught wrong '::error file=gpu/kernels/matmul.metal,line=27,title=matmul_tiled%3A wrong-result::'

unset EVENT_BEFORE

# A merge queue has no base branch: its event names a commit, here one that was queued before.
(cd "$origin" && git checkout -q -b queued main && edit 's/16 by 16 tiles/Tiles/' gpu/kernels/matmul.metal && git commit -q -a -m Queued && git checkout -q main)
EVENT_MERGE_GROUP_BASE_SHA=$(git -C "$origin" rev-parse queued)
export EVENT_MERGE_GROUP_BASE_SHA
(cd "$origin" && git checkout -q -b group queued && edit 's/C\[row \* N + col\] = acc;/C[row * N + col] = acc + 1;/' gpu/kernels/matmul.metal && git commit -q -a -m Group && git checkout -q main)
if act_on group group; then fail "a merge queue let a wrong kernel pass" "$work/log"; fi
grep -qF '::error file=gpu/kernels/matmul.metal,line=27,title=matmul_tiled%3A wrong-result::' "$work/log" || fail "a merge queue has no annotation" "$work/log"
unset EVENT_MERGE_GROUP_BASE_SHA
unset BASE_REF
say "a merge queue is compared with what was queued before"

# The base moved after the pull request was merged for its run: what is compared is the merge's first parent.
(cd "$origin" && git branch -q -f merged main && git checkout -q merged && git merge -q --no-ff -m Merge fine && git checkout -q -b moved main &&
  edit 's/C\[row \* N + col\] = acc;/C[row * N + col] = acc * 2;/' gpu/kernels/matmul.metal && git commit -q -a -m Moved && git branch -q -f kept main &&
  git checkout -q main && git reset -q --hard moved)
act_on merged fine || fail "a pull request was compared with a base that came later" "$work/log"
(cd "$origin" && git reset -q --hard kept)
say "a merge is compared with its first parent"

# The configuration has another name and lies in a folder of its own.
(cd "$origin" && git checkout -q -b elsewhere main && mkdir ci && git mv gpu/assay.toml ci/kernels.toml &&
  printf '[[kernels]]\nfiles = ["*.metal"]\n' >gpu/kernels/gate.toml && git add -A && git commit -q -m Elsewhere && git branch -q -f kept main && git checkout -q main && git reset -q --hard elsewhere)
branch elsewhere-wrong 's/C\[row \* N + col\] = acc;/C[row * N + col] = acc + 1;/'
if act elsewhere-wrong config=kernels/gate.toml; then fail "a configuration in another folder let a wrong kernel pass" "$work/log"; fi
grep -qF '::error file=gpu/kernels/matmul.metal,line=27,' "$work/log" || fail "no annotation by a configuration in another folder" "$work/log"
(cd "$origin" && git reset -q --hard kept)
say "a configuration in any folder is found"

# Pinned by the commit of a release, or by a name that moves, the release is installed; another commit is built.
pinned=$(git -C "$origin" rev-parse main)
mkdir -p "$work/server/someone/assay/info"
printf '%s\trefs/tags/v%s\n' "$pinned" "$version" >"$work/server/someone/assay/info/refs"
echo 'ref: refs/heads/main' >"$work/server/someone/assay/HEAD"
planned() { # REF HOW
  : >"$work/plan"
  GITHUB_ACTION_PATH=$root GITHUB_ACTION_REF=$1 GITHUB_OUTPUT=$work/plan RUNNER_TEMP=$work RUNNER_TOOL_CACHE=$work \
    "$root/scripts/action/plan.sh"
  grep -q "^how=$2$" "$work/plan" || fail "called by $1: not $2" "$work/plan"
}
planned "$pinned" release
planned "v${version%%.*}" release
planned 0123456789012345678901234567890123456789 build
planned main build
say "the release is found from what the action is pinned to"

# The hook, as pre-commit runs it.
mkdir -p "$work/bin" "$work/hooks"
ln -s "$ASSAY" "$work/bin/assay"
cp .pre-commit-hooks.yaml "$work/hooks/"
(cd "$work/hooks" && git init -q && git add -A && git commit -q -m hooks)
cd "$origin"
git checkout -q main
sed 's|"kernels|"gpu/kernels|' gpu/assay.toml >assay.toml
edit 's/C\[row \* N + col\] = acc;/C[row * N + col] = acc + 1;/' gpu/kernels/matmul.metal
git add -A
hook() { ASSAY_CACHE=$work/cache PATH=$work/bin:$PATH PRE_COMMIT_HOME=$work/pre-commit "$venv/bin/pre-commit" try-repo "$work/hooks" "$1" --files gpu/kernels/matmul.metal >"$work/log" 2>&1; }
if hook assay-gate-against-head; then fail "the hook let a wrong kernel pass" "$work/log"; fi
grep -q 'gpu/kernels/matmul.metal:27: error: matmul_tiled: computes something else' "$work/log" || fail "the hook did not say why" "$work/log"
git checkout -q HEAD gpu/kernels/matmul.metal
hook assay-gate-against-head || fail "the hook stopped an unchanged kernel" "$work/log"
say "the pre-commit hook stops what the gate stops"
