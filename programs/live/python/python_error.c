/* python_error.c - records the exception that ends a Python program, in the run's folder.
 *
 * Python reports it to audit hooks ("sys.excepthook") before it prints the traceback, even in
 * programs that never import PyTorch. The program's error output is not touched. The functions of
 * the interpreter are looked up by name, because the process may not have one.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT, syscall */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text/setting.h"

enum { PATH_BYTES = 4096, TEXT_BYTES = 1024 };

/* A Python object. */
typedef void *object;
typedef int (*audit_hook)(const char *event, object arguments, void *ctx);

static struct {
    object (*get_item)(object tuple, long i);             /* borrowed; NULL: too short */
    object (*get_attribute)(object of, const char *name); /* owned; NULL: an error is set */
    object (*to_text)(object of);                         /* owned; NULL: an error is set */
    const char *(*bytes_of)(object text);                 /* UTF-8, of the object; or NULL */
    void (*clear_error)(void);
    void (*release)(object value); /* NULL is allowed */
} python;

static bool find(const char *name, void *ret_function) {
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &function, sizeof(function));
    return function != NULL;
}

static bool find_interpreter(void) {
    return find("PyTuple_GetItem", &python.get_item) &&
           find("PyObject_GetAttrString", &python.get_attribute) &&
           find("PyObject_Str", &python.to_text) && find("PyUnicode_AsUTF8", &python.bytes_of) &&
           find("PyErr_Clear", &python.clear_error) && find("Py_DecRef", &python.release);
}

/* Appends the first line of a Python text, and releases the text. */
static void add_line(object text, char to[TEXT_BYTES]) {
    const char *bytes = text != NULL ? python.bytes_of(text) : NULL;
    size_t n = strlen(to);
    if (bytes != NULL) {
        (void)snprintf(to + n, TEXT_BYTES - n, "%.*s", (int)strcspn(bytes, "\r\n"), bytes);
    }
    python.clear_error();
    python.release(text);
}

/* Uses system calls directly: the file is real, whatever the program's view of files. */
static void keep(const char *text) {
    char path[PATH_BYTES];
    const char *folder = tide_setting("TIDEMARK_RUN_FOLDER");
    int saved = errno;
    if (folder != NULL &&
        snprintf(path, sizeof(path), "%s/%ld.error", folder, (long)getpid()) < (int)sizeof(path)) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                              0600);
        if (fd >= 0) {
            (void)!write(fd, text, strlen(text)); /* on failure only the exit status remains */
            (void)syscall(SYS_close, fd);
        }
    }
    errno = saved;
}

/* The arguments of the event: the hook, the type, the exception and its traceback. */
static int note(const char *event, object arguments, void *ctx) {
    char text[TEXT_BYTES] = "";
    (void)ctx;
    if (strcmp(event, "sys.excepthook") != 0) {
        return 0;
    }
    object kind = python.get_item(arguments, 1);
    object error = python.get_item(arguments, 2);
    if (kind != NULL && error != NULL) {
        add_line(python.get_attribute(kind, "__name__"), text);
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, ": ");
        add_line(python.to_text(error), text);
        n = strlen(text);
        text[n >= 2 && strcmp(text + n - 2, ": ") == 0 ? n - 2 : n] = '\0'; /* it has no message */
        keep(text);
    }
    python.clear_error();
    return 0;
}

/* A hook that is added before the interpreter is initialised needs no GIL. */
__attribute__((constructor)) static void listen(void) {
    int (*is_initialized)(void) = NULL;
    int (*add_hook)(audit_hook hook, void *ctx) = NULL;
    if (tide_setting("TIDEMARK_RUN_FOLDER") != NULL && find("PySys_AddAuditHook", &add_hook) &&
        find("Py_IsInitialized", &is_initialized) && is_initialized() == 0 && find_interpreter()) {
        (void)add_hook(note, NULL); /* without host memory nothing is recorded */
    }
}
