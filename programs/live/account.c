#include "programs/live/account.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/lock_friend.h"
#include "programs/live/driver.h"
#include "programs/live/questions.h"

enum { SUCCESS = 0, PEAK_PERCENT = 1, CAPTURE_RELAXED = 2, PART_BYTES = 48 };

#define MIB (UINT64_C(1) << 20)

/* The account of a device. */
typedef struct account_of {
    void *context; /* borrowed; NULL: only the current thread's context can be asked */
    atomic_bool has[TIDE_LIVE_N_INSTANTS];
    tide_live_account at[TIDE_LIVE_N_INSTANTS];
    _Atomic uint64_t next_peak; /* lower peaks are not asked for */
} account_of;

static struct {
    tide_lock lock;
    atomic_bool waits_for_end;
    account_of devices[TIDE_LIVE_MAX_DEVICES];
} state;

static bool is_device(int device) {
    return device >= 0 && device < TIDE_LIVE_MAX_DEVICES;
}

/* ---- questions ---- */

/* Must not disturb a stream that is being captured: calls that are forbidden then are allowed in a
 * thread with the relaxed capture mode. */
static bool ask_info(const tide_live_questions *ask, size_t *ret_free, size_t *ret_total) {
    int mode = CAPTURE_RELAXED;
    bool is_changed =
        ask->exchange_capture_mode != NULL && ask->exchange_capture_mode(&mode) == SUCCESS;
    bool is_answered = ask->get_info(ret_free, ret_total) == SUCCESS;
    if (is_changed) {
        (void)ask->exchange_capture_mode(&mode);
    }
    return is_answered;
}

/* Asks with the context made current; NULL: with the current one. */
static bool ask_in(const tide_live_questions *ask, void *context, size_t *ret_free,
                   size_t *ret_total) {
    void *popped = NULL;
    if (context == NULL || ask->push == NULL || ask->pop == NULL) {
        return ask_info(ask, ret_free, ret_total);
    }
    if (ask->push(context) != SUCCESS) {
        return false;
    }
    bool is_answered = ask_info(ask, ret_free, ret_total);
    (void)ask->pop(&popped);
    return is_answered;
}

/* The unused reserve of a stream-ordered pool or of the graphs. */
static uint64_t kept(bool is_known, uint64_t reserved, uint64_t used) {
    return is_known && reserved > used ? reserved - used : 0;
}

/* The reserve of the device's default pool and of its graphs. Pools that a program makes may be
 * gone by now. */
static uint64_t ask_pools(const tide_live_questions *ask, int device) {
    enum { POOL_RESERVED = 5, POOL_USED = 7, GRAPH_USED = 0, GRAPH_RESERVED = 2 };
    void *pool = NULL;
    uint64_t reserved = 0;
    uint64_t used = 0;
    bool is_known = ask->default_pool != NULL && ask->pool_attribute != NULL &&
                    ask->default_pool(&pool, device) == SUCCESS &&
                    ask->pool_attribute(pool, POOL_RESERVED, &reserved) == SUCCESS &&
                    ask->pool_attribute(pool, POOL_USED, &used) == SUCCESS;
    uint64_t n_bytes = kept(is_known, reserved, used);
    is_known = ask->graph_attribute != NULL &&
               ask->graph_attribute(device, GRAPH_RESERVED, &reserved) == SUCCESS &&
               ask->graph_attribute(device, GRAPH_USED, &used) == SUCCESS;
    return n_bytes + kept(is_known, reserved, used);
}

/* The owner of what a virtual card is charged for NCCL's buffers. */
#define NCCL_CHARGE "NCCL (charged)"

/* The same in bytes, for programs: a number and its name on each line. */
static void describe_bytes(const char *key, const tide_live_account *account) {
    char long_key[PART_BYTES + 8];
    char text[4096];
    int n = snprintf(text, sizeof(text), "%" PRIu64 " total\n%" PRIu64 " used\n%" PRIu64 " context",
                     account->total_bytes, account->used_bytes, account->context_bytes);
    for (unsigned i = 0; i < TIDE_LIVE_MAX_OWNERS; i++) {
        if (account->by_owner[i] > 0 && n > 0 && n < (int)sizeof(text)) {
            n += snprintf(text + n, sizeof(text) - (size_t)n, "\n%" PRIu64 " owner %s",
                          account->by_owner[i], tide_live_owner_name(i));
        }
    }
    if (account->pool_bytes > 0 && n > 0 && n < (int)sizeof(text)) {
        (void)snprintf(text + n, sizeof(text) - (size_t)n, "\n%" PRIu64 " owner kept by pools",
                       account->pool_bytes);
        n += (int)strlen(text + n);
    }
    if (account->nccl_bytes > 0 && n > 0 && n < (int)sizeof(text)) {
        (void)snprintf(text + n, sizeof(text) - (size_t)n, "\n%" PRIu64 " owner " NCCL_CHARGE,
                       account->nccl_bytes);
    }
    (void)snprintf(long_key, sizeof(long_key), "%s.bytes", key);
    tide_live_describe(long_key, text);
}

static void describe(int device, tide_live_instant at, const tide_live_account *account) {
    static const char *const INSTANTS[TIDE_LIVE_N_INSTANTS] = {"begin", "peak", "end"};
    char key[PART_BYTES];
    char text[1024];
    (void)snprintf(key, sizeof(key), "live.account.%d.%s", device, INSTANTS[at]);
    tide_live_account_text(account, text, sizeof(text));
    tide_live_describe(key, text);
    describe_bytes(key, account);
}

/* Asks the driver, and stores the answer as the account of the instant. */
static void take(int device, tide_live_instant at, void *context) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    tide_live_sums sums;
    const tide_live_questions *ask = tide_live_questions_to_driver();
    if (ask == NULL || ask->get_info == NULL || !ask_in(ask, context, &free_bytes, &total_bytes)) {
        return;
    }
    tide_live_get_sums(device, &sums);
    tide_live_account account = {.total_bytes = total_bytes,
                                 .used_bytes = total_bytes - free_bytes,
                                 .held_bytes = sums.total_bytes,
                                 .pool_bytes = ask_pools(ask, device),
                                 .nccl_bytes =
                                     ask->nccl_bytes != NULL ? ask->nccl_bytes(device) : 0,
                                 .managed_bytes = sums.managed_bytes};
    memcpy(account.by_owner, sums.by_owner, sizeof(account.by_owner));
    account_of *of = &state.devices[device];
    tide_lock_acquire(&state.lock);
    if (at == TIDE_LIVE_BEGIN) {
        uint64_t known = account.held_bytes + account.pool_bytes + account.nccl_bytes;
        account.context_bytes = account.used_bytes > known ? account.used_bytes - known : 0;
        of->context = context;
    } else {
        account.context_bytes = of->at[TIDE_LIVE_BEGIN].context_bytes;
    }
    account.unexplained_bytes =
        (int64_t)(account.used_bytes - account.held_bytes - account.context_bytes -
                  account.pool_bytes - account.nccl_bytes);
    /* Of two threads at a peak, the one with more memory may get here first. */
    if (at != TIDE_LIVE_PEAK || account.held_bytes >= of->at[at].held_bytes) {
        of->at[at] = account;
    }
    of->has[at] = true;
    tide_lock_release(&state.lock);
    describe(device, at, &account);
}

/* ---- instants ---- */

static void end_all(void) {
    for (int device = 0; device < TIDE_LIVE_MAX_DEVICES; device++) {
        if (state.devices[device].has[TIDE_LIVE_BEGIN]) {
            take(device, TIDE_LIVE_END, state.devices[device].context);
        }
    }
}

void tide_live_account_end(void) {
    if (tide_live_is_open()) {
        end_all();
    }
}

void tide_live_account_begin(int device, void *context) {
    if (!is_device(device) || state.devices[device].has[TIDE_LIVE_BEGIN] || !tide_live_is_open()) {
        return;
    }
    /* A function registered now runs before the driver's own exit handler, which was registered
     * earlier. */
    if (!atomic_exchange(&state.waits_for_end, true)) {
        (void)atexit(tide_live_account_end); /* without memory: no account of the end */
    }
    take(device, TIDE_LIVE_BEGIN, context);
}

void tide_live_account_notice(int device, uint64_t n_held) {
    if (!is_device(device)) {
        return;
    }
    account_of *of = &state.devices[device];
    tide_live_account_begin(device, NULL);
    uint64_t next = atomic_load_explicit(&of->next_peak, memory_order_relaxed);
    if (n_held < next || !of->has[TIDE_LIVE_BEGIN]) {
        return;
    }
    uint64_t above = n_held + n_held / 100 * PEAK_PERCENT;
    if (atomic_compare_exchange_strong(&of->next_peak, &next,
                                       above > n_held ? above : n_held + 1)) {
        take(device, TIDE_LIVE_PEAK, NULL);
    }
}

uint64_t tide_live_account_free(void) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    const tide_live_questions *ask = tide_live_questions_to_driver();
    bool is_answered =
        ask != NULL && ask->get_info != NULL && ask_info(ask, &free_bytes, &total_bytes);
    return is_answered ? free_bytes : 0;
}

uint64_t tide_live_account_rest(void) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int device = 0;
    tide_live_sums sums;
    const tide_live_questions *ask = tide_live_questions_to_driver();
    if (ask == NULL || ask->get_info == NULL || ask->current_device == NULL ||
        ask->current_device(&device) != SUCCESS || !ask_info(ask, &free_bytes, &total_bytes)) {
        return 0;
    }
    tide_live_get_sums(device, &sums);
    uint64_t used = total_bytes - free_bytes;
    return used > sums.total_bytes ? used - sums.total_bytes : 0;
}

void tide_live_account_forked(void) {
    state.lock = (tide_lock){0};
    for (int device = 0; device < TIDE_LIVE_MAX_DEVICES; device++) {
        account_of *of = &state.devices[device];
        for (int at = 0; at < TIDE_LIVE_N_INSTANTS; at++) {
            atomic_store(&of->has[at], false);
        }
        of->context = NULL;
        of->at[TIDE_LIVE_PEAK].held_bytes = 0;
        atomic_store(&of->next_peak, 0);
    }
}

bool tide_live_get_account(int device, tide_live_instant at, tide_live_account *ret_account) {
    if (!is_device(device) || at < 0 || at >= TIDE_LIVE_N_INSTANTS) {
        return false;
    }
    tide_lock_acquire(&state.lock);
    bool has = state.devices[device].has[at];
    if (has) {
        *ret_account = state.devices[device].at[at];
    }
    tide_lock_release(&state.lock);
    return has;
}

/* ---- text ---- */

typedef struct writer {
    char *text;
    size_t n_bytes; /* at least 1 */
    size_t n;       /* used so far, without the NUL */
    int64_t n_left; /* MiB not yet in any part */
} writer;

static void add_part(writer *to, const char *name, int64_t n_mib) {
    const char *before = to->text[to->n - 1] == ' ' ? "" : " + ";
    int n = snprintf(to->text + to->n, to->n_bytes - to->n, "%s%s %lld", before, name,
                     (long long)n_mib);
    to->n += n > 0 ? (size_t)n : 0;
    to->n = to->n < to->n_bytes ? to->n : to->n_bytes - 1;
    to->n_left -= n_mib;
}

/* Each part is rounded down, and the last one is the remainder, so the parts add up. */
void tide_live_account_text(const tide_live_account *account, char *text, size_t n_bytes) {
    writer to = {.text = text, .n_bytes = n_bytes, .n_left = (int64_t)(account->used_bytes / MIB)};
    uint64_t others = 0;
    int n = snprintf(text, n_bytes, "%lld MiB = ", (long long)to.n_left);
    if (n <= 0 || (size_t)n >= n_bytes) {
        return;
    }
    to.n = (size_t)n;
    for (unsigned owner = 0; owner < TIDE_LIVE_MAX_OWNERS; owner++) {
        uint64_t bytes = account->by_owner[owner];
        if (bytes >= MIB) {
            add_part(&to, tide_live_owner_name(owner), (int64_t)(bytes / MIB));
        } else {
            others += bytes;
        }
    }
    if (account->context_bytes >= MIB) {
        add_part(&to, "context", (int64_t)(account->context_bytes / MIB));
    }
    if (account->pool_bytes >= MIB) {
        add_part(&to, "kept by pools", (int64_t)(account->pool_bytes / MIB));
    }
    if (account->nccl_bytes >= MIB) {
        add_part(&to, NCCL_CHARGE, (int64_t)(account->nccl_bytes / MIB));
    }
    if (others >= MIB) {
        add_part(&to, "smaller owners", (int64_t)(others / MIB));
    }
    add_part(&to, "unexplained", to.n_left);
}
