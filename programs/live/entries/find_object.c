/* find_object.c - finds the unwind tables for the code at an address.
 *
 * libgcc's unwinder, which is linked into this object, asks glibc for them by _dl_find_object(),
 * which exists from glibc 2.35 on. With our own function the object can be preloaded with glibc
 * 2.34, such as on RHEL 9. It is hidden, so only our own calls reach it. */
#define _GNU_SOURCE /* dl_iterate_phdr, dl_find_object */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* otherwise libgcc does not ask */

typedef struct search {
    uintptr_t address;
    struct dl_find_object *to;
} search;

enum { GO_ON = 0, FOUND, HAS_NO_TABLES };

static int look_at_object(struct dl_phdr_info *info, size_t n_bytes, void *ctx) {
    const search *of = ctx;
    uintptr_t first = UINTPTR_MAX;
    uintptr_t end = 0;
    uintptr_t tables = 0;
    bool holds = false;
    (void)n_bytes;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            first = begin < first ? begin : first;
            end = begin + part->p_memsz > end ? begin + part->p_memsz : end;
            holds = holds || (of->address >= begin && of->address - begin < part->p_memsz);
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            tables = begin;
        }
    }
    if (!holds) {
        return GO_ON;
    }
    if (tables == 0) {
        return HAS_NO_TABLES;
    }
    /* NOLINTBEGIN(performance-no-int-to-ptr): the program headers have numbers */
    of->to->dlfo_map_start = (void *)first;
    of->to->dlfo_map_end = (void *)end;
    of->to->dlfo_eh_frame = (void *)tables;
    /* NOLINTEND(performance-no-int-to-ptr) */
    return FOUND;
}

/* 0: found. */
__attribute__((visibility("hidden"))) int _dl_find_object(void *address,
                                                          struct dl_find_object *ret) {
    search of = {.address = (uintptr_t)address, .to = ret};
    *ret = (struct dl_find_object){.dlfo_flags = 0};
    return dl_iterate_phdr(look_at_object, &of) == FOUND ? 0 : -1;
}

#endif
