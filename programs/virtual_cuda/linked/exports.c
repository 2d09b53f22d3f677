#include "programs/virtual_cuda/linked/exports.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

/* The loader has moved the addresses of the dynamic section to where the object is loaded. */
static const void *address_of(const ElfW(Dyn) * entry) {
    return (const void *)(uintptr_t)entry->d_un.d_ptr;
}

tide_vc_exports tide_vc_exports_of(uintptr_t base, const ElfW(Dyn) * dynamic) {
    tide_vc_exports made = {.base = base};
    for (const ElfW(Dyn) *at = dynamic; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_SYMTAB) {
            made.symbols = address_of(at);
        } else if (at->d_tag == DT_STRTAB) {
            made.names = address_of(at);
        } else if (at->d_tag == DT_GNU_HASH) {
            made.hashes = address_of(at);
        }
    }
    return made;
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (const unsigned char *at = (const unsigned char *)name; *at != 0; at++) {
        hash = hash * 33 + *at;
    }
    return hash;
}

/* DT_GNU_HASH: the numbers of buckets, of unhashed symbols and of 64-bit words of a filter, and its
 * shift; the filter; the buckets; and a hash for each hashed symbol, whose lowest bit ends a
 * bucket. */
const void *tide_vc_exports_find(const tide_vc_exports *of, const char *name) {
    if (of->hashes == NULL || of->hashes[0] == 0) {
        return NULL;
    }
    uint32_t first = of->hashes[1];
    const uint32_t *buckets = of->hashes + 4 + (size_t)2 * of->hashes[2];
    const uint32_t *chain = buckets + of->hashes[0];
    uint32_t hash = hash_of(name);
    uint32_t i = buckets[hash % of->hashes[0]];
    while (i >= first) {
        const ElfW(Sym) *at = &of->symbols[i];
        if ((chain[i - first] | 1) == (hash | 1) && at->st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(at->st_info) == STT_FUNC && strcmp(of->names + at->st_name, name) == 0) {
            return (const void *)(of->base + at->st_value);
        }
        if ((chain[i - first] & 1) != 0) {
            break;
        }
        i++;
    }
    return NULL;
}

bool tide_vc_exports_need(const ElfW(Dyn) * dynamic, const char *beginning) {
    const char *names = tide_vc_exports_of(0, dynamic).names;
    for (const ElfW(Dyn) *at = dynamic; at->d_tag != DT_NULL && names != NULL; at++) {
        if (at->d_tag == DT_NEEDED &&
            strncmp(names + at->d_un.d_val, beginning, strlen(beginning)) == 0) {
            return true;
        }
    }
    return false;
}
