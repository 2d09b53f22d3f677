/* cuda_emulator.h - runs CUDA kernels on the host, for tests: the settings and queries of a test.
 * Kernels reach the emulator through model/ops_cuda/gpu.h; launches return when the kernel has
 * ended.
 *
 * Blocks run one after another and each CUDA thread is a fiber, in the order that is set here. An
 * error of a kernel becomes a report (on stderr, naming kernel, block, thread, file and line) and
 * the launch fails with cudaErrorLaunchFailure. One OS thread. C and C++. */
#ifndef TIDE_TESTS_CUDA_EMULATOR_H
#define TIDE_TESTS_CUDA_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which blocks, warps and lanes run. */
typedef enum tide_emulator_order {
    TIDE_EMULATOR_FORWARD = 0,
    TIDE_EMULATOR_REVERSE,
    TIDE_EMULATOR_SHUFFLED /* by the seed, differently at each turn */
} tide_emulator_order;

enum { TIDE_EMULATOR_N_ORDERS = 3 };

/* Sets the order of all later launches. The initial order is that of TIDE_EMULATOR_ORDER (forward,
 * reverse or shuffled:SEED), else forward. */
void tide_emulator_set_order(tide_emulator_order order, unsigned seed);

/* Reports since the start or the last clear, and the text of the last one ("" when there is none).
 */
size_t tide_emulator_n_reports(void);
const char *tide_emulator_last_report(void);
void tide_emulator_clear_reports(void);
/* Reports are still counted and kept, but not printed: for tests that provoke them. */
void tide_emulator_set_quiet(bool quiet);

/* Whether the kernels of this program were compiled for the race detector. */
bool tide_emulator_detects_races(void);

/* Bytes of device memory that the last launch read, and that it wrote, each byte counted once as
 * either; 0 without the race detector. */
size_t tide_emulator_touched_bytes(void);

/* Fiber switches since the start. */
unsigned long long tide_emulator_n_switches(void);

/* Device memory of exactly n_bytes > 0, aligned to 256 bytes, filled with 0xFF: every number in it
 * is NaN. NULL if there is no memory. A write just outside it is reported by the release. */
void *tide_emulator_alloc(size_t n_bytes);
void tide_emulator_release(void *memory);
/* Copies to and from it after all earlier launches have ended: the only way on a GPU. */
void tide_emulator_write(void *memory, const void *bytes, size_t n_bytes);
void tide_emulator_read(void *ret_bytes, const void *memory, size_t n_bytes);
/* From now on the host can reach newly allocated memory only through these copies, as on a GPU:
 * code that touches it outside a kernel ends the program. This is off at the start. */
void tide_emulator_hide_memory(bool hides);

#ifdef __cplusplus
}
#endif

#endif
