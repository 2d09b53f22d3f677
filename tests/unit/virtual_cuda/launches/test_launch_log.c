/* test_launch_log.c - the launch log of a process: what is written, by which process, and what
 * remains after the process is killed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/test_folder.h"
#include "programs/wire/run_launches.h"

/* --- prototypes as in NVIDIA's headers --- */

typedef struct extent {
    unsigned x, y, z;
} extent;

int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                     size_t shared_bytes, void *stream);
int cudaStreamCreate(void **stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *executable, void *stream);
int cudaDeviceSynchronize(void);
int cudaEventCreate(void **event);
int cudaEventRecord(void *event, void *stream);
int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags);
int cudaEventSynchronize(void *event);
int cudaEventQuery(void *event);
int cudaMemcpy(void *to, const void *from, size_t n_bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, int kind, void *stream);
int cudaMemset(void *to, int value, size_t n_bytes);
int cudaMalloc(void **address, size_t n_bytes);
int cudaFree(void *address);
int cudaHostAlloc(void **address, size_t n_bytes, unsigned flags);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **kernel, void *module, const char *name);
int cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **packed);
int ncclCommInitAll(void **comms, int n_devices, const int *devices);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int operation, void *comm,
                  void *stream);
void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name);
void tidemark_launches_mark(const char *mark);

enum { MAX_ROWS = 64, MAX_TEXTS = 256, TEXT_BYTES = 256 };

/* A log, read. */
typedef struct read_log {
    tide_run_launches_header header;
    tide_run_launch rows[MAX_ROWS]; /* without texts */
    char names[MAX_ROWS][TEXT_BYTES];
    size_t n, n_all; /* of `rows`; of the file, texts too */
} read_log;

static char folder[] = "/tmp/tidemark-launches-XXXXXX";
static read_log found;

static const char KERNEL[] = "a kernel"; /* only its address counts */
static const char NAME[] = "_Z10own_kernelv";
static const char READABLE[] = "own_kernel"; /* in the log */

static char *path_of(pid_t process) {
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%ld.launches", folder, (long)process);
    return path;
}

static bool has_log(pid_t process) {
    struct stat of;
    return stat(path_of(process), &of) == 0;
}

static void copy_text(char *to, const tide_run_launch *text) {
    (void)snprintf(to, TEXT_BYTES, "%.*s", (int)text->bytes, (const char *)(text + 1));
}

/* Reads a process' log into `found`. */
static void read_launches(pid_t process) {
    static tide_run_launch file[1 << 20];
    static char texts[MAX_TEXTS][TEXT_BYTES];
    size_t n_texts = 0;
    FILE *of = fopen(path_of(process), "rb");
    assert_non_null(of);
    size_t n = fread(file, sizeof(*file), sizeof(file) / sizeof(*file), of);
    (void)fclose(of);
    memset(&found, 0, sizeof(found));
    assert_true(n > 0);
    memcpy(&found.header, file, sizeof(found.header));
    assert_true(found.header.magic == TIDE_RUN_LAUNCHES_MAGIC);
    assert_int_equal(found.header.header_bytes, sizeof(found.header));
    assert_int_equal(found.header.row_bytes, sizeof(tide_run_launch));
    for (size_t i = 1; i < n && file[i].kind != TIDE_RUN_LAUNCH_NONE; i++) {
        if (file[i].kind == TIDE_RUN_TEXT) {
            assert_true(n_texts < MAX_TEXTS);
            copy_text(texts[n_texts++], &file[i]);
            i += (file[i].bytes + sizeof(*file) - 1) / sizeof(*file);
        } else if (found.n_all++ < MAX_ROWS) {
            tide_run_launch row = file[i];
            assert_true(row.name == UINT32_MAX || row.name < n_texts);
            (void)snprintf(found.names[found.n], TEXT_BYTES, "%s",
                           row.name != UINT32_MAX ? texts[row.name] : "");
            found.rows[found.n++] = row;
        }
    }
}

static void launch(void *stream) {
    (void)cudaLaunchKernel(KERNEL, (extent){3, 2, 1}, (extent){32, 1, 4}, NULL, 0, stream);
}

static void *on_card(size_t n_bytes) {
    void *address = NULL;
    assert_int_equal(cudaMalloc(&address, n_bytes), 0);
    return address;
}

/* Runs `body` in its own process, which ends normally, and reads its log. */
static void in_child(void (*body)(void)) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    read_launches(child);
}

#define ROW(i, of_kind) assert_int_equal(found.rows[i].kind, of_kind)

/* --- tests --- */

static void a_program(void) {
    char host[64] = {0};
    void *pinned = NULL, *stream = NULL, *event = NULL;
    char *memory = on_card(4096);
    (void)cudaHostAlloc(&pinned, 64, 0);
    (void)cudaStreamCreate(&stream);
    (void)cudaEventCreate(&event);
    tidemark_launches_mark("step begins");
    launch(stream);
    (void)cudaMemcpyAsync(memory, host, sizeof(host), 4, stream);
    (void)cudaMemcpyAsync(pinned, memory, 64, 4, stream);
    (void)cudaMemcpyAsync(host, memory, 64, 4, stream);
    (void)cudaMemcpy(memory, host, 64, 4);
    (void)cudaMemcpy(memory, memory + 1024, 512, 4);
    (void)cudaMemset(memory, 0, 4096);
    (void)cudaEventRecord(event, stream);
    (void)cudaStreamWaitEvent(NULL, event, 0);
    (void)cudaEventQuery(event); /* no row */
    (void)cudaEventSynchronize(event);
    (void)cudaStreamSynchronize(stream);
    (void)cudaDeviceSynchronize();
    (void)cudaFree(memory);
    launch(NULL);
}

static void check_copy(size_t i, tide_run_copy which, uint64_t n_bytes, int flags) {
    ROW(i, TIDE_RUN_COPY);
    assert_int_equal(found.rows[i].family, which);
    assert_int_equal(found.rows[i].bytes, n_bytes);
    assert_int_equal(found.rows[i].flags, flags);
}

static void test_calls_are_rows_in_their_order(void **state) {
    (void)state;
    in_child(a_program);
    assert_string_equal(found.header.card, "h100-80");
    assert_int_equal(found.n_all, 15);
    ROW(0, TIDE_RUN_LAUNCH_MARK);
    assert_string_equal(found.names[0], "step begins");
    ROW(1, TIDE_RUN_KERNEL);
    assert_string_equal(found.names[1], READABLE);
    assert_int_equal(found.rows[1].elements, 3 * 2 * 32 * 4);
    assert_int_equal(found.rows[1].bytes, 8 * 3 * 2 * 32 * 4);
    assert_int_equal(found.rows[1].flags, TIDE_RUN_GUESSED);
    assert_int_equal(found.rows[1].stream, 1);
    check_copy(2, TIDE_RUN_COPY_TO_CARD, 64, 0);
    check_copy(3, TIDE_RUN_COPY_FROM_CARD, 64, 0);
    check_copy(4, TIDE_RUN_COPY_FROM_CARD, 64, TIDE_RUN_WAITS);
    check_copy(5, TIDE_RUN_COPY_TO_CARD, 64, TIDE_RUN_WAITS);
    check_copy(6, TIDE_RUN_COPY_ON_CARD, 512, 0);
    ROW(7, TIDE_RUN_FILL);
    assert_int_equal(found.rows[7].bytes, 4096);
    ROW(8, TIDE_RUN_RECORD);
    ROW(9, TIDE_RUN_STREAM_WAIT);
    assert_int_equal(found.rows[9].stream, 0);
    ROW(10, TIDE_RUN_WAIT_EVENT);
    assert_true(found.rows[8].bytes > 0 && found.rows[8].bytes == found.rows[9].bytes &&
                found.rows[8].bytes == found.rows[10].bytes);
    ROW(11, TIDE_RUN_WAIT_STREAM);
    assert_int_equal(found.rows[11].stream, 1);
    ROW(12, TIDE_RUN_WAIT_DEVICE);
    ROW(13, TIDE_RUN_WAIT_DEVICE); /* of cudaFree */
    ROW(14, TIDE_RUN_KERNEL);
    assert_int_equal(found.rows[14].name, found.rows[1].name); /* a text is written once */
    for (size_t i = 1; i < found.n; i++) {
        assert_true(found.rows[i].host_ns >= found.rows[i - 1].host_ns);
        assert_int_equal(found.rows[i].thread, 0);
    }
}

static void a_graph(void) {
    void *stream = NULL, *graph = NULL, *executable = NULL;
    (void)cudaStreamCreate(&stream);
    (void)cudaStreamBeginCapture(stream, 0);
    launch(stream);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&executable, graph, 0);
    (void)cudaGraphLaunch(executable, stream);
}

static void test_a_graph_has_what_was_captured(void **state) {
    (void)state;
    in_child(a_graph);
    assert_int_equal(found.n_all, 2);
    assert_int_equal(found.rows[0].flags, TIDE_RUN_CAPTURED | TIDE_RUN_GUESSED);
    assert_true(found.rows[0].graph > 0);
    ROW(1, TIDE_RUN_GRAPH_LAUNCH);
    assert_int_equal(found.rows[1].flags, 0);
    assert_int_equal(found.rows[1].graph, found.rows[0].graph);
}

static void a_graph_with_events(void) {
    void *stream = NULL, *graph = NULL, *executable = NULL, *event = NULL, *place = NULL;
    (void)cudaStreamCreate(&stream);
    (void)cudaEventCreate(&event);
    (void)cudaEventCreate(&place);
    (void)cudaStreamBeginCapture(stream, 0);
    launch(stream);
    (void)cudaEventRecord(place, stream); /* no node: it is not logged */
    (void)cudaEventRecordWithFlags(event, stream, 1);
    launch(stream);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&executable, graph, 0);
    (void)cudaGraphLaunch(executable, stream);
}

static void test_a_graph_is_launched_in_parts_between_its_events(void **state) {
    (void)state;
    in_child(a_graph_with_events);
    assert_int_equal(found.n_all, 5);
    ROW(0, TIDE_RUN_KERNEL);
    ROW(1, TIDE_RUN_KERNEL);
    assert_true(found.rows[0].graph > 0 && found.rows[0].graph != found.rows[1].graph);
    ROW(2, TIDE_RUN_GRAPH_LAUNCH);
    assert_int_equal(found.rows[2].graph, found.rows[0].graph);
    assert_int_equal(found.rows[2].flags, 0);
    ROW(3, TIDE_RUN_RECORD);
    assert_int_equal(found.rows[3].bytes, 1); /* the first event */
    assert_int_equal(found.rows[3].flags, 0);
    ROW(4, TIDE_RUN_GRAPH_LAUNCH);
    assert_int_equal(found.rows[4].graph, found.rows[1].graph);
    assert_int_equal(found.rows[4].flags, TIDE_RUN_CONTINUES);
}

static void a_generated_kernel(void) {
    char name[] = "triton_poi_fused_add_0";
    void *module = NULL, *kernel = NULL;
    (void)cuModuleLoadData(&module, NULL);
    (void)cuModuleGetFunction(&kernel, module, name);
    name[0] = '?'; /* the name was copied */
    (void)cuLaunchKernel(kernel, 10, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
}

static void test_kernels_of_the_driver_have_names(void **state) {
    (void)state;
    in_child(a_generated_kernel);
    assert_string_equal(found.names[0], "triton_poi_fused_add_0");
    assert_int_equal(found.rows[0].elements, 1280);
}

static void a_collective(void) {
    enum { FLOAT = 7, SUM = 0 };
    void *comm = NULL;
    float *values = on_card(4096);
    (void)ncclCommInitAll(&comm, 1, NULL);
    (void)ncclAllReduce(values, values, 100, FLOAT, SUM, comm, NULL);
}

static void test_collectives_have_their_ranks(void **state) {
    (void)state;
    in_child(a_collective);
    size_t last = found.n - 1;
    ROW(last, TIDE_RUN_COLLECTIVE);
    assert_int_equal(found.rows[last].family, TIDE_RUN_ALL_REDUCE);
    assert_int_equal(found.rows[last].bytes, 400);
    assert_int_equal(found.rows[last].count, 1);
    assert_true(found.rows[last].elements != 0); /* the communicator */
}

/* More rows than fit in a piece of the file, and texts so long that some cross the end of a
 * piece. */
enum { MANY = 40000, N_TEXTS = 200, LONG = 20000 };

static void many_launches(void) {
    static char names[N_TEXTS][LONG];
    for (int i = 0; i < MANY; i++) {
        if (i < N_TEXTS) {
            memset(names[i], 'a' + i % 26, LONG - 1);
            __cudaRegisterFunction(__cudaRegisterFatBinary((const void *[]){NULL, NULL}), names[i],
                                   NULL, names[i]);
            (void)cudaLaunchKernel(names[i], (extent){1, 1, 1}, (extent){1, 1, 1}, NULL, 0, NULL);
        }
        launch(NULL);
    }
}

static void test_a_log_grows_by_pieces(void **state) {
    (void)state;
    in_child(many_launches);
    assert_int_equal(found.n_all, MANY + N_TEXTS);
}

/* Kills a process in the middle: its launches so far are intact. */
static void test_a_killed_process_leaves_its_log(void **state) {
    int ends[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        launch(NULL);
        launch(NULL);
        (void)!write(ends[1], "x", 1);
        (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    read_launches(child);
    assert_int_equal(found.n_all, 2);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static pid_t grandchild;

static void a_fork(void) {
    launch(NULL);
    grandchild = fork();
    if (grandchild == 0) {
        launch(NULL);
        launch(NULL);
        _exit(0);
    }
    (void)waitpid(grandchild, NULL, 0);
    launch(NULL);
    FILE *number = fopen(path_of(1), "w"); /* for the test, which is another process */
    (void)fprintf(number, "%ld", (long)grandchild);
    (void)fclose(number);
}

static void test_a_forked_process_has_its_own_log(void **state) {
    long number = 0;
    (void)state;
    in_child(a_fork);
    assert_int_equal(found.n_all, 2);
    FILE *of = fopen(path_of(1), "r");
    assert_int_equal(fscanf(of, "%ld", &number), 1);
    (void)fclose(of);
    read_launches((pid_t)number);
    assert_int_equal(found.n_all, 2);
    assert_string_equal(found.names[0], READABLE); /* its texts are written again */
    assert_int_equal(found.rows[0].thread, 0);
}

static void not_asked_for(void) {
    (void)setenv("TIDEMARK_LAUNCHES", "0", 1);
    a_program();
    _exit(has_log(getpid()) ? 1 : 0);
}

static void test_nothing_is_written_without_being_asked(void **state) {
    int status = 1;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        not_asked_for();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int set_up(void **state) {
    (void)state;
    (void)setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    (void)setenv("TIDEMARK_LAUNCHES", "1", 1);
    if (mkdtemp(folder) == NULL || setenv("TIDEMARK_RUN_FOLDER", folder, 1) != 0) {
        return -1;
    }
    __cudaRegisterFunction(__cudaRegisterFatBinary((const void *[]){NULL, NULL}), KERNEL, NULL,
                           NAME);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_are_rows_in_their_order),
        cmocka_unit_test(test_a_graph_has_what_was_captured),
        cmocka_unit_test(test_a_graph_is_launched_in_parts_between_its_events),
        cmocka_unit_test(test_kernels_of_the_driver_have_names),
        cmocka_unit_test(test_collectives_have_their_ranks),
        cmocka_unit_test(test_a_log_grows_by_pieces),
        cmocka_unit_test(test_a_killed_process_leaves_its_log),
        cmocka_unit_test(test_a_forked_process_has_its_own_log),
        cmocka_unit_test(test_nothing_is_written_without_being_asked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
