/* test_pytorch_import.c - hand-made small snapshots, as PyTorch would write them: how each part is
 * imported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/analysis/summary.h"
#include "support/pickle_text.h"

enum { TEXT_BYTES = 16384 };

static tide_snapshot *import(const char *text) {
    tide_snapshot *snapshot = NULL;
    tide_error error;
    if (pytorch_import_text(text, NULL, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return snapshot;
}

/* The document of a file with these segments, one trace of these events (up to NULL), and `rest`
 * after it. */
static tide_snapshot *import_trace(const char *segments, const char *rest, ...) {
    static char text[TEXT_BYTES];
    int n = snprintf(text, sizeof(text), "{'segments': [%s], 'device_traces': [[", segments);
    va_list events;
    va_start(events, rest);
    for (const char *event = NULL; (event = va_arg(events, const char *)) != NULL;) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%s,", event);
    }
    va_end(events);
    snprintf(text + n, sizeof(text) - (size_t)n, "]]%s}", rest);
    return import(text);
}

/* A segment of 20 MiB at 0x1000000 with the given blocks. */
#define SEGMENT_20(blocks)                                                                         \
    "{'device': 0, 'address': 16777216, 'total_size': 20971520, 'stream': 0, "                     \
    "'segment_type': 'large', 'segment_pool_id': (0, 3), 'is_expandable': False, "                 \
    "'frames': [], 'blocks': [" blocks "]}"
#define USED(address, size, requested)                                                             \
    "{'address': " address ", 'size': " size ", 'requested_size': " requested                      \
    ", 'state': 'active_allocated', 'frames': []}"
#define FREE(address, size)                                                                        \
    "{'address': " address ", 'size': " size ", 'state': 'inactive', 'frames': []}"
#define TWO(first, second) first ", " second
#define EVENT(action, addr, size, time, more)                                                      \
    "{'action': '" action "', 'addr': " addr ", 'size': " size                                     \
    ", 'stream': 0, 'time_us': " time more "}"

#define ONE_USED                                                                                   \
    SEGMENT_20(TWO(USED("16777216", "2097152", "2000000"), FREE("18874368", "18874368")))
#define ALL_FREE SEGMENT_20(FREE("16777216", "20971520"))

/* ---- what is read ---- */

static void frames_become_a_tree(void **state) {
    (void)state;
    tide_snapshot *s = import_trace(ONE_USED, "",
                                    EVENT("alloc", "16777216", "2000000", "1000",
                                          ", 'frames': ["
                                          "{'name': 'inner', 'filename': 'a.py', 'line': 7}, "
                                          "{'name': 'outer', 'filename': 'o.py', 'line': 0}]"),
                                    NULL);
    assert_int_equal(s->n_stacks, 2);
    const tide_stack_row *inner = &s->stacks[tide_index_at(&s->events.stack, 0)];
    assert_string_equal(tide_snapshot_text(s, s->frames[inner->frame].function), "inner");
    assert_int_equal(s->frames[inner->frame].line, 7);
    const tide_stack_row *outer = &s->stacks[inner->parent];
    assert_string_equal(tide_snapshot_text(s, s->frames[outer->frame].file), "o.py");
    assert_int_equal(outer->parent, TIDE_NONE);
    assert_int_equal(s->run.started_unix_us, 1000);
    assert_int_equal(s->events.time_ns[0], 0);
    assert_string_equal(s->clock_source, "tsc");
    assert_int_equal(s->end_segments[0].pool, TIDE_SEGMENT_LARGE);
    assert_int_equal(s->end_segments[0].pool_id[1], 3);
    assert_int_equal(s->n_start_segments, 1);
    assert_int_equal(s->n_start_blocks, 1);
    assert_int_equal(s->start_blocks[0].state, TIDE_BLOCK_FREE);
    tide_snapshot_destroy(s);
}

/* A segment from before the trace has the call stack that it was allocated for, also at the start.
 */
static void segments_keep_their_stacks(void **state) {
    (void)state;
    tide_snapshot *s = import_trace(
        "{'device': 0, 'address': 16777216, 'total_size': 2097152, 'stream': 0, 'segment_type': "
        "'large', 'frames': [{'name': 'buy', 'filename': 'b.py', 'line': 3}], 'blocks': ["
        "{'size': 2097152, 'state': 'inactive', 'frames': []}]}, "
        "{'device': 0, 'address': 33554432, 'total_size': 2097152, 'stream': 0, 'segment_type': "
        "'large', 'frames': [], 'blocks': [{'size': 2097152, 'state': 'inactive'}]}",
        "", EVENT("alloc", "16777216", "2000000", "5", ""),
        EVENT("free_requested", "16777216", "2000000", "6", ""),
        EVENT("free_completed", "16777216", "2000000", "6", ""), NULL);
    const tide_segment_row *const of[] = {&s->end_segments[0], &s->start_segments[0]};
    for (size_t i = 0; i < 2; i++) {
        assert_int_not_equal(of[i]->stack_after, 0);
        uint32_t frame = s->stacks[of[i]->stack_after - 1].frame;
        assert_string_equal(tide_snapshot_text(s, s->frames[frame].function), "buy");
    }
    assert_int_equal(s->end_segments[1].stack_after, 0);
    tide_snapshot_destroy(s);
}

/* One large block of 2,000,000 bytes whose neighbour begins 600,448 bytes after its end: the gap is
 * below 1 MiB, so it belongs to the block. The rest after the second block is above 1 MiB, so it
 * does not. */
static void block_sizes_follow_from_neighbours(void **state) {
    (void)state;
    tide_snapshot *s = import_trace(
        SEGMENT_20(TWO(FREE("16777216", "2600448"),
                       TWO(USED("19377664", "2097152", "2097152"), FREE("21474816", "16273920")))),
        "", EVENT("alloc", "16777216", "2000000", "5", ""),
        EVENT("free_requested", "16777216", "2000000", "6", ""),
        EVENT("free_completed", "16777216", "2000000", "6", ""),
        EVENT("alloc", "21474816", "3000000", "7", ""),
        EVENT("free_requested", "21474816", "3000000", "8", ""),
        EVENT("free_completed", "21474816", "3000000", "8", ""), NULL);
    assert_int_equal(s->n_events, 4);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 0), 2600448);
    assert_int_equal(s->events.action[1], TIDE_ACTION_FREE);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 1), 2600448);
    assert_int_equal(tide_bytes_at(&s->events.requested_bytes, 1), 2000000);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 2), 3000320);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 3), 3000320);
    assert_int_equal(s->origin.n_events, 6);
    assert_int_equal(s->origin.n_contradictions, 0);
    tide_snapshot_destroy(s);
}

/* The nearest neighbour also determines the size of a block that was alive before the trace,
 * whether it existed when the block was freed or is known only from earlier rows. */
static void blocks_from_before_the_trace_are_sized(void **state) {
    (void)state;
    static const char FIRST[] = EVENT("free_completed", "19377664", "2097152", "5", "");
    static const char REQUESTED[] = EVENT("free_requested", "16777216", "2000000", "6", "");
    static const char COMPLETED[] = EVENT("free_completed", "16777216", "2000000", "7", "");
    tide_snapshot *s = import_trace(ALL_FREE, "", FIRST, REQUESTED, COMPLETED, NULL);
    assert_int_equal(s->n_start_blocks, 3);
    assert_int_equal(s->start_blocks[0].block_bytes, 2600448);
    assert_int_equal(s->start_blocks[0].state, TIDE_BLOCK_ALLOCATED);
    assert_int_equal(s->start_blocks[1].state, TIDE_BLOCK_PENDING_FREE);
    assert_int_equal(s->start_blocks[1].block_bytes, 2097152);
    assert_int_equal(s->start_blocks[0].stack, TIDE_NONE);
    assert_int_equal(s->n_events, 2);
    assert_int_equal(s->events.action[0], TIDE_ACTION_FREE_COMPLETED);
    tide_snapshot_destroy(s);
    s = import_trace(ALL_FREE, "", REQUESTED, COMPLETED, FIRST, NULL);
    assert_int_equal(s->start_blocks[0].block_bytes, 2600448);
    tide_snapshot_destroy(s);
}

static void settings_change_the_rounding(void **state) {
    (void)state;
    /* Sizes are rounded up to quarters of a power of two: 5 MiB + 1 becomes 6 MiB. */
    tide_snapshot *s = import_trace(
        ALL_FREE,
        ", 'allocator_settings': {'PYTORCH_CUDA_ALLOC_CONF': 'x', 'max_split_size': -1, "
        "'expandable_segments': False, 'garbage_collection_threshold': 0.5, "
        "'roundup_power2_divisions': {'1': 4, '2': 4, '4': 4, '8': 0}}",
        EVENT("alloc", "16777216", "5242881", "5", ""),
        EVENT("free_completed", "16777216", "5242881", "6", ""), NULL);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 0), 6291456);
    assert_int_equal(s->n_settings, 5);
    assert_string_equal(s->settings[0].text, "x");
    assert_true(s->settings[1].number == -1.0);
    assert_true(s->settings[2].number == 0.0 && s->settings[2].text == NULL);
    assert_true(s->settings[3].number == 0.5);
    assert_non_null(strstr(s->settings[4].text, "[1:4,2:4,4:4,8:0,"));
    tide_snapshot_destroy(s);
    /* Above max_split_size a block takes the whole gap. */
    s = import_trace(ALL_FREE, ", 'allocator_settings': {'max_split_size': 15728640}",
                     EVENT("alloc", "16777216", "15728640", "5", ""),
                     EVENT("free_completed", "16777216", "15728640", "6", ""), NULL);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 0), 20971520);
    tide_snapshot_destroy(s);
}

static void expandable_segments_are_unmapped_backwards(void **state) {
    (void)state;
    tide_snapshot *s = import(
        "{'segments': [{'device': 1, 'address': 41943040, 'total_size': 41943040, 'stream': 7, "
        "'segment_type': 'large', 'is_expandable': True, 'blocks': [" USED(
            "41943040", "31457280",
            "31457000") ", " FREE("73400320",
                                  "10485760") "]}], "
                                              "'device_traces': [[], ["
                                              "{'action': 'segment_unmap', 'addr': 125829120, "
                                              "'size': 20971520, 'stream': 7}, "
                                              "{'action': 'segment_map', 'addr': 62914560, 'size': "
                                              "20971520, 'stream': 7}, "
                                              "{'action': 'alloc', 'addr': 41943040, 'size': "
                                              "31457000, 'stream': 7}, "
                                              "{'action': 'oom', 'device_free': 5, 'size': 1024, "
                                              "'stream': 7}, "
                                              "{'action': 'oom', 'size': 1024, 'stream': 7}]]}");
    assert_int_equal(s->n_devices, 2);
    assert_int_equal(s->n_start_segments, 2);
    assert_int_equal(s->start_segments[0].address, 41943040);
    assert_int_equal(s->start_segments[0].total_bytes, 20971520);
    assert_int_equal(s->start_segments[0].pool, TIDE_SEGMENT_LARGE);
    assert_int_equal(s->start_segments[1].address, 125829120);
    assert_true(s->start_segments[1].is_expandable);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 2), 31457280);
    assert_int_equal(s->streams[s->events.stream[2]].handle, 7);
    assert_int_equal(s->streams[s->events.stream[2]].device, 1);
    assert_int_equal(tide_bytes_at(&s->events.block_bytes, 3), 5);
    assert_true(tide_bytes_at(&s->events.block_bytes, 4) == (uint64_t)INT64_MAX);
    assert_string_equal(s->clock_source, "none");
    assert_int_equal(s->run.started_unix_us, -1);
    assert_int_equal(s->origin.n_contradictions, 0);
    tide_snapshot_destroy(s);
}

static void devices_are_merged_by_time(void **state) {
    (void)state;
    tide_snapshot *s =
        import("{'segments': [], 'device_traces': ["
               "[{'action': 'snapshot', 'time_us': 30}, {'action': 'snapshot', 'time_us': 20}, "
               "{'action': 'snapshot', 'time_us': 50}], "
               "[{'action': 'snapshot', 'time_us': 10}, {'action': 'workspace', 'time_us': 40}]]}");
    static const struct {
        int device;
        int64_t time_ns;
    } EXPECTED[] = {{1, 0}, {0, 20000}, {0, 10000}, {1, 30000}, {0, 40000}};
    assert_int_equal(s->n_events, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(s->events.device[i], EXPECTED[i].device);
        assert_int_equal(s->events.time_ns[i], EXPECTED[i].time_ns);
        assert_int_equal(s->events.action[i], TIDE_ACTION_MARK);
    }
    assert_string_equal(tide_snapshot_text(s, tide_index_at(&s->events.name, 0)), "snapshot");
    assert_string_equal(tide_snapshot_text(s, tide_index_at(&s->events.name, 3)), "workspace");
    tide_snapshot_destroy(s);
}

static const char *scope_name(const tide_snapshot *s, uint32_t scope) {
    return scope == TIDE_NONE ? "" : tide_snapshot_text(s, s->scopes[scope].name);
}

static void annotations_and_texts_become_scopes(void **state) {
    (void)state;
#define TEXTS(compile, metadata)                                                                   \
    ", 'compile_context': '" compile "', 'user_metadata': '" metadata "'"
    tide_snapshot *s = import_trace(
        "",
        ", 'external_annotations': ["
        "{'stage': 'END', 'name': 'before', 'device': 0, 'time_us': 5}, "
        "{'stage': 'START', 'name': 'outer', 'device': 0, 'time_us': 20}, "
        "{'stage': 'START', 'name': 'inner', 'device': 0, 'time_us': 25}, "
        "{'stage': 'END', 'name': 'inner', 'device': 0, 'time_us': 50}, "
        "{'stage': 'START', 'name': 'open', 'device': 0, 'time_us': 70}]",
        EVENT("snapshot", "0", "0", "10", ""), EVENT("oom", "0", "1", "20", TEXTS("N/A", "")),
        EVENT("oom", "0", "1", "30", TEXTS("0/1", "forward")),
        EVENT("oom", "0", "1", "35", TEXTS("0/1", "forward")),
        EVENT("oom", "0", "1", "50", TEXTS("N/A", "forward")), /* at its very end */
        EVENT("oom", "0", "1", "60", TEXTS("N/A", "w @ forward")), NULL);
    assert_string_equal(scope_name(s, tide_index_at(&s->events.scope, 0)), "");
    assert_string_equal(scope_name(s, tide_index_at(&s->events.scope, 1)), "outer");
    uint32_t metadata = tide_index_at(&s->events.scope, 2);
    assert_string_equal(scope_name(s, metadata), "metadata: forward");
    assert_string_equal(scope_name(s, s->scopes[metadata].parent), "compile: 0/1");
    assert_int_equal(tide_index_at(&s->events.scope, 3), metadata);
    assert_int_equal(s->scopes[metadata].begin_ns, 25000);
    assert_int_equal(s->scopes[metadata].duration_ns, 5000);
    uint32_t inner = s->scopes[s->scopes[metadata].parent].parent;
    assert_string_equal(scope_name(s, inner), "inner");
    assert_int_equal(s->scopes[inner].duration_ns, 25000);
    assert_string_equal(scope_name(s, s->scopes[inner].parent), "outer");
    assert_int_not_equal(tide_index_at(&s->events.scope, 4), metadata);
    assert_string_equal(scope_name(s, s->scopes[tide_index_at(&s->events.scope, 4)].parent),
                        "inner");
    assert_string_equal(scope_name(s, tide_index_at(&s->events.scope, 5)), "metadata: forward");
    assert_string_equal(tide_snapshot_text(s, tide_index_at(&s->events.name, 5)), "w");
    assert_string_equal(scope_name(s, (uint32_t)s->n_scopes - 1), "open");
    assert_int_equal(s->scopes[s->n_scopes - 1].duration_ns, -1);
    assert_int_equal(s->run.started_unix_us, 5);
    tide_snapshot_destroy(s);
}

static void names_and_categories_reach_the_blocks(void **state) {
    (void)state;
    tide_snapshot *s = import_trace(
        SEGMENT_20(TWO(USED("16777216", "2097152", "2000000"),
                       TWO(USED("18874368", "2097152", "2097152"), FREE("20971520", "16777216")))),
        "",
        EVENT("alloc", "16777216", "2000000", "1",
              ", 'category': 'parameter', 'user_metadata': 'w @ '"),
        EVENT("alloc", "18874368", "2097152", "2", ", 'category': 'autograd_detail'"),
        EVENT("annotate", "18874368", "0", "3", ", 'user_metadata': 'logits'"), NULL);
    assert_string_equal(tide_snapshot_text(s, s->end_blocks[0].name), "w");
    assert_int_equal(s->end_blocks[0].category, TIDE_PARAMETER);
    assert_string_equal(tide_snapshot_text(s, tide_index_at(&s->events.name, 1)), "logits");
    assert_string_equal(tide_snapshot_text(s, s->end_blocks[1].name), "logits");
    assert_string_equal(tide_snapshot_category(s, s->events.category[1]), "autograd_detail");
    assert_int_equal(s->end_blocks[1].category, s->events.category[1]);
    assert_int_equal(s->events.action[2], TIDE_ACTION_MARK);
    tide_snapshot_destroy(s);
}

/* The format of the first releases: a list of segments, with a history for each block. */
static void files_of_old_are_read(void **state) {
    (void)state;
    tide_snapshot *s = import(
        "[{'device': 0, 'address': 512, 'total_size': 2048, 'stream': 0, 'segment_type': 'small', "
        "'blocks': [{'size': 1024, 'state': 'active_allocated', 'history': [{'addr': 512, "
        "'real_size': 700, 'frames': [{'name': 'f', 'filename': 'g', 'line': 1}]}]}, "
        "{'size': 512, 'state': 'active_awaiting_free'}, {'size': 512, 'state': 'inactive'}]}]");
    assert_int_equal(s->n_events, 0);
    assert_int_equal(s->end_blocks[0].requested_bytes, 700);
    assert_int_equal(s->end_blocks[0].stack, 0);
    assert_int_equal(s->end_blocks[1].state, TIDE_BLOCK_PENDING_FREE);
    assert_int_equal(s->end_blocks[1].requested_bytes, 512);
    assert_int_equal(s->n_start_blocks, 3);
    tide_snapshot_destroy(s);
}

/* PyTorch up to 2.0: the block has its request, and its history has the call stack. */
static void histories_of_blocks_have_call_stacks(void **state) {
    (void)state;
    tide_snapshot *s =
        import("{'segments': [{'device': 0, 'address': 512, 'total_size': 1024, 'stream': 0, "
               "'segment_type': 'small', 'blocks': [{'size': 1024, 'requested_size': 900, "
               "'state': 'active_allocated', 'history': [{'addr': 512, 'real_size': 700, 'frames': "
               "[{'name': 'main', 'filename': 't.py', 'line': 7}]}, {'addr': 512, 'real_size': 1, "
               "'frames': []}]}]}], 'device_traces': [[]]}");
    assert_int_equal(s->end_blocks[0].requested_bytes, 900);
    assert_int_not_equal(s->end_blocks[0].stack, TIDE_NONE);
    const tide_stack_row *node = &s->stacks[s->end_blocks[0].stack];
    assert_string_equal(tide_snapshot_text(s, s->frames[node->frame].function), "main");
    tide_snapshot_destroy(s);
}

#define TRACED(address, size)                                                                      \
    "{'address': " address ", 'size': " size ", 'requested_size': " size                           \
    ", 'state': 'active_allocated', 'frames': [{'name': 'f', 'filename': 'g', 'line': 1}]}"
#define TRACED_BLOCK SEGMENT_20(TWO(TRACED("16777216", "2097152"), FREE("18874368", "18874368")))

/* A block with a call stack was recorded when it was allocated. If its row is missing, it was cut.
 */
static void a_history_that_was_cut_is_known_by_blocks_with_call_stacks(void **state) {
    (void)state;
    tide_snapshot *s =
        import_trace(TRACED_BLOCK, "", EVENT("alloc", "18874368", "2097152", "1", ""),
                     EVENT("free_requested", "18874368", "2097152", "2", ""),
                     EVENT("free_completed", "18874368", "2097152", "3", ""), NULL);
    assert_int_equal(s->n_dropped, 1);
    assert_true(tide_snapshot_lacks_peak(s));
    tide_snapshot_destroy(s);
    /* Not cut: its row exists; it is older and has no call stack; nothing was recorded at all. */
    s = import_trace(TRACED_BLOCK, "", EVENT("alloc", "16777216", "2097152", "1", ""), NULL);
    assert_int_equal(s->n_dropped, 0);
    assert_false(tide_snapshot_lacks_peak(s));
    tide_snapshot_destroy(s);
    s = import_trace(ONE_USED, "", EVENT("alloc", "18874368", "2097152", "1", ""), NULL);
    assert_int_equal(s->n_dropped, 0);
    tide_snapshot_destroy(s);
    s = import_trace(TRACED_BLOCK, "", NULL);
    assert_int_equal(s->n_dropped, 0);
    tide_snapshot_destroy(s);
}

/* skip_actions=['free_requested'] */
static void frees_without_their_request_are_frees(void **state) {
    (void)state;
    tide_snapshot *s = import_trace(ALL_FREE, "", EVENT("alloc", "16777216", "2097152", "1", ""),
                                    EVENT("alloc", "18874368", "2097152", "2", ""),
                                    EVENT("free_completed", "16777216", "2097152", "3", ""),
                                    EVENT("free_requested", "18874368", "2097152", "4", ""),
                                    EVENT("alloc", "16777216", "512", "5", ""),
                                    EVENT("free_completed", "18874368", "2097152", "6", ""),
                                    EVENT("free_completed", "16777216", "512", "7", ""), NULL);
    static const uint8_t ACTIONS[] = {
        TIDE_ACTION_ALLOC, TIDE_ACTION_ALLOC,          TIDE_ACTION_FREE, TIDE_ACTION_FREE_REQUESTED,
        TIDE_ACTION_ALLOC, TIDE_ACTION_FREE_COMPLETED, TIDE_ACTION_FREE};
    assert_int_equal(s->n_events, sizeof(ACTIONS));
    for (size_t i = 0; i < sizeof(ACTIONS); i++) {
        assert_int_equal(s->events.action[i], ACTIONS[i]);
    }
    assert_int_equal(s->origin.n_contradictions, 0);
    tide_snapshot_destroy(s);
}

/* Python reads no further than the end of the pickle. */
static void bytes_after_the_pickle_are_not_read(void **state) {
    (void)state;
    size_t n_bytes = 0;
    char *pickle = pickle_from_text("{'segments': [], 'device_traces': []}", &n_bytes);
    char *longer = calloc(n_bytes + 4096, 1);
    tide_error error = {""};
    assert_non_null(longer);
    memcpy(longer, pickle, n_bytes);
    for (int last = 0; last < 2; last++) {
        tide_snapshot *s = NULL;
        longer[n_bytes + 4095] = (char)last;
        assert_int_equal(tide_snapshot_create(tide_hostmem_default(), &s), TIDE_OK);
        assert_int_equal(pytorch_import_bytes(longer, n_bytes + 4096, s, &error), TIDE_OK);
        assert_int_equal(s->n_odd, last); /* zeros cause no warning */
        assert_string_equal(s->first_odd, last == 0 ? "" : "what follows the pickle");
        tide_snapshot_destroy(s);
    }
    free(longer);
    free(pickle);
}

static void texts_are_repaired(void **state) {
    (void)state;
    tide_snapshot *s =
        import("{'segments': [], 'device_traces': [[{'action': 'a\xff\xed\xa0\x80z', "
               "'stream': 0}]]}");
    assert_string_equal(tide_snapshot_text(s, tide_index_at(&s->events.name, 0)),
                        "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
    tide_snapshot_destroy(s);
}

/* ---- contradictions ---- */

/* Recording stopped before the dump, so the trace and the segments differ. */
static void contradictions_are_counted(void **state) {
    (void)state;
    static const char *const TRACES[] = {
        /* an allocation that the dump does not have */
        EVENT("alloc", "20971520", "2097152", "1", ""),
        /* a free of a block that the dump still has */
        EVENT("free_completed", "16777216", "2000000", "1", ""),
        /* a requested free of a block that is not pending */
        EVENT("free_requested", "16777216", "2000000", "1", ""),
        EVENT("free_requested", "20971520", "2000000", "1", ""),
        /* an address outside all segments */
        EVENT("free_completed", "4096", "100", "1", ""),
        /* a block over another one */
        EVENT("free_completed", "16777728", "2000000", "1", ""),
        EVENT("segment_alloc", "4096", "4096", "1", ""),
        EVENT("segment_free", "16777216", "20971520", "1", ""),
        EVENT("segment_map", "4096", "4096", "1", ""),
        EVENT("alloc", "16777216", "9999999", "1", ""),
    };
    for (size_t i = 0; i < sizeof(TRACES) / sizeof(TRACES[0]); i++) {
        tide_snapshot *s = import_trace(ONE_USED, "", TRACES[i], NULL);
        if (s->origin.n_contradictions == 0) {
            fail_msg("no contradiction in %s", TRACES[i]);
        }
        tide_summary *summary = NULL;
        assert_int_equal(tide_summary_create(s, &summary, NULL), TIDE_OK);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_become_a_tree),
        cmocka_unit_test(segments_keep_their_stacks),
        cmocka_unit_test(block_sizes_follow_from_neighbours),
        cmocka_unit_test(blocks_from_before_the_trace_are_sized),
        cmocka_unit_test(settings_change_the_rounding),
        cmocka_unit_test(expandable_segments_are_unmapped_backwards),
        cmocka_unit_test(devices_are_merged_by_time),
        cmocka_unit_test(annotations_and_texts_become_scopes),
        cmocka_unit_test(names_and_categories_reach_the_blocks),
        cmocka_unit_test(files_of_old_are_read),
        cmocka_unit_test(histories_of_blocks_have_call_stacks),
        cmocka_unit_test(a_history_that_was_cut_is_known_by_blocks_with_call_stacks),
        cmocka_unit_test(frees_without_their_request_are_frees),
        cmocka_unit_test(bytes_after_the_pickle_are_not_read),
        cmocka_unit_test(texts_are_repaired),
        cmocka_unit_test(contradictions_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
