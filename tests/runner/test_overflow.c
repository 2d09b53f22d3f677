/* test_overflow.c - reads one byte behind an allocation: a sanitizer build must stop here. */
#include <stdlib.h>

int main(int argc, char **argv) {
    (void)argv;
    volatile char *memory = malloc(16);
    if (memory == NULL) {
        return 0;
    }
    char behind = memory[15 + argc];
    free((void *)memory);
    return behind == 'x' ? 0 : 0;
}
