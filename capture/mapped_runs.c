/* mapped_runs.c - the mapped memory of expandable segments as runs of addresses. Rows segment_map
 * add to them and rows segment_unmap remove from them. A run may come from several rows, and a row
 * may remove a part of a run. */
#include <string.h>

#include "capture/capture_internal.h"
#include "common/assert.h"

void tide_mapped_runs_init(tide_mapped_runs *of, const tide_hostmem *mem) {
    *of = (tide_mapped_runs){.mem = mem};
}

void tide_mapped_runs_fini(tide_mapped_runs *of) {
    of->mem->release(of->mem->ctx, of->runs);
    *of = (tide_mapped_runs){.mem = of->mem};
}

/* Index of the first run on the device that ends at or above the address, or n_runs. */
static size_t first_at(const tide_mapped_runs *of, uint8_t device, uint64_t address) {
    size_t low = 0;
    size_t high = of->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tide_segment_row *run = &of->runs[middle];
        if (run->device < device ||
            (run->device == device && run->address + run->total_bytes < address)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether the run ends where the next one begins, or below. */
static bool is_below(const tide_segment_row *run, const tide_segment_row *next) {
    return run->device < next->device ||
           (run->device == next->device && run->address + run->total_bytes <= next->address);
}

static bool insert_at(tide_mapped_runs *of, size_t at, tide_segment_row run) {
    tide_segment_row *runs =
        tide_hostmem_grow(of->mem, of->runs, &of->capacity, of->n_runs + 1, sizeof(*runs));
    if (runs == NULL) {
        return false;
    }
    of->runs = runs;
    TIDE_ASSERT(at == 0 || is_below(&runs[at - 1], &run));
    TIDE_ASSERT(at == of->n_runs || is_below(&run, &runs[at]));
    memmove(&runs[at + 1], &runs[at], (of->n_runs - at) * sizeof(*runs));
    runs[at] = run;
    of->n_runs++;
    return true;
}

static void remove_at(tide_mapped_runs *of, size_t at) {
    TIDE_ASSERT(at < of->n_runs);
    of->n_runs--;
    memmove(&of->runs[at], &of->runs[at + 1], (of->n_runs - at) * sizeof(*of->runs));
}

static bool touches(const tide_segment_row *lower, const tide_segment_row *upper) {
    return lower->device == upper->device && lower->stream == upper->stream &&
           lower->address + lower->total_bytes == upper->address;
}

tide_status tide_mapped_runs_add(tide_mapped_runs *of, const tide_segment_row *piece) {
    size_t at = first_at(of, piece->device, piece->address);
    tide_segment_row run = *piece;
    run.is_expandable = true;
    while (at < of->n_runs && of->runs[at].device == run.device &&
           of->runs[at].address + of->runs[at].total_bytes == run.address) {
        if (touches(&of->runs[at], &run)) { /* joins the two neighbours */
            run.address = of->runs[at].address;
            run.total_bytes += of->runs[at].total_bytes;
            remove_at(of, at);
        } else {
            at++;
        }
    }
    if (at < of->n_runs && of->runs[at].device == run.device &&
        of->runs[at].address < run.address + run.total_bytes) {
        return TIDE_INVALID;
    }
    if (at < of->n_runs && touches(&run, &of->runs[at])) {
        run.total_bytes += of->runs[at].total_bytes;
        remove_at(of, at);
    }
    return insert_at(of, at, run) ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_mapped_runs_remove(tide_mapped_runs *of, const tide_segment_row *piece) {
    /* The piece is within one run, so the rest after it ends where the run did. */
    size_t at = first_at(of, piece->device, piece->address + piece->total_bytes);
    if (at == of->n_runs || of->runs[at].device != piece->device ||
        of->runs[at].address > piece->address) {
        return TIDE_INVALID;
    }
    tide_segment_row *run = &of->runs[at];
    tide_segment_row upper = *run;
    upper.address = piece->address + piece->total_bytes;
    TIDE_ASSERT(upper.address <= run->address + run->total_bytes);
    upper.total_bytes = run->address + run->total_bytes - upper.address;
    run->total_bytes = piece->address - run->address;
    if (run->total_bytes == 0) {
        remove_at(of, at);
    } else {
        at++;
    }
    return upper.total_bytes == 0 || insert_at(of, at, upper) ? TIDE_OK : TIDE_NO_MEMORY;
}
