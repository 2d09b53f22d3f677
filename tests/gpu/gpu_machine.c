/* gpu_machine.c - the emulator's interface for tests of kernels, implemented on a GPU: the same
 * test programs then run the kernels that nvcc compiled.
 *
 * Memory is the GPU's own, which tests copy to and from. Managed memory would let the host reach
 * into it, but a program that asks for more of it than is free can hang a card. Copies wait for
 * every launch before them. There is one order of threads, the GPU's own: tests still run a kernel
 * three times, and all three must write the same bits. compute-sanitizer (tests/gpu/run.sh) finds
 * the errors of kernels; it sees each array's true end.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>

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

void tide_emulator_hide_memory(bool hides) {
    (void)hides; /* the host can never access it */
}

void *tide_emulator_alloc(size_t n_bytes) {
    void *memory = NULL;
    const cudaError_t result = cudaMalloc(&memory, n_bytes);
    note("cudaMalloc", result);
    if (result != cudaSuccess) {
        return NULL;
    }
    note("cudaMemset", cudaMemset(memory, 0xFF, n_bytes));
    return memory;
}

void tide_emulator_release(void *memory) {
    note("cudaFree", cudaFree(memory));
}

void tide_emulator_write(void *memory, const void *bytes, size_t n_bytes) {
    note("cudaDeviceSynchronize", cudaDeviceSynchronize());
    note("cudaMemcpy", cudaMemcpy(memory, bytes, n_bytes, cudaMemcpyHostToDevice));
}

void tide_emulator_read(void *ret_bytes, const void *memory, size_t n_bytes) {
    note("cudaDeviceSynchronize", cudaDeviceSynchronize());
    note("cudaMemcpy", cudaMemcpy(ret_bytes, memory, n_bytes, cudaMemcpyDeviceToHost));
}
