#include "programs/virtual_cuda/order/order.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/setting.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/pools.h"

enum { MAX_POLLS = 10000 };

/* Work of a stream from ticket `at` on comes after a mark of another stream. */
typedef struct dependency {
    uint64_t at;
    tide_vc_mark on;
} dependency;

typedef enum kind { NON_BLOCKING, BLOCKING, THE_NULL } kind;

struct tide_vc_timeline {
    size_t n_uses; /* by its stream and by marks */
    kind kind;
    int device;
    uint64_t n_submitted, n_done; /* work is numbered from 1 on */
    dependency *dependencies;     /* from malloc; of unfinished work */
    size_t n_dependencies, n_room;
    struct tide_vc_timeline *next; /* of all */
};

/* The lock guards it, and all timelines. */
static struct order {
    tide_vc_timeline *all;                        /* a list, from malloc */
    tide_vc_timeline *nulls[TIDE_VC_MAX_DEVICES]; /* of `all`; NULL: not made yet */
    bool has_unused;                              /* some timeline has no more uses */
    int n_polls;                                  /* since the program last did anything else */
} order;
TIDE_VC_LOCK(lock, NULL);

bool tide_vc_is_late(void) {
    static int known; /* 1: no, 2: yes */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        const char *streams = tide_setting("TIDEMARK_STREAMS");
        answer = streams != NULL && strcmp(streams, "late") == 0 ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2;
}

/* ---- the caller holds the lock ---- */

static void let_go(tide_vc_timeline *of) {
    TIDE_ASSERT(of->n_uses > 0);
    of->n_uses--;
    order.has_unused = order.has_unused || of->n_uses == 0;
}

/* Frees the timelines without uses, which may release others. */
static void sweep(void) {
    while (order.has_unused) {
        order.has_unused = false;
        for (tide_vc_timeline **link = &order.all; *link != NULL;) {
            tide_vc_timeline *of = *link;
            if (of->n_uses > 0) {
                link = &of->next;
                continue;
            }
            *link = of->next;
            for (size_t i = 0; i < of->n_dependencies; i++) {
                let_go(of->dependencies[i].on.of);
            }
            free(of->dependencies);
            free(of);
        }
    }
}

/* Completes the timeline up to a ticket, and the work this depends on. The recursion is no deeper
 * than the number of timelines: a timeline that is met again is already done that far. */
static void complete(tide_vc_timeline *of, uint64_t ticket) {
    if (ticket <= of->n_done) {
        return;
    }
    TIDE_ASSERT(ticket <= of->n_submitted);
    of->n_done = ticket;
    for (size_t i = 0; i < of->n_dependencies;) {
        dependency one = of->dependencies[i];
        if (one.at > ticket) {
            i++;
            continue;
        }
        of->dependencies[i] = of->dependencies[--of->n_dependencies];
        complete(one.on.of, one.on.ticket);
        let_go(one.on.of);
    }
    /* The null stream and the blocking streams of its device wait for each other. Their order is
     * not recorded, so all of their work is completed. */
    for (tide_vc_timeline *other = order.all; other != NULL && of->kind != NON_BLOCKING;
         other = other->next) {
        if (other->device == of->device && other->kind != NON_BLOCKING && other->kind != of->kind) {
            complete(other, other->n_submitted);
        }
    }
}

static tide_vc_timeline *make(int device, kind of_kind) {
    tide_vc_timeline *made = calloc(1, sizeof(*made));
    if (made != NULL) {
        made->n_uses = 1;
        made->kind = of_kind;
        made->device = device;
        made->next = order.all;
        order.all = made;
    }
    return made;
}

static void follow(tide_vc_timeline *of, tide_vc_mark mark) {
    if (of->n_dependencies == of->n_room) {
        size_t more = of->n_room > 0 ? 2 * of->n_room : 16;
        dependency *larger = realloc(of->dependencies, more * sizeof(*larger));
        if (larger == NULL) {
            complete(mark.of, mark.ticket); /* without host memory: too early rather than never */
            return;
        }
        of->dependencies = larger;
        of->n_room = more;
    }
    TIDE_ASSERT(mark.of->n_uses > 0 && mark.of->n_done < mark.ticket);
    of->dependencies[of->n_dependencies++] = (dependency){of->n_submitted + 1, mark};
    mark.of->n_uses++;
}

/* ---- */

static void enter(void) {
    pthread_mutex_lock(&lock);
}

static void leave(void) {
    sweep();
    pthread_mutex_unlock(&lock);
}

tide_vc_timeline *tide_vc_timeline_new(int device, bool is_blocking) {
    if (!tide_vc_is_late()) {
        return NULL;
    }
    enter();
    tide_vc_timeline *made = make(device, is_blocking ? BLOCKING : NON_BLOCKING);
    leave();
    return made;
}

tide_vc_timeline *tide_vc_timeline_null(int device) {
    if (!tide_vc_is_late()) {
        return NULL;
    }
    enter();
    if (order.nulls[device] == NULL) {
        order.nulls[device] = make(device, THE_NULL);
    }
    tide_vc_timeline *of = order.nulls[device];
    leave();
    return of;
}

void tide_vc_timeline_end(tide_vc_timeline *timeline) {
    if (timeline != NULL) {
        enter();
        let_go(timeline);
        leave();
    }
}

void tide_vc_timeline_work(tide_vc_timeline *timeline) {
    if (timeline != NULL) {
        enter();
        timeline->n_submitted++;
        order.n_polls = 0;
        leave();
    }
}

/* An event counts as work: it never completes without a wait. */
tide_vc_mark tide_vc_mark_now(tide_vc_timeline *timeline) {
    tide_vc_mark mark = {.of = timeline};
    if (timeline != NULL) {
        enter();
        mark.ticket = ++timeline->n_submitted;
        timeline->n_uses++;
        order.n_polls = 0;
        leave();
    }
    return mark;
}

void tide_vc_mark_end(tide_vc_mark *mark) {
    if (mark->of != NULL) {
        enter();
        let_go(mark->of);
        leave();
        mark->of = NULL;
    }
}

/* Whether the timeline is done up to the ticket, or counts as done because the program polls. */
static bool ask(tide_vc_timeline *of, uint64_t ticket) {
    bool gives_up = false;
    enter();
    ticket = ticket != 0 ? ticket : of->n_submitted;
    bool is_done = of->n_done >= ticket;
    if (!is_done && ++order.n_polls >= MAX_POLLS) {
        gives_up = true;
        order.n_polls = 0;
        complete(of, ticket);
    }
    leave();
    if (gives_up) {
        tide_vc_inexact("--streams late", "the program keeps asking whether work is complete; "
                                          "it got the answer yes before it waited");
    }
    return is_done || gives_up;
}

bool tide_vc_mark_is_done(tide_vc_mark mark) {
    return mark.of == NULL || ask(mark.of, mark.ticket);
}

bool tide_vc_timeline_is_idle(tide_vc_timeline *timeline) {
    return timeline == NULL || ask(timeline, 0);
}

void tide_vc_timeline_follow(tide_vc_timeline *timeline, tide_vc_mark mark) {
    if (timeline != NULL && mark.of != NULL && timeline != mark.of) {
        enter();
        if (mark.of->n_done < mark.ticket) {
            follow(timeline, mark);
        }
        leave();
    }
}

void tide_vc_wait_mark(tide_vc_mark mark) {
    if (mark.of != NULL) {
        enter();
        complete(mark.of, mark.ticket);
        order.n_polls = 0;
        leave();
    }
    tide_vc_pools_waited();
}

void tide_vc_wait_timeline(tide_vc_timeline *timeline) {
    if (timeline != NULL) {
        enter();
        complete(timeline, timeline->n_submitted);
        order.n_polls = 0;
        leave();
    }
    tide_vc_pools_waited();
}

void tide_vc_wait_device(int device) {
    tide_vc_entry entry = tide_vc_launch_begin();
    if (tide_vc_is_late()) {
        enter();
        for (tide_vc_timeline *of = order.all; of != NULL; of = of->next) {
            if (of->device == device) {
                complete(of, of->n_submitted);
            }
        }
        order.n_polls = 0;
        leave();
    }
    tide_vc_pools_waited();
    tide_vc_launch_end_on(entry, &(tide_run_launch){.kind = TIDE_RUN_WAIT_DEVICE}, device, NULL);
}
