/* OwnedLock: a lock that knows which thread holds it, as lazyloom.locks has it in Python. Every op
   that is recorded asks it, so its cost counts: where nobody has to wait, it is a field that is read
   and written under the interpreter's own lock. Those of the system ask for the time, 20 ns, before
   they look whether they are free. */

typedef struct {
    PyObject_HEAD
    PyThread_type_lock freed;  /* who waits for the lock waits for this one to be released */
    unsigned long owner;       /* the thread that holds the lock; 0 where none does */
    Py_ssize_t waiting;        /* threads that wait */
    int told;                  /* whether one of them has been told to look again */
} OwnedLock;

#ifdef Py_GIL_DISABLED
#error "OwnedLock counts on the interpreter's lock"
#endif

static PyObject *owned_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    if (PyTuple_GET_SIZE(args) || (names && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "OwnedLock takes no arguments");
        return NULL;
    }
    OwnedLock *self = (OwnedLock *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->freed = PyThread_allocate_lock();
    if (!self->freed) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    PyThread_acquire_lock(self->freed, 0);
    return (PyObject *)self;
}

static void owned_dealloc(OwnedLock *self)
{
    if (self->freed) {
        if (!self->told) PyThread_release_lock(self->freed);
        PyThread_free_lock(self->freed);
    }
    Py_TYPE(self)->tp_free(self);
}

static int refuse_owner(void)
{
    PyObject *errors = PyImport_ImportModule("lazyloom.locks");
    PyObject *refusal = errors ? PyObject_GetAttrString(errors, "refuse_owner") : NULL;
    PyObject *found = refusal ? PyObject_CallNoArgs(refusal) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(refusal);
    Py_XDECREF(errors);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "this thread holds the lock");
    return -1;
}

static int lock_owned(OwnedLock *self)
{
    const unsigned long here = PyThread_get_thread_ident();
    int called = 0;
    if (self->owner == here) return refuse_owner();
    /* who comes while another is told to look again waits behind it */
    while (self->owner || (self->told && !called)) {
        PyLockStatus status;
        self->waiting++;
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(self->freed, -1, 1);
        Py_END_ALLOW_THREADS
        self->waiting--;
        called = status == PY_LOCK_ACQUIRED;
        if (called) self->told = 0;
        /* a signal came: its handler may raise, and the lock is not held then, or keep the lock */
        if (status == PY_LOCK_INTR && Py_MakePendingCalls() < 0) return -1;
        if (self->owner == here) return refuse_owner();
    }
    self->owner = here;
    return 0;
}

static int unlock_owned(OwnedLock *self)
{
    if (!self->owner) {
        PyErr_SetString(PyExc_RuntimeError, "release of a lock that no thread holds");
        return -1;
    }
    self->owner = 0;
    if (self->waiting && !self->told) {
        self->told = 1;
        PyThread_release_lock(self->freed);
    }
    return 0;
}

static PyObject *owned_acquire(OwnedLock *self, PyObject *Py_UNUSED(none))
{
    if (lock_owned(self) < 0) return NULL;
    Py_RETURN_TRUE;
}

static PyObject *owned_release(OwnedLock *self, PyObject *Py_UNUSED(none))
{
    if (unlock_owned(self) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *owned_exit(OwnedLock *self, PyObject *const *Py_UNUSED(given),
                            Py_ssize_t Py_UNUSED(count))
{
    return owned_release(self, NULL);
}

static PyObject *owned_locked(OwnedLock *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(self->owner != 0);
}

static PyObject *owned_held(OwnedLock *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(self->owner == PyThread_get_thread_ident());
}

static PyMethodDef owned_methods[] = {
    {"acquire", (PyCFunction)owned_acquire, METH_NOARGS,
     "Wait for the lock; LoomError where this thread holds it."},
    {"release", (PyCFunction)owned_release, METH_NOARGS, "Give the lock back."},
    {"locked", (PyCFunction)owned_locked, METH_NOARGS, "Whether a thread holds it."},
    {"held", (PyCFunction)owned_held, METH_NOARGS, "Whether this thread holds it."},
    {"__enter__", (PyCFunction)owned_acquire, METH_NOARGS, "As acquire()."},
    {"__exit__", (PyCFunction)(void (*)(void))owned_exit, METH_FASTCALL, "As release()."},
    {NULL},
};

static PyTypeObject OwnedLockType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazyloom._native.OwnedLock",
    .tp_doc = "A lock that knows which thread holds it, and refuses that thread a second time.",
    .tp_basicsize = sizeof(OwnedLock),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = owned_new,
    .tp_dealloc = (destructor)owned_dealloc,
    .tp_methods = owned_methods,
};
