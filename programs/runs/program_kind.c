/* A user's command as a kind of workload. */
#include "programs/runs/program.h"
#include "programs/runs/run_friend.h"

#define OF_PROGRAM(key, kind, member) TIDE_JSON_FIELD(tide_run_program, kind, key, member)

static const tide_json_field FIELDS[] = {
    OF_PROGRAM("arguments", TIDE_JSON_FIELD_BORROWED, command),
    OF_PROGRAM("values", TIDE_JSON_FIELD_TEXT, values),
    OF_PROGRAM("card", TIDE_JSON_FIELD_TEXT, card),
    OF_PROGRAM("steps", TIDE_JSON_FIELD_COUNT, n_steps),
    OF_PROGRAM("calls", TIDE_JSON_FIELD_COUNT, n_calls),
    OF_PROGRAM("reads", TIDE_JSON_FIELD_BORROWED, reads),
    OF_PROGRAM("streams", TIDE_JSON_FIELD_BORROWED, streams),
    OF_PROGRAM("changes", TIDE_JSON_FIELD_BORROWED, changes),
    OF_PROGRAM("sets", TIDE_JSON_FIELD_BORROWED, sets),
    OF_PROGRAM("settings", TIDE_JSON_FIELD_BORROWED, settings),
    OF_PROGRAM("world", TIDE_JSON_FIELD_COUNT, world),
    OF_PROGRAM("ranks", TIDE_JSON_FIELD_BORROWED, ranks),
    OF_PROGRAM("waits_asleep", TIDE_JSON_FIELD_FLAG, waits_asleep),
    OF_PROGRAM("writes_are_real", TIDE_JSON_FIELD_FLAG, writes_are_real),
    OF_PROGRAM("forecasts_time", TIDE_JSON_FIELD_FLAG, forecasts_time),
    OF_PROGRAM("own_calibration", TIDE_JSON_FIELD_BORROWED, own_calibration),
    OF_PROGRAM("calibration", TIDE_JSON_FIELD_BORROWED, calibration),
    OF_PROGRAM("host_factor", TIDE_JSON_FIELD_REAL, host_factor),
};

static void init(tide_run_workload *workload) {
    workload->of.program = (tide_run_program){.command = NULL};
}

static tide_status check(const tide_run_workload *workload, tide_error *error) {
    return tide_run_program_check(&workload->of.program, error);
}

static void name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    tide_run_program_name(&workload->of.program, ret_name);
}

static tide_run_labels label(const tide_run_workload *workload) {
    return (tide_run_labels){.size = "",
                             .mode = "",
                             .precision = "",
                             .attention = "",
                             .recompute = "",
                             .values = workload->of.program.values,
                             .steps = (int64_t)workload->of.program.n_steps};
}

const tide_run_kind tide_run_program_kind = {
    .name = "program",
    .fields = FIELDS,
    .n_fields = sizeof(FIELDS) / sizeof(FIELDS[0]),
    .init = init,
    .check = check,
    .name_of = name,
    .labels = label,
    .here = tide_run_program_here,
};
