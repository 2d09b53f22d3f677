/* test_nccl_communicators.c - splits, ranks that end or do not run, and what remains for the
 * answer. */
#include "nccl_ranks.h"

#include <time.h>

#include "programs/wire/run_communicators.h"

/* As in nccl.h 2.27. */
typedef struct config {
    size_t n_bytes;
    unsigned magic, version;
    int blocking, cga, least, most;
    const char *net;
    int split_share, traffic_class;
    const char *name;
} config;

/* What this process has left for the answer. */
static const tide_run_communicators *read_list(member *of) {
    static tide_run_communicators read;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%ld.communicators", folder, (long)getpid());
    FILE *file = fopen(path, "rb");
    CHECK(of, file != NULL && fread(&read, sizeof(read), 1, file) == 1 && fclose(file) == 0);
    return &read;
}

static void split(member *of) {
    void *half = NULL;
    int rank = -1, n = 0;
    int32_t given = of->rank;
    put(of, &given, sizeof(given));
    int color = of->rank == 3 ? NO_COLOR : of->rank % 2;
    CHECK(of, ncclCommSplit(of->comm, color, -of->rank, &half, NULL) == OK);
    CHECK(of, (half == NULL) == (of->rank == 3));
    if (half != NULL) {
        CHECK(of, ncclCommCount(half, &n) == OK && n == (of->rank == 1 ? 1 : 2));
        CHECK(of, ncclCommUserRank(half, &rank) == OK && rank == (of->rank == 0 ? 1 : 0));
        CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, half, NULL) == OK);
        CHECK(of, has(of, (int32_t[]){of->rank == 1 ? 1 : 2}, 4));
        CHECK(of, ncclCommDestroy(half) == OK);
    }
}

static void test_split(void **state) {
    (void)state;
    run(split);
}

static void shrink(member *of) {
    void *less = NULL;
    const int gone[] = {1};
    int32_t given = of->rank;
    put(of, &given, sizeof(given));
    int status = ncclCommShrink(of->comm, gone, 1, &less, NULL, 0);
    CHECK(of, status == (of->rank == 1 ? INVALID_ARGUMENT : OK));
    if (less != NULL) {
        CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, less, NULL) == OK);
        CHECK(of, has(of, (int32_t[]){0, 2, 3}, 12));
    }
}

static void test_shrink(void **state) {
    (void)state;
    run(shrink);
}

/* Rank 1 exits silently: the others read unknown bytes and continue. */
static void lose_one(member *of) {
    int32_t given = of->rank;
    put(of, &given, sizeof(given));
    if (of->rank == 1) {
        _exit(0);
    }
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, !is_known(of, 4));
}

static void test_a_rank_that_ends(void **state) {
    (void)state;
    run(lose_one);
}

/* Ranks 0 and 2 of a world of 4: the others are assumed to have the reader's values. */
static void miss_some(member *of) {
    const int64_t with_absent[] = {of->rank, 3};
    int32_t given = of->rank + 1;
    void *group = NULL;
    int n = 0;
    put(of, &given, sizeof(given));
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){1, given, 3, given}, 16));
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){4 + 2 * given}, 4));
    CHECK(of, ncclRecv(of->to, 1, INT32, 1, of->comm, NULL) == OK);
    CHECK(of, !is_known(of, 4));
    CHECK(of, ncclCommSplit(of->comm, 7, 0, &group, NULL) == INVALID_USAGE);
    tidemark_ranks_group(with_absent, 2, NULL);
    CHECK(of, ncclCommSplit(of->comm, 7, 0, &group, NULL) == OK);
    CHECK(of, ncclCommCount(group, &n) == OK && n == 2);
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, group, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){2 * given}, 4));
}

static void test_ranks_that_do_not_run(void **state) {
    (void)state;
    setenv("TIDEMARK_WORLD", "4", 1);
    setenv("TIDEMARK_PRESENT_RANKS", "0,2", 1);
    run_some(N_RANKS, 1U | 4U, miss_some);
    unsetenv("TIDEMARK_WORLD");
    unsetenv("TIDEMARK_PRESENT_RANKS");
}

/* Communicators of three ranks, of which only ranks 0 and 2 of the world run. Their members follow
 * from the name, or from the only group that fits, or from the ranks that arrive. */
static void *named_communicator(member *of, int number, int n_ranks, int rank, const char *name) {
    config named = {.n_bytes = sizeof(named), .magic = 0xcafebeef, .name = name};
    unique_id id = of->job->id;
    void *comm = NULL;
    id.bytes[100] = (char)number;
    CHECK(of, ncclCommInitRankConfig(&comm, n_ranks, id, rank, &named) == OK);
    return comm;
}

static void find_members(member *of) {
    const int64_t with_both[] = {0, 2, 1}, with_one[] = {0, 1, 3};
    int place = of->rank == 0 ? 0 : 1;
    int32_t given = of->rank + 1;
    tidemark_ranks_group(with_both, 3, "7");
    if (of->rank == 0) {
        tidemark_ranks_group(with_one, 3, "8");
    }
    put(of, &given, sizeof(given));
    void *both = named_communicator(of, 1, 3, place, "of both:7");
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, both, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){1, 3, given}, 12));
    if (of->rank == 0) { /* none of the others runs, so it does not wait */
        void *alone = named_communicator(of, 2, 3, 0, "alone:8");
        CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, alone, NULL) == OK);
        CHECK(of, has(of, (int32_t[]){1, 1, 1}, 12));
    }
    void *pair = named_communicator(of, 3, 2, place, "of both:7"); /* for messages */
    CHECK(of, ncclSend(of->from, 1, INT32, 1 - place, pair, NULL) == OK);
    CHECK(of, ncclRecv(of->to, 1, INT32, 1 - place, pair, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){4 - given}, 4));
    void *nameless = named_communicator(of, 4, 3, place, NULL); /* two groups fit at rank 0 */
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, nameless, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){1, 3, given}, 12));
}

/* No other rank arrives, for an unknown reason: it waits no longer for two members than for one. */
static void miss_nameless(member *of) {
    const int64_t one[] = {0, 1, 3}, other[] = {0, 2, 1};
    int32_t given = of->rank + 1;
    if (of->rank == 0) {
        tidemark_ranks_group(one, 3, "7");
        tidemark_ranks_group(other, 3, "8");
        put(of, &given, sizeof(given));
        void *comm = named_communicator(of, 5, 3, 0, NULL);
        time_t begin = time(NULL);
        CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, comm, NULL) == OK);
        CHECK(of, has(of, (int32_t[]){1, 1, 1}, 12));
        CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, comm, NULL) == OK);
        CHECK(of, has(of, (int32_t[]){3}, 4));
        CHECK(of, time(NULL) - begin < 4);
    }
}

static void run_two_of_four(void (*part)(member *of)) {
    setenv("TIDEMARK_WORLD", "4", 1);
    setenv("TIDEMARK_PRESENT_RANKS", "0,2", 1);
    run_some(N_RANKS, 1U | 4U, part);
    unsetenv("TIDEMARK_WORLD");
    unsetenv("TIDEMARK_PRESENT_RANKS");
}

static void test_members_are_found(void **state) {
    (void)state;
    run_two_of_four(find_members);
    run_two_of_four(miss_nameless);
}

/* The user states the memory of a communicator; it is freed at the communicator's end. */
static void charge(member *of) {
    size_t n_free = 0, n_total = 0, n_after = 0;
    void *comm = NULL;
    unique_id id = of->job->id;
    id.bytes[100] = 1;
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, ncclCommInitRankScalable(&comm, of->n_ranks, of->rank, 1, &id, NULL) == OK);
    CHECK(of, cudaMemGetInfo(&n_after, &n_total) == OK);
    CHECK(of, n_free - n_after == 1000);
    CHECK(of, ncclCommDestroy(comm) == OK);
    CHECK(of, cudaMemGetInfo(&n_after, &n_total) == OK);
    CHECK(of, n_free == n_after);
}

static void test_bytes_of_communicators(void **state) {
    (void)state;
    setenv("TIDEMARK_NCCL_BYTES", "1000", 1);
    run_some(1, 1, charge);
    unsetenv("TIDEMARK_NCCL_BYTES");
}

/* The bytes of the card that the communicator is charged, in MiB. */
static size_t charged(const member *of, size_t n_free) {
    size_t n_after = 0, n_total = 0;
    CHECK(of, cudaMemGetInfo(&n_after, &n_total) == OK);
    return (n_free - n_after) >> 20;
}

/* A model charges each part when a call first needs it, and not again. The parts of two H100 are
 * those of test_nccl_buffers.c. */
static void charge_by_model(member *of) {
    size_t n_free = 0, n_total = 0;
    void *comm = NULL;
    unique_id id = of->job->id;
    id.bytes[100] = 1;
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, ncclCommInitRank(&comm, 2, id, of->rank) == OK);
    CHECK(of, charged(of, n_free) == 230);
    for (int i = 0; i < 2; i++) {
        CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, comm, NULL) == OK);
        CHECK(of, charged(of, n_free) == 230 + 288);
    }
    CHECK(of, ncclSend(of->from, 1, INT32, of->rank, comm, NULL) == OK); /* to itself */
    CHECK(of, charged(of, n_free) == 230 + 288);
    for (int i = 0; i < 2; i++) {
        CHECK(of, ncclSend(of->from, 1, INT32, 1 - of->rank, comm, NULL) == OK);
        CHECK(of, charged(of, n_free) == 230 + 288 + 64);
    }
    CHECK(of, ncclRecv(of->to, 1, INT32, 1 - of->rank, comm, NULL) == OK);
    CHECK(of, charged(of, n_free) == 230 + 288 + 64 + 320);
    CHECK(of, ncclCommDestroy(comm) == OK);
    CHECK(of, charged(of, n_free) == 0);
}

static void test_model_of_communicators(void **state) {
    (void)state;
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    run_some(1, 1, charge_by_model);
}

/* A gather and a scatter are messages with the root only. */
static void charge_by_root(member *of) {
    size_t n_free = 0, n_total = 0;
    void *comm = NULL;
    unique_id id = of->job->id;
    id.bytes[100] = 1;
    CHECK(of, ncclCommInitRank(&comm, 4, id, of->rank) == OK);
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, ncclGather(of->from, of->to, 1, INT32, 1, comm, NULL) == OK);
    CHECK(of, charged(of, n_free) == 64);
    CHECK(of, ncclScatter(of->from, of->to, 1, INT32, 1, comm, NULL) == OK);
    CHECK(of, charged(of, n_free) == 64 + 320);
    CHECK(of, ncclGather(of->from, of->to, 1, INT32, 0, comm, NULL) == OK);
    CHECK(of, charged(of, n_free) == 64 + 3 * 320);
    CHECK(of, ncclScatter(of->from, of->to, 1, INT32, 0, comm, NULL) == OK);
    CHECK(of, charged(of, n_free) == 3 * 64 + 3 * 320);
}

/* minCTAs and maxCTAs of a child: its own configuration's, or without one the parent's. */
static void charge_children(member *of) {
    size_t n_free = 0, n_total = 0;
    const int gone[] = {1};
    void *pair = NULL, *child = NULL;
    unique_id id = of->job->id;
    config of_pair = {.n_bytes = sizeof(of_pair), .magic = 0xcafebeef, .most = 4};
    config own = of_pair;
    own.most = 8;
    id.bytes[100] = 1;
    CHECK(of, ncclCommInitRankConfig(&pair, 2, id, 0, &of_pair) == OK);
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, ncclCommShrink(pair, gone, 1, &child, NULL, 0) == OK);
    CHECK(of, charged(of, n_free) == (2 + (size_t)3 * 4) * 2);
    CHECK(of, ncclCommShrink(pair, gone, 1, &child, &own, 0) == OK);
    CHECK(of, charged(of, n_free) == (4 + (size_t)3 * (4 + 8)) * 2);
    CHECK(of, ncclCommSplit(child, 0, 0, &child, NULL) == OK);
    CHECK(of, charged(of, n_free) == (6 + (size_t)3 * (4 + 8 + 8)) * 2);
    CHECK(of, ncclCommSplit(child, 0, 0, &child, &of_pair) == OK);
    CHECK(of, charged(of, n_free) == (8 + (size_t)3 * (4 + 8 + 8 + 4)) * 2);
}

/* What is destroyed no longer counts, but the most at one time remains. */
static void leave_peak(member *of) {
    void *pair = NULL;
    unique_id id = of->job->id;
    const uint64_t own = (2 + 3 * 64) * (uint64_t)2 << 20;
    const uint64_t both = own + ((uint64_t)230 << 20);
    for (int i = 0; i < 2; i++) {
        id.bytes[100]++;
        CHECK(of, ncclCommInitRank(&pair, 2, id, of->rank) == OK);
        const tide_run_communicators *read = read_list(of);
        CHECK(of, read->live[0].n_made == 2 && read->live[0].charged_bytes == both);
        CHECK(of, ncclCommDestroy(pair) == OK);
    }
    const tide_run_communicators *read = read_list(of);
    CHECK(of, read->n_made == 3 && read->made[2].use.charged_bytes == 0);
    CHECK(of, read->live[0].n_made == 1 && read->live[0].charged_bytes == own);
    CHECK(of, read->peak[0].n_made == 2 && read->peak[0].charged_bytes == both);
}

/* CUDA does not work in the child of a process that used it: that is no full card. */
static void charge_child_process(member *of) {
    void *comm = NULL;
    unique_id id = of->job->id;
    int status = -1;
    id.bytes[100] = 1;
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(of, ncclCommInitRank(&comm, 1, id, 0) == OK);
        const tide_run_communicators *read = read_list(of);
        CHECK(of, read->n_made == 1 && read->made[0].use.charged_bytes == 0);
        CHECK(of, read->made[0].use.missing_bytes == 0);
        _exit(0);
    }
    CHECK(of, pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void test_parts_of_the_model(void **state) {
    (void)state;
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    run_some(1, 1, charge_by_root);
    run_some(1, 1, charge_children);
    run_some(1, 1, leave_peak);
    run_some(1, 1, charge_child_process);
}

/* Members on several nodes: the model has no figures. */
static void charge_between_nodes(member *of) {
    size_t n_free = 0, n_total = 0;
    const int64_t far[] = {0, 8};
    void *comm = NULL;
    unique_id id = of->job->id;
    id.bytes[100] = 1;
    config named = {.n_bytes = sizeof(named), .magic = 0xcafebeef, .name = "far:9"};
    tidemark_ranks_group(far, 2, "9");
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, ncclCommInitRankConfig(&comm, 2, id, 0, &named) == OK);
    CHECK(of, charged(of, n_free) == 0);
    CHECK(of, read_list(of)->made[1].use.n_between_nodes == 1);
    CHECK(of, ncclCommDestroy(comm) == OK);
    id.bytes[100] = 2; /* of no group that was announced: its members are unknown */
    CHECK(of, ncclCommInitRank(&comm, 3, id, 0) == OK);
    const tide_run_nccl_use *use = &read_list(of)->made[2].use;
    CHECK(of, use->n_made == 1 && use->n_modelled == 0 && use->n_between_nodes == 0);
    CHECK(of, ncclCommDestroy(comm) == OK);
}

static void test_nodes_are_not_modelled(void **state) {
    (void)state;
    setenv("TIDEMARK_WORLD", "16", 1);
    setenv("TIDEMARK_PRESENT_RANKS", "0", 1);
    run_some(1, 1, charge_between_nodes);
    unsetenv("TIDEMARK_WORLD");
    unsetenv("TIDEMARK_PRESENT_RANKS");
}

/* The card is full: the program continues, and the ledger has the bytes that found no room. */
static void charge_full_card(member *of) {
    void *comm = NULL, *most = NULL;
    unique_id id = of->job->id;
    size_t n_free = 0, n_total = 0;
    id.bytes[100] = 1;
    CHECK(of, cudaMemGetInfo(&n_free, &n_total) == OK);
    CHECK(of, cudaMalloc(&most, n_free - ((size_t)240 << 20)) == OK);
    CHECK(of, ncclCommInitRank(&comm, 2, id, of->rank) == OK);
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, comm, NULL) == OK);
    const tide_run_communicators *read = read_list(of);
    const tide_run_communicator *found = &read->made[1];
    CHECK(of, found->use.n_modelled == 1 && found->use.charged_bytes == (uint64_t)230 << 20);
    CHECK(of, found->use.missing_bytes == (uint64_t)288 << 20);
    CHECK(of, found->use.least_bytes == (uint64_t)290 << 20);
    CHECK(of, ncclCommDestroy(comm) == OK);
}

static void test_full_card(void **state) {
    (void)state;
    run_some(1, 1, charge_full_card);
}

static void find_link(member *of) {
    enum { BY_NVLINK = 2 };
    void *handles[2] = {NULL, NULL};
    int found = -1;
    for (unsigned i = 0; i < 2; i++) {
        CHECK(of, nvmlDeviceGetHandleByIndex_v2(i, &handles[i]) == OK);
    }
    CHECK(of, nvmlDeviceGetP2PStatus(handles[0], handles[1], BY_NVLINK, &found) == OK);
    CHECK(of, found == 0);
}

static void test_links(void **state) {
    (void)state;
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80+h100-80", 1);
    run_some(1, 1, find_link);
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
}

/* ---- what remains for the answer ---- */

/* PyTorch's communicators are made with a configuration, and so are their children. */
static void leave_configured(member *of) {
    void *comm = NULL, *child = NULL;
    unique_id id = of->job->id;
    config named = {.n_bytes = sizeof(named), .magic = 0xcafebeef, .name = "torch"};
    id.bytes[100] = 1;
    CHECK(of, ncclCommInitRankConfig(&comm, 1, id, 0, &named) == OK);
    CHECK(of, ncclCommSplit(comm, 0, 0, &child, NULL) == OK);
    const tide_run_communicators *read = read_list(of);
    CHECK(of, read->n_made == 3 && !read->made[0].is_configured);
    CHECK(of, read->made[1].is_configured == 1 && read->made[2].is_configured == 1);
}

static void test_a_configuration_is_left(void **state) {
    (void)state;
    run_some(1, 1, leave_configured);
}

static void leave_list(member *of) {
    const int64_t odd[] = {1, 3};
    void *half = NULL;
    int32_t given = of->rank;
    config named = {.n_bytes = sizeof(named), .magic = 0xcafebeef, .name = "halves"};
    put(of, &given, sizeof(given));
    if (of->rank % 2 == 1) {
        tidemark_ranks_group(odd, 2, NULL);
    }
    CHECK(of, ncclCommSplit(of->comm, of->rank % 2, of->rank, &half, &named) == OK);
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, half, NULL) == OK);
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, of->comm, NULL) == OK);
    CHECK(of, ncclAllGather(of->from, of->to, 2, INT32, of->comm, NULL) == OK);
    CHECK(of, ncclSend(of->from, 3, INT32, (of->rank + 1) % N_RANKS, of->comm, NULL) == OK);
    CHECK(of, ncclCommDestroy(half) == OK);
    const tide_run_communicators *read = read_list(of);
    const tide_run_communicator *world = &read->made[0];
    const tide_run_communicator *child = &read->made[1];
    CHECK(of, read->magic == TIDE_RUN_COMMUNICATORS_MAGIC);
    CHECK(of, read->rank == of->rank && read->n_made == 2 && !world->is_configured);
    CHECK(of, world->rank == of->rank && world->n_ranks == N_RANKS && world->use.n_made == 1);
    CHECK(of, world->n_calls[TIDE_RUN_ALL_GATHER] == 2 && world->n_calls[TIDE_RUN_SEND] == 1);
    CHECK(of, world->n_bytes[TIDE_RUN_ALL_GATHER] == (size_t)3 * N_RANKS * sizeof(given));
    CHECK(of, world->n_bytes[TIDE_RUN_SEND] == 3 * sizeof(given) && world->name[0] == '\0');
    CHECK(of, child->rank == of->rank / 2 && child->n_ranks == 2 && child->use.n_made == 0);
    CHECK(of, child->n_calls[TIDE_RUN_ALL_REDUCE] == 1 && strcmp(child->name, "halves") == 0);
    CHECK(of, child->first == (of->rank % 2 == 1 ? 1 : -1));
    CHECK(of, child->stride == (of->rank % 2 == 1 ? 2 : 0) && child->key != world->key);
}

static void test_a_list_is_left(void **state) {
    (void)state;
    run(leave_list);
}

static void refuse(member *of) {
    void *comms[2] = {NULL, NULL};
    int rank = 0;
    unsetenv("TIDEMARK_RUN_FOLDER");
    CHECK(of, ncclAllReduce(of->from, of->to, 1, 99, SUM, of->comm, NULL) == INVALID_ARGUMENT);
    CHECK(of, ncclBroadcast(of->from, of->to, 1, INT32, 1, of->comm, NULL) == INVALID_ARGUMENT);
    CHECK(of, ncclCommInitRank(&comms[0], 2, of->job->id, 2) == INVALID_ARGUMENT);
    CHECK(of, ncclCommInitAll(comms, 2, NULL) == OK);
    CHECK(of, ncclCommUserRank(comms[1], &rank) == OK && rank == 1);
    put(of, &rank, sizeof(rank));
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, comms[0], NULL) == OK);
}

static void test_bad_arguments(void **state) {
    (void)state;
    run_some(1, 1, refuse);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_a_rank_that_ends),
        cmocka_unit_test(test_ranks_that_do_not_run),
        cmocka_unit_test(test_members_are_found),
        cmocka_unit_test(test_bytes_of_communicators),
        cmocka_unit_test(test_model_of_communicators),
        cmocka_unit_test(test_parts_of_the_model),
        cmocka_unit_test(test_nodes_are_not_modelled),
        cmocka_unit_test(test_full_card),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_a_list_is_left),
        cmocka_unit_test(test_a_configuration_is_left),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
