/* spill.c - the place of each piece: the card while it has room, else the host. */
#include "device/spill.h"

#include "common/text/bytes.h"

void tide_spill_init(tide_spill *spill, const tide_hostmem *mem, uint64_t card_bytes,
                     uint64_t limit_bytes) {
    *spill = (tide_spill){.card_bytes = card_bytes, .now = {.limit_bytes = limit_bytes}};
    tide_map_init(&spill->pieces, mem);
}

void tide_spill_fini(tide_spill *spill) {
    tide_map_fini(&spill->pieces);
}

tide_status tide_spill_put(tide_spill *spill, uint64_t address, uint64_t n_bytes,
                           tide_error *error) {
    tide_device_spill *now = &spill->now;
    if (now->limit_bytes == 0) {
        return TIDE_OK;
    }
    if (n_bytes <= spill->card_bytes - spill->card_used_bytes) {
        spill->card_used_bytes += n_bytes;
        return TIDE_OK;
    }
    if (n_bytes > now->limit_bytes - now->now_bytes) {
        char asked[TIDE_BYTES_TEXT];
        char on_card[TIDE_BYTES_TEXT];
        char in_host[TIDE_BYTES_TEXT];
        return tide_fail(
            error, TIDE_DEVICE_OOM,
            "no room for %s in one piece: %s are free on the card and %s in the host's memory",
            tide_bytes_format((int64_t)n_bytes, asked),
            tide_bytes_format((int64_t)(spill->card_bytes - spill->card_used_bytes), on_card),
            tide_bytes_format((int64_t)(now->limit_bytes - now->now_bytes), in_host));
    }
    if (tide_map_put(&spill->pieces, address, n_bytes) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for a segment's place");
    }
    now->now_bytes += n_bytes;
    now->peak_bytes = now->now_bytes > now->peak_bytes ? now->now_bytes : now->peak_bytes;
    now->n_pieces++;
    return TIDE_OK;
}

void tide_spill_take_back(tide_spill *spill, uint64_t address, uint64_t n_bytes) {
    if (spill->now.limit_bytes == 0) {
        return;
    }
    if (tide_map_remove(&spill->pieces, address)) {
        spill->now.now_bytes -= n_bytes;
    } else {
        spill->card_used_bytes -= n_bytes;
    }
}
