/* test_nccl.c - the values that travel between the members of a communicator. */
#include "nccl_ranks.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- reductions ---- */

/* Small whole numbers, exact in every type: rank + 1 in the first place and 2 in the second. */
static void put_as(int type, const double *values, size_t n, void *ret_bytes) {
    for (size_t i = 0; i < n; i++) {
        static const uint16_t HALVES[] = {0,      0x3C00, 0x4000, 0x4200, 0x4400, 0x4500,
                                          0x4600, 0x4700, 0x4800, 0x4880, 0x4900, 0x4980,
                                          0x4A00, 0x4A80, 0x4B00, 0x4B80, 0x4C00};
        float single = (float)values[i];
        uint32_t bits = 0;
        memcpy(&bits, &single, sizeof(bits));
        switch (type) {
        case INT8:
        case UINT8:
            ((uint8_t *)ret_bytes)[i] = (uint8_t)values[i];
            break;
        case INT32:
        case UINT32:
            ((uint32_t *)ret_bytes)[i] = (uint32_t)values[i];
            break;
        case INT64:
        case UINT64:
            ((uint64_t *)ret_bytes)[i] = (uint64_t)values[i];
            break;
        case HALF:
            ((uint16_t *)ret_bytes)[i] = HALVES[(size_t)values[i]];
            break;
        case FLOAT:
            ((float *)ret_bytes)[i] = single;
            break;
        case DOUBLE:
            ((double *)ret_bytes)[i] = values[i];
            break;
        default:
            ((uint16_t *)ret_bytes)[i] = (uint16_t)(bits >> 16);
            break;
        }
    }
}

static const size_t TYPE_BYTES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static void reduce_each_type(member *of) {
    const double wanted[][2] = {{10, 8}, {24, 16}, {4, 2}, {1, 2}, {2.5, 2}};
    for (int type = INT8; type <= BFLOAT; type++) {
        for (int operation = SUM; operation <= AVERAGE; operation++) {
            unsigned char given[16], result[16];
            double mean[2] = {2, 2}; /* 10 / 4 in whole numbers */
            bool is_whole = type <= UINT64;
            if (operation == PRODUCT && (type == HALF)) {
                continue; /* 24 is not in the table above */
            }
            if (operation == AVERAGE && type == HALF) {
                continue; /* neither is 2.5 */
            }
            put_as(type, (double[]){of->rank + 1, 2}, 2, given);
            put_as(type, operation == AVERAGE && is_whole ? mean : wanted[operation], 2, result);
            put(of, given, 2 * TYPE_BYTES[type]);
            CHECK(of, ncclAllReduce(of->from, of->to, 2, type, operation, of->comm, NULL) == OK);
            CHECK(of, has(of, result, 2 * TYPE_BYTES[type]));
        }
    }
}

static void test_each_type_is_reduced(void **state) {
    (void)state;
    run(reduce_each_type);
}

/* 1 + 2^-11 is between two fp16 numbers: the even one is 1. 65504 + 65504 is too large. */
static void round_halves(member *of) {
    const uint16_t given[][3] = {{0x3C00, 0x7BFF, 0x0001}, {0x1000, 0x7BFF, 0x0001}};
    const uint16_t wanted[] = {0x3C00, 0x7C00, 0x0002};
    put(of, given[of->rank], sizeof(given[0]));
    CHECK(of, ncclAllReduce(of->from, of->to, 3, HALF, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, wanted, sizeof(wanted)));
    CHECK(of, ncclAllReduce(of->from, of->to, 3, HALF, AVERAGE, of->comm, NULL) == OK);
    CHECK(of, has(of, (uint16_t[]){0x3800, 0x7BFF, 0}, 6));      /* a half of the smallest is 0 */
    const uint16_t brains[] = {of->rank == 0 ? 0x3F80 : 0x3B80}; /* 1 and 2^-8: a tie */
    put(of, brains, sizeof(brains));
    CHECK(of, ncclAllReduce(of->from, of->to, 1, BFLOAT, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, (uint16_t[]){0x3F80}, 2));
}

static void test_halves_are_rounded(void **state) {
    (void)state;
    run_some(2, 3, round_halves);
}

static void reduce_to_some(member *of) {
    int32_t given[N_RANKS] = {of->rank, 10, 20, 30};
    put(of, given, sizeof(given));
    CHECK(of, ncclReduceScatter(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){of->rank == 0 ? 6 : of->rank * 40}, 4));
    CHECK(of, cudaMemcpy(of->to, given, sizeof(given), TO_DEVICE) == OK);
    CHECK(of, ncclReduce(of->from, of->to, 1, INT32, SUM, 2, of->comm, NULL) == OK);
    CHECK(of,
          has(of, (int32_t[]){of->rank == 2 ? 6 : of->rank}, 4)); /* the others keep their values */
}

static void test_reductions_to_parts_and_to_one(void **state) {
    (void)state;
    run(reduce_to_some);
}

/* Memory that a kernel may have written is unknown, and so is a sum with it; so are sums of a kind
 * that is not computed. */
static void reduce_unknown(member *of) {
    int32_t given = of->rank;
    int operation = 0;
    put(of, &given, sizeof(given));
    CHECK(of, ncclRedOpCreatePreMulSum(&operation, &given, FLOAT, 1, of->comm) == OK);
    CHECK(of, ncclAllReduce(of->from, of->to, 1, FLOAT, operation, of->comm, NULL) == OK);
    CHECK(of, !is_known(of, 4));
    CHECK(of, ncclAllReduce(of->from, of->to, 1, FLOAT8, SUM, of->comm, NULL) == OK);
    CHECK(of, !is_known(of, 1));
    if (of->rank == 1) {
        CHECK(of, cudaFree(of->from) == OK);
        CHECK(of, cudaMalloc((void **)&of->from, N_BYTES) == OK);
    }
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, !is_known(of, 4));
    CHECK(of, ncclBroadcast(of->from, of->to, 1, INT32, 1, of->comm, NULL) == OK);
    CHECK(of, of->rank == 1 || !is_known(of, 4));
    CHECK(of, ncclBroadcast(of->from, of->to, 1, INT32, 3, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){3}, 4));
}

static void test_what_is_unknown_stays_unknown(void **state) {
    (void)state;
    run(reduce_unknown);
}

/* ---- exchanges ---- */

static void exchange(member *of) {
    const int64_t wanted[N_RANKS] = {0, 1, 2, 3};
    int64_t mine = of->rank;
    int64_t row[N_RANKS], column[N_RANKS];
    for (int i = 0; i < N_RANKS; i++) {
        row[i] = 10 * of->rank + i;
        column[i] = 10 * i + of->rank;
    }
    put(of, &mine, sizeof(mine));
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT64, of->comm, NULL) == OK);
    CHECK(of, has(of, wanted, sizeof(wanted)));
    CHECK(of, ncclGather(of->from, of->to, 1, INT64, 3, of->comm, NULL) == OK);
    CHECK(of, has(of, wanted, sizeof(wanted)));
    put(of, row, sizeof(row));
    CHECK(of, ncclAlltoAll(of->from, of->to, 1, INT64, of->comm, NULL) == OK);
    CHECK(of, has(of, column, sizeof(column)));
    CHECK(of, ncclScatter(of->from, of->to, 1, INT64, 2, of->comm, NULL) == OK);
    CHECK(of, has(of, (int64_t[]){20 + of->rank}, 8));
}

static void test_each_exchange(void **state) {
    (void)state;
    run(exchange);
}

/* Copies a part of a promise, then reads it after the whole was overwritten. */
static void copy_promise(member *of) {
    int32_t mine = of->rank + 1;
    int32_t got = 0;
    put(of, &mine, sizeof(mine));
    CHECK(of, ncclAllGather(of->from, of->to, 1, INT32, of->comm, NULL) == OK);
    CHECK(of, cudaMemcpy(of->from, of->to + 8, 4, 3) == OK);
    CHECK(of, cudaMemset(of->to, 0, N_BYTES) == OK);
    CHECK(of, cudaMemcpy(&got, of->from, 4, TO_HOST) == OK);
    CHECK(of, got == 3);
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){3 * N_RANKS}, 4));
}

static void test_a_promise_can_be_copied(void **state) {
    (void)state;
    run(copy_promise);
}

/* A rank waits for a message only when it reads the bytes: each receives first. */
static void send_around(member *of) {
    int next = (of->rank + 1) % N_RANKS;
    int before = (of->rank + N_RANKS - 1) % N_RANKS;
    for (int32_t i = 0; i < 3; i++) {
        int32_t given = 100 * i + of->rank;
        put(of, &given, sizeof(given));
        CHECK(of, ncclRecv(of->to + 4 * i, 1, INT32, before, of->comm, NULL) == OK);
        CHECK(of, ncclSend(of->from, 1, INT32, next, of->comm, NULL) == OK);
    }
    CHECK(of, has(of, (int32_t[]){before, 100 + before, 200 + before}, 12));
}

static void test_messages_keep_their_order(void **state) {
    (void)state;
    run(send_around);
}

/* The folder does not grow with posts that are never read. */
static void post_much(member *of) {
    enum { N_MIB = 100 };
    unsigned char *large = NULL;
    off_t n_bytes = 0;
    CHECK(of, cudaMalloc((void **)&large, 1 << 20) == OK);
    CHECK(of, cudaMemset(large, of->rank, 1 << 20) == OK);
    for (int i = 0; i < N_MIB; i++) {
        CHECK(of, ncclSend(large, 1 << 19, INT8, 1 - of->rank, of->comm, NULL) == OK);
        CHECK(of, ncclBroadcast(large, large, 1 << 19, INT8, 0, of->comm, NULL) == OK);
    }
    DIR *opened = opendir(folder);
    CHECK(of, opened != NULL);
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        const char *from = strrchr(entry->d_name, '.'); /* rank 0's, of posts and of messages */
        struct stat info;
        if (from != NULL && (strcmp(from, ".0") == 0 || strcmp(from, ".0-1") == 0) &&
            fstatat(dirfd(opened), entry->d_name, &info, 0) == 0) {
            n_bytes += info.st_size;
        }
    }
    (void)closedir(opened);
    CHECK(of, of->rank == 1 || (n_bytes > 60 << 20 && n_bytes < 65 << 20));
    CHECK(of, cudaMemcpy(of->to, large, 4, 3) == OK);
    CHECK(of, has(of, (int32_t[]){0}, 4));
}

static void test_files_are_bounded(void **state) {
    (void)state;
    run_some(2, 3, post_much);
}

/* Whether this process has reported a call as inexact. */
static bool has_reported(const char *call) {
    char path[64], line[512];
    bool is_found = false;
    (void)snprintf(path, sizeof(path), "%s/%ld.card", folder, (long)getpid());
    FILE *file = fopen(path, "r");
    while (file != NULL && !is_found && fgets(line, sizeof(line), file) != NULL) {
        is_found = strstr(line, call) != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_found;
}

/* Rank 1 reads the first message after so many others that its file is removed. */
static void read_late(member *of) {
    enum { N_MESSAGES = 140 };
    unsigned char *large = NULL;
    int32_t given = 7;
    CHECK(of, cudaMalloc((void **)&large, 1 << 20) == OK);
    CHECK(of, cudaMemset(large, of->rank, 1 << 20) == OK);
    put(of, &given, sizeof(given));
    for (int i = 0; of->rank == 0 && i < N_MESSAGES; i++) {
        const void *from = i == 0 ? of->from : large;
        CHECK(of, ncclSend(from, i == 0 ? 4 : 1 << 19, INT8, 1, of->comm, NULL) == OK);
    }
    CHECK(of, ncclAllReduce(of->from, of->to, 1, INT32, SUM, of->comm, NULL) == OK);
    CHECK(of, has(of, (int32_t[]){14}, 4)); /* rank 0 has sent all */
    CHECK(of, !has_reported("late messages"));
    if (of->rank == 1) {
        CHECK(of, ncclRecv(of->to, 4, INT8, 0, of->comm, NULL) == OK);
        CHECK(of, !is_known(of, 4));
        CHECK(of, has_reported("late messages"));
    }
}

static void test_a_dropped_message_is_named(void **state) {
    (void)state;
    run_some(2, 3, read_late);
}

/* ---- several cards of one process ---- */

enum { N_CARDS = 2, N_ROUNDS = 20 };

/* One card's part of a group of calls, in its own thread. */
typedef struct card {
    member *of;
    void *comm;
    int place;
    unsigned char *from, *to;
} card;

static void *use_card(void *ctx) {
    card *own = ctx;
    for (int32_t i = 0; i < N_ROUNDS; i++) {
        int32_t given = 10 * i + own->place;
        int32_t got[2] = {-1, -1};
        CHECK(own->of, cudaMemcpy(own->from, &given, sizeof(given), TO_DEVICE) == OK);
        CHECK(own->of, ncclAllGather(own->from, own->to, 1, INT32, own->comm, NULL) == OK);
        CHECK(own->of, ncclAllReduce(own->to, own->to, 2, INT32, SUM, own->comm, NULL) == OK);
        CHECK(own->of, ncclSend(own->from, 1, INT32, 1 - own->place, own->comm, NULL) == OK);
        CHECK(own->of, ncclRecv(own->from, 1, INT32, 1 - own->place, own->comm, NULL) == OK);
        CHECK(own->of, cudaMemcpy(got, own->to, sizeof(got), TO_HOST) == OK);
        CHECK(own->of, got[0] == 20 * i && got[1] == 20 * i + 2);
        CHECK(own->of, cudaMemcpy(got, own->from, sizeof(given), TO_HOST) == OK);
        CHECK(own->of, got[0] == 10 * i + 1 - own->place);
    }
    return NULL;
}

static void use_two_cards(member *of) {
    void *comms[N_CARDS] = {NULL};
    pthread_t threads[N_CARDS];
    card cards[N_CARDS];
    CHECK(of, ncclCommInitAll(comms, N_CARDS, NULL) == OK);
    for (int i = 0; i < N_CARDS; i++) {
        cards[i] = (card){.of = of, .comm = comms[i], .place = i};
        CHECK(of, cudaMalloc((void **)&cards[i].from, N_BYTES) == OK);
        CHECK(of, cudaMalloc((void **)&cards[i].to, N_BYTES) == OK);
        CHECK(of, pthread_create(&threads[i], NULL, use_card, &cards[i]) == 0);
    }
    for (int i = 0; i < N_CARDS; i++) {
        CHECK(of, pthread_join(threads[i], NULL) == 0);
        CHECK(of, ncclCommDestroy(comms[i]) == OK);
    }
}

static void test_several_cards_of_one_process(void **state) {
    (void)state;
    run_some(1, 1, use_two_cards);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_is_reduced),
        cmocka_unit_test(test_halves_are_rounded),
        cmocka_unit_test(test_reductions_to_parts_and_to_one),
        cmocka_unit_test(test_what_is_unknown_stays_unknown),
        cmocka_unit_test(test_each_exchange),
        cmocka_unit_test(test_a_promise_can_be_copied),
        cmocka_unit_test(test_messages_keep_their_order),
        cmocka_unit_test(test_files_are_bounded),
        cmocka_unit_test(test_a_dropped_message_is_named),
        cmocka_unit_test(test_several_cards_of_one_process),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
