/* scope_times.c - puts device events where scopes begin and end, and turns them into times. */
#include "recorder/scope_times.h"

#include <math.h>
#include <string.h>

#include "common/assert.h"
#include "device/device_friend.h"
#include "recorder/scope_times_internal.h"
#include "recorder/state_internal.h"

enum {
    N_TRIES = 16,         /* for an anchor: the device may still be waking up in the first tries */
    N_COST = 32,          /* marks by which the cost of one is measured */
    MAX_SHARED_NS = 10000 /* host time between two ends of scopes that may share an event */
};

/* An event on the stream where scopes begin or end. */
typedef struct mark {
    tide_device_event *event; /* owned */
    int64_t device_ns;        /* since the first anchor; valid after a collection */
    tide_scope_kind kind;     /* of the outermost scope that begins or ends here */
} mark;

/* A scope whose times are not in the recording yet. */
typedef struct pending {
    tide_scope scope;
    tide_scope_kind kind;
    size_t begin_mark; /* NO_MARK: begin_ns is known */
    size_t end_mark;   /* NO_MARK: the scope is still open */
    int64_t begin_ns;  /* device time, valid when begin_mark is NO_MARK */
} pending;

#define NO_MARK SIZE_MAX
#define NEVER_NS (INT64_MIN / 2) /* as marked_ns: so long ago that no mark is shared */

/* One instant on both clocks. */
typedef struct anchor {
    int64_t host_ns;       /* on the recorder's clock */
    int64_t half_width_ns; /* the instant is at most this far from host_ns */
} anchor;

struct tide_scope_times {
    const tide_hostmem *mem; /* borrowed; the recorder's */
    tide_recorder *recorder; /* borrowed */
    tide_device *device;     /* borrowed */
    tide_stream stream;      /* the events are recorded on it */
    mark *marks;             /* owned; n_made have events, the first n_marks are in use */
    size_t n_marks;
    size_t n_made;
    size_t marks_capacity;
    pending *pendings; /* owned; in the order in which the scopes began */
    size_t n_pendings;
    size_t pendings_capacity;
    tide_device_event *base;  /* owned; elapsed times are measured from here. It advances with the
                                 collections: the runtime returns times in single precision, which is
                                 exact only for short times */
    tide_device_event *spare; /* owned; for anchors */
    bool is_paused;           /* scopes that begin now are not timed */
    tide_scope_kind deepest;  /* scopes up to this kind are timed, deeper ones are not */
    double mark_ns;           /* time that one mark costs, on the device or on the host */
    size_t n_marks_of[TIDE_N_SCOPE_KINDS]; /* marks of the last collection, by kind */
    int64_t marked_ns;                     /* host time of the latest mark */
    uint64_t n_submitted;                  /* the device's count at the latest mark */
    int64_t shared_ns;      /* longest host time between two ends that shared a mark */
    int64_t base_ns;        /* device time of the base since the first anchor */
    double rounding_ns;     /* error that the chain of bases may have accumulated */
    anchor first;           /* device time 0 */
    tide_scope first_scope; /* the first scope that may be timed */
    tide_status status;     /* the first failure; no more marks are taken after it */
    tide_error error;       /* its message */
};

/* Device time of an event that the device has reached and that is not before the base. */
static tide_status device_time(const tide_scope_times *times, const tide_device_event *event,
                               int64_t *ret_ns, double *ret_rounding_ns, tide_error *error) {
    double ms = 0;
    TIDE_TRY(tide_device_event_elapsed(times->device, times->base, event, &ms, error));
    *ret_ns = times->base_ns + (int64_t)llround(ms * 1e6);
    /* A float has 24 significant bits, so it is off by at most 2^-24 of the time; plus our
     * rounding. */
    *ret_rounding_ns = fabs(ms) * 1e6 * ldexp(1, -24) + 0.5;
    return TIDE_OK;
}

static void swap_events(tide_device_event **a, tide_device_event **b) {
    tide_device_event *event = *a;
    *a = *b;
    *b = event;
}

/* Called on an idle device, so the event is reached between the two readings of the host's clock.
 * The narrowest try counts; *kept becomes the event of that try. */
static tide_status take_anchor(tide_scope_times *times, tide_device_event **kept,
                               anchor *ret_anchor, tide_error *error) {
    anchor best = {0, INT64_MAX};
    for (int i = 0; i < N_TRIES; i++) {
        int64_t before_ns = tide_recorder_now_ns(times->recorder);
        TIDE_TRY(tide_device_event_record(times->device, times->spare, times->stream, error));
        TIDE_TRY(tide_device_synchronize(times->device, error));
        int64_t half_ns = (tide_recorder_now_ns(times->recorder) - before_ns + 1) / 2;
        if (half_ns < best.half_width_ns) {
            best = (anchor){before_ns + half_ns, half_ns};
            swap_events(kept, &times->spare);
        }
    }
    *ret_anchor = best;
    return TIDE_OK;
}

/* Whether the latest mark can be used once more. If nothing was submitted since, the device would
 * reach another mark directly after it or, when idle, as soon as the host submits it. Sharing pays:
 * most scopes of a step begin where another one ends, and each event costs the host a call and the
 * device some work. */
static bool shares_mark(tide_scope_times *times) {
    uint64_t n_submitted = atomic_load_explicit(&times->device->n_submitted, memory_order_relaxed);
    int64_t now_ns = tide_recorder_now_ns(times->recorder);
    int64_t gap_ns = now_ns - times->marked_ns;
    if (times->device->counts_work && times->n_marks > 0 && n_submitted == times->n_submitted &&
        gap_ns <= MAX_SHARED_NS) {
        times->shared_ns = gap_ns > times->shared_ns ? gap_ns : times->shared_ns;
        return true;
    }
    times->marked_ns = now_ns;
    times->n_submitted = n_submitted;
    return false;
}

/* Records the next event of the pool for a scope of that kind, or shares the latest one. */
static tide_status put_mark(tide_scope_times *times, tide_scope_kind kind, size_t *ret_mark,
                            tide_error *error) {
    if (shares_mark(times)) {
        mark *latest = &times->marks[times->n_marks - 1];
        latest->kind = kind < latest->kind ? kind : latest->kind;
        *ret_mark = times->n_marks - 1;
        return TIDE_OK;
    }
    mark *marks = tide_hostmem_grow(times->mem, times->marks, &times->marks_capacity,
                                    times->n_marks + 1, sizeof(*marks));
    if (marks == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory to time scopes");
    }
    times->marks = marks;
    TIDE_ASSERT(times->n_marks <= times->n_made);
    if (times->n_marks == times->n_made) {
        TIDE_TRY(tide_device_event_create(times->device, &marks[times->n_made].event, error));
        times->n_made++;
    }
    TIDE_TRY(
        tide_device_event_record(times->device, marks[times->n_marks].event, times->stream, error));
    marks[times->n_marks].kind = kind;
    *ret_mark = times->n_marks++;
    return TIDE_OK;
}

/* Measures what one mark costs by recording several back to back. The result is the time of the
 * slower side, device or host, because the device cannot reach an event before the host has
 * submitted it. */
static tide_status measure_mark(tide_scope_times *times, tide_error *error) {
    double ms = 0;
    size_t last = 0;
    for (size_t i = 0; i < N_COST; i++) {
        times->marked_ns = NEVER_NS;
        TIDE_TRY(put_mark(times, TIDE_SCOPE_STEP, &last, error));
    }
    TIDE_TRY(tide_device_synchronize(times->device, error));
    TIDE_TRY(tide_device_event_elapsed(times->device, times->marks[0].event,
                                       times->marks[last].event, &ms, error));
    TIDE_ASSERT(last == N_COST - 1);
    times->mark_ns = ms > 0 ? ms * 1e6 / (double)last : 0;
    times->n_marks = 0;
    return TIDE_OK;
}

static tide_status start(tide_scope_times *times, tide_error *error) {
    TIDE_TRY(tide_device_event_create(times->device, &times->base, error));
    TIDE_TRY(tide_device_event_create(times->device, &times->spare, error));
    TIDE_TRY(tide_device_synchronize(times->device, error));
    TIDE_TRY(take_anchor(times, &times->base, &times->first, error));
    TIDE_TRY(measure_mark(times, error));
    tide_status status = tide_recorder_attach_times(times->recorder, times, &times->first_scope);
    if (status == TIDE_INVALID) {
        return tide_fail(error, status, "the recorder's scopes are timed already");
    }
    return status == TIDE_OK ? status : tide_fail(error, status, "no host memory to time scopes");
}

static void release(tide_scope_times *times) {
    if (times->base != NULL) {
        tide_device_event_destroy(times->device, times->base);
    }
    if (times->spare != NULL) {
        tide_device_event_destroy(times->device, times->spare);
    }
    for (size_t i = 0; i < times->n_made; i++) {
        tide_device_event_destroy(times->device, times->marks[i].event);
    }
    times->mem->release(times->mem->ctx, times->marks);
    times->mem->release(times->mem->ctx, times->pendings);
    times->mem->release(times->mem->ctx, times);
}

tide_status tide_scope_times_create(tide_recorder *recorder, tide_device *device,
                                    tide_stream stream, tide_scope_times **ret_times,
                                    tide_error *error) {
    tide_scope_times *times = tide_hostmem_zeroed(recorder->mem, 1, sizeof(*times));
    if (times == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory to time scopes");
    }
    times->mem = recorder->mem;
    times->recorder = recorder;
    times->device = device;
    times->stream = stream;
    times->status = TIDE_OK;
    times->deepest = TIDE_SCOPE_USER;
    tide_status status = start(times, error);
    if (status != TIDE_OK) {
        release(times);
        return status;
    }
    *ret_times = times;
    return TIDE_OK;
}

void tide_scope_times_destroy(tide_scope_times *times) {
    if (times != NULL) {
        tide_recorder_detach_times(times->recorder);
        release(times);
    }
}

static tide_status begin_pending(tide_scope_times *times, tide_scope scope, tide_scope_kind kind,
                                 tide_error *error) {
    pending *pendings = tide_hostmem_grow(times->mem, times->pendings, &times->pendings_capacity,
                                          times->n_pendings + 1, sizeof(*pendings));
    if (pendings == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory to time scopes");
    }
    times->pendings = pendings;
    pending *row = &pendings[times->n_pendings];
    *row = (pending){.scope = scope, .kind = kind, .begin_mark = NO_MARK, .end_mark = NO_MARK};
    TIDE_ASSERT(times->n_pendings == 0 || row[-1].scope < scope); /* they are in order */
    TIDE_TRY(put_mark(times, kind, &row->begin_mark, error));
    times->n_pendings++;
    return TIDE_OK;
}

void tide_scope_times_begin(tide_scope_times *times, tide_scope scope, tide_scope_kind kind) {
    if (times->status == TIDE_OK && kind <= times->deepest && !times->is_paused) {
        times->status = begin_pending(times, scope, kind, &times->error);
    }
}

void tide_scope_times_pause(tide_scope_times *times, bool is_paused) {
    if (times != NULL) {
        times->is_paused = is_paused;
        times->marked_ns = NEVER_NS; /* the next mark is an event of its own */
    }
}

/* Scopes opened later have higher numbers, so the open ones among them are inside `scope`. */
static bool ends_with(const pending *row, tide_scope scope) {
    return row->end_mark == NO_MARK && row->scope >= scope;
}

void tide_scope_times_end(tide_scope_times *times, tide_scope scope) {
    size_t end_mark = NO_MARK;
    if (times->status != TIDE_OK) {
        return;
    }
    for (size_t i = times->n_pendings; i > 0 && times->pendings[i - 1].scope >= scope; i--) {
        pending *row = &times->pendings[i - 1];
        if (ends_with(row, scope) && end_mark == NO_MARK) {
            times->status = put_mark(times, row->kind, &end_mark, &times->error);
            if (times->status != TIDE_OK) {
                return;
            }
        }
        if (ends_with(row, scope)) {
            row->end_mark = end_mark;
            mark *end = &times->marks[end_mark];
            end->kind = row->kind < end->kind ? row->kind : end->kind;
        }
    }
}

/* Records the times of the scopes that have ended, and keeps the others. */
static void settle(tide_scope_times *times) {
    size_t n_left = 0;
    for (size_t i = 0; i < times->n_pendings; i++) {
        pending row = times->pendings[i];
        TIDE_ASSERT(row.begin_mark == NO_MARK || row.begin_mark < times->n_marks);
        TIDE_ASSERT(row.end_mark == NO_MARK || row.end_mark < times->n_marks);
        if (row.begin_mark != NO_MARK) {
            row.begin_ns = times->marks[row.begin_mark].device_ns;
            row.begin_mark = NO_MARK;
        }
        if (row.end_mark == NO_MARK) {
            times->pendings[n_left++] = row;
            continue;
        }
        tide_recorder_set_device_time(times->recorder, row.scope,
                                      times->first.host_ns + row.begin_ns,
                                      times->marks[row.end_mark].device_ns - row.begin_ns);
    }
    times->n_pendings = n_left;
}

static tide_status collect(tide_scope_times *times, tide_error *error) {
    double rounding_ns = 0;
    memset(times->n_marks_of, 0, sizeof(times->n_marks_of));
    for (size_t i = 0; i < times->n_marks; i++) {
        times->n_marks_of[times->marks[i].kind]++;
        TIDE_TRY(device_time(times, times->marks[i].event, &times->marks[i].device_ns, &rounding_ns,
                             error));
    }
    settle(times);
    if (times->n_marks > 0) {
        mark *last = &times->marks[times->n_marks - 1];
        /* The last event becomes the base of the next collection, and the old base a free event. */
        times->base_ns = last->device_ns;
        times->rounding_ns += rounding_ns;
        swap_events(&times->base, &last->event);
        times->n_marks = 0;
    }
    return TIDE_OK;
}

tide_status tide_scope_times_collect(tide_scope_times *times, tide_error *error) {
    if (times->status == TIDE_OK) {
        times->status = collect(times, &times->error);
    }
    if (times->status != TIDE_OK && error != NULL) {
        *error = times->error;
    }
    return times->status;
}

void tide_scope_times_limit(tide_scope_times *times, int64_t span_ns, double share) {
    const double most_ns = share * (double)span_ns;
    tide_scope_kind deepest = TIDE_SCOPE_PHASE;
    size_t n_marks = 0;
    for (tide_scope_kind kind = TIDE_SCOPE_STEP; kind <= times->deepest; kind++) {
        n_marks += times->n_marks_of[kind];
        if (kind > deepest && (double)n_marks * times->mark_ns <= most_ns) {
            deepest = kind;
        } else if (kind > deepest) {
            break;
        }
    }
    times->deepest = deepest < times->deepest ? deepest : times->deepest;
}

tide_status tide_scope_times_finish(tide_scope_times *times, tide_error *error) {
    anchor last;
    int64_t device_ns = 0;
    double rounding_ns = 0;
    TIDE_TRY(tide_device_synchronize(times->device, error));
    TIDE_TRY(tide_scope_times_collect(times, error));
    /* The anchor uses one of the events of the pool, which are all free now. */
    TIDE_ASSERT(times->n_marks == 0);
    size_t kept = 0;
    times->marked_ns = NEVER_NS;
    TIDE_TRY(put_mark(times, TIDE_SCOPE_STEP, &kept, error));
    TIDE_TRY(take_anchor(times, &times->marks[kept].event, &last, error));
    TIDE_TRY(device_time(times, times->marks[kept].event, &device_ns, &rounding_ns, error));
    times->n_marks = kept;
    int64_t host_ns = last.host_ns - times->first.host_ns;
    /* The device's clock may run faster or slower than the host's; between the two anchors its rate
     * is assumed constant. */
    double factor = device_ns > 0 && host_ns > 0 ? (double)host_ns / (double)device_ns : 1;
    int64_t width_ns = last.half_width_ns > times->first.half_width_ns ? last.half_width_ns
                                                                       : times->first.half_width_ns;
    tide_recorder_correct_device_times(times->recorder, times->first_scope, times->first.host_ns,
                                       factor,
                                       width_ns + times->shared_ns + TIDE_EVENT_RESOLUTION_NS +
                                           (int64_t)ceil(times->rounding_ns + rounding_ns));
    return TIDE_OK;
}
