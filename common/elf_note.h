/* elf_note.h - the build-id among the notes of an ELF file: what tells one build of a program or
 * library from all others.
 */
#ifndef TIDE_COMMON_ELF_NOTE_H
#define TIDE_COMMON_ELF_NOTE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MAX_BUILD_ID = 64 }; /* bytes; longer ones count as none */

/* The build-id's length; 0: there is none among these notes, which need not be well formed. */
size_t tide_elf_build_id(const unsigned char *notes, size_t n_bytes,
                         unsigned char ret_id[TIDE_MAX_BUILD_ID]);

#ifdef __cplusplus
}
#endif

#endif
