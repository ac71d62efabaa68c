/* A kernel in whose place a function in C may come while it is in use.

   Awaited(kernel, seconds, costly) is called as the kernel is. Once its calls have taken so many
   seconds, costly(self, seconds) says after how many it is to be called again; use(function) has
   this call the function from then on. Who holds it notices nothing. */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *target, *costly; /* costly: NULL once there is a function */
    double taken, limit;       /* seconds */
} Awaited;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tells of what the calls have taken; -1 for an error. */
static int tell(Awaited *self)
{
    PyObject *costly = self->costly ? Py_NewRef(self->costly) : NULL;
    if (!costly) return 0;
    self->limit = HUGE_VAL; /* not again meanwhile */
    PyObject *next = PyObject_CallFunction(costly, "Od", self, self->taken);
    Py_DECREF(costly);
    if (!next) {
        self->limit = self->taken; /* a signal's handler raised: at the next call */
        return -1;
    }
    self->limit = PyFloat_AsDouble(next);
    Py_DECREF(next);
    return self->limit == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *awaited_call(PyObject *object, PyObject *const *given, size_t flags,
                              PyObject *names)
{
    Awaited *self = (Awaited *)object;
    /* use() may be called meanwhile */
    PyObject *target = Py_NewRef(self->target);
    const int timed = self->costly != NULL;
    const double begun = timed ? now() : 0.0;
    PyObject *found = PyObject_Vectorcall(target, given, flags, names);
    Py_DECREF(target);
    if (timed && found) {
        self->taken += now() - begun;
        if (self->taken >= self->limit && tell(self) < 0) Py_CLEAR(found);
    }
    return found;
}

static PyObject *awaited_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    static char *known[] = {"kernel", "seconds", "costly", NULL};
    PyObject *kernel, *costly;
    double seconds;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "OdO:Awaited", known, &kernel, &seconds,
                                     &costly))
        return NULL;
    Awaited *self = (Awaited *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = awaited_call;
    self->target = Py_NewRef(kernel);
    self->costly = Py_NewRef(costly);
    self->limit = seconds;
    return (PyObject *)self;
}

static int awaited_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((Awaited *)object)->target);
    Py_VISIT(((Awaited *)object)->costly);
    return 0;
}

static int awaited_clear(PyObject *object)
{
    Awaited *self = (Awaited *)object;
    /* what is in a cycle can still be called while that is taken apart */
    PyObject *target = self->target;
    self->target = Py_NewRef(Py_None);
    Py_XDECREF(target);
    Py_CLEAR(self->costly);
    return 0;
}

static void awaited_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Py_CLEAR(((Awaited *)object)->target);
    Py_CLEAR(((Awaited *)object)->costly);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *awaited_use(PyObject *object, PyObject *function)
{
    Awaited *self = (Awaited *)object;
    PyObject *before = self->target;
    self->target = Py_NewRef(function);
    Py_CLEAR(self->costly);
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyObject *awaited_target(PyObject *object, void *Py_UNUSED(closure))
{
    return Py_NewRef(((Awaited *)object)->target);
}

static PyObject *awaited_costly(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *costly = ((Awaited *)object)->costly;
    return Py_NewRef(costly ? costly : Py_None);
}

static PyMethodDef awaited_methods[] = {
    {"use", awaited_use, METH_O, "Call this function from now on."},
    {NULL},
};

static PyGetSetDef awaited_attributes[] = {
    {"target", awaited_target, NULL, "What it calls.", NULL},
    {"costly", awaited_costly, NULL, "What it tells of its time; None once it has a function.",
     NULL},
    {NULL},
};

static PyTypeObject AwaitedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._native.Awaited",
    .tp_basicsize = sizeof(Awaited),
    .tp_dealloc = awaited_dealloc,
    .tp_vectorcall_offset = offsetof(Awaited, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = awaited_traverse,
    .tp_clear = awaited_clear,
    .tp_doc = "A kernel in whose place a function in C may come while it is in use.",
    .tp_methods = awaited_methods,
    .tp_getset = awaited_attributes,
    .tp_new = awaited_new,
};
