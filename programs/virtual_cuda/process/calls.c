#include "programs/virtual_cuda/process/calls.h"

#include <stddef.h>

#include "common/clock.h"
#include "programs/virtual_cuda/process/row_file.h"

static const tide_run_calls_header HEADER = {.magic = TIDE_RUN_CALLS_MAGIC,
                                             .header_bytes = sizeof(tide_run_calls_header),
                                             .row_bytes = sizeof(tide_run_call)};
static tide_vc_row_file file = {
    .suffix = ".calls", .header = &HEADER, .header_bytes = sizeof(HEADER)};

void tide_vc_call_add(tide_run_call call) {
    tide_run_call *row = tide_vc_row_file_next(&file, sizeof(*row));
    if (row == NULL) {
        return;
    }
    uint32_t action = call.action;
    call.time_ns = (int64_t)tide_clock_now_ns();
    call.action = TIDE_RUN_NONE;
    *row = call;
    __atomic_store_n(&row->action, action, __ATOMIC_RELEASE);
}

void tide_vc_calls_forget(void) {
    tide_vc_row_file_forget(&file);
}
