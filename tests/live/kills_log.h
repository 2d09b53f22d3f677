/* kills_log.h - the calls of the killed recording, and the check of its log. */
#ifndef TIDE_TESTS_KILLS_LOG_H
#define TIDE_TESTS_KILLS_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { KILLS_THREADS = 3, KILLS_NAME_BYTES = 32 };

/* Memory that outlives the process that is killed. */
typedef struct kills_shared {
    _Atomic(uint64_t) n_returned[KILLS_THREADS]; /* calls of each thread */
} kills_shared;

/* Call `number` of a thread: a mark, an allocation, and the release of an earlier block in two
 * calls, which may become one row. */
typedef struct kills_call {
    int action; /* tide_action */
    uint64_t address, n_bytes;
    uint32_t sequence;
    char name[KILLS_NAME_BYTES]; /* of a mark */
} kills_call;
kills_call kills_call_of(unsigned thread, uint64_t number);

typedef struct kills_figures {
    uint64_t n_logs;     /* looked at */
    uint64_t n_without;  /* of them: killed before there was a log */
    uint64_t n_round;    /* of them: old rows had been overwritten */
    uint64_t n_returned; /* calls */
    uint64_t n_rows;     /* kept in logs */
} kills_figures;

/* False: something is lost; it prints what. */
bool kills_check_log(const char *path, kills_shared *shared, kills_figures *figures);

#endif
