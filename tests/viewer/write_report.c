/* write_report OUT COMPARISON [LABEL SNAPSHOT]..., or write_report OUT --ranks [TEXT]...: a report,
 * for the tests that open it. */
#include <stdio.h>
#include <string.h>

#include "viewer/report.h"

enum { MAX_INPUTS = 8 };

int main(int argc, char **argv) {
    tide_report_input inputs[MAX_INPUTS];
    tide_report_digest digests[MAX_INPUTS];
    size_t n = 0;
    tide_error error = {""};
    if (argc < 3) {
        fprintf(stderr, "write_report OUT COMPARISON|--ranks ...\n");
        return 1;
    }
    tide_status status = TIDE_OK;
    if (strcmp(argv[2], "--ranks") == 0) {
        for (int i = 3; i < argc && n < MAX_INPUTS; i++) {
            digests[n++] = (tide_report_digest){.text = argv[i], .n_bytes = strlen(argv[i])};
        }
        status = tide_report_write_ranks(argv[1], digests, n, &error);
    } else {
        for (int i = 3; i + 1 < argc && n < MAX_INPUTS; i += 2) {
            inputs[n++] = (tide_report_input){.label = argv[i], .path = argv[i + 1]};
        }
        status = tide_report_write(argv[1], inputs, n, argv[2], &error);
    }
    if (status != TIDE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return 0;
}
