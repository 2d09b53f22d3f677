#include "virtual_cuda/graph_parts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "virtual_cuda/events.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/status.h"
#include "virtual_cuda/streams.h"

static atomic_uint n_numbers;

uint32_t tide_vc_graph_number(void) {
    return atomic_fetch_add(&n_numbers, 1) + 1;
}

void tide_vc_graph_parts_init(tide_vc_graph_parts *parts) {
    *parts = (tide_vc_graph_parts){.last = tide_vc_graph_number()};
}

void tide_vc_graph_parts_fini(tide_vc_graph_parts *parts) {
    for (size_t i = 0; i < parts->n; i++) {
        tide_vc_event_release(parts->events[i].event);
    }
    free(parts->events);
    *parts = (tide_vc_graph_parts){.events = NULL};
}

int tide_vc_graph_parts_cut(tide_vc_graph_parts *parts, void *event, bool is_wait) {
    if (parts->n == parts->room) {
        size_t room = 2 * parts->room + 2;
        tide_vc_graph_event *larger = realloc(parts->events, room * sizeof(*larger));
        if (larger == NULL) {
            return TIDE_VC_MEMORY;
        }
        parts->events = larger;
        parts->room = room;
    }
    tide_vc_event_keep(event);
    parts->events[parts->n++] = (tide_vc_graph_event){event, parts->last, is_wait};
    parts->last = tide_vc_graph_number();
    return TIDE_VC_OK;
}

int tide_vc_graph_parts_copy(tide_vc_graph_parts *ret_parts, const tide_vc_graph_parts *from) {
    *ret_parts = (tide_vc_graph_parts){.last = from->last};
    if (from->n == 0) {
        return TIDE_VC_OK;
    }
    ret_parts->events = malloc(from->n * sizeof(*ret_parts->events));
    if (ret_parts->events == NULL) {
        return TIDE_VC_MEMORY;
    }
    ret_parts->n = ret_parts->room = from->n;
    for (size_t i = 0; i < from->n; i++) {
        ret_parts->events[i] = from->events[i];
        tide_vc_event_keep(from->events[i].event);
    }
    return TIDE_VC_OK;
}

static void launch_part(tide_vc_entry entry, uint32_t number, uint8_t flags, void *stream) {
    tide_run_launch row = {.kind = TIDE_RUN_GRAPH_LAUNCH, .flags = flags, .graph = number};
    tide_vc_launch_end(entry, &row, stream, NULL);
}

void tide_vc_graph_parts_launch(const tide_vc_graph_parts *parts, tide_vc_entry entry,
                                void *stream) {
    uint8_t flags = 0;
    bool is_captured = tide_vc_stream_of(stream)->capture != NULL;
    if (is_captured && parts->n > 0) {
        tide_vc_inexact("cudaGraphLaunch",
                        "events inside a graph that is captured into another one "
                        "are not recorded when that is launched");
    }
    for (size_t i = 0; i < parts->n; i++) {
        const tide_vc_graph_event *of = &parts->events[i];
        launch_part(entry, of->part, flags, stream);
        if (of->is_wait && !is_captured) {
            tide_vc_event_follow(of->event, stream);
        } else if (!is_captured) {
            tide_vc_event_record(of->event, stream);
        }
        entry = tide_vc_launch_begin(); /* each row has its own */
        flags = TIDE_RUN_CONTINUES;
    }
    launch_part(entry, parts->last, flags, stream);
}
