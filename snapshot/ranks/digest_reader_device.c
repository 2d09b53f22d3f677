/* One device of a digest. */
#include <inttypes.h>

#include "snapshot/ranks/digest_reader_internal.h"

enum { MOST_ROWS = 4096, MOST_FACTS = 64 };

void tide_digest_read_device_counts(tide_digest_reader *in, void *device) {
    tide_digest_read_object(in, &tide_digest_readable_counts, device);
}

void tide_digest_read_device_peak(tide_digest_reader *in, void *device) {
    tide_digest_read_object(in, &tide_digest_readable_peak, device);
}

void tide_digest_read_device_max(tide_digest_reader *in, void *device) {
    tide_digest_read_object(in, &tide_digest_readable_max, device);
}

void tide_digest_read_device_end(tide_digest_reader *in, void *device) {
    tide_digest_read_object(in, &tide_digest_readable_end, device);
}

void tide_digest_read_device_oom(tide_digest_reader *in, void *device) {
    if (tide_json_peek(&in->json) == TIDE_JSON_NULL) {
        tide_json_skip(&in->json);
    } else {
        tide_digest_read_object(in, &tide_digest_readable_oom, device);
    }
}

void tide_digest_read_device_explained(tide_digest_reader *in, void *to) {
    if (tide_json_peek(&in->json) == TIDE_JSON_NULL) {
        tide_json_skip(&in->json);
    } else {
        ((tide_digest_device *)to)->explained.is_known = true;
        tide_digest_read_object(in, &tide_digest_readable_explained, to);
    }
}

void tide_digest_read_explained_version(tide_digest_reader *in, void *to) {
    (void)to;
    (void)tide_json_get_integer(&in->json, 1, INT64_MAX); /* newer ones have more keys */
}

void tide_digest_read_explained_failure(tide_digest_reader *in, void *to) {
    if (tide_json_peek(&in->json) == TIDE_JSON_NULL) {
        tide_json_skip(&in->json);
    } else {
        tide_digest_read_object(in, &tide_digest_readable_failure,
                                &((tide_digest_device *)to)->explained.failure);
    }
}

void tide_digest_read_explained_growth(tide_digest_reader *in, void *to) {
    static const tide_digest_growth EMPTY = {"", "", "", 0, -1, -1};
    tide_digest_explained *of = &((tide_digest_device *)to)->explained;
    tide_digest_list rows = {
        &tide_digest_readable_growth, sizeof(EMPTY), MOST_FACTS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    of->growth = rows.rows;
    of->n_growth = rows.n;
}

void tide_digest_read_explained_causes(tide_digest_reader *in, void *to) {
    static const tide_digest_cause EMPTY = {"", -1, ""};
    tide_digest_explained *of = &((tide_digest_device *)to)->explained;
    tide_digest_list rows = {
        &tide_digest_readable_cause, sizeof(EMPTY), MOST_FACTS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    of->causes = rows.rows;
    of->n_causes = rows.n;
}

void tide_digest_read_explained_sentences(tide_digest_reader *in, void *to) {
    static const tide_digest_sentence EMPTY = {"", ""};
    tide_digest_explained *of = &((tide_digest_device *)to)->explained;
    tide_digest_list rows = {
        &tide_digest_readable_sentence, sizeof(EMPTY), MOST_FACTS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    of->sentences = rows.rows;
    of->n_sentences = rows.n;
}

void tide_digest_read_device_rows(tide_digest_reader *in, void *to) {
    static const tide_digest_row EMPTY = {"", "", "", "", 0, 0};
    tide_digest_device *device = to;
    tide_digest_list rows = {&tide_digest_readable_row, sizeof(EMPTY), MOST_ROWS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    device->rows = rows.rows;
    device->n_rows = rows.n;
}

void tide_digest_read_device_rest(tide_digest_reader *in, void *device) {
    tide_digest_read_object(in, &tide_digest_readable_rest, device);
}

void tide_digest_read_device_steps(tide_digest_reader *in, void *to) {
    static const tide_digest_step EMPTY = {-1, 1, "", -1, -1, -1, -1, -1};
    tide_digest_device *device = to;
    tide_digest_list rows = {&tide_digest_readable_step, sizeof(EMPTY), MOST_ROWS, &EMPTY, NULL, 0};
    tide_digest_read_list(in, &rows);
    device->steps = rows.rows;
    device->n_steps = rows.n;
}

static void check_time(tide_digest_reader *in, size_t at, int64_t before_ns, int64_t time_ns) {
    if (time_ns < before_ns) {
        tide_json_fail(&in->json, TIDE_FORMAT, at,
                       "%" PRId64 " ns is before the point before it, %" PRId64 " ns", time_ns,
                       before_ns);
    }
}

/* One column of the timeline, into the member at `offset` of each point. */
static void read_column(tide_digest_reader *in, void *to, size_t offset) {
    tide_digest_device *device = to;
    size_t n = 0;
    tide_json_enter_array(&in->json);
    while (tide_json_next_item(&in->json)) {
        if (n == TIDE_DIGEST_POINTS) {
            tide_json_fail(&in->json, TIDE_LIMIT, in->json.at, "more than the limit of %d of them",
                           (int)TIDE_DIGEST_POINTS);
            return;
        }
        (void)tide_json_peek(&in->json); /* the value begins where the parser then stands */
        size_t at = in->json.at;
        char *point = (char *)&device->points[n++];
        int64_t number = tide_json_get_integer(&in->json, -1, TIDE_DIGEST_MOST_NUMBER);
        *(int64_t *)(void *)(point + offset) = number;
        if (offset == offsetof(tide_digest_point, time_ns) && n > 1) {
            check_time(in, at, device->points[n - 2].time_ns, number);
        }
    }
    if (device->n_points != SIZE_MAX && device->n_points != n) {
        tide_json_fail(&in->json, TIDE_FORMAT, in->json.at, "columns of different lengths");
    }
    device->n_points = n;
}

void tide_digest_read_timeline_time_ns(tide_digest_reader *in, void *device) {
    read_column(in, device, offsetof(tide_digest_point, time_ns));
}

void tide_digest_read_timeline_allocated_bytes(tide_digest_reader *in, void *device) {
    read_column(in, device, offsetof(tide_digest_point, allocated_bytes));
}

void tide_digest_read_timeline_reserved_bytes(tide_digest_reader *in, void *device) {
    read_column(in, device, offsetof(tide_digest_point, reserved_bytes));
}

void tide_digest_read_device_timeline(tide_digest_reader *in, void *to) {
    tide_digest_point points[TIDE_DIGEST_POINTS];
    tide_digest_device *device = to;
    device->points = points;
    device->n_points = SIZE_MAX;
    tide_digest_read_object(in, &tide_digest_readable_timeline, device);
    device->n_points = tide_json_status(&in->json) == TIDE_OK ? device->n_points : 0;
    device->points = tide_arena_copy(in->arena, points, device->n_points, sizeof(points[0]));
    if (device->points == NULL) {
        device->n_points = 0;
        tide_json_fail(&in->json, TIDE_NO_MEMORY, in->json.at, "no memory for these rows");
    }
}
