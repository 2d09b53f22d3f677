/* library.c - a shared library that changes files by functions of the C library. */
#include <stdio.h>
#include <unistd.h>

__attribute__((visibility("default"))) int library_unlink(const char *path);
int library_unlink(const char *path) {
    return unlink(path);
}

__attribute__((visibility("default"))) int library_write(const char *path);
int library_write(const char *path) {
    FILE *file = fopen(path, "w");
    return file == NULL || fputs("evil", file) < 0 || fclose(file) != 0 ? -1 : 0;
}
