/* causes_fixture.h - shared by the tests of causes: a recording of one program on a device of
 * 24 GiB, row by row, and what the engine of facts makes of it.
 */
#ifndef TIDE_TESTS_UNIT_SNAPSHOT_CAUSES_FIXTURE_H
#define TIDE_TESTS_UNIT_SNAPSHOT_CAUSES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "snapshot/explain/causes/causes.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { FIXTURE_ROWS = 1024 };

/* The call stacks of the program. */
enum {
    AT_MAIN = 0,    /* main (train.py:10) */
    AT_RUN,         /* main (train.py:10) > run (model.py:5) */
    AT_FORWARD,     /* the same, in a module's call */
    AT_EXCEPT,      /* main (train.py:14) */
    AT_RETRY,       /* main (train.py:14) > run (model.py:5) */
    AT_BUILD,       /* main (train.py:10) > Linear.__init__ */
    AT_CDIST,       /* main (train.py:10) > cdist */
    AT_WORKER,      /* _worker_loop > run (model.py:5) */
    AT_EMPTY_CACHE, /* main (train.py:14) > empty_cache */
    AT_LIBRARY,     /* main (train.py:14) > a module's call */
    AT_TEARDOWN,    /* the same > empty_cache */
    AT_BACKWARD,    /* autograd's engine */
    AT_OPERATOR     /* main (train.py:10) > run (model.py:5) > a module's call > run (model.py:5) */
};

/* A recording while it is made. */
typedef struct recording {
    tide_event rows[FIXTURE_ROWS];
    uint16_t pools[FIXTURE_ROWS]; /* of the snapshot's table of pools, + 1 */
    size_t n;
    uint8_t device, stream; /* of the rows that follow */
    uint16_t pool;          /* of the rows that follow */
    bool has_pools;
    tide_snapshot_device devices[2];
    tide_snapshot_rank rank;
    tide_snapshot_driver_account account; /* of the card; all 0: none */
    tide_snapshot_owner owner;            /* PyTorch, if there is an account */
    tide_snapshot_at_failure at_failure;
    const tide_source_row *source; /* of the program's lines; NULL: not recorded */
    size_t n_source;
    const tide_snapshot_type *types; /* of parameters; NULL: not recorded */
    size_t n_types;
    const tide_scope_row *scopes; /* that rows name; none: rows have no scope */
    size_t n_scopes;
} recording;

/* Strings: the program's files, and the name of a phase. */
enum { FIXTURE_TRAIN = 7, FIXTURE_MODEL = 8, FIXTURE_BACKWARD = 16 };

/* The same, read by the engine. */
typedef struct explained {
    tide_snapshot *snapshot;
    tide_lifetimes lifetimes;
    tide_facts facts;
    tide_causes causes;
} explained;

void begin_recording(recording *of);

/* Rows. A segment and a block are known by their address; a block is freed with its size. */
void buy(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack);
void give_back(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack);
tide_event *alloc(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack);
void drop(recording *of, uint64_t address, uint64_t n_bytes);

/* A segment with one block that fills it. */
tide_event *alloc_alone(recording *of, uint64_t address, uint64_t n_bytes, uint32_t stack);

/* A request that fails while the device has so many bytes free. */
void fail_request(recording *of, uint64_t n_bytes, uint64_t free_bytes, uint32_t stack);

/* The recording must outlive the result, which the caller ends. */
void explain(const recording *of, explained *ret);
void end_explained(explained *of);

/* The cause with an id. It must have fired. */
const tide_cause *cause_of(const explained *of, const char *id);
/* No cause has this id. */
void assert_silent(const recording *of, const char *id);

#endif
