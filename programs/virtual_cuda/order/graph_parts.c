#include "programs/virtual_cuda/order/graph_parts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "programs/virtual_cuda/order/events.h"
#include "programs/virtual_cuda/order/graphs.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"

static atomic_uint n_numbers;

uint32_t tide_vc_graph_number(void) {
    return atomic_fetch_add(&n_numbers, 1) + 1;
}

/* FNV-1a, a word at a time. */
static uint64_t mix(uint64_t hash, uint64_t word) {
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

void tide_vc_graph_shape_node(tide_vc_graph_shape *shape, uint32_t stream, int kind) {
    shape->n_nodes++;
    shape->n_kernels += kind == TIDE_VC_NODE_KERNEL;
    shape->topology = mix(shape->topology, stream + 1U);
    shape->kinds = mix(shape->kinds, (uint64_t)kind);
}

void tide_vc_graph_shape_wait(tide_vc_graph_shape *shape, uint32_t stream, size_t after_nodes) {
    shape->topology = mix(mix(shape->topology, ~(uint64_t)stream), after_nodes);
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
            return TIDE_VC_OPERATING_SYSTEM;
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
    *ret_parts = (tide_vc_graph_parts){.last = from->last, .shape = from->shape};
    if (from->n == 0) {
        return TIDE_VC_OK;
    }
    ret_parts->events = malloc(from->n * sizeof(*ret_parts->events));
    if (ret_parts->events == NULL) {
        return TIDE_VC_OPERATING_SYSTEM;
    }
    ret_parts->n = ret_parts->room = from->n;
    for (size_t i = 0; i < from->n; i++) {
        ret_parts->events[i] = from->events[i];
        tide_vc_event_keep(from->events[i].event);
    }
    return TIDE_VC_OK;
}

static void launch_part(tide_vc_entry entry, uint32_t number, uint8_t flags, void *stream) {
    tide_run_launch row = {
        .kind = TIDE_RUN_GRAPH_LAUNCH, .flags = flags, .graph = number, .m = number};
    tide_vc_launch_end(entry, &row, stream, NULL); /* in a capture, `graph` is the capture's */
}

static int do_event(const tide_vc_graph_event *of, void *stream) {
    tide_vc_graph *capture = tide_vc_stream_of(stream)->capture;
    if (capture != NULL) {
        return tide_vc_graph_add_event(capture, of->event, of->is_wait);
    }
    if (of->is_wait) {
        tide_vc_event_follow(of->event, stream);
    } else {
        tide_vc_event_record(of->event, stream);
    }
    return TIDE_VC_OK;
}

int tide_vc_graph_parts_launch(const tide_vc_graph_parts *parts, tide_vc_entry entry,
                               void *stream) {
    int status = TIDE_VC_OK;
    uint8_t flags = 0;
    for (size_t i = 0; i < parts->n && status == TIDE_VC_OK; i++) {
        launch_part(entry, parts->events[i].part, flags, stream);
        status = do_event(&parts->events[i], stream);
        entry = tide_vc_launch_begin(); /* each row has its own */
        flags = TIDE_RUN_CONTINUES;
    }
    launch_part(entry, parts->last, flags, stream);
    return status;
}
