/* Sentences about the message of a request that found no memory. */
#include <inttypes.h>
#include <string.h>

#include "common/text/bytes.h"
#include "common/text/text.h"
#include "snapshot/kinds/file_answer_internal.h"

enum {
    NEAR_PERCENT = 3, /* of the capacity: less would not have helped for long */
    FULL_PERCENT = 80,
    OTHER_PERCENT = 10, /* of the device: less is CUDA's own context and libraries */
    POOL_PERCENT = 10,  /* of the capacity: less is not worth a sentence */
    WORDS_BYTES = 512
};

#define OTHER_BYTES (INT64_C(3) << 29)   /* 1.5 GiB */
#define CONTEXT_BYTES (INT64_C(5) << 29) /* 2.5 GiB: CUDA's context and its libraries at most */

typedef struct failure {
    const tide_oom_text *oom; /* borrowed */
    const tide_traceback *trace;
    tide_file_answer *answer;
    int64_t capacity; /* reserved and free: the memory that one process could use; -1: unknown */
    int64_t margin;   /* of it after the request */
    int64_t rounding; /* the margin is exact to so many bytes */
    int64_t others;   /* of the device, held by something else; -1: unknown */
    size_t own;       /* of the processes: this one; SIZE_MAX: none is known to be */
} failure;

#define BYTES(n) tide_bytes_format((n), (char[TIDE_BYTES_TEXT]){""})

static const char *allocator_of(const tide_oom_text *oom) {
    switch (oom->form) {
    case TIDE_OOM_PYTORCH:
    case TIDE_OOM_MPS:
    case TIDE_OOM_HOST:
        return "PyTorch";
    case TIDE_OOM_XLA:
        return "XLA";
    case TIDE_OOM_TENSORFLOW:
        return "TensorFlow";
    case TIDE_OOM_CUPY:
        return "CuPy";
    default:
        return "CUDA";
    }
}

/* The process of the message among those with numbers: in a container it has another number than it
 * knows, and its memory is what PyTorch had reserved and CUDA's own. */
static size_t find_own(const tide_oom_text *oom) {
    size_t found = SIZE_MAX;
    int64_t nearest = CONTEXT_BYTES;
    for (size_t i = 0; oom->own_bytes < 0 && i < oom->n_processes; i++) {
        int64_t more = oom->processes[i].bytes - oom->reserved_bytes;
        if (more >= -2 * tide_text_rounding(oom->reserved_bytes) && more < nearest) {
            nearest = more;
            found = i;
        }
    }
    return found;
}

/* The margin is a sum of printed figures; what is cached is one itself in some messages. */
static int64_t rounding_of(const tide_oom_text *oom) {
    return tide_text_rounding(oom->free_bytes) + tide_text_rounding(oom->requested_bytes) +
           (oom->cached_bytes >= 0 ? tide_text_rounding(oom->cached_bytes)
                                   : tide_text_rounding(oom->reserved_bytes) +
                                         tide_text_rounding(oom->allocated_bytes));
}

static void find_margin(failure *of) {
    const tide_oom_text *oom = of->oom;
    of->capacity = of->margin = of->others = -1;
    of->rounding = 0;
    of->own = find_own(oom);
    if (oom->reserved_bytes < 0 || oom->free_bytes < 0 || oom->allocated_bytes < 0 ||
        oom->requested_bytes < 0) {
        return;
    }
    int64_t room = oom->free_bytes;
    if (oom->limit_bytes >= 0 && oom->limit_bytes - oom->reserved_bytes < room) {
        room = oom->limit_bytes > oom->reserved_bytes ? oom->limit_bytes - oom->reserved_bytes : 0;
    }
    of->capacity = oom->reserved_bytes + room;
    of->margin = of->capacity - oom->allocated_bytes - oom->requested_bytes;
    of->rounding = rounding_of(oom);
    int64_t own = oom->own_bytes >= 0   ? oom->own_bytes
                  : of->own != SIZE_MAX ? oom->processes[of->own].bytes
                                        : oom->reserved_bytes;
    if (oom->total_bytes >= 0 && oom->total_bytes > oom->free_bytes + own) {
        of->others = oom->total_bytes - oom->free_bytes - own;
    }
}

/* ---- the headline ---- */

static void add_where(const failure *of, tide_text *to) {
    const tide_trace_frame *line = tide_file_answer_line(of->trace);
    if (line != NULL) {
        tide_text_add(to, of->trace->is_backward ? " in the backward pass that " : " at ");
        tide_file_answer_add_place(line, to);
        tide_text_add(to, of->trace->is_backward ? " starts" : "");
    }
}

static void add_source(const failure *of, tide_text *to) {
    const tide_trace_frame *line = tide_file_answer_line(of->trace);
    if (line != NULL && line->source[0] != '\0') {
        tide_text_add(to, " The line is `%s`.", line->source);
    }
}

static void add_figures(const tide_oom_text *oom, tide_text *to) {
    if (oom->free_bytes >= 0) {
        tide_text_add(to, ", %s free", BYTES(oom->free_bytes));
    }
    if (oom->reserved_bytes >= 0) {
        tide_text_add(to, " beside the %s that PyTorch had reserved", BYTES(oom->reserved_bytes));
    }
    if (oom->total_bytes >= 0) {
        tide_text_add(to, " of %s", BYTES(oom->total_bytes));
    }
    if (oom->reserved_bytes >= 0 && oom->allocated_bytes >= 0) {
        tide_text_add(to, "; %s was allocated", BYTES(oom->allocated_bytes));
    } else if (oom->allocated_bytes >= 0) {
        tide_text_add(to, "; %s had allocated %s", allocator_of(oom), BYTES(oom->allocated_bytes));
    }
}

static void say_headline(const failure *of, bool has_more) {
    const tide_oom_text *oom = of->oom;
    char words[TIDE_SENTENCE_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text, oom->form == TIDE_OOM_HOST ? "Out of host memory" : "Out of memory");
    if (strcmp(allocator_of(oom), "PyTorch") != 0) {
        tide_text_add(&text, " in %s", allocator_of(oom));
    }
    if (oom->device > 0) {
        tide_text_add(&text, " on device %" PRId64, oom->device);
    }
    add_where(of, &text);
    if (oom->requested_bytes >= 0) {
        tide_text_add(&text, ": %s asked for", BYTES(oom->requested_bytes));
        add_figures(oom, &text);
    }
    tide_text_add(&text, ".");
    add_source(of, &text);
    if (has_more) {
        tide_text_add(&text, " Other such messages follow; this is the first.");
    }
    tide_file_answer_say(of->answer, "oom", "%s", words);
}

/* ---- the cause, of PyTorch's messages ---- */

static bool is_of_limit(const tide_oom_text *oom) {
    return oom->limit_bytes >= 0 &&
           oom->reserved_bytes + oom->requested_bytes >=
               oom->limit_bytes - 2 * tide_text_rounding(oom->limit_bytes) &&
           oom->free_bytes >= oom->requested_bytes;
}

/* Figures that cannot be those of one card: the driver extends it with host memory. */
static bool is_spilled(const tide_oom_text *oom) {
    return oom->total_bytes >= 0 &&
           oom->reserved_bytes > oom->total_bytes + 4 * tide_text_rounding(oom->total_bytes);
}

/* Something else held so much that the request would have fitted without it. On ROCm the total is
 * that of the machine where a GPU has no memory of its own. */
static bool is_of_others(const failure *of) {
    const tide_oom_text *oom = of->oom;
    return !oom->is_hip && of->others >= OTHER_BYTES &&
           of->others >= oom->total_bytes / 100 * OTHER_PERCENT &&
           of->others + oom->free_bytes >= oom->requested_bytes;
}

static void add_processes(const failure *of, tide_text *to) {
    const tide_oom_text *oom = of->oom;
    size_t n = 0;
    for (size_t i = 0; i < oom->n_processes; i++) {
        if (i != of->own && oom->processes[i].bytes >= OTHER_BYTES / 10) {
            tide_text_add(to, "%sprocess %" PRId64 " had %s", n++ == 0 ? " (" : ", ",
                          oom->processes[i].number, BYTES(oom->processes[i].bytes));
        }
    }
    tide_text_add(to, n > 0 ? ")" : "");
}

static void say_others(const failure *of, const char *begin) {
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    bool knows_own = of->oom->own_bytes >= 0 || of->own != SIZE_MAX;
    add_processes(of, &text);
    tide_file_answer_say(
        of->answer, "cause",
        "%s%s of the card's %s was held by %s%s; without it, the request would have fitted. Cure: "
        "`nvidia-smi` lists the processes of the card: end those that are not needed.",
        begin, BYTES(of->others), BYTES(of->oom->total_bytes),
        knows_own ? "something other than this process"
                  : "something other than PyTorch's allocator in this process: another process, or "
                    "libraries of this one",
        words);
}

/* Whether the message is explained without regard to what the allocator had free. */
static bool say_plain_cause(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (oom->total_bytes >= 0 && oom->requested_bytes > oom->total_bytes) {
        tide_file_answer_say(
            of->answer, "cause",
            "The request alone is larger than the whole card: neither another process "
            "nor fragmentation is the cause, and no setting of the allocator helps. "
            "Cure: make this one tensor smaller (a smaller batch, length or "
            "resolution), or compute it in chunks.");
    } else if (is_spilled(oom)) {
        tide_file_answer_say(
            of->answer, "cause",
            "PyTorch had reserved more than the card has: the driver used host memory "
            "as well, as it does on Windows, so the free bytes of the message do not "
            "show what was left.");
    } else if (is_of_limit(oom)) {
        tide_file_answer_say(
            of->answer, "cause",
            "The limit of this process, %s "
            "(`torch.cuda.set_per_process_memory_fraction`), refused the request: the "
            "card had %s free.",
            BYTES(oom->limit_bytes), BYTES(oom->free_bytes));
    } else if (oom->free_bytes - tide_text_rounding(oom->free_bytes) >=
               oom->requested_bytes + tide_text_rounding(oom->requested_bytes)) {
        tide_file_answer_say(of->answer, "cause",
                             "The card had more free than was asked for, so these figures do not "
                             "explain the failure; fragmentation of PyTorch's memory is not its "
                             "cause.");
    } else {
        return false;
    }
    return true;
}

static bool is_near(const failure *of) {
    return of->margin < of->capacity / 100 * NEAR_PERCENT;
}

/* Where even one piece would hardly have served the request: what needed the memory. */
static void say_size(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (oom->total_bytes >= 0 && oom->requested_bytes >= oom->total_bytes / 2) {
        tide_file_answer_say(
            of->answer, "cause",
            "This one request is %d %% of the card. Cure: make the tensor smaller (a "
            "smaller batch, length or resolution), or compute it in chunks.",
            (int)(oom->requested_bytes * 100 / oom->total_bytes));
    } else if (oom->allocated_bytes >= of->capacity / 100 * FULL_PERCENT) {
        tide_file_answer_say(of->answer, "cause",
                             "Tensors filled what PyTorch could use: %s of %s was allocated.",
                             BYTES(oom->allocated_bytes), BYTES(of->capacity));
    }
}

/* In pieces, the free memory did not serve the request. */
static void say_fragmentation(const failure *of) {
    const tide_oom_text *oom = of->oom;
    int64_t cached = oom->reserved_bytes - oom->allocated_bytes;
    tide_file_answer_say(
        of->answer, "cause",
        "Fragmentation, or memory that is cached for another stream or a CUDA graph: "
        "%s that was reserved and not allocated and %s free on the card would have "
        "served the request in one piece, with %s left.",
        BYTES(cached), BYTES(oom->free_bytes), BYTES(of->margin));
}

static void say_margin(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (of->margin < -of->rounding) {
        tide_file_answer_say(of->answer, "oom_cause",
                             "Fragmentation plays no part: even in one piece, %s would have been "
                             "missing.",
                             BYTES(-of->margin));
    } else if (of->margin <= of->rounding) {
        tide_file_answer_say(
            of->answer, "oom_cause",
            "Fragmentation is not the cause: in one piece, nothing would have been "
            "left, within the %s to which the message rounds.",
            BYTES(of->rounding));
    } else if (is_near(of)) {
        tide_file_answer_say(
            of->answer, "oom_cause",
            "Fragmentation is not the cause: in one piece, only %s would have been "
            "left.",
            BYTES(of->margin));
    } else {
        say_fragmentation(of);
    }
    if (oom->private_pool_bytes > of->capacity / 100 * POOL_PERCENT) {
        tide_file_answer_say(
            of->answer, "reserved",
            "%s counted as allocated is memory of CUDA graphs' private pools, which no "
            "other request may use.",
            BYTES(oom->private_pool_bytes));
    }
}

static const char *setting_of(tide_oom_advice advice) {
    return advice == TIDE_OOM_ADVICE_EXPANDABLE ? "expandable_segments:True" : "max_split_size_mb";
}

/* Whether the figures support the setting that the message itself names. */
static void say_advice(const failure *of, bool is_fragmentation) {
    const tide_oom_text *oom = of->oom;
    const char *named = setting_of(oom->advice);
    if (oom->advice == TIDE_OOM_ADVICE_NONE) {
        return;
    }
    if (!is_fragmentation) {
        tide_file_answer_say(
            of->answer, "help",
            "The setting that the message names, %s, would not help by these figures.", named);
    } else if (of->trace->is_windows) {
        return; /* expandable segments are for Linux */
    } else if (oom->advice == TIDE_OOM_ADVICE_SPLIT) {
        tide_file_answer_say(
            of->answer, "help",
            "These figures support the setting that the message names, %s; they do not "
            "show the value, nor whether memory grows, which no setting cures.",
            named);
    } else {
        tide_file_answer_say(
            of->answer, "help",
            "These figures support %s (`PYTORCH_%s_ALLOC_CONF=expandable_segments:"
            "True`); they do not show whether memory grows, which no setting cures.",
            oom->advice == TIDE_OOM_ADVICE_EXPANDABLE
                ? "the setting that the message names"
                : "a setting against fragmentation, which PyTorch has since 2.1",
            oom->is_hip ? "HIP" : "CUDA");
    }
}

static void say_pytorch(const failure *of) {
    bool is_fragmentation = of->margin > of->rounding && !is_near(of);
    if (of->capacity < 0 || say_plain_cause(of)) {
        return;
    }
    if (!is_fragmentation && is_of_others(of)) {
        say_others(of, "");
    } else if (!is_fragmentation) {
        say_size(of);
    }
    say_margin(of);
    if (is_fragmentation && is_of_others(of)) {
        say_others(of, "Also: ");
    }
    say_advice(of, is_fragmentation);
}

/* ---- the others ---- */

static void say_mps(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (oom->limit_bytes >= 0 && oom->allocated_bytes >= 0 && oom->other_bytes >= 0) {
        tide_file_answer_say(
            of->answer, "cause",
            "The limit of the process is %s: %s allocated by PyTorch, %s by others and "
            "the request are more. Cure: a smaller batch, length or resolution; "
            "`PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0` removes the limit and may exhaust "
            "the memory of the machine.",
            BYTES(oom->limit_bytes), BYTES(oom->allocated_bytes), BYTES(oom->other_bytes));
    }
}

static void say_xla(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (oom->program_bytes >= 0 && oom->parameter_bytes >= 0 && oom->output_bytes >= 0 &&
        oom->temporary_bytes >= 0) {
        tide_file_answer_say(
            of->answer, "filled",
            "The compiled program needs %s: %s of arguments, %s of results and %s of "
            "temporaries.",
            BYTES(oom->program_bytes), BYTES(oom->parameter_bytes), BYTES(oom->output_bytes),
            BYTES(oom->temporary_bytes));
    }
    if (oom->buffer[0] != '\0') {
        tide_file_answer_say(of->answer, "cause", "The largest buffer of the program: %s.",
                             oom->buffer);
    }
    tide_file_answer_say(
        of->answer, "unknown",
        "Not known from a message: what filled the card. "
        "`jax.profiler.save_device_memory_profile(\"memory.prof\")` before the line "
        "records the arrays that are alive; `pprof` shows them.");
}

static void say_host(const failure *of) {
    tide_file_answer_say(
        of->answer, "cause",
        "This is memory of the machine, not of a GPU: a tensor on the processor needs "
        "it.");
}

static void say_limited(const failure *of) {
    const tide_oom_text *oom = of->oom;
    if (oom->limit_bytes >= 0) {
        tide_file_answer_say(of->answer, "cause", "The limit of CuPy's memory pool is %s.",
                             BYTES(oom->limit_bytes));
    }
}

static void say_cuda(const failure *of) {
    tide_file_answer_say(
        of->answer, "cause",
        "The message has no figures: a call of CUDA itself was refused, not a request "
        "of a framework's allocator, which would print them.%s",
        of->oom->may_be_late ? " An earlier call may have failed: with "
                               "`CUDA_LAUNCH_BLOCKING=1` the line is the right one."
                             : "");
}

static void say_unknown(const failure *of) {
    const tide_oom_text *oom = of->oom;
    char words[WORDS_BYTES];
    tide_text text = tide_text_in(words, sizeof(words));
    if (oom->allocated_bytes > 0) {
        tide_text_add(&text, "what holds the %s, and whether it grows",
                      BYTES(oom->allocated_bytes));
    } else {
        tide_text_add(&text, "what filled the memory");
    }
    tide_file_devices devices = oom->is_hip   ? TIDE_FILE_ROCM
                                : oom->is_xpu ? TIDE_FILE_XPU
                                              : TIDE_FILE_CUDA;
    tide_file_answer_say_record(of->answer, of->trace, devices, "a message", words);
}

static void add_all_figures(const failure *of) {
    const tide_oom_text *oom = of->oom;
    tide_file_answer_figure(of->answer, "requested_bytes", oom->requested_bytes);
    tide_file_answer_figure(of->answer, "free_bytes", oom->free_bytes);
    tide_file_answer_figure(of->answer, "total_bytes", oom->total_bytes);
    tide_file_answer_figure(of->answer, "allocated_bytes", oom->allocated_bytes);
    tide_file_answer_figure(of->answer, "reserved_bytes", oom->reserved_bytes);
    tide_file_answer_figure(of->answer, "other_bytes", of->others);
}

void tide_file_answer_oom(tide_file_answer *answer, const tide_log_text *log) {
    failure of = {.oom = &log->oom, .trace = &log->trace, .answer = answer};
    find_margin(&of);
    say_headline(&of, log->has_more);
    switch (log->oom.form) {
    case TIDE_OOM_PYTORCH:
        say_pytorch(&of);
        break;
    case TIDE_OOM_MPS:
        say_mps(&of);
        break;
    case TIDE_OOM_XLA:
        say_xla(&of);
        break;
    case TIDE_OOM_CUPY:
        say_limited(&of);
        break;
    case TIDE_OOM_HOST:
        say_host(&of);
        break;
    case TIDE_OOM_CUDA:
        say_cuda(&of);
        break;
    default:
        break;
    }
    add_all_figures(&of);
    if (log->oom.form == TIDE_OOM_PYTORCH || log->oom.form == TIDE_OOM_CUPY ||
        log->oom.form == TIDE_OOM_CUDA_REQUEST || log->oom.form == TIDE_OOM_CUDA) {
        say_unknown(&of);
    }
}
