# NCCL's own memory is a model, which the card is charged; the answer names it, also when a request finds no room.
# Builds with a sanitizer and other systems have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.py <<'PY'
import ctypes, sys
cuda, nccl = ctypes.CDLL("libcudart.so"), ctypes.CDLL(None)
comms, address, free, total = (ctypes.c_void_p * 2)(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
nccl.ncclAllReduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


def allocate(n_bytes):
    return cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(n_bytes))


assert allocate(1 << 20) == 0
values = address.value
if "full" in sys.argv:
    assert cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0 and allocate(free.value - (240 << 20)) == 0
if "second" in sys.argv:
    assert cuda.cudaSetDevice(1) == 0 and cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
    assert allocate(free.value - (240 << 20)) == 0
assert nccl.ncclCommInitAll(comms, int(sys.argv[1]), None) == 0
assert nccl.ncclAllReduce(values, values, 4, 7, 0, comms[0], None) == 0
assert cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
if "second" in sys.argv:
    assert nccl.ncclAllReduce(values, values, 4, 7, 0, comms[1], None) == 0
if "again" in sys.argv:
    assert nccl.ncclCommDestroy(ctypes.c_void_p(comms[0])) == 0 and nccl.ncclCommInitAll(comms, 2, None) == 0
    assert cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
if "more" in sys.argv:
    assert allocate(64 << 20) == 0
if "ask" in sys.argv:
    status = allocate(free.value + (int(sys.argv[-1]) << 20))
    sys.exit(f"RuntimeError: out of memory ({status})")
PY
run() { tidemark run "$@" 2>&1 | grep -E 'NCCL' | sed -E 's/^tidemark run: //; s/, at .*: [0-9]/: 0/; s/[0-9.]+ GiB were asked for/X were asked for/'; echo; }
run --device virtual:h100-80x2 -- python3 program.py 2
run --device virtual:rtx4090x2 -- python3 program.py 2
run --device virtual:h100-80x2 -- python3 program.py 2 full
# Buffers that do not fit are named first, on whichever card they are.
run --device virtual:h100-80x2 -- python3 program.py 2 second
run --device virtual:h100-80x2 -- python3 program.py 2 ask 100
run --device virtual:h100-80x2 -- python3 program.py 2 ask 2000
# Without the buffers, the request's segment of PyTorch would be 1 MiB too large.
run --device virtual:h100-80x2 -- python3 program.py 2 ask 518
# A communicator that was destroyed is no longer charged.
run --device virtual:h100-80x2 -- python3 program.py 2 again ask 100
run --device virtual:h100-80x2 --nccl-bytes 200GiB -- python3 program.py 2
run --device virtual:h100-80x2 --memory-limit 1GiB --need --nccl-bytes 80GiB -- python3 program.py 2
run --device virtual:h100-80x2 --memory-limit 1GiB --need -- python3 program.py 2
run --device virtual:h100-80x2 --nccl-bytes 1GiB -- python3 program.py 2
run --device virtual:h100-80x2 --nccl-bytes 0 -- python3 program.py 2
# The snapshot has it, for other commands.
tidemark run --device virtual:h100-80x2 -o failed.json.gz -- python3 program.py 2 ask 100 >/dev/null 2>&1
tidemark explain failed.json.gz | grep NCCL
# So has an account of the card, which no call to CUDA explains.
tidemark run --device virtual:h100-80x2 -o more.json.gz -- python3 program.py 2 more >/dev/null 2>&1
tidemark summary more.json.gz | grep -E 'device at its peak|NCCL|unexplained'
# Cells of a sweep are not charged, which counts as inexact: what is left is the card's total, less the context and the program's block.
tidemark sweep --device virtual:h100-80x2 --set n=2 -o rows.jsonl --format json -- python3 program.py '{n}' 2>/dev/null |
    jq -c '.tables.cells.rows[] | [.outcome, .margin_bytes, .inexact_calls]'
NCCL_MAX_NCHANNELS=4 run --device virtual:h100-80x2 -- python3 program.py 2
