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

/* The memory of a communicator of several nodes on a card, at the least: a guess. */
#define LEAST_BYTES (INT64_C(200) << 20)
#define MOST_BYTES ((int64_t)TIDE_RUN_COMMUNICATOR_MOST_BYTES)

/* The smallest all-reduce worth mentioning: DDP's smallest limit of a bucket. Norms and flags are
 * below it. */
#define BUCKET_BYTES (UINT64_C(1) << 20)

/* What one process did. */
typedef struct use {
    int device;             /* the one of the peak */
    tide_run_nccl_use live; /* on that card, at the end */
    tide_run_nccl_use peak; /* on that card, together */
    bool reduced_large;     /* all-reduces that were as large as DDP's buckets on the average */
} use;

static int64_t bytes_of(const tide_run_nccl_use *of) {
    return (int64_t)(of->charged_bytes + of->missing_bytes);
}

/* Libraries that call NCCL themselves, such as vLLM, do not use PyTorch's shelf. */
static bool reduced_large(const tide_run_communicators *read) {
    bool was_large = false;
    for (size_t i = 0; i < read->n_made && i < TIDE_RUN_COMMUNICATORS; i++) {
        const tide_run_communicator *of = &read->made[i];
        uint64_t n_calls = of->n_calls[TIDE_RUN_ALL_REDUCE];
        was_large = was_large || (of->is_configured && n_calls > 0 &&
                                  of->n_bytes[TIDE_RUN_ALL_REDUCE] / n_calls >= BUCKET_BYTES);
    }
    return was_large;
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

static void add_count(uint64_t n, tide_text *to) {
    if (n == 1) {
        tide_text_add(to, "the communicator of a card");
    } else {
        tide_text_add(to, "the %" PRIu64 " communicators of a card", n);
    }
}

static void add_missing(const tide_run_nccl_use *of, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    tide_text_add(to, "; %s of it does not fit on the card; NCCL would fail there",
                  tide_bytes_format((int64_t)of->missing_bytes, bytes));
}

/* --nccl-bytes. */
static void tell_stated(const tide_run_answer *of, const tide_run_nccl_use *most) {
    char line[512];
    char bytes[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "NCCL's own memory is not simulated; --nccl-bytes %s %s for ",
                  most->missing_bytes > 0 ? "asks for" : "charges",
                  tide_bytes_format((int64_t)of->config->nccl_bytes, bytes));
    tide_text_add(&text, "%s", most->n_made > 1 ? "each of " : "");
    add_count(most->n_made, &text);
    if (most->missing_bytes > 0) {
        add_missing(most, &text);
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_modelled(const tide_run_nccl_use *most) {
    char line[512];
    char texts[3][TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "NCCL's own memory is a model: likely %s (%s to %s) for ",
                  tide_bytes_format(bytes_of(most), texts[0]),
                  tide_bytes_format((int64_t)most->least_bytes, texts[1]),
                  tide_bytes_format((int64_t)most->most_bytes, texts[2]));
    add_count(most->n_modelled, &text);
    if (most->missing_bytes > 0) {
        add_missing(most, &text);
    } else {
        tide_text_add(&text, ", which the card is charged");
    }
    tide_text_add(&text, "; --nccl-bytes SIZE charges SIZE for each");
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_unknown(const tide_run_nccl_use *most) {
    uint64_t n = most->n_made - most->n_modelled;
    char texts[2][TIDE_BYTES_TEXT];
    tide_cli_note(
        TIDE_COMMAND_RUN,
        "NCCL's own memory%s is unknown, and the memory that is left is less by it: about "
        "%s to %s for %" PRIu64 " %s of a card; --nccl-bytes SIZE charges SIZE for each",
        most->n_between_nodes == n ? " between nodes" : "",
        tide_bytes_format((int64_t)n * LEAST_BYTES, texts[0]),
        tide_bytes_format((int64_t)n * MOST_BYTES, texts[1]), n,
        tide_plural(n, "communicator", "communicators"));
}

static void tell_memory(const tide_run_answer *of, const tide_run_nccl_use *most) {
    if (of->config->nccl_bytes != TIDE_LAUNCH_NCCL_MODEL) {
        tell_stated(of, most);
        return;
    }
    if (most->n_modelled > 0) {
        tell_modelled(most);
    }
    if (most->n_made > most->n_modelled) {
        tell_unknown(most);
    }
}

static void tell_range(bool is_late) {
    tide_cli_note(TIDE_COMMAND_RUN,
                  "the peak may be the %s end of a range: PyTorch holds the buffers of an "
                  "asynchronous all-reduce, such as DDP's buckets, until a thread that looks every "
                  "100 ms has seen its end, which is here %s; --streams both reports both ends",
                  is_late ? "high" : "low", is_late ? "between two steps" : "at once");
}

/* What the process did on the device, or on the one with the highest peak; `device` is -1. */
static use read_use(const tide_run_answer *of, size_t process, int device) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_communicators *read = tide_hostmem_zeroed(mem, 1, sizeof(*read));
    use found = {.device = device};
    if (read != NULL && read_file(of->launch, of->list->processes[process].pid, read)) {
        for (int d = 0; d < TIDE_RUN_DEVICES; d++) {
            if ((device < 0 || d == device) && tide_run_nccl_is_more(&read->peak[d], &found.peak)) {
                found.device = d;
                found.live = read->live[d];
                found.peak = read->peak[d];
            }
        }
        found.reduced_large = reduced_large(read);
    }
    mem->release(mem->ctx, read);
    return found;
}

bool tide_run_reduced_large(const tide_run_answer *of, size_t process) {
    return read_use(of, process, -1).reduced_large;
}

const char *tide_run_nccl_source(const tide_run_answer *of) {
    return of->config->nccl_bytes == TIDE_LAUNCH_NCCL_MODEL ? "a model" : "--nccl-bytes";
}

/* The segment that PyTorch's allocator asks for: of 2 MiB for requests up to 1 MiB, of 20 MiB for
 * those below 10 MiB, else of multiples of 2 MiB. */
static int64_t segment_bytes(int64_t n_bytes) {
    const int64_t mib = INT64_C(1) << 20;
    const int64_t grain = 2 * mib;
    if (n_bytes < 10 * mib) {
        return n_bytes <= mib ? grain : 20 * mib;
    }
    return n_bytes > INT64_MAX - grain ? INT64_MAX : (n_bytes + grain - 1) / grain * grain;
}

void tide_run_add_nccl(const tide_run_answer *of, tide_run_place at, int64_t asked_bytes,
                       int64_t free_bytes, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    int64_t charged = (int64_t)read_use(of, at.process, (int)at.device).live.charged_bytes;
    if (charged > 0) {
        bool would_fit =
            asked_bytes > free_bytes && segment_bytes(asked_bytes) - free_bytes <= charged;
        tide_text_add(to, "; NCCL's buffers (%s) are charged %s of the card%s",
                      tide_run_nccl_source(of), tide_bytes_format(charged, bytes),
                      would_fit ? ", and without them the request would fit" : "");
    }
}

tide_run_nccl_use tide_run_most_nccl(const tide_run_answer *of, tide_run_place *ret_at) {
    tide_run_nccl_use most = {.n_made = 0};
    for (size_t i = 0; i < of->list->n_processes; i++) {
        use own = read_use(of, i, -1);
        if (tide_run_nccl_is_more(&own.peak, &most)) {
            most = own.peak;
            *ret_at = (tide_run_place){i, (size_t)own.device};
        }
    }
    return most;
}

tide_run_nccl_use tide_run_nccl_of(const tide_run_answer *of, tide_run_place at) {
    return read_use(of, at.process, (int)at.device).peak;
}

/* Of all ranks and cards, those with the most. */
void tide_run_tell_nccl(const tide_run_answer *of) {
    tide_run_place at = {0, 0};
    tide_run_nccl_use most = tide_run_most_nccl(of, &at);
    bool was_large = false;
    for (size_t i = 0; i < of->list->n_processes; i++) {
        was_large = was_large || tide_run_reduced_large(of, i);
    }
    if (most.n_made > 0) {
        tell_memory(of, &most);
    }
    if (was_large && tide_run_has_pytorch(of) &&
        strcmp(of->options->program.streams, "both") != 0) {
        tell_range(strcmp(of->options->program.streams, "late") == 0);
    }
}
