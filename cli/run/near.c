/* The verdict "near the limit": a program that fits, and leaves less than what is not measured. */
#include <string.h>

#include "cli/run/internal.h"
#include "common/text/bytes.h"
#include "programs/runs/work_areas.h"
#include "snapshot/explain/words/area_words.h"

static const tide_snapshot_work_areas *areas_of(const tide_run_answer *of, tide_run_place at) {
    const tide_snapshot *snapshot = of->processes[at.process].snapshot;
    return snapshot != NULL ? tide_work_areas_of(snapshot, at.device) : NULL;
}

int64_t tide_run_area_margin(const tide_run_answer *of, tide_run_place at) {
    const tide_snapshot_work_areas *areas = areas_of(of, at);
    return areas != NULL ? tide_area_margin_bytes(areas) : 0;
}

bool tide_run_is_near(const tide_run_answer *of, tide_run_place at) {
    tide_card card;
    bool has_account =
        of->processes[at.process].left->account[at.device % TIDE_RUN_DEVICES].total_bytes > 0;
    if (of->config->cards == NULL || !has_account) {
        return false;
    }
    bool is_known = tide_launch_card(of->config->cards, at.device, &card);
    return tide_run_is_near_limit(is_known ? &card : NULL, areas_of(of, at),
                                  tide_run_left_of(of, at));
}

tide_status tide_run_set_unmeasured(const tide_run_answer *of, size_t process,
                                    tide_snapshot *snapshot) {
    tide_run_place most = {0, 0};
    size_t n = snapshot->n_driver_accounts;
    if (tide_run_has_failed(of) || tide_run_add_refusal(of, NULL) || n == 0 ||
        tide_run_most_nccl(of, &most).missing_bytes > 0) {
        return TIDE_OK;
    }
    tide_snapshot_driver_account *accounts =
        tide_arena_alloc(&snapshot->arena, n, sizeof(*accounts));
    if (accounts == NULL) {
        return TIDE_NO_MEMORY;
    }
    memcpy(accounts, snapshot->driver_accounts, n * sizeof(*accounts));
    for (size_t i = 0; i < n; i++) {
        tide_card card;
        size_t device = accounts[i].device;
        const tide_left *left = of->processes[process].left;
        bool is_known = tide_launch_card(of->config->cards, device, &card);
        if (left->account[device % TIDE_RUN_DEVICES].spill_bytes > 0 ||
            (is_known && card.shares_host)) {
            continue; /* whether it fits depends on the host's memory, which is in no account */
        }
        accounts[i].unmeasured_bytes = tide_run_unmeasured_bytes(
            is_known ? &card : NULL, areas_of(of, (tide_run_place){process, device}));
    }
    snapshot->driver_accounts = accounts;
    return TIDE_OK;
}

void tide_run_add_unmeasured(const tide_run_answer *of, tide_run_place at, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    tide_card card;
    bool is_known = tide_launch_card(of->config->cards, at.device, &card);
    const tide_card *like = is_known ? tide_card_with_like_context(&card) : NULL;
    const tide_snapshot_work_areas *areas = areas_of(of, at);
    if (!is_known || card.context_bytes < 0) {
        tide_text_add(to, ", less what the CUDA context and libraries take, which is not measured "
                          "for this card");
    }
    if (like != NULL) {
        tide_text_add(to, " (an estimate is %s, as on %s)",
                      tide_bytes_format(like->context_bytes, bytes), like->spec);
    }
    if (areas != NULL && areas->is_most_refused && !tide_run_has_failed(of)) {
        tide_text_add(to, ", too little for the largest work areas of cuDNN, where PyTorch chooses "
                          "plans with smaller ones");
    }
}
