/* test_ipc.c - memory and events that one process exports and another opens.
 *
 * This process makes no context. Each test forks two processes: one exports, the other opens.
 */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "unit/virtual_cuda/test_folder.h"

#define MIB ((size_t)1 << 20)
enum { OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };
enum { AS_FILE = 1, FOR_PROCESSES = 4 | 2 }; /* cudaEventInterprocess, cudaEventDisableTiming */

typedef struct ipc_handle {
    char bytes[64];
} ipc_handle;

int cudaIpcGetMemHandle(ipc_handle *ret_handle, void *address);
int cudaIpcOpenMemHandle(void **ret_address, ipc_handle handle, unsigned flags);
int cudaIpcCloseMemHandle(void *address);
int cudaIpcGetEventHandle(ipc_handle *ret_handle, void *event);
int cudaIpcOpenEventHandle(void **ret_event, ipc_handle handle);
int cuMemExportToShareableHandle(int *ret_file, unsigned long long handle, int type,
                                 unsigned long long flags);
int cuMemImportFromShareableHandle(unsigned long long *ret_handle, void *file, int type);

/* Shared by the two processes of a test: a page, and a socket to take turns. */
typedef struct pair {
    ipc_handle handle;
    void *address;
    int step; /* where a check failed: its line */
    int sockets[2];
} pair;

static char folder[] = "/tmp/tidemark-test-XXXXXX";

static size_t in_use(void) {
    size_t n_free = 0;
    size_t n_total = 0;
    return cudaMemGetInfo(&n_free, &n_total) == OK ? n_total - n_free : 0;
}

/* A check in a child: the first failure is reported to the test. */
#define CHECK(of, condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (of)->step = (of)->step == 0 ? __LINE__ : (of)->step;                                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void go_on(pair *of, int end) {
    CHECK(of, write(of->sockets[end], "", 1) == 1);
}

static void wait_for_other(pair *of, int end) {
    char byte = 0;
    CHECK(of, read(of->sockets[end], &byte, 1) == 1);
}

/* Runs both, each in its own process. A failing process closes its end of the socket, so the other
 * does not wait for ever. */
static void run(void (*offer)(pair *of), void (*open)(pair *of)) {
    pair *of = mmap(NULL, sizeof(*of), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void (*const parts[2])(pair *) = {offer, open};
    pid_t pids[2];
    assert_true(of != MAP_FAILED);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, of->sockets), 0);
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(of->sockets[1 - i]);
            parts[i](of);
            _exit(0);
        }
    }
    close(of->sockets[0]);
    close(of->sockets[1]);
    for (int i = 0; i < 2; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(of->step, 0);
        assert_int_equal(status, 0);
    }
    munmap(of, sizeof(*of));
}

static void offer_memory(pair *of) {
    ipc_handle second;
    char own = 0;
    CHECK(of, cudaMalloc(&of->address, 30 * MIB) == OK);
    CHECK(of, cudaIpcGetMemHandle(&of->handle, (char *)of->address + 4096) == OK);
    CHECK(of, cudaIpcGetMemHandle(&second, of->address) == OK);
    CHECK(of, memcmp(&second, &of->handle, sizeof(second)) == 0);
    CHECK(of, cudaIpcGetMemHandle(&second, &own) == INVALID_VALUE);
    CHECK(of, cudaIpcOpenMemHandle(&(void *){NULL}, of->handle, 1) == INVALID_CONTEXT);
    go_on(of, 0);
    wait_for_other(of, 0);
    CHECK(of, cudaFree(of->address) == OK);
    go_on(of, 0);
    wait_for_other(of, 0);
}

static void open_memory(pair *of) {
    void *first = NULL;
    void *second = NULL;
    ipc_handle another;
    pointer_attributes what;
    wait_for_other(of, 1);
    size_t with_other = in_use();
    CHECK(of, cudaIpcOpenMemHandle(&first, of->handle, 1) == OK && first != NULL);
    CHECK(of, in_use() == with_other);
    CHECK(of, cudaPointerGetAttributes(&what, (char *)first + 29 * MIB) == OK && what.type == 2);
    CHECK(of, cudaIpcOpenMemHandle(&second, of->handle, 1) == OK && second == first);
    CHECK(of, cudaFree(first) == INVALID_VALUE);
    CHECK(of, cudaIpcGetMemHandle(&another, first) == INVALID_VALUE);
    CHECK(of, cudaIpcCloseMemHandle(first) == OK);
    CHECK(of, cudaPointerGetAttributes(&what, first) == OK && what.type == 2);
    CHECK(of, cudaIpcCloseMemHandle(first) == OK);
    CHECK(of, cudaIpcCloseMemHandle(first) == INVALID_VALUE);
    CHECK(of, in_use() == with_other);
    go_on(of, 1);
    wait_for_other(of, 1);
    CHECK(of, in_use() == with_other - 30 * MIB);
    CHECK(of, cudaIpcOpenMemHandle(&first, of->handle, 1) == INVALID_VALUE && first == NULL);
    go_on(of, 1);
}

static void memory_is_charged_once(void **state) {
    (void)state;
    run(offer_memory, open_memory);
}

static void offer_and_die(pair *of) {
    CHECK(of, cudaMalloc(&of->address, 30 * MIB) == OK);
    CHECK(of, cudaIpcGetMemHandle(&of->handle, of->address) == OK);
    go_on(of, 0);
}

static void open_of_the_dead(pair *of) {
    void *address = NULL;
    char byte = 0;
    int status = OK;
    CHECK(of, in_use() > 0); /* it does not reuse the slot of the dead process */
    wait_for_other(of, 1);
    CHECK(of, read(of->sockets[1], &byte, 1) == 0); /* it has ended */
    while (status == OK) {                          /* until the system notices */
        status = cudaIpcOpenMemHandle(&address, of->handle, 1);
        CHECK(of, status != OK || cudaIpcCloseMemHandle(address) == OK);
    }
    CHECK(of, status == INVALID_VALUE && address == NULL);
}

static void the_dead_offer_nothing(void **state) {
    (void)state;
    run(offer_and_die, open_of_the_dead);
}

static void offer_event(pair *of) {
    void *event = NULL;
    void *own = NULL;
    CHECK(of, cudaEventCreateWithFlags(&own, 0) == OK);
    CHECK(of, cudaIpcGetEventHandle(&of->handle, own) == INVALID_HANDLE);
    CHECK(of, cudaEventCreateWithFlags(&event, FOR_PROCESSES) == OK);
    CHECK(of, cudaEventRecord(event, NULL) == OK);
    CHECK(of, cudaIpcGetEventHandle(&of->handle, event) == OK);
    go_on(of, 0);
    wait_for_other(of, 0);
}

static void open_event(pair *of) {
    float ms = 0.0f;
    void *event = NULL;
    void *address = NULL;
    wait_for_other(of, 1);
    CHECK(of, cudaIpcOpenEventHandle(&event, of->handle) == OK && event != NULL);
    CHECK(of, cudaStreamWaitEvent(NULL, event, 0) == OK && cudaEventQuery(event) == OK);
    CHECK(of, cudaEventRecord(event, NULL) == OK);
    CHECK(of, cudaEventElapsedTime(&ms, event, event) == INVALID_HANDLE);
    CHECK(of, cudaEventDestroy(event) == OK);
    CHECK(of, cudaIpcOpenMemHandle(&address, of->handle, 1) == INVALID_VALUE);
    go_on(of, 1);
}

static void events_are_shared(void **state) {
    (void)state;
    run(offer_event, open_event);
}

/* Physical memory goes through a file descriptor, here one that the second process inherits. */
static void physical_memory_is_shared(void **state) {
    (void)state;
    const int on_device_0[8] = {1, AS_FILE, 1, 0};
    int go[2];
    int back[2];
    int status = -1;
    assert_true(pipe(go) == 0 && pipe(back) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        unsigned long long handle = 0;
        uint64_t at = 0;
        int file = -1;
        size_t n_bytes[2] = {0, 0};
        char byte = 0;
        char path[64];
        /* The exporting process passes its descriptor's number; this one opens it through /proc. */
        bool is_good = read(go[0], &file, sizeof(file)) == (ssize_t)sizeof(file);
        (void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getppid(), file);
        FILE *opened = fopen(path, "r");
        n_bytes[0] = in_use();
        is_good = is_good && opened != NULL &&
                  cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fileno(opened),
                                                 AS_FILE) == OK &&
                  cuMemAddressReserve(&at, 20 * MIB, 0, 0, 0) == OK &&
                  cuMemMap(at, 20 * MIB, 0, handle, 0) == OK && cuMemRelease(handle) == OK;
        n_bytes[1] = in_use();
        is_good = is_good && n_bytes[0] == n_bytes[1] && cuMemUnmap(at, 20 * MIB) == OK &&
                  in_use() == n_bytes[1];
        is_good = write(back[1], "", 1) == 1 && read(go[0], &byte, 1) == 1 && is_good &&
                  in_use() == n_bytes[1] - 20 * MIB;
        is_good = cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fileno(opened),
                                                 AS_FILE) == INVALID_VALUE &&
                  is_good;
        _exit(is_good ? 0 : 1);
    }
    unsigned long long handle = 0;
    unsigned long long again = 0;
    int file = -1;
    char byte = 0;
    assert_int_equal(cuMemCreate(&handle, 20 * MIB, on_device_0, 0), OK);
    assert_int_equal(cuMemExportToShareableHandle(&file, handle, AS_FILE, 0), OK);
    assert_int_equal(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file, AS_FILE), OK);
    assert_int_equal(cuMemRelease(again), OK);
    assert_int_equal(write(go[1], &file, sizeof(file)), sizeof(file));
    assert_int_equal(read(back[0], &byte, 1), 1);
    assert_int_equal(cuMemRelease(handle), OK);
    assert_int_equal(write(go[1], "", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_charged_once), cmocka_unit_test(the_dead_offer_nothing),
        cmocka_unit_test(events_are_shared),
        cmocka_unit_test(physical_memory_is_shared), /* the last: this process makes a context */
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    setenv("TIDEMARK_RUN_FOLDER", folder, 1);
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    (void)signal(SIGPIPE, SIG_IGN);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    return remove_folder(folder) == 0 ? n_failed : 1;
}
