#include "programs/virtual_cuda/launches/card_clock.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "common/hostmem.h"
#include "common/map_rows.h"
#include "common/text/setting.h"
#include "programs/step_time/captured.h"
#include "programs/step_time/clock.h"
#include "programs/step_time/pace.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/launches/usual_gaps.h"
#include "programs/virtual_cuda/process/program_clock.h"

TIDE_VC_LOCK(lock, NULL);

/* Guarded by the lock. The child of a fork continues its parent's clock. */
static struct {
    bool is_ready, has_rates;
    tide_time_pace pace;
    tide_time_factors factors;
    tide_time_card card;
    tide_time_clock clock;
    tide_map_rows streams;  /* of tide_time_stream, by their keys */
    tide_map events;        /* from their numbers to when they are done, as the bits of a double */
    tide_map_rows captured; /* graphs, of tide_work_time, by their numbers */
    int64_t calls_ns;       /* the most time that calls are known to have taken */
    uint64_t last_call;     /* the last row's call and thread, as one number */
    int64_t read_ns;        /* when the program had read its clock at the last row */
} at;

/* ---- the caller holds the lock ---- */

static void begin(void) {
    const char *text = tide_setting(TIDE_RUN_CLOCK_VARIABLE);
    at.is_ready = true;
    at.has_rates = text != NULL && tide_time_pace_read(text, &at.pace) && tide_vc_n_devices() > 0 &&
                   tide_time_card_of(tide_vc_card_of(0)->card, &at.card, NULL) == TIDE_OK;
    at.factors = (tide_time_factors){at.pace.host, TIDE_TIME_LIKELY, false};
    at.clock = tide_time_clock_at(tide_vc_clock_start_ns());
}

static double time_in(const tide_map *map, uint64_t key) {
    uint64_t bits = 0;
    double us = 0.0;
    (void)tide_map_find(map, key, &bits); /* 0.0 if it is new */
    memcpy(&us, &bits, sizeof(us));
    return us;
}

static tide_status keep_time(tide_map *map, uint64_t key, double us) {
    uint64_t bits = 0;
    memcpy(&bits, &us, sizeof(bits));
    return tide_map_put(map, key, bits);
}

/* The graph of that number; NULL: no host memory. Valid until the next call. */
static tide_work_time *graph_of(uint32_t number) {
    return tide_map_rows_at(&at.captured, number, sizeof(tide_work_time));
}

/* The stream of that key, which is new if its work has not begun; NULL: no host memory. Valid until
 * the next call. */
static tide_time_stream *stream_of(uint64_t key) {
    tide_time_stream *stream = tide_map_rows_at(&at.streams, key, sizeof(*stream));
    if (stream != NULL && stream->queue_us == NULL) {
        stream->queue_us =
            tide_hostmem_zeroed(tide_hostmem_default(), TIDE_TIME_QUEUE, sizeof(*stream->queue_us));
    }
    return stream != NULL && stream->queue_us != NULL ? stream : NULL;
}

static tide_status work_of(const tide_run_launch *row, tide_work_time *ret) {
    *ret = tide_work_time_of(&at.pace.constants, &at.card, row);
    bool is_captured = (row->flags & TIDE_RUN_CAPTURED) != 0;
    if (row->graph == 0 || (!is_captured && row->kind != TIDE_RUN_GRAPH_LAUNCH)) {
        return TIDE_OK;
    }
    bool is_launch = row->kind == TIDE_RUN_GRAPH_LAUNCH;
    const tide_work_time *found = graph_of(is_captured && is_launch ? row->m : row->graph);
    if (found == NULL) {
        return TIDE_NO_MEMORY;
    }
    const tide_work_time inner = *found;
    tide_work_time *graph = graph_of(row->graph);
    if (graph == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (is_captured && is_launch) {
        tide_time_captured_add(graph, &inner);
    } else if (is_captured) {
        tide_time_captured_add(graph, ret);
    } else {
        *ret = tide_time_captured_launch(graph);
    }
    if (is_captured) {
        *ret = tide_time_captured_row(ret);
    }
    return TIDE_OK;
}

/* The host's time since the last row is at most its usual time between these two calls, except what
 * the program has seen on its clock meanwhile. */
static void shorten_gap(const tide_run_launch *row, const char *name) {
    uint64_t call = tide_hash_u64((uintptr_t)name ^ (uint64_t)row->kind << 56) ^ row->thread;
    uint64_t pair = tide_hash_u64(at.last_call ^ tide_hash_u64(call));
    int64_t read_ns = tide_vc_clock_read_ns();
    int64_t gap_ns = row->host_ns - at.clock.seen_ns;
    if (gap_ns > 0 && read_ns == at.read_ns) {
        tide_time_clock_skip(&at.clock, gap_ns - tide_vc_usual_gap(pair, gap_ns));
    }
    at.last_call = call;
    at.read_ns = read_ns;
}

static tide_status do_row(const tide_run_launch *row, const char *name) {
    tide_work_time work;
    TIDE_TRY(work_of(row, &work));
    tide_time_stream *stream = stream_of(tide_time_stream_key(row));
    if (stream == NULL) {
        return TIDE_NO_MEMORY;
    }
    double event = tide_time_is_of_event(row) ? time_in(&at.events, row->bytes) : 0.0;
    shorten_gap(row, name);
    tide_time_clock_work(&at.clock, &at.factors, row->host_ns);
    (void)tide_time_clock_do(&at.clock, &at.factors, at.pace.constants.launch_us, row, &work,
                             stream, &event);
    return row->kind == TIDE_RUN_RECORD ? keep_time(&at.events, row->bytes, event) : TIDE_OK;
}

/* ---- */

void tide_vc_card_clock_row(const tide_run_launch *row, const char *name) {
    if (!tide_vc_clock_is_virtual()) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (!at.is_ready) {
        begin();
    }
    bool has_rates = at.has_rates;
    tide_status status = has_rates ? do_row(row, name) : TIDE_OK;
    pthread_mutex_unlock(&lock);
    if (!has_rates) { /* `tidemark run` refuses such cards */
        tide_vc_inexact("--clock virtual", "the card has no rates, and takes no time");
    } else if (status != TIDE_OK) {
        tide_vc_inexact("--clock virtual",
                        "there was no host memory left for the times of streams and events");
    }
}

void tide_vc_card_clock_settle(int64_t calls_ns) {
    if (!tide_vc_clock_is_virtual()) {
        return;
    }
    pthread_mutex_lock(&lock);
    /* A thread that counted its call earlier may get here later. */
    at.calls_ns = calls_ns > at.calls_ns ? calls_ns : at.calls_ns;
    if (at.is_ready) {
        tide_vc_clock_set(at.clock.host_us, at.clock.seen_ns + at.calls_ns);
    }
    pthread_mutex_unlock(&lock);
}

bool tide_vc_card_clock_event(uint64_t number, double *ret_us) {
    if (!tide_vc_clock_is_virtual()) {
        return false;
    }
    pthread_mutex_lock(&lock);
    bool is_there = at.is_ready && at.has_rates && tide_map_find(&at.events, number, NULL);
    if (is_there) {
        *ret_us = time_in(&at.events, number);
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

void tide_vc_card_clock_forget(uint64_t number) {
    if (tide_vc_clock_is_virtual()) {
        pthread_mutex_lock(&lock);
        if (at.is_ready) {
            (void)tide_map_remove(&at.events, number);
        }
        pthread_mutex_unlock(&lock);
    }
}
