/* cubin.h - the resources of a multiprocessor that a kernel needs, read from machine code.
 *
 * Machine code is an ELF file. Its section .nv.info has the registers of each kernel, and
 * .nv.shared.NAME is as large as the kernel's static shared memory. The bytes come from a program's
 * library and are not trusted: an offset outside the image ends the reading.
 */
#ifndef TIDE_VIRTUAL_CUDA_CUBIN_H
#define TIDE_VIRTUAL_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one kernel needs. */
typedef struct tide_vc_use {
    uint64_t name_hash;    /* of its name as the compiler wrote it */
    uint32_t n_registers;  /* 32-bit registers of a thread; 1 to 255 */
    uint32_t shared_bytes; /* static shared memory of a block, without the system's share */
} tide_vc_use;

/* Returns the number of kernels in an image of n_bytes, and the kernels, from malloc; the caller
 * frees them. 0: the image has none, or cannot be read. */
size_t tide_vc_cubin_read(const unsigned char *image, size_t n_bytes, tide_vc_use **ret_uses);

uint64_t tide_vc_cubin_hash(const char *name);

/* A variable of an image, or a parameter of one of its kernels. */
typedef struct tide_vc_cubin_item {
    uint64_t kernel_hash; /* 0: a variable */
    uint64_t name_hash;   /* of the variable; of a parameter: 0 */
    uint64_t n_bytes;
    uint32_t number; /* of the parameter, from 0 on */
    uint32_t offset; /* of the parameter, among the kernel's */
} tide_vc_cubin_item;

/* Appends the items of an image to an array from malloc, which the caller frees. False: the image
 * is no machine code or is damaged, or there is no host memory. */
bool tide_vc_cubin_items(const unsigned char *image, size_t n_bytes, tide_vc_cubin_item **ret_items,
                         size_t *ret_n);

/* Larger images are not read. */
enum { TIDE_VC_CUBIN_MOST_BYTES = 256 << 20 };

/* Whether the 4 bytes at `image` begin machine code. */
bool tide_vc_cubin_is(const void *image);

/* A copy of machine code that begins at `image`, as long as its headers say; from malloc, and the
 * caller frees it. NULL: the headers are damaged (they lead to memory that is not mapped, or the
 * image is larger than TIDE_VC_CUBIN_MOST_BYTES), or there is no host memory. */
unsigned char *tide_vc_cubin_copy(const void *image, size_t *ret_n_bytes);

#endif
