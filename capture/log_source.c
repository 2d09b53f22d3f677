/* log_source.c - reads a log in pieces. Each step is that of recover.c, row by row. */
#include "capture/log_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/recover_internal.h"
#include "common/assert.h"

enum {
    N_ROWS = 16384,     /* events that are read at a time */
    N_SCOPES = 1024,    /* scopes that are read at a time */
    N_SCOPE_CHUNKS = 64 /* of them that are kept: 3 MiB */
};

struct tide_log_source {
    tide_recovery of;           /* owned */
    tide_recover_report report; /* of.report */
    tide_recover_report opened; /* the same before the first event */
    tide_boundary_walk *walk;   /* owned; the live blocks */
    const uint32_t *nodes;      /* in the document's arena: the node of each stack of the journal */
    size_t n_nodes;
    uint32_t no_name; /* string "?", of scopes */
    uint64_t n_read;  /* rows that were read from the file */
    bool is_at_end;   /* the file has no more */
    bool is_first;    /* no row has been kept yet */
    int64_t last_ns;  /* time of the last good row */
    size_t n_held;    /* rows below that are read and not yet judged */
    tide_event rows[N_ROWS + 1];
    tide_event good[N_ROWS + 1];     /* passed on */
    uint64_t chunks[N_SCOPE_CHUNKS]; /* number of the chunk in each place + 1 */
    unsigned char *is_counted;       /* owned; a bit a chunk: its damage was counted */
    tide_scope_row scopes[N_SCOPE_CHUNKS][N_SCOPES];
};

bool tide_log_source_is_log(const char *path) {
    char magic[sizeof(TIDE_LOG_MAGIC) - 1];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    size_t n = fread(magic, 1, sizeof(magic), file);
    bool was_closed = fclose(file) == 0; /* it was only read */
    return was_closed && n == sizeof(magic) && memcmp(magic, TIDE_LOG_MAGIC, sizeof(magic)) == 0;
}

/* ---- events ---- */

/* Fills up the rows after those that are held. Rows after an empty one are not part of the
 * recording. */
static void read_rows(tide_log_source *source) {
    const tide_log_contents *contents = &source->of.contents;
    const tide_log_layout *layout = &contents->header.layout;
    static const tide_event ZERO;
    TIDE_ASSERT(source->n_read < contents->n_rows || contents->n_rows == 0);
    uint64_t n_left = contents->n_rows - source->n_read;
    uint64_t slot = (contents->first_event + source->n_read) % layout->max_events;
    size_t n_wanted = N_ROWS + 1 - source->n_held;
    n_wanted = n_left < n_wanted ? (size_t)n_left : n_wanted;
    n_wanted =
        layout->max_events - slot < n_wanted ? (size_t)(layout->max_events - slot) : n_wanted;
    tide_event *to = source->rows + source->n_held;
    size_t n = tide_log_read_rows(contents, layout->events_offset + slot * sizeof(*to), to,
                                  n_wanted, sizeof(*to));
    size_t n_good = 0;
    while (n_good < n && memcmp(&to[n_good], &ZERO, sizeof(ZERO)) != 0) {
        n_good++;
    }
    source->n_held += n_good;
    source->n_read += n_good;
    source->is_at_end = n_good < n_wanted || source->n_read == contents->n_rows;
}

/* Whether the row is good, on its own and by the times around it. `next` NULL: it is the last. */
static bool is_good(tide_log_source *source, const tide_event *row, const tide_event *next) {
    bool is_early = row->time_ns < source->last_ns;
    bool is_late = next != NULL && row->time_ns > next->time_ns && next->time_ns >= source->last_ns;
    if (is_early || is_late || !tide_recovery_is_plausible(&source->of, row)) {
        source->report.n_damaged++;
        return false;
    }
    source->last_ns = row->time_ns;
    bool is_first = source->is_first;
    source->is_first = false;
    if (is_first && tide_recovery_may_be_folded(&source->of) &&
        tide_recovery_is_folded(&source->of, row)) {
        source->report.n_dropped++;
        return false;
    }
    return true;
}

/* Passes the row on if it fits the live blocks. */
static tide_status take_row(tide_log_source *source, const tide_event *row, size_t *n_good) {
    TIDE_ASSERT(*n_good < N_ROWS + 1);
    tide_event *good = &source->good[*n_good];
    *good = *row;
    tide_recovery_refer(&source->of, good);
    tide_status status = tide_boundary_walk_apply(source->walk, good);
    if (status == TIDE_INVALID) {
        source->report.n_unfit++;
        return TIDE_OK;
    }
    TIDE_TRY(status);
    good->stack = good->stack < source->n_nodes ? source->nodes[good->stack] : TIDE_NONE;
    ++*n_good;
    return TIDE_OK;
}

/* All rows are read: the losses are known now. */
static tide_status finish(tide_log_source *source) {
    tide_boundary end;
    size_t n_unfit = 0;
    tide_snapshot *document = source->of.snapshot;
    TIDE_TRY(tide_boundary_walk_finish(source->walk, &document->arena, &end, &n_unfit));
    source->report.n_unfit += n_unfit;
    source->report.n_missing = source->of.contents.n_rows - source->n_read;
    tide_recovery_count_losses(&source->of);
    document->n_dropped = source->of.recording.n_dropped;
    if (document->n_dropped > source->report.n_dropped) {
        document->full_policy = ""; /* as tide_recovery_describe */
    }
    tide_boundary_walk_destroy(source->walk);
    source->walk = NULL;
    return TIDE_OK;
}

static tide_status next_rows(void *ctx, tide_event_rows *ret_rows, tide_error *error) {
    tide_log_source *source = ctx;
    size_t n_good = 0;
    tide_status status = TIDE_OK;
    while (n_good == 0 && source->walk != NULL && status == TIDE_OK) {
        if (!source->is_at_end) {
            read_rows(source);
        }
        /* The last row waits for the one after it, which may show that its time is wrong. */
        size_t n_now =
            source->is_at_end || source->n_held == 0 ? source->n_held : source->n_held - 1;
        for (size_t i = 0; i < n_now && status == TIDE_OK; i++) {
            const tide_event *next = i + 1 < source->n_held ? &source->rows[i + 1] : NULL;
            if (is_good(source, &source->rows[i], next)) {
                status = take_row(source, &source->rows[i], &n_good);
            }
        }
        source->n_held -= n_now;
        TIDE_ASSERT(source->n_held <= 1); /* the last row */
        if (source->n_held > 0) {
            source->rows[0] = source->rows[n_now];
        }
        if (n_good == 0 && source->is_at_end && source->n_held == 0 && status == TIDE_OK) {
            status = finish(source);
        }
    }
    if (status != TIDE_OK) {
        return tide_fail(error, status, "no host memory for what is alive in the log");
    }
    source->report.n_events += n_good;
    *ret_rows = (tide_event_rows){.events = source->good, .n_events = n_good};
    return TIDE_OK;
}

/* ---- scopes ---- */

/* Reads a chunk and repairs its rows. Its damage counts once, however often it is read. */
static void read_scopes(tide_log_source *source, uint64_t chunk, tide_scope_row *to) {
    tide_log_contents *contents = &source->of.contents;
    const tide_recover_report before = source->report;
    uint64_t first = chunk * N_SCOPES;
    size_t n = contents->n_scopes - first < N_SCOPES ? (size_t)(contents->n_scopes - first)
                                                     : (size_t)N_SCOPES;
    int64_t last_ns = 0;
    size_t n_read = tide_log_read_rows(
        contents, contents->header.layout.scopes_offset + first * sizeof(*to), to, n, sizeof(*to));
    memset(to + n_read, 0, (n - n_read) * sizeof(*to)); /* the file was cut while it is read */
    for (size_t i = 0; i < n; i++) {
        tide_recovery_repair_scope(&source->of, &to[i], (size_t)first + i, source->no_name,
                                   &last_ns);
    }
    unsigned char bit = (unsigned char)(1U << (chunk % 8));
    if ((source->is_counted[chunk / 8] & bit) != 0) {
        source->report = before;
    }
    source->is_counted[chunk / 8] |= bit;
}

/* Restarts the walk and the count of losses. */
static tide_status restart(void *ctx, tide_error *error) {
    tide_log_source *source = ctx;
    tide_boundary start;
    tide_boundary_walk_destroy(source->walk);
    source->walk = NULL;
    source->report = source->opened;
    source->n_read = 0;
    source->is_at_end = false;
    source->is_first = true;
    source->last_ns = 0;
    source->n_held = 0;
    memset(source->chunks, 0, sizeof(source->chunks));
    memset(source->is_counted, 0, source->of.contents.n_scopes / N_SCOPES / 8 + 1);
    tide_status status = tide_boundary_walk_create(
        source->of.base, source->of.n_base, &source->of.snapshot->arena, &start, &source->walk);
    return status == TIDE_OK
               ? TIDE_OK
               : tide_fail(error, status, "no host memory for what is alive in the log");
}

static tide_status scope_at(void *ctx, uint32_t number, tide_scope_row *ret_row,
                            tide_error *error) {
    tide_log_source *source = ctx;
    uint64_t chunk = number / N_SCOPES;
    size_t place = chunk % N_SCOPE_CHUNKS;
    TIDE_ASSERT(number < source->of.contents.n_scopes);
    (void)error;
    if (source->chunks[place] != chunk + 1) {
        read_scopes(source, chunk, source->scopes[place]);
        source->chunks[place] = chunk + 1;
    }
    *ret_row = source->scopes[place][number % N_SCOPES];
    return TIDE_OK;
}

/* ---- the source ---- */

/* All but events and scopes. */
static tide_status build(tide_log_source *source) {
    tide_recovery *of = &source->of;
    tide_boundary start;
    tide_boundary none = {.n_blocks = 0};
    TIDE_TRY(tide_log_tables_read(of->contents.journal, of->contents.n_journal_bytes, &of->tables,
                                  of->report));
    TIDE_TRY(tide_recovery_take_base(of));
    if (of->contents.n_scopes > 0) {
        TIDE_TRY(tide_strings_intern(&of->tables.strings, "?", &source->no_name));
    }
    tide_recovery_repair_streams(of);
    for (size_t i = 0; i < of->n_base; i++) {
        tide_recovery_refer(of, &of->base[i]);
    }
    size_t n_scopes = of->contents.n_scopes;
    of->contents.n_scopes = 0; /* they stay in the file */
    TIDE_TRY(tide_recovery_build_recording(of));
    of->contents.n_scopes = n_scopes;
    TIDE_TRY(tide_boundary_walk_create(of->base, of->n_base, &of->snapshot->arena, &start,
                                       &source->walk));
    tide_recovery_count_losses(of);
    tide_capture_set_boundaries(&start, &none, of->snapshot);
    tide_capture_modules modules = {.modules = of->tables.modules,
                                    .n_modules = of->tables.n_modules,
                                    .python = of->tables.python,
                                    .n_python = of->tables.n_python,
                                    .wants_all = true};
    TIDE_TRY(tide_capture_tables(&of->recording, (tide_boundary *[2]){&start, &none}, &modules,
                                 of->snapshot));
    source->nodes = modules.nodes;
    source->n_nodes = of->recording.n_stacks;
    of->report->n_modules = modules.n_used;
    of->report->n_modules_absent = modules.n_absent;
    return tide_recovery_describe(of);
}

tide_status tide_log_source_open(const char *path, const tide_hostmem *mem,
                                 tide_log_source **ret_source, tide_error *error) {
    mem = mem != NULL ? mem : tide_hostmem_default();
    tide_log_source *source = tide_hostmem_zeroed(mem, 1, sizeof(*source));
    if (source == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_recovery *of = &source->of;
    of->mem = mem;
    of->report = &source->report;
    source->is_first = true;
    tide_log_tables_init(&of->tables, mem);
    tide_status status = tide_log_contents_open(path, mem, &of->contents, &source->report, error);
    if (status != TIDE_OK) {
        tide_log_source_close(source);
        return status;
    }
    source->is_counted = tide_hostmem_zeroed(mem, of->contents.n_scopes / N_SCOPES / 8 + 1, 1);
    status = source->is_counted != NULL ? tide_snapshot_create(mem, &of->snapshot) : TIDE_NO_MEMORY;
    status = status == TIDE_OK ? build(source) : status;
    if (status != TIDE_OK) {
        tide_log_source_close(source);
        return tide_fail(error, status, "%s: no host memory for the log", path);
    }
    source->opened = source->report;
    *ret_source = source;
    return TIDE_OK;
}

void tide_log_source_close(tide_log_source *source) {
    if (source == NULL) {
        return;
    }
    const tide_hostmem *mem = source->of.mem;
    tide_boundary_walk_destroy(source->walk);
    tide_log_tables_fini(&source->of.tables);
    tide_log_contents_fini(&source->of.contents);
    tide_snapshot_destroy(source->of.snapshot);
    mem->release(mem->ctx, source->is_counted);
    mem->release(mem->ctx, source);
}

tide_event_source tide_log_source_events(tide_log_source *source) {
    return (tide_event_source){.document = source->of.snapshot,
                               .n_scopes = source->of.contents.n_scopes,
                               .next = next_rows,
                               .scope = scope_at,
                               .restart = restart,
                               .ctx = source};
}

tide_snapshot *tide_log_source_document(tide_log_source *source) {
    return source->of.snapshot;
}

const tide_recover_report *tide_log_source_report(const tide_log_source *source) {
    return &source->report;
}
