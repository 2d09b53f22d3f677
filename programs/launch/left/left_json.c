/* Reads PID.json, which python/tidemark/program.py writes. */
#include <string.h>

#include "programs/launch/left/left_friend.h"

enum { MAX_DEVICES = 256, COMMAND_BYTES = 4096 };

#define MOST_AMOUNT 0x1p62

/* Where the parsed values go, and the key that is wrong. */
typedef struct reader {
    tide_arena *arena;
    tide_left *to;
    const char *key; /* for the message */
} reader;

static const cJSON *item(const cJSON *in, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(in, key);
}

/* Whether it is a number between 0 and `limit`, which a double holds. */
static bool is_amount(const cJSON *in, double limit) {
    return cJSON_IsNumber(in) && in->valuedouble >= 0 && in->valuedouble <= limit;
}

static int64_t integer(const cJSON *in, const char *key) {
    const cJSON *found = item(in, key);
    return is_amount(found, MOST_AMOUNT) ? (int64_t)found->valuedouble : -1;
}

static tide_status text(reader *read, const cJSON *in, const char *key, const char **ret) {
    const char *found = cJSON_GetStringValue(item(in, key));
    *ret = tide_arena_text(read->arena, found != NULL ? found : "");
    return *ret != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The arguments of its command line, joined by blanks and cut to fit. */
static tide_status read_command(reader *read, const cJSON *in) {
    char joined[COMMAND_BYTES] = "";
    size_t n_used = 0;
    const cJSON *argument = NULL;
    cJSON_ArrayForEach(argument, item(in, "command")) {
        const char *found = cJSON_GetStringValue(argument);
        size_t n = found != NULL ? strlen(found) : 0;
        if (n_used + n + 2 > sizeof(joined)) {
            break;
        }
        if (n_used > 0) {
            joined[n_used++] = ' ';
        }
        memcpy(joined + n_used, found != NULL ? found : "", n);
        n_used += n;
        joined[n_used] = '\0';
    }
    read->to->command = tide_arena_text(read->arena, joined);
    return read->to->command != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status read_peaks(reader *read, const cJSON *in) {
    const cJSON *list = item(in, "peaks");
    const cJSON *n_rows = item(in, "n_rows");
    int n = cJSON_GetArraySize(list);
    read->key = "peaks";
    if (n > MAX_DEVICES || cJSON_GetArraySize(n_rows) != n) {
        return TIDE_FORMAT;
    }
    tide_left_peak *peaks = tide_arena_alloc(read->arena, (size_t)n, sizeof(*peaks));
    if (peaks == NULL) {
        return TIDE_NO_MEMORY;
    }
    const cJSON *rows = n > 0 ? n_rows->child : NULL;
    const cJSON *peak = NULL;
    size_t i = 0;
    cJSON_ArrayForEach(peak, list) {
        if (rows == NULL || !is_amount(rows, MOST_AMOUNT)) {
            return TIDE_FORMAT;
        }
        const char *name = cJSON_GetStringValue(item(peak, "name"));
        peaks[i] = (tide_left_peak){.allocated_bytes = integer(peak, "allocated"),
                                    .reserved_bytes = integer(peak, "reserved"),
                                    .n_retries = integer(peak, "retries"),
                                    .n_oom = integer(peak, "out_of_memory"),
                                    .n_rows = (int64_t)rows->valuedouble,
                                    .total_bytes = integer(peak, "total"),
                                    .compute_capability = integer(peak, "capability")};
        peaks[i].name = tide_arena_text(read->arena, name != NULL ? name : "");
        if (peaks[i++].name == NULL) {
            return TIDE_NO_MEMORY;
        }
        rows = rows->next;
    }
    read->to->peaks = peaks;
    read->to->n_devices = (size_t)n;
    return TIDE_OK;
}

static tide_status read_mark(reader *read, const cJSON *in, tide_left_mark *ret) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(in, 0));
    const cJSON *counts = cJSON_GetArrayItem(in, 1);
    if (name == NULL || cJSON_GetArraySize(counts) != (int)read->to->n_devices) {
        return TIDE_FORMAT;
    }
    int64_t *rows = tide_arena_alloc(read->arena, read->to->n_devices, sizeof(*rows));
    ret->name = tide_arena_text(read->arena, name);
    if (rows == NULL || ret->name == NULL) {
        return TIDE_NO_MEMORY;
    }
    const cJSON *count = NULL;
    size_t i = 0;
    cJSON_ArrayForEach(count, counts) {
        if (!is_amount(count, MOST_AMOUNT)) {
            return TIDE_FORMAT;
        }
        rows[i++] = (int64_t)count->valuedouble;
    }
    ret->rows = rows;
    return TIDE_OK;
}

static tide_status read_marks(reader *read, const cJSON *in) {
    const cJSON *list = item(in, "marks");
    size_t n = (size_t)cJSON_GetArraySize(list);
    tide_left_mark *marks = tide_arena_alloc(read->arena, n, sizeof(*marks));
    read->key = "marks";
    if (marks == NULL) {
        return TIDE_NO_MEMORY;
    }
    const cJSON *mark = NULL;
    size_t i = 0;
    cJSON_ArrayForEach(mark, list) {
        TIDE_TRY(read_mark(read, mark, &marks[i++]));
    }
    read->to->marks = marks;
    read->to->n_marks = n;
    return TIDE_OK;
}

/* [device, row, address, category, name]. An address has at most 57 bits, of which a double keeps
 * 53: blocks begin at multiples of 512, so nothing is lost. */
static tide_status read_name(reader *read, const cJSON *in, tide_left_name *ret) {
    const cJSON *parts[5] = {NULL};
    const cJSON *part = NULL;
    size_t n = 0;
    cJSON_ArrayForEach(part, in) {
        if (n < 5) {
            parts[n++] = part;
        }
    }
    const char *category = n == 5 ? cJSON_GetStringValue(parts[3]) : NULL;
    const char *name = n == 5 ? cJSON_GetStringValue(parts[4]) : NULL;
    if (category == NULL || name == NULL || !is_amount(parts[0], MAX_DEVICES) ||
        !is_amount(parts[1], MOST_AMOUNT) || !is_amount(parts[2], MOST_AMOUNT)) {
        return TIDE_FORMAT;
    }
    *ret = (tide_left_name){.device = (size_t)parts[0]->valuedouble,
                            .row = (int64_t)parts[1]->valuedouble,
                            .address = (uint64_t)parts[2]->valuedouble,
                            .category = tide_arena_text(read->arena, category),
                            .name = tide_arena_text(read->arena, name)};
    return ret->category != NULL && ret->name != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status read_names(reader *read, const cJSON *in) {
    const cJSON *list = item(in, "names");
    size_t n = (size_t)cJSON_GetArraySize(list);
    tide_left_name *names = tide_arena_alloc(read->arena, n, sizeof(*names));
    read->key = "names";
    if (names == NULL) {
        return TIDE_NO_MEMORY;
    }
    const cJSON *name = NULL;
    size_t i = 0;
    cJSON_ArrayForEach(name, list) {
        TIDE_TRY(read_name(read, name, &names[i++]));
    }
    read->to->names = names;
    read->to->n_names = n;
    return TIDE_OK;
}

static tide_status read_groups(reader *read, const cJSON *in) {
    const cJSON *list = item(in, "groups");
    size_t n = (size_t)cJSON_GetArraySize(list);
    tide_left_group *groups = tide_arena_alloc(read->arena, n, sizeof(*groups));
    size_t i = 0;
    const cJSON *group = NULL;
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    cJSON_ArrayForEach(group, list) {
        groups[i] = (tide_left_group){.size = integer(group, "size"),
                                      .position = integer(group, "position"),
                                      .first = integer(group, "first"),
                                      .stride = integer(group, "stride"),
                                      .sends = cJSON_IsTrue(item(group, "sends"))};
        TIDE_TRY(text(read, group, "name", &groups[i].name));
        TIDE_TRY(text(read, group, "description", &groups[i].description));
        i++;
    }
    read->to->groups = groups;
    read->to->n_groups = n;
    return TIDE_OK;
}

static tide_status read_root(reader *read, const cJSON *in) {
    tide_left *to = read->to;
    to->rank = integer(in, "rank");
    to->local_rank = integer(in, "local_rank");
    to->world_size = integer(in, "world_size");
    to->node = integer(in, "node");
    to->ended_unix_us = integer(in, "ended_unix_us");
    to->n_steps = integer(in, "n_steps");
    to->n_calls = integer(in, "n_calls");
    to->host_peak_bytes = integer(in, "host_peak_bytes");
    to->is_out_of_memory = cJSON_IsTrue(item(in, "is_out_of_memory"));
    to->ended_early = cJSON_IsTrue(item(in, "ended_early"));
    to->is_live = cJSON_IsTrue(item(in, "is_live"));
    TIDE_TRY(text(read, in, "torch", &to->torch));
    TIDE_TRY(text(read, in, "cuda", &to->cuda));
    TIDE_TRY(text(read, in, "python", &to->python));
    TIDE_TRY(text(read, in, "backend", &to->backend));
    TIDE_TRY(text(read, in, "exception", &to->exception));
    TIDE_TRY(text(read, in, "failing_line", &to->failing_line));
    TIDE_TRY(read_command(read, in));
    TIDE_TRY(read_groups(read, in));
    TIDE_TRY(tide_left_read_failure(read->arena, item(in, "at_failure"), &to->at_failure));
    TIDE_TRY(read_peaks(read, in));
    TIDE_TRY(read_marks(read, in));
    return read_names(read, in);
}

tide_status tide_left_parse(const char *json, tide_left_list *list, tide_left *ret_process,
                            tide_error *error) {
    reader read = {.arena = &list->arena, .to = ret_process, .key = "the whole"};
    cJSON *root = cJSON_Parse(json);
    tide_status status = root != NULL ? read_root(&read, root) : TIDE_FORMAT;
    cJSON_Delete(root);
    return status == TIDE_FORMAT
               ? tide_fail(error, TIDE_FORMAT, "%s cannot be understood", read.key)
               : status;
}
