/* Runs calls of kernels that were written down.

   run_calls(code, kernels, table, leaves, results) makes the calls of code, bytes of int32. Of each
   call there are the number of its kernel in a list, that of its operands, their places in the
   table, and the place of its result; where it has several, minus their number and then their
   places. -1 and a place let go of what is there. The table is a list of values, of which the first
   ones, the leaves, are arrays; one without dimensions is passed on as NumPy's scalar.

   Returns a list with what results, bytes of int32 too, says: a place, and 1 where the memory of
   what is there may be that of something else, which is copied. What it returns are arrays, row by
   row, in memory of their own. */

/* operands of a call for which no memory is asked */
#define FEW 32

static int32_t const *integers_of(PyObject *from, Py_ssize_t *count)
{
    if (!PyBytes_Check(from) || PyBytes_GET_SIZE(from) % sizeof(int32_t)) {
        PyErr_SetString(PyExc_TypeError, "run_calls: expected bytes of int32");
        return NULL;
    }
    *count = PyBytes_GET_SIZE(from) / sizeof(int32_t);
    return (const int32_t *)PyBytes_AS_STRING(from);
}

static PyObject *owned(PyObject *value, int shared)
{
    if (!PyArray_Check(value)) return PyArray_FromAny(value, NULL, 0, 0, 0, NULL);
    PyArrayObject *x = (PyArrayObject *)value;
    if (shared || !PyArray_IS_C_CONTIGUOUS(x)) return PyArray_NewCopy(x, NPY_CORDER);
    return Py_NewRef(value);
}

/* Puts a result, a reference that is taken, in its place. */
static int put(PyObject *table, int32_t place, PyObject *result)
{
    if (place < 0 || place >= PyList_GET_SIZE(table)) {
        Py_DECREF(result);
        PyErr_Format(PyExc_IndexError, "run_calls: the table has no place %d", (int)place);
        return -1;
    }
    PyObject *before = PyList_GET_ITEM(table, place);
    PyList_SET_ITEM(table, place, result);
    Py_XDECREF(before);
    return 0;
}

static int put_several(PyObject *table, const int32_t *places, Py_ssize_t count, PyObject *results)
{
    PyObject *found = PySequence_Fast(results, "run_calls: a kernel gave no sequence of results");
    if (!found) return -1;
    int failed = 0;
    if (PySequence_Fast_GET_SIZE(found) != count) {
        PyErr_Format(PyExc_ValueError, "run_calls: a kernel gave %zd results, expected %zd",
                     PySequence_Fast_GET_SIZE(found), count);
        failed = -1;
    }
    for (Py_ssize_t k = 0; !failed && k < count; k++)
        failed = put(table, places[k], Py_NewRef(PySequence_Fast_GET_ITEM(found, k)));
    Py_DECREF(found);
    return failed;
}

/* A call's operands from the table, which has them meanwhile, as nobody else has the table. */
static int take(PyObject *table, const int32_t *places, int32_t count, PyObject **operands)
{
    for (int32_t k = 0; k < count; k++) {
        if (places[k] < 0 || places[k] >= PyList_GET_SIZE(table)) {
            PyErr_Format(PyExc_IndexError, "run_calls: the table has no place %d", (int)places[k]);
            return -1;
        }
        operands[k] = PyList_GET_ITEM(table, places[k]);
    }
    return 0;
}

static PyObject *make_call(PyObject *kernel, PyObject *table, const int32_t *places, int32_t count)
{
    PyObject *few[FEW + 1], *result = NULL;
    PyObject **operands = count <= FEW ? few : PyMem_New(PyObject *, count + 1);
    if (!operands) return PyErr_NoMemory();
    if (take(table, places, count, operands + 1) == 0) {
        Py_INCREF(kernel);
        result = PyObject_Vectorcall(kernel, operands + 1,
                                     count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_DECREF(kernel);
    }
    if (operands != few) PyMem_Free(operands);
    return result;
}

static int make_calls(const int32_t *code, Py_ssize_t size, PyObject *kernels, PyObject *table)
{
    Py_ssize_t at = 0;
    while (at + 1 < size) {
        const int32_t number = code[at], many = code[at + 1];
        at += 2;
        if (number < 0) {
            if (put(table, many, Py_NewRef(Py_None)) < 0) return -1;
            continue;
        }
        if (many < 0 || many >= size - at || number >= PyList_GET_SIZE(kernels)) break;
        PyObject *result = make_call(PyList_GET_ITEM(kernels, number), table, code + at, many);
        if (!result) return -1;
        at += many;
        const int32_t place = code[at++];
        if (place >= 0) {
            if (put(table, place, result) < 0) return -1;
            continue;
        }
        const Py_ssize_t count = -(Py_ssize_t)place;
        const int whole = count <= size - at;
        const int failed = whole ? put_several(table, code + at, count, result) : 0;
        Py_DECREF(result);
        if (failed) return -1;
        if (!whole) break;
        at += count;
    }
    if (at == size) return 0;
    PyErr_Format(PyExc_ValueError, "run_calls: no call is written at %zd of %zd", at, size);
    return -1;
}

/* The leaves without dimensions as scalars, with which NumPy computes in a tenth of the time. */
static int scalars_of(PyObject *table, Py_ssize_t leaves)
{
    for (Py_ssize_t k = 0; k < leaves; k++) {
        PyObject *x = PyList_GET_ITEM(table, k);
        if (!PyArray_Check(x) || PyArray_NDIM((PyArrayObject *)x)) continue;
        PyObject *scalar = PyArray_ToScalar(PyArray_DATA((PyArrayObject *)x), (PyArrayObject *)x);
        if (!scalar || put(table, (int32_t)k, scalar) < 0) return -1;
    }
    return 0;
}

static PyObject *run_calls(PyObject *Py_UNUSED(self), PyObject *const *given, Py_ssize_t number)
{
    if (number != 5 || !PyList_CheckExact(given[1]) || !PyList_CheckExact(given[2])) {
        PyErr_SetString(PyExc_TypeError,
                        "run_calls: expected code, kernels, a table, a number and results");
        return NULL;
    }
    PyObject *const table = given[2];
    Py_ssize_t size, pairs;
    const int32_t *const code = integers_of(given[0], &size);
    const int32_t *const results = code ? integers_of(given[4], &pairs) : NULL;
    if (!results) return NULL;
    const Py_ssize_t leaves = PyLong_AsSsize_t(given[3]);
    if (leaves == -1 && PyErr_Occurred()) return NULL;
    if (leaves < 0 || leaves > PyList_GET_SIZE(table)) {
        PyErr_Format(PyExc_IndexError, "run_calls: %zd leaves", leaves);
        return NULL;
    }
    if (scalars_of(table, leaves) < 0 || make_calls(code, size, given[1], table) < 0) return NULL;
    PyObject *found = PyList_New(pairs / 2);
    for (Py_ssize_t k = 0; found && k < pairs / 2; k++) {
        PyObject *value = NULL;
        if (take(table, results + 2 * k, 1, &value) == 0) value = owned(value, results[2 * k + 1]);
        else value = NULL;
        if (value) PyList_SET_ITEM(found, k, value);
        else Py_CLEAR(found);
    }
    return found;
}

/* Whether an array is one of a dtype and a shape, a tuple of integers. */
static int is_of(PyObject *value, PyObject *dtype, PyObject *shape)
{
    if (!PyArray_Check(value) || !PyArray_DescrCheck(dtype)) return 0;
    PyArrayObject *x = (PyArrayObject *)value;
    const int dimensions = PyArray_NDIM(x);
    if (dimensions != PyTuple_GET_SIZE(shape)) return 0;
    if ((PyObject *)PyArray_DESCR(x) != dtype
        && !PyArray_EquivTypes(PyArray_DESCR(x), (PyArray_Descr *)dtype))
        return 0;
    for (int k = 0; k < dimensions; k++) {
        const Py_ssize_t extent = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (extent == -1 && PyErr_Occurred()) return -1;
        if (extent != PyArray_DIM(x, k)) return 0;
    }
    return 1;
}

/* of_types(arrays, types) says whether the arrays, in a list, are of types, a tuple that has of each
   array its dtype and its shape. */
static PyObject *of_types(PyObject *Py_UNUSED(self), PyObject *const *given, Py_ssize_t number)
{
    if (number != 2 || !PyList_CheckExact(given[0]) || !PyTuple_CheckExact(given[1])
        || PyTuple_GET_SIZE(given[1]) != 2 * PyList_GET_SIZE(given[0])) {
        PyErr_SetString(PyExc_TypeError,
                        "of_types: expected a list, and a tuple with a dtype and a shape of each");
        return NULL;
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(given[0]); k++) {
        PyObject *shape = PyTuple_GET_ITEM(given[1], 2 * k + 1);
        const int fits = PyTuple_CheckExact(shape) ? is_of(
            PyList_GET_ITEM(given[0], k), PyTuple_GET_ITEM(given[1], 2 * k), shape) : 0;
        if (fits < 0) return NULL;
        if (!fits) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}
