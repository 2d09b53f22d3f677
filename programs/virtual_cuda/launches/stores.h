/* stores.h - the parameters that a generated kernel stores through, from its text (PTX).
 *
 * Triton keeps the text next to the machine code. A kernel whose text is unknown may store through
 * all its pointers. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_STORES_H
#define TIDE_VIRTUAL_CUDA_STORES_H

#include <stdbool.h>
#include <stdint.h>

/* Bit i: the kernel may store through its parameter i, an address. */
typedef uint64_t tide_vc_stores;

/* Reads the text of a kernel. `name`: of the kernel; "": the text must have only one. False: the
 * stores are unknown, because the text is not PTX, or because addresses are loaded from memory,
 * are in a tensor map, or are passed to a function. */
bool tide_vc_stores_parse(const char *text, const char *name, tide_vc_stores *ret_stores);

/* Registers a kernel that was loaded from that file, "NAME.cubin", whose text is next to it as
 * "NAME.ptx". A NULL path or a missing text: the stores are unknown. */
void tide_vc_stores_add(const void *kernel, const char *machine_code);

/* The stores of a registered kernel. False: unknown. */
bool tide_vc_stores_find(const void *kernel, tide_vc_stores *ret_stores);

#endif
