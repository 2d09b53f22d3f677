#!/usr/bin/env bash
# The program with an emulated cuda device: what it reports about it, a training run on it, and PyTorch's results.
#     run_program.sh PROGRAM MANAGEMENT-LIBRARY-FOLDER REFERENCE-FOLDER
set -u
program=$(realpath "$1")
management=$(realpath "$2")
reference=$(realpath "$3")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export OMP_WAIT_POLICY=passive LC_ALL=C

# expect WORDS FILE: FILE must contain the words.
expect() {
    grep -qF -- "$1" "$2" || { echo "\"$1\" is not in:" >&2; cat "$2" >&2; exit 1; }
}

set -o pipefail # columns are as wide as their widest cell: only one blank counts
"$program" devices | tr -s " " >devices || exit 1
expect "cuda:0 here Fake GPU 0, cuBLAS 13.1.0; compute capability 9.0, 80.00 GiB of memory, 79.50 GiB free" devices
expect "clocks up to 1980 MHz, of memory 2619 MHz; driver CUDA 13.0" devices
grep -q 'cuda:1' devices && { cat devices >&2; exit 1; }
TIDE_FAKE_DEVICES=3 "$program" devices | tr -s " " >devices || exit 1
for i in 0 1 2; do
    expect "cuda:$i here Fake GPU $i, cuBLAS 13.1.0; compute capability 9.0" devices
done
[ "$(grep -c '^ cuda' devices)" -eq 3 ] || { cat devices >&2; exit 1; }
LD_LIBRARY_PATH=$management "$program" devices | tr -s " " >devices || exit 1
expect "driver CUDA 13.0; a context takes 512.00 MiB" devices

shape="--d-model 16 --layers 2 --heads 2 --d-ff 24 --vocab 37 --context 8 --batch 2 --warmup 1 --steps 2"
for precision in fp32 tf32 bf16-mixed bf16-true; do
    # shellcheck disable=SC2086 # a list of options
    "$program" profile $shape --precision "$precision" -o "$precision.json.gz" >profile 2>&1 || { cat profile >&2; exit 1; }
    expect "on cuda:0" profile
    expect "computed by Fake GPU 0, cuBLAS 13.1.0" profile
    grep -q "workspace  *32.00 MiB" profile || { cat profile >&2; exit 1; }
    "$program" summary "$precision.json.gz" >summary || exit 1
    expect "workspace" summary
done
gzip -dc tf32.json.gz >tf32.json
for key in '"kind":"cuda"' '"name":"Fake GPU 0"' '"compute_capability":90' '"driver_version":13000' \
    '"runtime_version":13000' '"sm_clock_khz":1980000' '"memory_clock_khz":2619000'; do
    expect "$key" tf32.json
done

# A language model that decodes: PyTorch's rows, nothing compiled, and the bandwidth, 2 x 2619 MHz x 5120 bits.
"$program" profile --workload decode --language-model tiny-moe-int8 --device cuda --new-tokens 3 --warmup 0 --steps 1 \
    --overhead-pairs 0 -o decode.json.gz >profile 2>&1 || { cat profile >&2; exit 1; }
expect "at the card's 3352 GB/s that takes" profile
expect "computed by Fake GPU 0" profile
for row in 'token_per_sec +- +[0-9.]+' 'memory_bandwidth\(GB/s\) +- +[0-9.]+' 'compilation_time\(s\) +- +-'; do
    grep -Eq "^ *tiny-moe-int8 +$row +int8 +cuda:0 +True" profile || { echo "no row $row:" >&2; cat profile >&2; exit 1; }
done

"$program" check-reference --device cuda "$reference/tiny_fp32.safetensors" >check 2>&1 || { cat check >&2; exit 1; }
"$program" check-reference --device cuda "$reference/odd_bf16_mixed.safetensors" >check 2>&1 || { cat check >&2; exit 1; }

# A memory limit is met as on every device: exit status 3, and the snapshot is written.
# shellcheck disable=SC2086
"$program" profile $shape --memory-limit 33MiB -o oom.json.gz >profile 2>&1
[ $? -eq 3 ] || { cat profile >&2; exit 1; }
[ -s oom.json.gz ] || exit 1

# A sweep on the best device, on which only the cells have a context. shellcheck disable=SC2086
"$program" sweep $shape --mode forward,train --precision tf32,bf16-mixed --memory-limit 33MiB --format csv >sweep 2>&1 ||
    { cat sweep >&2; exit 1; }
expect "4 of 4 cells on cuda:0: 4 out of memory" sweep
# shellcheck disable=SC2086
"$program" sweep $shape --mode forward,train --precision tf32,bf16-mixed -o fits.jsonl --format csv >sweep 2>&1 ||
    { cat sweep >&2; exit 1; }
expect "4 of 4 cells on cuda:0: 4 completed" sweep
expect "cuda,Fake GPU 0,85899345920,9.0,,13.0,13.0,1980,2619" sweep
grep -v '^tidemark ' sweep >table
[ "$("$(dirname "$0")/../golden/csv_columns" table device_used_before_bytes | grep -cx "$((512 << 20))")" -eq 4 ] || {
    echo "device_used_before_bytes is not 512 MiB in each of 4 rows:" >&2
    cat table >&2
    exit 1
}
