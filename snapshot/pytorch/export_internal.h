/* export_internal.h - the parts of an export, one file each.
 */
#ifndef TIDE_SNAPSHOT_PYTORCH_EXPORT_INTERNAL_H
#define TIDE_SNAPSHOT_PYTORCH_EXPORT_INTERNAL_H

#include "snapshot/pytorch/sink_internal.h"
#include "snapshot/document/snapshot.h"

/* A frame as JSON; bytes NULL: not needed yet. */
typedef struct tide_export_frame {
    const char *bytes; /* in scratch */
    size_t n_bytes;
} tide_export_frame;

typedef struct tide_pytorch_export_state {
    const tide_snapshot *snapshot; /* borrowed */
    tide_pytorch_sink to;
    tide_arena scratch;
    size_t n_devices;               /* without pinned memory of the host, which follows them */
    tide_status status;             /* first failure that is not the writer's */
    bool is_foreign;                /* PyTorch wrote the original: its scopes are its own texts */
    bool has_categories;            /* the category of some event is known */
    bool has_times;                 /* the clock is known */
    int64_t started_us;             /* Unix time of time 0; 0: unknown */
    uint32_t *memo_of_stack;        /* in scratch: numbers + 1 of the lists that were written; 0 */
    uint32_t *memo_of_frame;        /* the same for frames */
    tide_json_writer *frame_writer; /* borrowed: writes one frame; NULL for a pickle */
    tide_export_frame *json_of_frame; /* in scratch */
    const char **texts;               /* in scratch: of each scope; NULL until needed */
    char *buffer;                     /* owned: the current text */
    size_t buffer_capacity;
} tide_pytorch_export_state;

/* export_frames.c. Writes the key "frames" with the stack's frames, innermost first. */
void tide_export_frames(tide_pytorch_export_state *out, uint32_t stack);
/* Microseconds since 1970, or since time 0 if that is unknown. */
int64_t tide_export_time_us(const tide_pytorch_export_state *out, int64_t time_ns);

/* export_texts.c. The texts of an event's user_metadata and compile_context. */
const char *tide_export_metadata(tide_pytorch_export_state *out, const tide_event *row);
const char *tide_export_compile(tide_pytorch_export_state *out, const tide_event *row);
/* The key "external_annotations". */
void tide_export_annotations(tide_pytorch_export_state *out);
/* The key "allocator_settings". */
void tide_export_settings(tide_pytorch_export_state *out);

/* export_events.c. The key "device_traces". */
void tide_export_traces(tide_pytorch_export_state *out);

#endif
