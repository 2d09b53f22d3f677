#!/usr/bin/env bash
# check_carried.sh FOLDER: runs a carried build in a root folder of its own, which has nothing but glibc and the build.
# Exit status 77 if that folder cannot be made (it takes root).
set -u
folder=$(realpath "$1")
[ "$(id -u)" -eq 0 ] || { echo "skipped: only root may change the root folder" && exit 77; }
cell=$(mktemp -d)
trap 'rm -rf "$cell"' EXIT
mkdir -p "$cell/lib64" "$cell/build" "$cell/tmp" "$cell/proc"
loader=$(readelf -l "$folder/bin/tidemark" | sed -nE 's/.*interpreter: (\S+)\]/\1/p')
cp -L "$loader" "$cell$loader"
# glibc is where the loader searches without a cache.
ldd "$folder/bin/tidemark" | sed -nE 's/^\s*(libc|libm)\.so\.6 => (\S+) .*/\2/p' | while read -r library; do
    mkdir -p "$cell$(dirname "$library")"
    cp -L "$library" "$cell$library"
done
cp -r "$folder/." "$cell/build/"
# In a mount namespace of its own, so that /proc goes with it.
inside() { unshare --mount bash -c 'mount --bind /proc "$1/proc" && shift && exec chroot "$@"' inside "$cell" "$cell" "$@"; }
inside /build/bin/tidemark devices >"$cell.out" 2>&1 || { cat "$cell.out" && rm -f "$cell.out" && exit 1; }
cat "$cell.out"
status=0
grep -q 'call stacks *here' "$cell.out" || { echo "libunwind was not carried" && status=1; }
rm -f "$cell.out"
inside /build/bin/tidemark profile --layers 2 --d-model 64 --heads 2 --d-ff 96 --vocab 131 --context 33 --batch 2 --device cpu \
    --warmup 1 --steps 2 -o /tmp/run.json.gz || status=1
inside /build/bin/tidemark summary --top 60 /tmp/run.json.gz >/dev/null || status=1
inside /build/bin/tidemark check-reference /build/reference/tiny_fp32.safetensors --device cpu >/dev/null || status=1
# The folder has no GPU, and the probe must report that.
inside /build/tests/tide_gpu_probe
[ $? -eq 77 ] || { echo "the probe found a GPU" && status=1; }
inside /build/tests/test_gpu --list | grep -q attention || { echo "test_gpu does not start" && status=1; }
# The runner of the tests must report that there is no GPU, and the benchmark that it is complete.
if ! "$folder/tests/tide_gpu_probe" >/dev/null 2>&1; then
    bash "$folder/run.sh" >/dev/null 2>&1
    [ $? -eq 77 ] || { echo "run.sh does not say that there is no GPU" && status=1; }
fi
bash -n "$folder/tests/gpu/initcheck.sh" || { echo "initcheck.sh was not carried" && status=1; }
bash "$folder/run.sh" --nonsense 2>&1 | grep -q 'smoke zoo profile calibrate sanitizers bench' || { echo "run.sh does not name its parts" && status=1; }
# `tidemark run` finds its libraries and its package; the program is a shell's own, so that nothing else is needed.
"$folder/bin/tidemark" run --device virtual:h100-80 -o "$cell/run.json.gz" -- true 2>&1 | grep -q 'is missing' &&
    { echo "tidemark run has not all of its files" && status=1; }
python3 -B "$folder/bench/pytorch/beside_pytorch.py" --help >/dev/null || { echo "the benchmark does not start" && status=1; }
exit "$status"
