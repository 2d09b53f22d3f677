#include "snapshot/kinds/statistics_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/kinds/oom_text.h"

void tide_statistics_text_init(tide_statistics_text *statistics) {
    *statistics = (tide_statistics_text){.device = -1,
                                         .n_ooms = -1,
                                         .n_retries = -1,
                                         .allocated_bytes = -1,
                                         .allocated_peak_bytes = -1,
                                         .reserved_bytes = -1,
                                         .reserved_peak_bytes = -1,
                                         .stuck_bytes = -1};
}

/* ---- memory_summary(): a table ---- */

static void read_row(tide_statistics_text *of, const char *line, const char *name, int64_t *ret_now,
                     int64_t *ret_peak) {
    const char *row = strstr(line, name);
    const char *now = row != NULL ? strchr(row + strlen(name), '|') : NULL;
    const char *peak = now != NULL ? strchr(now + 1, '|') : NULL;
    if (peak != NULL) {
        int64_t now_bytes = tide_text_bytes(now + 1);
        int64_t peak_bytes = tide_text_bytes(peak + 1);
        if (now_bytes >= 0 && peak_bytes >= 0) {
            *ret_now = now_bytes;
            *ret_peak = peak_bytes;
            of->n_read += 2;
        }
    }
}

static bool read_count(const char *line, const char *name, int64_t *ret_count) {
    const char *found = strstr(line, name);
    if (found == NULL || !isdigit((unsigned char)found[strlen(name)])) {
        return false;
    }
    *ret_count = strtoll(found + strlen(name), NULL, 10);
    return true;
}

static void read_table(tide_statistics_text *of, const char *line) {
    int64_t ignored = 0;
    of->is_summary |= read_count(line, "memory summary, device ID ", &of->device);
    if (!of->is_summary) {
        return;
    }
    of->n_read += read_count(line, "CUDA OOMs: ", &of->n_ooms);
    of->n_read += read_count(line, "cudaMalloc retries: ", &of->n_retries);
    read_row(of, line, "| Allocated memory ", &of->allocated_bytes, &of->allocated_peak_bytes);
    read_row(of, line, "| GPU reserved memory ", &of->reserved_bytes, &of->reserved_peak_bytes);
    read_row(of, line, "| Non-releasable memory ", &of->stuck_bytes, &ignored);
}

/* ---- memory_stats(): a dict, printed by Python or as JSON ---- */

/* The integer that follows a key in quotes: 'key': 1, "key": 1, ('key', 1). */
static bool read_key(const char *line, const char *key, int64_t *ret_value) {
    size_t n = strlen(key);
    for (const char *at = line; (at = strstr(at, key)) != NULL; at += n) {
        bool is_quoted = at > line && (at[-1] == '\'' || at[-1] == '"') && at[n] == at[-1];
        if (!is_quoted) {
            continue;
        }
        const char *value = at + n + 1;
        value += strspn(value, " :,");
        char *end = NULL;
        int64_t number = strtoll(value, &end, 10);
        if (end > value && number >= 0) {
            *ret_value = number;
            return true;
        }
    }
    return false;
}

static void read_dict(tide_statistics_text *of, const char *line) {
    const struct {
        const char *key;
        int64_t *figure;
    } KEYS[] = {
        {"allocated_bytes.all.current", &of->allocated_bytes},
        {"allocated_bytes.all.peak", &of->allocated_peak_bytes},
        {"reserved_bytes.all.current", &of->reserved_bytes},
        {"reserved_bytes.all.peak", &of->reserved_peak_bytes},
        {"inactive_split_bytes.all.current", &of->stuck_bytes},
        {"num_alloc_retries", &of->n_retries},
        {"num_ooms", &of->n_ooms},
    };
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        of->n_read += read_key(line, KEYS[i].key, KEYS[i].figure);
    }
}

void tide_statistics_text_line(tide_statistics_text *statistics, const char *line) {
    read_table(statistics, line);
    read_dict(statistics, line);
}
