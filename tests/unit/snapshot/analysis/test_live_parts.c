/* test_live_parts.c - parts that only live recordings have: how a category became known, scopes
 * known only at their allocations, owners of driver memory, and private pools. Written, read again,
 * refused, and left out of timings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/export/export.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/owners.h"
#include "snapshot/analysis/steps.h"
#include "snapshot/explain/work_shares.h"
#include "support/made_snapshot.h"
#include "support/snapshot_files.h"

enum { STEP, FORWARD, MODULE, OPERATOR, N_STRINGS };
enum { N_EVENTS = 4, MOST_TEXT = 1 << 20 };
static const char *const STRINGS[N_STRINGS] = {"step", "forward", "the module", "an operator"};

/* step > forward > the module (no interval) > an operator */
static const tide_scope_row SCOPES[] = {
    {.duration_ns = 2000000, .parent = TIDE_NONE, .name = STEP, .kind = TIDE_SCOPE_STEP},
    {.duration_ns = 1000000, .parent = 0, .name = FORWARD, .index = -1, .kind = TIDE_SCOPE_PHASE},
    {.begin_ns = 10,
     .duration_ns = TIDE_SCOPE_NO_INTERVAL,
     .parent = 1,
     .name = MODULE,
     .index = -1,
     .kind = TIDE_SCOPE_OPERATOR},
    {.begin_ns = 20,
     .duration_ns = 500000,
     .parent = 2,
     .name = OPERATOR,
     .index = -1,
     .kind = TIDE_SCOPE_OPERATOR},
};
enum { N_SCOPES = sizeof(SCOPES) / sizeof(SCOPES[0]) };

/* A named block that exists before the start. */
static const tide_segment_row SEGMENT = {
    .address = 1 << 20, .total_bytes = 1024, .n_blocks = 2, .pool = TIDE_SEGMENT_SMALL};
static const tide_block_row BLOCKS[] = {
    {.block_bytes = 512,
     .requested_bytes = 512,
     .stack = TIDE_NONE,
     .scope = TIDE_NONE,
     .name = TIDE_NONE,
     .state = TIDE_BLOCK_ALLOCATED,
     .category = TIDE_PARAMETER},
    {.offset_bytes = 512,
     .block_bytes = 512,
     .stack = TIDE_NONE,
     .scope = TIDE_NONE,
     .name = TIDE_NONE},
};
static const uint8_t BLOCK_CERTAINTY[] = {TIDE_CERTAINTY_NAMED, TIDE_CERTAINTY_UNKNOWN};
static const uint8_t EVENT_CERTAINTY[N_EVENTS] = {TIDE_CERTAINTY_RULE, TIDE_CERTAINTY_UNKNOWN,
                                                  TIDE_CERTAINTY_NAMED, TIDE_CERTAINTY_RULE};

typedef struct recording {
    tide_event events[N_EVENTS];
    tide_scope_row scopes[N_SCOPES];
    tide_snapshot *snapshot;
} recording;

/* Three blocks of 1000, 2000 and 4000 bytes; the first is freed at the end. */
static recording make(void) {
    recording made = {.snapshot = NULL};
    for (size_t i = 0; i < 3; i++) {
        made.events[i] =
            made_event(TIDE_ACTION_ALLOC, 512 * i, (uint64_t)1000 << i, (uint64_t)1024 << i);
        made.events[i].scope = 2 + (i > 1);
        made.events[i].category = TIDE_ACTIVATION;
    }
    made.events[3] = made.events[0];
    made.events[3].action = TIDE_ACTION_FREE;
    memcpy(made.scopes, SCOPES, sizeof(SCOPES));
    return made;
}

/* The document over the rows of `made`, which must not move afterwards. */
static tide_snapshot *open_made(recording *made) {
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = N_STRINGS,
                                .scopes = made->scopes,
                                .n_scopes = N_SCOPES,
                                .n_devices = 1};
    made->snapshot = made_snapshot(NULL, &tables, made->events, N_EVENTS);
    made->snapshot->start_segments = made->snapshot->end_segments = &SEGMENT;
    made->snapshot->n_start_segments = made->snapshot->n_end_segments = 1;
    made->snapshot->start_blocks = made->snapshot->end_blocks = BLOCKS;
    made->snapshot->n_start_blocks = made->snapshot->n_end_blocks = 2;
    return made->snapshot;
}

/* Saves and reads again. `ret_text`: the document; the caller frees it; may be NULL. */
static tide_snapshot *there_and_back(const tide_snapshot *snapshot, char **ret_text) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_snapshot *again = NULL;
    size_t n_bytes = 0;
    snapshot_path(path, "live.json.gz");
    if (tide_snapshot_save(snapshot, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &again, &error) != TIDE_OK ||
        (ret_text != NULL &&
         snapshot_unzip(path, MOST_TEXT, ret_text, &n_bytes, &error) != TIDE_OK)) {
        fail_msg("%s", error.message);
    }
    snapshot_remove(path);
    return again;
}

static void certainty_comes_back(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    snapshot->event_certainty = EVENT_CERTAINTY;
    snapshot->start_block_certainty = BLOCK_CERTAINTY;
    tide_snapshot *read = there_and_back(snapshot, NULL);
    assert_true(tide_snapshot_has_certainty(read));
    assert_memory_equal(read->event_certainty, EVENT_CERTAINTY, sizeof(EVENT_CERTAINTY));
    assert_memory_equal(read->start_block_certainty, BLOCK_CERTAINTY, sizeof(BLOCK_CERTAINTY));
    assert_null(read->end_block_certainty);
    tide_snapshot_destroy(read);

    snapshot->event_certainty = NULL;
    snapshot->start_block_certainty = NULL;
    snapshot->end_block_certainty = BLOCK_CERTAINTY;
    read = there_and_back(snapshot, NULL);
    assert_null(read->event_certainty);
    assert_null(read->start_block_certainty);
    assert_memory_equal(read->end_block_certainty, BLOCK_CERTAINTY, sizeof(BLOCK_CERTAINTY));
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

static void a_file_without_certainty_does_not_mention_it(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    char *text = NULL;
    tide_snapshot *read = there_and_back(snapshot, &text);
    assert_null(strstr(text, "\"certainty\""));
    assert_false(tide_snapshot_has_certainty(read));
    assert_null(read->event_certainty);
    free(text);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

static void a_block_carries_the_certainty_of_its_allocation(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    tide_lifetimes lifetimes;
    snapshot->event_certainty = EVENT_CERTAINTY;
    snapshot->start_block_certainty = BLOCK_CERTAINTY;
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL), TIDE_OK);
    assert_int_equal(lifetimes.n_lifetimes, 4);
    assert_int_equal(lifetimes.lifetimes[0].certainty, TIDE_CERTAINTY_NAMED);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lifetimes.lifetimes[i + 1].certainty, EVENT_CERTAINTY[i]);
    }
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

static void expect_refusal(const tide_snapshot *snapshot, const char *place) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    snapshot_path(path, "refused.json.gz");
    assert_int_equal(tide_snapshot_save(snapshot, path, &error), TIDE_INVALID);
    if (strstr(error.message, place) == NULL) {
        fail_msg("%s: %s", place, error.message);
    }
}

static void what_cannot_be_is_not_written(void **state) {
    (void)state;
    static const uint8_t TOO_HIGH[N_EVENTS] = {0, TIDE_N_CERTAINTIES};
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    snapshot->event_certainty = TOO_HIGH;
    expect_refusal(snapshot, "events.certainty[1]");
    snapshot->event_certainty = NULL;
    snapshot->start_block_certainty = TOO_HIGH;
    expect_refusal(snapshot, "start.segments[0].blocks[1].certainty");
    snapshot->start_block_certainty = NULL;
    snapshot->end_block_certainty = TOO_HIGH;
    expect_refusal(snapshot, "end.segments[0].blocks[1].certainty");
    snapshot->end_block_certainty = NULL;
    made.scopes[3].duration_ns = TIDE_SCOPE_NO_INTERVAL - 1;
    expect_refusal(snapshot, "scopes.duration[3]");
    tide_snapshot_destroy(snapshot);
}

static void a_scope_without_interval_comes_back(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    tide_snapshot *read = there_and_back(snapshot, NULL);
    assert_int_equal(read->n_scopes, N_SCOPES);
    assert_int_equal(read->scopes[2].begin_ns, 10);
    assert_int_equal(read->scopes[2].duration_ns, TIDE_SCOPE_NO_INTERVAL);
    assert_int_equal(read->scopes[3].duration_ns, 500000);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

static void a_step_without_interval_is_not_open(void **state) {
    (void)state;
    static const int64_t DURATIONS[] = {TIDE_SCOPE_NO_INTERVAL, TIDE_SCOPE_OPEN};
    for (size_t i = 0; i < 2; i++) {
        recording made = make();
        tide_snapshot *snapshot = open_made(&made);
        tide_lifetimes lifetimes;
        tide_steps steps;
        made.scopes[0].duration_ns = DURATIONS[i];
        assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, NULL),
                         TIDE_OK);
        assert_int_equal(tide_steps_init(&steps, snapshot, &lifetimes, 0), TIDE_OK);
        assert_int_equal(steps.n_steps, 1);
        assert_int_equal(steps.steps[0].is_open, DURATIONS[i] == TIDE_SCOPE_OPEN);
        tide_steps_fini(&steps);
        tide_lifetimes_fini(&lifetimes);
        tide_snapshot_destroy(snapshot);
    }
}

static void work_shares_leave_it_out(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    const tide_snapshot_device device = {"cuda", "a card", -1, -1, -1, -1, -1, -1};
    tide_work_shares shares;
    snapshot->devices = &device;
    snapshot->timing.measured_steps = 1;
    for (size_t i = 0; i < N_SCOPES; i++) {
        made.scopes[i].device_begin_ns = made.scopes[i].device_duration_ns = -1;
    }
    assert_int_equal(tide_work_shares_init(&shares, snapshot, false), TIDE_OK);
    assert_int_equal(shares.n_rows, 1); /* not the module, which is an operator here as well */
    assert_string_equal(shares.rows[0].name, "the module > an operator");
    assert_true(shares.rows[0].ms > 0.49 && shares.rows[0].ms < 0.51);
    tide_work_shares_fini(&shares);
    tide_snapshot_destroy(snapshot);
}

/* A sink that keeps a whole small text. */
typedef struct kept_text {
    char text[16384];
    size_t n_bytes;
} kept_text;

static tide_status keep(void *ctx, const char *bytes, size_t n_bytes) {
    kept_text *kept = ctx;
    assert_true(kept->n_bytes + n_bytes < sizeof(kept->text));
    memcpy(kept->text + kept->n_bytes, bytes, n_bytes);
    kept->n_bytes += n_bytes;
    return TIDE_OK;
}

static void a_timeline_leaves_it_out(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    kept_text kept = {.n_bytes = 0};
    const tide_export_sink sink = {.write = keep, .ctx = &kept};
    const tide_exporter *perfetto = NULL;
    for (size_t i = 0; perfetto == NULL; i++) {
        const tide_exporter *at = tide_exporter_at(i);
        perfetto = strcmp(at->name, "perfetto") == 0 ? at : NULL;
    }
    for (size_t i = 0; i < N_SCOPES; i++) {
        made.scopes[i].device_begin_ns = made.scopes[i].device_duration_ns = -1;
    }
    snapshot->clock_source = "monotonic";
    assert_int_equal(tide_export(perfetto, snapshot, NULL, &sink, NULL), TIDE_OK);
    assert_non_null(strstr(kept.text, "\"an operator\""));
    assert_null(strstr(kept.text, "\"the module\""));
    assert_null(strstr(kept.text, "still_open"));
    /* The operator appears inside the scope around the module. */
    assert_true(strstr(kept.text, "\"forward\"") < strstr(kept.text, "\"an operator\""));
    tide_snapshot_destroy(snapshot);
}

static const tide_snapshot_owner OWNERS[] = {
    {.name = "PyTorch", .peak_bytes = 1000, .end_bytes = 600, .n_allocations = 12},
    {.name = "others", .peak_bytes = 50, .end_bytes = -1, .n_allocations = -1},
    {.name = "NCCL", .device = 1, .peak_bytes = 7, .end_bytes = 7, .n_allocations = 1},
};
enum { N_OWNERS = sizeof(OWNERS) / sizeof(OWNERS[0]) };
static const tide_snapshot_driver_account ACCOUNT = {.total_bytes = 8000,
                                                     .used_at_start_bytes = 10,
                                                     .used_at_peak_bytes = 1500,
                                                     .used_at_end_bytes = 900,
                                                     .context_bytes = 400,
                                                     .unmeasured_bytes = 70};

static tide_snapshot *with_owners(recording *made, const tide_snapshot_owner *owners,
                                  const tide_snapshot_driver_account *account) {
    static const tide_snapshot_device DEVICES[] = {{"virtual", "a", -1, -1, -1, -1, -1, -1},
                                                   {"virtual", "b", -1, -1, -1, -1, -1, -1}};
    tide_snapshot *snapshot = open_made(made);
    snapshot->devices = DEVICES;
    snapshot->n_devices = 2;
    snapshot->owners = owners;
    snapshot->n_owners = N_OWNERS;
    snapshot->driver_accounts = account;
    snapshot->n_driver_accounts = 1;
    return snapshot;
}

static void owners_come_back(void **state) {
    (void)state;
    recording made = make();
    char *text = NULL;
    int64_t unexplained = 0;
    tide_snapshot *snapshot = with_owners(&made, OWNERS, &ACCOUNT);
    tide_snapshot *read = there_and_back(snapshot, &text);
    assert_int_equal(read->n_owners, N_OWNERS);
    for (size_t i = 0; i < N_OWNERS; i++) {
        assert_string_equal(read->owners[i].name, OWNERS[i].name);
        assert_int_equal(read->owners[i].device, OWNERS[i].device);
        assert_int_equal(read->owners[i].peak_bytes, OWNERS[i].peak_bytes);
        assert_int_equal(read->owners[i].end_bytes, OWNERS[i].end_bytes);
        assert_int_equal(read->owners[i].n_allocations, OWNERS[i].n_allocations);
    }
    assert_int_equal(read->n_driver_accounts, 1);
    assert_memory_equal(tide_owners_account(read, 0), &ACCOUNT, sizeof(ACCOUNT));
    assert_null(tide_owners_account(read, 1));
    assert_true(tide_owners_unexplained(read, 0, &unexplained));
    assert_int_equal(unexplained, 50);
    assert_false(tide_owners_unexplained(read, 1, &unexplained));
    assert_non_null(strstr(text, "\"unexplained_at_peak_bytes\":50"));
    free(text);
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

static void what_is_not_known_is_not_explained(void **state) {
    (void)state;
    static const struct {
        int64_t used_bytes, context_bytes, owner_bytes;
        bool is_known;
        int64_t unexplained_bytes;
    } CASES[] = {{1500, 400, 1000, true, 50},
                 {1500, -1, 1000, true, 450},
                 {1000, 400, 1000, true, -450}, /* the owners claim more than is in use */
                 {-1, 400, 1000, false, 0},
                 {1500, 400, -1, false, 0},
                 {INT64_MAX, 400, INT64_MAX - 450, true, 0},
                 {INT64_MAX, 400, INT64_MAX - 449, false, 0}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        recording made = make();
        tide_snapshot_owner owners[N_OWNERS];
        tide_snapshot_driver_account account = ACCOUNT;
        int64_t unexplained = 0;
        memcpy(owners, OWNERS, sizeof(OWNERS));
        owners[0].peak_bytes = CASES[i].owner_bytes;
        account.used_at_peak_bytes = CASES[i].used_bytes;
        account.context_bytes = CASES[i].context_bytes;
        tide_snapshot *snapshot = with_owners(&made, owners, &account);
        assert_int_equal(tide_owners_unexplained(snapshot, 0, &unexplained), CASES[i].is_known);
        assert_int_equal(unexplained, CASES[i].unexplained_bytes);
        tide_snapshot_destroy(there_and_back(snapshot, NULL));
        tide_snapshot_destroy(snapshot);
    }
}

static void owners_of_no_device_are_not_written(void **state) {
    (void)state;
    recording made = make();
    tide_snapshot_owner owners[N_OWNERS];
    const tide_snapshot_driver_account accounts[] = {ACCOUNT, ACCOUNT, {.device = 256}};
    memcpy(owners, OWNERS, sizeof(OWNERS));
    owners[1].device = 2;
    tide_snapshot *snapshot = with_owners(&made, owners, accounts);
    expect_refusal(snapshot, "owners.rows[1].device");
    snapshot->n_owners = 1;
    snapshot->n_driver_accounts = 2;
    expect_refusal(snapshot, "owners.accounts[1].device");
    snapshot->driver_accounts = &accounts[2];
    snapshot->n_driver_accounts = 1;
    expect_refusal(snapshot, "owners.accounts[0].device");
    tide_snapshot_destroy(snapshot);
}

static void pools_come_back(void **state) {
    (void)state;
    static const tide_snapshot_pool POOLS[] = {{{1, 0}}, {{0, UINT32_MAX}}};
    static const uint16_t OF_EVENT[N_EVENTS] = {1, 0, 2, 1};
    recording made = make();
    tide_snapshot *snapshot = open_made(&made);
    tide_snapshot *read = there_and_back(snapshot, NULL);
    assert_null(read->event_pool);
    assert_int_equal(read->n_pools, 0);
    tide_snapshot_destroy(read);
    snapshot->pools = POOLS;
    snapshot->n_pools = 2;
    snapshot->event_pool = OF_EVENT;
    read = there_and_back(snapshot, NULL);
    assert_int_equal(read->n_pools, 2);
    assert_memory_equal(read->pools, POOLS, sizeof(POOLS));
    assert_memory_equal(read->event_pool, OF_EVENT, sizeof(OF_EVENT));
    snapshot->n_pools = 1;
    expect_refusal(snapshot, "events.pool[2]");
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

static void the_rank_comes_back(void **state) {
    (void)state;
    static const tide_snapshot_group GROUPS[] = {{"tp", "tensor", 8, 3, 0, 1},
                                                 {"dp", "", 128, 0, 3, 8}};
    recording made = make();
    char *text = NULL;
    tide_snapshot *snapshot = open_made(&made);
    tide_snapshot *read = there_and_back(snapshot, &text);
    assert_false(tide_snapshot_has_rank(read));
    assert_null(strstr(text, "\"rank\""));
    tide_snapshot_destroy(read);
    free(text);
    snapshot->rank = (tide_snapshot_rank){3, 1, 1024, GROUPS, 2};
    read = there_and_back(snapshot, NULL);
    assert_true(tide_snapshot_has_rank(read));
    assert_int_equal(read->rank.rank, 3);
    assert_int_equal(read->rank.local_rank, 1);
    assert_int_equal(read->rank.world_size, 1024);
    assert_int_equal(read->rank.n_groups, 2);
    for (size_t i = 0; i < 2; i++) {
        const tide_snapshot_group *group = &read->rank.groups[i];
        assert_string_equal(group->name, GROUPS[i].name);
        assert_string_equal(group->description, GROUPS[i].description);
        assert_int_equal(group->size, GROUPS[i].size);
        assert_int_equal(group->position, GROUPS[i].position);
        assert_int_equal(group->first, GROUPS[i].first);
        assert_int_equal(group->stride, GROUPS[i].stride);
    }
    tide_snapshot_destroy(read);
    tide_snapshot_destroy(snapshot);
}

/* A stored file with all of these parts must always open. */
static void the_live_file_of_version_1_opens(void **state) {
    (void)state;
    tide_error error = {""};
    tide_snapshot *read = NULL;
    if (tide_snapshot_load(TIDE_TEST_SNAPSHOTS "/version-1-live.json.gz", NULL, &read, &error) !=
        TIDE_OK) {
        fail_msg("%s", error.message);
    }
    int64_t unexplained = 0;
    tide_snapshot *again = there_and_back(read, NULL);
    assert_int_equal(read->n_odd, 0);
    assert_int_equal(read->n_events, 16);
    assert_memory_equal(read->event_certainty, again->event_certainty, read->n_events);
    assert_int_equal(read->event_certainty[1], TIDE_CERTAINTY_NAMED);
    assert_int_equal(read->event_certainty[8], TIDE_CERTAINTY_RULE);
    assert_int_equal(read->start_block_certainty[0], TIDE_CERTAINTY_NAMED);
    assert_int_equal(again->end_block_certainty[1], TIDE_CERTAINTY_NAMED);
    assert_int_equal(read->scopes[4].duration_ns, TIDE_SCOPE_NO_INTERVAL);
    assert_int_equal(again->scopes[5].duration_ns, TIDE_SCOPE_NO_INTERVAL);
    assert_int_equal(read->n_pools, 2);
    assert_int_equal(again->pools[1].id[1], 1);
    assert_int_equal(read->event_pool[7], 2);
    assert_memory_equal(read->event_pool, again->event_pool, sizeof(uint16_t) * read->n_events);
    assert_int_equal(read->n_owners, 3);
    assert_string_equal(again->owners[2].name, "caf\xc3\xa9 <lib>");
    assert_true(tide_owners_unexplained(again, 0, &unexplained));
    assert_int_equal(unexplained, 193704448);
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(read);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certainty_comes_back),
        cmocka_unit_test(a_file_without_certainty_does_not_mention_it),
        cmocka_unit_test(a_block_carries_the_certainty_of_its_allocation),
        cmocka_unit_test(what_cannot_be_is_not_written),
        cmocka_unit_test(a_scope_without_interval_comes_back),
        cmocka_unit_test(a_step_without_interval_is_not_open),
        cmocka_unit_test(work_shares_leave_it_out),
        cmocka_unit_test(a_timeline_leaves_it_out),
        cmocka_unit_test(owners_come_back),
        cmocka_unit_test(what_is_not_known_is_not_explained),
        cmocka_unit_test(owners_of_no_device_are_not_written),
        cmocka_unit_test(pools_come_back),
        cmocka_unit_test(the_rank_comes_back),
        cmocka_unit_test(the_live_file_of_version_1_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
