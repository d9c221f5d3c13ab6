#!/usr/bin/env bash
# A Mac's first five minutes: everything that only a Mac can show, in one file to send to the project.
#   scripts/mac-report.sh [FILE]     ASSAY: the program; BRIEF=1: without calibration and timing
# Each part has a time limit, since a GPU driver may stop to answer; a part that fails does not stop the next. The file names
# no user, folder, host or serial number. Ends with 0 when GPU and CPU agree or there is no GPU, with 1 when they differ or
# were not compared, with 4 when this is not a Mac.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
report=${1:-target/mac-report.txt}
assay=${ASSAY:-target/release/assay}

if [ "${ASSAY_PLATFORM:-}" != macos ] && [ "$(uname -s)" != Darwin ]; then
  echo "mac-report: this is not a Mac; the report is about its GPU and Apple's compilers" >&2
  exit 4
fi
if [ ! -x "$assay" ]; then cargo build --release --quiet -p assay-metal || exit 1; fi
assay=$(cd "$(dirname "$assay")" && pwd)/$(basename "$assay")
folder=$(mktemp -d "${TMPDIR:-/tmp}/mac-report.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir -p "$(dirname "$report")"
: >"$folder/report"

# macOS has no timeout(1), and a Perl.
limit() { perl -e 'alarm shift; exec @ARGV or exit 127' "$@"; }

part() { # SECONDS TITLE COMMAND...
  local seconds=$1 title=$2 status=0
  shift 2
  printf 'mac-report: %s\n' "$title" >&2
  limit "$seconds" "$@" >"$folder/part" 2>&1 </dev/null || status=$?
  {
    printf '\n## %s\n' "$title"
    [ "$status" -eq 142 ] && printf '(stopped after %s s)\n' "$seconds"
    head -c 200000 "$folder/part"
    printf '(exit %s)\n' "$status"
  } >>"$folder/report"
  return "$status"
}

# What Apple's compiler states beside our registers, for twenty kernels.
registers() {
  local kernel
  for kernel in saxpy softmax softmax_subgroup matmul_naive matmul_tiled matmul_reg4x4 matmul_simdgroup gemv_q4 \
    dequant_q4 reduce_sum scan_block layernorm rmsnorm_half rope attention_row transpose_tiled histogram_local \
    conv2d_3x3 half4_poly fft_radix4; do
    echo "$kernel"
    "$assay" profile "examples/kernels/$kernel.metal" --format json 2>"$folder/said" |
      grep -m 1 -o '"half_registers": *[0-9]*' | sed 's/.*: */  assay: half registers /'
    sed -n "/Apple's compiler/s/^/  /p" "$folder/said"
  done
}

{
  echo "# What this Mac shows"
  "$assay" --version
  date -u '+%Y-%m-%d'
} >>"$folder/report"
part 60 "System" sh -c 'sw_vers; xcodebuild -version; xcode-select -p; xcrun metal -v; clang --version'
part 120 "What this machine can do" "$assay" doctor
agree=0
part 300 "GPU against CPU" scripts/smoke-metal.sh "$assay" || agree=$?
export assay folder
export -f registers
part 600 "Registers: Apple's compiler and ours" bash -c registers
part 300 "Examinations on the GPU" "$assay" bench --set common --quick --device metal
if [ -z "${BRIEF:-}" ]; then
  part 1200 "Calibration, and predicted against measured" "$assay" calibrate --chip-file "$folder/chip.tsv"
  part 60 "The file of the calibration" cat "$folder/chip.tsv"
fi
part 300 "A recording" "$assay" trace record --time-limit 10s -- "$assay" run examples/kernels/saxpy.metal -f saxpy \
  --device metal --grid 1000000 --threadgroup 64 --buffer 0=random:f32:1000000:1 --buffer 1=random:f32:1000000:2 \
  --bytes 2=f32:0.5 --bytes 3=u32:1000000 --repeat 50

# Names of people and machines are no part of the report.
user=$(id -un)
host=$(hostname 2>/dev/null || echo localhost)
# A name that follows itself is found the second time.
name="s|\([^A-Za-z]\)$user\([^A-Za-z]\)|\1USER\2|g"
sed -e "s|$folder|FOLDER|g" -e "s|$PWD|CHECKOUT|g" -e "s|${HOME:-/nowhere}|HOME|g" -e "s|/Users/[^/ ]*|/Users/USER|g" \
  -e "s|/var/folders/[^ ]*|TEMPORARY|g" -e "s|${host%%.*}|HOST|g" -e "$name" -e "$name" \
  -e "s|^$user\([^A-Za-z]\)|USER\1|" -e "s|\([^A-Za-z]\)$user\$|\1USER|" "$folder/report" >"$report"
echo "mac-report: $report" >&2
case $agree in
  0) exit 0 ;;
  4) echo "mac-report: there is no Metal GPU here" >&2; exit 0 ;;
  3) echo "mac-report: GPU and CPU were not compared; the report says what is missing" >&2; exit 1 ;;
  *) echo "mac-report: GPU and CPU do not agree" >&2; exit 1 ;;
esac
