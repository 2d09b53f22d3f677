#include "snapshot/document/validate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/assert.h"

enum { MAX_DEVICES = 256 };

typedef struct checker {
    const tide_snapshot *snapshot; /* borrowed */
    char *place;                   /* borrowed; TIDE_PLACE_BYTES; the caller's */
    tide_error *error;             /* borrowed; may be NULL */
} checker;

/* Writes the place; bad() writes the message. */
TIDE_PRINTF(2, 3) static void at(const checker *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->place, TIDE_PLACE_BYTES, format, arguments);
    va_end(arguments);
}

TIDE_PRINTF(2, 3) static tide_status bad(const checker *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tide_status status = tide_fail_list(check->error, TIDE_FORMAT, format, arguments);
    va_end(arguments);
    return status;
}

static bool index_fits(uint32_t index, size_t n_rows) {
    return index == TIDE_NONE || index < n_rows;
}

static tide_status bad_index(const checker *check, const char *column, size_t row, uint32_t index,
                             const char *what, size_t n_rows) {
    at(check, "%s[%zu]", column, row);
    if (index == TIDE_NONE) {
        return bad(check, "-1 is not allowed here");
    }
    return bad(check, "%" PRIu32 " refers to none of the %zu %s", index, n_rows, what);
}

static tide_status check_stacks(const checker *check) {
    const tide_snapshot *snapshot = check->snapshot;
    for (size_t i = 0; i < snapshot->n_frames; i++) {
        const tide_frame_row *row = &snapshot->frames[i];
        if (!index_fits(row->function, snapshot->n_strings)) {
            return bad_index(check, "frames.function", i, row->function, "strings",
                             snapshot->n_strings);
        }
        if (!index_fits(row->file, snapshot->n_strings)) {
            return bad_index(check, "frames.file", i, row->file, "strings", snapshot->n_strings);
        }
    }
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        const tide_stack_row *row = &snapshot->stacks[i];
        if (row->frame >= snapshot->n_frames) {
            return bad_index(check, "stacks.frame", i, row->frame, "frames", snapshot->n_frames);
        }
        if (row->parent != TIDE_NONE && row->parent >= i) {
            at(check, "stacks.parent[%zu]", i);
            return bad(check, "a parent must have a smaller index, not %" PRIu32, row->parent);
        }
    }
    return TIDE_OK;
}

/* Lines are searched, so they are in order. */
static tide_status check_source(const checker *check) {
    const tide_snapshot *snapshot = check->snapshot;
    for (size_t i = 0; i < snapshot->n_source; i++) {
        const tide_source_row *row = &snapshot->source[i];
        const tide_source_row *last = i > 0 ? row - 1 : NULL;
        if (row->file >= snapshot->n_strings) {
            at(check, "source.lines[%zu].file", i);
            return bad(check, "%" PRIu64 " refers to none of the %zu strings", row->file,
                       snapshot->n_strings);
        }
        if (last != NULL &&
            (row->file < last->file || (row->file == last->file && row->line <= last->line))) {
            at(check, "source.lines[%zu]", i);
            return bad(check, "it must follow the one above it by file and line");
        }
    }
    return TIDE_OK;
}

static tide_status check_scope(const checker *check, size_t i) {
    const tide_snapshot *snapshot = check->snapshot;
    const tide_scope_row *row = &snapshot->scopes[i];
    if (row->parent != TIDE_NONE && row->parent >= i) {
        at(check, "scopes.parent[%zu]", i);
        return bad(check, "a parent must have a smaller index, not %" PRIu32, row->parent);
    }
    if (row->name >= snapshot->n_strings) {
        return bad_index(check, "scopes.name", i, row->name, "strings", snapshot->n_strings);
    }
    if (row->kind >= TIDE_N_SCOPE_KINDS) {
        return bad_index(check, "scopes.kind", i, row->kind, "kinds of scopes", TIDE_N_SCOPE_KINDS);
    }
    int64_t earliest_ns = i == 0 ? 0 : snapshot->scopes[i - 1].begin_ns;
    if (row->begin_ns < earliest_ns) {
        at(check, "scopes.begin_delta[%zu]", i);
        return bad(check, "the scope begins at %" PRId64 " ns, before %s", row->begin_ns,
                   i == 0 ? "time 0" : "the one above it");
    }
    if (row->duration_ns < TIDE_SCOPE_NO_INTERVAL) {
        at(check, "scopes.duration[%zu]", i);
        return bad(check, "%" PRId64 " ns is no duration", row->duration_ns);
    }
    if (row->duration_ns > INT64_MAX - row->begin_ns) {
        at(check, "scopes.duration[%zu]", i);
        return bad(check, "the scope ends beyond 2^63 - 1 ns");
    }
    if (row->device_begin_ns >= 0 && row->device_duration_ns > INT64_MAX - row->device_begin_ns) {
        at(check, "scopes.device_duration[%zu]", i);
        return bad(check, "it ends on the device beyond 2^63 - 1 ns");
    }
    return TIDE_OK;
}

static tide_status check_kernel(const checker *check, size_t i) {
    const tide_snapshot *snapshot = check->snapshot;
    const tide_kernel_row *row = &snapshot->kernels[i];
    const struct {
        const char *column;
        uint32_t index;
        bool none_allowed;
    } TEXTS[] = {{"kernels.name", row->name, false},
                 {"kernels.phase", row->phase, true},
                 {"kernels.path", row->path, false}};
    for (size_t t = 0; t < sizeof(TEXTS) / sizeof(TEXTS[0]); t++) {
        if (TEXTS[t].index >= snapshot->n_strings &&
            !(TEXTS[t].none_allowed && TEXTS[t].index == TIDE_NONE)) {
            return bad_index(check, TEXTS[t].column, i, TEXTS[t].index, "strings",
                             snapshot->n_strings);
        }
    }
    if (row->n_launches == 0 || row->n_launches > (uint64_t)INT64_MAX || row->min_ns < 0 ||
        row->min_ns > row->max_ns || row->max_ns > row->total_ns) {
        at(check, "kernels.launches[%zu]", i);
        return bad(check,
                   "%" PRIu64 " launches of %" PRId64 " to %" PRId64 " ns cannot take %" PRId64
                   " ns together",
                   row->n_launches, row->min_ns, row->max_ns, row->total_ns);
    }
    return TIDE_OK;
}

static tide_status check_event(const checker *check, size_t i) {
    const tide_snapshot *snapshot = check->snapshot;
    const tide_event row = tide_event_at(snapshot, i);
    if (row.action >= TIDE_N_ACTIONS) {
        return bad_index(check, "events.action", i, row.action, "actions", TIDE_N_ACTIONS);
    }
    if (row.category >= tide_snapshot_n_categories(snapshot)) {
        return bad_index(check, "events.category", i, row.category, "categories",
                         tide_snapshot_n_categories(snapshot));
    }
    if (snapshot->event_certainty != NULL && snapshot->event_certainty[i] >= TIDE_N_CERTAINTIES) {
        return bad_index(check, "events.certainty", i, snapshot->event_certainty[i], "certainties",
                         TIDE_N_CERTAINTIES);
    }
    if (row.device >= snapshot->n_devices) {
        return bad_index(check, "events.device", i, row.device, "devices", snapshot->n_devices);
    }
    if (row.stream >= snapshot->n_streams) {
        return bad_index(check, "events.stream", i, row.stream, "streams", snapshot->n_streams);
    }
    if (!index_fits(row.stack, snapshot->n_stacks)) {
        return bad_index(check, "events.stack", i, row.stack, "stacks", snapshot->n_stacks);
    }
    if (!index_fits(row.scope, snapshot->n_scopes)) {
        return bad_index(check, "events.scope_delta", i, row.scope, "scopes", snapshot->n_scopes);
    }
    if (!index_fits(row.name, snapshot->n_strings)) {
        return bad_index(check, "events.name", i, row.name, "strings", snapshot->n_strings);
    }
    if (snapshot->event_pool != NULL && snapshot->event_pool[i] > snapshot->n_pools) {
        at(check, "events.pool[%zu]", i);
        return bad(check, "%u refers to none of the %zu pools", (unsigned)snapshot->event_pool[i],
                   snapshot->n_pools);
    }
    if (snapshot->event_mode != NULL && snapshot->event_mode[i] >= TIDE_N_AUTOGRAD_MODES) {
        return bad_index(check, "events.mode", i, snapshot->event_mode[i], "modes",
                         TIDE_N_AUTOGRAD_MODES);
    }
    if (row.time_ns < 0) {
        at(check, "events.time_delta[%zu]", i);
        return bad(check, "the event is at %" PRId64 " ns, before time 0", row.time_ns);
    }
    if (row.requested_bytes > (uint64_t)INT64_MAX || row.block_bytes > (uint64_t)INT64_MAX) {
        at(check, "events.block_bytes[%zu]", i);
        return bad(check, "more than 2^63 - 1 bytes");
    }
    if (tide_action_has_address(row.action) &&
        row.address > (UINT64_C(1) << 63) - row.block_bytes) {
        at(check, "events.address_delta[%zu]", i);
        return bad(check, "it ends beyond address 2^63 - 1");
    }
    if (row.action <= TIDE_ACTION_FREE_COMPLETED && row.requested_bytes > row.block_bytes) {
        at(check, "events.requested_bytes[%zu]", i);
        return bad(check, "%" PRIu64 " bytes were asked of a block of %" PRIu64,
                   row.requested_bytes, row.block_bytes);
    }
    return TIDE_OK;
}

/* Events from `begin` to `end`, exclusive. */
typedef struct event_range {
    size_t begin, end;
} event_range;

/* Whether every index is below n_rows or is TIDE_NONE. TIDE_NONE + 1 is 0, so the largest of all
 * indices + 1 decides both. */
static bool indices_fit(const tide_narrow_column *indices, event_range of, size_t n_rows) {
    uint32_t largest = 0;
    for (size_t i = of.begin; i < of.end; i++) {
        uint32_t next = tide_index_at(indices, i) + 1;
        largest = next > largest ? next : largest;
    }
    return largest <= n_rows;
}

static bool numbers_fit(const uint8_t *numbers, event_range of, size_t n_rows) {
    uint8_t largest = 0;
    for (size_t i = of.begin; i < of.end; i++) {
        largest = numbers[i] > largest ? numbers[i] : largest;
    }
    return of.begin == of.end || largest < n_rows;
}

static bool sizes_fit(const tide_event_table *events, event_range of) {
    const tide_narrow_column requested = events->requested_bytes;
    const tide_narrow_column blocks = events->block_bytes;
    bool fits = true;
    for (size_t i = of.begin; i < of.end; i++) {
        uint64_t block_bytes = tide_bytes_at(&blocks, i);
        uint64_t requested_bytes = tide_bytes_at(&requested, i);
        bool is_of_block = events->action[i] <= TIDE_ACTION_FREE_COMPLETED;
        bool has_address = tide_action_has_address(events->action[i]);
        fits &= events->time_ns[i] >= 0 && block_bytes <= (uint64_t)INT64_MAX &&
                requested_bytes <= (is_of_block ? block_bytes : (uint64_t)INT64_MAX) &&
                (!has_address || events->address[i] <= (UINT64_C(1) << 63) - block_bytes);
    }
    return fits;
}

/* Whether all events of a range are valid. Checks column by column, in a fraction of the time that
 * rows would take. */
__attribute__((noinline)) static bool some_events_fit(const tide_snapshot *snapshot,
                                                      event_range of) {
    const tide_event_table *events = &snapshot->events;
    size_t n_pools_and_none = snapshot->n_pools + 1;
    bool fits = numbers_fit(events->action, of, TIDE_N_ACTIONS) &&
                numbers_fit(events->category, of, tide_snapshot_n_categories(snapshot)) &&
                numbers_fit(events->device, of, snapshot->n_devices) &&
                numbers_fit(events->stream, of, snapshot->n_streams) &&
                indices_fit(&events->stack, of, snapshot->n_stacks) &&
                indices_fit(&events->scope, of, snapshot->n_scopes) &&
                indices_fit(&events->name, of, snapshot->n_strings) &&
                (snapshot->event_certainty == NULL ||
                 numbers_fit(snapshot->event_certainty, of, TIDE_N_CERTAINTIES)) &&
                (snapshot->event_mode == NULL ||
                 numbers_fit(snapshot->event_mode, of, TIDE_N_AUTOGRAD_MODES)) &&
                sizes_fit(events, of);
    for (size_t i = of.begin; fits && snapshot->event_pool != NULL && i < of.end; i++) {
        fits = snapshot->event_pool[i] < n_pools_and_none;
    }
    return fits;
}

/* Checks in several calls, because a browser switches a WebAssembly function to fast code only
 * between two calls of it. */
static bool events_fit(const tide_snapshot *snapshot) {
    enum { SOME_EVENTS = 16384 };
    bool fits = true;
    for (size_t i = 0; i < snapshot->n_events && fits; i += SOME_EVENTS) {
        size_t n_left = snapshot->n_events - i;
        fits = some_events_fit(snapshot,
                               (event_range){i, i + (n_left < SOME_EVENTS ? n_left : SOME_EVENTS)});
    }
    return fits;
}

static tide_status check_events(const checker *check) {
    if (events_fit(check->snapshot)) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < check->snapshot->n_events; i++) {
        TIDE_TRY(check_event(check, i));
    }
    TIDE_ASSERT(false); /* a column is invalid, so one of its rows must be */
    return TIDE_OK;
}

/* The state at one instant, "start" or "end". */
typedef struct state_part {
    const char *key;
    const tide_segment_row *segments; /* borrowed, with the blocks */
    size_t n_segments;
    const tide_block_row *blocks;
    size_t n_blocks;
    const uint8_t *certainty; /* of each block; may be NULL */
} state_part;

static tide_status check_block(const checker *check, const state_part *state, size_t segment,
                               size_t block) {
    const tide_snapshot *snapshot = check->snapshot;
    size_t number = state->segments[segment].first_block + block;
    const tide_block_row *row = &state->blocks[number];
    uint32_t certainty =
        state->certainty != NULL ? state->certainty[number] : TIDE_CERTAINTY_UNKNOWN;
    const struct {
        const char *key;
        const char *what;
        size_t n_rows;
        uint32_t index;
        bool none_allowed;
    } INDICES[] = {
        {"stack", "stacks", snapshot->n_stacks, row->stack, true},
        {"scope", "scopes", snapshot->n_scopes, row->scope, true},
        {"name", "strings", snapshot->n_strings, row->name, true},
        {"category", "categories", tide_snapshot_n_categories(snapshot), row->category, false},
        {"state", "states of blocks", TIDE_N_BLOCK_STATES, row->state, false},
        {"certainty", "certainties", TIDE_N_CERTAINTIES, certainty, false}};
    for (size_t i = 0; i < sizeof(INDICES) / sizeof(INDICES[0]); i++) {
        if (INDICES[i].index < INDICES[i].n_rows ||
            (INDICES[i].none_allowed && INDICES[i].index == TIDE_NONE)) {
            continue;
        }
        at(check, "%s.segments[%zu].blocks[%zu].%s", state->key, segment, block, INDICES[i].key);
        return bad(check, "%" PRIu32 " refers to none of the %zu %s", INDICES[i].index,
                   INDICES[i].n_rows, INDICES[i].what);
    }
    if (row->requested_bytes > row->block_bytes) {
        at(check, "%s.segments[%zu].blocks[%zu].requested_bytes", state->key, segment, block);
        return bad(check, "%" PRIu64 " bytes were asked of a block of %" PRIu64,
                   row->requested_bytes, row->block_bytes);
    }
    return TIDE_OK;
}

static tide_status check_segment(const checker *check, const state_part *state, size_t i) {
    const tide_segment_row *segment = &state->segments[i];
    at(check, "%s.segments[%zu]", state->key, i);
    if (segment->device >= check->snapshot->n_devices ||
        segment->stream >= check->snapshot->n_streams) {
        return bad(check, "device %u or stream %u is not in the tables", (unsigned)segment->device,
                   (unsigned)segment->stream);
    }
    if (segment->stack_after > check->snapshot->n_stacks) {
        return bad(check, "stack %" PRIu32 " refers to none of the %zu stacks",
                   segment->stack_after - 1, check->snapshot->n_stacks);
    }
    if (segment->first_block > state->n_blocks ||
        segment->n_blocks > state->n_blocks - segment->first_block) {
        return bad(check, "its blocks lie outside the table of blocks");
    }
    if (segment->total_bytes > (uint64_t)INT64_MAX ||
        segment->address > (uint64_t)INT64_MAX - segment->total_bytes) {
        return bad(check, "it ends beyond address 2^63 - 1");
    }
    uint64_t n_filled = 0;
    for (size_t j = 0; j < segment->n_blocks; j++) {
        const tide_block_row *block = &state->blocks[segment->first_block + j];
        if (block->offset_bytes != n_filled ||
            block->block_bytes > segment->total_bytes - n_filled) {
            at(check, "%s.segments[%zu].blocks[%zu].%s", state->key, i, j,
               block->offset_bytes != n_filled ? "offset_bytes" : "block_bytes");
            return bad(check,
                       "the blocks must fill the segment of %" PRIu64
                       " bytes without gap or overlap: one of %" PRIu64 " bytes at %" PRIu64
                       " follows byte %" PRIu64,
                       segment->total_bytes, block->block_bytes, block->offset_bytes, n_filled);
        }
        n_filled += block->block_bytes;
        TIDE_TRY(check_block(check, state, i, j));
    }
    if (n_filled != segment->total_bytes) {
        at(check, "%s.segments[%zu].total_bytes", state->key, i);
        return bad(check, "the blocks fill %" PRIu64 " of %" PRIu64 " bytes", n_filled,
                   segment->total_bytes);
    }
    return TIDE_OK;
}

static tide_status check_state(const checker *check, const state_part *state) {
    for (size_t i = 0; i < state->n_segments; i++) {
        TIDE_TRY(check_segment(check, state, i));
    }
    return TIDE_OK;
}

/* These counts must fit the signed numbers of the file. */
static tide_status check_losses(const checker *check) {
    const struct {
        const char *place;
        uint64_t n_lost;
    } LOSSES[] = {{"log.dropped_events", check->snapshot->n_dropped},
                  {"log.dropped_scopes", check->snapshot->n_scopes_dropped}};
    for (size_t i = 0; i < sizeof(LOSSES) / sizeof(LOSSES[0]); i++) {
        if (LOSSES[i].n_lost > (uint64_t)INT64_MAX) {
            at(check, "%s", LOSSES[i].place);
            return bad(check, "%" PRIu64 " is out of range", LOSSES[i].n_lost);
        }
    }
    return TIDE_OK;
}

static tide_status check_devices(const checker *check) {
    const tide_snapshot *snapshot = check->snapshot;
    if (snapshot->n_devices > MAX_DEVICES) {
        at(check, "devices");
        return bad(check, "%zu devices: the limit is 256", snapshot->n_devices);
    }
    if (snapshot->n_streams > MAX_DEVICES) {
        at(check, "streams");
        return bad(check, "%zu streams: the limit is 256", snapshot->n_streams);
    }
    for (size_t i = 0; i < snapshot->n_streams; i++) {
        if (snapshot->streams[i].device >= snapshot->n_devices) {
            at(check, "streams[%zu].device", i);
            return bad(check, "%u refers to none of the %zu devices",
                       (unsigned)snapshot->streams[i].device, snapshot->n_devices);
        }
    }
    return TIDE_OK;
}

/* Owners and accounts refer to devices; each device has at most one account. */
static tide_status check_owners(const checker *check) {
    const tide_snapshot *snapshot = check->snapshot;
    bool has_account[MAX_DEVICES] = {false};
    for (size_t i = 0; i < snapshot->n_driver_accounts; i++) {
        uint32_t device = snapshot->driver_accounts[i].device;
        at(check, "owners.accounts[%zu].device", i);
        if (device >= snapshot->n_devices) {
            return bad(check, "%" PRIu32 " refers to none of the %zu devices", device,
                       snapshot->n_devices);
        }
        if (has_account[device]) {
            return bad(check, "device %" PRIu32 " has an account already", device);
        }
        has_account[device] = true;
    }
    for (size_t i = 0; i < snapshot->n_owners; i++) {
        uint32_t device = snapshot->owners[i].device;
        if (device >= snapshot->n_devices) {
            at(check, "owners.rows[%zu].device", i);
            return bad(check, "%" PRIu32 " refers to none of the %zu devices", device,
                       snapshot->n_devices);
        }
    }
    return TIDE_OK;
}

tide_status tide_snapshot_validate(const tide_snapshot *snapshot, char ret_place[TIDE_PLACE_BYTES],
                                   tide_error *error) {
    checker check = {snapshot, ret_place, error};
    TIDE_TRY(check_losses(&check));
    TIDE_TRY(check_devices(&check));
    TIDE_TRY(check_owners(&check));
    TIDE_TRY(check_stacks(&check));
    TIDE_TRY(check_source(&check));
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        TIDE_TRY(check_scope(&check, i));
    }
    for (size_t i = 0; i < snapshot->n_kernels; i++) {
        TIDE_TRY(check_kernel(&check, i));
    }
    TIDE_TRY(check_state(&check,
                         &(state_part){"start", snapshot->start_segments,
                                       snapshot->n_start_segments, snapshot->start_blocks,
                                       snapshot->n_start_blocks, snapshot->start_block_certainty}));
    TIDE_TRY(
        check_state(&check, &(state_part){"end", snapshot->end_segments, snapshot->n_end_segments,
                                          snapshot->end_blocks, snapshot->n_end_blocks,
                                          snapshot->end_block_certainty}));
    return check_events(&check);
}
