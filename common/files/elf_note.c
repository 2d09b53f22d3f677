/* elf_note.c - walks the notes of an ELF file. */
#include "common/files/elf_note.h"

#include <elf.h>
#include <string.h>

size_t tide_elf_build_id(const unsigned char *notes, size_t n_bytes,
                         unsigned char ret_id[TIDE_MAX_BUILD_ID]) {
    size_t at = 0;
    while (n_bytes - at >= sizeof(Elf64_Nhdr)) { /* Elf32_Nhdr is the same */
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        /* Names and contents are padded to 4 bytes. */
        size_t n_name = ((size_t)note.n_namesz + 3) / 4 * 4;
        size_t n_id = ((size_t)note.n_descsz + 3) / 4 * 4;
        if (n_name > n_bytes - at || n_id > n_bytes - at - n_name) {
            return 0;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= TIDE_MAX_BUILD_ID) {
            memcpy(ret_id, notes + at + n_name, note.n_descsz);
            return note.n_descsz;
        }
        at += n_name + n_id;
    }
    return 0;
}
