/* nvtx_ranges_internal.h - scopes as NVTX ranges, for tools such as Nsight Systems, in a domain
 * called "tidemark".
 *
 * NVTX finds its tool when it is first used. Without a tool, or in a build without the NVTX
 * headers, a scope only pays for tide_nvtx_is_heard.
 */
#ifndef TIDE_RECORDER_NVTX_RANGES_INTERNAL_H
#define TIDE_RECORDER_NVTX_RANGES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a tool listens. */
bool tide_nvtx_is_heard(void);

/* Opens a range "NAME" or "NAME INDEX" on the calling thread. tide_nvtx_end recognises it by scope
 * and recorder; the recorder may be NULL and is never dereferenced. */
void tide_nvtx_begin(const tide_recorder *recorder, tide_scope scope, const char *name,
                     int32_t index);
/* Ends the innermost open range of this scope and all ranges inside it. Does nothing if the range
 * is not open. */
void tide_nvtx_end(const tide_recorder *recorder, tide_scope scope);

#ifdef __cplusplus
}
#endif

#endif
