#define _POSIX_C_SOURCE 200809L
#include "support/snapshot_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void folder(char path[SNAPSHOT_PATH_BYTES]) {
    const char *temporary = getenv("TMPDIR");
    if (temporary == NULL) { /* thousands of small files: memory where there is some */
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
