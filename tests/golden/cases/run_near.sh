# A program that fits and leaves less than what is not measured is near the limit; its exit status stays. The memory that it
# needs has the margin. Builds with a sanitizer and other systems have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.py <<'END'
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
address, device, context = ctypes.c_uint64(), ctypes.c_int(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
sys.exit(int(sys.argv[2]) if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(sys.argv[1]) << 20)) == 0 else 1)
END
run() { tidemark run "$@" 2>&1 | grep -E 'fits|does not fit|needs|failed' | sed 's/^tidemark run: //'; echo "exit ${PIPESTATUS[0]}"; }
# Of 24,268 MiB. The context of this card was not measured; 1,536 MiB are its margin.
run --device virtual:rtx3090-24 -- python3 program.py 22732 0
run --device virtual:rtx3090-24 -- python3 program.py 22734 0
run --device virtual:rtx3090-24 -- python3 program.py 22734 7
# Measured, and without a card of the same compute capability that was.
run --device virtual:rtx4090 -- python3 program.py 23500 0
run --device virtual:t4-16 -- python3 program.py 14000 0
# The smallest card that has the margin, too: not one of 12 GB (11,874 or 12,042 MiB), whose contexts are not measured.
run --device virtual:rtx4060 --need -- python3 program.py 11000 0
# The file has the verdict, too.
for mib in 22732 22734; do
    tidemark run --device virtual:rtx3090-24 -o near.json.gz -- python3 program.py $mib 0 2>/dev/null
    tidemark explain near.json.gz | grep -E 'near the limit'
    for command in explain summary; do tidemark $command --format json near.json.gz | grep -o '"fits":"[a-z]*"'; done
done
tidemark run --device virtual:rtx3090-24 -o near.json.gz -- python3 program.py 22734 7 2>/dev/null
tidemark explain --format json near.json.gz >near.json && { grep -o '"fits":"[a-z]*"' near.json || echo "unknown: it failed"; }
# Memory of the host that the card may use is in no account: the file does not say whether it fits.
tidemark run --device virtual:rtx3090-24 --spill 8GiB -o near.json.gz -- python3 program.py 23000 0 2>/dev/null
tidemark explain --format json near.json.gz >near.json && { grep -o '"fits":"[a-z]*"' near.json || echo "unknown: --spill"; }
