/* What to change if copies of the logits fill the card. */
#include <string.h>

#include "snapshot/explain/causes/blocks.h"

/* Whether a name has a shape of four dimensions: "lp [32, 349, 23, 4233] float32". */
static bool has_four_dimensions(const char *name) {
    const char *at = strchr(name, '[');
    size_t n_commas = 0;
    for (; at != NULL && *at != '\0' && *at != ']'; at++) {
        n_commas += *at == ',';
    }
    return n_commas == 3;
}

/* Whether DataParallel made the block: it gathers the outputs of all cards on one. */
static bool is_gathered(const tide_facts *facts, const tide_lifetime *block) {
    for (uint32_t at = block->stack; at != TIDE_NONE; at = facts->snapshot->stacks[at].parent) {
        const tide_frame_row *row = &facts->snapshot->frames[facts->snapshot->stacks[at].frame];
        const char *file = tide_snapshot_text(facts->snapshot, row->file);
        if (strstr(file, "torch/nn/parallel/scatter_gather.py") != NULL) {
            return true;
        }
    }
    return false;
}

void tide_cause_cure_logits(const tide_facts *facts, const tide_lifetime *const *blocks, size_t n,
                            tide_text *to, tide_cause *cause) {
    bool has_four = false;
    bool has_gather = false;
    for (size_t i = 0; i < n; i++) {
        has_four =
            has_four || has_four_dimensions(tide_snapshot_text(facts->snapshot, blocks[i]->name));
        has_gather = has_gather || is_gathered(facts, blocks[i]);
    }
    if (has_gather) {
        tide_text_add(to, " DataParallel gathers the outputs of all cards on this one.");
        cause->cure = "compute the loss in `forward` of the wrapped module, so only numbers are "
                      "gathered, or use DistributedDataParallel";
        return;
    }
    cause->cure = has_four
                      ? "compute the loss on parts of the batch, with `backward()` on each; for a "
                        "transducer, a loss that makes no log-softmax of its own "
                        "(`torchaudio.functional.rnnt_loss` on the logits, or a pruned loss)"
                      : "compute the loss in chunks of tokens: a fused linear cross-entropy such "
                        "as Liger's, or `checkpoint` around head and loss of 1,024 tokens at a "
                        "time";
    cause->cost = has_four ? "" : "head and loss are computed twice";
}
