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

/* The memory of a communicator on a card: a guess, and the most that a user has reported. */
#define LEAST_BYTES (INT64_C(200) << 20)
#define MOST_BYTES INT64_C(1600000000)

/* The smallest all-reduce worth mentioning: DDP's smallest limit of a bucket. Norms and flags are
 * below it. */
#define BUCKET_BYTES (UINT64_C(1) << 20)

/* What one process did. */
typedef struct use {
    uint64_t n_made;    /* communicators */
    bool reduced_large; /* all-reduces that were as large as DDP's buckets on the average */
} use;

static use use_of(const tide_launch *launch, int64_t pid, tide_run_communicators *read) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    use found = {.n_made = 0};
    (void)snprintf(path, sizeof(path), "%s/%" PRId64 TIDE_RUN_COMMUNICATORS_SUFFIX, launch->folder,
                   pid);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return found;
    }
    size_t n_read = fread(read, sizeof(*read), 1, file);
    (void)fclose(file);
    if (n_read != 1 || read->magic != TIDE_RUN_COMMUNICATORS_MAGIC) {
        return found;
    }
    found.n_made = read->n_made;
    for (size_t i = 0; i < found.n_made && i < TIDE_RUN_COMMUNICATORS; i++) {
        uint64_t n_calls = read->made[i].n_calls[TIDE_RUN_ALL_REDUCE];
        uint64_t n_bytes = read->made[i].n_bytes[TIDE_RUN_ALL_REDUCE];
        found.reduced_large =
            found.reduced_large || (n_calls > 0 && n_bytes / n_calls >= BUCKET_BYTES);
    }
    return found;
}

static void tell_memory(const tide_run_answer *of, uint64_t n_made) {
    char line[512];
    char texts[2][TIDE_BYTES_TEXT];
    int64_t n = (int64_t)n_made;
    tide_text text = tide_text_in(line, sizeof(line));
    tide_text_add(&text, "NCCL's own memory is not simulated");
    if (of->config->nccl_bytes > 0) {
        tide_text_add(&text, ": --nccl-bytes takes %s of the card for each communicator",
                      tide_bytes_format((int64_t)of->config->nccl_bytes, texts[0]));
    } else {
        tide_text_add(
            &text, ", and what is left is less by it: about %s to %s for each communicator",
            tide_bytes_format(LEAST_BYTES, texts[0]), tide_bytes_format(MOST_BYTES, texts[1]));
    }
    tide_text_add(&text, "; a rank made up to %" PRIu64 " %s", n_made,
                  tide_plural(n_made, "communicator", "communicators"));
    if (of->config->nccl_bytes == 0) {
        tide_text_add(&text, ", %s to %s; --nccl-bytes SIZE takes SIZE of the card for each",
                      tide_bytes_format(n * LEAST_BYTES, texts[0]),
                      tide_bytes_format(n * MOST_BYTES, texts[1]));
    }
    tide_cli_note(TIDE_COMMAND_RUN, "%s", line);
}

static void tell_range(bool is_late) {
    tide_cli_note(TIDE_COMMAND_RUN,
                  "the peak may be the %s end of a range: PyTorch holds the buffers of an "
                  "asynchronous all-reduce, such as DDP's buckets, until a thread that looks every "
                  "100 ms has seen its end, which is here %s; --streams both reports both ends",
                  is_late ? "high" : "low", is_late ? "between two steps" : "at once");
}

bool tide_run_reduced_large(const tide_run_answer *of, size_t process) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_communicators *read = tide_hostmem_zeroed(mem, 1, sizeof(*read));
    bool is_large =
        read != NULL && use_of(of->launch, of->list->processes[process].pid, read).reduced_large;
    mem->release(mem->ctx, read);
    return is_large;
}

void tide_run_tell_nccl(const tide_run_answer *of) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_run_communicators *read = tide_hostmem_zeroed(mem, 1, sizeof(*read));
    use most = {.n_made = 0};
    for (size_t i = 0; read != NULL && i < of->list->n_processes; i++) {
        use own = use_of(of->launch, of->processes[i].left->pid, read);
        most.n_made = own.n_made > most.n_made ? own.n_made : most.n_made;
        most.reduced_large = most.reduced_large || own.reduced_large;
    }
    if (read != NULL) {
        mem->release(mem->ctx, read);
    }
    if (most.n_made > 0) {
        tell_memory(of, most.n_made);
    }
    if (most.reduced_large && tide_run_has_pytorch(of) &&
        strcmp(of->options->program.streams, "both") != 0) {
        tell_range(strcmp(of->options->program.streams, "late") == 0);
    }
}
