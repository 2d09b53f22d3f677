/* unknown.h - the host reads bytes of the device that nobody knows, and gets zeros.
 *
 * A program that reads the same small value again and again may wait for it to change, which it
 * never will: this is said on stderr, once, and as a line of what is not exact. So are a number of
 * rows, a truth value and an integer that are not known. python/tidemark
 * (shadow.py) works out small values beside the card, and gives them to an operator that reads
 * within itself. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_UNKNOWN_H
#define TIDE_VIRTUAL_CUDA_UNKNOWN_H

#include <stddef.h>
#include <stdint.h>

/* n_bytes of the device's, which are not known, were given to the host as zeros. An answer that
 * this thread has left (below) is put in their place, if they are 4 or 8. */
void tide_vc_unknown_read(void *to, const void *from, size_t n_bytes);

/* The calling thread launched a kernel of this name, which the caller keeps. */
void tide_vc_unknown_after(const char *kernel);

/* A kernel was launched by the driver's functions. */
void tide_vc_unknown_generated(void);

/* ---- for python/tidemark, by name ---- */

/* The calling thread's next reads of 4 or 8 unknown bytes give these numbers, in this order. At
 * most 16 are left at a time; further ones are dropped. */
void tidemark_values_answer(uint64_t value);

/* No answers are left. Returns how many were. */
int tidemark_values_no_answers(void);

/* How the calling thread's reads of unknown bytes go from now on: the next n_true truth values (of
 * one byte) read as true; with is_quiet nobody is told of a read, because its reader knows better.
 */
void tidemark_values_mode(int n_true, int is_quiet);

/* Whether n_bytes of the device's are known; if so, they are written to `to`. */
int tidemark_values_read(void *to, uint64_t from, size_t n_bytes);

/* n_bytes of the device's are those at `from` from now on: the program's operator would have made
 * them. */
void tidemark_values_write(uint64_t to, const void *from, size_t n_bytes);

/* The calling thread sends objects to other ranks from now on, or no more (known.h). */
void tidemark_values_objects(int is_sending);

/* Those of n_bytes of the device's that nobody knows are zeros from now on, and known. */
void tidemark_values_settle(uint64_t address, size_t n_bytes);

/* Kernels that were launched by the driver's functions so far: generated ones, which no operator of
 * PyTorch's tells about. */
uint64_t tidemark_values_generated(void);

/* tide_vc_inexact_bytes, without a bound for 0 bytes. The texts are kept. */
void tidemark_values_inexact(const char *call, const char *what, uint64_t bound_bytes);

#endif
