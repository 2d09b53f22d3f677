#define _GNU_SOURCE /* MAP_FIXED */
#include "programs/virtual_cuda/linked/code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/assert.h"

/* Whole pages that contain all functions to replace. */
typedef struct span {
    uintptr_t begin, end;
} span;

static void *pointer(uintptr_t address) {
    return (void *)address;
}

static span find_span(uintptr_t base, const tide_vc_replacement *all, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    span found = {.begin = UINTPTR_MAX, .end = 0};
    for (size_t i = 0; i < n; i++) {
        uintptr_t begin = (base + all[i].at) & ~(page - 1);
        uintptr_t end = (base + all[i].at + TIDE_VC_JUMP_BYTES + page - 1) & ~(page - 1);
        found.begin = begin < found.begin ? begin : found.begin;
        found.end = end > found.end ? end : found.end;
    }
    return found;
}

/* Whether the loaded code is the file's: the file may have been replaced since. */
static bool is_of_file(const tide_vc_object_file *file, uintptr_t base,
                       const tide_vc_replacement *all, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned char *code = tide_vc_object_file_at(file, all[i].at, TIDE_VC_JUMP_BYTES);
        if (code == NULL || memcmp(code, pointer(base + all[i].at), TIDE_VC_JUMP_BYTES) != 0) {
            return false;
        }
    }
    return true;
}

static void write_jump(unsigned char *at, const void *function) {
    static const unsigned char JUMP[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(at, JUMP, sizeof(JUMP));
    memcpy(at + sizeof(JUMP), &function, sizeof(function));
    _Static_assert(sizeof(JUMP) + sizeof(function) == TIDE_VC_JUMP_BYTES, "the jump's length");
}

/* Maps the file's own code again where the system refuses to execute pages that were written
 * (SELinux without execmod). `inside`: an address of the object within these pages. */
static bool restore(const tide_vc_object_file *file, uintptr_t base, span of, uint64_t inside) {
    const unsigned char *code = tide_vc_object_file_at(file, inside, 1);
    TIDE_ASSERT(code != NULL); /* is_of_file read it */
    size_t place = (size_t)(code - file->bytes) - (base + inside - of.begin);
    return mmap(pointer(of.begin), of.end - of.begin, PROT_READ | PROT_EXEC,
                MAP_PRIVATE | MAP_FIXED, file->fd, (off_t)place) != MAP_FAILED;
}

int tide_vc_code_replace(const tide_vc_object_file *file, uintptr_t base,
                         const tide_vc_replacement *all, size_t n) {
    TIDE_ASSERT(n > 0);
    span of = find_span(base, all, n);
    if (!is_of_file(file, base, all, n)) {
        return ESTALE;
    }
    if (mprotect(pointer(of.begin), of.end - of.begin, PROT_READ | PROT_WRITE) != 0) {
        return errno;
    }
    for (size_t i = 0; i < n; i++) {
        write_jump(pointer(base + all[i].at), all[i].function);
    }
    if (mprotect(pointer(of.begin), of.end - of.begin, PROT_READ | PROT_EXEC) != 0) {
        int failed = errno;
        return restore(file, base, of, all[0].at) ? failed : ENOTRECOVERABLE;
    }
    return 0;
}
