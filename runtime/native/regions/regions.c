/* Regions of a program that another code generator runs, called from inside an XLA executable.

   handler() is a capsule of the XLA FFI handler that every such call names; its attribute "region"
   says which engine runs. A call with the attribute "token" has one operand more, a number: where
   that is an engine's key, that one runs instead.

   Engine(key, operands, results, function, state, owner, failed, kept) is one: operands and results
   are each (NumPy dtype, shape). With a function it is

       const char *function(void *state, void *const *operands_and_results)

   which returns NULL, or what went wrong in words; without one (0), owner(*arrays) is called. What
   goes wrong is handed to failed(message, *arrays), which may still fill the results. Engines are
   found by their keys as long as they live, and the last that ended for a while longer if kept.

   An engine can be called on NumPy arrays as well, which lie in memory row by row.

   close() ends all of this before the interpreter does: it waits for calls that are in Python, and
   from then on XLA's threads get an error where they would have to call Python. A thread that asks
   for Python's lock once the interpreter ends would be ended by that, or wait for ever. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "xla/ffi/api/c_api.h"
#include "plugin_call.h"

typedef const char *(*Function)(void *, void *const *);

typedef struct {
    PyArray_Descr *dtype;
    int rank;
    npy_intp *shape;
    npy_intp size;
} Array;

/* What an engine is made of. The engine has one reference to it, and so has each call that is in it:
   a call holds no lock of Python's, and the engine may end meanwhile, even by what the call does. */
typedef struct Core {
    npy_uint64 key;
    Function function;
    void *state;
    PyObject *owner, *failed;
    Py_ssize_t operands, count;
    Array *arrays;
    int known, kept, retired;
    struct Core *next;
    atomic_long references;
    atomic_ullong calls;
} Core;

typedef struct {
    PyObject_HEAD
    Core *core;
} Engine;

#define MOST 4096

/* engines by key: a table of a power of two, at most half full, looked through from key % size */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static Core **table;
static size_t room, used;
/* A program may end while a run of it has yet to come to its regions: the engines that ended last can
   still be found, the oldest first in this list. */
#define RETIRED 1024
static Core *oldest, *newest;
static size_t retired;

static Core **place_of(Core **in, size_t size, npy_uint64 key)
{
    size_t at = key & (size - 1);
    while (in[at] && in[at]->key != key) at = (at + 1) & (size - 1);
    return &in[at];
}

/* The rows behind the gap move up. */
static void table_remove(Core *core)
{
    size_t at = (size_t)(place_of(table, room, core->key) - table);
    table[at] = NULL;
    used--;
    for (size_t next = (at + 1) & (room - 1); table[next]; next = (next + 1) & (room - 1)) {
        Core *moved = table[next];
        table[next] = NULL;
        *place_of(table, room, moved->key) = moved;
    }
}

/* Take a core out of the list of those that ended, and out of the table. */
static void unretire(Core *core)
{
    Core **link = &oldest, *before = NULL;
    while (*link != core) {
        before = *link;
        link = &(*link)->next;
    }
    *link = core->next;
    if (newest == core) newest = before;
    retired--;
    table_remove(core);
}

/* 0, 1 where an engine of that key lives, -1 without memory. The lock is held for writing. One that
   ended and had that key is given back, for the caller to release. */
static int table_put(Core *core, Core **gone)
{
    *gone = NULL;
    if (2 * (used + 1) > room) {
        size_t size = room ? 2 * room : 64;
        Core **larger = calloc(size, sizeof *larger);
        if (!larger) return -1;
        for (size_t k = 0; k < room; k++)
            if (table[k]) *place_of(larger, size, table[k]->key) = table[k];
        free(table);
        table = larger;
        room = size;
    }
    Core *found = *place_of(table, room, core->key);
    if (found && !found->retired) return 1;
    if (found) {
        unretire(found);
        *gone = found;
    }
    *place_of(table, room, core->key) = core;
    used++;
    return 0;
}

/* With Python's lock held. */
static void release(Core *core)
{
    if (atomic_fetch_sub(&core->references, 1) != 1) return;
    for (Py_ssize_t k = 0; core->arrays && k < core->count; k++) {
        Py_XDECREF(core->arrays[k].dtype);
        free(core->arrays[k].shape);
    }
    free(core->arrays);
    Py_XDECREF(core->owner);
    Py_XDECREF(core->failed);
    free(core);
}

static PyObject *array_at(const Array *of, void *data, int writeable)
{
    Py_INCREF(of->dtype);
    return PyArray_NewFromDescr(&PyArray_Type, of->dtype, of->rank, of->shape, NULL, data,
                                writeable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, NULL);
}

/* Call target(first, *arrays) or target(*arrays); 0, or -1 with the exception set. */
static int call_python(Core *self, PyObject *target, PyObject *first, void *const *buffers)
{
    Py_ssize_t ahead = first != NULL;
    PyObject *given = PyTuple_New(ahead + self->count);
    if (!given) return -1;
    if (first) {
        Py_INCREF(first);
        PyTuple_SET_ITEM(given, 0, first);
    }
    for (Py_ssize_t k = 0; k < self->count; k++) {
        PyObject *array = array_at(&self->arrays[k], buffers[k], k >= self->operands);
        if (!array) {
            Py_DECREF(given);
            return -1;
        }
        PyTuple_SET_ITEM(given, ahead + k, array);
    }
    PyObject *result = PyObject_CallObject(target, given);
    Py_DECREF(given);
    if (!result) return -1;
    Py_DECREF(result);
    return 0;
}

/* The exception that is set, as text that the caller frees; it is cleared. */
static char *said(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
    const char *kind = type ? ((PyTypeObject *)type)->tp_name : "an exception";
    size_t size = strlen(kind) + (words ? strlen(words) : 0) + 3;
    char *copy = malloc(size);
    if (copy) snprintf(copy, size, "%s: %s", kind, words ? words : "");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return copy;
}

/* threads of XLA's that have, or wait for, Python's lock; whether no further one may ask for it */
static atomic_long inside;
static atomic_int closed;

static int enter_python(void)
{
    atomic_fetch_add(&inside, 1);
    if (!atomic_load(&closed)) return 1;
    atomic_fetch_sub(&inside, 1);
    return 0;
}

static void leave_python(void)
{
    atomic_fetch_sub(&inside, 1);
}

/* The threads that were in Python are none of the child's. */
static void after_fork(void)
{
    atomic_store(&inside, 0);
}

static char *run_python(Core *self, void *const *buffers, const char *wrong);

/* Run without the GIL, which is taken where Python is called. NULL, or text that the caller frees.
   ours: the thread is XLA's. */
static char *run(Core *self, void *const *buffers, int ours)
{
    const char *wrong = NULL;
    atomic_fetch_add(&self->calls, 1);
    if (self->function) {
        wrong = self->function(self->state, buffers);
        if (!wrong) return NULL;
    }
    if (ours && !enter_python())
        return strdup(wrong ? wrong : "a region of Python was to run after the interpreter's end");
    char *text = run_python(self, buffers, wrong);
    if (ours) leave_python();
    return text;
}

static char *run_python(Core *self, void *const *buffers, const char *wrong)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int done = 0;
    if (self->function) {
        PyObject *message = PyUnicode_DecodeUTF8(wrong, (Py_ssize_t)strlen(wrong), "replace");
        done = message ? call_python(self, self->failed, message, buffers) : -1;
        Py_XDECREF(message);
    } else if ((done = call_python(self, self->owner, NULL, buffers)) < 0) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace) PyException_SetTraceback(value, trace);
        done = call_python(self, self->failed, value, buffers);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    char *text = done < 0 ? said() : NULL;
    if (done < 0 && !text) text = strdup("there was no memory");
    PyGILState_Release(state);
    return text;
}

static XLA_FFI_Error *error_of(const XLA_FFI_Api *api, const char *message)
{
    XLA_FFI_Error_Create_Args given = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = message,
        .errc = XLA_FFI_Error_Code_INTERNAL};
    return api->XLA_FFI_Error_Create(&given);
}

static npy_intp elements(const XLA_FFI_Buffer *buffer)
{
    npy_intp size = 1;
    for (int64_t d = 0; d < buffer->rank; d++) size *= (npy_intp)buffer->dims[d];
    return size;
}

#ifdef MADV_HUGEPAGE
/* The anonymous memory, of one piece, that an address lies in; 0 and 0 if it lies in none. */
static void mapping_of(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    *begin = *end = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return;
    char line[512];
    unsigned long long from, to, inode;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx %*s %*s %*s %llu", &from, &to, &inode) == 3 && !inode
            && from <= address && address < to) {
            *begin = (uintptr_t)from;
            *end = (uintptr_t)to;
            break;
        }
    }
    fclose(maps);
}
#endif

/* Whether XLA only asked for which version a handler was compiled; then it is told. */
static int said_version(XLA_FFI_CallFrame *frame)
{
    XLA_FFI_Extension_Base *extension = frame->extension_start;
    if (!extension || extension->type != XLA_FFI_Extension_Metadata) return 0;
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return 1;
}

static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame)
{
    if (said_version(frame)) return NULL;
    /* the attributes come by their names in order: region, token */
    int64_t tokens = frame->attrs.size - 1, operands = frame->args.size - tokens;
    if (tokens < 0 || tokens > 1 || operands < 0
        || frame->attrs.types[0] != XLA_FFI_AttrType_SCALAR)
        return error_of(frame->api, "the call of a region has no number of it");
    npy_uint64 key = *(npy_uint64 *)((XLA_FFI_Scalar *)frame->attrs.attrs[0])->value;
    npy_uint64 token = 0;
    if (tokens) token = *(npy_uint64 *)((XLA_FFI_Buffer *)frame->args.args[operands])->data;
    pthread_rwlock_rdlock(&lock);
    Core *engine = room && token ? *place_of(table, room, token) : NULL;
    if (room && !engine) engine = *place_of(table, room, key);
    if (engine) atomic_fetch_add(&engine->references, 1);
    pthread_rwlock_unlock(&lock);
    if (!engine) return error_of(frame->api, "the engine of a region is gone");
    XLA_FFI_Error *error = NULL;
    int64_t count = operands + frame->rets.size;
    void *buffers[MOST];
    if (operands != engine->operands || count != engine->count)
        error = error_of(frame->api, "a region was given other arrays than it takes");
    for (int64_t k = 0; !error && k < count; k++) {
        XLA_FFI_Buffer *buffer = k < operands ? frame->args.args[k]
                                              : frame->rets.rets[k - operands];
        if (elements(buffer) != engine->arrays[k].size)
            error = error_of(frame->api, "a region was given an array of another size");
        buffers[k] = buffer->data;
    }
    if (!error) {
        char *wrong = run(engine, buffers, 1);
        if (wrong) {
            error = error_of(frame->api, wrong);
            free(wrong);
        }
    }
    long others = atomic_load(&engine->references);
    while (others > 1 && !atomic_compare_exchange_weak(&engine->references, &others, others - 1));
    if (others == 1 && enter_python()) {
        /* the engine ended meanwhile */
        PyGILState_STATE state = PyGILState_Ensure();
        release(engine);
        PyGILState_Release(state);
        leave_python();
    }
    return error;
}

/* A call that takes nothing and gives an array that nobody reads: what lies around it in memory is
   what the program's values will lie in. XLA takes that anew for every run, and the system would
   hand it out in pages of 4 KiB. */
static XLA_FFI_Error *handle_pages(XLA_FFI_CallFrame *frame)
{
    if (said_version(frame)) return NULL;
#ifdef MADV_HUGEPAGE
    if (frame->rets.size == 1) {
        uintptr_t begin, end;
        mapping_of((uintptr_t)((XLA_FFI_Buffer *)frame->rets.rets[0])->data, &begin, &end);
        if (begin) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    }
#endif
    return NULL;
}

static void engine_dealloc(PyObject *object)
{
    Core *core = ((Engine *)object)->core, *gone = NULL;
    if (core && core->known && !core->kept) {
        pthread_rwlock_wrlock(&lock);
        table_remove(core);
        pthread_rwlock_unlock(&lock);
        gone = core;
    } else if (core && core->known) {
        pthread_rwlock_wrlock(&lock);
        core->retired = 1;
        core->next = NULL;
        if (newest) newest->next = core;
        else oldest = core;
        newest = core;
        if (++retired > RETIRED) {
            gone = oldest;
            unretire(gone);
        }
        pthread_rwlock_unlock(&lock);
    } else
        gone = core;
    Py_TYPE(object)->tp_free(object);
    if (gone) release(gone);
}

static int read_arrays(Core *self, PyObject *given)
{
    self->arrays = calloc((size_t)self->count + 1, sizeof *self->arrays);
    if (!self->arrays) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < self->count; k++) {
        Array *array = &self->arrays[k];
        PyObject *shape;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, k), "O&O!", PyArray_DescrConverter,
                              &array->dtype, &PyTuple_Type, &shape))
            return -1;
        array->rank = (int)PyTuple_GET_SIZE(shape);
        array->shape = calloc((size_t)array->rank + 1, sizeof *array->shape);
        if (!array->shape) {
            PyErr_NoMemory();
            return -1;
        }
        array->size = 1;
        for (int d = 0; d < array->rank; d++) {
            array->shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, d));
            if (array->shape[d] == -1 && PyErr_Occurred()) return -1;
            array->size *= array->shape[d];
        }
    }
    return 0;
}

static PyObject *engine_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"key", "operands", "results", "function", "state", "owner", "failed",
                            "kept", NULL};
    unsigned long long key, function, state;
    PyObject *operands, *results, *owner, *failed;
    int kept;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "KO!O!KKOOp:Engine", known, &key,
                                     &PyTuple_Type, &operands, &PyTuple_Type, &results, &function,
                                     &state, &owner, &failed, &kept))
        return NULL;
    PyObject *given = PySequence_Concat(operands, results);
    if (!given) return NULL;
    Engine *engine = (Engine *)type->tp_alloc(type, 0);
    Core *self = engine ? calloc(1, sizeof *self) : NULL;
    if (!self) {
        Py_XDECREF((PyObject *)engine);
        Py_DECREF(given);
        return PyErr_NoMemory();
    }
    engine->core = self;
    atomic_store(&self->references, 1);
    self->key = key;
    self->kept = kept;
    self->function = (Function)(uintptr_t)function;
    self->state = (void *)(uintptr_t)state;
    Py_INCREF(owner);
    self->owner = owner;
    Py_INCREF(failed);
    self->failed = failed;
    self->operands = PyTuple_GET_SIZE(operands);
    self->count = PyTuple_GET_SIZE(given);
    int wrong;
    if (self->count > MOST) {
        PyErr_Format(PyExc_ValueError, "a region of %zd arrays was given, expected at most %d",
                     self->count, MOST);
        wrong = -1;
    } else
        wrong = read_arrays(self, given);
    Py_DECREF(given);
    if (wrong) {
        Py_DECREF((PyObject *)engine);
        return NULL;
    }
    Core *gone;
    pthread_rwlock_wrlock(&lock);
    int found = table_put(self, &gone);
    self->known = found == 0;
    pthread_rwlock_unlock(&lock);
    if (gone) release(gone);
    if (found) {
        Py_DECREF((PyObject *)engine);
        if (found < 0) return PyErr_NoMemory();
        PyErr_Format(PyExc_KeyError, "there is an engine of key %llu", key);
        return NULL;
    }
    return (PyObject *)engine;
}

static PyObject *engine_call(PyObject *object, PyObject *arguments, PyObject *names)
{
    Core *self = ((Engine *)object)->core;
    if ((names && PyDict_GET_SIZE(names)) || PyTuple_GET_SIZE(arguments) != self->count)
        return PyErr_Format(PyExc_TypeError, "an engine of %zd arrays was given %zd", self->count,
                            PyTuple_GET_SIZE(arguments));
    void *buffers[MOST];
    for (Py_ssize_t k = 0; k < self->count; k++) {
        PyObject *given = PyTuple_GET_ITEM(arguments, k);
        const Array *array = &self->arrays[k];
        if (!PyArray_Check(given) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)given)
            || PyArray_SIZE((PyArrayObject *)given) != array->size
            || !PyArray_EquivTypes(PyArray_DESCR((PyArrayObject *)given), array->dtype)
            || (k >= self->operands && !PyArray_ISWRITEABLE((PyArrayObject *)given)))
            return PyErr_Format(PyExc_TypeError, "array %zd is not as the engine takes it", k);
        buffers[k] = PyArray_DATA((PyArrayObject *)given);
    }
    char *wrong;
    Py_BEGIN_ALLOW_THREADS
    wrong = run(self, buffers, 0);
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_RuntimeError, wrong);
        free(wrong);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *engine_calls(PyObject *object, void *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLongLong(atomic_load(&((Engine *)object)->core->calls));
}

static PyObject *engine_key(PyObject *object, void *Py_UNUSED(none))
{
    return PyLong_FromUnsignedLongLong(((Engine *)object)->core->key);
}

static PyGetSetDef engine_attributes[] = {
    {"calls", engine_calls, NULL, "How often it was called.", NULL},
    {"key", engine_key, NULL, "What a call of it in a program names.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject EngineType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._regions.Engine",
    .tp_basicsize = sizeof(Engine),
    .tp_dealloc = engine_dealloc,
    .tp_call = engine_call,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "What runs a region. Raises KeyError for a key that another engine has.",
    .tp_getset = engine_attributes,
    .tp_new = engine_new,
};

static PyObject *handler(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyCapsule_New((void *)(uintptr_t)handle, NULL, NULL);
}

static PyObject *pages_handler(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyCapsule_New((void *)(uintptr_t)handle_pages, NULL, NULL);
}

static PyObject *plugin_function(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)call_plugin);
}

static PyObject *close_all(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(none))
{
    atomic_store(&closed, 1);
    while (atomic_load(&inside)) {
        struct timespec moment = {0, 1000000};
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&moment, NULL);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals()) return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"close", close_all, METH_NOARGS,
     "Wait for calls that are in Python, and let XLA's threads make none any more."},
    {"pages_handler", pages_handler, METH_NOARGS,
     "The XLA FFI handler that has the system back a run's memory by large pages, as a capsule."},
    {"plugin_function", plugin_function, METH_NOARGS,
     "The address of the function of an engine whose state is a PluginCall."},
    {"handler", handler, METH_NOARGS, "The XLA FFI handler of all regions, as a capsule."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "lazyloom._regions",
    .m_doc = "Calls engines of other code generators.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__regions(void)
{
    import_array();
    if (PyType_Ready(&EngineType) < 0) return NULL;
    pthread_atfork(NULL, NULL, after_fork);
    PyObject *made = PyModule_Create(&module);
    if (!made) return NULL;
    Py_INCREF(&EngineType);
    if (PyModule_AddObject(made, "Engine", (PyObject *)&EngineType) < 0) {
        Py_DECREF(&EngineType);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
