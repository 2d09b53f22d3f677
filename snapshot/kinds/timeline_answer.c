/* What export_memory_timeline of torch.profiler writes: as .json [times, sizes], with the bytes of
 * each category at each time; as .raw.json.gz a list of [time, action, bytes, category], whose
 * bytes are negative where memory is released.
 */
#include <inttypes.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/format/json_reader.h"
#include "snapshot/kinds/file_answer_internal.h"

enum {
    N_CATEGORIES = 8,  /* of PyTorch, the last for what it does not know */
    SHOWN_PERCENT = 1, /* of the peak: a category with less is not named */
    NS_PER_US = 1000,
    NS_PER_MS = 1000000
};

#define BYTES(n) tide_bytes_format((n), (char[TIDE_BYTES_TEXT]){""})
#define MOST_BYTES (INT64_C(1) << 56)

/* In PyTorch's order. */
static const char *const WORDS[N_CATEGORIES] = {
    "parameters", "optimizer state",     "inputs",      "temporaries", "activations",
    "gradients",  "autograd's own data", "unknown kind"};

typedef struct timeline {
    tide_json json;
    int64_t sums[N_CATEGORIES]; /* bytes now */
    int64_t peak[N_CATEGORIES]; /* bytes at the highest instant */
    int64_t peak_bytes;
    int64_t peak_ns, first_ns, last_ns;
    uint64_t n_rows;
} timeline;

static int64_t sum_of(const int64_t *bytes) {
    int64_t sum = 0;
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        sum += bytes[i];
    }
    return sum;
}

static void note_instant(timeline *of, int64_t time_ns) {
    int64_t sum = sum_of(of->sums);
    if (sum > of->peak_bytes) {
        of->peak_bytes = sum;
        of->peak_ns = time_ns;
        memcpy(of->peak, of->sums, sizeof(of->peak));
    }
}

/* Times before the profile are -1. */
static void note_time(timeline *of, int64_t time_ns) {
    if (time_ns >= 0) {
        of->first_ns = of->first_ns < 0 || time_ns < of->first_ns ? time_ns : of->first_ns;
        of->last_ns = time_ns > of->last_ns ? time_ns : of->last_ns;
    }
}

static void read_raw(timeline *of) {
    tide_json *json = &of->json;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        int64_t row[4] = {0};
        size_t n = 0;
        size_t at = json->at;
        tide_json_enter_array(json);
        while (tide_json_next_item(json)) {
            int64_t number = tide_json_get_integer(json, -MOST_BYTES, INT64_MAX);
            row[n < 3 ? n : 3] = number;
            n++;
        }
        if (tide_json_status(json) != TIDE_OK) {
            return;
        }
        if (n != 4 || row[3] < 0 || row[3] >= N_CATEGORIES || row[2] > MOST_BYTES ||
            of->sums[row[3]] > MOST_BYTES || of->sums[row[3]] < -MOST_BYTES) {
            tide_json_fail(json, TIDE_FORMAT, at, "not a row of time, action, bytes and category");
            return;
        }
        of->sums[row[3]] += row[2];
        note_time(of, row[0]);
        note_instant(of, row[0]);
        of->n_rows++;
    }
}

/* One list of sizes: 0, and the bytes of each category. */
static void read_sizes(timeline *of) {
    tide_json *json = &of->json;
    size_t n = 0;
    size_t at = json->at;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        int64_t bytes =
            tide_json_get_integer(json, -MOST_BYTES / N_CATEGORIES, MOST_BYTES / N_CATEGORIES);
        if (n > 0 && n <= N_CATEGORIES) {
            of->sums[n - 1] = bytes;
        }
        n++;
    }
    if (n != N_CATEGORIES + 1) {
        tide_json_fail(json, TIDE_FORMAT, at, "not the bytes of %d categories", N_CATEGORIES);
    }
}

/* The times come first; that of the peak is known only after the sizes. Times are in us. */
static void read_sums(timeline *of, tide_json_column *times) {
    tide_json *json = &of->json;
    size_t part = 0;
    tide_json_enter_array(json);
    while (tide_json_next_item(json)) {
        if (part == 0) {
            tide_json_get_column(json, -1, INT64_MAX / NS_PER_US, NULL, times);
        } else if (part == 1) {
            tide_json_enter_array(json);
            while (tide_json_next_item(json)) {
                read_sizes(of);
                if (of->n_rows < times->n_values) {
                    note_time(of, times->values[of->n_rows] * NS_PER_US);
                    note_instant(of, times->values[of->n_rows] * NS_PER_US);
                }
                of->n_rows++;
            }
        } else {
            tide_json_skip(json);
        }
        part++;
    }
    if (part != 2 || of->n_rows != times->n_values) {
        tide_json_fail(json, TIDE_FORMAT, json->at, "not as many sizes as times");
    }
}

static void say_timeline(tide_file_answer *answer, const timeline *of) {
    static const tide_traceback NOTHING;
    char words[TIDE_SENTENCE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        if (of->peak[i] > of->peak_bytes / 100 * SHOWN_PERCENT) {
            tide_text_add_item(&text, ", ", "%s of %s", BYTES(of->peak[i]), WORDS[i]);
        }
    }
    if (of->peak_bytes <= 0) {
        tide_file_answer_say(answer, "filled", "The timeline has no memory of its device.");
    } else if (of->peak_ns >= 0 && of->first_ns >= 0) {
        tide_file_answer_say(
            answer, "filled", "The highest memory was %s, %.3f ms after the timeline begins: %s.",
            BYTES(of->peak_bytes), (double)(of->peak_ns - of->first_ns) / NS_PER_MS, words);
    } else {
        tide_file_answer_say(answer, "filled",
                             "The highest memory was %s, before the timeline begins: %s.",
                             BYTES(of->peak_bytes), words);
    }
    tide_file_answer_figure(answer, "allocated_peak_bytes", of->peak_bytes);
    tide_file_answer_say_record(answer, &NOTHING, TIDE_FILE_CUDA, "a timeline",
                                "which lines allocated the memory, which device it is of, and what "
                                "the allocator had reserved");
}

tide_status tide_file_answer_timeline(tide_file_answer *answer, const tide_source *source,
                                      bool is_raw, const char *path, tide_error *error) {
    const tide_hostmem *mem = answer->arena.mem;
    timeline *of = tide_hostmem_zeroed(mem, 1, sizeof(*of));
    if (of == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_json_column times = {.mem = mem};
    of->peak_ns = of->first_ns = of->last_ns = -1;
    tide_json_open(&of->json, source, mem, error);
    if (is_raw) {
        read_raw(of);
    } else {
        read_sums(of, &times);
    }
    tide_json_expect_end(&of->json);
    tide_status status = tide_json_status(&of->json);
    tide_json_close(&of->json);
    mem->release(mem->ctx, times.values);
    if (status == TIDE_OK) {
        say_timeline(answer, of);
    } else if (status != TIDE_NO_MEMORY) {
        tide_error_prefix(error, "cannot read '%s'", path);
    }
    mem->release(mem->ctx, of);
    return status;
}
