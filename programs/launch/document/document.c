#include "programs/launch/document/document.h"

#include <string.h>

#include "programs/launch/cards.h"
#include "programs/launch/document/document_internal.h"
#include "programs/launch/roles.h"
#include "snapshot/analysis/category_rules.h"
#include "snapshot/document/implementation.h"

tide_status tide_document_string(tide_document *document, const char *text, uint32_t *ret_string) {
    uint32_t number = 0;
    TIDE_TRY(tide_strings_intern(&document->added, text, &number));
    *ret_string = (uint32_t)document->snapshot->n_strings + number;
    return TIDE_OK;
}

bool tide_document_is_row(uint8_t action) {
    return action == TIDE_ACTION_ALLOC || action == TIDE_ACTION_FREE ||
           action == TIDE_ACTION_FREE_REQUESTED || action == TIDE_ACTION_OOM;
}

int64_t tide_document_first_row(const tide_document *document, size_t device) {
    const tide_snapshot *snapshot = document->snapshot;
    int64_t n = 0;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        n += snapshot->events.device[i] == device &&
             tide_document_is_row(snapshot->events.action[i]);
    }
    return device < document->left->n_devices ? document->left->peaks[device].n_rows - n : 0;
}

/* Appends the added texts to the snapshot's own. */
static tide_status store_strings(tide_document *document) {
    tide_snapshot *snapshot = document->snapshot;
    size_t n = snapshot->n_strings + document->added.n_texts;
    const char **texts = tide_arena_alloc(&snapshot->arena, n, sizeof(*texts));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(texts, snapshot->strings, snapshot->n_strings * sizeof(*texts));
    for (size_t i = 0; i < document->added.n_texts; i++) {
        texts[snapshot->n_strings + i] =
            tide_arena_text(&snapshot->arena, document->added.texts[i]);
        if (texts[snapshot->n_strings + i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    snapshot->strings = texts;
    snapshot->n_strings = n;
    return TIDE_OK;
}

/* The cards of this machine, as the driver described them to the process. */
static tide_status set_real_devices(tide_arena *arena, tide_snapshot_device *devices,
                                    size_t n_devices, const tide_left *left) {
    for (size_t i = 0; i < n_devices && i < left->n_devices; i++) {
        if (strcmp(devices[i].kind, TIDE_KIND_PINNED) == 0) {
            continue;
        }
        devices[i].kind = "cuda";
        if (left->peaks[i].name[0] == '\0') {
            continue; /* the process reported nothing at its end: its log may have it */
        }
        devices[i].name = tide_arena_text(arena, left->peaks[i].name);
        devices[i].total_bytes = left->peaks[i].total_bytes;
        devices[i].compute_capability = left->peaks[i].compute_capability;
        if (devices[i].name == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    return TIDE_OK;
}

static tide_status set_devices(tide_snapshot *snapshot, const tide_left *left,
                               const tide_launch_config *config) {
    tide_snapshot_device *devices =
        tide_arena_copy(&snapshot->arena, snapshot->devices, snapshot->n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (config->cards == NULL) {
        TIDE_TRY(set_real_devices(&snapshot->arena, devices, snapshot->n_devices, left));
    }
    for (size_t i = 0; config->cards != NULL && i < snapshot->n_devices; i++) {
        tide_card card;
        if (strcmp(devices[i].kind, TIDE_KIND_PINNED) == 0) {
            continue;
        }
        bool is_known = tide_launch_card(config->cards, i, &card);
        devices[i].kind = "virtual";
        devices[i].name = is_known ? card.title : "";
        devices[i].compute_capability = is_known ? card.compute_capability : -1;
        devices[i].total_bytes = config->memory_bytes > 0 ? (int64_t)config->memory_bytes
                                 : is_known               ? card.total_bytes
                                                          : -1;
    }
    snapshot->devices = devices;
    return TIDE_OK;
}

static tide_status set_run(tide_snapshot *snapshot, const tide_left *left,
                           const tide_launch_config *config) {
    tide_snapshot_run *run = &snapshot->run;
    run->command = tide_arena_text(&snapshot->arena, left->command);
    run->outcome = left->is_running             ? TIDE_SNAPSHOT_RUNNING
                   : left->was_cut              ? TIDE_SNAPSHOT_CRASHED
                   : left->is_out_of_memory     ? TIDE_SNAPSHOT_OOM
                   : left->exception[0] != '\0' ? TIDE_SNAPSHOT_FAILED
                                                : TIDE_SNAPSHOT_COMPLETED;
    if (left->torch[0] != '\0') {
        run->implementation = TIDE_IMPLEMENTATION_RECORDED;
    }
    run->memory_limit_bytes = config->memory_bytes > 0 ? (int64_t)config->memory_bytes : -1;
    return run->command != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status set_software(tide_snapshot *snapshot, const tide_left *left) {
    const tide_snapshot_setting versions[] = {{.name = "python", .text = left->python},
                                              {.name = "torch", .text = left->torch},
                                              {.name = "cuda", .text = left->cuda}};
    size_t n = sizeof(versions) / sizeof(versions[0]);
    tide_snapshot_setting *rows = tide_arena_copy(&snapshot->arena, versions, n, sizeof(*versions));
    for (size_t i = 0; rows != NULL && i < n; i++) {
        rows[i].text = tide_arena_text(&snapshot->arena, versions[i].text);
        if (rows[i].text == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    snapshot->software = rows;
    snapshot->n_software = n;
    return rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* Appends to the log's rows about its recording. `beyond_bytes`: memory that pools held beyond
 * their blocks; -1 if unknown. */
static tide_status set_inexact(tide_snapshot *snapshot, const tide_left_list *list,
                               const tide_left *process, int64_t beyond_bytes) {
    tide_snapshot_inexact *rows = tide_arena_alloc(
        &snapshot->arena, snapshot->n_inexact + list->n_inexact + 1, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    while (n < snapshot->n_inexact) {
        rows[n] = snapshot->inexact[n];
        n++;
    }
    if (beyond_bytes >= 0 || strcmp(process->backend, "cudaMallocAsync") == 0) {
        rows[n++] = (tide_snapshot_inexact){
            .call = "cudaMallocAsync",
            .what = "each block is shown as a segment of its own; what the pools held beyond the "
                    "blocks is not shown",
            .bound_bytes = beyond_bytes};
    }
    for (size_t i = 0; i < list->n_inexact; i++) {
        const tide_left_inexact *from = &list->inexact[i];
        if (from->pid == process->pid) {
            rows[n] = (tide_snapshot_inexact){.call = tide_arena_text(&snapshot->arena, from->call),
                                              .what = tide_arena_text(&snapshot->arena, from->what),
                                              .bound_bytes = from->bound_bytes,
                                              .is_refused = from->is_refused};
            if (rows[n].call == NULL || rows[n].what == NULL) {
                return TIDE_NO_MEMORY;
            }
            n++;
        }
    }
    snapshot->inexact = rows;
    snapshot->n_inexact = n;
    return TIDE_OK;
}

/* The rows of the process, in the order of the list. */
static tide_status set_assumed(tide_snapshot *snapshot, const tide_left_list *list, int64_t pid) {
    tide_snapshot_assumed *rows =
        tide_arena_alloc(&snapshot->arena, list->n_assumed, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < list->n_assumed; i++) {
        if (list->assumed[i].pid == pid) {
            rows[n] = list->assumed[i].row;
            rows[n].place = tide_arena_text(&snapshot->arena, rows[n].place);
            rows[n].what = tide_arena_text(&snapshot->arena, rows[n].what);
            if (rows[n].place == NULL || rows[n].what == NULL) {
                return TIDE_NO_MEMORY;
            }
            n++;
        }
    }
    snapshot->assumed = rows;
    snapshot->n_assumed = n;
    return TIDE_OK;
}

/* Copies one end's blocks, with room for the certainty of their categories. */
static tide_status open_blocks(tide_arena *arena, const tide_block_row *blocks, size_t n_blocks,
                               tide_block_row **ret_blocks, uint8_t **ret_certainty) {
    *ret_blocks = tide_arena_copy(arena, blocks, n_blocks, sizeof(*blocks));
    *ret_certainty = tide_arena_alloc(arena, n_blocks, sizeof(**ret_certainty));
    if (*ret_blocks == NULL || *ret_certainty == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(*ret_certainty, TIDE_CERTAINTY_UNKNOWN, n_blocks);
    return TIDE_OK;
}

/* A copy of a column that has room for any index; NULL: no memory. */
static uint32_t *indices_of(tide_arena *arena, const tide_narrow_column *column, size_t n_rows) {
    uint32_t *indices = tide_arena_alloc_raw(arena, n_rows, sizeof(*indices));
    for (size_t i = 0; indices != NULL && i < n_rows; i++) {
        indices[i] = tide_index_at(column, i);
    }
    return indices;
}

/* Copies of the tables that will be changed. */
static tide_status open_tables(tide_document *document) {
    tide_snapshot *snapshot = document->snapshot;
    tide_arena *arena = &snapshot->arena;
    size_t n_end = snapshot->n_end_blocks;
    size_t n_events = snapshot->n_events;
    document->scope = indices_of(arena, &snapshot->events.scope, n_events);
    document->name = indices_of(arena, &snapshot->events.name, n_events);
    document->category =
        tide_arena_copy(arena, snapshot->events.category, n_events, sizeof(*document->category));
    document->certainty = tide_arena_alloc(arena, n_events, sizeof(*document->certainty));
    document->end_rows = tide_arena_alloc(arena, n_end, sizeof(*document->end_rows));
    if (document->scope == NULL || document->name == NULL || document->category == NULL ||
        document->certainty == NULL || document->end_rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(open_blocks(arena, snapshot->start_blocks, snapshot->n_start_blocks,
                         &document->start_blocks, &document->start_certainty));
    TIDE_TRY(open_blocks(arena, snapshot->end_blocks, n_end, &document->end_blocks,
                         &document->end_certainty));
    memset(document->end_rows, 0, n_end * sizeof(*document->end_rows));
    memset(document->certainty, TIDE_CERTAINTY_UNKNOWN, n_events);
    snapshot->events.scope = (tide_narrow_column){document->scope, sizeof(*document->scope)};
    snapshot->events.name = (tide_narrow_column){document->name, sizeof(*document->name)};
    snapshot->events.category = document->category;
    snapshot->start_blocks = document->start_blocks;
    snapshot->end_blocks = document->end_blocks;
    snapshot->event_certainty = document->certainty;
    snapshot->start_block_certainty = document->start_certainty;
    snapshot->end_block_certainty = document->end_certainty;
    return TIDE_OK;
}

/* Applies the rules for blocks without a name, as for any PyTorch snapshot. */
static tide_status give_categories(tide_snapshot *snapshot) {
    tide_rules *rules = NULL;
    tide_error reason;
    TIDE_TRY(tide_rules_create(NULL, snapshot->arena.mem, &rules, &reason));
    tide_status status = tide_rules_apply(rules, snapshot, &reason);
    tide_rules_destroy(rules);
    return status;
}

/* Names by what the document itself shows, so its own texts must be complete. */
static tide_status name_activations(tide_document *document, const tide_recover_notes *notes) {
    bool has_all = notes != NULL && tide_document_text(notes, "live.operators")[0] != '\0';
    tide_strings_fini(&document->added);
    tide_strings_init(&document->added, document->snapshot->arena.mem);
    if (!has_all) { /* else each block has the name of its own operator */
        TIDE_TRY(tide_document_add_kept(document));
    }
    TIDE_TRY(tide_document_add_variables(document));
    TIDE_TRY(tide_document_copy_names(document));
    return store_strings(document);
}

static tide_status add_history(tide_document *document, const tide_recover_notes *notes) {
    tide_snapshot *snapshot = document->snapshot;
    TIDE_TRY(open_tables(document));
    TIDE_TRY(tide_document_add_steps(document));
    TIDE_TRY(tide_document_add_tensors(document));
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        TIDE_TRY(tide_document_align_kept(document, i));
    }
    if (notes != NULL && notes->extras != NULL) {
        TIDE_TRY(tide_document_add_places(document, notes->extras));
    }
    for (size_t i = 0; i < snapshot->n_end_blocks; i++) {
        if (document->end_rows[i] > 0) {
            document->end_blocks[i].scope = document->scope[document->end_rows[i] - 1];
        }
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        snapshot->n_dropped += (uint64_t)tide_document_first_row(document, i);
    }
    TIDE_TRY(store_strings(document));
    TIDE_TRY(name_activations(document, notes));
    return give_categories(snapshot);
}

tide_status tide_document_add_history(tide_snapshot *snapshot, const tide_left *left,
                                      const tide_recover_notes *notes) {
    tide_document document = {.snapshot = snapshot, .left = left};
    tide_strings_init(&document.added, snapshot->arena.mem);
    tide_status status = add_history(&document, notes);
    tide_strings_fini(&document.added);
    return status;
}

/* Sets the process' rank in its job. */
static tide_status set_rank(tide_snapshot *snapshot, const tide_left *left) {
    tide_snapshot_group *groups =
        tide_arena_alloc(&snapshot->arena, left->n_groups, sizeof(*groups));
    if (groups == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < left->n_groups; i++) {
        const tide_left_group *from = &left->groups[i];
        groups[i] = (tide_snapshot_group){
            .name = tide_arena_text(&snapshot->arena, tide_roles_group_name(from)),
            .description = tide_arena_text(&snapshot->arena, from->description),
            .size = from->size,
            .position = from->position,
            .first = from->first,
            .stride = from->stride};
        if (groups[i].name == NULL || groups[i].description == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    snapshot->rank = (tide_snapshot_rank){.rank = left->rank,
                                          .local_rank = left->local_rank,
                                          .world_size = left->world_size,
                                          .groups = groups,
                                          .n_groups = left->n_groups};
    return TIDE_OK;
}

static tide_status describe(tide_snapshot *snapshot, const tide_left *process,
                            const tide_launch_config *config) {
    if (process->rank >= 0) {
        TIDE_TRY(set_rank(snapshot, process));
    }
    TIDE_TRY(set_devices(snapshot, process, config));
    TIDE_TRY(set_run(snapshot, process, config));
    TIDE_TRY(tide_document_add_failure(snapshot, process));
    return set_software(snapshot, process);
}

/* PyTorch's own history, with the steps and names that we know. */
static tide_status read_history(const tide_left *process, tide_snapshot **ret_snapshot,
                                tide_error *error) {
    TIDE_TRY(tide_snapshot_load(process->snapshot_path, NULL, ret_snapshot, error));
    tide_status status = tide_document_add_history(*ret_snapshot, process, NULL);
    if (status != TIDE_OK) {
        tide_snapshot_destroy(*ret_snapshot);
    }
    return status;
}

tide_status tide_launch_document(const tide_left *process, const tide_left_list *list,
                                 const tide_launch_config *config, tide_snapshot **ret_snapshot,
                                 tide_error *error) {
    tide_snapshot *snapshot = NULL;
    int64_t beyond_bytes = -1;
    if (process->log_path != NULL) {
        tide_recover_report report;
        int64_t rank = -1;
        if (process->calls_path != NULL) {
            TIDE_TRY(tide_document_beyond_blocks(process->calls_path, &beyond_bytes, error));
        }
        TIDE_TRY(tide_document_from_log(process, &snapshot, &report, &rank, error));
    } else if (process->snapshot_path != NULL) {
        TIDE_TRY(read_history(process, &snapshot, error));
    } else if (process->calls_path != NULL) {
        TIDE_TRY(tide_document_from_calls(process->calls_path, &snapshot, &beyond_bytes, error));
    } else {
        return tide_fail(error, TIDE_INVALID,
                         "process %lld has no history: its allocator is not PyTorch's own (%s)",
                         (long long)process->pid, process->backend);
    }
    tide_status status = describe(snapshot, process, config);
    if (status == TIDE_OK) {
        status = set_inexact(snapshot, list, process, beyond_bytes);
    }
    if (status == TIDE_OK) {
        status = set_assumed(snapshot, list, process->pid);
    }
    if (status == TIDE_OK) {
        status = tide_document_add_serving(snapshot, list, process->pid);
    }
    if (status != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}
