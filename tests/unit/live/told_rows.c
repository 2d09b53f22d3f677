#include "unit/live/told_rows.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "programs/live/questions.h"

struct told told;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void told_clear(void) {
    told = (struct told){.is_open = true, .total_bytes = (size_t)80 << 30};
    told.free_bytes = told.total_bytes;
}

void tide_live_before_call(void) {
    (void)pthread_mutex_lock(&mutex);
    told.n_before++;
    (void)pthread_mutex_unlock(&mutex);
}

bool tide_live_is_open(void) {
    return told.is_open;
}

void tide_live_record_driver(const tide_live_driver_call *call) {
    (void)pthread_mutex_lock(&mutex);
    if (told.n < MAX_TOLD) {
        told.rows[told.n++] = *call;
    }
    (void)pthread_mutex_unlock(&mutex);
}

void tide_live_describe(const char *key, const char *value) {
    (void)pthread_mutex_lock(&mutex);
    if (told.n_described < 64) {
        (void)snprintf(told.described[told.n_described][0], 256, "%s", key);
        (void)snprintf(told.described[told.n_described++][1], 256, "%s", value);
    }
    (void)pthread_mutex_unlock(&mutex);
}

int64_t told_bytes(int device, bool on_host) {
    int64_t sum = 0;
    for (size_t i = 0; i < told.n; i++) {
        const tide_live_driver_call *row = &told.rows[i];
        bool is_host =
            row->action == TIDE_LOG_CALL_HOST_ALLOC || row->action == TIDE_LOG_CALL_HOST_FREE;
        bool takes = row->action % 2 == 0;
        if (row->action == TIDE_LOG_CALL_REFUSED) {
            continue;
        }
        if (row->device == device && is_host == on_host) {
            sum += takes ? (int64_t)row->n_bytes : -(int64_t)row->n_bytes;
        }
    }
    return sum;
}

static int get_info(size_t *ret_free, size_t *ret_total) {
    (void)pthread_mutex_lock(&mutex);
    told.n_asked++;
    told.mode_when_asked = told.capture_mode;
    *ret_free = told.free_bytes;
    *ret_total = told.total_bytes;
    (void)pthread_mutex_unlock(&mutex);
    return 0;
}

static int current_device(int *ret_device) {
    *ret_device = told.device;
    return 0;
}

static int exchange_capture_mode(int *mode) {
    (void)pthread_mutex_lock(&mutex);
    int old = told.capture_mode;
    told.capture_mode = *mode;
    *mode = old;
    (void)pthread_mutex_unlock(&mutex);
    return 0;
}

static int push(void *context) {
    told.context = context;
    return 0;
}

static int pop(void **ret_context) {
    *ret_context = told.context;
    told.context = NULL;
    return 0;
}

static char default_pool_of_3;

static int default_pool(void **ret_pool, int device) {
    *ret_pool = device == 3 ? &default_pool_of_3 : NULL;
    return 0;
}

static int pool_attribute(void *pool, int attribute, void *ret_value) {
    uint64_t value = attribute == 5 ? told.pool_reserved : told.pool_used;
    memcpy(ret_value, &value, sizeof(value));
    return pool == &default_pool_of_3 ? 0 : 1;
}

static int graph_attribute(int device, int attribute, void *ret_value) {
    uint64_t value = attribute == 2 ? told.graph_reserved : 0;
    memcpy(ret_value, &value, sizeof(value));
    return device >= 0 ? 0 : 1;
}

const tide_live_questions *tide_live_questions_to_driver(void) {
    static const tide_live_questions QUESTIONS = {.get_info = get_info,
                                                  .current_device = current_device,
                                                  .exchange_capture_mode = exchange_capture_mode,
                                                  .push = push,
                                                  .pop = pop,
                                                  .default_pool = default_pool,
                                                  .pool_attribute = pool_attribute,
                                                  .graph_attribute = graph_attribute};
    return told.has_driver ? &QUESTIONS : NULL;
}
