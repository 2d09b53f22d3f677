/* test_reader_errors.c - invalid files: each gets an error that names the place, and none crashes
 * the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

/* A hand-made small document: one segment, one block, two scopes. */
static const char GOOD[] =
    "{\"format\":\"tidemark-snapshot\",\"version\":1,\"address_unit_bytes\":512,\n"
    "\"run\":{\"seed\":1,\"keep_graph\":false,\"model\":null},\n"
    "\"timing\":{\"phases\":[{\"name\":\"step\",\"host_ms\":[1.5],\"device_ms\":[-1]}]},\n"
    "\"log\":{\"dropped_events\":0},\n"
    "\"devices\":[{\"kind\":\"virtual\",\"name\":\"v\"}],\"streams\":[{\"device\":0,\"handle\":0}],"
    "\n"
    "\"strings\":[\"a\",\"b\"],\n"
    "\"frames\":{\"function\":[0],\"file\":[1],\"line\":[3],\"inlined\":[0]},\n"
    "\"stacks\":{\"parent\":[-1],\"frame\":[0]},\n"
    "\"scopes\":{\"parent\":[-1,0],\"kind\":[0,1],\"name\":[0,1],\"index\":[0,-1],\"thread\":[0,0],"
    "\"begin_delta\":[5,6],\"duration\":[-1,-1],\"device_begin\":[-1,-1],"
    "\"device_duration\":[-1,-1]},\n"
    "\"start\":{\"segments\":[]},\n"
    "\"end\":{\"segments\":[{\"device\":0,\"address\":8,\"total_bytes\":2048,\"stream\":0,"
    "\"blocks\":["
    "{\"offset_bytes\":0,\"block_bytes\":512,\"requested_bytes\":100,\"state\":1,\"stack\":0,"
    "\"scope\":1,\"category\":4,\"name\":0},"
    "{\"offset_bytes\":512,\"block_bytes\":1536,\"requested_bytes\":0,\"state\":0,\"stack\":-1,"
    "\"scope\":-1,\"category\":0,\"name\":-1}]}]},\n"
    "\"events\":{\"time_delta\":[10,1],\"action\":[4,0],\"device\":[0,0],\"address_delta\":[8,0],"
    "\"requested_bytes\":[2048,100],\"block_bytes\":[2048,512],\"stream\":[0,0],\"stack\":[-1,0],"
    "\"scope_delta\":[-1,2],\"category\":[0,4],\"name\":[-1,0]}}";

static tide_status load(const void *bytes, size_t n_bytes, tide_error *error) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *read = NULL;
    error->message[0] = '\0';
    snapshot_path(path, "bad.json.gz");
    snapshot_write_file(path, bytes, n_bytes);
    tide_status status = tide_snapshot_load(path, NULL, &read, error);
    if (status == TIDE_OK) {
        /* A document that was accepted can be walked and written. */
        tide_summary *summary = NULL;
        tide_error more = {""};
        tide_status summarised = tide_summary_create(read, &summary, &more);
        assert_true(summarised == TIDE_OK || more.message[0] != '\0');
        if (summarised == TIDE_OK) {
            assert_int_equal(tide_snapshot_save(read, path, &more), TIDE_OK);
        }
        tide_summary_destroy(summary);
        tide_snapshot_destroy(read);
    } else {
        assert_null(read);
        assert_true(error->message[0] != '\0');
    }
    snapshot_remove(path);
    return status;
}

static void the_good_one_is_read(void **state) {
    (void)state;
    tide_error error = {""};
    assert_int_equal(load(GOOD, sizeof(GOOD) - 1, &error), TIDE_OK);
    assert_string_equal(error.message, "");
}

typedef struct bad_case {
    const char *from;    /* in GOOD */
    const char *to;      /* the text that replaces it */
    const char *message; /* part of the message */
    const char *there;   /* the text at the byte that the message names; NULL: not checked */
} bad_case;

static const bad_case CASES[] = {
    {"tidemark-snapshot", "tidemark", "this is not a tidemark snapshot", "\"tidemark\""},
    {"\"format\":\"tidemark-snapshot\",", "", "the key 'format' is missing", NULL},
    {"\"version\":1", "\"version\":2", "use a newer one", "2,"},
    {"\"version\":1", "\"version\":0", "out of range", "0,"},
    {"\"version\":1", "\"version\":\"1\"", "version: an integer", "\"1\""},
    {"\"address_unit_bytes\":512", "\"address_unit_bytes\":256", "only 1 and 512", "256"},
    {"\"seed\":1", "\"seed\":1,\"seed\":2", "run.seed: this key comes twice", "\"seed\":2"},
    {"[-1]}]},", "[-1,2]}]},", "1 samples in host_ms, 2 in device_ms", NULL},
    {"\"host_ms\":[1.5]", "\"host_ms\":[1e999]", "timing.phases[0].host_ms[0]", "1e999"},
    {"\"timing\":{",
     "\"timing\":{\"recorder_pairs\":{\"recorded_ms\":[1],\"unrecorded_ms\":[1,2]},",
     "1 samples in recorded_ms, 2 in unrecorded_ms", NULL},
    {"\"timing\":{", "\"timing\":{\"recorder_pairs\":{\"recorded_ms\":[1]},",
     "the key 'unrecorded_ms' is missing", NULL},
    {"\"log\":{", "\"allocator\":{\"a\":1,\"b\":\"x\",\"a\":2},\"log\":{",
     "allocator.a: this key comes twice", "2},"},
    {"\"dropped_events\":0", "\"dropped_events\":-1", "log.dropped_events: -1 is out of", "-1"},
    {"\"kind\":\"virtual\",", "", "devices[0]: the key 'kind' is missing", NULL},
    {"{\"device\":0,\"handle\":0}", "{\"device\":1,\"handle\":0}", "streams[0].device: 1 refers",
     "1,\"handle\""},
    {"\"strings\":[\"a\",\"b\"]", "\"strings\":[\"a\",7]", "strings[1]: a text was", "7]"},
    {"\"strings\":[\"a\",\"b\"]", "\"strings\":[\"a\",\"\xff\"]", "strings[1]: not UTF-8", "\xff"},
    {"\"file\":[1]", "\"file\":[2]", "frames.file[0]: 2 refers to none of the 2 strings", "2]"},
    {"\"file\":[1]", "\"file\":[1,1]", "2 values, those before it have 1", "[1,1]"},
    {"[-1,0]}}", "[-1,0],\"mode\":[0,4]}}", "events.mode[1]: 4 refers to none of", "4]"},
    {",\"inlined\":[0]", "", "the key 'inlined' is missing", NULL},
    {"\"stacks\":{\"parent\":[-1]", "\"stacks\":{\"parent\":[0]", "stacks.parent[0]: a parent must",
     "0],\"frame\""},
    {"\"frame\":[0]", "\"frame\":[1]", "stacks.frame[0]: 1 refers", "1]}"},
    {"\"scopes\":{\"parent\":[-1,0]", "\"scopes\":{\"parent\":[-1,1]", "scopes.parent[1]: a parent",
     "1],\"kind\""},
    {"\"kind\":[0,1]", "\"kind\":[0,5]", "scopes.kind[1]: 5 refers", "5],"},
    {"\"name\":[0,1],\"index\"", "\"name\":[0,-1],\"index\"", "scopes.name[1]: -1 is out of range",
     "-1],\"index\""},
    {"\"begin_delta\":[5,6]", "\"begin_delta\":[5,-1]", "scopes.begin_delta[1]: the scope begins",
     "-1],\"duration\""},
    {"\"begin_delta\":[5,6]", "\"begin_delta\":[5,9223372036854775807]",
     "scopes.begin_delta[1]: the value it leads to is out of range", "9223"},
    {"\"duration\":[-1,-1]", "\"duration\":[-3,-1]", "scopes.duration[0]: -3 is out", "-3"},
    {"\"name\":[-1,0]}}", "\"name\":[-1,0],\"certainty\":[0]}}",
     "events.certainty: the column has 1 values, those before it have 2", "[0]"},
    {"\"name\":[-1,0]}}", "\"name\":[-1,0],\"pool\":[0,2]},\"pools\":[[1,0]]}",
     "events.pool[1]: 2 refers to none of the 1 pools", "2]"},
    {"\"log\":{", "\"owners\":{\"rows\":[{\"device\":0},{\"device\":1}]},\"log\":{",
     "owners.rows[1].device: 1 refers to none of the 1 devices", "1}"},
    {"\"log\":{", "\"owners\":{\"accounts\":[{\"device\":0},{\"device\":0}]},\"log\":{",
     "owners.accounts[1].device: device 0 has an account already", "0}"},
    {"\"duration\":[-1,-1]", "\"duration\":[-1,9223372036854775807]",
     "scopes.duration[1]: the scope ends beyond 2^63 - 1 ns", "9223"},
    {"\"device_begin\":[-1,-1],\"device_duration\":[-1,-1]",
     "\"device_begin\":[1,-1],\"device_duration\":[9223372036854775807,-1]",
     "scopes.device_duration[0]: it ends on the device beyond", "9223"},
    {"\"start\":{\"segments\":[]}", "\"start\":{}", "start: the key 'segments'", NULL},
    {"\"total_bytes\":2048", "\"total_bytes\":4096", "the blocks fill 2048 of 4096", "4096"},
    {"\"total_bytes\":2048", "\"total_bytes\":1024", "without gap or overlap", "1536"},
    {"\"total_bytes\":2048", "\"total_bytes\":-1", "end.segments[0].total_bytes: -1 is out", "-1"},
    {"\"total_bytes\":2048", "\"total_bytes\":2048,\"stack\":99",
     "end.segments[0]: stack 99 refers to none of the", "{"},
    {"\"total_bytes\":2048", "\"total_bytes\":2048,\"stack\":-1",
     "end.segments[0].stack: -1 is out", "-1"},
    {"\"address\":8", "\"address\":9223372036854775807", "end.segments[0]: an address beyond", "{"},
    {"\"offset_bytes\":512", "\"offset_bytes\":1024", "blocks[1].offset_bytes: the blocks", "1024"},
    {"\"requested_bytes\":100,\"state\"", "\"requested_bytes\":513,\"state\"",
     "end.segments[0].blocks[0].requested_bytes: 513 bytes were asked of a block of 512", "513"},
    {"\"state\":1", "\"state\":3", "blocks[0].state: 3 refers to none", "3,"},
    {"\"scope\":1", "\"scope\":2", "blocks[0].scope: 2 refers to none of the 2 scopes", "2,"},
    {"\"category\":4,\"name\":0}", "\"category\":63,\"name\":0}", "blocks[0].category: 63", "63,"},
    {"\"name\":0}", "\"name\":2}", "blocks[0].name: 2 refers to none of the 2 strings", "2}"},
    {"\"time_delta\":[10,1]", "\"time_delta\":[10,-11]",
     "events.time_delta[1]: the value it leads to is out of range", "-11"},
    {"\"time_delta\":[10,1]", "\"time_delta\":[10,1.5]",
     "events.time_delta[1]: 1.5 is not an integer", "1.5"},
    {"\"time_delta\":[10,1]", "\"time_delta\":[10,1,1]", "2 values, those before it have 3", "["},
    {"\"action\":[4,0]", "\"action\":[4,10]", "events.action[1]: 10 refers", "10]"},
    {"\"device\":[0,0],\"address", "\"device\":[0,1],\"address", "events.device[1]: 1 refers",
     "1]"},
    {"\"stream\":[0,0]", "\"stream\":[1,0]", "events.stream[0]: 1 refers", "1,0]"},
    {"\"stack\":[-1,0]", "\"stack\":[-1,1]", "events.stack[1]: 1 refers", "1],"},
    {"\"scope_delta\":[-1,2]", "\"scope_delta\":[-1,3]", "events.scope_delta[1]: 2 refers", "3]"},
    {"\"scope_delta\":[-1,2]", "\"scope_delta\":[-2,2]", "events.scope_delta[0]: the value", "-2"},
    {"\"category\":[0,4]", "\"category\":[63,4]", "events.category[0]: 63 refers", "63,4"},
    {"\"name\":[-1,0]}}", "\"name\":[2,0]}}", "events.name[0]: 2 refers", "2,0]"},
    {"\"requested_bytes\":[2048,100]", "\"requested_bytes\":[2048,513]",
     "events.requested_bytes[1]: 513 bytes were asked of a block of 512", "513"},
    {"\"block_bytes\":[2048,512]", "\"block_bytes\":[-2048,512]", "events.block_bytes[0]: -2048",
     "-2048"},
    {"\"address_delta\":[8,0]", "\"address_delta\":[8,-9]", "events.address_delta[1]", "-9"},
    {"\"address_delta\":[8,0]", "\"address_delta\":[8,9223372036854775000]",
     "events.address_delta[1]: an address beyond", "9223"},
    {"\"address_delta\":[8,0]", "\"address_delta\":[18014398509481983,0]",
     "events.address_delta[0]: it ends beyond address 2^63 - 1", "18014"},
    {"\"name\":[-1,0]}}", "\"name\":[-1,0]}} x", "nothing after the document's end", "x"},
    {"\"name\":[-1,0]}}", "\"name\":[-1,0]}", "the end of the file", NULL},
    {"\"log\":{", "\"actions\":[\"alloc\"],\"log\":{", "events.action[0]: the file's 'actions'",
     "4,0]"},
    {"\"log\":{", "\"categories\":[\"unknown\"],\"log\":{",
     "events.category[1]: the file's 'categories' has no known name", "4]"},
    {"\"log\":{", "\"scope_kinds\":[\"step\"],\"log\":{",
     "scopes.kind[1]: the file's 'scope_kinds' has no known name", "1]"},
    {"\"log\":{", "\"actions\":[7],\"log\":{", "actions[0]: a text", "7]"},
    /* Skipped and derived values are checked as well. */
    {"\"log\":{", "\"later\":[\"\xff\"],\"log\":{", "later[0]: not UTF-8", "\xff"},
    {"\"log\":{", "\"later\":\"\\ud800\",\"log\":{", "later: an escape that means", "\\ud800"},
    {"\"log\":{", "\"l\xe9ter\":1,\"log\":{", "l?ter: not UTF-8", "\xe9"},
    {"\"log\":{", "\"oom\":7,\"log\":{", "oom: an array was expected", "7,"},
    {"\"log\":{", "\"oom\":[{\"event\":0,\"free_bytes\":-1}],\"log\":{",
     "oom[0]: the key 'requested_bytes' is missing", NULL},
    {"\"log\":{", "\"oom\":[{\"event\":-1}],\"log\":{", "oom[0].event: -1 is out of range", "-1"},
    {"\"log\":{", "\"summary\":[{\"peak\":1},2],\"log\":{", "summary[1]: an object", "2]"},
};

/* GOOD with one change, from malloc. */
static char *changed(const bad_case *of, size_t *ret_bytes) {
    const char *at = strstr(GOOD, of->from);
    if (at == NULL) {
        fail_msg("the case '%s' changes nothing", of->from);
    }
    size_t n_bytes = sizeof(GOOD) - 1 - strlen(of->from) + strlen(of->to);
    char *text = malloc(n_bytes + 1);
    assert_non_null(text);
    snprintf(text, n_bytes + 1, "%.*s%s%s", (int)(at - GOOD), GOOD, of->to, at + strlen(of->from));
    *ret_bytes = n_bytes;
    return text;
}

static void bad_documents_are_refused_by_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t n_bytes = 0;
        tide_error error = {""};
        char *text = changed(&CASES[i], &n_bytes);
        tide_status status = load(text, n_bytes, &error);
        const char *byte = strstr(error.message, "byte ");
        if (status == TIDE_OK || byte == NULL || strstr(error.message, CASES[i].message) == NULL ||
            strstr(error.message, "bad.json.gz") == NULL) {
            fail_msg("%s -> %s: \"%s\"", CASES[i].from, CASES[i].to, error.message);
        }
        size_t offset = strtoul(byte + 5, NULL, 10);
        const char *there = CASES[i].there;
        if (there != NULL && strncmp(text + offset, there, strlen(there)) != 0) {
            fail_msg("\"%s\" names the byte of '%.20s', not of '%s'", error.message, text + offset,
                     there);
        }
        free(text);
    }
}

/* A file may differ in these ways from the output of our own writer. */
static void other_writers_are_understood(void **state) {
    (void)state;
    static const bad_case ALLOWED[] = {
        {"\"log\":{", "\"later\":{\"a\":[1,{\"b\":null}]},\"log\":{", "", NULL},
        {"\"seed\":1", "\"seed\": 1 , \"else\" : [ ]", "", NULL},
        {"\"log\":{", "\"categories\":[\"unknown\",\"x\",\"y\",\"z\",\"hoard\"],\"log\":{", "",
         NULL},
        {"\"run\":{", "\"summary\":[],\"oom\":[],\"run\":{", "", NULL},
        {"{\"format\"", "\n\t {\"format\"", "", NULL},
        {"\"name\":[-1,0]}}", "\"name\":[-1,0]}}\n\n", "", NULL}};
    for (size_t i = 0; i < sizeof(ALLOWED) / sizeof(ALLOWED[0]); i++) {
        size_t n_bytes = 0;
        tide_error error = {""};
        char *text = changed(&ALLOWED[i], &n_bytes);
        if (load(text, n_bytes, &error) != TIDE_OK) {
            fail_msg("%s", error.message);
        }
        free(text);
    }
}

/* Invalid values that nothing depends on: the file is read, the values become unknown, and the
 * first one is named. */
static void odd_values_are_counted(void **state) {
    (void)state;
    static const struct {
        bad_case of; /* its message is the place; "" if there is nothing to name */
        uint64_t n_odd;
    } ODD[] = {
        {{"\"line\":[3]", "\"line\":[-3]", "", NULL}, 0},
        {{"\"line\":[3]", "\"line\":[18446744073709551615]", "", NULL}, 0},
        {{"\"line\":[3]", "\"line\":[1.5]", "frames.line[0]", NULL}, 1},
        {{"\"line\":[3]", "\"line\":[\"3\"]", "frames.line[0]", NULL}, 1},
        {{"\"inlined\":[0]", "\"inlined\":[2]", "frames.inlined[0]", NULL}, 1},
        {{"\"index\":[0,-1]", "\"index\":[-2,99999999999]", "scopes.index[0]", NULL}, 2},
        {{"\"name\":[-1,0]}}", "\"name\":[-1,0],\"certainty\":[1,2]}}", "", NULL}, 0},
        {{"\"name\":[-1,0]}}", "\"name\":[-1,0],\"certainty\":[3,\"named\"]}}",
          "events.certainty[0]", NULL},
         2},
        {{"\"log\":{",
          "\"owners\":{\"rows\":[{\"device\":0,\"name\":7,\"peak_bytes\":-2,\"end_bytes\":"
          "9223372036854775808}],\"accounts\":[{\"device\":0,\"context_bytes\":null}]},\"log\":{",
          "owners.rows[0].name", NULL},
         4},
        {{"\"log\":{", "\"pools\":[[1,2],[1],7],\"log\":{", "pools[1]", NULL}, 2},
        {{"\"category\":4,", "\"category\":4,\"certainty\":-1,",
          "end.segments[0].blocks[0].certainty", NULL},
         1},
        {{"\"handle\":0", "\"handle\":18446744073709551615", "", NULL}, 0},
        {{"\"handle\":0", "\"handle\":18446744073709551616", "streams[0].handle", NULL}, 1},
        {{"\"name\":\"v\"", "\"name\":null,\"total_bytes\":-5", "devices[0].name", NULL}, 2},
        {{"\"seed\":1", "\"seed\":9223372036854775808", "run.seed", NULL}, 1},
        {{"\"seed\":1", "\"seed\":1,\"host\":5,\"command\":[{}]", "run.host", NULL}, 2},
        {{"\"keep_graph\":false", "\"keep_graph\":0", "run.keep_graph", NULL}, 1},
        {{"\"model\":null", "\"model\":[]", "run.model", NULL}, 1},
        {{"\"log\":{", "\"allocator\":{\"a\":true,\"b\":null},\"log\":{", "allocator.b", NULL}, 1},
        {{"\"log\":{", "\"log\":{\"full_policy\":0,", "log.full_policy", NULL}, 1},
        {{"\"log\":{", "\"tool\":\"me\",\"log\":{", "tool", NULL}, 1},
        {{"\"host_ms\":[1.5]", "\"host_ms\":[null]", "timing.phases[0].host_ms[0]", NULL}, 1},
        {{"\"stream\":0,\"blocks\"",
          "\"stream\":0,\"pool\":\"aaaaaaaaaaaaaaaaaaaaaaaa\",\"pool_id\":[1,-1],"
          "\"is_expandable\":7,\"blocks\"",
          "end.segments[0].pool_id", NULL},
         2},
    };
    for (size_t i = 0; i < sizeof(ODD) / sizeof(ODD[0]); i++) {
        char path[SNAPSHOT_PATH_BYTES];
        size_t n_bytes = 0;
        tide_snapshot *read = NULL;
        tide_error error = {""};
        char *text = changed(&ODD[i].of, &n_bytes);
        snapshot_path(path, "odd.json");
        snapshot_write_file(path, text, n_bytes);
        if (tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
            fail_msg("%s -> %s: %s", ODD[i].of.from, ODD[i].of.to, error.message);
        }
        assert_string_equal(read->first_odd, ODD[i].of.message);
        assert_int_equal(read->n_odd, ODD[i].n_odd);
        assert_true(read->frames[0].line == 3 || read->frames[0].line == 0);
        tide_snapshot_destroy(read);
        snapshot_remove(path);
        free(text);
    }
}

/* Numbers of actions and categories are decoded by the names that the file gives them. */
static void numbers_are_translated(void **state) {
    (void)state;
    static const bad_case OWN = {"\"log\":{",
                                 "\"actions\":[\"segment_alloc\",\"x\",\"x\",\"x\",\"alloc\"],"
                                 "\"categories\":[\"input\",\"x\",\"x\",\"x\",\"gradient\"],"
                                 "\"scope_kinds\":[\"phase\",\"strange\"],\"block_states\":["
                                 "\"free\",\"allocated\"],\"log\":{",
                                 "", NULL};
    char path[SNAPSHOT_PATH_BYTES];
    size_t n_bytes = 0;
    tide_snapshot *read = NULL;
    tide_error error = {""};
    char *text = changed(&OWN, &n_bytes);
    snapshot_path(path, "own.json");
    snapshot_write_file(path, text, n_bytes);
    if (tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(read->events.action[0], TIDE_ACTION_ALLOC);
    assert_int_equal(read->events.action[1], TIDE_ACTION_SEGMENT_ALLOC);
    assert_int_equal(read->events.category[0], TIDE_INPUT);
    assert_int_equal(read->events.category[1], TIDE_GRADIENT);
    assert_int_equal(read->scopes[0].kind, TIDE_SCOPE_PHASE);
    assert_int_equal(read->scopes[1].kind, TIDE_SCOPE_USER);
    assert_int_equal(read->end_blocks[0].category, TIDE_GRADIENT);
    tide_snapshot_destroy(read);
    snapshot_remove(path);
    free(text);
}

/* The compressed text of a written snapshot, from malloc. */
static char *compressed(size_t *ret_bytes) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_snapshot *made = synthetic_create(&(synthetic_config){
        .seed = 3, .n_events = 60, .n_layers = 1, .element_bytes = 4, .precision = "fp32"});
    snapshot_path(path, "good.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    char *bytes = snapshot_file_text(path, ret_bytes);
    assert_non_null(bytes);
    snapshot_remove(path);
    tide_snapshot_destroy(made);
    return bytes;
}

static void foreign_files_are_named(void **state) {
    (void)state;
    tide_error error = {""};
    tide_snapshot *read = NULL;
    assert_int_equal(load("", 0, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "is empty"));
    assert_int_equal(load("\x80\x02}.", 4, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "no snapshot by PyTorch"));
    assert_int_equal(load("[1]", 3, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "neither gzip nor a JSON object"));
    assert_int_equal(load("{\"other\":[]}", 12, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "'format' is missing"));
    assert_int_equal(load("{\"segments\":7}", 14, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "segments: a list was expected"));
    assert_int_equal(tide_snapshot_load("/nowhere.json.gz", NULL, &read, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "/nowhere.json.gz"));
    assert_int_equal(tide_snapshot_load("/tmp", NULL, &read, &error), TIDE_IO);
    assert_non_null(strstr(error.message, "folder"));
}

static void damaged_gzip_is_named(void **state) {
    (void)state;
    size_t n_bytes = 0;
    char *bytes = compressed(&n_bytes);
    char *longer = malloc(n_bytes + 1);
    tide_error error = {""};
    assert_non_null(longer);
    memcpy(longer, bytes, n_bytes);
    longer[n_bytes] = 'x';
    assert_int_equal(load(bytes, n_bytes, &error), TIDE_OK);
    assert_int_equal(load(longer, n_bytes + 1, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "goes on after the end"));
    assert_int_equal(load(bytes, n_bytes / 2, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "truncated"));
    longer[n_bytes - 5] = (char)(longer[n_bytes - 5] ^ 1); /* the checksum */
    assert_int_equal(load(longer, n_bytes, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "damaged"));
    free(longer);
    free(bytes);
}

static void the_limit_of_text_holds(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    size_t n_bytes = 0;
    char *bytes = compressed(&n_bytes);
    char *text = NULL;
    size_t n_text = 0;
    tide_error error = {""};
    snapshot_path(path, "limit.json.gz");
    snapshot_write_file(path, bytes, n_bytes);
    assert_int_equal(snapshot_unzip(path, SIZE_MAX / 2, &text, &n_text, &error), TIDE_OK);
    free(text);
    assert_int_equal(snapshot_unzip(path, n_text, &text, &n_text, &error), TIDE_OK);
    free(text);
    assert_int_equal(snapshot_unzip(path, n_text - 1, &text, &n_text, &error), TIDE_LIMIT);
    snapshot_remove(path);
    free(bytes);
}

static void the_limit_of_samples_holds(void **state) {
    (void)state;
    enum { N_SAMPLES = 1000001 };
    size_t n_bytes = 0;
    tide_error error = {""};
    char *samples = malloc(2 * N_SAMPLES + 32);
    assert_non_null(samples);
    size_t n = (size_t)sprintf(samples, "\"host_ms\":[0");
    for (size_t i = 1; i < N_SAMPLES; i++) {
        memcpy(samples + n, ",0", 2);
        n += 2;
    }
    memcpy(samples + n, "]", 2);
    const bad_case many = {"\"host_ms\":[1.5]", samples, "", NULL};
    char *text = changed(&many, &n_bytes);
    assert_int_equal(load(text, n_bytes, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "more than the limit of 1000000"));
    free(text);
    free(samples);
}

/* The document and the compressed file are refused if cut at any byte. */
static void truncated_files_are_refused(void **state) {
    (void)state;
    tide_error error = {""};
    for (size_t n = 0; n < sizeof(GOOD) - 1; n += 3) {
        assert_int_equal(load(GOOD, n, &error), TIDE_FORMAT);
    }
    size_t n_bytes = 0;
    char *bytes = compressed(&n_bytes);
    for (size_t n = 0; n < n_bytes; n += 1 + n_bytes / 300) {
        assert_int_equal(load(bytes, n, &error), TIDE_FORMAT);
    }
    free(bytes);
}

/* Bytes are replaced at random: the result is a document or an error, never a crash. */
static void scramble(const char *good, size_t n_bytes, size_t n_rounds, bool digits) {
    static const char WORDS[] = "0123456789-,[]{}\":.e ";
    char *bytes = malloc(n_bytes);
    uint64_t random = 20250101;
    tide_error error = {""};
    assert_non_null(bytes);
    for (size_t round = 0; round < n_rounds; round++) {
        memcpy(bytes, good, n_bytes);
        for (size_t i = 0; i <= round % 4; i++) {
            random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
            char to = digits ? WORDS[(random >> 40) % (sizeof(WORDS) - 1)] : (char)(random >> 48);
            bytes[random % n_bytes] = to;
        }
        (void)load(bytes, n_bytes, &error);
    }
    free(bytes);
}

static void scrambled_files_do_no_harm(void **state) {
    (void)state;
    size_t n_bytes = 0;
    char *bytes = compressed(&n_bytes);
    scramble(GOOD, sizeof(GOOD) - 1, 2000, true);
    scramble(GOOD, sizeof(GOOD) - 1, 1000, false);
    scramble(bytes, n_bytes, 1000, false);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_one_is_read),
        cmocka_unit_test(bad_documents_are_refused_by_place),
        cmocka_unit_test(other_writers_are_understood),
        cmocka_unit_test(odd_values_are_counted),
        cmocka_unit_test(numbers_are_translated),
        cmocka_unit_test(foreign_files_are_named),
        cmocka_unit_test(damaged_gzip_is_named),
        cmocka_unit_test(the_limit_of_text_holds),
        cmocka_unit_test(the_limit_of_samples_holds),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(scrambled_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
