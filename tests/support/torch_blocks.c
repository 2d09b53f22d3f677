#include "support/torch_blocks.h"

#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define FIRST_SEGMENT (UINT64_C(0x7f00) << 32)
#define FIRST_RANGE (UINT64_C(0x7e00) << 32)
#define RANGE_BYTES (UINT64_C(1) << 33)

static uint64_t round_up(uint64_t n, uint64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* False: this row and its effect no longer happen. */
static bool add_row(torch_blocks *of, int action, const torch_block *about, uint64_t n_bytes) {
    if (of->n_rows == of->stops_at || of->n_rows == TORCH_MAX_ROWS) {
        return false;
    }
    of->rows[of->n_rows++] = (torch_row){.action = action,
                                         .place = about->place,
                                         .address = about->address,
                                         .n_bytes = n_bytes,
                                         .block_bytes = about->n_bytes};
    return true;
}

static void insert(torch_blocks *of, size_t at, torch_block block) {
    memmove(&of->blocks[at + 1], &of->blocks[at], (of->n_blocks - at) * sizeof(block));
    of->blocks[at] = block;
    of->n_blocks++;
}

static void erase(torch_blocks *of, size_t at, size_t n) {
    of->n_blocks -= n;
    memmove(&of->blocks[at], &of->blocks[at + n], (of->n_blocks - at) * sizeof(of->blocks[0]));
}

static bool is_same_place(const torch_place *a, const torch_place *b) {
    return a->device == b->device && a->stream == b->stream && a->pool == b->pool &&
           a->is_small == b->is_small;
}

/* ---- new memory ---- */

/* The lowest unused addresses, so that segments touch and addresses are reused. */
static uint64_t find_room(const torch_blocks *of, uint64_t n_bytes, size_t *ret_at) {
    uint64_t begin = FIRST_SEGMENT;
    size_t at = 0;
    for (; at < of->n_blocks; at++) {
        const torch_block *block = &of->blocks[at];
        if (block->address >= begin && block->address - begin >= n_bytes) {
            break;
        }
        uint64_t end = round_up(block->address + block->n_bytes, 2 * MIB);
        begin = end > begin ? end : begin;
    }
    *ret_at = at;
    return begin;
}

static uint64_t segment_bytes(uint64_t n_bytes) {
    return n_bytes <= MIB ? 2 * MIB : n_bytes < 10 * MIB ? 20 * MIB : round_up(n_bytes, 2 * MIB);
}

static bool buy(torch_blocks *of, const torch_place *place, uint64_t n_bytes, size_t *ret_at) {
    torch_block block = {.n_bytes = segment_bytes(n_bytes), .place = *place};
    block.address = find_room(of, block.n_bytes, ret_at);
    block.segment = of->n_segments;
    if (!add_row(of, TIDE_ACTION_SEGMENT_ALLOC, &block, block.n_bytes)) {
        return false;
    }
    of->n_segments++;
    insert(of, *ret_at, block);
    return true;
}

/* Each place has one address range, which grows at its end. */
static bool map(torch_blocks *of, const torch_place *place, uint64_t n_bytes, size_t *ret_at) {
    uint64_t range =
        (((uint64_t)place->device * 4 + place->stream) * 4 + place->pool) * 2 + place->is_small;
    uint64_t end = FIRST_RANGE + range * RANGE_BYTES;
    size_t at = 0;
    for (; at < of->n_blocks && of->blocks[at].address < FIRST_RANGE + (range + 1) * RANGE_BYTES;
         at++) {
        uint64_t block_end = of->blocks[at].address + of->blocks[at].n_bytes;
        end = block_end > end ? block_end : end;
    }
    torch_block *last = at > 0 ? &of->blocks[at - 1] : NULL;
    bool is_joined = last != NULL && is_same_place(&last->place, place) &&
                     last->state == TIDE_BLOCK_FREE && last->address + last->n_bytes == end;
    uint64_t there = is_joined ? last->n_bytes : 0;
    torch_block piece = {.address = end,
                         .n_bytes = round_up(n_bytes - there, place->is_small ? 2 * MIB : 20 * MIB),
                         .segment = UINT32_MAX - (uint32_t)range,
                         .is_expandable = true,
                         .place = *place};
    if (!add_row(of, TIDE_ACTION_SEGMENT_MAP, &piece, piece.n_bytes)) {
        return false;
    }
    if (is_joined) {
        last->n_bytes += piece.n_bytes;
        *ret_at = at - 1;
    } else {
        insert(of, at, piece);
        *ret_at = at;
    }
    return true;
}

/* ---- requests ---- */

/* The smallest free block that is large enough; of these the lowest. */
static bool find_free(const torch_blocks *of, const torch_place *place, uint64_t n_bytes,
                      size_t *ret_at) {
    bool is_found = false;
    for (size_t i = 0; i < of->n_blocks; i++) {
        const torch_block *block = &of->blocks[i];
        if (block->state != TIDE_BLOCK_FREE || !is_same_place(&block->place, place) ||
            block->n_bytes < n_bytes) {
            continue;
        }
        if (!is_found || block->n_bytes < of->blocks[*ret_at].n_bytes) {
            *ret_at = i;
            is_found = true;
        }
    }
    if (!is_found || of->max_split_bytes == UINT64_MAX) {
        return is_found;
    }
    /* Oversized blocks serve only oversized requests, and only with a small remainder. */
    uint64_t found = of->blocks[*ret_at].n_bytes;
    return n_bytes < of->max_split_bytes ? found < of->max_split_bytes : found < n_bytes + 20 * MIB;
}

static bool is_split(const torch_blocks *of, const torch_block *block, uint64_t n_bytes) {
    uint64_t rest = block->n_bytes - n_bytes;
    return block->place.is_small || block->is_expandable
               ? rest >= 512
               : n_bytes < of->max_split_bytes && rest > MIB;
}

bool torch_alloc(torch_blocks *of, torch_place place, uint64_t n_bytes, uint64_t *ret_address) {
    uint64_t rounded = round_up(n_bytes, 512);
    size_t at = 0;
    place.is_small = rounded <= MIB;
    bool is_there = find_free(of, &place, rounded, &at);
    if (!is_there &&
        !(of->is_expandable ? map(of, &place, rounded, &at) : buy(of, &place, rounded, &at))) {
        return false;
    }
    torch_block block = of->blocks[at];
    torch_block rest = block;
    bool splits = is_split(of, &block, rounded);
    block.n_bytes = splits ? rounded : block.n_bytes;
    block.requested_bytes = n_bytes;
    block.state = TIDE_BLOCK_ALLOCATED;
    if (!add_row(of, TIDE_ACTION_ALLOC, &block, n_bytes)) {
        return false;
    }
    of->blocks[at] = block;
    if (splits) {
        rest.address += rounded;
        rest.n_bytes -= rounded;
        insert(of, at + 1, rest);
    }
    *ret_address = block.address;
    return true;
}

static size_t find_block(const torch_blocks *of, uint64_t address) {
    size_t at = 0;
    while (of->blocks[at].address != address) {
        at++;
    }
    return at;
}

static bool are_one(const torch_blocks *of, size_t left) {
    const torch_block *a = &of->blocks[left];
    const torch_block *b = &of->blocks[left + 1];
    return left + 1 < of->n_blocks && a->state == TIDE_BLOCK_FREE && b->state == TIDE_BLOCK_FREE &&
           a->segment == b->segment && a->address + a->n_bytes == b->address;
}

static void put_back(torch_blocks *of, size_t at) {
    of->blocks[at].state = TIDE_BLOCK_FREE;
    of->blocks[at].requested_bytes = 0;
    if (are_one(of, at)) {
        of->blocks[at].n_bytes += of->blocks[at + 1].n_bytes;
        erase(of, at + 1, 1);
    }
    if (at > 0 && are_one(of, at - 1)) {
        of->blocks[at - 1].n_bytes += of->blocks[at].n_bytes;
        erase(of, at, 1);
    }
}

bool torch_free(torch_blocks *of, uint64_t address, bool has_to_wait) {
    size_t at = find_block(of, address);
    int action = has_to_wait ? TIDE_ACTION_FREE_REQUESTED : TIDE_ACTION_FREE;
    if (!add_row(of, action, &of->blocks[at], of->blocks[at].requested_bytes)) {
        return false;
    }
    if (has_to_wait) {
        of->blocks[at].state = TIDE_BLOCK_PENDING_FREE;
    } else {
        put_back(of, at);
    }
    return true;
}

bool torch_complete(torch_blocks *of, uint64_t address) {
    size_t at = find_block(of, address);
    if (!add_row(of, TIDE_ACTION_FREE_COMPLETED, &of->blocks[at], of->blocks[at].requested_bytes)) {
        return false;
    }
    put_back(of, at);
    return true;
}

/* Whole pages in the free block are unmapped; the bytes around them stay. */
static bool unmap(torch_blocks *of, size_t at, size_t *ret_next) {
    const torch_block block = of->blocks[at];
    uint64_t page = block.place.is_small ? 2 * MIB : 20 * MIB;
    torch_block piece = block;
    piece.address = round_up(block.address, page);
    uint64_t end = (block.address + block.n_bytes) / page * page;
    *ret_next = at + 1;
    if (end <= piece.address) {
        return true;
    }
    piece.n_bytes = end - piece.address;
    if (!add_row(of, TIDE_ACTION_SEGMENT_UNMAP, &piece, piece.n_bytes)) {
        return false;
    }
    torch_block above = block;
    above.address = end;
    above.n_bytes = block.address + block.n_bytes - end;
    erase(of, at, 1);
    *ret_next = at;
    if (above.n_bytes > 0) {
        insert(of, at, above);
        (*ret_next)++;
    }
    if (piece.address > block.address) {
        torch_block below = block;
        below.n_bytes = piece.address - block.address;
        insert(of, at, below);
        (*ret_next)++;
    }
    return true;
}

static bool is_whole(const torch_blocks *of, size_t at) {
    const torch_block *block = &of->blocks[at];
    return block->state == TIDE_BLOCK_FREE &&
           (at == 0 || of->blocks[at - 1].segment != block->segment) &&
           (at + 1 == of->n_blocks || of->blocks[at + 1].segment != block->segment);
}

bool torch_empty_cache(torch_blocks *of) {
    size_t at = 0;
    while (at < of->n_blocks) {
        const torch_block *block = &of->blocks[at];
        if (block->is_expandable && block->state == TIDE_BLOCK_FREE) {
            if (!unmap(of, at, &at)) {
                return false;
            }
        } else if (!block->is_expandable && is_whole(of, at)) {
            if (!add_row(of, TIDE_ACTION_SEGMENT_FREE, block, block->n_bytes)) {
                return false;
            }
            erase(of, at, 1);
        } else {
            at++;
        }
    }
    return true;
}
