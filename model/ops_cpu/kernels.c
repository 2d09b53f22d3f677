#include "model/ops_cpu/kernels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const tide_cpu_kernels tide_cpu_kernels_generic;
#ifdef TIDE_KERNELS_X86
extern const tide_cpu_kernels tide_cpu_kernels_avx2;
extern const tide_cpu_kernels tide_cpu_kernels_avx512;
#endif

const tide_cpu_kernels *const *tide_cpu_kernels_available(void) {
    static const tide_cpu_kernels *const GENERIC[] = {&tide_cpu_kernels_generic, NULL};
#ifdef TIDE_KERNELS_X86
    static const tide_cpu_kernels *const AVX512[] = {
        &tide_cpu_kernels_avx512, &tide_cpu_kernels_avx2, &tide_cpu_kernels_generic, NULL};
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (avx512) {
        return AVX512;
    }
    if (avx2) {
        return AVX512 + 1;
    }
#endif
    return GENERIC;
}

static const char *skip_dashes(const char *text) {
    return text + strspn(text, "-");
}

/* "AVX-512" may be requested as avx512. */
static bool is_named(const tide_cpu_kernels *kernels, const char *asked) {
    const char *name = skip_dashes(kernels->name);
    asked = skip_dashes(asked);
    while (*name != '\0' && strncasecmp(name, asked, 1) == 0) {
        name = skip_dashes(name + 1);
        asked = skip_dashes(asked + 1);
    }
    return *name == '\0' && *asked == '\0';
}

tide_status tide_cpu_kernels_choose(const tide_cpu_kernels **ret_kernels, tide_error *error) {
    const tide_cpu_kernels *const *available = tide_cpu_kernels_available();
    const tide_cpu_kernels *best = available[0];
    const char *asked = getenv("TIDEMARK_CPU_KERNELS");
    if (asked == NULL || asked[0] == '\0') {
        *ret_kernels = best;
        return TIDE_OK;
    }
    while (*available != NULL && !is_named(*available, asked)) {
        available++;
    }
    if (*available == NULL) {
        return tide_fail(error, TIDE_DEVICE_ABSENT,
                         "TIDEMARK_CPU_KERNELS names %s, which this machine does not have: unset "
                         "it for %s",
                         asked, best->name);
    }
    *ret_kernels = *available;
    return TIDE_OK;
}
