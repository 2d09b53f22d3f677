/* linked.h - a CUDA runtime that is linked into the program or one of its libraries, as nvcc does
 * by default.
 *
 * Calls to such a runtime go through no library that could be preloaded. The symbol table of the
 * object's file names its public functions, and each of them becomes a jump to the virtual card's
 * (code.h). This happens before the object's constructors, which register its kernels: the start of
 * each object calls __gmon_start__ if it exists (crti.o of the C library), and the preloaded object
 * has one (entry.c).
 *
 * A file without a symbol table cannot be served. Nor can the functions of two versions of CUDA
 * that have one name and different arguments, if both versions are in one process.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_LINKED_H
#define TIDE_VIRTUAL_CUDA_LINKED_LINKED_H

#include <stddef.h>

#include "programs/virtual_cuda/linked/functions.h"

/* Replaces the functions of the runtime that is linked into the object with this code, if there is
 * one, and reports it to `tidemark run`. Call it before the object's constructors. Thread-safe. */
void tide_vc_linked_look(const void *code);

/* Replaces these functions of one object, which do not run meanwhile. n > 0. Thread-safe. */
void tide_vc_linked_replace(const tide_vc_named *all, size_t n);

/* Why the runtime in the object with this code was not replaced: a clause about "it", static or in
 * `room`. */
enum { TIDE_VC_LINKED_WHY_BYTES = 256 };
const char *tide_vc_linked_why(const void *code, char room[TIDE_VC_LINKED_WHY_BYTES]);

#endif
