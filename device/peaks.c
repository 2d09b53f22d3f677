#include "device/peaks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TIDE_PEAK(...) {__VA_ARGS__},
static const tide_stated_peak PEAKS[] = {
#include "data/peaks.def"
};

const tide_stated_peak *tide_stated_peak_find(const char *device_name) {
    for (size_t i = 0; i < sizeof(PEAKS) / sizeof(PEAKS[0]); i++) {
        size_t n = strlen(PEAKS[i].title);
        /* A match must end at a word: "RTX 3090 Ti" is not an RTX 3090, but "A100-SXM4-80GB" is an
         * A100. */
        if (strncmp(device_name, PEAKS[i].title, n) == 0 &&
            (device_name[n] == '\0' || device_name[n] == '-')) {
            return &PEAKS[i];
        }
    }
    return NULL;
}

double tide_stated_peak_share(double flops, double seconds, double peak_flops) {
    bool is_known = flops > 0.0 && seconds > 0.0 && peak_flops > 0.0;
    return is_known ? flops / seconds / peak_flops : -1.0;
}
