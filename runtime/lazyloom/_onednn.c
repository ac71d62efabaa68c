/* Runs primitives of oneDNN one after the other, as a region of a program.

   Plan(execute, set_data_handle, stream, memories, steps, room, owner): the first three are
   addresses of oneDNN's functions and of a stream; memories are (address, buffer, offset), where
   buffer is the number of an operand or result, or -1 for room that lasts for a run, at that offset;
   steps are (address of a primitive, ((argument, number of a memory), ...)). It is run by the
   function at Plan.function, given Plan.state. The library comes with neither headers nor a version
   of its own: what is called has not changed since oneDNN 1. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int argument;
    void *memory;
} Argument;

typedef int (*Execute)(void *primitive, void *stream, int count, const Argument *arguments);
typedef int (*SetHandle)(void *memory, void *handle);

typedef struct {
    void *memory;
    Py_ssize_t buffer, offset;
} Memory;

typedef struct {
    void *primitive;
    int count;
    Argument *arguments;
} Step;

typedef struct {
    PyObject_HEAD
    Execute execute;
    SetHandle set_handle;
    void *stream;
    Py_ssize_t memories, steps, room;
    Memory *memory;
    Step *step;
    PyObject *owner;
} Plan;

/* A primitive uses all threads: one plan runs at a time, and all share their room. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char *room;
static Py_ssize_t roomy;
static _Thread_local char message[96];

static int make_room(Py_ssize_t size)
{
    if (size <= roomy) return 0;
    free(room);
    room = NULL;
    roomy = 0;
    void *found;
    if (posix_memalign(&found, 4096, (size_t)size)) return -1;
    room = found;
    roomy = size;
    return 0;
}

static const char *run(void *state, void *const *buffers)
{
    Plan *self = state;
    const char *wrong = NULL;
    pthread_mutex_lock(&turn);
    if (make_room(self->room)) wrong = "oneDNN: there is no memory for what lies between primitives";
    for (Py_ssize_t k = 0; !wrong && k < self->memories; k++) {
        const Memory *m = &self->memory[k];
        int status = self->set_handle(m->memory, m->buffer < 0 ? room + m->offset
                                                               : buffers[m->buffer]);
        if (status) {
            snprintf(message, sizeof message, "oneDNN: memory %zd gave status %d", k, status);
            wrong = message;
        }
    }
    for (Py_ssize_t k = 0; !wrong && k < self->steps; k++) {
        const Step *s = &self->step[k];
        int status = self->execute(s->primitive, self->stream, s->count, s->arguments);
        if (status) {
            snprintf(message, sizeof message, "oneDNN: primitive %zd gave status %d", k, status);
            wrong = message;
        }
    }
    pthread_mutex_unlock(&turn);
    return wrong;
}

static void plan_dealloc(PyObject *object)
{
    Plan *self = (Plan *)object;
    for (Py_ssize_t k = 0; self->step && k < self->steps; k++) PyMem_Free(self->step[k].arguments);
    PyMem_Free(self->step);
    PyMem_Free(self->memory);
    Py_XDECREF(self->owner);
    Py_TYPE(object)->tp_free(object);
}

static int read_step(Plan *self, Step *step, PyObject *given)
{
    unsigned long long primitive;
    PyObject *arguments;
    if (!PyArg_ParseTuple(given, "KO!", &primitive, &PyTuple_Type, &arguments)) return -1;
    step->primitive = (void *)(uintptr_t)primitive;
    step->count = (int)PyTuple_GET_SIZE(arguments);
    step->arguments = PyMem_Calloc((size_t)step->count + 1, sizeof *step->arguments);
    if (!step->arguments) return -1;
    for (int a = 0; a < step->count; a++) {
        int argument;
        Py_ssize_t memory;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, a), "in", &argument, &memory)) return -1;
        if (memory < 0 || memory >= self->memories) {
            PyErr_Format(PyExc_IndexError, "memory %zd of %zd", memory, self->memories);
            return -1;
        }
        step->arguments[a] = (Argument){argument, self->memory[memory].memory};
    }
    return 0;
}

static int read_plan(Plan *self, PyObject *memories, PyObject *steps)
{
    self->memories = PyTuple_GET_SIZE(memories);
    self->memory = PyMem_Calloc((size_t)self->memories + 1, sizeof *self->memory);
    if (!self->memory) return -1;
    for (Py_ssize_t k = 0; k < self->memories; k++) {
        unsigned long long address;
        Memory *m = &self->memory[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(memories, k), "Knn", &address, &m->buffer,
                              &m->offset))
            return -1;
        m->memory = (void *)(uintptr_t)address;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(steps);
    self->step = PyMem_Calloc((size_t)count + 1, sizeof *self->step);
    if (!self->step) return -1;
    for (self->steps = 0; self->steps < count; self->steps++) {
        Step *step = &self->step[self->steps];
        if (read_step(self, step, PyTuple_GET_ITEM(steps, self->steps))) {
            PyMem_Free(step->arguments);
            return -1;
        }
    }
    return 0;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"execute", "set_data_handle", "stream", "memories", "steps", "room",
                            "owner", NULL};
    unsigned long long execute, set_handle, stream;
    PyObject *memories, *steps, *owner;
    Py_ssize_t size;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "KKKO!O!nO:Plan", known, &execute,
                                     &set_handle, &stream, &PyTuple_Type, &memories, &PyTuple_Type,
                                     &steps, &size, &owner))
        return NULL;
    Plan *self = (Plan *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->execute = (Execute)(uintptr_t)execute;
    self->set_handle = (SetHandle)(uintptr_t)set_handle;
    self->stream = (void *)(uintptr_t)stream;
    self->room = size;
    Py_INCREF(owner);
    self->owner = owner;
    if (read_plan(self, memories, steps)) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *plan_function(PyObject *Py_UNUSED(self), void *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr((void *)(uintptr_t)run);
}

static PyObject *plan_state(PyObject *self, void *Py_UNUSED(none))
{
    return PyLong_FromVoidPtr(self);
}

static PyGetSetDef plan_attributes[] = {
    {"function", plan_function, NULL, "The address of what runs a plan.", NULL},
    {"state", plan_state, NULL, "The address that it is given.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject PlanType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._onednn.Plan",
    .tp_basicsize = sizeof(Plan),
    .tp_dealloc = plan_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Primitives that run one after the other.",
    .tp_getset = plan_attributes,
    .tp_new = plan_new,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "lazyloom._onednn", .m_doc = "Runs primitives of oneDNN.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__onednn(void)
{
    if (PyType_Ready(&PlanType) < 0) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (!made) return NULL;
    Py_INCREF(&PlanType);
    if (PyModule_AddObject(made, "Plan", (PyObject *)&PlanType) < 0) {
        Py_DECREF(&PlanType);
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
