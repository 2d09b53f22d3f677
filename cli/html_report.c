#include "cli/html_report.h"

#include "common/hostmem.h"
#include "viewer/report.h"

tide_status tide_html_report_write(const char *path, const tide_html_run *runs, size_t n,
                                   tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_report_input *inputs = tide_hostmem_zeroed(mem, n, sizeof(*inputs));
    if (inputs == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the report");
    }
    for (size_t i = 0; i < n; i++) {
        inputs[i] = (tide_report_input){.label = runs[i].label, .path = runs[i].path};
    }
    tide_status status = tide_report_write(path, inputs, n, NULL, error);
    mem->release(mem->ctx, inputs);
    return status;
}
