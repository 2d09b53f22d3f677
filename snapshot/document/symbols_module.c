#define _GNU_SOURCE /* pread, O_CLOEXEC */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/elf_note.h"
#include "common/text/text.h"
#include "snapshot/document/symbols_internal.h"

enum { MAX_PARTS = 512, MAX_NOTE = 4096 };

/* The build-id of an open ELF file, and whether its addresses are fixed. False: it is not a file of
 * 64-bit code. */
static bool read_elf(int file, unsigned char ret_id[TIDE_MAX_BUILD_ID], size_t *ret_id_bytes,
                     bool *ret_is_fixed) {
    Elf64_Ehdr head;
    if (pread(file, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > MAX_PARTS) {
        return false;
    }
    *ret_is_fixed = head.e_type == ET_EXEC;
    *ret_id_bytes = 0;
    for (size_t i = 0; i < head.e_phnum && *ret_id_bytes == 0; i++) {
        Elf64_Phdr part;
        unsigned char notes[MAX_NOTE];
        if (pread(file, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) !=
            (ssize_t)sizeof(part)) {
            return false;
        }
        if (part.p_type == PT_NOTE) {
            size_t n_bytes = part.p_filesz < sizeof(notes) ? part.p_filesz : sizeof(notes);
            ssize_t n_read = pread(file, notes, n_bytes, (off_t)part.p_offset);
            *ret_id_bytes = n_read > 0 ? tide_elf_build_id(notes, (size_t)n_read, ret_id) : 0;
        }
    }
    return true;
}

static bool is_same(const tide_symbol_module *module, const char *path, bool *ret_is_fixed) {
    struct stat status;
    unsigned char id[TIDE_MAX_BUILD_ID];
    size_t n_id = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    bool same = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                read_elf(file, id, &n_id, ret_is_fixed) && n_id == module->build_id_bytes;
    if (same && n_id > 0) {
        same = memcmp(id, module->build_id, n_id) == 0;
    } else if (same) {
        same = module->file_bytes == (uint64_t)status.st_size &&
               module->modified_s == (int64_t)status.st_mtime;
    }
    close(file);
    return same;
}

/* "/usr/lib/debug/.build-id/12/3456.debug" */
static void name_debug_file(const tide_symbol_module *module, char path[TIDE_MODULE_PATH]) {
    tide_text text = tide_text_in(path, TIDE_MODULE_PATH);
    tide_text_add(&text, "/usr/lib/debug/.build-id/%02x/", (unsigned)module->build_id[0]);
    for (size_t i = 1; i < module->build_id_bytes; i++) {
        tide_text_add(&text, "%02x", (unsigned)module->build_id[i]);
    }
    tide_text_add(&text, ".debug");
}

bool tide_symbol_module_find(const tide_symbol_module *module, char ret_path[TIDE_MODULE_PATH],
                             bool *ret_is_fixed) {
    if (module->path[0] == '/' && strlen(module->path) < TIDE_MODULE_PATH) {
        memcpy(ret_path, module->path, strlen(module->path) + 1);
        if (is_same(module, ret_path, ret_is_fixed)) {
            return true;
        }
    }
    if (module->build_id_bytes == 0 || module->build_id_bytes > TIDE_MAX_BUILD_ID) {
        return false;
    }
    name_debug_file(module, ret_path);
    return is_same(module, ret_path, ret_is_fixed);
}
