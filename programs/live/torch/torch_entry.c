#include "programs/live/torch/torch_entry.h"

#include <stdint.h>
#include <string.h>

#include "common/event.h"
#include "programs/live/driver.h"

/* Places in an entry. */
enum { ACTION_AT = 0, DEVICE_AT = 4, ADDRESS_AT = 8, STREAM_AT = 32, BYTES_AT = 40 };

/* TraceEntry::Action. */
enum { SNAPSHOT = 7, OUT_OF_MEMORY = 8, N_ACTIONS = 9 };

enum { ALIGNMENT = 512 };
#define MAX_BYTES (UINT64_C(1) << 50)
#define MAX_ADDRESS (UINT64_C(1) << 57)

static uint64_t word_at(const void *entry, size_t offset) {
    uint64_t value = 0;
    memcpy(&value, (const char *)entry + offset, sizeof(value));
    return value;
}

static int theirs_of(const void *entry) {
    int action = 0;
    memcpy(&action, (const char *)entry + ACTION_AT, sizeof(action));
    return action;
}

static int action_of(int theirs) {
    static const int OURS[N_ACTIONS] = {
        TIDE_ACTION_ALLOC,         TIDE_ACTION_FREE_REQUESTED, TIDE_ACTION_FREE_COMPLETED,
        TIDE_ACTION_SEGMENT_ALLOC, TIDE_ACTION_SEGMENT_FREE,   TIDE_ACTION_SEGMENT_MAP,
        TIDE_ACTION_SEGMENT_UNMAP, TIDE_ACTION_MARK,           TIDE_ACTION_OOM};
    return theirs >= 0 && theirs < N_ACTIONS ? OURS[theirs] : TIDE_ACTION_MARK;
}

void tide_torch_entry_read(const void *entry, size_t pool_at, tide_live_entry *ret_entry) {
    tide_live_entry found = {.action = action_of(theirs_of(entry)),
                             .device = ((const uint8_t *)entry)[DEVICE_AT],
                             .address = word_at(entry, ADDRESS_AT),
                             .stream = word_at(entry, STREAM_AT),
                             .n_bytes = word_at(entry, BYTES_AT)};
    if (found.action == TIDE_ACTION_OOM) { /* its address field has the device's free memory */
        found.free_bytes = found.address;
        found.address = 0;
    } else if (found.action == TIDE_ACTION_MARK) {
        found.name = theirs_of(entry) == SNAPSHOT ? "snapshot" : "annotate";
        found.n_bytes = 0;
    }
    if (pool_at > 0) {
        found.pool[0] = word_at(entry, pool_at);
        found.pool[1] = word_at(entry, pool_at + sizeof(uint64_t));
    }
    *ret_entry = found;
}

bool tide_torch_entry_is_sound(const void *entry) {
    int action = theirs_of(entry);
    uint64_t address = word_at(entry, ADDRESS_AT);
    uint64_t n_bytes = word_at(entry, BYTES_AT);
    if (action < 0 || action >= N_ACTIONS ||
        ((const uint8_t *)entry)[DEVICE_AT] >= TIDE_LIVE_MAX_DEVICES) {
        return false;
    }
    if (action == SNAPSHOT || action == OUT_OF_MEMORY) {
        return true; /* these have no address */
    }
    return address > 0 && address < MAX_ADDRESS && address % ALIGNMENT == 0 && n_bytes > 0 &&
           n_bytes < MAX_BYTES;
}
