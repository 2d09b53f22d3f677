/* write_report OUT COMPARISON [LABEL SNAPSHOT]...: a report, for the tests that open it. */
#include <stdio.h>

#include "viewer/report.h"

enum { MAX_INPUTS = 8 };

int main(int argc, char **argv) {
    tide_report_input inputs[MAX_INPUTS];
    size_t n = 0;
    for (int i = 3; i + 1 < argc && n < MAX_INPUTS; i += 2) {
        inputs[n++] = (tide_report_input){.label = argv[i], .path = argv[i + 1]};
    }
    tide_error error = {""};
    if (argc < 3 || tide_report_write(argv[1], inputs, n, argv[2], &error) != TIDE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return 0;
}
