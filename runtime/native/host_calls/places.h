/* Finds where in the user's program this thread is.

   user_place(files, known) goes from the innermost frame outwards to the first whose code is known,
   or whose file is not internal, as files says by name, and returns its code and the offset of its
   instruction; None and 0 where no frame is such; None where files does not say. */

static PyObject *place_of(PyFrameObject *frame, PyCodeObject *code)
{
    PyObject *offset = PyLong_FromLong(PyFrame_GetLasti(frame));
    PyObject *place = offset ? PyTuple_Pack(2, (PyObject *)code, offset) : NULL;
    Py_XDECREF(offset);
    return place;
}

static PyObject *user_place(PyObject *Py_UNUSED(self), PyObject *const *given, Py_ssize_t number)
{
    if (number != 2 || !PyDict_CheckExact(given[0])) {
        PyErr_SetString(PyExc_TypeError, "user_place: expected a dict of files, and a code object");
        return NULL;
    }
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *internal = Py_False;
        if ((PyObject *)code != given[1])
            internal = PyDict_GetItemWithError(given[0], code->co_filename);
        PyObject *place = NULL;
        const int ends = internal != Py_True;
        if (internal == Py_False)
            place = place_of(frame, code);
        else if (ends && !PyErr_Occurred())
            place = Py_NewRef(Py_None);
        Py_DECREF(code);
        PyFrameObject *outer = ends ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        if (ends) return place;
        frame = outer;
    }
    return Py_BuildValue("(Oi)", Py_None, 0);
}
