/* Calls functions of C on NumPy arrays, and makes arrays that a device uses as they are.

   Library(path) is a shared library. Native(library, name, symbols, operands, results) calls its
   function of that name; operands and results are tuples of (NumPy dtype, shape), an operand is
   None where there is none. It takes an array an operand (what is none is converted), makes the
   arrays of the results, and calls

       int function(void *const *operands_and_results, const int64_t *symbols)

   which returns 0, or 1 where there was no memory. Arrays it is given lie in memory row by row.

   copied(array, dtype) is a copy, row by row, whose memory begins at a multiple of 64 bytes.

   exports_buffers(cls) has a class written in Python export buffers by its method __buffer__.

   Awaited is in awaited.h, run_calls() in calls.h, changed() in guards.h, OwnedLock in locks.h,
   user_place() in places.h, complex_product() in products.h, flush_subnormals() in subnormals.h. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

typedef int (*Function)(void *const *, const npy_int64 *);

typedef struct {
    PyArray_Descr *dtype;
    int rank;
    npy_intp shape[];
} Array;

#define MOST 512
/* elements of operands and results together from which other threads run beside the function */
#define MANY (1 << 16)
/* of NumPy's scalars, as many are taken without making arrays of them */
#define MOST_SCALARS 16

typedef struct {
    PyObject_VAR_HEAD
    vectorcallfunc vectorcall;
    Function function;
    PyObject *library;
    npy_int64 *symbols;
    Array **arrays;
    Py_ssize_t operands, results, count;
    npy_intp elements;
} Native;

typedef struct {
    PyObject_HEAD
    void *handle;
} Library;

static PyObject *library_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"path", NULL};
    PyObject *path;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O&:Library", known, PyUnicode_FSConverter,
                                     &path))
        return NULL;
    void *handle = dlopen(PyBytes_AS_STRING(path), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(path);
    if (!handle) {
        PyErr_SetString(PyExc_OSError, dlerror());
        return NULL;
    }
    Library *self = (Library *)type->tp_alloc(type, 0);
    if (self) self->handle = handle;
    return (PyObject *)self;
}

/* It stays loaded: what was called may be called again while the process ends. */
static void library_dealloc(PyObject *self) { Py_TYPE(self)->tp_free(self); }

static PyTypeObject LibraryType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._native.Library",
    .tp_basicsize = sizeof(Library),
    .tp_dealloc = library_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A shared library of functions in C. Raises OSError.",
    .tp_new = library_new,
};

/* The level of x86-64's instructions that this processor has, 1 to 4; 0 on others. */
static PyObject *level(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    long found = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    found = 1;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) found = 2;
    if (found == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        found = 3;
    if (found == 3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        found = 4;
#endif
    return PyLong_FromLong(found);
}

static int right(PyArrayObject *x, const Array *wanted)
{
    if (PyArray_NDIM(x) != wanted->rank) return 0;
    const npy_intp *shape = PyArray_DIMS(x);
    for (int k = 0; k < wanted->rank; k++)
        if (shape[k] != wanted->shape[k]) return 0;
    return 1;
}

static PyObject *shape_of(int rank, const npy_intp *shape)
{
    PyObject *found = PyList_New(rank);
    if (!found) return NULL;
    for (int k = 0; k < rank; k++) {
        PyObject *n = PyLong_FromSsize_t(shape[k]);
        if (!n) { Py_DECREF(found); return NULL; }
        PyList_SET_ITEM(found, k, n);
    }
    return found;
}

static void wrong_shape(Py_ssize_t number, PyArrayObject *x, const Array *wanted)
{
    PyObject *a = shape_of(PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject *b = shape_of(wanted->rank, wanted->shape);
    if (a && b)
        PyErr_Format(PyExc_ValueError, "operand %zd has the shape %R, expected %R", number, a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
}

static PyObject *call(PyObject *object, PyObject *const *given, size_t flags, PyObject *names)
{
    Native *self = (Native *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (count != self->operands || (names && PyTuple_GET_SIZE(names))) {
        PyErr_Format(PyExc_TypeError, "%zd operands were given, expected %zd", count,
                     self->operands);
        return NULL;
    }
    void *memory[MOST];
    npy_clongdouble scalars[MOST_SCALARS];
    int scalar = 0;
    Py_ssize_t used = 0;
    /* what was converted, or is a result: ours until the end */
    PyObject *held[MOST];
    Py_ssize_t converted = 0;
    PyObject *found = NULL;
    for (Py_ssize_t k = 0; k < count; k++) {
        const Array *wanted = self->arrays[k];
        if (!wanted) continue;
        PyArrayObject *x = (PyArrayObject *)given[k];
        if (!PyArray_CheckExact(given[k]) || !PyArray_ISCARRAY_RO(x) ||
            PyArray_TYPE(x) != wanted->dtype->type_num) {
            if (PyArray_Check(given[k]) && PyArray_TYPE(x) != wanted->dtype->type_num) {
                PyErr_Format(PyExc_TypeError, "operand %zd is of %R, expected %R", k,
                             PyArray_DESCR(x), wanted->dtype);
                goto end;
            }
            if (!wanted->rank && scalar < MOST_SCALARS && PyArray_IsScalar(given[k], Generic)) {
                PyArray_Descr *dtype = PyArray_DescrFromScalar(given[k]);
                if (!dtype) goto end;
                const int same = dtype->type_num == wanted->dtype->type_num;
                Py_DECREF(dtype);
                if (same) {
                    memory[used] = &scalars[scalar++];
                    PyArray_ScalarAsCtype(given[k], memory[used++]);
                    continue;
                }
            }
            Py_INCREF(wanted->dtype);
            x = (PyArrayObject *)PyArray_FromAny(given[k], wanted->dtype, 0, 0,
                                                 NPY_ARRAY_CARRAY_RO, NULL);
            if (!x) goto end;
            held[converted++] = (PyObject *)x;
        }
        if (!right(x, wanted)) {
            wrong_shape(k, x, wanted);
            goto end;
        }
        memory[used++] = PyArray_DATA(x);
    }
    const Py_ssize_t first = converted;
    for (Py_ssize_t k = 0; k < self->results; k++) {
        Array *wanted = self->arrays[count + k];
        PyObject *x = PyArray_SimpleNew(wanted->rank, wanted->shape, wanted->dtype->type_num);
        if (!x) goto end;
        held[converted++] = x;
        memory[used++] = PyArray_DATA((PyArrayObject *)x);
    }
    int failed;
    if (self->elements < MANY) {
        failed = self->function(memory, self->symbols);
    } else {
        Py_BEGIN_ALLOW_THREADS
        failed = self->function(memory, self->symbols);
        Py_END_ALLOW_THREADS
    }
    if (failed) {
        PyErr_NoMemory();
        goto end;
    }
    if (self->results == 1) {
        found = Py_NewRef(held[first]);
    } else {
        found = PyTuple_New(self->results);
        for (Py_ssize_t k = 0; found && k < self->results; k++)
            PyTuple_SET_ITEM(found, k, Py_NewRef(held[first + k]));
    }
end:
    while (converted) Py_DECREF(held[--converted]);
    return found;
}

static Array *array_of(PyObject *from)
{
    PyArray_Descr *dtype = NULL;
    PyObject *shape;
    if (!PyTuple_Check(from)) {
        PyErr_SetString(PyExc_TypeError, "an operand or result is no (dtype, shape)");
        return NULL;
    }
    if (!PyArg_ParseTuple(from, "O&O!", PyArray_DescrConverter, &dtype, &PyTuple_Type, &shape))
        return NULL;
    const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    Array *found = NULL;
    if (rank > NPY_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "%zd dimensions, expected at most %d", rank, NPY_MAXDIMS);
        goto failed;
    }
    found = PyMem_Calloc(1, sizeof(Array) + rank * sizeof(npy_intp));
    if (!found) {
        PyErr_NoMemory();
        goto failed;
    }
    found->rank = (int)rank;
    for (Py_ssize_t k = 0; k < rank; k++) {
        found->shape[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (found->shape[k] == -1 && PyErr_Occurred()) goto failed;
        if (found->shape[k] < 0) {
            PyErr_Format(PyExc_ValueError, "an extent of %zd", (Py_ssize_t)found->shape[k]);
            goto failed;
        }
    }
    found->dtype = dtype;
    return found;
failed:
    PyMem_Free(found);
    Py_DECREF(dtype);
    return NULL;
}

static void native_dealloc(PyObject *object)
{
    Native *self = (Native *)object;
    if (self->arrays)
        for (Py_ssize_t k = 0; k < self->operands + self->results; k++)
            if (self->arrays[k]) {
                Py_XDECREF(self->arrays[k]->dtype);
                PyMem_Free(self->arrays[k]);
            }
    PyMem_Free(self->arrays);
    PyMem_Free(self->symbols);
    Py_XDECREF(self->library);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *native_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"library", "name", "symbols", "operands", "results", NULL};
    PyObject *library, *symbols, *operands, *results;
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!sO!O!O!:Native", known, &LibraryType,
                                     &library, &name, &PyTuple_Type, &symbols, &PyTuple_Type,
                                     &operands, &PyTuple_Type, &results))
        return NULL;
    void *function = dlsym(((Library *)library)->handle, name);
    if (!function) {
        PyErr_Format(PyExc_LookupError, "the library has no %s", name);
        return NULL;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(operands), m = PyTuple_GET_SIZE(results);
    if (n + m > MOST || m < 1) {
        PyErr_Format(PyExc_ValueError, "%zd operands and %zd results, expected a result, and at "
                     "most %d of both", n, m, MOST);
        return NULL;
    }
    Native *self = (Native *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = call;
    self->function = (Function)function;
    self->library = Py_NewRef(library);
    self->operands = n;
    self->results = m;
    const Py_ssize_t count = PyTuple_GET_SIZE(symbols);
    self->count = count;
    self->symbols = PyMem_Calloc(count + 1, sizeof(npy_int64));
    self->arrays = PyMem_Calloc(n + m, sizeof(Array *));
    if (!self->symbols || !self->arrays) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        self->symbols[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(symbols, k));
        if (self->symbols[k] == -1 && PyErr_Occurred()) goto failed;
    }
    for (Py_ssize_t k = 0; k < n + m; k++) {
        PyObject *from = k < n ? PyTuple_GET_ITEM(operands, k) : PyTuple_GET_ITEM(results, k - n);
        if (k < n && from == Py_None) continue;
        self->arrays[k] = array_of(from);
        if (!self->arrays[k]) goto failed;
        npy_intp size = 1;
        for (int d = 0; d < self->arrays[k]->rank; d++) size *= self->arrays[k]->shape[d];
        self->elements += size;
    }
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

/* The same with operands that are absent where the tuple says so. */
static PyObject *native_with_absent(PyObject *object, PyObject *present)
{
    Native *self = (Native *)object;
    if (!PyTuple_Check(present)) {
        PyErr_Format(PyExc_TypeError, "expected a tuple, got %R", present);
        return NULL;
    }
    const Py_ssize_t n = PyTuple_GET_SIZE(present);
    Py_ssize_t there = 0;
    for (Py_ssize_t k = 0; k < n; k++) there += PyTuple_GET_ITEM(present, k) == Py_True;
    if (there != self->operands || n + self->results > MOST) {
        PyErr_Format(PyExc_ValueError, "%zd operands are present, expected %zd", there,
                     self->operands);
        return NULL;
    }
    Native *found = (Native *)Py_TYPE(object)->tp_alloc(Py_TYPE(object), 0);
    if (!found) return NULL;
    found->vectorcall = call;
    found->function = self->function;
    found->library = Py_NewRef(self->library);
    found->operands = n;
    found->results = self->results;
    found->count = self->count;
    found->elements = self->elements;
    found->symbols = PyMem_Calloc(self->count + 1, sizeof(npy_int64));
    found->arrays = PyMem_Calloc(n + self->results, sizeof(Array *));
    if (!found->symbols || !found->arrays) goto failed;
    memcpy(found->symbols, self->symbols, self->count * sizeof(npy_int64));
    for (Py_ssize_t k = 0, from = 0; k < n + self->results; k++) {
        if (k < n && PyTuple_GET_ITEM(present, k) != Py_True) continue;
        const Array *a = self->arrays[from++];
        found->arrays[k] = PyMem_Malloc(sizeof(Array) + a->rank * sizeof(npy_intp));
        if (!found->arrays[k]) goto failed;
        memcpy(found->arrays[k], a, sizeof(Array) + a->rank * sizeof(npy_intp));
        Py_INCREF(a->dtype);
    }
    return (PyObject *)found;
failed:
    PyErr_NoMemory();
    Py_DECREF(found);
    return NULL;
}

static PyMethodDef native_methods[] = {
    {"with_absent", native_with_absent, METH_O,
     "The same with None for each operand of which the tuple does not say True."},
    {NULL},
};

static PyTypeObject NativeType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._native.Native",
    .tp_basicsize = sizeof(Native),
    .tp_dealloc = native_dealloc,
    .tp_vectorcall_offset = offsetof(Native, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A function of C as one of NumPy arrays.",
    .tp_methods = native_methods,
    .tp_new = native_new,
};

/* ---- memory of copies ----------------------------------------------------------

   In front of the bytes that an array gets lie the address of the whole block and their number.
   (posix_memalign() of glibc before 2.38 does not use again what was freed.) */

#define ALIGNMENT 64
/* bytes from which huge pages are asked for, as NumPy does */
#define HUGE_FROM ((size_t)1 << 22)

typedef struct {
    void *block;
    size_t size;
} Front;

static void *aligned_malloc(void *Py_UNUSED(context), size_t size)
{
    if (size > (size_t)PY_SSIZE_T_MAX - ALIGNMENT - sizeof(Front)) return NULL;
    char *block = malloc(size + ALIGNMENT + sizeof(Front));
    if (!block) return NULL;
    const uintptr_t first = (uintptr_t)block + sizeof(Front) + ALIGNMENT - 1;
    char *found = (char *)(first / ALIGNMENT * ALIGNMENT);
    ((Front *)found)[-1] = (Front){block, size};
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_FROM) {
        const uintptr_t page = 4096, begin = ((uintptr_t)found + page - 1) / page * page;
        madvise((void *)begin, size - (begin - (uintptr_t)found), MADV_HUGEPAGE);
    }
#endif
    return found;
}

static void *aligned_calloc(void *context, size_t count, size_t each)
{
    if (each && count > (size_t)PY_SSIZE_T_MAX / each) return NULL;
    void *found = aligned_malloc(context, count * each);
    if (found) memset(found, 0, count * each);
    return found;
}

static void aligned_free(void *Py_UNUSED(context), void *memory, size_t Py_UNUSED(size))
{
    if (memory) free(((Front *)memory)[-1].block);
}

/* Of arrays that are resized. */
static void *aligned_realloc(void *context, void *memory, size_t size)
{
    void *found = aligned_malloc(context, size);
    if (!found || !memory) return found;
    const size_t before = ((Front *)memory)[-1].size;
    memcpy(found, memory, before < size ? before : size);
    aligned_free(context, memory, before);
    return found;
}

static PyDataMem_Handler aligned = {
    "lazyloom_aligned", 1,
    {NULL, aligned_malloc, aligned_calloc, aligned_realloc, aligned_free},
};
static PyObject *handler;

static PyObject *copied(PyObject *Py_UNUSED(self), PyObject *const *given, Py_ssize_t count)
{
    if (count != 2 || !PyArray_Check(given[0]) || !PyArray_DescrCheck(given[1])) {
        PyErr_SetString(PyExc_TypeError, "copied: expected a NumPy array and a dtype");
        return NULL;
    }
    PyArrayObject *from = (PyArrayObject *)given[0];
    PyObject *before = PyDataMem_SetHandler(handler);
    if (!before) return NULL;
    Py_INCREF(given[1]);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, (PyArray_Descr *)given[1], PyArray_NDIM(from), PyArray_DIMS(from), NULL,
        NULL, 0, NULL);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *own = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (!own) {
        Py_XDECREF(made);
        made = NULL;
    }
    Py_XDECREF(own);
    if (type) PyErr_Restore(type, value, traceback);
    if (made && PyArray_CopyInto((PyArrayObject *)made, from) < 0) Py_CLEAR(made);
    return made;
}

#if PY_VERSION_HEX < 0x030C0000
/* the buffer protocol by the class's method, as Python itself has it from 3.12 on */
static int by_method(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    PyObject *memory = PyObject_CallMethod(self, "__buffer__", "i", flags);
    if (!memory) return -1;
    int failed = PyObject_GetBuffer(memory, view, flags);
    Py_DECREF(memory);
    return failed;
}
#endif

static PyObject *exports_buffers(PyObject *module, PyObject *given)
{
    if (!PyType_Check(given) || !(((PyTypeObject *)given)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyErr_Format(PyExc_TypeError, "exports_buffers: expected a class written in Python, %R "
                     "was given", given);
        return NULL;
    }
#if PY_VERSION_HEX < 0x030C0000
    ((PyTypeObject *)given)->tp_as_buffer->bf_getbuffer = by_method;
    PyType_Modified((PyTypeObject *)given);
#endif
    Py_RETURN_NONE;
}

#include "awaited.h"
#include "calls.h"
#include "guards.h"
#include "locks.h"
#include "places.h"
#include "products.h"
#include "subnormals.h"

static PyMethodDef methods[] = {
    {"changed", (PyCFunction)(void (*)(void))changed, METH_FASTCALL,
     "The number of the first check, from one on, that what it looked at may not pass; or -1."},
    {"copied", (PyCFunction)(void (*)(void))copied, METH_FASTCALL,
     "A copy of an array with a dtype, row by row, whose memory begins at a multiple of 64 bytes."},
    {"exports_buffers", exports_buffers, METH_O,
     "Let a class written in Python, and those derived from it later, export buffers by __buffer__."},
    {"run_calls", (PyCFunction)(void (*)(void))run_calls, METH_FASTCALL,
     "Make the calls of kernels that were written down; the results."},
    {"of_types", (PyCFunction)(void (*)(void))of_types, METH_FASTCALL,
     "Whether arrays have the dtypes and shapes that are given."},
    {"user_place", (PyCFunction)(void (*)(void))user_place, METH_FASTCALL,
     "The code and the offset of the innermost frame outside of internal files."},
    {"flush_subnormals", flush_subnormals, METH_NOARGS,
     "Have this thread take subnormal numbers for zeros; the processor's mode from before."},
    {"restore_mode", restore_mode, METH_O, "Put this thread's processor back into a mode."},
    {"level", level, METH_NOARGS,
     "The level of x86-64's instructions that this processor has, 1 to 4; 0 on others."},
    {NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", "Functions of C, called on NumPy arrays.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    import_array();
    import_umath();
    if (PyType_Ready(&NativeType) < 0 || PyType_Ready(&LibraryType) < 0 ||
        PyType_Ready(&OwnedLockType) < 0 || PyType_Ready(&AwaitedType) < 0) return NULL;
    handler = PyCapsule_New(&aligned, "mem_handler", NULL);
    if (!handler) return NULL;
    PyObject *found = PyModule_Create(&module);
    if (!found) return NULL;
    if (PyModule_AddObjectRef(found, "Native", (PyObject *)&NativeType) < 0 ||
        PyModule_AddObjectRef(found, "Awaited", (PyObject *)&AwaitedType) < 0 ||
        PyModule_AddObjectRef(found, "Library", (PyObject *)&LibraryType) < 0 ||
        PyModule_AddObjectRef(found, "OwnedLock", (PyObject *)&OwnedLockType) < 0) {
        Py_DECREF(found);
        return NULL;
    }
    PyObject *product = new_complex_product();
    if (!product || PyModule_AddObject(found, "complex_product", product) < 0) {
        Py_XDECREF(product);
        Py_DECREF(found);
        return NULL;
    }
    return found;
}
