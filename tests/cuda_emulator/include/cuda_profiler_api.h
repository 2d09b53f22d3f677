/* cuda_profiler_api.h - the part of the CUDA runtime's profiler control that tidemark uses,
 * declared by ourselves under the toolkit's name. The functions are in tests/fake_cudart/.
 */
#ifndef TIDE_TESTS_CUDA_PROFILER_API_H
#define TIDE_TESTS_CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif

#endif
