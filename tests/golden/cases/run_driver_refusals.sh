# Programs without PyTorch that run out of memory: the driver's refusals are counted, whichever function was asked; one
# that went on with less memory failed for another reason; and what the host refuses is not the card's.
# Builds with a sanitizer and other systems have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_live.so" ] || exit 77
cat >program.py <<'END'
import ctypes, resource, sys
cuda = ctypes.CDLL("libcuda.so.1")
address, pitch, context = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_void_p()
of = ctypes.byref
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(of(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(of(address), ctypes.c_size_t(1 << 30)) == 0
large, on_card = ctypes.c_size_t(100 << 30), (ctypes.c_int * 16)(1, 0, 1, 0)
how = sys.argv[1]
if how == "host":
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
status = {
    "alloc": lambda: cuda.cuMemAlloc_v2(of(address), large),
    "async": lambda: cuda.cuMemAllocAsync(of(address), large, None),
    "create": lambda: cuda.cuMemCreate(of(address), large, on_card, ctypes.c_uint64(0)),
    "pitch": lambda: cuda.cuMemAllocPitch_v2(of(address), of(pitch), ctypes.c_size_t(1 << 20), ctypes.c_size_t(100 << 10), 4),
    "pool": lambda: cuda.cuMemAllocFromPoolAsync(of(address), large, pool, None),
    "less": lambda: cuda.cuMemAlloc_v2(of(address), large) + cuda.cuMemAlloc_v2(of(address), ctypes.c_size_t(1 << 20)),
    "host": lambda: next((s for s in (cuda.cuMemAlloc_v2(of(address), ctypes.c_size_t(512)) for i in range(300000)) if s), 0),
}
pool = ctypes.c_void_p()
assert cuda.cuDeviceGetDefaultMemPool(of(pool), 0) == 0
print(how, "status", status[how]())
sys.exit(1)
END
fails() {
    tidemark run --device virtual:h100-80 -- python3 program.py "$1" 2>/dev/null || true
    tidemark run --device virtual:h100-80 -- python3 program.py "$1" 2>&1 >/dev/null | grep -E '^tidemark run: (it |the program |the host )' |
        sed 's/^tidemark run: //'
}
for how in alloc async create pitch pool less; do
    fails "$how"
done
# How many small blocks there are until the host fails differs by what its heap has left.
fails host | grep -v '^the program ended' | sed 's/0.00 GiB/little/'
# A limit of the host is named where the program may have failed for it, and nowhere else.
limited() {
    (ulimit -v 8000000 && tidemark run --device virtual:h100-80 -- python3 -c "$1" 2>&1 >/dev/null | grep -E '^tidemark run: (the program failed|a process)' |
        sed 's/^tidemark run: //')
}
limited 'b"x" * (16 << 30)'
limited 'int("x")'
