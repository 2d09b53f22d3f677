/* journal.c - appends checksummed records to the journal of a log file. */
#define _POSIX_C_SOURCE 200809L
#include "recorder/journal_internal.h"

#include <pthread.h>
#include <string.h>

#include "common/assert.h"
#include "common/files/checksum.h"

struct tide_journal {
    const tide_hostmem *mem; /* borrowed */
    pthread_mutex_t lock;    /* guards everything below */
    unsigned char *area;     /* borrowed, in the file; `capacity` bytes */
    uint64_t capacity;
    uint64_t n_used;             /* bytes */
    uint64_t n_refused;          /* records */
    tide_log_counters *counters; /* borrowed, in the file */
    tide_journal_modules modules;
};

tide_status tide_journal_create(const tide_hostmem *mem, const tide_log_file *file,
                                tide_journal **ret_journal) {
    tide_journal *journal = tide_hostmem_zeroed(mem, 1, sizeof(*journal));
    if (journal == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (pthread_mutex_init(&journal->lock, NULL) != 0) {
        mem->release(mem->ctx, journal);
        return TIDE_NO_MEMORY;
    }
    journal->mem = mem;
    journal->area = file->journal;
    journal->capacity = file->header->layout.journal_bytes;
    journal->counters = &file->header->counters;
    tide_map_init(&journal->modules.known, mem);
    tide_journal_list_modules(journal, &journal->modules);
    *ret_journal = journal;
    return TIDE_OK;
}

void tide_journal_destroy(tide_journal *journal) {
    if (journal == NULL) {
        return;
    }
    tide_map_fini(&journal->modules.known);
    pthread_mutex_destroy(&journal->lock);
    journal->mem->release(journal->mem->ctx, journal);
}

void tide_journal_put(tide_journal *journal, tide_log_record_kind kind, const void *head,
                      size_t n_head_bytes, const void *tail, size_t n_tail_bytes) {
    /* Records begin at multiples of 8 bytes, so a reader can find the next mark after a damaged
     * record. */
    TIDE_ASSERT(journal->n_used % 8 == 0 && journal->n_used <= journal->capacity);
    uint64_t n_payload = (uint64_t)n_head_bytes + n_tail_bytes;
    uint64_t n_bytes = sizeof(tide_log_record) + (n_payload + 7) / 8 * 8;
    if (n_payload > TIDE_LOG_MAX_PAYLOAD || n_bytes > journal->capacity - journal->n_used) {
        atomic_store(&journal->counters->n_records_refused, ++journal->n_refused);
        return;
    }
    tide_log_record record = {
        .mark = TIDE_LOG_RECORD_MARK, .kind = (uint32_t)kind, .n_bytes = (uint32_t)n_payload};
    record.checksum = tide_crc32(0, &record.kind, sizeof(record.kind));
    record.checksum = tide_crc32(record.checksum, &record.n_bytes, sizeof(record.n_bytes));
    record.checksum = tide_crc32(record.checksum, head, n_head_bytes);
    record.checksum = tide_crc32(record.checksum, tail, n_tail_bytes);
    unsigned char *to = journal->area + journal->n_used;
    memcpy(to, &record, sizeof(record));
    memcpy(to + sizeof(record), head, n_head_bytes);
    if (n_tail_bytes > 0) {
        memcpy(to + sizeof(record) + n_head_bytes, tail, n_tail_bytes);
    }
    /* Publishes the record to readers last: if the process is killed earlier, half a record is
     * never visible. */
    journal->n_used += n_bytes;
    atomic_store_explicit(&journal->counters->journal_used_bytes, journal->n_used,
                          memory_order_release);
}

void tide_journal_string(tide_journal *journal, uint32_t number, const char *text) {
    if (journal == NULL) {
        return;
    }
    const tide_log_numbered head = {.number = number};
    pthread_mutex_lock(&journal->lock);
    tide_journal_put(journal, TIDE_LOG_STRING, &head, sizeof(head), text, strlen(text));
    pthread_mutex_unlock(&journal->lock);
}

static bool has_code(const uint64_t *pcs, size_t n_pcs) {
    for (size_t i = 0; i < n_pcs; i++) {
        if ((pcs[i] & TIDE_LOG_PYTHON_BIT) == 0) {
            return true;
        }
    }
    return false;
}

void tide_journal_stack(tide_journal *journal, uint32_t number, const uint64_t *pcs, size_t n_pcs) {
    if (journal == NULL) {
        return;
    }
    const tide_log_numbered head = {.number = number};
    pthread_mutex_lock(&journal->lock);
    /* The stack may be the first with frames in a library that was just loaded. The module must be
     * listed while it is still loaded. */
    if (has_code(pcs, n_pcs)) {
        tide_journal_list_modules(journal, &journal->modules);
    }
    tide_journal_put(journal, TIDE_LOG_STACK, &head, sizeof(head), pcs, n_pcs * sizeof(*pcs));
    pthread_mutex_unlock(&journal->lock);
}

void tide_journal_stream(tide_journal *journal, uint32_t number, uint32_t device, uint64_t handle) {
    const tide_log_stream record = {.number = number, .device = device, .handle = handle};
    tide_journal_record(journal, TIDE_LOG_STREAM, &record, sizeof(record));
}

void tide_journal_record(tide_journal *journal, tide_log_record_kind kind, const void *payload,
                         size_t n_bytes) {
    if (journal == NULL) {
        return;
    }
    pthread_mutex_lock(&journal->lock);
    tide_journal_put(journal, kind, payload, n_bytes, NULL, 0);
    pthread_mutex_unlock(&journal->lock);
}

void tide_journal_text(tide_journal *journal, const char *key, const char *value) {
    if (journal == NULL) {
        return;
    }
    pthread_mutex_lock(&journal->lock);
    tide_journal_put(journal, TIDE_LOG_TEXT, key, strlen(key) + 1, value, strlen(value) + 1);
    pthread_mutex_unlock(&journal->lock);
}
