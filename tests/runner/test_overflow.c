/* test_overflow.c - reads one byte behind an allocation: a sanitizer build must stop here. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    (void)argv;
    size_t n_bytes = 15 + (size_t)argc; /* 16, which the compiler does not know */
    char *memory = malloc(n_bytes);
    if (memory == NULL) {
        return 0;
    }
    memset(memory, 'x', n_bytes);
    const volatile char *behind = memory + n_bytes;
    int status = *behind == 'x' ? 0 : 0;
    free(memory);
    return status;
}
