/* streams.c - blocks that several streams use: their streams, and the completion of releases. */
#include "allocator/cache_internal.h"
#include "common/assert.h"

enum { USES_PER_CHUNK = 64, QUEUES_PER_CHUNK = 8 };

static tide_cache_use *take_use(tide_cache *cache) {
    tide_cache_streams *streams = &cache->streams;
    tide_cache_use **pool =
        streams->unused_uses == NULL ? &streams->spare_events : &streams->unused_uses;
    if (*pool == NULL) {
        tide_cache_use *uses = tide_cache_new_chunk(cache, USES_PER_CHUNK, sizeof(*uses));
        if (uses == NULL) {
            return NULL;
        }
        for (size_t i = USES_PER_CHUNK; i > 0; i--) {
            uses[i - 1].next = streams->unused_uses;
            streams->unused_uses = &uses[i - 1];
        }
        pool = &streams->unused_uses;
    }
    tide_cache_use *use = *pool;
    TIDE_ASSERT((use->event != NULL) == (pool == &streams->spare_events));
    *pool = use->next;
    *use = (tide_cache_use){.event = use->event};
    return use;
}

/* An event stays with its node, and unused nodes with an event are the pool of events: creating one
 * costs a driver call. */
static void drop_use(tide_cache *cache, tide_cache_use *use) {
    tide_cache_streams *streams = &cache->streams;
    tide_cache_use **pool = use->event == NULL ? &streams->unused_uses : &streams->spare_events;
    *use = (tide_cache_use){.event = use->event, .next = *pool};
    *pool = use;
}

static tide_cache_queue *take_queue(tide_cache *cache) {
    tide_cache_streams *streams = &cache->streams;
    if (streams->unused_queues == NULL) {
        tide_cache_queue *queues = tide_cache_new_chunk(cache, QUEUES_PER_CHUNK, sizeof(*queues));
        if (queues == NULL) {
            return NULL;
        }
        for (size_t i = QUEUES_PER_CHUNK; i > 0; i--) {
            queues[i - 1].next = streams->unused_queues;
            streams->unused_queues = &queues[i - 1];
        }
    }
    tide_cache_queue *queue = streams->unused_queues;
    streams->unused_queues = queue->next;
    return queue;
}

/* Returns the queue of the stream, and makes it at its first use; NULL without memory. */
static tide_cache_queue *queue_of(tide_cache *cache, tide_stream stream) {
    tide_cache_queue **link = &cache->streams.queues;
    while (*link != NULL && (*link)->stream != stream) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        tide_cache_queue *queue = take_queue(cache);
        if (queue == NULL) {
            return NULL;
        }
        *queue = (tide_cache_queue){.stream = stream};
        *link = queue;
    }
    return *link;
}

static void leave_queue(tide_cache *cache, tide_cache_queue *queue) {
    TIDE_ASSERT(queue->n_uses > 0);
    if (--queue->n_uses > 0) {
        return;
    }
    TIDE_ASSERT(queue->first == NULL && queue->last == NULL); /* nothing waits */
    tide_cache_queue **link = &cache->streams.queues;
    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    *queue = (tide_cache_queue){.next = cache->streams.unused_queues};
    cache->streams.unused_queues = queue;
}

static tide_status add_use(tide_cache *cache, tide_cache_block *block, tide_stream stream,
                           tide_error *error) {
    tide_cache_use **link = &block->uses;
    while (*link != NULL && (*link)->queue->stream != stream) {
        link = &(*link)->next;
    }
    if (*link != NULL || stream == block->segment->stream) {
        return TIDE_OK;
    }
    tide_cache_use *use = take_use(cache);
    tide_cache_queue *queue = use == NULL ? NULL : queue_of(cache, stream);
    if (queue == NULL) {
        if (use != NULL) {
            drop_use(cache, use);
        }
        return tide_fail(error, TIDE_NO_MEMORY,
                         "no host memory to note that stream 0x%llx uses the block at 0x%llx",
                         (unsigned long long)stream, (unsigned long long)block->address);
    }
    use->block = block;
    use->queue = queue;
    queue->n_uses++;
    *link = use;
    return TIDE_OK;
}

tide_status tide_cache_record_stream(tide_cache *cache, uint64_t address, tide_stream stream,
                                     tide_error *error) {
    if (address == 0) {
        return TIDE_OK;
    }
    tide_lock_acquire(cache->lock);
    tide_cache_block *block = tide_cache_table_find(&cache->live, address);
    tide_status status = block == NULL || block->state != TIDE_BLOCK_ALLOCATED
                             ? tide_cache_refuse_stream(cache, address, error)
                             : add_use(cache, block, stream, error);
    tide_lock_release(cache->lock);
    return status;
}

/* Gives the use an event: its own from an earlier attempt, a spare one, or a new one. */
static tide_status get_event(tide_cache *cache, tide_cache_use *use, tide_error *error) {
    if (use->event != NULL) {
        return TIDE_OK;
    }
    tide_cache_use *spare = cache->streams.spare_events;
    if (spare == NULL) {
        return tide_device_event_create(cache->device, &use->event, error);
    }
    TIDE_ASSERT(spare->event != NULL);
    cache->streams.spare_events = spare->next;
    use->event = spare->event;
    spare->event = NULL;
    drop_use(cache, spare);
    return TIDE_OK;
}

static tide_status record_event(tide_cache *cache, tide_cache_use *use, tide_error *error) {
    tide_stream stream = use->queue->stream;
    tide_status status = get_event(cache, use, error);
    if (status == TIDE_OK) {
        status = tide_device_event_record(cache->device, use->event, stream, error);
    }
    if (status != TIDE_OK) {
        tide_error_prefix(
            error, "releasing the block at 0x%llx, which stream 0x%llx uses: recording an event",
            (unsigned long long)use->block->address, (unsigned long long)stream);
    }
    return status;
}

tide_status tide_cache_begin_waiting(tide_cache *cache, tide_cache_block *block,
                                     tide_error *error) {
    TIDE_ASSERT(block->state == TIDE_BLOCK_ALLOCATED && block->uses != NULL);
    /* All events first: when one fails nothing waits yet, and the block stays allocated. */
    for (tide_cache_use *use = block->uses; use != NULL; use = use->next) {
        TIDE_TRY(record_event(cache, use, error));
    }
    for (tide_cache_use *use = block->uses; use != NULL; use = use->next) {
        tide_cache_queue *queue = use->queue;
        TIDE_ASSERT(use->later == NULL && (queue->first == NULL) == (queue->last == NULL));
        if (queue->last == NULL) {
            queue->first = use;
        } else {
            queue->last->later = use;
        }
        queue->last = use;
        cache->streams.n_waiting++;
    }
    block->state = TIDE_BLOCK_PENDING_FREE;
    return TIDE_OK;
}

/* Ends the waiting use after `earlier` in its queue (NULL: the first one), because its stream is
 * done with the block. The end of the block's last use completes its release. */
static void finish_use(tide_cache *cache, tide_cache_queue *queue, tide_cache_use *earlier,
                       const tide_note *note) {
    tide_cache_use *use = earlier == NULL ? queue->first : earlier->later;
    tide_cache_block *block = use->block;
    TIDE_ASSERT(use->queue == queue && block->state == TIDE_BLOCK_PENDING_FREE);
    TIDE_ASSERT((queue->last == use) == (use->later == NULL));
    tide_cache_use **link = &block->uses;
    while (*link != use) {
        link = &(*link)->next;
    }
    *link = use->next;
    if (earlier == NULL) {
        queue->first = use->later;
    } else {
        earlier->later = use->later;
    }
    if (queue->last == use) {
        queue->last = earlier;
    }
    TIDE_ASSERT(cache->streams.n_waiting > 0);
    cache->streams.n_waiting--;
    drop_use(cache, use);
    leave_queue(cache, queue);
    if (block->uses == NULL) {
        tide_cache_record_block(cache, block, TIDE_ACTION_FREE_COMPLETED, note);
        tide_cache_complete_release(cache, block);
    }
}

static tide_status poll_queue(tide_cache *cache, tide_cache_queue *queue, const tide_note *note,
                              tide_error *error) {
    tide_stream stream = queue->stream;
    /* The last use removes its queue, which is then an unused, empty node, so the loop ends. */
    while (queue->first != NULL) {
        TIDE_ASSERT(queue->first->event != NULL && queue->n_uses > 0);
        tide_status status = tide_device_event_query(cache->device, queue->first->event, error);
        if (status == TIDE_NOT_READY) {
            return TIDE_OK;
        }
        if (status != TIDE_OK) {
            tide_error_prefix(error, "asking whether stream 0x%llx is done with released blocks",
                              (unsigned long long)stream);
            return status;
        }
        finish_use(cache, queue, NULL, note);
    }
    return TIDE_OK;
}

tide_status tide_cache_poll_streams(tide_cache *cache, const tide_note *note, tide_error *error) {
    tide_cache_queue *queue = cache->streams.n_waiting == 0 ? NULL : cache->streams.queues;
    while (queue != NULL) {
        tide_cache_queue *next = queue->next;
        TIDE_TRY(poll_queue(cache, queue, note, error));
        queue = next;
    }
    return TIDE_OK;
}

/* Waits for the latest event, which the stream reaches after all others. Waiting for the stream
 * itself would also wait for work that was submitted later. */
static tide_status wait_for_queue(tide_cache *cache, tide_cache_queue *queue, const tide_note *note,
                                  tide_error *error) {
    if (queue->last == NULL) {
        return TIDE_OK;
    }
    tide_status status = tide_device_event_synchronize(cache->device, queue->last->event, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "waiting for stream 0x%llx, which still uses released blocks",
                          (unsigned long long)queue->stream);
        return status;
    }
    while (queue->first != NULL) {
        finish_use(cache, queue, NULL, note);
    }
    return TIDE_OK;
}

tide_status tide_cache_wait_for_streams(tide_cache *cache, const tide_note *note,
                                        tide_error *error) {
    cache->stats.num_sync_all_streams++;
    if (cache->streams.n_waiting == 0) {
        return TIDE_OK;
    }
    tide_cache_queue *queue = cache->streams.queues;
    while (queue != NULL) {
        tide_cache_queue *next = queue->next;
        TIDE_TRY(wait_for_queue(cache, queue, note, error));
        queue = next;
    }
    return TIDE_OK;
}

void tide_cache_finish_waiting(tide_cache *cache, uint64_t address) {
    const tide_note note = {TIDE_NONE, TIDE_NONE, TIDE_NONE};
    tide_lock_acquire(cache->lock);
    tide_cache_block *block = tide_cache_table_find(&cache->live, address);
    bool is_waiting = block != NULL && block->state == TIDE_BLOCK_PENDING_FREE;
    while (is_waiting) {
        tide_cache_queue *queue = block->uses->queue;
        tide_cache_use *earlier = NULL;
        for (tide_cache_use *use = queue->first; use != block->uses; use = use->later) {
            earlier = use;
        }
        is_waiting = block->uses->next != NULL; /* the last one completes the block */
        finish_use(cache, queue, earlier, &note);
    }
    tide_lock_release(cache->lock);
}

void tide_cache_streams_fini(tide_cache *cache) {
    if (cache->streams.n_waiting > 0) {
        /* A failure does not matter: the cache is being destroyed. */
        tide_status ignored = tide_device_synchronize(cache->device, NULL);
        (void)ignored;
    }
    for (tide_cache_segment *segment = cache->newest; segment != NULL; segment = segment->older) {
        for (tide_cache_block *block = segment->first_block; block != NULL; block = block->after) {
            for (tide_cache_use *use = block->uses; use != NULL; use = use->next) {
                tide_device_event_destroy(cache->device, use->event);
            }
        }
    }
    for (tide_cache_use *use = cache->streams.spare_events; use != NULL; use = use->next) {
        tide_device_event_destroy(cache->device, use->event);
    }
    cache->streams = (tide_cache_streams){.queues = NULL};
}
