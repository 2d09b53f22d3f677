/* nvtx_ranges_internal.h - scopes as NVTX ranges, for tools such as Nsight Systems, in a domain
 * called "tidemark".
 *
 * NVTX finds its tool by itself when it is first used. Where none listens, or this build has no
 * NVTX headers, a scope costs the question alone.
 */
#ifndef TIDE_RECORDER_NVTX_RANGES_INTERNAL_H
#define TIDE_RECORDER_NVTX_RANGES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

bool tide_nvtx_is_heard(void);

/* A range "NAME" or "NAME INDEX" on the calling thread. Scope and recorder are what its end is
 * recognised by; the recorder may be NULL and is not looked into. */
void tide_nvtx_begin(const tide_recorder *recorder, tide_scope scope, const char *name,
                     int32_t index);
/* Ends the innermost open range of this scope, and all inside it; nothing where there is none. */
void tide_nvtx_end(const tide_recorder *recorder, tide_scope scope);

#ifdef __cplusplus
}
#endif

#endif
