#include "fake_cupti/fake_cupti.h"

#include <pthread.h>
#include <string.h>

#include "recorder/cupti_internal.h"

enum { MAX_PUSHED = 64, UNKNOWN_ERROR = 999 };

tide_fake_cupti *tide_fake_cupti_state(void);
int cuptiActivityRegisterCallbacks(tide_cupti_request request, tide_cupti_complete complete);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t n_valid_bytes, void **record);
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *ret_id);
int cuptiGetResultString(int result, const char **ret_text);

static void launch(const char *mangled_name, uint64_t duration_ns);
static void flush_elsewhere(void);

static tide_fake_cupti state = {.launch = launch, .flush_elsewhere = flush_elsewhere};

/* A buffer of the client. */
typedef struct filling {
    uint8_t *buffer;         /* NULL: none */
    size_t n_bytes, n_valid; /* of it */
} filling;

static struct {
    tide_cupti_request request;
    tide_cupti_complete complete;
    bool is_on[64];              /* by kind */
    uint64_t pushed[MAX_PUSHED]; /* state.n_pushed ids */
    filling now;                 /* returned by the next flush */
    filling late,
        later; /* by the flush after that: late records, and records put in the meantime */
    uint32_t correlation; /* of the latest call */
    uint64_t now_ns;      /* of the device's clock */
} fake;

tide_fake_cupti *tide_fake_cupti_state(void) {
    return &state;
}

static int answer(const char *function) {
    bool fails = state.fail_function != NULL && strcmp(state.fail_function, function) == 0;
    return !fails ? 0 : state.fail_with != 0 ? state.fail_with : UNKNOWN_ERROR;
}

int cuptiActivityRegisterCallbacks(tide_cupti_request request, tide_cupti_complete complete) {
    fake.request = request;
    fake.complete = complete;
    return answer("cuptiActivityRegisterCallbacks");
}

static int switch_kind(const char *function, int kind, bool on) {
    int result = answer(function);
    if (result == 0 && fake.is_on[kind] != on) {
        fake.is_on[kind] = on;
        state.n_enabled = on ? state.n_enabled + 1 : state.n_enabled - 1;
    }
    return result;
}

int cuptiActivityEnable(int kind) {
    return switch_kind("cuptiActivityEnable", kind, true);
}

int cuptiActivityDisable(int kind) {
    return switch_kind("cuptiActivityDisable", kind, false);
}

static void give_back(filling *from) {
    const filling full = *from;
    *from = (filling){NULL, 0, 0};
    if (full.buffer != NULL) {
        state.n_buffers--;
        fake.complete(NULL, 0, full.buffer, full.n_bytes, full.n_valid);
    }
}

static void put(const void *record, size_t n_bytes, int kind) {
    const bool is_kernel = kind == TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    filling *to = (is_kernel ? state.late_kernels : state.late_calls) ? &fake.later : &fake.now;
    if (!fake.is_on[kind]) {
        return;
    }
    if (to->buffer != NULL && to->n_valid + n_bytes > to->n_bytes) {
        give_back(to);
    }
    if (to->buffer == NULL) {
        size_t max_records = 0;
        fake.request(&to->buffer, &to->n_bytes, &max_records);
        to->n_valid = 0;
        state.n_buffers += to->buffer != NULL;
    }
    if (to->buffer == NULL) {
        state.n_refused++;
        return;
    }
    memcpy(to->buffer + to->n_valid, record, n_bytes);
    to->n_valid += n_bytes;
}

static void launch(const char *mangled_name, uint64_t duration_ns) {
    uint32_t correlation = ++fake.correlation;
    /* The record of a call: its kind, then 16 bytes that no reader uses. */
    const struct {
        uint32_t kind, size;
        uint64_t rest;
    } call = {TIDE_CUPTI_ACTIVITY_KIND_RUNTIME, 16, 0};
    if (state.n_pushed > 0) {
        const tide_cupti_external external = {.kind = TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                              .external_kind =
                                                  TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                              .external = fake.pushed[state.n_pushed - 1],
                                              .correlation = correlation};
        const tide_cupti_external foreign = {.kind = external.kind,
                                             .external_kind = 1,
                                             .external = UINT64_MAX,
                                             .correlation = correlation};
        put(&foreign, sizeof(foreign), TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
        put(&external, sizeof(external), TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    }
    put(&call, sizeof(call), TIDE_CUPTI_ACTIVITY_KIND_RUNTIME);
    struct {
        tide_cupti_kernel kernel;
        uint8_t later[104]; /* fields that a later version adds */
    } record = {.kernel = {.kind = TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                           .start_ns = fake.now_ns,
                           .end_ns = fake.now_ns + duration_ns,
                           .correlation = correlation,
                           .name = mangled_name}};
    fake.now_ns += duration_ns + 100;
    put(&record, sizeof(record), TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

/* A forced flush also returns the late records. */
int cuptiActivityFlushAll(uint32_t flags) {
    give_back(&fake.late);
    fake.late = fake.later;
    fake.later = (filling){NULL, 0, 0};
    give_back(&fake.now);
    if ((flags & TIDE_CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0) {
        give_back(&fake.late);
    }
    return answer("cuptiActivityFlushAll");
}

static void *flush(void *unused) {
    (void)cuptiActivityFlushAll(0);
    return unused;
}

static void flush_elsewhere(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, flush, NULL) == 0) {
        (void)pthread_join(thread, NULL);
    }
}

static size_t bytes_of(const uint8_t *record) {
    uint32_t kind = 0;
    memcpy(&kind, record, sizeof(kind));
    switch (kind) {
    case TIDE_CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(tide_cupti_kernel) + 104;
    case TIDE_CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(tide_cupti_external);
    default:
        return 16;
    }
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t n_valid_bytes, void **record) {
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + bytes_of(*record);
    if (next >= buffer + n_valid_bytes) {
        return TIDE_CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = next;
    return 0;
}

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    if (kind != TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 || state.n_pushed == MAX_PUSHED) {
        return UNKNOWN_ERROR;
    }
    fake.pushed[state.n_pushed++] = id;
    return 0;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *ret_id) {
    if (kind != TIDE_CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 || state.n_pushed == 0) {
        return UNKNOWN_ERROR;
    }
    *ret_id = fake.pushed[--state.n_pushed];
    return 0;
}

int cuptiGetResultString(int result, const char **ret_text) {
    *ret_text = result == UNKNOWN_ERROR ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_SUCCESS";
    return 0;
}
