/* Patterns of the process: a worker of a DataLoader that uses the card, a rank that holds memory on
 * another rank's card, other processes on this one. */
#include <inttypes.h>
#include <string.h>

#include "snapshot/document/owners.h"
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/common_line.h"

enum {
    WORKER_PERCENT = 30, /* of all bytes that the process allocates, at least */
    OTHERS_PERCENT = 10  /* of the card's memory in use, at least */
};

#define RANK_LEAST (INT64_C(16) << 20) /* bytes on device 0 that count */
#define OTHERS_LEAST (INT64_C(256) << 20)
#define MOST_OF 0.5 /* of the bytes: the line that is named */

/* Indices of lifetimes. */
typedef struct chosen {
    uint32_t *blocks; /* owned */
    size_t n, room;
} chosen;

static tide_status choose(const tide_facts *facts, chosen *of, size_t index) {
    uint32_t *grown =
        tide_hostmem_grow(facts->mem, of->blocks, &of->room, of->n + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->blocks = grown;
    of->blocks[of->n++] = (uint32_t)index;
    return TIDE_OK;
}

/* The line below which most of the chosen bytes were allocated. Releases the choice. */
static tide_status end_choice(const tide_facts *facts, chosen *of, tide_status status,
                              uint32_t *ret_line) {
    tide_common_line line = {TIDE_NONE, 0};
    if (status == TIDE_OK) {
        status = tide_common_line_find(&facts->lines, facts->lifetimes, of->blocks, of->n, MOST_OF,
                                       &line);
    }
    facts->mem->release(facts->mem->ctx, of->blocks);
    *ret_line = line.node;
    return status;
}

static tide_status find_worker(const tide_facts *facts, bool *ret_is_worker, uint32_t *ret_line) {
    chosen of = {0};
    int64_t worker_bytes = 0;
    int64_t all_bytes = 0;
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_of = (tide_facts_traits(facts, block) & TIDE_IN_WORKER) != 0;
        if (block->device != facts->device) {
            continue;
        }
        all_bytes += (int64_t)block->block_bytes;
        worker_bytes += is_of ? (int64_t)block->block_bytes : 0;
        status = is_of ? choose(facts, &of, i) : TIDE_OK;
    }
    *ret_is_worker = worker_bytes > all_bytes / 100 * WORKER_PERCENT;
    return end_choice(facts, &of, status, ret_line);
}

static tide_status say_worker(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    bool is_worker = false;
    uint32_t line = TIDE_NONE;
    TIDE_TRY(find_worker(facts, &is_worker, &line));
    if (!is_worker) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "This process is a worker of a DataLoader, and it allocates on the card at %s. "
                  "Each such worker has a CUDA context of its own, which takes some 300 to 600 MiB "
                  "of a real card.",
                  tide_cause_quoted(facts, line, "", place));
    const tide_cause cause = {
        .id = "dataloader_worker",
        .tier = TIDE_TIER_ALL,
        .share = 0.9,
        .bytes = -1,
        .words = words,
        .cure = "return host tensors from the dataset, and copy each batch in the training loop: "
                "`batch.to('cuda', non_blocking=True)`, with `pin_memory=True`",
        .cost = "the work in the workers then runs on the host's processor"};
    return tide_causes_add(to, &cause);
}

static tide_status say_rank(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    chosen of = {0};
    uint32_t line = TIDE_NONE;
    tide_status status = TIDE_OK;
    const tide_extreme *peak = &facts->lifetimes->devices[0].max[TIDE_MAX_ALLOCATED];
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        status = block->device == 0 && tide_lifetime_is_allocated(block, peak->event)
                     ? choose(facts, &of, i)
                     : TIDE_OK;
    }
    TIDE_TRY(end_choice(facts, &of, status, &line));
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "This process (local rank %" PRId64
                  ") also holds up to %s on device 0, beside its "
                  "own device %zu, allocated at %s. On a real card, its CUDA context there "
                  "takes some 300 to 600 MiB more.",
                  facts->snapshot->rank.local_rank, tide_bytes_format(peak->bytes, bytes),
                  facts->device, tide_cause_quoted(facts, line, "", place));
    const tide_cause cause = {
        .id = "rank_on_device_0",
        .tier = TIDE_TIER_GROWTH,
        .share = 0.7,
        .bytes = peak->bytes,
        .words = words,
        .cure = "load with `torch.load(path, map_location=f\"cuda:{local_rank}\")` or "
                "`map_location=\"cpu\"`, and call `torch.cuda.set_device(local_rank)` before "
                "anything else uses CUDA"};
    return tide_causes_add(to, &cause);
}

/* A virtual card knows all that this process holds, so the remainder belongs to other processes.
 * At a failed request, other_process has the figures of that instant. */
static tide_status say_neighbours(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char used[TIDE_BYTES_TEXT];
    char others[TIDE_BYTES_TEXT];
    int64_t bytes = 0;
    const tide_snapshot_driver_account *account =
        tide_owners_account(facts->snapshot, facts->device);
    bool is_virtual = strcmp(facts->snapshot->devices[facts->device].kind, "virtual") == 0;
    if (!is_virtual || facts->failure.event >= 0 || account == NULL || account->context_bytes < 0 ||
        facts->snapshot->n_owners == 0 ||
        !tide_owners_unexplained(facts->snapshot, facts->device, &bytes) || bytes <= OTHERS_LEAST ||
        bytes <= account->used_at_peak_bytes / 100 * OTHERS_PERCENT) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "When most of the card was in use, %s, at least %s of it belonged to other "
                  "processes.",
                  tide_bytes_format(account->used_at_peak_bytes, used),
                  tide_bytes_format(bytes, others));
    const tide_cause cause = {
        .id = "others_on_card",
        .tier = TIDE_TIER_PEAK,
        .share = (double)bytes / (double)account->used_at_peak_bytes,
        .bytes = bytes,
        .words = words,
        .cure = "look at the files of the other processes, which name their lines: workers of a "
                "DataLoader that use the card should return host tensors, and a rank should load "
                "with `map_location` and call `torch.cuda.set_device(local_rank)` first"};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_process(const tide_facts *facts, tide_causes *to) {
    TIDE_TRY(say_worker(facts, to));
    TIDE_TRY(say_neighbours(facts, to));
    bool is_elsewhere = facts->snapshot->rank.local_rank > 0 && facts->device != 0 &&
                        !tide_snapshot_is_pinned(facts->snapshot, 0) &&
                        facts->lifetimes->devices[0].max[TIDE_MAX_ALLOCATED].bytes > RANK_LEAST;
    return is_elsewhere ? say_rank(facts, to) : TIDE_OK;
}
