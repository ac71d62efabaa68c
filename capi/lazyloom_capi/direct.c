/* What a training step calls beside ops: to assign, to detach, to read, to take gradients, to run
   a capture. These calls, as they mostly are, go to the core without cffi and without Python code.

   Each function here says whether it has answered the call, with which status. Where it has not,
   nothing was done, and the call goes to its entry in Python: where anything is wrong, which the
   entry then explains, where a thread records a capture, a loop or a branch, for which the entries
   have rules of their own, and with a package that is older than the library and does not give
   what is called here. */

/* how many captures were begun, and functions of loops and branches are called, on all threads;
   the entries count them, under the interpreter's lock */
static Py_ssize_t apart = 0;

static PyObject *handles_apart(PyObject *self, PyObject *by) {
  (void)self;
  apart += PyLong_AsSsize_t(by);
  if (PyErr_Occurred() != NULL) return NULL;
  Py_RETURN_NONE;
}

/* Before a call that may compute: the same as flush(), and the lock is taken. */
static loom_status enter_to_compute(entered *e) {
  __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
  return enter(e);
}

static void leave_computed(entered *e) {
  leave(e);
  watch_thread();
}

/* Calls the core at the thread's source location, which nodes and errors then have; a new
   reference, or NULL with an exception. Without a location the place is looked for by the core.
   With a ``method`` that is called of the first argument. */
static PyObject *call_here(PyObject *function, PyObject *method, PyObject *const *args,
                           size_t count, PyObject *keywords) {
  PyObject *site = NULL, *before = NULL, *result, *kind, *value, *trace;
  if (source_file != NULL) {
    site = site_here();
    if (site == NULL) return NULL;
    before = PyObject_Vectorcall(core.name_site, &site, 1, NULL);
    Py_DECREF(site);
    if (before == NULL) return NULL;
  }
  result = method != NULL ? PyObject_VectorcallMethod(method, args, count, keywords)
                          : PyObject_Vectorcall(function, args, count, keywords);
  if (before == NULL) return result;
  PyErr_Fetch(&kind, &value, &trace);
  site = PyObject_Vectorcall(core.name_site, &before, 1, NULL);
  if (site == NULL) PyErr_Clear();
  Py_XDECREF(site);
  Py_DECREF(before);
  PyErr_Restore(kind, value, trace);
  return result;
}

/* The values of tensors, a new reference; NULL, with no exception, where one has none. With
   ``absent`` a null handle stands for None. */
static PyObject *list_of_values(const uint64_t *tensors, size_t count, bool absent) {
  PyObject *list = PyList_New((Py_ssize_t)count);
  size_t i;
  if (list == NULL) PyErr_Clear();
  for (i = 0; list != NULL && i < count; ++i) {
    PyObject *value = Py_None;
    if (absent && tensors[i] == 0) Py_INCREF(value);
    else value = value_of(tensors[i]);
    if (value == NULL) Py_CLEAR(list);
    else PyList_SET_ITEM(list, (Py_ssize_t)i, value);
  }
  return list;
}

/* Of each handle the tensor that can be written, and the leaf that it is or None, as new lists;
   None for both where the handle stands for a value alone and that is ``allowed``. False, with no
   list and no exception, where one is neither. */
static bool lists_of_tensors(const uint64_t *handles, size_t count, bool allowed,
                             PyObject **tensors, PyObject **leaves) {
  size_t i;
  bool right;
  *tensors = PyList_New((Py_ssize_t)count);
  *leaves = PyList_New((Py_ssize_t)count);
  right = *tensors != NULL && *leaves != NULL;
  for (i = 0; right && i < count; ++i) {
    PyObject *thing = object_of(LOOMP_TENSOR, handles[i]), *leaf = Py_None;
    if (thing != NULL && IS(thing, tensor)) {
      Py_INCREF(thing);
      leaf = PyObject_GetAttr(thing, core.leaf_name);
    } else {
      right = thing != NULL && allowed;
      thing = Py_None;
      Py_INCREF(thing);
      Py_INCREF(leaf);
    }
    right = right && leaf != NULL;
    PyList_SET_ITEM(*tensors, (Py_ssize_t)i, thing);
    PyList_SET_ITEM(*leaves, (Py_ssize_t)i, leaf);
  }
  if (!right) {
    PyErr_Clear();
    Py_CLEAR(*tensors);
    Py_CLEAR(*leaves);
  }
  return right;
}

/* Gives values away as handles: a list of them of that length. */
static loom_status give_list(PyObject *values, uint64_t *handles, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    handles[i] = give(LOOMP_TENSOR, PyList_GET_ITEM(values, (Py_ssize_t)i), false);
    if (handles[i] != 0) continue;
    while (i != 0) {
      (void)release(LOOMP_TENSOR, handles[--i]);
      handles[i] = 0;
    }
    return fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for another handle");
  }
  return LOOM_OK;
}

static bool is_list(PyObject *found, size_t count) {
  return PyList_Check(found) && (size_t)PyList_GET_SIZE(found) == count;
}

/* ---- the calls --------------------------------------------------------------------------- */

static bool set_grad_enabled_directly(bool enabled, bool *previous, loom_status *status) {
  entered here;
  PyObject *given = enabled ? Py_True : Py_False, *before;
  *status = enter(&here);
  if (*status != LOOM_OK) return true;
  before = core.direct ? PyObject_Vectorcall(core.set_grad_enabled, &given, 1, NULL) : NULL;
  if (before != NULL) *previous = before == Py_True;
  else if (core.direct) *status = python_error(false);
  Py_XDECREF(before);
  leave(&here);
  return core.direct;
}

/* A copy of memory whose size is right, of a dtype all of whose bytes are values. */
static bool from_host_directly(const void *data, size_t nbytes, loom_dtype dtype,
                               const int64_t *shape, size_t ndim, uint64_t *result,
                               loom_status *status) {
  entered here;
  PyObject *args[3] = {NULL, NULL, NULL}, *found = NULL;
  size_t left = nbytes, i;
  bool right = dtype > LOOM_BOOL && dtype <= LOOM_COMPLEX128 && nbytes != 0 && ndim <= 16;
  /* the extents divide the size, and nothing but an element is left */
  for (i = 0; right && i < ndim; ++i) {
    right = shape[i] > 0 && left % (uint64_t)shape[i] == 0;
    if (right) left /= (uint64_t)shape[i];
  }
  if (!right || left != dtypes[dtype].size || nbytes > PY_SSIZE_T_MAX) return false;
  *status = enter(&here);
  if (*status != LOOM_OK) return true;
  right = core.direct;
  if (right) {
    args[0] = PyMemoryView_FromMemory((char *)(uintptr_t)data, (Py_ssize_t)nbytes, PyBUF_READ);
    args[1] = core.dtypes[dtype];
    args[2] = PyTuple_New((Py_ssize_t)ndim);
    for (i = 0; args[2] != NULL && i < ndim; ++i) {
      PyObject *extent = PyLong_FromLongLong(shape[i]);
      if (extent == NULL) Py_CLEAR(args[2]);
      else PyTuple_SET_ITEM(args[2], (Py_ssize_t)i, extent);
    }
    if (args[0] != NULL && args[2] != NULL)
      found = call_here(core.from_memory, NULL, args, 3, NULL);
    if (found == NULL) *status = python_error(true);
    else *result = give(LOOMP_TENSOR, found, false);
    if (found != NULL && *result == 0)
      *status = fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for another handle");
    Py_XDECREF(found);
    Py_XDECREF(args[0]);
    Py_XDECREF(args[2]);
  }
  leave(&here);
  return right;
}

static bool detach_directly(uint64_t tensor, uint64_t *result, loom_status *status) {
  entered here;
  PyObject *value, *found;
  *status = enter(&here);
  if (*status != LOOM_OK) return true;
  value = core.direct ? value_of(tensor) : NULL;
  if (value != NULL) {
    found = PyObject_VectorcallMethod(core.detach_name, &value, 1, NULL);
    if (found == NULL) *status = python_error(false);
    else *result = give(LOOMP_TENSOR, found, false);
    if (found != NULL && *result == 0)
      *status = fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for another handle");
    Py_XDECREF(found);
    Py_DECREF(value);
  }
  leave(&here);
  return value != NULL;
}

static bool assign_directly(const uint64_t *targets, const uint64_t *values, size_t count,
                            loom_status *status) {
  entered here;
  PyObject *args[3] = {NULL, NULL, NULL}, *done = NULL;
  bool answered = false;
  *status = enter_to_compute(&here);
  if (*status != LOOM_OK) return true;
  if (core.direct && apart == 0) args[1] = list_of_values(values, count, false);
  if (args[1] != NULL && lists_of_tensors(targets, count, false, &args[0], &args[2])) {
    done = call_here(core.write_all, NULL, args, 3, NULL);
    answered = done != Py_False;
    if (done == NULL) *status = python_error(false);
  }
  Py_XDECREF(done);
  Py_XDECREF(args[0]);
  Py_XDECREF(args[1]);
  Py_XDECREF(args[2]);
  leave_computed(&here);
  return answered;
}

static bool grad_directly(const uint64_t *outputs, size_t output_count, const uint64_t *inputs,
                          size_t input_count, const uint64_t *cotangents, bool create_graph,
                          uint64_t *gradients, loom_status *status) {
  entered here;
  PyObject *args[4] = {NULL, NULL, NULL, NULL}, *found = NULL;
  bool right;
  size_t i;
  *status = enter_to_compute(&here);
  if (*status != LOOM_OK) return true;
  right = core.direct;
  if (right) args[0] = list_of_values(outputs, output_count, false);
  right = right && args[0] != NULL;
  if (right) args[1] = list_of_values(inputs, input_count, false);
  right = right && args[1] != NULL;
  if (right && cotangents != NULL) {
    args[2] = list_of_values(cotangents, output_count, true);
    right = args[2] != NULL;
  } else {
    args[2] = Py_None;
    Py_INCREF(Py_None);
  }
  if (right) {
    args[3] = create_graph ? Py_True : Py_False;
    found = call_here(core.gradients, NULL, args, 3, core.create_graph);
    if (found == NULL) {
      *status = python_error(false);
    } else if (!is_list(found, input_count)) {
      *status = fail(LOOM_ERROR_INTERNAL, "gradients() gave something else than a list");
    } else {
      /* without allow_unused there is a gradient for each input */
      *status = give_list(found, gradients, input_count);
    }
  }
  Py_XDECREF(found);
  for (i = 0; i < 3; ++i) Py_XDECREF(args[i]);
  leave_computed(&here);
  return right;
}

/* The number of bytes of a value that can be read by the buffer protocol; else SIZE_MAX. */
static size_t bytes_of(PyObject *value) {
  PyObject *type, *nbytes = NULL;
  size_t found = SIZE_MAX;
  const int dtype = dtype_of(value);
  if (dtype == 0 || dtype == LOOM_BFLOAT16) return SIZE_MAX;
  type = PyObject_GetAttr(value, core.type_name);
  if (type != NULL) nbytes = PyObject_GetAttr(type, core.nbytes_name);
  if (nbytes != NULL) found = PyLong_AsSize_t(nbytes);
  Py_XDECREF(nbytes);
  Py_XDECREF(type);
  PyErr_Clear();
  return found;
}

static bool read_directly(uint64_t tensor, void *buffer, size_t nbytes, loom_status *status) {
  entered here;
  PyObject *value, *array = NULL;
  bool answered = false;
  *status = enter_to_compute(&here);
  if (*status != LOOM_OK) return true;
  value = core.direct && apart == 0 ? value_of(tensor) : NULL;
  if (value != NULL && nbytes != SIZE_MAX && bytes_of(value) == nbytes) {
    Py_buffer view;
    array = call_here(core.look, NULL, &value, 1, NULL);
    if (array == NULL) {
      *status = python_error(false);
      answered = true;
    } else if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS) == 0) {
      answered = (size_t)view.len == nbytes;
      if (answered && nbytes != 0) memcpy(buffer, view.buf, nbytes);
      PyBuffer_Release(&view);
    } else {
      PyErr_Clear();
    }
  }
  Py_XDECREF(array);
  Py_XDECREF(value);
  leave_computed(&here);
  return answered;
}

static bool run_directly(uint64_t capture, const uint64_t *inputs, size_t input_count,
                         uint64_t *results, size_t result_count, loom_status *status) {
  entered here;
  PyObject *args[4] = {NULL, NULL, NULL, NULL}, *found = NULL;
  bool answered = false;
  size_t i;
  *status = enter_to_compute(&here);
  if (*status != LOOM_OK) return true;
  args[0] = core.direct && apart == 0 ? object_of(LOOMP_CAPTURE, capture) : NULL;
  Py_XINCREF(args[0]);
  if (args[0] != NULL) args[1] = list_of_values(inputs, input_count, false);
  if (args[1] != NULL && lists_of_tensors(inputs, input_count, true, &args[2], &args[3])) {
    PyObject *counted = PyLong_FromSize_t(result_count), *all[5];
    memcpy(all, args, sizeof args);
    all[4] = counted;
    if (counted != NULL) found = call_here(NULL, core.run_expected, all, 5, NULL);
    Py_XDECREF(counted);
    answered = found != Py_None;
    if (found == NULL) *status = python_error(false);
    else if (answered && !is_list(found, result_count))
      *status = fail(LOOM_ERROR_INTERNAL, "a capture gave something else than a list");
    else if (answered) *status = give_list(found, results, result_count);
  }
  Py_XDECREF(found);
  for (i = 0; i < 4; ++i) Py_XDECREF(args[i]);
  leave_computed(&here);
  return answered;
}
