/* text_file.c - whole text files, and "KEY SEPARATOR VALUE" in small ones. */
#include "common/files/text_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/hostmem.h"

enum { LINE_BYTES = 1024, PART_BYTES = 1 << 16 };

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

/* Reads until the end of the file, or one part beyond the limit. */
static tide_status read_parts(FILE *file, const char *path, size_t max_bytes, char **text,
                              size_t *n_bytes, tide_error *error) {
    size_t capacity = 0;
    for (size_t n = 1; n > 0 && *n_bytes <= max_bytes; *n_bytes += n) {
        char *grown = tide_hostmem_grow(tide_hostmem_default(), *text, &capacity,
                                        *n_bytes + PART_BYTES + 1, 1);
        if (grown == NULL) {
            return tide_fail(error, TIDE_NO_MEMORY, "%s: no host memory to read it", path);
        }
        *text = grown;
        n = fread(*text + *n_bytes, 1, PART_BYTES, file);
    }
    if (ferror(file) != 0) {
        return tide_fail(error, TIDE_IO, "%s: it cannot be read to its end", path);
    }
    char limit[TIDE_BYTES_TEXT];
    return *n_bytes <= max_bytes
               ? TIDE_OK
               : tide_fail(error, TIDE_LIMIT, "%s: it is longer than the limit of %s", path,
                           tide_bytes_format((int64_t)max_bytes, limit));
}

tide_status tide_text_file_read(const char *path, size_t max_bytes, char **ret_text,
                                size_t *ret_n_bytes, tide_error *error) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
    }
    tide_status status = read_parts(file, path, max_bytes, &text, &n_bytes, error);
    (void)fclose(file); /* was only read */
    if (status != TIDE_OK) {
        tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
        return status;
    }
    TIDE_ASSERT(text != NULL); /* each file is read at least once */
    text[n_bytes] = '\0';
    *ret_text = text;
    if (ret_n_bytes != NULL) {
        *ret_n_bytes = n_bytes;
    }
    return TIDE_OK;
}
