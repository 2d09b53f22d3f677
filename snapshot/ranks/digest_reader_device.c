/* One device of a digest. */
#include "snapshot/ranks/digest_reader_internal.h"

enum { MOST_ROWS = 4096 };

static void read_row(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_TEXT_AT("line", tide_digest_row, line),
        TIDE_DIGEST_NUMBER_AT("bytes", tide_digest_row, bytes),
        TIDE_DIGEST_NUMBER_AT("n_blocks", tide_digest_row, n_blocks),
        TIDE_DIGEST_TEXT_AT("category", tide_digest_row, category),
        TIDE_DIGEST_TEXT_AT("certainty", tide_digest_row, certainty),
        TIDE_DIGEST_TEXT_AT("scope", tide_digest_row, scope),
    };
    enum { LINE_BYTES_BLOCKS = 7 };
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), LINE_BYTES_BLOCKS, row);
}

static void read_rows(tide_digest_reader *in, void *to) {
    static const tide_digest_row EMPTY = {"", "", "", "", 0, 0};
    tide_digest_device *device = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_ROWS, &EMPTY, read_row, NULL, 0};
    tide_digest_read_list(in, &rows);
    device->rows = rows.rows;
    device->n_rows = rows.n;
}

static void read_step(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("index", tide_digest_step, index),
        TIDE_DIGEST_NUMBER_AT("allocated_peak_bytes", tide_digest_step, allocated_peak_bytes),
        TIDE_DIGEST_NUMBER_AT("reserved_peak_bytes", tide_digest_step, reserved_peak_bytes),
        TIDE_DIGEST_NUMBER_AT("end_bytes", tide_digest_step, end_bytes),
        TIDE_DIGEST_NUMBER_AT("n_steps", tide_digest_step, n_steps),
        TIDE_DIGEST_TEXT_AT("name", tide_digest_step, name),
        TIDE_DIGEST_NUMBER_AT("begin_ns", tide_digest_step, begin_ns),
        TIDE_DIGEST_NUMBER_AT("end_ns", tide_digest_step, end_ns),
    };
    enum { FIGURES = 15 };
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), FIGURES, row);
}

static void read_steps(tide_digest_reader *in, void *to) {
    static const tide_digest_step EMPTY = {-1, 1, "", -1, -1, -1, -1, -1};
    tide_digest_device *device = to;
    tide_digest_list rows = {sizeof(EMPTY), MOST_ROWS, &EMPTY, read_step, NULL, 0};
    tide_digest_read_list(in, &rows);
    device->steps = rows.rows;
    device->n_steps = rows.n;
}

/* One column of the timeline, into the member at `offset` of each point. */
static void read_column(tide_digest_reader *in, tide_digest_device *device, size_t offset) {
    size_t n = 0;
    tide_json_enter_array(&in->json);
    while (tide_json_next_item(&in->json)) {
        if (n == TIDE_DIGEST_POINTS) {
            tide_json_fail(&in->json, TIDE_LIMIT, in->json.at, "more than the limit of %d of them",
                           (int)TIDE_DIGEST_POINTS);
            return;
        }
        char *point = (char *)&device->points[n++];
        *(int64_t *)(void *)(point + offset) =
            tide_json_get_integer(&in->json, -TIDE_DIGEST_MOST_NUMBER, TIDE_DIGEST_MOST_NUMBER);
    }
    if (device->n_points != SIZE_MAX && device->n_points != n) {
        tide_json_fail(&in->json, TIDE_FORMAT, in->json.at, "columns of different lengths");
    }
    device->n_points = n;
}

static void read_timeline(tide_digest_reader *in, void *to) {
    static const char *const KEYS[] = {"begin_unix_us", "time_ns", "allocated_bytes",
                                       "reserved_bytes"};
    static const size_t OFFSETS[] = {0, offsetof(tide_digest_point, time_ns),
                                     offsetof(tide_digest_point, allocated_bytes),
                                     offsetof(tide_digest_point, reserved_bytes)};
    tide_digest_point points[TIDE_DIGEST_POINTS];
    tide_digest_device *device = to;
    int at = -1;
    device->points = points;
    device->n_points = SIZE_MAX;
    tide_json_enter_object(&in->json);
    while ((at = tide_json_next_field(&in->json, KEYS, TIDE_N_OF(KEYS), 14)) >= 0) {
        if (at == 0) {
            device->timeline_begin_unix_us =
                tide_json_get_integer(&in->json, -TIDE_DIGEST_MOST_NUMBER, TIDE_DIGEST_MOST_NUMBER);
        } else {
            read_column(in, device, OFFSETS[at]);
        }
    }
    device->n_points = tide_json_status(&in->json) == TIDE_OK ? device->n_points : 0;
    device->points = tide_arena_copy(in->arena, points, device->n_points, sizeof(points[0]));
    if (device->points == NULL) {
        device->n_points = 0;
        tide_json_fail(&in->json, TIDE_NO_MEMORY, in->json.at, "no memory for these rows");
    }
}

static void read_counts(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("events", tide_digest_device, n_events),
        TIDE_DIGEST_NUMBER_AT("dropped", tide_digest_device, n_dropped)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): a member's name cannot be in parentheses. */
#define BYTES_AT(member)                                                                           \
    TIDE_DIGEST_NUMBER_AT("requested_bytes", tide_digest_device, member.requested_bytes),          \
        TIDE_DIGEST_NUMBER_AT("allocated_bytes", tide_digest_device, member.allocated_bytes),      \
        TIDE_DIGEST_NUMBER_AT("active_bytes", tide_digest_device, member.active_bytes),            \
        TIDE_DIGEST_NUMBER_AT("reserved_bytes", tide_digest_device, member.reserved_bytes)
/* NOLINTEND(bugprone-macro-parentheses) */
enum { FOUR_BYTES = 15 };

static void read_peak(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        BYTES_AT(peak.bytes), TIDE_DIGEST_NUMBER_AT("event", tide_digest_device, peak.event),
        TIDE_DIGEST_NUMBER_AT("time_ns", tide_digest_device, peak.time_ns),
        TIDE_DIGEST_NUMBER_AT("step", tide_digest_device, peak.step),
        TIDE_DIGEST_TEXT_AT("phase", tide_digest_device, peak.phase)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), FOUR_BYTES, to);
}

static void read_max(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {BYTES_AT(max)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), FOUR_BYTES, to);
}

static void read_end(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {BYTES_AT(end)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), FOUR_BYTES, to);
}

static void read_oom(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("event", tide_digest_device, oom.event),
        TIDE_DIGEST_NUMBER_AT("time_ns", tide_digest_device, oom.time_ns),
        TIDE_DIGEST_NUMBER_AT("requested_bytes", tide_digest_device, oom.requested_bytes),
        TIDE_DIGEST_NUMBER_AT("free_bytes", tide_digest_device, oom.free_bytes),
        TIDE_DIGEST_TEXT_AT("line", tide_digest_device, oom.line)};
    if (tide_json_peek(&in->json) == TIDE_JSON_NULL) {
        tide_json_skip(&in->json);
    } else {
        tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 1, to);
    }
}

static void read_growth(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("bytes_per_step", tide_digest_device, growth.bytes_per_step),
        TIDE_DIGEST_NUMBER_AT("since_step", tide_digest_device, growth.since_step),
        TIDE_DIGEST_TEXT_AT("line", tide_digest_device, growth.line)};
    tide_digest_device *device = to;
    if (tide_json_peek(&in->json) == TIDE_JSON_NULL) {
        tide_json_skip(&in->json);
    } else {
        device->growth.is_known = true;
        tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 1, to);
    }
}

static void read_rest(tide_digest_reader *in, void *to) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("bytes", tide_digest_device, rest.bytes),
        TIDE_DIGEST_NUMBER_AT("n_blocks", tide_digest_device, rest.n_blocks),
        TIDE_DIGEST_NUMBER_AT("n_rows", tide_digest_device, rest.n_rows)};
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), 0, to);
}

void tide_digest_read_device(tide_digest_reader *in, void *row) {
    static const tide_digest_field FIELDS[] = {
        TIDE_DIGEST_NUMBER_AT("index", tide_digest_device, index),
        TIDE_DIGEST_PART_AT("peak", read_peak),
        TIDE_DIGEST_PART_AT("max", read_max),
        TIDE_DIGEST_PART_AT("end", read_end),
        TIDE_DIGEST_TEXT_AT("kind", tide_digest_device, kind),
        TIDE_DIGEST_TEXT_AT("name", tide_digest_device, name),
        TIDE_DIGEST_NUMBER_AT("total_bytes", tide_digest_device, total_bytes),
        TIDE_DIGEST_PART_AT("counts", read_counts),
        TIDE_DIGEST_NUMBER_AT("headroom_bytes", tide_digest_device, headroom_bytes),
        TIDE_DIGEST_NUMBER_AT("low_bytes", tide_digest_device, low_bytes),
        TIDE_DIGEST_NUMBER_AT("high_bytes", tide_digest_device, high_bytes),
        TIDE_DIGEST_NUMBER_AT("reserved_low_bytes", tide_digest_device, reserved_low_bytes),
        TIDE_DIGEST_NUMBER_AT("reserved_high_bytes", tide_digest_device, reserved_high_bytes),
        TIDE_DIGEST_PART_AT("oom", read_oom),
        TIDE_DIGEST_PART_AT("growth", read_growth),
        TIDE_DIGEST_PART_AT("rows", read_rows),
        TIDE_DIGEST_PART_AT("rest", read_rest),
        TIDE_DIGEST_PART_AT("steps", read_steps),
        TIDE_DIGEST_PART_AT("timeline", read_timeline),
    };
    enum { INDEX_PEAK_MAX_END = 15 };
    tide_digest_read_fields(in, FIELDS, TIDE_N_OF(FIELDS), INDEX_PEAK_MAX_END, row);
}
