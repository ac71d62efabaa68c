/* Looks whether what a captured call rests on is the very objects that it was.

   changed(entries, start) goes through entries from number start on and returns the number of the
   first that has to be looked at more closely, or -1. An entry is a tuple that begins with its kind;
   keys are a tuple and values a list. Other objects may be equal all the same: that is for the
   caller to find out. */

enum { ITEMS, NAMED, NAMES, OF_CLASS, IN_LIST, IN_CELL, SLOTS };

/* Whether an object has a class, and a dict as its attributes. */
static int has_attributes(PyObject *owner, PyObject *cls, PyObject *items)
{
    if (owner == Py_None) return 1;
    if ((PyObject *)Py_TYPE(owner) != cls) return 0;
    PyObject *found = PyObject_GenericGetDict(owner, NULL);
    if (!found) PyErr_Clear();
    Py_XDECREF(found);
    return found == items;
}

/* Whether a dict has the items, in their order, beside those that are ignored: NULL for none. */
static int same_dict(PyObject *items, PyObject *keys, PyObject *values, PyObject *ignored)
{
    const Py_ssize_t count = PyList_GET_SIZE(values);
    Py_ssize_t at = 0, k = 0;
    PyObject *key, *value;
    /* a subclass may go through its items in another order */
    if (Py_TYPE(items)->tp_iter != PyDict_Type.tp_iter) return 0;
    if (!ignored && PyDict_GET_SIZE(items) != count) return 0;
    while (PyDict_Next(items, &at, &key, &value)) {
        if (k < count && key == PyTuple_GET_ITEM(keys, k)) {
            if (value != PyList_GET_ITEM(values, k++)) return 0;
            continue;
        }
        const int without = ignored ? PySet_Contains(ignored, key) : 0;
        if (without < 0) PyErr_Clear();
        if (without <= 0) return 0;
    }
    return k == count;
}

/* Whether keys lead to the values in a dict, or in the one behind it: NULL for none. */
static int same_names(PyObject *items, PyObject *behind, PyObject *keys, PyObject *values)
{
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(values); k++) {
        PyObject *key = PyTuple_GET_ITEM(keys, k);
        PyObject *found = PyDict_GetItemWithError(items, key);
        if (!found && behind && !PyErr_Occurred()) found = PyDict_GetItemWithError(behind, key);
        PyErr_Clear();
        if (!found || found != PyList_GET_ITEM(values, k)) return 0;
    }
    return 1;
}

static int same_slots(PyObject *owner, PyObject *keys, PyObject *values)
{
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(values); k++) {
        PyObject *found = PyObject_GetAttr(owner, PyTuple_GET_ITEM(keys, k));
        if (!found) PyErr_Clear();
        Py_XDECREF(found);
        if (!found || k >= PyList_GET_SIZE(values) || found != PyList_GET_ITEM(values, k)) return 0;
    }
    return 1;
}

static int same_list(PyObject *items, PyObject *values)
{
    const Py_ssize_t count = PyList_GET_SIZE(values);
    if (!PyList_Check(items) || PyList_GET_SIZE(items) != count) return 0;
    for (Py_ssize_t k = 0; k < count; k++)
        if (PyList_GET_ITEM(items, k) != PyList_GET_ITEM(values, k)) return 0;
    return 1;
}

static int unchanged(PyObject *entry)
{
    PyObject *part[7];
    const Py_ssize_t parts = PyTuple_GET_SIZE(entry);
    if (parts < 3 || parts > 7) return 0;
    for (Py_ssize_t k = 0; k < parts; k++) part[k] = PyTuple_GET_ITEM(entry, k);
    PyObject *const values = part[2];
    if (!PyLong_Check(part[0]) || !PyList_CheckExact(values)) return 0;
    const long kind = PyLong_AsLong(part[0]);
    if (kind == IN_LIST) return parts == 3 && same_list(part[1], values);
    if (kind == IN_CELL)
        return parts == 3 && PyCell_Check(part[1]) && PyList_GET_SIZE(values) == 1 &&
               PyCell_GET(part[1]) == PyList_GET_ITEM(values, 0);
    if (parts < 4 || !PyTuple_CheckExact(part[3]) ||
        PyTuple_GET_SIZE(part[3]) != PyList_GET_SIZE(values))
        return 0;
    PyObject *const keys = part[3];
    switch (kind) {
    case ITEMS:
        return parts == 7 && PyDict_Check(part[1]) && has_attributes(part[4], part[5], part[1]) &&
               same_dict(part[1], keys, values, part[6] == Py_None ? NULL : part[6]);
    case NAMED:
        return parts == 7 && PyDict_Check(part[1]) && has_attributes(part[4], part[5], part[1]) &&
               PyLong_Check(part[6]) && PyDict_GET_SIZE(part[1]) == PyLong_AsSsize_t(part[6]) &&
               same_names(part[1], NULL, keys, values);
    case NAMES:
        return parts == 5 && PyDict_Check(part[1]) && PyDict_Check(part[4]) &&
               same_names(part[1], part[4], keys, values);
    case OF_CLASS:
        return parts == 5 && PyType_Check(part[1]) && ((PyTypeObject *)part[1])->tp_dict &&
               same_dict(((PyTypeObject *)part[1])->tp_dict, keys, values, part[4]);
    case SLOTS:
        return parts == 5 && (PyObject *)Py_TYPE(part[1]) == part[4] &&
               same_slots(part[1], keys, values);
    }
    return 0;
}

static PyObject *changed(PyObject *Py_UNUSED(self), PyObject *const *given, Py_ssize_t number)
{
    if (number != 2 || !PyTuple_CheckExact(given[0])) {
        PyErr_SetString(PyExc_TypeError, "changed: expected a tuple of entries and a number");
        return NULL;
    }
    PyObject *const entries = given[0];
    Py_ssize_t k = PyLong_AsSsize_t(given[1]);
    if (k == -1 && PyErr_Occurred()) return NULL;
    for (; k >= 0 && k < PyTuple_GET_SIZE(entries); k++) {
        PyObject *entry = PyTuple_GET_ITEM(entries, k);
        if (!PyTuple_CheckExact(entry) || !unchanged(entry)) return PyLong_FromSsize_t(k);
    }
    return PyLong_FromLong(-1);
}
