#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/event_rows.h"
#include "support/made_snapshot.h"

static const tide_snapshot_device DEVICES[MADE_MAX_DEVICES] = {
    {"virtual", "a", -1, -1, -1, -1, -1, -1}, {"virtual", "b", -1, -1, -1, -1, -1, -1}};
static const tide_stream_row STREAMS[MADE_MAX_DEVICES] = {{0, 0}, {1, 0}};

tide_snapshot *made_snapshot(const tide_hostmem *mem, const made_tables *tables,
                             const tide_event *events, size_t n_events) {
    tide_snapshot *made = NULL;
    assert_true(tables->n_devices <= MADE_MAX_DEVICES);
    assert_int_equal(tide_snapshot_create(mem, &made), TIDE_OK);
    made->devices = DEVICES;
    made->n_devices = tables->n_devices;
    made->streams = STREAMS;
    made->n_streams = tables->n_devices;
    made->strings = tables->strings;
    made->n_strings = tables->n_strings;
    made->scopes = tables->scopes;
    made->n_scopes = tables->n_scopes;
    made->frames = tables->frames;
    made->n_frames = tables->n_frames;
    made->stacks = tables->stacks;
    made->n_stacks = tables->n_stacks;
    event_rows_set(made, events, n_events);
    return made;
}

tide_event made_event(tide_action action, uint64_t address, uint64_t requested_bytes,
                      uint64_t block_bytes) {
    return (tide_event){.address = address,
                        .requested_bytes = requested_bytes,
                        .block_bytes = block_bytes,
                        .stack = TIDE_NONE,
                        .scope = TIDE_NONE,
                        .name = TIDE_NONE,
                        .action = (uint8_t)action};
}
