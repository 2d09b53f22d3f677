/* test_occupancy.c - how many blocks a multiprocessor holds, compared with NVIDIA's own calculator.
 *
 * cuda_occupancy.h is a header of the CUDA toolkit that computes it from the figures of a device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/chips.h"
#include "programs/virtual_cuda/launches/uses.h"

#ifdef TIDE_HAS_OCCUPANCY_HEADER
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

static cudaOccDeviceProp device_of(const tide_card_chip *chip) {
    return (cudaOccDeviceProp){.computeMajor = chip->compute_capability / 10,
                               .computeMinor = chip->compute_capability % 10,
                               .maxThreadsPerBlock = TIDE_CHIP_MAX_BLOCK_THREADS,
                               .maxThreadsPerMultiprocessor = chip->max_multiprocessor_threads,
                               .regsPerBlock = TIDE_CHIP_REGISTERS,
                               .regsPerMultiprocessor = TIDE_CHIP_REGISTERS,
                               .warpSize = TIDE_CHIP_WARP_THREADS,
                               .sharedMemPerBlock = TIDE_CHIP_SHARED_BLOCK_BYTES,
                               .sharedMemPerMultiprocessor = chip->shared_multiprocessor_bytes,
                               .numSms = 1,
                               .sharedMemPerBlockOptin = chip->shared_optin_bytes,
                               .reservedSharedMemPerBlock = chip->shared_reserved_bytes};
}

static int by_nvidia(const tide_card_chip *chip, int n_threads, int n_registers, size_t shared) {
    const cudaOccDeviceProp device = device_of(chip);
    cudaOccFuncAttributes kernel = {.maxThreadsPerBlock = TIDE_CHIP_MAX_BLOCK_THREADS,
                                    .numRegs = n_registers,
                                    .sharedSizeBytes = shared,
                                    .partitionedGCConfig = PARTITIONED_GC_OFF,
                                    .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                    .maxDynamicSharedSizeBytes = 0,
                                    .numBlockBarriers = 1};
    const cudaOccDeviceState cache = {.cacheConfig = CACHE_PREFER_SHARED,
                                      .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &cache, n_threads, 0) !=
        CUDA_OCC_SUCCESS) {
        return -1;
    }
    return result.activeBlocksPerMultiprocessor;
}

static void as_nvidia_computes_it(void **state) {
    (void)state;
    size_t n_chips = 0;
    size_t n_compared = 0;
    const tide_card_chip *chips = tide_card_chips(&n_chips);
    static const int REGISTERS[] = {8, 16, 24, 32, 33, 40, 48, 56, 64, 65, 80, 96, 128, 168, 255};
    static const size_t SHARED[] = {0, 1, 128, 129, 1000, 4096, 16384, 24577, 49152, 65000};
    for (size_t c = 0; c < n_chips; c++) {
        for (int threads = 1; threads <= TIDE_CHIP_MAX_BLOCK_THREADS; threads += 31) {
            for (size_t r = 0; r < sizeof(REGISTERS) / sizeof(REGISTERS[0]); r++) {
                for (size_t s = 0; s < sizeof(SHARED) / sizeof(SHARED[0]); s++) {
                    int expected = by_nvidia(&chips[c], threads, REGISTERS[r], SHARED[s]);
                    int found =
                        tide_vc_resident_blocks(&chips[c], threads, REGISTERS[r], SHARED[s]);
                    n_compared += expected >= 0;
                    if (expected >= 0 && expected != found) {
                        fail_msg("capability %d, %d threads, %d registers, %zu bytes: %d, not %d",
                                 chips[c].compute_capability, threads, REGISTERS[r], SHARED[s],
                                 found, expected);
                    }
                }
            }
        }
    }
    assert_true(n_compared > 10000);
}
#else
static void as_nvidia_computes_it(void **state) {
    (void)state;
    skip(); /* the toolkit's header is absent */
}
#endif

static void limits_by_threads_registers_and_shared_memory(void **state) {
    (void)state;
    const tide_card_chip *hopper = tide_card_chip_find(90);
    assert_non_null(hopper);
    assert_int_equal(tide_vc_resident_blocks(hopper, 32, 16, 0), 32);     /* blocks */
    assert_int_equal(tide_vc_resident_blocks(hopper, 1024, 32, 0), 2);    /* threads */
    assert_int_equal(tide_vc_resident_blocks(hopper, 256, 128, 0), 2);    /* registers */
    assert_int_equal(tide_vc_resident_blocks(hopper, 1024, 255, 0), 0);   /* no block at all */
    assert_int_equal(tide_vc_resident_blocks(hopper, 128, 32, 65536), 3); /* 228 KiB / 65 KiB */
    assert_int_equal(tide_vc_resident_blocks(hopper, 0, 32, 0), 0);
    assert_int_equal(tide_vc_resident_blocks(hopper, 1025, 32, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_nvidia_computes_it),
        cmocka_unit_test(limits_by_threads_registers_and_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
