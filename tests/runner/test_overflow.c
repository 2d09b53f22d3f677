/* test_overflow.c - reads one byte past an allocation, where a sanitizer build must stop. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    (void)argv;
    size_t n_bytes = 15 + (size_t)argc; /* 16; argc hides the constant from the compiler */
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
