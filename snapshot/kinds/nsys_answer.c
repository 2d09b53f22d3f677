/* What an export of Nsight Systems says about memory: `nsys export --type sqlite` of a report that
 * was recorded with --cuda-memory-usage=true has a table of CUDA's allocations and releases.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "snapshot/kinds/file_answer_internal.h"
#include "snapshot/kinds/sqlite_table.h"

#define TABLE "CUDA_GPU_MEMORY_USAGE_EVENTS"
#define BYTES(n) tide_bytes_format((n), (char[TIDE_BYTES_TEXT]){""})
#define MOST_SUM (INT64_C(1) << 60)

enum {
    MOST_DEVICES = 64,
    MOST_EVENTS = 100000000,
    NS_PER_MS = 1000000,
    /* ENUM_CUDA_DEV_MEM_EVENT_OPER and ENUM_CUDA_MEM_KIND of the export. */
    OPERATION_ALLOCATION = 0,
    OPERATION_RELEASE = 1,
    KIND_DEVICE = 2,
    KIND_ARRAY = 3,
    KIND_DEVICE_STATIC = 5
};

typedef struct memory_event {
    int64_t time_ns;
    int64_t bytes; /* below 0: released */
    size_t number; /* in the table: the order of events of one time */
    uint32_t device;
} memory_event;

typedef struct reading {
    const tide_hostmem *mem;                  /* borrowed */
    int time, device, bytes, kind, operation; /* columns */
    memory_event *events;                     /* owned */
    size_t n_events, room;
} reading;

static tide_status add_event(void *ctx, const tide_sqlite_row *row) {
    reading *of = ctx;
    int64_t time_ns = 0;
    int64_t device = 0;
    int64_t bytes = 0;
    int64_t kind = KIND_DEVICE;
    int64_t operation = -1;
    (void)tide_sqlite_integer(row, of->kind, &kind);
    (void)tide_sqlite_integer(row, of->device, &device);
    if (!tide_sqlite_integer(row, of->time, &time_ns) ||
        !tide_sqlite_integer(row, of->bytes, &bytes) ||
        !tide_sqlite_integer(row, of->operation, &operation) || time_ns < 0 || bytes < 0 ||
        bytes > INT64_C(1) << 50 || device < 0 || device >= MOST_DEVICES ||
        (operation != OPERATION_ALLOCATION && operation != OPERATION_RELEASE) ||
        (kind != KIND_DEVICE && kind != KIND_ARRAY && kind != KIND_DEVICE_STATIC)) {
        return TIDE_OK;
    }
    memory_event *grown =
        of->n_events < MOST_EVENTS
            ? tide_hostmem_grow(of->mem, of->events, &of->room, of->n_events + 1, sizeof(*grown))
            : NULL;
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->events = grown;
    of->events[of->n_events] =
        (memory_event){.time_ns = time_ns,
                       .bytes = operation == OPERATION_ALLOCATION ? bytes : -bytes,
                       .number = of->n_events,
                       .device = (uint32_t)device};
    of->n_events++;
    return TIDE_OK;
}

static int by_time(const void *a, const void *b) {
    const memory_event *left = a;
    const memory_event *right = b;
    if (left->time_ns != right->time_ns) {
        return left->time_ns < right->time_ns ? -1 : 1;
    }
    return (left->number > right->number) - (left->number < right->number);
}

/* Returns the highest sum. */
static int64_t say_device(tide_file_answer *answer, const reading *of, uint32_t device) {
    int64_t sum = 0;
    int64_t peak = 0;
    int64_t peak_ns = 0;
    int64_t largest = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < of->n_events; i++) {
        const memory_event *event = &of->events[i];
        if (event->device != device || sum > MOST_SUM || sum < -MOST_SUM) {
            continue;
        }
        sum += event->bytes;
        n += event->bytes > 0;
        largest = event->bytes > largest ? event->bytes : largest;
        if (sum > peak) {
            peak = sum;
            peak_ns = event->time_ns;
        }
    }
    if (n > 0) {
        tide_file_answer_say(
            answer, "filled",
            "On GPU %" PRIu32 ", calls of CUDA had allocated at most %s, %.3f ms "
            "after the first such call of the report; the largest of %" PRIu64 " %s has %s.",
            device, BYTES(peak), (double)(peak_ns - of->events[0].time_ns) / NS_PER_MS, n,
            tide_plural(n, "allocation", "allocations"), BYTES(largest));
    }
    return peak;
}

static void say_report(tide_file_answer *answer, reading *of) {
    static const tide_traceback NOTHING;
    int64_t highest = -1;
    uint32_t highest_device = 0;
    TIDE_ASSERT(of->events != NULL); /* read_table has found some */
    qsort(of->events, of->n_events, sizeof(*of->events), by_time);
    for (uint32_t device = 0; device < MOST_DEVICES; device++) {
        int64_t peak = say_device(answer, of, device);
        if (peak > highest) {
            highest = peak;
            highest_device = device;
        }
    }
    tide_file_answer_figure(answer, "device", highest_device);
    tide_file_answer_figure(answer, "reserved_peak_bytes", highest);
    tide_file_answer_say_record(
        answer, &NOTHING, TIDE_FILE_CUDA, "a report of Nsight Systems",
        "which lines allocated the memory, and what a framework's allocator made of it, such as "
        "PyTorch, whose calls of CUDA are for segments and not for tensors");
}

static tide_status read_table(reading *of, tide_sqlite *sqlite, const char *path,
                              tide_error *error) {
    bool found = false;
    TIDE_TRY(tide_sqlite_find(sqlite, TABLE, &found, error));
    of->time = tide_sqlite_column(sqlite, "start");
    of->device = tide_sqlite_column(sqlite, "deviceId");
    of->bytes = tide_sqlite_column(sqlite, "bytes");
    of->kind = tide_sqlite_column(sqlite, "memKind");
    of->operation = tide_sqlite_column(sqlite, "memoryOperationType");
    if (found && of->time >= 0 && of->bytes >= 0 && of->operation >= 0) {
        TIDE_TRY(tide_sqlite_each(sqlite, add_event, of, error));
    }
    return of->events != NULL && of->n_events > 0
               ? TIDE_OK
               : tide_fail(error, TIDE_FORMAT,
                           "'%s' is an SQLite database without events of GPU memory: `nsys profile "
                           "--cuda-memory-usage=true` records them in " TABLE "; for call stacks, "
                           "record the program with `tidemark run`",
                           path);
}

tide_status tide_file_answer_nsys(tide_file_answer *answer, const char *path, tide_error *error) {
    tide_sqlite *sqlite = NULL;
    reading of = {.mem = answer->arena.mem};
    TIDE_TRY(tide_sqlite_open(path, of.mem, &sqlite, error));
    tide_status status = read_table(&of, sqlite, path, error);
    if (status == TIDE_OK) {
        say_report(answer, &of);
    }
    of.mem->release(of.mem->ctx, of.events);
    tide_sqlite_close(sqlite);
    return status;
}
