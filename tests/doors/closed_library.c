/* closed_library.c - a library of the user that is closed often; the program hears of its end. */
#include <stddef.h>

void doors_library_ends(void) __attribute__((weak));

__attribute__((destructor)) static void end(void) {
    if (doors_library_ends != NULL) {
        doors_library_ends();
    }
}
