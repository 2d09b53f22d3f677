#include "common/files/file_name.h"

#include <string.h>

size_t tide_file_stem_bytes(const char *path) {
    static const char *const ENDINGS[] = {".json.gz", ".json", ".pickle.gz", ".pickle", ".pkl"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
        size_t n_ending = strlen(ENDINGS[i]);
        if (n > n_ending && strcmp(path + n - n_ending, ENDINGS[i]) == 0) {
            return n - n_ending;
        }
    }
    return n;
}
