/* log_modules.c - lists the loaded code in the journal, with the path, size, time of modification
 * and build-id that recovery needs to find its files. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/files/elf_note.h"
#include "recorder/journal_internal.h"

enum { PATH_BYTES = 4096 };

/* The argument that dl_iterate_phdr passes to list_one. */
typedef struct lister {
    tide_journal *journal;         /* borrowed */
    tide_journal_modules *modules; /* borrowed */
} lister;

static const unsigned char *memory_at(uint64_t address) {
    return (const unsigned char *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Fills in the addresses of the module and its build-id. */
static void measure(const struct dl_phdr_info *info, tide_log_module *module,
                    unsigned char ret_id[TIDE_MAX_BUILD_ID]) {
    module->bias = info->dlpi_addr;
    module->begin = UINT64_MAX;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            module->begin = begin < module->begin ? begin : module->begin;
            module->end = begin + part->p_memsz > module->end ? begin + part->p_memsz : module->end;
        } else if (part->p_type == PT_NOTE && module->build_id_bytes == 0) {
            module->build_id_bytes =
                (uint32_t)tide_elf_build_id(memory_at(begin), part->p_memsz, ret_id);
        }
    }
}

static void write_record(const lister *list, tide_log_module *module, const unsigned char *id,
                         const char *path) {
    struct stat status;
    if (path[0] == '/' && stat(path, &status) == 0) {
        module->file_bytes = (uint64_t)status.st_size;
        module->modified_s = (int64_t)status.st_mtime;
    }
    unsigned char tail[TIDE_MAX_BUILD_ID + PATH_BYTES];
    size_t n_path = strlen(path) + 1;
    TIDE_ASSERT(module->build_id_bytes <= TIDE_MAX_BUILD_ID && n_path <= PATH_BYTES);
    memcpy(tail, id, module->build_id_bytes);
    memcpy(tail + module->build_id_bytes, path, n_path);
    tide_journal_put(list->journal, TIDE_LOG_MODULE, module, sizeof(*module), tail,
                     module->build_id_bytes + n_path);
}

static int list_one(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    const lister *list = data;
    (void)n_bytes;
    char path[PATH_BYTES] = "";
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
        size_t n = strlen(info->dlpi_name);
        memcpy(path, info->dlpi_name, n < sizeof(path) ? n : sizeof(path) - 1);
    } else { /* the program itself */
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[n > 0 ? n : 0] = '\0';
    }
    uint64_t key = tide_hash_u64(tide_hash_bytes(path, strlen(path)) ^ info->dlpi_addr);
    if (tide_map_find(&list->modules->known, key, NULL)) {
        return 0;
    }
    tide_log_module module = {.bias = 0};
    unsigned char id[TIDE_MAX_BUILD_ID];
    measure(info, &module, id);
    if (module.begin < module.end) {
        write_record(list, &module, id, path);
    }
    /* Without memory to remember it, the module is listed again next time, which is harmless. */
    return tide_map_put(&list->modules->known, key, 1) == TIDE_OK ? 0 : 1;
}

/* Reads the linker's counts from the first entry; all entries have the same. */
static int read_counts(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    uint64_t *counts = data;
    if (n_bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
        counts[0] = info->dlpi_adds;
        counts[1] = info->dlpi_subs;
    }
    return 1;
}

void tide_journal_list_modules(tide_journal *journal, tide_journal_modules *modules) {
    uint64_t counts[2] = {0, 0};
    (void)dl_iterate_phdr(read_counts, counts);
    if (counts[0] == modules->n_loaded && counts[1] == modules->n_gone && counts[0] != 0) {
        return;
    }
    lister list = {journal, modules};
    (void)dl_iterate_phdr(list_one, &list);
    modules->n_loaded = counts[0];
    modules->n_gone = counts[1];
}
