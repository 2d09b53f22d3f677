/* text_file.c - finds "KEY SEPARATOR VALUE" in a small text file. */
#include "common/text_file.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

bool tide_text_file_value(const char *path, const char *key, char separator, char *ret_value,
                          size_t n_room) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    char line[LINE_BYTES];
    bool found = false;
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        const char *at = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || at == NULL) {
            continue;
        }
        at += 1 + strspn(at + 1, " \t\"");
        size_t n_bytes = strcspn(at, "\"\n");
        n_bytes = n_bytes < n_room ? n_bytes : n_room - 1;
        memcpy(ret_value, at, n_bytes);
        ret_value[n_bytes] = '\0';
        found = true;
    }
    (void)fclose(file); /* opened for reading, so nothing can be lost */
    return found;
}
