#!/usr/bin/env bash
# Builds the product without our own model, in build/no_model, and runs the tests of that build: build.sh SOURCE LOG
set -euo pipefail
cd "$1"
log=$2
commands=build/no_model/compile_commands.json
fail() { printf 'no_model: %s\n' "$1" >&2 && exit 1; }

cmake --preset no_model >"$log" 2>&1 || { cat "$log" && fail "it cannot be configured"; }
! grep -q "\"file\": \"$PWD/model/" "$commands" || fail "it compiles files of model/"
! grep -q -- -fopenmp "$commands" || fail "it uses OpenMP"
cmake --build --preset no_model >"$log" 2>&1 || { grep -A 5 FAILED "$log" && fail "it does not build"; }
ctest --preset no_model
