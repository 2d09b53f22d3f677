#include "snapshot/kinds/kinds.h"

#include <stdbool.h>
#include <string.h>

#include "common/files/launch_log.h"

#define RECORD                                                                                     \
    "record the program with `tidemark run`, or put "                                              \
    "torch.cuda.memory._record_memory_history(max_entries=1000000) before the work and "           \
    "torch.cuda.memory._dump_snapshot('memory.pickle') after it"

/* The beginning of a file, followed by a NUL that is not part of it. */
typedef struct head {
    const char *bytes;
    size_t n_bytes;
    const char *first; /* the first byte that is no blank */
} head;

/* Binary files may have NULs before it. */
static bool has(const head *of, const char *text) {
    size_t n = strlen(text);
    for (size_t at = 0; at + n <= of->n_bytes; at++) {
        if (memcmp(of->bytes + at, text, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The first byte after the bracket at `text` that is no blank. */
static const char *inside(const char *text) {
    text++;
    return text + strspn(text, " \t\r\n");
}

static bool is_list_of_objects(const head *of) {
    return *inside(of->first) == '{';
}

static bool is_list_of_numbers(const head *of) {
    const char *item = inside(of->first);
    return *item == '[' && strchr("-0123456789", *inside(item)) != NULL;
}

/* [[time, action, bytes, category], [time, ...]]: four numbers, and the next row begins with one.
 */
static bool is_list_of_rows(const head *of) {
    size_t n_commas = 0;
    const char *at = inside(of->first);
    if (!is_list_of_numbers(of)) {
        return false;
    }
    for (at = inside(at); *at != '\0' && strchr("-0123456789., \r\n\t", *at) != NULL; at++) {
        n_commas += *at == ',';
    }
    if (*at != ']' || n_commas != 3) {
        return false;
    }
    at = inside(at);
    return *at == ']' || (*at == ',' && *inside(at) == '[' && *inside(inside(at)) != '[');
}

static bool is_printed_dict(const head *of) {
    return *inside(of->first) == '\'';
}

static bool is_text(const head *of) {
    for (size_t i = 0; i < of->n_bytes; i++) {
        char c = of->bytes[i];
        if ((unsigned char)c < ' ' && (c == '\0' || strchr("\t\n\r\f\v\b\033", c) == NULL)) {
            return false;
        }
    }
    return of->n_bytes > 0;
}

/* A row matches a file that has all that the row names. The rows are tried in this order. */
static const struct {
    tide_kind kind;
    const char *begins;         /* the first bytes, after blanks; NULL: any */
    const char *has;            /* a text among the first TIDE_KIND_BYTES; NULL: any */
    bool (*is)(const head *of); /* NULL: any */
} BEGINNINGS[] = {
    {TIDE_KIND_PICKLE, "\x80", NULL, NULL}, /* every one since protocol 2 */
    {TIDE_KIND_LAUNCHES, TIDE_RUN_LAUNCHES_TEXT, NULL, NULL},
    {TIDE_KIND_DOCUMENT, "{", "\"tidemark-", NULL},
    {TIDE_KIND_NSYS_REPORT, "NVIDIA Tegra Profiler Report ", NULL, NULL},
    {TIDE_KIND_SQLITE, "SQLite format 3", NULL, NULL},
    {TIDE_KIND_WANDB, ":W&B", NULL, NULL},
    {TIDE_KIND_TENSORBOARD, NULL,
     "\x1A\x0D"
     "brain.Event:",
     NULL},
    {TIDE_KIND_CHECKPOINT, "PK\x03\x04", "/data.pkl", NULL},
    {TIDE_KIND_OWN_PAGE, "<", "<title>tidemark</title>", NULL},
    {TIDE_KIND_VIZ_PAGE, "<", "MemoryViz.js", NULL},
    {TIDE_KIND_TIMELINE_PAGE, "<", "GPU Memory Timeline HTML", NULL},
    {TIDE_KIND_PAGE, "<!doctype html", NULL, NULL},
    {TIDE_KIND_PAGE, "<!DOCTYPE html", NULL, NULL},
    {TIDE_KIND_PAGE, "<html", NULL, NULL},
    {TIDE_KIND_TRACE, "[", "\"ph\"", is_list_of_objects},
    {TIDE_KIND_TRACE, "{", "\"traceEvents\"", NULL},
    {TIDE_KIND_TRACE, "{", "\"deviceProperties\"", NULL},
    {TIDE_KIND_TRACE, "{", "\"displayTimeUnit\"", NULL},
    {TIDE_KIND_RAW_TIMELINE, "[", NULL, is_list_of_rows},
    {TIDE_KIND_TIMELINE, "[", NULL, is_list_of_numbers},
    {TIDE_KIND_TEXT, "{", NULL, is_printed_dict},
    {TIDE_KIND_TEXT, "{", "\"num_alloc_retries\"", NULL},
    {TIDE_KIND_TEXT, "{", ".all.allocated\"", NULL},
    {TIDE_KIND_TEXT, "{", ".all.current\"", NULL},
    {TIDE_KIND_WANDB_JSON, "{", "\"_wandb\"", NULL},
    {TIDE_KIND_WANDB_JSON, "{", "\"_runtime\"", NULL},
    {TIDE_KIND_DOCUMENT, "{", NULL, NULL},
    {TIDE_KIND_TEXT, NULL, NULL, is_text},
};

/* What a file of a kind is, and what to do with it if no command reads it. */
static const struct {
    const char *name;
    const char *advice;
    bool is_recorded; /* the advice ends in how to record the program */
} KINDS[TIDE_N_KINDS] = {
    [TIDE_KIND_UNKNOWN] = {"a file of an unknown kind", "", false},
    [TIDE_KIND_EMPTY] = {"empty", "", false},
    [TIDE_KIND_PICKLE] = {"a pickle", "", false},
    [TIDE_KIND_DOCUMENT] = {"a JSON object", "", false},
    [TIDE_KIND_OWN_PAGE] = {"a page of tidemark", "", false},
    [TIDE_KIND_VIZ_PAGE] = {"a page of memory_viz", "", false},
    [TIDE_KIND_TRACE] = {"a trace of a profiler", "", false},
    [TIDE_KIND_TIMELINE] = {"a timeline of export_memory_timeline", "", false},
    [TIDE_KIND_RAW_TIMELINE] = {"a raw timeline of export_memory_timeline", "", false},
    [TIDE_KIND_TIMELINE_PAGE] = {"a page of export_memory_timeline",
                                 "it has only a picture; with a path that ends in .raw.json.gz, "
                                 "export_memory_timeline writes data; for call stacks, ",
                                 true},
    [TIDE_KIND_TEXT] = {"a text", "", false},
    [TIDE_KIND_LAUNCHES] = {"a launch log", "`tidemark time` forecasts times from it", false},
    [TIDE_KIND_NSYS_REPORT] = {"a report of Nsight Systems",
                               "`nsys export --type sqlite` writes a file that `tidemark explain` "
                               "reads; for call stacks, ",
                               true},
    [TIDE_KIND_SQLITE] = {"an SQLite database", "", false},
    [TIDE_KIND_WANDB] = {"a log of Weights & Biases", "it has no allocations: ", true},
    [TIDE_KIND_WANDB_JSON] = {"a summary of Weights & Biases", "it has no allocations: ", true},
    [TIDE_KIND_TENSORBOARD] = {"an events file of TensorBoard", "it has no allocations: ", true},
    [TIDE_KIND_CHECKPOINT] = {"a checkpoint of torch.save", "it has no allocations: ", true},
    [TIDE_KIND_PAGE] = {"a page without a snapshot", "", true},
};

static bool matches(const head *of, size_t row) {
    const char *begins = BEGINNINGS[row].begins;
    return (begins == NULL || strncmp(of->first, begins, strlen(begins)) == 0) &&
           (BEGINNINGS[row].has == NULL || has(of, BEGINNINGS[row].has)) &&
           (BEGINNINGS[row].is == NULL || BEGINNINGS[row].is(of));
}

tide_kind tide_kind_of(const char *bytes, size_t n_bytes) {
    char copy[TIDE_KIND_BYTES + 1];
    size_t n = n_bytes < TIDE_KIND_BYTES ? n_bytes : TIDE_KIND_BYTES;
    memcpy(copy, bytes, n);
    copy[n] = '\0';
    head of = {.bytes = copy, .n_bytes = n, .first = copy + strspn(copy, " \t\r\n")};
    if (n == 0) {
        return TIDE_KIND_EMPTY;
    }
    if (of.first == copy + TIDE_KIND_BYTES) {
        return TIDE_KIND_DOCUMENT; /* blanks may precede an object */
    }
    for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++) {
        if (matches(&of, i)) {
            return BEGINNINGS[i].kind;
        }
    }
    return TIDE_KIND_UNKNOWN;
}

const char *tide_kind_name(tide_kind kind) {
    return KINDS[kind].name;
}

const char *tide_kind_advice(tide_kind kind) {
    return KINDS[kind].advice;
}

const char *tide_kind_recorder(tide_kind kind) {
    return KINDS[kind].is_recorded ? RECORD : "";
}
