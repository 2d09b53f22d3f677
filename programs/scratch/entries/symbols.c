#define _GNU_SOURCE /* dl_iterate_phdr */
#include "programs/scratch/entries/symbols.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MAX_OBJECTS = 8 };

/* The place of a shared object and its tables of exported symbols. */
typedef struct object {
    uintptr_t base, end;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hashes; /* DT_GNU_HASH */
} object;

/* Made once, because objects of the C library are never unloaded. */
static struct {
    pthread_once_t once;
    object all[MAX_OBJECTS];
    size_t n;
} library = {.once = PTHREAD_ONCE_INIT};

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* An address of the dynamic section, which the linker may have relocated already. */
static const void *at(uintptr_t base, uintptr_t address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return (const void *)(address < base ? base + address : address);
}

static void read_tables(object *of, const ElfW(Dyn) * dynamic) {
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB) {
            of->symbols = at(of->base, dynamic->d_un.d_ptr);
        } else if (dynamic->d_tag == DT_STRTAB) {
            of->names = at(of->base, dynamic->d_un.d_ptr);
        } else if (dynamic->d_tag == DT_GNU_HASH) {
            of->hashes = at(of->base, dynamic->d_un.d_ptr);
        }
    }
}

/* Searches the GNU hash section: counts, a filter of 64-bit words, the first symbol of each bucket,
 * and the hashes of all symbols, of which the last one of a bucket is odd. */
static void *find(const object *of, const char *name) {
    if (of->hashes == NULL || of->symbols == NULL || of->names == NULL) {
        return NULL;
    }
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++) {
        hash = hash * 33 + *c;
    }
    uint32_t n_buckets = of->hashes[0];
    uint32_t n_skipped = of->hashes[1];
    const uint32_t *buckets = of->hashes + 4 + 2 * (size_t)of->hashes[2];
    uint32_t i = n_buckets > 0 ? buckets[hash % n_buckets] : 0;
    for (bool is_last = i < n_skipped || i == 0; !is_last; i++) {
        uint32_t other = buckets[n_buckets + i - n_skipped];
        const ElfW(Sym) *symbol = &of->symbols[i];
        if ((other | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            strcmp(of->names + symbol->st_name, name) == 0) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            return (void *)(of->base + symbol->st_value);
        }
        is_last = (other & 1) != 0;
    }
    return NULL;
}

void *tide_scratch_own_symbol(const char *name) {
    object own = {.base = (uintptr_t)__ehdr_start};
    read_tables(&own, _DYNAMIC);
    return find(&own, name);
}

static int note_object(struct dl_phdr_info *info, size_t n_bytes, void *context) {
    static const char *const NAMES[] = {"libc.so", "libc-2.", "libpthread", "libdl", "librt"};
    const char *slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
    bool is_library = false;
    (void)n_bytes;
    (void)context;
    for (size_t i = 0; name != NULL && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        is_library = is_library || strncmp(name, NAMES[i], strlen(NAMES[i])) == 0;
    }
    if (!is_library || library.n == MAX_OBJECTS) {
        return 0;
    }
    object *of = &library.all[library.n++];
    of->base = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && begin + part->p_memsz > of->end) {
            of->end = begin + part->p_memsz;
        } else if (part->p_type == PT_DYNAMIC) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            read_tables(of, (const ElfW(Dyn) *)begin);
        }
    }
    return 0;
}

static void note_library(void) {
    (void)dl_iterate_phdr(note_object, NULL);
}

void *tide_scratch_library_symbol(const char *name) {
    (void)pthread_once(&library.once, note_library);
    void *found = NULL;
    for (size_t i = 0; i < library.n && found == NULL; i++) {
        found = find(&library.all[i], name);
    }
    return found;
}

bool tide_scratch_is_of_library(const void *address) {
    (void)pthread_once(&library.once, note_library);
    uintptr_t wanted = (uintptr_t)address;
    for (size_t i = 0; i < library.n; i++) {
        if (wanted >= library.all[i].base && wanted < library.all[i].end) {
            return true;
        }
    }
    return false;
}
