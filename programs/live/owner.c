/* Only dl_iterate_phdr reads the dynamic linker's list of loaded code. dladdr would wait for
 * constructors of libraries, which may be waiting for a lock that this thread holds.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "programs/live/owner.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include "common/lock_friend.h"
#include "common/map.h"
#include "programs/live/memory.h"

enum { PATH_BYTES = 1024, NAME_BYTES = 64, MAX_KNOWN = 1 << 16, OTHERS = TIDE_LIVE_MAX_OWNERS - 1 };

/* ---- names of libraries ---- */

/* The first match counts. A part with a slash is searched in the path; any other is a prefix of the
 * file's name. Without an owner, the library passes on calls of others. */
static const struct {
    const char *part;
    const char *owner;
} OWNERS[] = {
    {"libcudart", NULL},
    {"libcuda.so", NULL},
    {"libnvidia-", NULL},
    {"libtidemark_", NULL},
    {"libffi.so", NULL},
    {"_ctypes.", NULL},
    {"libnccl", "NCCL"},
    {"libcublas", "cuBLAS"},
    {"libcudnn", "cuDNN"},
    {"libcusolver", "cuSOLVER"},
    {"libcusparse", "cuSPARSE"},
    {"libcufft", "cuFFT"},
    {"libcurand", "cuRAND"},
    {"libcufile", "cuFile"},
    {"libnvshmem", "NVSHMEM"},
    {"libnvrtc", "NVRTC"},
    {"libcupti", "CUPTI"},
    {"libnvinfer", "TensorRT"},
    {"libc10", "PyTorch"},
    {"libtorch", "PyTorch"},
    {"/torch/lib/", "PyTorch"},
    {"/torch/_C", "PyTorch"},
    {"/triton/_C/", "Triton"},
    {"/triton/backends/", "Triton"},
    {"/.triton/cache/", "Triton"},
    {"__triton_launcher", "Triton"},
    {"cuda_utils.", "Triton"},
    {"/cupy/", "CuPy"},
    {"/cupy_backends/", "CuPy"},
    {"/jaxlib/", "JAX"},
    {"/jax_plugins/", "JAX"},
    {"libtensorflow", "TensorFlow"},
    {"librmm", "RMM"},
    {"libucp", "UCX"},
    {"libuct", "UCX"},
    {"libmpi", "MPI"},
    {"python3", "Python"},
    {"libpython3", "Python"},
};

/* The package in `path`, such as flash_attn in .../site-packages/flash_attn/x.so; NULL if none. */
static const char *package_in(const char *path) {
    static const char *const FOLDERS[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        const char *found = strstr(path, FOLDERS[i]);
        if (found != NULL) {
            return found + strlen(FOLDERS[i]);
        }
    }
    return NULL;
}

/* Up to the first slash or dot: libfoo of libfoo.so.3. */
static const char *copy_name(const char *from, char *name, size_t n_bytes) {
    size_t n = strcspn(from, "/.");
    n = n > 0 ? n : strcspn(from, "/");
    n = n < n_bytes - 1 ? n : n_bytes - 1;
    memcpy(name, from, n);
    name[n] = '\0';
    return name;
}

const char *tide_live_owner_of_library(const char *path, char *name, size_t n_bytes) {
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(OWNERS) / sizeof(OWNERS[0]); i++) {
        const char *part = OWNERS[i].part;
        bool fits = strchr(part, '/') != NULL ? strstr(path, part) != NULL
                                              : strncmp(file, part, strlen(part)) == 0;
        if (fits) {
            return OWNERS[i].owner != NULL ? copy_name(OWNERS[i].owner, name, n_bytes) : NULL;
        }
    }
    const char *package = package_in(path);
    return copy_name(package != NULL ? package : file, name, n_bytes);
}

/* ---- the table of owners ---- */

static struct {
    tide_lock lock;
    char names[TIDE_LIVE_MAX_OWNERS][NAME_BYTES];
    unsigned n;
    tide_map of_callers; /* return address -> owner; OTHERS + 1: it passes calls on. A library that
                          * replaces an unloaded one is not noticed */
} owners;

static const char OTHERS_NAME[] = "others";

unsigned tide_live_owner_named(const char *name) {
    char text[NAME_BYTES];
    size_t n = strnlen(name, sizeof(text) - 1);
    memcpy(text, name, n);
    text[n] = '\0';
    tide_lock_acquire(&owners.lock);
    unsigned i = 0;
    while (i < owners.n && strcmp(owners.names[i], text) != 0) {
        i++;
    }
    if (i == owners.n && i < OTHERS) {
        memcpy(owners.names[i], text, sizeof(text));
        owners.n++;
    }
    tide_lock_release(&owners.lock);
    return i;
}

const char *tide_live_owner_name(unsigned owner) {
    return owner < OTHERS && owners.names[owner][0] != '\0' ? owners.names[owner] : OTHERS_NAME;
}

void tide_live_owner_forked(void) {
    owners.lock = (tide_lock){0};
    tide_map_init(&owners.of_callers, tide_live_memory()); /* the old memory is not released */
}

/* ---- the library of an address ---- */

typedef struct search {
    uintptr_t pc;
    bool is_found;
    char path[PATH_BYTES];
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *ctx) {
    (void)size;
    search *of = ctx;
    for (size_t i = 0; i < info->dlpi_phnum && !of->is_found; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        of->is_found =
            part->p_type == PT_LOAD && of->pc - info->dlpi_addr - part->p_vaddr < part->p_memsz;
    }
    if (of->is_found) {
        const char *name = info->dlpi_name != NULL ? info->dlpi_name : "";
        /* The program itself has no name in the list. */
        name = name[0] != '\0' ? name : program_invocation_name;
        size_t n = strnlen(name, sizeof(of->path) - 1);
        memcpy(of->path, name, n);
        of->path[n] = '\0';
    }
    return of->is_found;
}

/* The owner of the code that a call returns to; OTHERS + 1: it passes calls on. */
static unsigned owner_at(uint64_t return_address) {
    char name[NAME_BYTES];
    /* The call may be the last instruction of its function. */
    search of = {.pc = (uintptr_t)(return_address - 1)};
    if (dl_iterate_phdr(look_at, &of) == 0) {
        return tide_live_owner_named("unknown code");
    }
    const char *found = tide_live_owner_of_library(of.path, name, sizeof(name));
    return found != NULL ? tide_live_owner_named(found) : OTHERS + 1;
}

static unsigned remembered_owner_at(uint64_t caller) {
    uint64_t owner = 0;
    tide_lock_acquire(&owners.lock);
    if (owners.of_callers.mem == NULL) {
        tide_map_init(&owners.of_callers, tide_live_memory());
    }
    bool is_known = tide_map_find(&owners.of_callers, caller, &owner);
    tide_lock_release(&owners.lock);
    if (is_known) {
        return (unsigned)owner;
    }
    owner = owner_at(caller);
    tide_lock_acquire(&owners.lock);
    if (owners.of_callers.n_used < MAX_KNOWN) {
        /* Without host memory it is searched again next time. */
        (void)!tide_map_put(&owners.of_callers, caller, owner);
    }
    tide_lock_release(&owners.lock);
    return (unsigned)owner;
}

/* ---- the first caller that passes no calls on ---- */

typedef struct walk {
    uintptr_t caller; /* where the search begins */
    bool has_begun;
    unsigned owner; /* OTHERS + 1: not found yet */
} walk;

static _Unwind_Reason_Code look_at_frame(struct _Unwind_Context *frame, void *ctx) {
    walk *of = ctx;
    uintptr_t pc = _Unwind_GetIP(frame);
    if (pc == of->caller) {
        of->has_begun = true;
    } else if (of->has_begun && pc != 0) {
        of->owner = remembered_owner_at(pc);
    }
    return of->owner <= OTHERS ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

unsigned tide_live_owner(const void *caller) {
    walk of = {.caller = (uintptr_t)caller, .owner = remembered_owner_at((uintptr_t)caller)};
    if (of.owner > OTHERS) {
        (void)_Unwind_Backtrace(look_at_frame, &of);
    }
    return of.owner <= OTHERS ? of.owner : tide_live_owner_named("CUDA");
}
