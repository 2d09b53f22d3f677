/* object_file.h - the file of a loaded object, read for the names of its symbols.
 *
 * The loader maps only what a program needs to run. The names of functions that are not exported
 * are in a section of the file, .symtab, unless the file was stripped.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_OBJECT_FILE_H
#define TIDE_VIRTUAL_CUDA_LINKED_OBJECT_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_vc_object_file {
    int fd;
    const unsigned char *bytes; /* mapped, read-only */
    size_t n_bytes;
} tide_vc_object_file;

/* The symbols of a file, valid until the file is closed. */
typedef struct tide_vc_symbols {
    const ElfW(Sym) * all;
    size_t n;
    const char *names; /* the last byte is 0 */
    size_t n_name_bytes;
} tide_vc_symbols;

/* Opens the real file: a program's view of files does not apply. False: it cannot be read, or it is
 * not an object of this kind of machine. */
bool tide_vc_object_file_open(const char *path, tide_vc_object_file *ret);
void tide_vc_object_file_close(tide_vc_object_file *file);

/* False: the file was stripped, or its sections are damaged. */
bool tide_vc_object_file_symbols(const tide_vc_object_file *file, tide_vc_symbols *ret);

/* The name of a symbol; "" if it is outside the names. */
const char *tide_vc_symbol_name(const tide_vc_symbols *of, size_t i);

/* The file's bytes for an address of the object, before it is moved to where it is loaded. NULL:
 * these n_bytes are not in one segment of the file. */
const unsigned char *tide_vc_object_file_at(const tide_vc_object_file *file, uint64_t address,
                                            size_t n_bytes);

#endif
