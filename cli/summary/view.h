/* view.h - shared by the parts of `tidemark summary`, each of which adds its sentences and tables
 * to one report.
 */
#ifndef TIDE_CLI_SUMMARY_VIEW_H
#define TIDE_CLI_SUMMARY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "report/table.h"
#include "snapshot/analysis/alive_tree.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

typedef struct tide_summary_view {
    tide_report *report;               /* borrowed; filled */
    const tide_snapshot *snapshot;     /* borrowed, like every pointer below */
    const tide_lifetimes *lifetimes;   /* of the snapshot */
    const tide_scope_paths *paths;     /* of its scopes */
    const tide_summary_device *device; /* the device of the report */
    size_t device_number;              /* its index */
    size_t top;                        /* rows of a table of scopes, stacks or blocks */
    bool is_cut;                       /* events were lost, and the peak may have been then */
    bool is_peak;                      /* the instant is the peak: never so if is_cut */
    bool is_text;                      /* leading blanks of a cell are kept */
    bool is_for_programs;              /* CSV or JSON, which have further columns for programs */
    const char *when; /* "at the peak", "at event 1234", "when the file was written" */
    struct {
        tide_lifetimes lifetimes;
        tide_scope_paths paths;
        tide_summary *summary;
    } own; /* the data that the pointers above point to */
} tide_summary_view;

#define TIDE_ANY_DEVICE UINT64_MAX /* the one with the highest peak */

/* The subject of a report. */
typedef struct tide_summary_choice {
    uint64_t device; /* TIDE_ANY_DEVICE, or its index */
    const char *at;  /* in the form of tide_instant_find; NULL: the peak, or the end of a truncated
                        PyTorch history */
} tide_summary_choice;

/* Fills all but `top`, `is_text` and `is_for_programs`. The snapshot has a device. The view must
 * not be moved; the caller finishes it in any case. */
TIDE_NODISCARD tide_status tide_summary_view_init(tide_summary_view *view, tide_report *report,
                                                  const tide_snapshot *snapshot,
                                                  const tide_summary_choice *choice,
                                                  tide_error *error);

/* The same for one device at the instant that is chosen if none is given, with lifetimes of the
 * snapshot that the caller keeps until the view is finished. */
TIDE_NODISCARD tide_status tide_summary_view_init_from(tide_summary_view *view, tide_report *report,
                                                       const tide_snapshot *snapshot,
                                                       const tide_lifetimes *lifetimes,
                                                       size_t device, tide_error *error);
void tide_summary_view_fini(tide_summary_view *view);

/* A table without columns whose title has the instant: "Alive", ", by category" is "Alive at the
 * peak, by category". */
tide_table *tide_summary_table(const tide_summary_view *of, const char *key, const char *what,
                               const char *behind);

/* The text of a name, or "(no name)"; the path of a scope, which may be TIDE_NONE. */
const char *tide_summary_name(const tide_summary_view *of, uint32_t name);
const char *tide_summary_scope(const tide_summary_view *of, uint32_t scope);

/* The text of a number of a path: "forward > layer 3"; "" for TIDE_NONE. In the report's arena. */
const char *tide_summary_path(const tide_summary_view *of, uint32_t path);

/* The share of the instant's allocated bytes, in percent. */
tide_cell tide_summary_share(const tide_summary_view *of, int64_t n_bytes);

/* The columns that every table of shares has after its first one, or before its last one, and their
 * cells. */
void tide_summary_share_columns(tide_table *table);
void tide_summary_share_cells(const tide_summary_view *of, tide_table *table,
                              const tide_share *share);

/* The highest bytes of a total; -1: unknown, because events were lost. */
int64_t tide_summary_peak_bytes(const tide_summary_view *of, int total);

/* Whether PyTorch recorded the file. */
bool tide_summary_is_of_pytorch(const tide_summary_view *of);

/* `cut`: events of PyTorch's history are missing. Adds nothing if none are. */
void tide_say_cut(const tide_summary_view *of);

/* A sentence for each missing or contradictory part of the recording. */
void tide_summary_warnings(const tide_summary_view *of);

/* The same as tide_summary_inexact as sentences. */
void tide_say_inexact(const tide_summary_view *of);

/* The live memory at the instant, by category, phase, scope and call stack, and the largest
 * blocks. */
struct tide_verdict;
void tide_summary_alive(const tide_summary_view *of, const struct tide_verdict *verdict);
void tide_summary_alive_places(const tide_summary_view *of, const struct tide_verdict *verdict);

/* Every reserved byte of the instant, and the device's own figures if the file has them. */
void tide_summary_account(const tide_summary_view *of);

/* The reserved memory by pool and stream; nothing without a private pool. */
TIDE_NODISCARD tide_status tide_summary_pools(const tide_summary_view *of);

/* The memory that the device's driver allocated, by owner; nothing if the file does not have it. */
void tide_summary_owners(const tide_summary_view *of);

/* The versions of the other software of the run, and each function of a simulated device whose
 * effect on memory is not exactly known; nothing if the file names none. */
void tide_summary_software(const tide_summary_view *of);
void tide_summary_inexact(const tide_summary_view *of);
/* The values that the program read and that were assumed; nothing if there are none. */
void tide_summary_assumed(const tide_summary_view *of);
/* The figure `fits`; nothing if the file does not show it. */
void tide_summary_fits(const tide_summary_view *of);
/* What servers of language models and XLA report; nothing if there are none. */
void tide_summary_serving(const tide_summary_view *of);

/* The rules that determined the categories at the instant, and the bytes that each explains;
 * nothing for a recording whose categories do not come from rules. `path`: file of the user's
 * rules; NULL. */
TIDE_NODISCARD tide_status tide_summary_rules(const tide_summary_view *of, const char *path,
                                              tide_error *error);

/* The times of the phases, and the cost of the recorder. */
void tide_summary_timing(const tide_summary_view *of);

/* The live memory at the instant as a tree. */
TIDE_NODISCARD tide_status tide_summary_tree(const tide_summary_view *of,
                                             const tide_tree_plan *plan);

/* Why there are free bytes in reserved memory at the instant, and the requests that they could
 * serve. */
TIDE_NODISCARD tide_status tide_summary_fragmentation(const tide_summary_view *of);

/* `repeats`: whether each step repeats the one before it, and what grows; `leaks`: memory allocated
 * after warm-up and never released. */
TIDE_NODISCARD tide_status tide_summary_steps(const tide_summary_view *of, bool repeats,
                                              bool leaks);

#endif
