/* elf_note.h - finds the build-id among the notes of an ELF file. It identifies one build of a
 * program or library.
 */
#ifndef TIDE_COMMON_ELF_NOTE_H
#define TIDE_COMMON_ELF_NOTE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MAX_BUILD_ID = 64 }; /* bytes; a longer build-id is ignored */

/* Returns the length of the build-id; 0 if it is missing. The notes may be malformed. */
size_t tide_elf_build_id(const unsigned char *notes, size_t n_bytes,
                         unsigned char ret_id[TIDE_MAX_BUILD_ID]);

#ifdef __cplusplus
}
#endif

#endif
