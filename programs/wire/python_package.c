/* The functions of the interpreter are looked up by name: the process may have none. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "programs/wire/python_package.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/setting.h"

enum { FILE_INPUT = 257 }; /* Py_file_input: a sequence of statements, in every version */

enum { NEEDED = 0, ASKED, DONE };
static _Atomic int state;

/* Imports the package from its file, so neither the program's sys.path nor -E, -I or -S matters,
 * and under a private name: the program may import another version of the package, or a module of
 * its own, as `tidemark`. `ready` is the package's answer. */
static const char CODE[] =
    "ready = True\n"
    "try:\n"
    "    import os, sys\n"
    "    package = sys.modules.get('_tidemark_recorder')\n"
    "    if package is None:\n"
    "        import importlib.util\n"
    "        folder = os.environ.get('TIDEMARK_PYTHON')\n"
    "        if folder is None:\n" /* the program has emptied its environment */
    "            with open('/proc/self/environ', errors='surrogateescape') as file:\n"
    "                at_start = file.read().split('\\0')\n"
    "            folder = dict(line.partition('=')[::2] for line in at_start)['TIDEMARK_PYTHON']\n"
    "        folder = os.path.join(folder, 'tidemark')\n"
    "        spec = importlib.util.spec_from_file_location(\n"
    "            '_tidemark_recorder', os.path.join(folder, '__init__.py'),\n"
    "            submodule_search_locations=[folder])\n"
    "        package = importlib.util.module_from_spec(spec)\n"
    "        sys.modules['_tidemark_recorder'] = package\n"
    "        spec.loader.exec_module(package)\n"
    "    ready = package._start()\n"
    "except KeyboardInterrupt:\n" /* it was meant for the program */
    "    sys.modules.pop('_tidemark_recorder', None)\n"
    "    import _thread\n"
    "    _thread.interrupt_main()\n"
    "except BaseException as error:\n"
    "    sys.modules.pop('_tidemark_recorder', None)\n"
    "    print(f'tidemark: the program is not recorded: {type(error).__name__}: {error}',\n"
    "          file=sys.stderr, flush=True)\n";

/* Objects of Python's. */
typedef void *object;

typedef struct interpreter {
    object (*new_dict)(void);
    object (*run)(const char *code, int start, object globals, object locals);
    object (*get_item)(object dict, const char *key); /* borrowed; NULL: none */
    int (*is_true)(object value);
    void (*release)(object value); /* NULL is allowed */
    void (*clear_error)(void);
} interpreter;

static bool find(const char *name, void *ret_function) {
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &function, sizeof(function));
    return function != NULL;
}

static bool find_interpreter(interpreter *ret) {
    return find("PyDict_New", &ret->new_dict) && find("PyRun_String", &ret->run) &&
           find("PyDict_GetItemString", &ret->get_item) && find("PyObject_IsTrue", &ret->is_true) &&
           find("Py_DecRef", &ret->release) && find("PyErr_Clear", &ret->clear_error);
}

/* Runs on the main thread, which holds the GIL. An exception left here would surface in the middle
 * of the program. */
static int import_package(void *unused) {
    (void)unused;
    interpreter python;
    bool is_ready = true;
    if (find_interpreter(&python)) {
        object names = python.new_dict();
        object result = names != NULL ? python.run(CODE, FILE_INPUT, names, names) : NULL;
        object ready = result != NULL ? python.get_item(names, "ready") : NULL;
        is_ready = ready == NULL || python.is_true(ready) != 0;
        python.clear_error();
        python.release(result);
        python.release(names);
    }
    atomic_store(&state, is_ready ? DONE : NEEDED);
    return 0;
}

void tide_python_package_wake(void) {
    int expected = NEEDED;
    int (*is_initialized)(void) = NULL;
    int (*add_call)(int (*call)(void *), void *argument) = NULL;
    if (atomic_load_explicit(&state, memory_order_relaxed) != NEEDED ||
        !atomic_compare_exchange_strong(&state, &expected, ASKED)) {
        return;
    }
    if (tide_setting("TIDEMARK_PYTHON") == NULL || !find("Py_AddPendingCall", &add_call) ||
        !find("Py_IsInitialized", &is_initialized)) {
        atomic_store(&state, DONE);
    } else if (is_initialized() == 0 || add_call(import_package, NULL) != 0) {
        atomic_store(&state, NEEDED); /* the queue is full: another call asks again */
    }
}
