#include "snapshot/analysis/instant.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/text.h"

enum {
    MAX_COMPONENTS = 32, /* of a path of scopes */
    LISTED_NAMES = 8,    /* in a message */
    LISTED_BYTES = 256   /* of the list */
};

/* One component of a path of scopes. */
typedef struct component {
    const char *name; /* not terminated; in the text */
    size_t n_bytes;   /* of the name */
    int64_t index;    /* -1: any */
} component;

typedef struct pattern {
    component components[MAX_COMPONENTS]; /* outermost first */
    size_t n;
} pattern;

typedef struct search {
    const tide_snapshot *snapshot;   /* borrowed */
    const tide_lifetimes *lifetimes; /* borrowed */
    size_t device;                   /* index of the device */
    const char *text;                /* borrowed; the text to find */
    tide_error *error;               /* borrowed; may be NULL */
} search;

/* ---- scopes ---- */

static const char *after_blanks(const char *text) {
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

/* Cuts "name[3]" into its two parts; false if the brackets do not hold a number. */
static bool read_component(const char *begin, const char *end, component *ret_component) {
    begin = after_blanks(begin);
    while (end > begin && isspace((unsigned char)end[-1])) {
        end--;
    }
    component made = {begin, (size_t)(end - begin), -1};
    if (end > begin && end[-1] == ']') {
        const char *bracket = end - 1;
        while (bracket > begin && *bracket != '[') {
            bracket--;
        }
        char *stopped = NULL;
        made.index = strtoll(bracket + 1, &stopped, 10);
        if (*bracket != '[' || stopped != end - 1 || !isdigit((unsigned char)bracket[1])) {
            return false;
        }
        made.n_bytes = (size_t)(bracket - begin);
    }
    *ret_component = made;
    return made.n_bytes > 0;
}

static tide_status read_pattern(const search *of, pattern *ret_pattern) {
    const char *begin = of->text;
    ret_pattern->n = 0;
    for (;;) {
        const char *end = strchr(begin, '>');
        const char *stop = end != NULL ? end : begin + strlen(begin);
        if (ret_pattern->n == MAX_COMPONENTS ||
            !read_component(begin, stop, &ret_pattern->components[ret_pattern->n])) {
            return tide_fail(of->error, TIDE_INVALID,
                             "'%s' is no instant: give an event (1234), a time (12.5ms), a scope "
                             "('step[2] > backward'), or start, peak, end or oom",
                             of->text);
        }
        ret_pattern->n++;
        if (end == NULL) {
            return TIDE_OK;
        }
        begin = end + 1;
    }
}

static bool component_fits(const tide_snapshot *snapshot, const component *one,
                           const tide_scope_row *row) {
    const char *name = tide_snapshot_text(snapshot, row->name);
    return strlen(name) == one->n_bytes && memcmp(name, one->name, one->n_bytes) == 0 &&
           (one->index < 0 || one->index == row->index);
}

/* How many components, from the outermost on, the scope and its parents match in this order. A
 * scope that matches all is one of the wanted scopes, or inside one. `n_around`: the parent's
 * count. */
static uint8_t components_of(const tide_snapshot *snapshot, const pattern *path,
                             const tide_scope_row *row, uint8_t n_around) {
    TIDE_ASSERT(n_around <= path->n);
    bool goes_on = n_around < path->n && component_fits(snapshot, &path->components[n_around], row);
    return goes_on ? (uint8_t)(n_around + 1) : n_around;
}

/* "step, forward, layer": some existing names, without repeats. */
static void list_names(const tide_snapshot *snapshot, char ret_list[LISTED_BYTES]) {
    uint32_t seen[LISTED_NAMES];
    size_t n_seen = 0;
    tide_text list = tide_text_in(ret_list, LISTED_BYTES);
    for (size_t i = 0; i < snapshot->n_scopes && n_seen < LISTED_NAMES; i++) {
        uint32_t name = snapshot->scopes[i].name;
        size_t j = 0;
        while (j < n_seen && seen[j] != name) {
            j++;
        }
        if (j == n_seen) {
            seen[n_seen++] = name;
            tide_text_add(&list, "%s%.24s", n_seen > 1 ? ", " : "",
                          tide_snapshot_text(snapshot, name));
        }
    }
}

static tide_status no_scope(const search *of) {
    char names[LISTED_BYTES];
    if (of->snapshot->n_scopes == 0) {
        return tide_fail(of->error, TIDE_INVALID,
                         "no scope '%s': the file has no scopes; give an event or a time",
                         of->text);
    }
    list_names(of->snapshot, names);
    return tide_fail(of->error, TIDE_INVALID, "no scope '%s' in the file; it has %s ...", of->text,
                     names);
}

/* The highest instant among the rows in the scopes and the rows right before them. */
static tide_status highest_within(const search *of, const pattern *path, const uint8_t *matched,
                                  const int64_t *changes, int64_t *ret_event) {
    const tide_snapshot *snapshot = of->snapshot;
    int64_t now = changes[0];
    int64_t highest = -1;
    bool was_inside = false;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event row = tide_event_at(snapshot, i);
        bool inside =
            row.device == of->device && row.scope != TIDE_NONE && matched[row.scope] == path->n;
        if (inside && !was_inside && now > highest) {
            highest = now;
            *ret_event = (int64_t)i - 1;
        }
        now += changes[i + 1];
        if (inside && now > highest) {
            highest = now;
            *ret_event = (int64_t)i;
        }
        was_inside = row.device == of->device ? inside : was_inside;
    }
    if (highest < 0) {
        return tide_fail(of->error, TIDE_INVALID, "no event of device %zu is in the scope '%s'",
                         of->device, of->text);
    }
    return TIDE_OK;
}

static tide_status find_scope(const search *of, int64_t *ret_event) {
    const tide_snapshot *snapshot = of->snapshot;
    const tide_hostmem *mem = of->lifetimes->mem;
    pattern path;
    TIDE_TRY(read_pattern(of, &path));
    uint8_t *matched = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*matched));
    int64_t *changes = tide_lifetimes_changes(of->lifetimes, snapshot->n_events, of->device, false);
    tide_status status = TIDE_NO_MEMORY;
    if (matched != NULL && changes != NULL) {
        bool any = false;
        for (size_t i = 0; i < snapshot->n_scopes; i++) {
            const tide_scope_row *row = &snapshot->scopes[i];
            uint8_t n_around = row->parent == TIDE_NONE ? 0 : matched[row->parent];
            matched[i] = components_of(snapshot, &path, row, n_around);
            any = any || matched[i] == path.n;
        }
        status = any ? highest_within(of, &path, matched, changes, ret_event) : no_scope(of);
    }
    mem->release(mem->ctx, matched);
    mem->release(mem->ctx, changes);
    return status;
}

/* ---- events and times ---- */

static tide_status find_event(const search *of, int64_t event, int64_t *ret_event) {
    size_t n = of->snapshot->n_events;
    if (event < 0 || (uint64_t)event >= n) {
        return n == 0
                   ? tide_fail(of->error, TIDE_INVALID, "no event %s: the file has none", of->text)
                   : tide_fail(of->error, TIDE_INVALID, "no event %s: the file has 0 to %zu",
                               of->text, n - 1);
    }
    *ret_event = event;
    return TIDE_OK;
}

static tide_status find_time(const search *of, double ns, int64_t *ret_event) {
    const tide_snapshot *snapshot = of->snapshot;
    int64_t last_ns = 0;
    int64_t found = -1;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        int64_t time_ns = snapshot->events.time_ns[i];
        last_ns = time_ns > last_ns ? time_ns : last_ns;
        found = (double)time_ns <= ns ? (int64_t)i : found;
    }
    if (last_ns == 0) {
        return tide_fail(of->error, TIDE_INVALID,
                         "no time %s: the events of this file have none; give an event or a scope",
                         of->text);
    }
    if (ns > (double)last_ns) {
        return tide_fail(of->error, TIDE_INVALID, "no time %s: the last event is at %.6f ms",
                         of->text, (double)last_ns * 1e-6);
    }
    *ret_event = found;
    return TIDE_OK;
}

/* Nanoseconds of a unit; 0: not a unit of time. */
static double unit_ns(const char *unit) {
    static const struct {
        const char *name;
        double ns;
    } UNITS[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1.0}};
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(unit, UNITS[i].name) == 0) {
            return UNITS[i].ns;
        }
    }
    return 0.0;
}

static tide_status find_number(const search *of, int64_t *ret_event) {
    char *end = NULL;
    int64_t event = strtoll(of->text, &end, 10);
    if (*end == '\0') {
        return find_event(of, event, ret_event);
    }
    double value = strtod(of->text, &end);
    double ns = unit_ns(after_blanks(end));
    if (ns == 0.0 || !isfinite(value)) {
        return tide_fail(
            of->error, TIDE_INVALID,
            "'%s' is no instant: a time needs a unit of s, ms, us or ns, an event is a "
            "whole number",
            of->text);
    }
    return find_time(of, value * ns, ret_event);
}

tide_status tide_instant_find(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, const char *text, int64_t *ret_event,
                              tide_error *error) {
    const search of = {snapshot, lifetimes, device, text, error};
    if (strcmp(text, "start") == 0) {
        *ret_event = -1;
        return TIDE_OK;
    }
    if (strcmp(text, "peak") == 0) {
        *ret_event = lifetimes->devices[device].max[TIDE_MAX_ALLOCATED].event;
        return TIDE_OK;
    }
    if (strcmp(text, "end") == 0) {
        *ret_event = (int64_t)snapshot->n_events - 1;
        return TIDE_OK;
    }
    if (strcmp(text, "oom") == 0) {
        for (size_t i = 0; i < snapshot->n_events; i++) {
            if (snapshot->events.action[i] == TIDE_ACTION_OOM &&
                snapshot->events.device[i] == device) {
                *ret_event = (int64_t)i;
                return TIDE_OK;
            }
        }
        return tide_fail(error, TIDE_INVALID, "memory never ran out on device %zu", device);
    }
    return isdigit((unsigned char)text[0]) ? find_number(&of, ret_event)
                                           : find_scope(&of, ret_event);
}
