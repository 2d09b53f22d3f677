/* unknown.h - the host reads unknown bytes of the device, and gets zeros.
 *
 * A program that reads the same small value again and again may wait for it to change, which it
 * never will: this is reported once on stderr and as an inexact line. Unknown row counts, truth
 * values and integers are reported the same way. python/tidemark computes or assumes the
 * values of PyTorch's tensors and supplies them to operators that read internally; without it, or
 * with `--values zero`, the reads are reported here. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_UNKNOWN_H
#define TIDE_VIRTUAL_CUDA_UNKNOWN_H

#include <stddef.h>
#include <stdint.h>

/* n_bytes of the device that are unknown were read by the host as zeros. If they are 4 or 8, an
 * answer that this thread has queued (below) replaces them. */
void tide_vc_unknown_read(void *to, const void *from, size_t n_bytes);

/* The calling thread launched a kernel of this name, which the caller keeps. */
void tide_vc_unknown_after(const char *kernel);

/* A kernel was launched through the driver API. */
void tide_vc_unknown_generated(void);

/* ---- for python/tidemark, by name ---- */

/* Queues an answer for the calling thread's next reads of 4 or 8 unknown bytes, first in, first
 * out. At most 16 are queued; further ones are dropped. */
void tidemark_values_answer(uint64_t value);

/* Drops all queued answers and returns their number. */
int tidemark_values_no_answers(void);

/* How the calling thread's reads of unknown bytes behave from now on: the next n_true truth values
 * (of one byte) read as true; with is_quiet reads are not reported, because the caller handles
 * them.
 */
void tidemark_values_mode(int n_true, int is_quiet);

/* Whether n_bytes of the device are known; if so, they are written to `to`. */
int tidemark_values_read(void *to, uint64_t from, size_t n_bytes);

/* Sets n_bytes of the device to those at `from`: the program's operator would have computed
 * them. */
void tidemark_values_write(uint64_t to, const void *from, size_t n_bytes);

/* Whether the calling thread sends objects to other ranks from now on (known.h). */
void tidemark_values_objects(int is_sending);

/* Makes the unknown bytes among n_bytes of the device known, as zeros. */
void tidemark_values_settle(uint64_t address, size_t n_bytes);

/* The number of kernels launched through the driver API so far: generated kernels, which no
 * operator of PyTorch reports. */
uint64_t tidemark_values_generated(void);

/* tide_vc_inexact_bytes, without a bound for 0 bytes. The texts are kept. */
void tidemark_values_inexact(const char *call, const char *what, uint64_t bound_bytes);

#endif
