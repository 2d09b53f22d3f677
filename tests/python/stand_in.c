/* stand_in.c - replaces the preloaded recording library: writes each call as a line into the file
 * that STAND_IN names. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tidemark_live_mark(const char *name);
uint32_t tidemark_live_scope_begin(const char *name);
void tidemark_live_scope_end(uint32_t scope);
void tidemark_live_label(uint64_t address, const char *category, const char *name, int certainty);
int tidemark_live_snapshot(const char *path);

__attribute__((format(printf, 1, 2))) static void write_line(const char *format, ...) {
    va_list arguments;
    FILE *file = fopen(getenv("STAND_IN"), "a");
    if (file == NULL) {
        abort();
    }
    va_start(arguments, format);
    (void)vfprintf(file, format, arguments);
    va_end(arguments);
    if (fclose(file) != 0) {
        abort();
    }
}

int tidemark_live_mark(const char *name) {
    write_line("mark %s\n", name);
    return 0;
}

uint32_t tidemark_live_scope_begin(const char *name) {
    static uint32_t n;
    write_line("begin %" PRIu32 " %s\n", n, name);
    return n++; /* 0 is also a scope */
}

void tidemark_live_scope_end(uint32_t scope) {
    write_line("end %" PRIu32 "\n", scope);
}

void tidemark_live_label(uint64_t address, const char *category, const char *name, int certainty) {
    write_line("label %" PRIx64 " %s %s %d\n", address, category, name != NULL ? name : "-",
               certainty);
}

int tidemark_live_snapshot(const char *path) {
    write_line("snapshot %s\n", path);
    return strcmp(path, "/no/such/file") == 0;
}
