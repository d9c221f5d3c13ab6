#!/usr/bin/env bash
# llama.cpp's own test of its Metal back end, compared with its CPU back end: ggml and test-backend-ops of the source that llama-cpp-python
# carries, built with our headers and linked to our library; and a small model that generates tokens on both.
#
#   metal-llama.sh LIBRARY                        a fixed sample of operations, and 64 tokens
#   metal-llama.sh LIBRARY tokens                 64 tokens
#   metal-llama.sh LIBRARY ARGUMENT...            test-backend-ops with these arguments, such as: test -b MTL0
#
# Exit 3 where clang or the registry is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.3.36
library=$(realpath "$1")
shift
out=$PWD/target/metal/llama
sdk=$PWD/crates/metal/sdk/include
tests=$PWD/crates/metal/tests
source=$out/llama_cpp_python-$version/vendor/llama.cpp
# Those whose cases are few or short: 45 s of CPU time. The whole takes half an hour and more.
sample=SQR,SILU,SWIGLU,ADD1,SUM_ROWS,MEAN,ARGMAX,SOFT_MAX,RMS_NORM,GROUP_NORM,SSM_CONV,IM2COL,POOL_2D,PAD,OPT_STEP_ADAMW,CONT

compiler=${ASSAY_CLANG:-}
for name in clang-22 clang-21 clang-20 clang-19 clang; do
  [ -n "$compiler" ] || compiler=$(command -v "$name" || true)
done
[ -n "$compiler" ] || { echo "metal-llama.sh: no clang; scripts/setup.sh installs one" >&2; exit 3; }
plus=${compiler/clang/clang++}

mkdir -p "$out/lib" "$out/build"
if [ ! -d "$source" ]; then
  python3 -m venv "$out/python"
  # What names the package's version is written in Python and looks for cmake; nothing is built.
  { "$out/python/bin/python" -m pip --disable-pip-version-check install --quiet scikit-build-core cmake numpy &&
    PATH=$out/python/bin:$PATH "$out/python/bin/python" -m pip --disable-pip-version-check download --quiet --no-deps --no-build-isolation \
      --no-binary llama-cpp-python "llama-cpp-python==$version" --dest "$out/download"; } ||
    { echo "metal-llama.sh: the package registry cannot be reached" >&2; exit 3; }
  tar -xzf "$out/download/llama_cpp_python-$version.tar.gz" -C "$out"
fi
ln -sf "$library" "$out/lib/libobjc.so"

cd "$out/build"
printf '#pragma once\n#define GGML_VERSION "%s"\n#define GGML_COMMIT "unknown"\n' "$version" > ggml-version.h
ggml=$source/ggml/src
flags=(-O2 -march=native -w -fPIC -D_GNU_SOURCE -DGGML_USE_CPU -DGGML_USE_METAL -DGGML_METAL_NDEBUG -DGGML_SCHED_MAX_COPIES=4
  -fblocks -fobjc-runtime=macosx-15 -I. "-I$source/include" "-I$source/src" "-I$source/ggml/include" "-I$ggml" "-I$ggml/ggml-cpu" "-I$sdk")
object_of() { echo "$(basename "$(dirname "$1")")-$(basename "$1").o"; }
# The command that compiles a file, if that was not done before. Its C++ relies on a header that Apple's standard library includes by itself.
command_for() {
  local object driver
  object=$(object_of "$1")
  case $1 in
    *.cpp) driver="$plus -std=gnu++17 -include memory" ;;
    *) driver="$compiler -std=gnu11" ;;
  esac
  [ -f "$object" ] || echo "$driver ${flags[*]} -c $1 -o $object.part && mv $object.part $object"
}
compile() {
  for file in "$@"; do command_for "$file"; done > commands
  xargs -P "$(nproc)" -I{} sh -c '{}' < commands
}
link() {
  local program=$1 objects=() file
  shift
  for file in "$@"; do objects+=("$(object_of "$file")"); done
  # The models that are left out below are the only names that are not there.
  "$plus" "${objects[@]}" -o "$program" -L"$out/lib" -lobjc "-Wl,-rpath,$out/lib" -Wl,--unresolved-symbols=ignore-in-object-files -lpthread -ldl -lm
}
files=("$ggml"/{ggml,ggml-alloc,ggml-quants}.c "$ggml"/{ggml,ggml-backend,ggml-backend-meta,ggml-backend-reg,ggml-backend-dl}.cpp
  "$ggml"/{ggml-threading,ggml-opt,gguf}.cpp "$ggml"/ggml-cpu/*.c "$ggml"/ggml-cpu/*.cpp "$ggml"/ggml-cpu/{amx,tiled}/*.cpp
  "$ggml"/ggml-metal/*.cpp "$ggml"/ggml-metal/*.m)
[ "$(uname -m)" != x86_64 ] || files+=("$ggml"/ggml-cpu/arch/x86/{quants.c,repack.cpp})

# The same tokens by both back ends, of a model that is written here. Of llama.cpp's many kinds of models only llama itself is compiled.
tokens() {
  local all=("${files[@]}" "$source"/src/*.cpp "$source/src/models/llama.cpp" "$tests/llama_tokens.cpp") layers
  printf '#pragma once\n#define LLAMA_VERSION "%s"\n#define LLAMA_COMMIT "unknown"\n' "$version" > llama-version.h
  compile "${all[@]}"
  link llama-tokens "${all[@]}"
  "$out/python/bin/python" -m pip --disable-pip-version-check install --quiet numpy "$source/gguf-py" ||
    { echo "metal-llama.sh: the package registry cannot be reached" >&2; exit 3; }
  "$out/python/bin/python" "$tests/llama_model.py" model.gguf
  for layers in 0 99; do
    GGML_METAL_PATH_RESOURCES=$ggml/ggml-metal ASSAY_METAL_LOG=1 ./llama-tokens model.gguf "$layers" 64 > "tokens.$layers" 2> "tokens.$layers.err"
  done
  diff tokens.0 tokens.99
  echo "llama.cpp of llama-cpp-python $version: $(wc -w < tokens.99) tokens of a small model, the same by its CPU back end and by Metal with $(grep -aoE '[0-9]+ dispatches' tokens.99.err)"
}
if [ "${1:-}" = tokens ]; then
  tokens
  exit
fi

compile "${files[@]}" "$source/tests/test-backend-ops.cpp"
link test-backend-ops "${files[@]}" "$source/tests/test-backend-ops.cpp"

run() {
  local status=0
  GGML_METAL_PATH_RESOURCES=$ggml/ggml-metal ./test-backend-ops "$@" > log 2> log.err || status=$?
  echo "llama.cpp of llama-cpp-python $version:$(grep -a 'tests passed' log | tr -s ' '), $(grep -ac 'not supported' log || true) of them not supported"
  [ "$status" = 0 ] || { grep -a FAIL log | head -20; tail -5 log.err; exit 1; }
}
if [ $# -gt 0 ]; then
  run "$@"
else
  run test -b MTL0 -o "$sample"
  run test -b MTL0 -o MUL_MAT -p 'type_a=(f32|f16|q4_0|q8_0|q4_K),type_b=f32,m=16,n=(1|8|16),k=256,bs=\[1,1\]'
  tokens
fi
