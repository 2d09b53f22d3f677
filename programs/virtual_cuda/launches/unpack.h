/* unpack.h - the payload of an entry of a fat binary, which compilers compress.
 *
 * The system's libraries decompress it. They are loaded when the first image is read: libzstd.so.1,
 * and liblz4.so.1 for compilers before CUDA 12.8. They are not linked, because a preloaded object
 * must load everywhere. Without them an image cannot be read, and the callers report what that
 * makes inexact.
 */
#ifndef TIDE_VIRTUAL_CUDA_UNPACK_H
#define TIDE_VIRTUAL_CUDA_UNPACK_H

#include <stddef.h>

/* The payload of the entry, from malloc; the caller frees it. The entry's header and payload are
 * before `end`. NULL: it is compressed in another way, damaged, larger than 256 MiB, or the library
 * is missing. */
unsigned char *tide_vc_unpack(const unsigned char *entry, const unsigned char *end,
                              size_t *ret_n_bytes);

#endif
