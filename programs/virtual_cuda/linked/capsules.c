/* The functions of the interpreter are looked up by name: the process may have none. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "programs/virtual_cuda/linked/capsules.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "programs/virtual_cuda/linked/functions.h"
#include "programs/virtual_cuda/linked/linked.h"

/* Objects of Python's. */
typedef void *object;

/* PyMethodDef. */
typedef struct method {
    const char *name;
    object (*call)(object self, object arguments);
    int flags;
    const char *text;
} method;

enum { POSITIONAL = 1 /* METH_VARARGS */, ALIGNMENT = 16, FEWEST = 3 };

typedef struct interpreter {
    int (*holds_lock)(void);
    object (*modules)(void);                            /* borrowed */
    object (*get_item)(object dict, const char *key);   /* borrowed; NULL: none */
    object (*get)(object of, const char *name);         /* NULL: none, and an error */
    int (*set)(object of, const char *name, object to); /* -1: an error */
    object (*new_function)(method *from, object self, object module);
    object (*bind)(object function); /* to the object that it is an attribute of */
    object (*call)(object function, object arguments);
    object (*tuple_item)(object tuple, ptrdiff_t i); /* borrowed */
    int (*next)(object dict, ptrdiff_t *at, object *ret_key, object *ret_value);
    const char *(*text)(object of);              /* valid as long as the object */
    const char *(*capsule_name)(object capsule); /* NULL: none, or an error */
    void *(*capsule_address)(object capsule, const char *name);
    void (*clear_error)(void);
    void (*release)(object of); /* NULL is allowed */
} interpreter;

static bool find(const char *name, void *ret_function) {
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(ret_function, &function, sizeof(function));
    return function != NULL;
}

static bool find_interpreter(interpreter *ret) {
    return find("PyGILState_Check", &ret->holds_lock) &&
           find("PyImport_GetModuleDict", &ret->modules) &&
           find("PyDict_GetItemString", &ret->get_item) &&
           find("PyObject_GetAttrString", &ret->get) && find("PyObject_SetAttrString", &ret->set) &&
           find("PyCFunction_NewEx", &ret->new_function) &&
           find("PyInstanceMethod_New", &ret->bind) && find("PyObject_CallObject", &ret->call) &&
           find("PyTuple_GetItem", &ret->tuple_item) && find("PyDict_Next", &ret->next) &&
           find("PyUnicode_AsUTF8", &ret->text) && find("PyCapsule_GetName", &ret->capsule_name) &&
           find("PyCapsule_GetPointer", &ret->capsule_address) &&
           find("PyErr_Clear", &ret->clear_error) && find("Py_DecRef", &ret->release);
}

/* While modules are awaited; the interpreter's lock guards it. */
static struct awaited {
    interpreter python;
    size_t n;       /* modules; 0: the others are not set */
    object loader;  /* the class of loaders of such modules; owned */
    object execute; /* its own function; owned */
} awaited;

/* The module's C functions, whose names begin with an underscore. A function begins at a multiple
 * of 16 bytes, so it has room for a jump. Returns their number. */
static size_t list(const interpreter *python, object capsules,
                   tide_vc_named ret[TIDE_VC_MAX_FUNCTIONS]) {
    ptrdiff_t at = 0;
    size_t n = 0;
    object key = NULL;
    object capsule = NULL;
    while (n < TIDE_VC_MAX_FUNCTIONS && python->next(capsules, &at, &key, &capsule) != 0) {
        const char *name = python->text(key);
        const char *type = python->capsule_name(capsule);
        void *address = type != NULL ? python->capsule_address(capsule, type) : NULL;
        if (name != NULL && address != NULL && strncmp(name, "_cuda", strlen("_cuda")) == 0 &&
            (uintptr_t)address % ALIGNMENT == 0) {
            ret[n++] = (tide_vc_named){name + 1, (uintptr_t)address};
        }
        python->clear_error();
    }
    return n;
}

/* False: it is another module. */
static bool replace(const interpreter *python, object module) {
    tide_vc_named all[TIDE_VC_MAX_FUNCTIONS];
    object capsules = python->get(module, "__pyx_capi__");
    size_t n = capsules != NULL ? list(python, capsules, all) : 0;
    python->clear_error();
    if (n >= FEWEST) { /* the names are in the dictionary, which the module keeps */
        tide_vc_linked_replace(all, n);
    }
    python->release(capsules);
    return n >= FEWEST;
}

/* In place of the loader's exec_module(self, module), while modules are awaited. Others that are
 * loaded meanwhile come here, too. */
static object execute(object self, object arguments) {
    struct awaited of = awaited;
    (void)self;
    object result = of.python.call(of.execute, arguments);
    object module = result != NULL ? of.python.tuple_item(arguments, 1) : NULL;
    if (module == NULL || !replace(&of.python, module) || awaited.n == 0 || --awaited.n > 0) {
        return result;
    }
    (void)of.python.set(of.loader, "exec_module", of.execute);
    of.python.clear_error();
    of.python.release(of.execute); /* the class has it */
    of.python.release(of.loader);
    return result;
}

void tide_vc_capsules_await(void) {
    static method hook = {"exec_module", execute, POSITIONAL, NULL};
    interpreter python;
    if (!find_interpreter(&python) || python.holds_lock() == 0) {
        return;
    }
    if (awaited.n > 0) {
        awaited.n++;
        return;
    }
    object machinery = python.get_item(python.modules(), "_frozen_importlib_external");
    object loader = machinery != NULL ? python.get(machinery, "ExtensionFileLoader") : NULL;
    object own = loader != NULL ? python.get(loader, "exec_module") : NULL;
    object function = own != NULL ? python.new_function(&hook, NULL, NULL) : NULL;
    object bound = function != NULL ? python.bind(function) : NULL;
    if (bound != NULL && python.set(loader, "exec_module", bound) == 0) {
        awaited = (struct awaited){python, 1, loader, own};
    } else {
        python.release(own);
        python.release(loader);
    }
    python.clear_error();
    python.release(bound);
    python.release(function);
}
