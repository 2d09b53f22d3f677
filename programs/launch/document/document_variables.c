/* document_variables.c - adds the variables of the program to the names of activations.
 *
 * A line such as `logits = self.head(x)` allocates the result of its call last, except for what an
 * operator makes besides its result. So the last block of a run of allocations at that line that
 * outlives the run is the variable's.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "common/map.h"
#include "programs/launch/document/assignment.h"
#include "programs/launch/document/document_internal.h"
#include "snapshot/document/source.h"
#include "snapshot/explain/stack_facts.h"

enum { MAX_FILES = 256, MAX_FILE_BYTES = 4 << 20, NAME_BYTES = 512 };

#define US_PER_S INT64_C(1000000)

/* A source file of the program. */
typedef struct source {
    uint32_t file; /* string of the snapshot */
    char *text;    /* owned; NULL: missing, too large, or newer than the recording */
} source;

typedef struct finder {
    tide_document *document;
    tide_stack_facts stacks;
    source sources[MAX_FILES];
    size_t n_sources;
    tide_map name_of;   /* frame -> name of the variable, among the document's texts; TIDE_NONE */
    uint32_t *freed_at; /* owned; of each allocation, the event that frees it; TIDE_NONE */
} finder;

/* ---- the program's files ---- */

/* A file that was changed since the recording began may have other lines. */
static bool is_older(const tide_snapshot *snapshot, const char *path) {
    struct stat info;
    int64_t started_s = snapshot->run.started_unix_us / US_PER_S;
    return snapshot->run.started_unix_us > 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           (int64_t)info.st_mtime < started_s;
}

/* NULL: the file cannot be used. */
static const char *text_of(finder *of, uint32_t file) {
    for (size_t i = 0; i < of->n_sources; i++) {
        if (of->sources[i].file == file) {
            return of->sources[i].text;
        }
    }
    const tide_snapshot *snapshot = of->document->snapshot;
    const char *path = tide_snapshot_text(snapshot, file);
    source *added = of->n_sources < MAX_FILES ? &of->sources[of->n_sources++] : NULL;
    if (added == NULL) {
        return NULL;
    }
    *added = (source){.file = file};
    if (path[0] == '/' && is_older(snapshot, path) &&
        tide_text_file_read(path, MAX_FILE_BYTES, &added->text, NULL, NULL) != TIDE_OK) {
        added->text = NULL;
    }
    return added->text;
}

/* Whether a line of a file is what the recording has: the file of that path may be another one. */
static bool is_recorded(const char *text, int line, const tide_source_row *recorded) {
    for (int i = 1; i < line && text != NULL; i++) {
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    if (text == NULL) {
        return false;
    }
    size_t n = strlen(recorded->text);
    text += strspn(text, " \t\f");
    if (strncmp(text, recorded->text, n) != 0) {
        return false;
    }
    text += n + strspn(text + n, " \t\f\r");
    return recorded->is_cut || text[0] == '\n' || text[0] == '\0';
}

/* The variable that a frame's line gives its value; TIDE_NONE. */
static tide_status variable_of(finder *of, uint32_t frame, uint32_t *ret_name) {
    uint64_t known = 0;
    const char *name = NULL;
    size_t n_bytes = 0;
    char text[NAME_BYTES];
    if (tide_map_find(&of->name_of, frame, &known)) {
        *ret_name = (uint32_t)known;
        return TIDE_OK;
    }
    const tide_frame_row *row = &of->document->snapshot->frames[frame];
    const char *text_of_file = row->file != TIDE_NONE ? text_of(of, row->file) : NULL;
    const tide_source_row *recorded = tide_source_of(of->document->snapshot, frame);
    *ret_name = TIDE_NONE;
    if (text_of_file != NULL && recorded != NULL &&
        !is_recorded(text_of_file, row->line, recorded)) {
        text_of_file = NULL;
    }
    if (text_of_file != NULL && tide_assigned_name(text_of_file, row->line, &name, &n_bytes) &&
        n_bytes < NAME_BYTES / 2) {
        snprintf(text, sizeof(text), "%.*s", (int)n_bytes, name);
        TIDE_TRY(tide_document_string(of->document, text, ret_name));
    }
    return tide_map_put(&of->name_of, frame, *ret_name);
}

/* ---- runs of allocations at one line ---- */

static const char *added_text(const tide_document *document, uint32_t string) {
    size_t n = document->snapshot->n_strings;
    return string == TIDE_NONE ? ""
           : string < n        ? document->snapshot->strings[string]
                               : document->added.texts[string - n];
}

/* Whether the name is of something that an operator made besides its result: "max.1",
 * "native_layer_norm.result1 [..]", "target of nll_loss [..]". */
static bool is_beside(const char *name) {
    static const char ARGUMENT[] = "argument of ";
    size_t n = strcspn(name, "[");
    return strncmp(name, ARGUMENT, sizeof(ARGUMENT) - 1) != 0 &&
           (memchr(name, '.', n) != NULL || strstr(name, " of ") != NULL);
}

/* "logits [8192, 50257] float32 (mm)" of "mm [8192, 50257] float32". */
static tide_status add_variable(finder *of, size_t event, uint32_t variable) {
    tide_document *document = of->document;
    const char *name = added_text(document, document->name[event]);
    size_t n_operator = strcspn(name, "[");
    const char *shape = name + n_operator;
    char text[NAME_BYTES];
    while (n_operator > 0 && name[n_operator - 1] == ' ') {
        n_operator--;
    }
    int n = snprintf(text, sizeof(text), "%s%s%s", added_text(document, variable),
                     shape[0] != '\0' ? " " : "", shape);
    if (n_operator > 0 && n > 0 && (size_t)n < sizeof(text)) {
        snprintf(text + n, sizeof(text) - (size_t)n, " (%.*s)", (int)n_operator, name);
    }
    return tide_document_string(document, text, &document->name[event]);
}

/* Whether the call of a run ended, and so the variable has its result: no request failed in it, and
 * it is not the last thing that a program did which ended early. */
static bool has_ended(const tide_document *document, size_t first, size_t end) {
    const tide_snapshot *snapshot = document->snapshot;
    for (size_t i = first; i < end; i++) {
        if (snapshot->events.action[i] == TIDE_ACTION_OOM) {
            return false;
        }
    }
    const char *exception = document->left->exception; /* NULL: of a log alone */
    bool is_cut = document->left->was_cut || document->left->is_running ||
                  (exception != NULL && exception[0] != '\0');
    return end < snapshot->n_events || !is_cut;
}

/* A run: allocations at one line; `end` is the first event after it. */
static tide_status take_run(finder *of, const uint32_t *events, size_t n, size_t end) {
    tide_document *document = of->document;
    uint32_t stack = tide_index_at(&document->snapshot->events.stack, events[0]);
    uint32_t frame = document->snapshot->stacks[tide_stack_program(&of->stacks, stack)].frame;
    uint32_t variable = TIDE_NONE;
    size_t found = SIZE_MAX;
    size_t n_alive = 0;
    bool is_read = false; /* a graph named some of them */
    for (size_t i = n; i-- > 0;) {
        size_t event = events[i];
        bool is_alive = of->freed_at[event] >= end;
        if (is_alive && !tide_document_is_own_name(document, event)) {
            n_alive++;
            is_read = is_read || document->name[event] != TIDE_NONE;
            bool is_result = !is_beside(added_text(document, document->name[event]));
            found = found == SIZE_MAX && is_result ? event : found;
        }
    }
    /* Without any name, nothing shows which of several blocks are made besides the result. */
    if (found == SIZE_MAX || (n_alive > 1 && !is_read)) {
        return TIDE_OK;
    }
    if (!has_ended(document, events[0], end)) {
        return TIDE_OK;
    }
    TIDE_TRY(variable_of(of, frame, &variable));
    return variable == TIDE_NONE ? TIDE_OK : add_variable(of, found, variable);
}

static tide_status take_runs(finder *of, uint32_t *run) {
    const tide_snapshot *snapshot = of->document->snapshot;
    uint32_t at = TIDE_NONE;
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.action[i] != TIDE_ACTION_ALLOC) {
            continue;
        }
        uint32_t node = tide_stack_program(&of->stacks, tide_index_at(&snapshot->events.stack, i));
        if (node != at && n > 0) {
            TIDE_TRY(take_run(of, run, n, i));
            n = 0;
        }
        at = node;
        if (node != TIDE_NONE) {
            run[n++] = (uint32_t)i;
        }
    }
    return n > 0 ? take_run(of, run, n, snapshot->n_events) : TIDE_OK;
}

/* ---- the document ---- */

/* Finds which event frees each allocation. */
static tide_status find_ends(finder *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    const tide_event_table *events = &snapshot->events;
    tide_map alive;
    tide_status status = TIDE_OK;
    memset(of->freed_at, 0xff, snapshot->n_events * sizeof(*of->freed_at));
    tide_map_init(&alive, snapshot->arena.mem);
    for (size_t i = 0; i < snapshot->n_events && status == TIDE_OK; i++) {
        uint64_t born = 0;
        uint64_t key = tide_hash_u64(events->address[i] ^ tide_hash_u64(events->device[i]));
        if (events->action[i] == TIDE_ACTION_ALLOC) {
            status = tide_map_put(&alive, key, i);
        } else if ((events->action[i] == TIDE_ACTION_FREE ||
                    events->action[i] == TIDE_ACTION_FREE_REQUESTED) &&
                   tide_map_find(&alive, key, &born)) {
            of->freed_at[born] = (uint32_t)i;
            (void)tide_map_remove(&alive, key);
        }
    }
    tide_map_fini(&alive);
    return status;
}

tide_status tide_document_add_variables(tide_document *document) {
    const tide_snapshot *snapshot = document->snapshot;
    const tide_hostmem *mem = snapshot->arena.mem;
    finder of = {.document = document};
    tide_map_init(&of.name_of, mem);
    of.freed_at = tide_hostmem_zeroed(mem, snapshot->n_events + 1, sizeof(*of.freed_at));
    uint32_t *run = tide_hostmem_zeroed(mem, snapshot->n_events + 1, sizeof(*run));
    tide_status status = of.freed_at != NULL && run != NULL
                             ? tide_stack_facts_init(&of.stacks, snapshot, mem)
                             : TIDE_NO_MEMORY;
    status = status == TIDE_OK ? find_ends(&of) : status;
    status = status == TIDE_OK ? take_runs(&of, run) : status;
    for (size_t i = 0; i < of.n_sources; i++) {
        tide_hostmem_default()->release(tide_hostmem_default()->ctx, of.sources[i].text);
    }
    mem->release(mem->ctx, run);
    mem->release(mem->ctx, of.freed_at);
    tide_stack_facts_fini(&of.stacks);
    tide_map_fini(&of.name_of);
    return status;
}
