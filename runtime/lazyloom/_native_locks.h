/* OwnedLock: a lock that knows which thread holds it, as lazyloom.locks has it in Python. Every op
   that is recorded takes it, so its cost counts. */

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner;  /* the thread that holds it; 0 where none does */
} OwnedLock;

static PyObject *owned_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(names))
{
    OwnedLock *self = (OwnedLock *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->owner = 0;
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void owned_dealloc(OwnedLock *self)
{
    if (self->lock) {
        if (self->owner) PyThread_release_lock(self->lock);
        PyThread_free_lock(self->lock);
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
    if (self->owner == here) return refuse_owner();
    PyLockStatus status = PyThread_acquire_lock_timed(self->lock, 0, 0);
    while (status != PY_LOCK_ACQUIRED) {
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(self->lock, -1, 1);
        Py_END_ALLOW_THREADS
        /* a signal came: its handler may raise, and the lock is not held then */
        if (status == PY_LOCK_INTR && Py_MakePendingCalls() < 0) return -1;
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
    PyThread_release_lock(self->lock);
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
    if (PyThread_acquire_lock_timed(self->lock, 0, 0) != PY_LOCK_ACQUIRED) Py_RETURN_TRUE;
    PyThread_release_lock(self->lock);
    Py_RETURN_FALSE;
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
