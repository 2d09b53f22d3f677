/* What a trace of torch.profiler says about memory: the instants "[memory]" and "[OutOfMemory]" in
 * it, if profile_memory=True was given. A trace may be of any size and may hold what strict JSON
 * forbids, so the objects of its events are looked at as text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "snapshot/kinds/file_answer_internal.h"

enum {
    EVENT_BYTES = 4096, /* of the text of an event; those looked for have about 300 */
    MOST_DEVICES = 32,
    PART_BYTES = 64 * 1024,
    TYPE_PROCESSOR = 0,
    TYPE_CUDA = 1,
    TYPE_ROCM = 20
};

#define BYTES(n) tide_bytes_format((n), (char[TIDE_BYTES_TEXT]){""})

typedef struct device {
    int64_t type, number; /* as PyTorch numbers them */
    uint64_t n_events, n_allocations;
    int64_t largest_bytes; /* of an allocation */
    int64_t sum_bytes;     /* of all so far, for traces without totals */
    double first_us, peak_us;
    int64_t peak_bytes, peak_reserved_bytes; /* of one instant; reserved -1: unknown */
    uint64_t n_failed;
    int64_t failed_bytes; /* of the first failed request; -1: unknown */
    bool has_totals;
} device;

typedef struct trace {
    device devices[MOST_DEVICES];
    size_t n_devices;
    size_t depth, list_depth; /* of braces: now, and where an event begins */
    bool is_text, is_escaped; /* inside of a text */
    size_t n_event;           /* bytes of the current one, also those without room */
    char event[EVENT_BYTES + 1];
    char part[PART_BYTES];
} trace;

/* The number of a key in an event; false: it has no such number. */
static bool number_of(const char *event, const char *key, double *ret_number) {
    const char *found = strstr(event, key);
    char *end = NULL;
    if (found == NULL) {
        return false;
    }
    const char *value = found + strlen(key);
    value += strspn(value, " :");
    double number = strtod(value, &end);
    if (end == value || number != number || number > 0x1p62 || number < -0x1p62) {
        return false;
    }
    *ret_number = number;
    return true;
}

static int64_t integer_of(const char *event, const char *key, int64_t unknown) {
    double number = 0;
    return number_of(event, key, &number) ? (int64_t)number : unknown;
}

static device *device_of(trace *of, int64_t type, int64_t number) {
    for (size_t i = 0; i < of->n_devices; i++) {
        if (of->devices[i].type == type && of->devices[i].number == number) {
            return &of->devices[i];
        }
    }
    if (of->n_devices == MOST_DEVICES) {
        return NULL;
    }
    of->devices[of->n_devices] =
        (device){.type = type, .number = number, .peak_bytes = -1, .failed_bytes = -1};
    return &of->devices[of->n_devices++];
}

static void add_memory(device *to, const char *event) {
    int64_t bytes = integer_of(event, "\"Bytes\"", 0);
    double time_us = 0;
    (void)number_of(event, "\"ts\"", &time_us);
    to->first_us = to->n_events++ == 0 ? time_us : to->first_us;
    to->n_allocations += bytes > 0;
    to->largest_bytes = bytes > to->largest_bytes ? bytes : to->largest_bytes;
    if (bytes < INT64_C(1) << 60 && bytes > -(INT64_C(1) << 60) &&
        to->sum_bytes < INT64_C(1) << 61 && to->sum_bytes > -(INT64_C(1) << 61)) {
        to->sum_bytes += bytes;
    }
    int64_t total = integer_of(event, "\"Total Allocated\"", -1);
    to->has_totals |= total > 0;
    if (total < 0 || !to->has_totals) {
        total = to->sum_bytes;
    }
    if (total > to->peak_bytes) {
        to->peak_bytes = total;
        to->peak_us = time_us;
        to->peak_reserved_bytes = integer_of(event, "\"Total Reserved\"", -1);
    }
}

static void read_event(trace *of) {
    const char *event = of->event;
    of->event[of->n_event < EVENT_BYTES ? of->n_event : EVENT_BYTES] = '\0';
    bool is_memory = strstr(event, "\"[memory]\"") != NULL;
    bool is_failure = strstr(event, "\"[OutOfMemory]\"") != NULL;
    if (!is_memory && !is_failure) {
        return;
    }
    device *to = device_of(of, integer_of(event, "\"Device Type\"", TYPE_CUDA),
                           integer_of(event, "\"Device Id\"", 0));
    if (to != NULL && is_memory) {
        add_memory(to, event);
    } else if (to != NULL) {
        to->failed_bytes =
            to->n_failed == 0 ? integer_of(event, "\"Bytes\"", -1) : to->failed_bytes;
        to->n_failed++;
    }
}

static void read_character(trace *of, char c) {
    bool is_inside = of->depth > of->list_depth;
    if (!of->is_text && c == '{') {
        if (of->depth++ == of->list_depth) {
            of->n_event = 0;
            is_inside = true;
        }
    }
    if (is_inside && of->n_event < EVENT_BYTES) {
        of->event[of->n_event++] = c == '\0' ? ' ' : c;
    }
    if (of->is_text) {
        of->is_text = of->is_escaped || c != '"';
        of->is_escaped = !of->is_escaped && c == '\\';
    } else if (c == '"') {
        of->is_text = true;
        of->is_escaped = false;
    } else if (c == '}' && of->depth > 0 && --of->depth == of->list_depth) {
        read_event(of);
    }
}

static tide_status read_trace(trace *of, const tide_source *source, tide_error *error) {
    size_t n_bytes = 1;
    bool is_first = true;
    while (n_bytes > 0) {
        TIDE_TRY(source->read(source->ctx, of->part, PART_BYTES, &n_bytes, error));
        for (size_t i = 0; i < n_bytes; i++) {
            if (is_first && strchr(" \t\r\n", of->part[i]) == NULL) {
                of->list_depth = of->part[i] == '[' ? 0 : 1; /* a list, or an object with one */
                is_first = false;
            }
            read_character(of, of->part[i]);
        }
    }
    return TIDE_OK;
}

/* "GPU 0"; the host has no number. */
static void add_device(const device *of, tide_text *to) {
    if (of->type == TYPE_PROCESSOR) {
        tide_text_add(to, "the host");
    } else if (of->type == TYPE_CUDA || of->type == TYPE_ROCM) {
        tide_text_add(to, "GPU %" PRId64, of->number);
    } else {
        tide_text_add(to, "device %" PRId64 " of type %" PRId64, of->number, of->type);
    }
}

static void say_device(tide_file_answer *answer, const device *of) {
    char name[64];
    tide_text text = tide_text_in(name, sizeof(name));
    add_device(of, &text);
    if (of->n_failed > 0 && of->failed_bytes >= 0) {
        tide_file_answer_say(answer, "oom",
                             "On %s, %" PRIu64 " %s found no memory; the first asked for %s.", name,
                             of->n_failed, tide_plural(of->n_failed, "request", "requests"),
                             BYTES(of->failed_bytes));
    }
    if (of->n_events == 0) {
        return;
    }
    char reserved[TIDE_SENTENCE_BYTES] = "";
    text = tide_text_in(reserved, sizeof(reserved));
    if (of->peak_reserved_bytes > 0) {
        tide_text_add(&text, ", of %s reserved", BYTES(of->peak_reserved_bytes));
    }
    tide_file_answer_say(answer, "filled",
                         "%s of %s was %s%s, %.3f ms after its first event in the trace; the "
                         "largest of its %" PRIu64 " %s has %s.",
                         of->has_totals ? "The highest allocated memory"
                                        : "The highest sum of the traced allocations",
                         name, BYTES(of->peak_bytes), reserved, (of->peak_us - of->first_us) / 1000,
                         of->n_allocations,
                         tide_plural(of->n_allocations, "allocation", "allocations"),
                         BYTES(of->largest_bytes));
}

static void say_trace(tide_file_answer *answer, const trace *of) {
    static const tide_traceback NOTHING;
    const device *highest = NULL;
    for (int is_processor = 0; is_processor < 2; is_processor++) {
        for (size_t i = 0; i < of->n_devices; i++) {
            const device *each = &of->devices[i];
            if ((each->type == TYPE_PROCESSOR) == (is_processor == 1)) {
                say_device(answer, each);
                bool is_higher = highest == NULL || (each->type != TYPE_PROCESSOR &&
                                                     each->peak_bytes > highest->peak_bytes);
                highest = is_higher ? each : highest;
            }
        }
    }
    if (highest != NULL && highest->type != TYPE_PROCESSOR) {
        tide_file_answer_figure(answer, "device", highest->number);
        tide_file_answer_figure(answer, "ooms", (int64_t)highest->n_failed);
    }
    if (highest != NULL) {
        tide_file_answer_figure(answer, "allocated_peak_bytes", highest->peak_bytes);
    }
    tide_file_answer_say_record(answer, &NOTHING, TIDE_FILE_CUDA, "a trace",
                                "which lines allocated the memory, and whether anything grows");
}

tide_status tide_file_answer_trace(tide_file_answer *answer, const tide_source *source,
                                   const char *path, tide_error *error) {
    const tide_hostmem *mem = answer->arena.mem;
    trace *of = tide_hostmem_zeroed(mem, 1, sizeof(*of));
    if (of == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_status status = read_trace(of, source, error);
    if (status == TIDE_OK && of->n_devices == 0) {
        status = tide_fail(error, TIDE_FORMAT,
                           "'%s' is a trace of a profiler without events about memory: "
                           "torch.profiler.profile(profile_memory=True) records allocations and "
                           "totals; for call stacks, record the program "
                           "with `tidemark run`",
                           path);
    } else if (status == TIDE_OK) {
        say_trace(answer, of);
    }
    mem->release(mem->ctx, of);
    return status;
}
