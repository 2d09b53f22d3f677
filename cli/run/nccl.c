/* The notes on a job that used NCCL: its own memory, which is not simulated, and peaks that can be
 * a range. docs/guide/ranks.md has the sources of the figures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "common/hostmem.h"
#include "common/text/plural.h"
#include "programs/wire/run_communicators.h"

/* The memory of a communicator of several nodes on a card: a guess, and the most that a user has
 * reported of any communicator. */
#define LEAST_BYTES (INT64_C(200) << 20)
#define MOST_BYTES INT64_C(1600000000)

/* The smallest all-reduce worth mentioning: DDP's smallest limit of a bucket. Norms and flags are
 * below it. */
#define BUCKET_BYTES (UINT64_C(1) << 20)

/* What one process did on one card. Bytes are those of all its communicators. */
typedef struct use {
    uint64_t n_made;     /* communicators */
    uint64_t n_modelled; /* of them, whose bytes are those of the model */
    uint64_t charged_bytes, missing_bytes, least_bytes, most_bytes;
    bool reduced_large; /* all-reduces that were as large as DDP's buckets on the average */
} use;

static void add(const tide_run_communicator *of, use *to) {
    uint64_t n_calls = of->n_calls[TIDE_RUN_ALL_REDUCE];
    uint64_t n_bytes = of->n_bytes[TIDE_RUN_ALL_REDUCE];
    uint64_t likely = of->charged_bytes + of->missing_bytes;
    /* Libraries that call NCCL themselves, such as vLLM, do not use PyTorch's shelf. */
    to->reduced_large = to->reduced_large ||
                        (of->is_configured && n_calls > 0 && n_bytes / n_calls >= BUCKET_BYTES);
    if (of->is_modelled) {
        bool is_single = of->n_ranks == 1 || likely > MOST_BYTES;
        to->n_modelled++;
        to->charged_bytes += of->charged_bytes;
        to->missing_bytes += of->missing_bytes;
        to->least_bytes += of->least_bytes;
        to->most_bytes += is_single ? likely : (uint64_t)MOST_BYTES;
    }
}

/* Reads the process' file; false if it has none. */
static bool read_file(const tide_launch *launch, int64_t pid, tide_run_communicators *read) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    (void)snprintf(path, sizeof(path), "%s/%" PRId64 TIDE_RUN_COMMUNICATORS_SUFFIX, launch->folder,
                   pid);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    size_t n_read = fread(read, sizeof(*read), 1, file);
    (void)fclose(file);
    return n_read == 1 && read->magic == TIDE_RUN_COMMUNICATORS_MAGIC;
}

static use use_of_device(const tide_run_communicators *read, int device) {
    use found = {.n_made = 0};
    for (size_t i = 0; i < read->n_made && i < TIDE_RUN_COMMUNICATORS; i++) {
        if (read->made[i].device == device) {
            found.n_made++;
            add(&read->made[i], &found);
        }
    }
    return found;
}

static bool is_more(const use *a, const use *b) {
    return a->charged_bytes + a->missing_bytes > b->charged_bytes + b->missing_bytes ||
           (a->charged_bytes + a->missing_bytes == b->charged_bytes + b->missing_bytes &&
            a->n_made > b->n_made);
}

static void add_count(uint64_t n, tide_text *to) {
    if (n == 1) {
        tide_text_add(to, "the communicator of a card");
    } else {
        tide_text_add(to, "the %" PRIu64 " communicators of a card", n);
    }
}

/* --nccl-bytes. */
static void tell_stated(const tide_run_answer *of, const use *most) {
    char line[512];
    char bytes[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "NCCL's own memory is not simulated; --nccl-bytes charges %s for ",
                  tide_bytes_format((int64_t)of->config->nccl_bytes, bytes));
    tide_text_add(&text, "%s", most->n_made > 1 ? "each of " : "");
    add_count(most->n_made, &text);
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_modelled(const use *most) {
    char line[512];
    char texts[4][TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "NCCL's own memory is a model: likely %s (%s to %s) for ",
                  tide_bytes_format((int64_t)(most->charged_bytes + most->missing_bytes), texts[0]),
                  tide_bytes_format((int64_t)most->least_bytes, texts[1]),
                  tide_bytes_format((int64_t)most->most_bytes, texts[2]));
    add_count(most->n_modelled, &text);
    if (most->missing_bytes > 0) {
        tide_text_add(&text, "; %s of it found no room on the card, where NCCL fails",
                      tide_bytes_format((int64_t)most->missing_bytes, texts[3]));
    } else {
        tide_text_add(&text, ", which the card is charged");
    }
    tide_text_add(&text, "; --nccl-bytes SIZE charges SIZE for each");
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_unknown(uint64_t n) {
    char texts[2][TIDE_BYTES_TEXT];
    tide_cli_note(TIDE_COMMAND_RUN,
                  "NCCL's own memory between nodes is unknown, and the memory that is left is less "
                  "by it: about %s to %s for %" PRIu64
                  " %s of a card; --nccl-bytes SIZE charges SIZE for each",
                  tide_bytes_format((int64_t)n * LEAST_BYTES, texts[0]),
                  tide_bytes_format((int64_t)n * MOST_BYTES, texts[1]), n,
                  tide_plural(n, "communicator", "communicators"));
}

static void tell_memory(const tide_run_answer *of, const use *most) {
    if (of->config->nccl_bytes != TIDE_LAUNCH_NCCL_MODEL) {
        tell_stated(of, most);
        return;
    }
    if (most->n_modelled > 0) {
        tell_modelled(most);
    }
    if (most->n_made > most->n_modelled) {
        tell_unknown(most->n_made - most->n_modelled);
    }
}

static void tell_range(bool is_late) {
    tide_cli_note(TIDE_COMMAND_RUN,
                  "the peak may be the %s end of a range: PyTorch holds the buffers of an "
                  "asynchronous all-reduce, such as DDP's buckets, until a thread that looks every "
                  "100 ms has seen its end, which is here %s; --streams both reports both ends",
                  is_late ? "high" : "low", is_late ? "between two steps" : "at once");
}

/* What the process did on the device, or on the one where it made the most; `device` is -1. */
static use read_use(const tide_run_answer *of, int64_t pid, int device) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_communicators *read = tide_hostmem_zeroed(mem, 1, sizeof(*read));
    use found = {.n_made = 0};
    bool reduced_large = false;
    if (read != NULL && read_file(of->launch, pid, read)) {
        for (int d = 0; d < TIDE_RUN_DEVICES; d++) {
            use own = use_of_device(read, d);
            reduced_large = reduced_large || own.reduced_large;
            if ((device < 0 || d == device) && is_more(&own, &found)) {
                found = own;
            }
        }
    }
    mem->release(mem->ctx, read);
    found.reduced_large = reduced_large;
    return found;
}

bool tide_run_reduced_large(const tide_run_answer *of, size_t process) {
    return read_use(of, of->list->processes[process].pid, -1).reduced_large;
}

void tide_run_add_nccl(const tide_run_answer *of, tide_run_place at, int64_t lacking_bytes,
                       tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    use own = read_use(of, of->list->processes[at.process].pid, (int)at.device);
    if (own.charged_bytes > 0) {
        tide_text_add(to, "; the model of NCCL's buffers had taken %s%s",
                      tide_bytes_format((int64_t)own.charged_bytes, bytes),
                      lacking_bytes <= (int64_t)own.charged_bytes
                          ? ", and without it the request would fit"
                          : "");
    }
}

/* Of all ranks and cards, those with the most. */
void tide_run_tell_nccl(const tide_run_answer *of) {
    use most = {.n_made = 0};
    bool reduced_large = false;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        use own = read_use(of, of->processes[i].left->pid, -1);
        reduced_large = reduced_large || own.reduced_large;
        if (is_more(&own, &most)) {
            most = own;
        }
    }
    if (most.n_made > 0) {
        tell_memory(of, &most);
    }
    if (reduced_large && tide_run_has_pytorch(of) &&
        strcmp(of->options->program.streams, "both") != 0) {
        tell_range(strcmp(of->options->program.streams, "late") == 0);
    }
}
