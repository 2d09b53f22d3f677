#define _GNU_SOURCE /* st_mtim */
#include <string.h>
#include <sys/stat.h>

#include "common/hostmem.h"
#include "snapshot/document/symbols_internal.h"

#if TIDEMARK_HAVE_BACKTRACE
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <backtrace.h>

/* One file, as it was when it was opened. Entries never change once they are in the list. */
typedef struct known_file {
    const struct known_file *next;
    struct stat status;            /* to notice that the file was replaced */
    struct backtrace_state *state; /* libbacktrace's; never freed */
} known_file;

static void ignore_error(void *data, const char *message, int error_number) {
    (void)data;
    (void)message;
    (void)error_number;
}

static void ignore_symbol(void *data, uintptr_t pc, const char *name, uintptr_t value,
                          uintptr_t n_bytes) {
    (void)data;
    (void)pc;
    (void)name;
    (void)value;
    (void)n_bytes;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_program_base(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    (void)n_bytes;
    *(uintptr_t *)data = (uintptr_t)info->dlpi_addr;
    return 1;
}

uintptr_t tide_symbol_base(bool is_fixed) {
    uintptr_t base = 0;
    if (!is_fixed) {
        (void)dl_iterate_phdr(read_program_base, &base);
    }
    return base;
}

struct backtrace_state *tide_symbol_state(const char *path, bool is_fixed) {
    static _Atomic(const known_file *) files;
    struct stat status;
    if (stat(path, &status) != 0) {
        return NULL;
    }
    for (const known_file *file = atomic_load(&files); file != NULL; file = file->next) {
        if (is_same_file(&file->status, &status)) {
            return file->state;
        }
    }
    known_file *file = tide_hostmem_zeroed(tide_hostmem_default(), 1, sizeof(*file));
    if (file == NULL) {
        return NULL;
    }
    file->status = status;
    file->state = backtrace_create_state(path, 1, ignore_error, NULL);
    /* libbacktrace opens the file at the first look-up: do one now, while the name is valid. */
    if (file->state != NULL) {
        (void)backtrace_syminfo(file->state, tide_symbol_base(is_fixed), ignore_symbol,
                                ignore_error, NULL);
    }
    const known_file *first = atomic_load(&files);
    do {
        file->next = first;
    } while (!atomic_compare_exchange_weak(&files, &first, file));
    return file->state;
}
#endif
