/* oom.c - the report, the row and the figures of the cache when memory runs out. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocator/cache_internal.h"
#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/map.h"
#include "common/text/text.h"

enum { HOOK_POLL_NS = 100000 };

/* Live blocks by call stack. */
typedef struct grouping {
    const tide_hostmem *mem;  /* borrowed */
    tide_map by_stack;        /* stack -> index of its group */
    tide_cache_group *groups; /* owned */
    uint64_t *largest_bytes;  /* owned; per group, its largest block */
    size_t n_groups;
    size_t capacity;         /* of groups */
    size_t largest_capacity; /* of largest_bytes */
} grouping;

static bool add_group(grouping *all, uint32_t stack, size_t *ret_index) {
    tide_cache_group *groups = tide_hostmem_grow(all->mem, all->groups, &all->capacity,
                                                 all->n_groups + 1, sizeof(*groups));
    if (groups == NULL) {
        return false;
    }
    all->groups = groups;
    uint64_t *largest = tide_hostmem_grow(all->mem, all->largest_bytes, &all->largest_capacity,
                                          all->n_groups + 1, sizeof(*largest));
    if (largest == NULL) {
        return false;
    }
    all->largest_bytes = largest;
    if (tide_map_put(&all->by_stack, stack, all->n_groups) != TIDE_OK) {
        return false;
    }
    groups[all->n_groups] = (tide_cache_group){.stack = stack};
    largest[all->n_groups] = 0;
    *ret_index = all->n_groups++;
    return true;
}

static bool add_block(grouping *all, const tide_cache_block *block) {
    uint64_t found = 0;
    size_t index = 0;
    if (tide_map_find(&all->by_stack, block->stack, &found)) {
        index = (size_t)found;
        TIDE_ASSERT(index < all->n_groups);
    } else if (!add_group(all, block->stack, &index)) {
        return false;
    }
    tide_cache_group *group = &all->groups[index];
    group->block_bytes += block->block_bytes;
    group->requested_bytes += block->requested_bytes;
    group->n_blocks++;
    if (block->block_bytes > all->largest_bytes[index]) {
        all->largest_bytes[index] = block->block_bytes;
        group->scope = block->scope;
        group->name = block->name;
        group->category = block->category;
    }
    return true;
}

static int larger_first(const void *a, const void *b) {
    const tide_cache_group *left = a;
    const tide_cache_group *right = b;
    if (left->block_bytes != right->block_bytes) {
        return left->block_bytes > right->block_bytes ? -1 : 1;
    }
    return left->stack < right->stack ? -1 : left->stack > right->stack ? 1 : 0;
}

/* Fills in categories and groups. Without host memory there are no groups: the message about device
 * memory must still be written. */
static void describe_live(tide_cache *cache, tide_cache_oom *oom) {
    grouping all = {.mem = &cache->mem};
    bool has_memory = true;
    tide_map_init(&all.by_stack, &cache->mem);
    for (const tide_cache_segment *segment = cache->newest; segment != NULL;
         segment = segment->older) {
        for (const tide_cache_block *block = segment->first_block; block != NULL;
             block = block->after) {
            if (block->state == TIDE_BLOCK_ALLOCATED) {
                TIDE_ASSERT(block->category < TIDE_MAX_CATEGORIES);
                oom->category_bytes[block->category] += block->block_bytes;
                oom->category_blocks[block->category]++;
                has_memory = has_memory && add_block(&all, block);
            }
        }
    }
    if (has_memory && all.n_groups > 0) {
        qsort(all.groups, all.n_groups, sizeof(*all.groups), larger_first);
        oom->n_largest = all.n_groups < TIDE_N_LARGEST ? all.n_groups : TIDE_N_LARGEST;
        memcpy(oom->largest, all.groups, oom->n_largest * sizeof(*all.groups));
    }
    tide_map_fini(&all.by_stack);
    cache->mem.release(cache->mem.ctx, all.groups);
    cache->mem.release(cache->mem.ctx, all.largest_bytes);
}

static const char *bytes_text(uint64_t n_bytes, char text[TIDE_BYTES_TEXT]) {
    return n_bytes > INT64_MAX ? "unlimited" : tide_bytes_format((int64_t)n_bytes, text);
}

static void add_summary(const tide_cache *cache, const tide_cache_oom *oom, tide_text *to) {
    bool grows = cache->config.expandable_segments;
    char segment[TIDE_BYTES_TEXT];
    bool is_larger =
        oom->free_bytes >= oom->requested_bytes && oom->segment_bytes > oom->free_bytes;
    char asked[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    char limit[TIDE_BYTES_TEXT];
    bool is_limited = cache->config.memory_limit_bytes != TIDE_UNLIMITED;
    const tide_device_info *info = tide_device_get_info(cache->device);
    tide_text_add(
        to,
        "out of memory on %s: asked for %s (%llu bytes)%s%s, free %s, allocated %s, reserved %s, ",
        info->spec, bytes_text(oom->requested_bytes, asked),
        (unsigned long long)oom->requested_bytes,
        !is_larger ? ""
        : grows    ? " in granules that make "
                   : " in a new segment of ",
        is_larger ? bytes_text(oom->segment_bytes, segment) : "",
        bytes_text(oom->free_bytes, unused), bytes_text(oom->allocated_bytes, allocated),
        bytes_text(oom->reserved_bytes, reserved));
    /* The cpu device has no size of its own; it uses the free memory of the host when it opens. */
    const char *room = info->kind == TIDE_DEVICE_CPU ? "free at the start" : "capacity";
    tide_text_add(to, "%s %s; %s", is_limited ? "memory limit" : room,
                  bytes_text(oom->limit_bytes, limit),
                  is_limited ? "raise the limit or make the run smaller"
                             : "use a device with more memory or make the run smaller");
}

static void add_fragmentation(const tide_cache *cache, const tide_cache_oom *oom, tide_text *to) {
    char cached[TIDE_BYTES_TEXT];
    TIDE_ASSERT(oom->allocated_bytes <= oom->reserved_bytes);
    uint64_t cached_bytes = oom->reserved_bytes - oom->allocated_bytes;
    uint64_t free_bytes = oom->free_bytes < UINT64_MAX / 4 ? oom->free_bytes : 0;
    /* With less to spare, the request would also have failed a little later, even in one piece. */
    uint64_t least_bytes = oom->requested_bytes + (oom->reserved_bytes + free_bytes) / 100 * 3;
    if (cached_bytes >= oom->requested_bytes && cached_bytes + free_bytes >= least_bytes) {
        tide_text_add(to,
                      "\n  %s of the reserved bytes are free, but in pieces of segments in use: "
                      "%sroundup_power2_divisions may help",
                      bytes_text(cached_bytes, cached),
                      cache->config.expandable_segments
                          ? ""
                          : "expandable_segments:True, max_split_size_mb or ");
    }
}

static void add_categories(const tide_cache_oom *oom, tide_text *to) {
    bool is_said[TIDE_MAX_CATEGORIES] = {false};
    for (int n = 0; n < TIDE_MAX_CATEGORIES; n++) {
        int largest = -1;
        for (int i = 0; i < TIDE_MAX_CATEGORIES; i++) {
            if (!is_said[i] && oom->category_bytes[i] > 0 &&
                (largest < 0 || oom->category_bytes[i] > oom->category_bytes[largest])) {
                largest = i;
            }
        }
        if (largest < 0) {
            return;
        }
        char text[TIDE_BYTES_TEXT];
        is_said[largest] = true;
        tide_text_add(to, "%s%s %s in %zu block%s", n == 0 ? "\n  alive: " : ", ",
                      tide_category_name(largest), bytes_text(oom->category_bytes[largest], text),
                      oom->category_blocks[largest], oom->category_blocks[largest] == 1 ? "" : "s");
    }
}

static void add_stacks(tide_cache *cache, const tide_cache_oom *oom, tide_text *to) {
    for (size_t i = 0; i < oom->n_largest; i++) {
        const tide_cache_group *group = &oom->largest[i];
        const char *name = tide_recorder_text(cache->recorder, group->name);
        char text[TIDE_BYTES_TEXT];
        tide_text_add(to, "\n  %s in %zu block%s: %s", bytes_text(group->block_bytes, text),
                      group->n_blocks, group->n_blocks == 1 ? "" : "s",
                      tide_category_name(group->category));
        if (name != NULL) {
            tide_text_add(to, " %.80s%s", name, group->n_blocks == 1 ? "" : " and others");
        }
        if (group->stack == TIDE_NONE) {
            tide_text_add(to, ", no call stack");
        } else {
            tide_text_add(to, ", call stack %u", (unsigned)group->stack);
        }
    }
}

/* Rows hold signed numbers in files, so SIZE_MAX and "unlimited" become the largest signed
 * number. */
static uint64_t row_bytes(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : n_bytes;
}

static void record(const tide_cache *cache, const tide_cache_request *request,
                   const tide_cache_oom *oom) {
    if (cache->recorder == NULL) {
        return;
    }
    tide_recorder_append(
        cache->recorder,
        (tide_event){.requested_bytes = row_bytes(oom->requested_bytes),
                     .block_bytes = row_bytes(oom->free_bytes),
                     .stack = request->note.stack,
                     .scope = request->note.scope,
                     .name = request->note.name,
                     .action = TIDE_ACTION_OOM,
                     .category = request->category,
                     .stream = tide_recorder_stream(cache->recorder, 0, request->stream)});
}

tide_status tide_cache_out_of_memory(tide_cache *cache, const tide_cache_request *request,
                                     tide_error *error) {
    const tide_device_info *info = tide_device_get_info(cache->device);
    tide_cache_oom *oom = &cache->last_oom;
    *oom = (tide_cache_oom){
        .requested_bytes = request->requested_bytes,
        .segment_bytes = cache->config.expandable_segments
                             ? tide_cache_growth_bytes(cache, request)
                             : tide_cache_segment_bytes(&cache->config, request->block_bytes),
        .free_bytes = tide_cache_buyable_bytes(cache),
        .allocated_bytes = (uint64_t)cache->stats.allocated_bytes[TIDE_POOL_ALL].current,
        .reserved_bytes = (uint64_t)cache->stats.reserved_bytes[TIDE_POOL_ALL].current,
        .limit_bytes = cache->config.memory_limit_bytes != TIDE_UNLIMITED
                           ? cache->config.memory_limit_bytes
                       : info->total_bytes < 0 ? UINT64_MAX
                                               : (uint64_t)info->total_bytes};
    cache->stats.num_ooms++;
    record(cache, request, oom);
    describe_live(cache, oom);
    char message[sizeof(((tide_error *)0)->message)];
    tide_text text = tide_text_in(message, sizeof(message));
    add_summary(cache, oom, &text);
    add_fragmentation(cache, oom, &text);
    add_categories(oom, &text);
    add_stacks(cache, oom, &text);
    return tide_fail(error, TIDE_DEVICE_OOM, "%s", message);
}

bool tide_cache_get_oom(tide_cache *cache, tide_cache_oom *ret_oom) {
    tide_lock_acquire(cache->lock);
    bool has_happened = cache->stats.num_ooms > 0;
    if (has_happened) {
        *ret_oom = cache->last_oom;
    }
    tide_lock_release(cache->lock);
    return has_happened;
}

void tide_cache_call_oom_hook(tide_cache *cache) {
    tide_lock_acquire(cache->lock);
    void (*hook)(void *ctx) = cache->oom_hook;
    void *ctx = cache->oom_ctx;
    cache->n_in_oom_hook += hook != NULL ? 1 : 0;
    tide_lock_release(cache->lock);
    if (hook != NULL) {
        hook(ctx);
        tide_lock_acquire(cache->lock);
        TIDE_ASSERT(cache->n_in_oom_hook > 0);
        cache->n_in_oom_hook--;
        tide_lock_release(cache->lock);
    }
}

void tide_cache_set_oom_hook(tide_cache *cache, void (*hook)(void *ctx), void *ctx) {
    tide_lock_acquire(cache->lock);
    cache->oom_hook = hook;
    cache->oom_ctx = ctx;
    while (cache->n_in_oom_hook > 0) { /* a thread in the former hook may still use its ctx */
        tide_lock_release(cache->lock);
        (void)nanosleep(&(struct timespec){.tv_nsec = HOOK_POLL_NS}, NULL);
        tide_lock_acquire(cache->lock);
    }
    tide_lock_release(cache->lock);
}
