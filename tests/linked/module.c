/* A module of Python with a runtime of its own, as Cython makes it: its functions are hidden, and
 * capsules have their addresses. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime.h"

static PyObject *work(PyObject *self, PyObject *unused) {
    void *address = NULL;
    int n = -1;
    int counted = cudaGetDeviceCount(&n);
    int status = cudaMalloc(&address, (size_t)48 << 20);
    (void)self;
    (void)unused;
    return Py_BuildValue("iii", counted, n, status);
}

static int add(PyObject *capsules, const char *name, void *address) {
    PyObject *capsule = PyCapsule_New(address, "int (void)", NULL);
    int failed = capsule == NULL || PyDict_SetItemString(capsules, name, capsule) != 0;
    Py_XDECREF(capsule);
    return failed;
}

static int execute(PyObject *module) {
    PyObject *capsules = PyDict_New();
    int failed = capsules == NULL ||
                 add(capsules, "_cudaRuntimeGetVersion", (void *)cudaRuntimeGetVersion) ||
                 add(capsules, "_cudaMalloc", (void *)cudaMalloc) ||
                 add(capsules, "_cudaGetDeviceCount", (void *)cudaGetDeviceCount) ||
                 PyObject_SetAttrString(module, "__pyx_capi__", capsules) != 0;
    Py_XDECREF(capsules);
    return failed ? -1 : 0;
}

static PyMethodDef methods[] = {{"work", work, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "runtime",
                                    .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_runtime(void) {
    return PyModuleDef_Init(&module);
}
