/* gpu_machine.c - what the tests of kernels ask of the emulator, answered by a GPU: the same test
 * programs then run the kernels that nvcc compiled.
 *
 * Memory is managed, so that tests read and write it as the emulator's. Launches return when the
 * kernel has ended, as CUDA_LAUNCH_BLOCKING makes them. There is one order of threads, the GPU's
 * own: tests still run a kernel three times, and all three must write the same bits. What a kernel
 * does wrong is found by compute-sanitizer (tests/gpu/run.sh), which sees each array's true end.
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_emulator.h"

static size_t n_reports;
static char report[256];

static void note(const char *call, cudaError_t result) {
    if (result != cudaSuccess) {
        n_reports++;
        snprintf(report, sizeof(report), "%s: %s", call, cudaGetErrorString(result));
        fprintf(stderr, "%s\n", report);
    }
}

void tide_emulator_set_order(tide_emulator_order order, unsigned seed) {
    (void)order;
    (void)seed;
}

size_t tide_emulator_n_reports(void) {
    note("cudaDeviceSynchronize", cudaDeviceSynchronize());
    return n_reports;
}

const char *tide_emulator_last_report(void) {
    return report;
}

void tide_emulator_clear_reports(void) {
    n_reports = 0;
    report[0] = '\0';
}

void tide_emulator_set_quiet(bool quiet) {
    (void)quiet;
}

bool tide_emulator_detects_races(void) {
    return false;
}

unsigned long long tide_emulator_n_switches(void) {
    return 0;
}

void *tide_emulator_alloc(size_t n_bytes) {
    void *memory = NULL;
    /* Read by the runtime at its first call, which is the next one. */
    if (setenv("CUDA_LAUNCH_BLOCKING", "1", 1) != 0) {
        return NULL;
    }
    cudaError_t result = cudaMallocManaged(&memory, n_bytes, cudaMemAttachGlobal);
    note("cudaMallocManaged", result);
    if (result != cudaSuccess) {
        return NULL;
    }
    /* By the GPU: of what the host writes, compute-sanitizer's initcheck may not know. */
    note("cudaMemset", cudaMemset(memory, 0xFF, n_bytes));
    note("cudaDeviceSynchronize", cudaDeviceSynchronize());
    return memory;
}

void tide_emulator_release(void *memory) {
    note("cudaFree", cudaFree(memory));
}
