#define _POSIX_C_SOURCE 200809L
#include "support/snapshot_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/format/gzip_file.h"

static void folder(char path[SNAPSHOT_PATH_BYTES]) {
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL) { /* tests write thousands of small files, so use a file system in memory
                                if there is one */
        temporary = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    snprintf(path, SNAPSHOT_PATH_BYTES, "%.180s/tidemark-test-%ld", temporary, (long)getpid());
}

void snapshot_path(char path[SNAPSHOT_PATH_BYTES], const char *name) {
    char base[SNAPSHOT_PATH_BYTES];
    folder(base);
    (void)mkdir(base, 0700);
    snprintf(path, SNAPSHOT_PATH_BYTES, "%.200s/%.50s", base, name);
}

void snapshot_remove(const char *path) {
    char base[SNAPSHOT_PATH_BYTES];
    folder(base);
    (void)unlink(path);
    (void)rmdir(base);
}

size_t snapshot_count_files(void) {
    char base[SNAPSHOT_PATH_BYTES];
    size_t n = 0;
    folder(base);
    DIR *open = opendir(base);
    if (open == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        n += entry->d_name[0] != '.' || (entry->d_name[1] != '\0' && entry->d_name[1] != '.');
    }
    closedir(open);
    return n;
}

char *snapshot_file_text(const char *path, size_t *ret_bytes) {
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *text = NULL;
    if (fstat(fileno(file), &info) == 0) {
        size_t n_bytes = (size_t)info.st_size;
        text = malloc(n_bytes + 1);
        if (text != NULL) {
            *ret_bytes = fread(text, 1, n_bytes, file);
            text[*ret_bytes] = '\0';
        }
    }
    fclose(file);
    return text;
}

void snapshot_write_file(const char *path, const void *text, size_t n_bytes) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(text, 1, n_bytes, file) != n_bytes || fclose(file) != 0) {
        abort();
    }
}

tide_status snapshot_unzip(const char *path, size_t max_bytes, char **ret_text, size_t *ret_bytes,
                           tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_gzip_reader *from = NULL;
    char *text = NULL;
    size_t n_bytes = 0;
    size_t capacity = 0;
    size_t n_more = 0;
    TIDE_TRY(tide_gzip_reader_open(path, mem, max_bytes, &from, error));
    tide_status status = TIDE_OK;
    do {
        char *grown = tide_hostmem_grow(mem, text, &capacity, n_bytes + 2, 1);
        status = grown != NULL ? TIDE_OK : TIDE_NO_MEMORY;
        text = grown != NULL ? grown : text;
        if (status == TIDE_OK) {
            status =
                tide_gzip_reader_read(from, text + n_bytes, capacity - n_bytes - 1, &n_more, error);
            n_bytes += status == TIDE_OK ? n_more : 0;
        }
    } while (status == TIDE_OK && n_more > 0);
    tide_gzip_reader_close(from);
    if (status != TIDE_OK) {
        mem->release(mem->ctx, text);
        return status;
    }
    text[n_bytes] = '\0';
    *ret_text = text;
    *ret_bytes = n_bytes;
    return TIDE_OK;
}
