/* The results of a run: its snapshots, its report, and the figures for comparison with further
 * runs. */
#include <string.h>

#include "cli/html_report.h"
#include "cli/run/internal.h"
#include "common/hostmem.h"
#include "programs/launch/document/document.h"
#include "programs/launch/left/peaks.h"
#include "programs/runs/work_areas.h"
#include "snapshot/explain/words/growth_words.h"

/* Makes the snapshot of a process, and saves it if there are names for files. */
static tide_status save_process(const tide_run_answer *of, size_t i, tide_run_saved *ret,
                                tide_error *error) {
    bool is_compared = strcmp(of->options->program.streams, "both") == 0;
    ret->left = &of->list->processes[i];
    if (!tide_left_has_history(ret->left)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_launch_document(ret->left, of->list, of->config, &ret->snapshot, error));
    TIDE_TRY(tide_summary_create(ret->snapshot, &ret->summary, error));
    if (of->config->cards != NULL) {
        TIDE_TRY(tide_run_add_work_areas(ret->left, ret->summary, ret->snapshot, error));
        TIDE_TRY(tide_run_set_unmeasured(of, i, ret->snapshot));
    }
    if (of->files == NULL) {
        return TIDE_OK;
    }
    if (!is_compared) {
        TIDE_TRY(tide_run_set_end(of, i, ret->snapshot));
    }
    TIDE_TRY(tide_run_add_time(of, i, ret->snapshot));
    TIDE_TRY(tide_run_name_process(of->files, of->list, i, ret->path, error));
    return tide_snapshot_save(ret->snapshot, ret->path, error);
}

static tide_status write_page(tide_run_answer *of, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_html_run *runs = tide_hostmem_zeroed(mem, of->list->n_processes + 1, sizeof(*runs));
    size_t n = 0;
    if (runs == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->list->n_processes; i++) {
        if (of->processes[i].snapshot != NULL) {
            runs[n++] = (tide_html_run){.path = of->processes[i].path,
                                        .snapshot = of->processes[i].snapshot};
        }
    }
    bool is_wanted = of->files->page[0] != '\0';
    n = is_wanted ? n : 0;
    tide_status status = n > 0 ? tide_html_report_write(of->files->page, runs, n, error) : TIDE_OK;
    of->has_page = status == TIDE_OK && n > 0;
    mem->release(mem->ctx, runs);
    return status;
}

static tide_status save(tide_run_answer *of, tide_run_saved *processes, bool writes,
                        tide_error *error) {
    for (size_t i = 0; i < of->list->n_processes; i++) {
        processes[i].left = &of->list->processes[i];
    }
    bool is_compared = strcmp(of->options->program.streams, "both") == 0;
    writes = writes && !tide_run_failed_early(of);
    bool is_again = of->files == NULL && (of->options->wants_need || of->options->wants_verify);
    bool has_history = writes || is_compared || is_again;
    for (size_t i = 0; has_history && i < of->list->n_processes; i++) {
        TIDE_TRY(save_process(of, i, &processes[i], error));
    }
    return writes ? write_page(of, error) : TIDE_OK;
}

/* What the recording shows about a device; nothing if there is no memory for it. */
static void add_facts(const tide_snapshot *snapshot, size_t device, tide_run_figures *to) {
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_text growth = tide_text_in(to->growth, sizeof(to->growth));
    if (tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL) != TIDE_OK) {
        return;
    }
    if (device < lifetimes.n_devices) {
        if (tide_facts_init(&facts, snapshot, &lifetimes, device) == TIDE_OK) {
            tide_run_note_lines(&facts, to);
            if (facts.growth.n_facts > 0) {
                tide_growth_add_words(&facts, &facts.growth.facts[0], &growth);
            }
        }
        tide_facts_fini(&facts);
    }
    tide_lifetimes_fini(&lifetimes);
}

/* The figures of the run: the peaks of its fullest card. */
static tide_run_figures figures_of(const tide_run_answer *of) {
    tide_run_figures figures = {
        .fits = true, .n_processes = of->list->n_processes, .has_failed = tide_run_has_failed(of)};
    for (size_t i = 0; i < of->list->n_processes; i++) {
        for (size_t d = 0; d < of->list->processes[i].n_devices; d++) {
            int64_t n_oom = of->list->processes[i].peaks[d].n_oom;
            figures.n_failed_requests += n_oom > 0 ? n_oom : 0;
        }
        figures.fits = figures.fits && !of->list->processes[i].is_out_of_memory;
    }
    if (figures.n_processes > 0) {
        tide_run_place at = tide_run_fullest(of);
        tide_run_place at_most = {0, 0};
        figures.allocated_bytes = tide_run_allocated_peak(of, at);
        figures.reserved_bytes = tide_run_reserved_peak(of, at);
        figures.area_bytes = tide_run_area_margin(of, at);
        figures.nccl = tide_run_nccl_of(of, at);
        figures.fits = figures.fits && tide_run_most_nccl(of, &at_most).missing_bytes == 0;
        figures.assumed_bytes = tide_run_assumed_bytes(of);
        const tide_run_saved *process = &of->processes[at.process];
        figures.n_steps = process->left->n_steps > 0 ? (uint64_t)process->left->n_steps : 0;
        if (process->snapshot != NULL) {
            add_facts(process->snapshot, at.device, &figures);
            if (tide_replay_settings(process->snapshot, &figures.settings, NULL, NULL) != TIDE_OK) {
                tide_cache_config_init(&figures.settings);
            }
        }
    }
    return figures;
}

tide_status tide_run_report(const tide_run_command_options *options,
                            const tide_launch_config *config, const tide_launch *launch,
                            const tide_run_files *files, tide_run_figures *ret_figures,
                            tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_left_list list;
    tide_run_answer answer = {
        .options = options, .config = config, .launch = launch, .list = &list, .files = files};
    tide_run_saved *processes = NULL;
    /* First, so it is reported even if the snapshots fail. */
    tide_error writes_error = {""};
    tide_status writes = files != NULL
                             ? tide_run_settle_writes(&answer, answer.kept_away,
                                                      sizeof(answer.kept_away), &writes_error)
                             : TIDE_OK;
    tide_status status = tide_left_read(launch, &list, error);
    if (status == TIDE_OK) {
        processes = tide_hostmem_zeroed(mem, list.n_processes + 1, sizeof(*processes));
        answer.processes = processes;
        status =
            processes != NULL ? save(&answer, processes, files != NULL, error) : TIDE_NO_MEMORY;
    }
    if (files != NULL && status != TIDE_OK) {
        tide_run_tell_writes(&answer);
    }
    if (status == TIDE_OK && files != NULL) {
        tide_run_tell(&answer);
        status = writes;
        if (status != TIDE_OK && error != NULL) {
            *error = writes_error;
        }
        if (status == TIDE_OK) {
            status = tide_run_keep_launches(&answer, error);
        }
    }
    if (status == TIDE_OK) {
        *ret_figures = figures_of(&answer);
        if (options->wants_verify && files != NULL) {
            tide_run_find_remedy(&answer, &ret_figures->remedy);
        }
        if (options->log_to != NULL && files != NULL) {
            ret_figures->log = tide_run_log_create(&answer);
        }
        if (strcmp(options->program.streams, "both") == 0) {
            tide_run_take_ends(&answer, ret_figures);
        }
    }
    for (size_t i = 0; processes != NULL && i < list.n_processes; i++) {
        tide_summary_destroy(processes[i].summary);
        tide_snapshot_destroy(processes[i].snapshot);
    }
    mem->release(mem->ctx, processes);
    tide_left_fini(&list);
    return status;
}
