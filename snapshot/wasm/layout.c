/* layout.c - how the reserved memory of a device is divided at an instant, as `tidemark summary
 * --fragmentation` computes it.
 */
#include "common/assert.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/wasm/engine_internal.h"

/* What an answer is written from. */
typedef struct answer {
    const tide_layout *layout; /* borrowed */
    const uint32_t *numbers;   /* borrowed; of each block among those of its device */
} answer;

/* The page shows one device and numbers its blocks alone. */
static void number_blocks(const tide_lifetimes *lifetimes, uint32_t *numbers) {
    uint32_t n_blocks[UINT8_MAX + 1] = {0};
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        numbers[i] = n_blocks[lifetimes->lifetimes[i].device]++;
    }
}

tide_status tide_engine_prepare_lifetimes(tide_engine *engine) {
    if (!engine->has_lifetimes) {
        TIDE_TRY(tide_lifetimes_init(&engine->lifetimes, engine->snapshot, tide_hostmem_default(),
                                     &engine->error));
        engine->has_lifetimes = true;
    }
    return TIDE_OK;
}

tide_status tide_engine_prepare_layouts(tide_engine *engine) {
    const tide_hostmem *mem = tide_hostmem_default();
    TIDE_TRY(tide_engine_prepare_lifetimes(engine));
    if (engine->block_numbers == NULL) {
        size_t n_blocks = engine->lifetimes.n_lifetimes;
        engine->block_numbers =
            tide_hostmem_array(mem, n_blocks + 1, sizeof(*engine->block_numbers));
        if (engine->block_numbers == NULL) {
            return TIDE_NO_MEMORY;
        }
        number_blocks(&engine->lifetimes, engine->block_numbers);
    }
    return TIDE_OK;
}

/* [bytes, block, is_pending]; the block is -1 for a gap. */
static void write_piece(tide_json_writer *json, const tide_layout_piece *piece,
                        const uint32_t *numbers) {
    bool is_free = piece->lifetime == TIDE_NONE;
    tide_json_begin_array(json);
    tide_json_integer(json, (int64_t)piece->n_bytes);
    tide_json_integer(json, is_free ? -1 : (int64_t)numbers[piece->lifetime]);
    tide_json_boolean(json, piece->is_pending);
    tide_json_end_array(json);
}

static void write_segment(tide_json_writer *json, const answer *of,
                          const tide_layout_segment *segment) {
    const tide_layout_piece *pieces = &of->layout->pieces[segment->first_piece];
    uint64_t largest_free = 0;
    tide_json_begin_object(json);
    tide_json_key_integer(json, "address", (int64_t)segment->address);
    tide_json_key_integer(json, "bytes", (int64_t)segment->total_bytes);
    tide_json_key_integer(json, "stream", segment->stream);
    tide_json_key(json, "is_expandable");
    tide_json_boolean(json, segment->is_expandable);
    tide_json_key_text(json, "pool", segment->pool == TIDE_SEGMENT_SMALL ? "small" : "large");
    tide_json_key(json, "pool_id");
    tide_json_begin_array(json);
    tide_json_integer(json, segment->pool_id[0]);
    tide_json_integer(json, segment->pool_id[1]);
    tide_json_end_array(json);
    tide_json_key(json, "pieces");
    tide_json_begin_array(json);
    for (size_t i = 0; i < segment->n_pieces; i++) {
        write_piece(json, &pieces[i], of->numbers);
        if (pieces[i].lifetime == TIDE_NONE && pieces[i].n_bytes > largest_free) {
            largest_free = pieces[i].n_bytes;
        }
    }
    tide_json_end_array(json);
    tide_json_key_integer(json, "cached_bytes", (int64_t)segment->cached_bytes);
    tide_json_key_integer(json, "releasable_bytes", (int64_t)segment->releasable_bytes);
    tide_json_key_integer(json, "largest_free_bytes", (int64_t)largest_free);
    tide_json_end_object(json);
}

static void write_account(tide_json_writer *json, const tide_account *account) {
    tide_json_key(json, "account");
    tide_json_begin_object(json);
    tide_json_key_integer(json, "asked", account->asked_bytes);
    tide_json_key_integer(json, "rounding", account->rounding_bytes);
    tide_json_key_integer(json, "unsplit", account->unsplit_bytes);
    tide_json_key_integer(json, "pending", account->pending_bytes);
    tide_json_key_integer(json, "splittable", account->splittable_bytes);
    tide_json_key_integer(json, "releasable", account->releasable_bytes);
    tide_json_key_integer(json, "unexplained", account->unexplained_bytes);
    tide_json_key_integer(json, "reserved", account->reserved_bytes);
    tide_json_end_object(json);
}

static void write_layout(tide_json_writer *json, void *ctx) {
    const answer *of = ctx;
    tide_json_begin_object(json);
    tide_json_key(json, "segments");
    tide_json_begin_array(json);
    for (size_t i = 0; i < of->layout->n_segments; i++) {
        write_segment(json, of, &of->layout->segments[i]);
    }
    tide_json_end_array(json);
    write_account(json, &of->layout->account);
    tide_json_end_object(json);
}

bool tide_engine_layout(tide_engine *engine, size_t device, size_t state) {
    TIDE_ASSERT(engine->snapshot != NULL && state <= engine->snapshot->n_events);
    tide_status status = tide_engine_prepare_layouts(engine);
    if (status != TIDE_OK) {
        return tide_engine_end(engine, status);
    }
    tide_layout layout;
    const tide_instant at = {device, (int64_t)state - 1};
    status = tide_layout_init(&layout, engine->snapshot, &engine->lifetimes, &at, &engine->error);
    if (status == TIDE_OK) {
        answer of = {&layout, engine->block_numbers};
        status = tide_engine_write(engine, write_layout, &of);
        tide_layout_fini(&layout);
    }
    return tide_engine_end(engine, status);
}
