/* internal.h - the parts of `tidemark run`.
 */
#ifndef TIDE_CLI_RUN_INTERNAL_H
#define TIDE_CLI_RUN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/calibration.h"
#include "cli/files.h"
#include "cli/options/program_options.h"
#include "cli/run/live_options.h"
#include "common/text/text.h"
#include "programs/launch/cards.h"
#include "programs/launch/launch.h"
#include "programs/launch/left/left.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"
#include "replay/remedy.h"
#include "snapshot/explain/facts.h"
#include "programs/step_time/pace.h"
#include "programs/wire/run_communicators.h"

#define TIDE_COMMAND_RUN "run"
#define TIDE_RUN_NO_PAGE "none" /* of --html: no report is written */

typedef struct tide_run_command_options {
    const char *device;          /* NULL: the cards of this machine */
    const char *output;          /* of -o; NULL: named after the program */
    const char *page;            /* of --html; NULL: next to the snapshot; or TIDE_RUN_NO_PAGE */
    uint64_t n_steps;            /* 0: to the end */
    uint64_t memory_limit_bytes; /* of each card; 0: the card's */
    uint64_t spill_bytes;        /* of each card, in the host's memory; 0: none */
    tide_program_options program;
    tide_live_options live;
    uint64_t world;          /* size of a larger world; 0: the program starts its own ranks */
    const char *ranks;       /* the ranks that run: a list, or "auto"; NULL with world 0 */
    uint64_t nccl_bytes;     /* of each communicator; TIDE_LAUNCH_NCCL_MODEL: the model's */
    const char *keep_writes; /* NULL: the program's writes are discarded */
    const char *log_to;      /* of --log-to: trackers, with commas; NULL: none */
    const char *changes;     /* of --apply; NULL: the program runs as it is */
    bool wants_need;         /* --need */
    bool wants_verify;       /* --verify */
    bool wants_time;         /* --time */
    const char *launch_log;  /* of --launch-log; NULL: the log is not kept */
    const char *clock;       /* of --clock: "real" or "virtual" */
    tide_host_options host;  /* the host whose time is forecast */
} tide_run_command_options;

/* Names of the files that a run writes. */
typedef struct tide_run_files {
    char snapshot[TIDE_PATH_BYTES]; /* of the first process */
    char page[TIDE_PATH_BYTES];     /* "": none is wanted */
    bool is_named;                  /* the user named the snapshot */
    int reserved_fd; /* reserves its name against other processes (numbers.h); -1: not reserved */
} tide_run_files;

/* files.c. Names the files and checks that they may be written. `arguments`: the command. */
TIDE_NODISCARD tide_status tide_run_name_files(const tide_run_command_options *options,
                                               char *const *arguments, tide_run_files *ret_files,
                                               tide_error *error);
/* The name of the program: its Python file or module, or else the command. */
void tide_run_name_program(char *const *arguments, char *ret_name, size_t n_room);
/* The snapshot's name of process number i of n: with more than one, the rank or the process ID
 * precedes the ending. TIDE_LIMIT if it is too long. */
TIDE_NODISCARD tide_status tide_run_name_process(const tide_run_files *files,
                                                 const tide_left_list *list, size_t i,
                                                 char ret_path[TIDE_PATH_BYTES], tide_error *error);

/* The name of a snapshot that is written while the program runs, derived from that of the snapshot
 * at its end: "train-gpu-at-1.json.gz" for "at" and 1. */
TIDE_NODISCARD tide_status tide_run_name_moment(const tide_run_files *files, const char *word,
                                                size_t number, char ret_path[TIDE_PATH_BYTES],
                                                tide_error *error);

/* One process of the run, as it was saved. */
typedef struct tide_run_saved {
    const tide_left *left;
    tide_snapshot *snapshot; /* owned; NULL: no history */
    tide_summary *summary;   /* owned; of the snapshot */
    char path[TIDE_PATH_BYTES];
} tide_run_saved;

/* The subject of the answer. */
typedef struct tide_run_answer {
    const tide_run_command_options *options;
    const tide_launch_config *config;
    const tide_launch *launch;
    const tide_left_list *list;
    const tide_run_saved *processes; /* as many as the list has */
    const tide_run_files *files;
    char kept_away[4096]; /* the fate of files that the program wrote; "": unknown */
    bool has_page;        /* the report was written */
} tide_run_answer;

/* The process and the device with the highest peak of reserved bytes. */
typedef struct tide_run_place {
    size_t process, device;
} tide_run_place;
tide_run_place tide_run_fullest(const tide_run_answer *of);

/* The peaks of a device: PyTorch's statistics, or the history if the program reset those. */
int64_t tide_run_allocated_peak(const tide_run_answer *of, tide_run_place at);
int64_t tide_run_reserved_peak(const tide_run_answer *of, tide_run_place at);

const char *tide_run_card_name(const tide_run_answer *of, tide_run_place at);
/* The bytes of the card that were never used, by all processes together and with their contexts. */
int64_t tide_run_left_of(const tide_run_answer *of, tide_run_place at);
/* With several processes on the card: the memory that they used together. */
void tide_run_add_together(const tide_run_answer *of, tide_run_place at, tide_text *to);

/* time.c. Checks --time and --launch-log: the cards' rates, and the path of the log. */
TIDE_NODISCARD tide_status tide_run_check_time(const tide_run_command_options *options,
                                               const char *cards, tide_error *error);
/* Prints the forecast for the given process and card, or for the slowest rank of a job, and also
 * any fault of a log. */
void tide_run_tell_time(const tide_run_answer *of, tide_run_place at);
/* With --time: the forecast of a process, in its snapshot. A log that cannot be read is reported by
 * tide_run_tell_time, and adds nothing. */
TIDE_NODISCARD tide_status tide_run_add_time(const tide_run_answer *of, size_t process,
                                             tide_snapshot *snapshot);
/* Keeps the launch logs under the name of --launch-log. */
TIDE_NODISCARD tide_status tide_run_keep_launches(const tide_run_answer *of, tide_error *error);

/* near.c. Whether the program leaves less of the card than what is not measured: its context, and
 * the largest work areas of cuDNN beyond the likely ones. False without an account of the card. */
bool tide_run_is_near(const tide_run_answer *of, tide_run_place at);
/* The bytes by which the largest work areas raise the reserved peak. */
int64_t tide_run_area_margin(const tide_run_answer *of, tide_run_place at);
/* Stores in the snapshot of a process what is not measured of each card that the program fits, for
 * the verdict of `explain`. */
TIDE_NODISCARD tide_status tide_run_set_unmeasured(const tide_run_answer *of, size_t process,
                                                   tide_snapshot *snapshot);
/* Appends what of the remaining bytes is not measured, with an estimate; nothing if all is. */
void tide_run_add_unmeasured(const tide_run_answer *of, tide_run_place at, tide_text *to);

/* changes.c. With --apply: prints what was changed in the program, and what was refused. */
void tide_run_tell_changes(const tide_run_answer *of);

/* clock.c. Checks --clock against the device. */
TIDE_NODISCARD tide_status tide_run_check_clock(const tide_run_command_options *options,
                                                tide_error *error);
/* With --clock virtual: sets the config's clock, in `text`. TIDE_INVALID if the cards have none. */
TIDE_NODISCARD tide_status tide_run_set_clock(const tide_run_command_options *options,
                                              char text[TIDE_TIME_PACE_TEXT],
                                              tide_launch_config *config, tide_error *error);
/* Prints that times of the program were a forecast. */
void tide_run_tell_clock(const tide_run_answer *of);

/* pools.c. Prints a line for each cache of keys and values of a server such as vLLM. */
void tide_run_tell_pools(const tide_run_answer *of);
/* Prints XLA's own figures of a JAX program. */
void tide_run_tell_xla(const tide_run_answer *of);
/* Whether a server or XLA had too little room of its own and ended the program, so the program does
 * not fit. Appends what was too small, unless `to` is NULL. */
bool tide_run_add_refusal(const tide_run_answer *of, tide_text *to);

/* Prints a line for each card that had more bytes in use than its memory. */
void tide_run_tell_spill(const tide_run_answer *of);

/* The source of the requests: PyTorch, or a program without it. `snapshot` NULL: no history. */
const char *tide_run_who(const tide_snapshot *snapshot);

/* Whether PyTorch was imported by a process that left its data. */
bool tide_run_has_pytorch(const tide_run_answer *of);

/* host_limit.c. Prints a line about a limit of the host that may have ended the program; none
 * otherwise. */
void tide_run_tell_host_limit(const tide_run_answer *of);

/* assumed.c. Prints the values that were assumed, the most important first. */
void tide_run_tell_assumed(const tide_run_answer *of);
/* The bytes that all their possible rows take more, in the process where these are most. */
int64_t tide_run_assumed_bytes(const tide_run_answer *of);
/* The condition of "it fits" if the run would not fit with all rows; nothing otherwise. */
void tide_run_add_assumed_limit(const tide_run_answer *of, tide_text *to);

/* inexact.c. Prints the values that are not exact, and the failures of the host. */
void tide_run_tell_inexact(const tide_run_answer *of);
/* Prints a line for each source that could not be recorded. */
void tide_run_tell_limits(const tide_run_answer *of);

/* linked.c. Prints which files brought a CUDA runtime of their own; nothing if none did. */
void tide_run_tell_linked(const tide_run_answer *of);

/* nccl.c. Prints the memory of NCCL itself, and whether a peak depends on when its work ends;
 * nothing if no process made a communicator. */
void tide_run_tell_nccl(const tide_run_answer *of);
/* Appends what NCCL's buffers are charged of a card on which a request failed, and whether the
 * request would fit without that; nothing if they are charged nothing. */
void tide_run_add_nccl(const tide_run_answer *of, tide_run_place at, int64_t asked_bytes,
                       int64_t free_bytes, tide_text *to);
/* Who states the bytes of NCCL's buffers: "a model", or "--nccl-bytes". */
const char *tide_run_nccl_source(const tide_run_answer *of);
/* Of all processes and cards, the highest peak of NCCL's buffers; first those that do not fit. Sets
 * its place if there is one. */
tide_run_nccl_use tide_run_most_nccl(const tide_run_answer *of, tide_run_place *ret_at);
tide_run_nccl_use tide_run_nccl_of(const tide_run_answer *of, tide_run_place at);

/* others.c. Prints a line for each further card that was used, after the first one. */
void tide_run_tell_other_cards(const tide_run_answer *of, tide_run_place first);
size_t tide_run_n_cards_used(const tide_run_answer *of);
/* For a failed program: prints that it lacks a card, or, without another explanation, that no
 * values are computed. */
void tide_run_tell_cause(const tide_run_answer *of);

/* writes.c. Counts the files that the program wrote and moves them to the folder of --keep-writes.
 * The text states whether its writes were diverted; it is empty on a GPU of this machine, where
 * they never are. */
TIDE_NODISCARD tide_status tide_run_settle_writes(const tide_run_answer *of, char *ret_text,
                                                  size_t n_text, tide_error *error);

/* Prints that text unless another line has it. */
void tide_run_tell_writes(const tide_run_answer *of);

/* nccl.c. Whether a process reduced as many bytes in one call as DDP does, so its peak may be an
 * end of a range. */
bool tide_run_reduced_large(const tide_run_answer *of, size_t process);

/* places.c. " in step 1, in the forward pass, at forward (train.py:42)": where a row of the history
 * happened. Nothing for -1. */
void tide_run_say_where(const tide_snapshot *snapshot, int64_t event, tide_text *to);

/* Prints the requests that the card refused at first and that succeeded later, if any. */
void tide_run_tell_retries(const tide_run_answer *of, tide_run_place at);

enum { TIDE_RUN_MAX_FAILURES = 3 }; /* failed requests that are reported individually */

/* watch.c. The reports while the program runs. */
typedef struct tide_run_watch {
    const tide_run_command_options *options;
    const tide_launch_config *config;
    const tide_run_files *files;
    int n_asked;       /* requested snapshots */
    size_t n_failures; /* requests that failed, in all processes */
    size_t n_told;
    tide_left_failures told[TIDE_RUN_MAX_FAILURES]; /* by process */
} tide_run_watch;

/* The hook of tide_launch_config; ctx is a tide_run_watch. */
void tide_run_look(void *ctx, const tide_launch *launch, bool was_asked);
/* Prints the number of failures that were not reported individually. */
void tide_run_end_watch(const tide_run_watch *watch);

/* ranks.c. Whether the processes are ranks of one job, so the answer is about all of them. */
bool tide_run_is_job(const tide_run_answer *of);
/* The rank of a job that failed first. False if none did, or it is unknown. */
bool tide_run_first_failure(const tide_run_answer *of, size_t *ret_process);
/* Prints a line for each fold of ranks with equal peaks. */
void tide_run_tell_ranks(const tide_run_answer *of, tide_run_place fullest);
/* ", on each of the 4 ranks that ran, of 1024: rank 7 is the fullest" */
void tide_run_add_ranks(const tide_run_answer *of, tide_run_place fullest, tide_text *to);
/* The card of the process that it filled most. */
size_t tide_run_fullest_card(const tide_run_answer *of, size_t process);

/* choose_ranks.c. The ranks of the options: those of the list, or those that rank 0 shows to
 * differ; in this case rank 0 runs first, quietly. `config` is complete except for its ranks. */
TIDE_NODISCARD tide_status tide_run_find_ranks(const tide_run_command_options *options,
                                               const tide_launch_config *config, tide_ranks *ret,
                                               tide_error *error);
/* Whether the options about ranks go together, and with the command. */
TIDE_NODISCARD tide_status tide_run_check_ranks(const tide_run_command_options *options,
                                                char *const *arguments, tide_error *error);

/* facts.c. Prints the sentences of `tidemark explain`. `is_out`: the process ended out of memory,
 * and the request was printed. */
void tide_run_tell_facts(const tide_run_answer *of, tide_run_place at, bool is_out);
/* The same for the ranks of a job: "3 of 8 ranks: SENTENCE". */
void tide_run_tell_rank_facts(const tide_run_answer *of);

/* failure.c. Whether the program ended by a signal or with another status than 0. */
bool tide_run_has_failed(const tide_run_answer *of);
/* Whether it failed before any of its processes allocated GPU memory or requested more than was
 * free. */
bool tide_run_failed_early(const tide_run_answer *of);
/* "the program failed: ValueError: no data, at main (train.py:58)", or its status or signal.
 * `when`: follows the verb; begins with a blank, or is empty. For a failed program. */
void tide_run_say_failure(const tide_run_answer *of, const char *when, tide_text *to);
/* Prints the line about a program that failed before it allocated GPU memory. */
void tide_run_tell_early_failure(const tide_run_answer *of);

/* answer.c. Prints the lines on stderr at the end of a run. */
void tide_run_tell(const tide_run_answer *answer);

enum { TIDE_RUN_MAX_LINES = 32, TIDE_RUN_LINE_BYTES = 160, TIDE_RUN_GROWTH_BYTES = 512 };

/* The bytes that a line of the program holds at the peak. */
typedef struct tide_run_line {
    char text[TIDE_RUN_LINE_BYTES]; /* "": not a line of the program */
    int64_t bytes;
} tide_run_line;

typedef struct tide_run_end tide_run_end; /* ends.c */
typedef struct tide_run_log tide_run_log; /* log_to.c */

/* The figures of a run. tide_run_figures_fini releases what they own. */
typedef struct tide_run_figures {
    bool fits; /* no process ended out of memory, and NCCL's buffers fit */
    size_t n_processes;
    int64_t allocated_bytes, reserved_bytes; /* peaks on the fullest card */
    tide_run_line lines[TIDE_RUN_MAX_LINES]; /* at the first of them; the largest */
    size_t n_lines;   /* 0: unknown, because the run was made only for its figures */
    uint64_t n_steps; /* of the fullest process */
    char growth[TIDE_RUN_GROWTH_BYTES]; /* "by 6.00 MiB a step at ..."; "": none, or unknown */
    tide_run_nccl_use nccl;             /* the peak of NCCL's buffers on the fullest card */
    int64_t area_bytes;        /* by which the largest work areas raise its reserved peak */
    int64_t assumed_bytes;     /* that all rows of assumed values may take more, in a process */
    bool has_failed;           /* the program ended by a signal or with another status than 0 */
    int64_t n_failed_requests; /* of all processes */
    tide_cache_config
        settings;       /* of the allocator, recorded; in the process with the highest peak */
    tide_remedy remedy; /* with --verify, of the first run */
    tide_run_end *ends; /* owned; by process. NULL: not requested, or the run failed */
    tide_run_log *log;  /* owned; what --log-to logs. NULL: nothing */
} tide_run_figures;

/* report.c. Reads the files that the run left. With files, saves snapshots and report and prints
 * the answer. */
TIDE_NODISCARD tide_status tide_run_report(const tide_run_command_options *options,
                                           const tide_launch_config *config,
                                           const tide_launch *launch, const tide_run_files *files,
                                           tide_run_figures *ret_figures, tide_error *error);

/* need.c. Prints the memory that the program needs on a card without a limit, and the smallest card
 * that has it, or why it depends on the number of steps. */
void tide_run_tell_need(const tide_run_command_options *options, const tide_run_figures *figures);
/* verify.c. The setting that explain's answer names for this run, from its process that ran out of
 * memory, or that has the highest peak. `ret` is unchanged if it cannot be found. */
void tide_run_find_remedy(const tide_run_answer *of, tide_remedy *ret);
/* Prints that setting, of a run that ran out of memory. */
void tide_run_tell_remedy(const tide_run_answer *of);
/* Prints whether a run with that setting did what the replay said. */
void tide_run_say_verified(const tide_run_figures *first, const tide_run_figures *again);
/* Prints that no setting is named: nothing is verified. */
void tide_run_say_unverified(const tide_run_figures *first);

enum { TIDE_RUN_VERIFIED_BYTES = 512 };

/* verified_words.c. "verified: with PYTORCH_CUDA_ALLOC_CONF=..". Returns `text`. */
const char *tide_run_verified_words(const tide_run_figures *first, const tide_run_figures *again,
                                    char text[TIDE_RUN_VERIFIED_BYTES]);
/* range.c. Adds the bytes that the lines of the program hold at the peak of the facts. */
void tide_run_note_lines(const tide_facts *facts, tide_run_figures *to);
/* Prints how much the peak depends on when work on streams completes: immediately, or when the host
 * waits. */
void tide_run_tell_range(tide_run_figures *now, tide_run_figures *late);

/* log_to.c. Checks the names of --log-to. */
TIDE_NODISCARD tide_status tide_run_check_log_to(const tide_run_command_options *options,
                                                 tide_error *error);
/* What is logged of the run, while the folder of the launch exists. NULL, with the reason printed,
 * if nothing can be. The caller destroys it. */
tide_run_log *tide_run_log_create(const tide_run_answer *of);
void tide_run_log_destroy(tide_run_log *log);
/* Logs, in a process of its own, and prints its lines. NULL: does nothing. Failures change no
 * status. */
void tide_run_log_send(const tide_run_log *log);

/* ends.c. The peaks of all processes, for tide_run_keep_range. */
void tide_run_take_ends(const tide_run_answer *of, tide_run_figures *to);
void tide_run_figures_fini(tide_run_figures *figures);
/* Writes the range between two runs into the snapshots of the first, or explains why it cannot. */
TIDE_NODISCARD tide_status tide_run_keep_range(const tide_run_figures *now,
                                               const tide_run_figures *late, tide_error *error);
/* For a program that is run once: its peak as one end, if it may be one. */
TIDE_NODISCARD tide_status tide_run_set_end(const tide_run_answer *of, size_t process,
                                            tide_snapshot *snapshot);

#endif
