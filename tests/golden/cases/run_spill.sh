# A program on a virtual card that gives out more than it has: cudaMemGetInfo tells of the card alone, and a line says
# what lay in the host's memory. Builds with a sanitizer and other systems have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.py <<'END'
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
address, free, total, device, context = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
for mib in map(int, sys.argv[1:]):
    status = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib << 20))
    cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    print(f"{mib} MiB: status {status}, then {free.value >> 20} of {total.value >> 20} MiB are free")
END
run() { tidemark run --device virtual:rtx4060 "$@" 2>&1 | grep -E 'MiB: status|fits|fit |host.s memory at|the host.s memory$' | sed 's/^tidemark run: //'; echo; }
run -- python3 program.py 7800 300
run --spill 1GiB -- python3 program.py 7800 300 100 700
run --spill 1GiB -- python3 program.py 100
# What is left of a card counts what the host has.
tidemark sweep --device virtual:rtx4060 --spill 1GiB --set mib=100,8000 -o rows.jsonl --format json -- python3 program.py '{mib}' 2>/dev/null |
    jq -c '(.tables.cells.rows[] | [.mib, .outcome, .margin_bytes, .spill_peak_bytes]), .sentences.common'
