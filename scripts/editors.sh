#!/usr/bin/env bash
# The servers for agents and editors: `assay mcp` by the Python SDK's client and the inspector's command line, `assay lsp` by
# pytest-lsp, the VS Code extension built, packaged, tested, and used in code-server (VS Code's workbench and extension host) under a
# headless Chromium. With LLAMA_CPP, a checkout of llama.cpp, its kernels are the
# large source that the language server is tried on.
# Exit 3: a package registry cannot be reached, so not everything can be tested here.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'editors: %s\n' "$*"; }
python=${PYTHON:-python3}
venv=$PWD/target/editors-venv

# The program as `make test` builds it, so that nothing is built twice.
cargo test --quiet --workspace --test frame --no-run
export ASSAY=$PWD/target/debug/assay

status=0
command -v "$python" >/dev/null || { say "no $python"; exit 3; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed"; exit 3; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || { say "no venv"; exit 3; }
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
  'mcp>=2.3,<3' 'pytest-lsp>=1.0,<2' 'pytest>=9' 'pytest-asyncio>=1.4' 'jsonschema>=4' ||
  { say "Python's package registry cannot be reached"; exit 3; }
"$venv/bin/python" -m pytest --quiet -p no:cacheprovider editors/tests

command -v npm >/dev/null || { say "no npm: the inspector and the extension were not tried"; exit 3; }
inspector=$PWD/target/inspector
[ -x "$inspector/node_modules/.bin/mcp-inspector" ] ||
  npm install --silent --no-audit --no-fund --prefix "$inspector" @modelcontextprotocol/inspector@0.15 ||
  { say "npm's registry cannot be reached"; exit 3; }
ask() { "$inspector/node_modules/.bin/mcp-inspector" --cli "$ASSAY" mcp --root examples "$@"; }
ask --method tools/list | grep -q '"name": "rewrite"'
ask --method prompts/list | grep -q '"make-faster"'
ask --method resources/read --uri assay://explain/coarsen | grep -q 'What it does'
# A call of every tool, and a word of its answer.
while read -r word tool arguments; do
  # shellcheck disable=SC2046,SC2086 # arguments are words
  ask --method tools/call --tool-name "$tool" $(printf -- '--tool-arg %s ' $arguments) | grep -q -- "$word" ||
    { say "the inspector's call of $tool was not answered with $word"; exit 1; }
done <<'CALLS'
assay.inspect inspect path=kernels/saxpy.metal
assay.profile profile path=kernels/matmul_naive.metal
assay.predict predict path=kernels/matmul_naive.metal chip=m1-max
assay.run run path=naive/row_max.metal check=true
assay.compare compare before_path=naive/row_max.metal after_path=naive/row_max.metal buffers=[0]
assay.diff diff before_path=kernels/saxpy.metal after_path=kernels/saxpy.metal
assay.rewrite rewrite path=kernels/matmul_naive.metal list=true
assay.tune tune path=naive/row_max.metal budget=10s evaluations=3
assay.disasm disasm path=kernels/saxpy.metal
assay.explain explain rule=narrow-loads
assay.bench bench kernels=["relu"] quick=true no_time=true
assay.chips chips name=m1
CALLS
say "the inspector lists tools, prompts and resources, and calls"

(
  cd editors/vscode
  npm ci --silent --no-audit --no-fund || { say "npm's registry cannot be reached"; exit 3; }
  npm run --silent check
  npm run --silent build
  npm run --silent test
  npm run --silent package >/dev/null
) || status=$?
[ "$status" = 0 ] || exit "$status"

# code-server runs on one version of Node, which npm has too. No install scripts: what they compile (terminals, passwords) is not used.
workbench=$PWD/target/workbench
node=$workbench/node_modules/node-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')/bin
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
export CHROMIUM
[ -n "$CHROMIUM" ] || { say "no Chromium (apt-get install chromium): the extension was not tried in a workbench"; exit 3; }
quick() { npm install --silent --no-audit --no-fund --ignore-scripts "$@"; }
if [ ! -e "$workbench/ready" ]; then
  mkdir -p "$workbench"
  quick --prefix "$workbench" code-server@4.139.1 "$(basename "$(dirname "$node")")@24" playwright-core@1 &&
    (cd "$workbench/node_modules/code-server/lib/vscode" && PATH=$node:$PATH quick --omit=dev && cd extensions && PATH=$node:$PATH quick --omit=dev) &&
    touch "$workbench/ready" || { say "npm's registry cannot be reached: the extension was not tried in a workbench"; exit 3; }
fi
in_workbench() { "$node/node" editors/vscode/workbench.mjs "$workbench" editors/vscode/assay-metal.vsix "$ASSAY"; }
# A browser and a server of others take part: what fails is tried once more, and both are told.
in_workbench || { say "the workbench failed, once more"; in_workbench; }
say "servers and extension are fine"
