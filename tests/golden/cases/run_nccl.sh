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
assert nccl.ncclCommInitAll(comms, int(sys.argv[1]), None) == 0
assert nccl.ncclAllReduce(values, values, 4, 7, 0, comms[0], None) == 0
assert cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
if "ask" in sys.argv:
    status = allocate(free.value + (int(sys.argv[3]) << 20))
    sys.exit(f"RuntimeError: out of memory ({status})")
PY
run() { tidemark run "$@" 2>&1 | grep -E 'NCCL' | sed -E 's/^tidemark run: //; s/, at .*: [0-9]/: 0/; s/[0-9.]+ GiB were asked for/X were asked for/'; echo; }
run --device virtual:h100-80x2 -- python3 program.py 2
run --device virtual:rtx4090x2 -- python3 program.py 2
run --device virtual:h100-80x2 -- python3 program.py 2 full
run --device virtual:h100-80x2 -- python3 program.py 2 ask 100
run --device virtual:h100-80x2 -- python3 program.py 2 ask 2000
run --device virtual:h100-80x2 --nccl-bytes 1GiB -- python3 program.py 2
run --device virtual:h100-80x2 --nccl-bytes 0 -- python3 program.py 2
# The snapshot has it, for other commands.
tidemark run --device virtual:h100-80x2 -o failed.json.gz -- python3 program.py 2 ask 100 >/dev/null 2>&1
tidemark explain failed.json.gz | grep NCCL
# Cells of a sweep are not charged: what is left is the card's total, less the context and the program's block.
tidemark sweep --device virtual:h100-80x2 --set n=2 -o rows.jsonl --format json -- python3 program.py '{n}' 2>/dev/null |
    jq -c '.tables.cells.rows[] | [.outcome, .margin_bytes]'
NCCL_MAX_NCHANNELS=4 run --device virtual:h100-80x2 -- python3 program.py 2
