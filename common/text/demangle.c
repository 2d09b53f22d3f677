#include "common/text/demangle.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Longer names are not worth the time, and may have been made to waste it. */
enum { MOST_BYTES = 8192, RUST_HASH = 16 };

typedef char *(*demangler)(const char *name, char *buffer, size_t *n_bytes, int *ret_status);

/* The program's own C++ library, which may be loaded only for another library. */
static demangler find_demangler(void) {
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    library = library != NULL ? library : dlopen("libstdc++.so.6", RTLD_LAZY);
    void *found = dlsym(library != NULL ? library : RTLD_DEFAULT, "__cxa_demangle");
    demangler function = NULL;
    memcpy(&function, &found, sizeof(function));
    return function;
}

/* Rust up to 2024 mangles like C++ and adds a hash: "core::fmt::write::h0123456789abcdef". */
static void cut_rust_hash(char *name) {
    size_t n = strlen(name);
    if (n > RUST_HASH + 3) {
        char *hash = name + n - RUST_HASH - 3;
        if (strncmp(hash, "::h", 3) == 0 && strspn(hash + 3, "0123456789abcdef") == RUST_HASH) {
            *hash = '\0';
        }
    }
}

char *tide_demangle(const char *name) {
    static atomic_bool is_known;
    static _Atomic(demangler) known;
    if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MOST_BYTES) {
        return NULL;
    }
    if (!atomic_load(&is_known)) {
        atomic_store(&known, find_demangler());
        atomic_store(&is_known, true);
    }
    demangler demangle = atomic_load(&known);
    int status = 0;
    char *text = demangle != NULL ? demangle(name, NULL, NULL, &status) : NULL;
    if (text != NULL) {
        cut_rust_hash(text);
    }
    return text;
}
