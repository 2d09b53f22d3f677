/* cubin.h - what a kernel takes of a multiprocessor, read from machine code.
 *
 * Machine code is an ELF file. Its section .nv.info has the registers of each kernel, and
 * .nv.shared.NAME is as large as the kernel's static shared memory. The bytes come from a program's
 * library and are not trusted: whatever leads outside of the image ends the reading.
 */
#ifndef TIDE_VIRTUAL_CUDA_CUBIN_H
#define TIDE_VIRTUAL_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one kernel takes. */
typedef struct tide_vc_use {
    uint64_t name_hash;    /* of its name, as the compiler wrote it */
    uint32_t n_registers;  /* of a thread, of 32 bits; 1 to 255 */
    uint32_t shared_bytes; /* static shared memory of a block, without what the system takes */
} tide_vc_use;

/* The kernels of an image of n_bytes, from malloc; the caller frees them. 0: it has none, or cannot
 * be read. */
size_t tide_vc_cubin_read(const unsigned char *image, size_t n_bytes, tide_vc_use **ret_uses);

uint64_t tide_vc_cubin_hash(const char *name);

#endif
