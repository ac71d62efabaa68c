/* Recording an op: what every call of loom_apply() goes through.

   An op with its attributes and its number of operands is a Spec on the other side. The specs
   met are kept here by the bytes of the call that named them, compared in full, so that the
   same call again needs neither a dictionary of attributes nor a look at their names. What is
   then left is to find the operands' values and to call the core. Everything else, a call met
   for the first time and every call that is wrong in any way, goes to apply() of entries.py,
   which says what is wrong. */

/* what the core is called by; given by entries.py, never let go of */
static struct {
  PyObject *value, *scalar, *site, *unknown;           /* classes, and the site without a file */
  PyObject *record_one, *record_two, *record_number, *record_spec; /* functions of lazyloom */
  PyObject *apply, *failed;                            /* functions of the entries */
  PyObject *dtypes[16];                                /* by loom_dtype */
  PyObject *dtype_name, *value_name, *bake;            /* "dtype", "value", ("bake",) */
  bool direct; /* everything below was given, for direct.c */
  PyObject *tensor;                                    /* a class of the entries */
  PyObject *name_site, *set_grad_enabled, *gradients, *write_all, *look,
      *from_memory;                                      /* functions of lazyloom */
  PyObject *type_name, *nbytes_name, *leaf_name, *detach_name, *run_expected, *create_graph;
} core;

static const struct {
  const char *name;
  size_t size;
} dtypes[] = {
    {"", 0},        {"bool", 1},    {"int8", 1},    {"int16", 2},    {"int32", 4},   {"int64", 8},
    {"uint8", 1},   {"uint16", 2},  {"uint32", 4},  {"uint64", 8},   {"float16", 2},
    {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16},
};

/* ---- the specs of calls ------------------------------------------------------------- */

/* A call met before. Operand 63 and those after it share one bit. */
typedef struct call {
  uint64_t hash;
  PyObject *spec;
  size_t arity;       /* operands that are part of the structure */
  uint64_t shares;    /* bit i: operand i is of the dtype that operands share */
  uint64_t positions; /* bit i: operand i is an index, whose value is never structure */
  bool single;        /* one result, whatever the operands */
  size_t size;
  unsigned char key[];
} call;

/* The bytes of a call: the numbers of its operands and attributes, the name of the op, and of
   each attribute the name, the kind and the value. Texts end with their zero byte and lists
   begin with their length, so that different calls have different bytes. */
typedef struct key {
  unsigned char *bytes;
  size_t size, room;
  unsigned char few[512];
} key;

#define MOST_CALLS 8192
/* no op has more attributes, or more operands where some may be absent */
#define MOST_ATTRIBUTES 24
#define MOST_OPTIONAL 16
#ifndef HASH_MASK
#define HASH_MASK UINT64_MAX /* a test leaves less of it */
#endif

static call **calls = NULL;
static size_t calls_room = 0, calls_count = 0;

static bool key_add(key *k, const void *bytes, size_t size) {
  if (k->room - k->size < size) {
    size_t room = 2 * (k->size + size);
    unsigned char *larger = (unsigned char *)malloc(room);
    if (larger == NULL) return false;
    memcpy(larger, k->bytes, k->size);
    if (k->bytes != k->few) free(k->bytes);
    k->bytes = larger;
    k->room = room;
  }
  memcpy(k->bytes + k->size, bytes, size);
  k->size += size;
  return true;
}

static void key_free(key *k) {
  if (k->bytes != k->few) free(k->bytes);
}

static bool key_add_list(key *k, const void *elements, size_t count) {
  return (elements != NULL || count == 0) && count <= LONGEST &&
         key_add(k, &count, sizeof count) && (count == 0 || key_add(k, elements, count * 8));
}

static bool key_add_attribute(key *k, const loom_attr *a) {
  const unsigned char kind = (unsigned char)a->kind;
  if (a->name == NULL || (unsigned)a->kind > LOOM_ATTR_FLOATS ||
      !key_add(k, a->name, strlen(a->name) + 1) || !key_add(k, &kind, 1))
    return false;
  switch (a->kind) {
    case LOOM_ATTR_NONE: return true;
    case LOOM_ATTR_BOOL:
      /* any byte: C leaves open what to read another one than 0 and 1 as a bool does */
      return key_add(k, *(const unsigned char *)&a->value != 0 ? "\1" : "\0", 1);
    case LOOM_ATTR_INT: return key_add(k, &a->value.integer, sizeof a->value.integer);
    case LOOM_ATTR_FLOAT: return key_add(k, &a->value.real, sizeof a->value.real);
    case LOOM_ATTR_STR:
      return a->value.text != NULL && key_add(k, a->value.text, strlen(a->value.text) + 1);
    case LOOM_ATTR_DTYPE: return key_add(k, &a->value.dtype, sizeof a->value.dtype);
    case LOOM_ATTR_INTS: return key_add_list(k, a->value.integers, a->count);
    case LOOM_ATTR_FLOATS: return key_add_list(k, a->value.reals, a->count);
  }
  return false;
}

/* Fills in an empty key; false if the call has to go the general way, which looks at no more
   operands and attributes than the op has. */
static bool key_of(key *k, const char *op, const loom_operand *operands, size_t operand_count,
                   const loom_attr *attributes, size_t attribute_count) {
  size_t counts[3], i;
  if (attribute_count > MOST_ATTRIBUTES) return false;
  counts[0] = operand_count;
  counts[1] = operand_count;
  counts[2] = attribute_count;
  /* operands left out at the end may be no part of the structure; longer lists cannot be */
  if (operand_count <= MOST_OPTIONAL)
    while (counts[1] != 0 && operands[counts[1] - 1].kind == LOOM_OPERAND_NONE) --counts[1];
  if (!key_add(k, counts, sizeof counts) || !key_add(k, op, strlen(op) + 1)) return false;
  for (i = 0; i < attribute_count; ++i)
    if (!key_add_attribute(k, &attributes[i])) return false;
  return true;
}

static uint64_t hash_of(const unsigned char *bytes, size_t size) {
  uint64_t hash = size, word;
  for (; size >= 8; size -= 8, bytes += 8) {
    memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  word = 0;
  memcpy(&word, bytes, size);
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return (hash ^ hash >> 32) & HASH_MASK;
}

/* Where the call of these bytes is, or would be; calls_room is not 0. */
static size_t call_place(uint64_t hash, const unsigned char *bytes, size_t size) {
  size_t i = (size_t)hash & (calls_room - 1);
  while (calls[i] != NULL && (calls[i]->hash != hash || calls[i]->size != size ||
                              memcmp(calls[i]->key, bytes, size) != 0))
    i = (i + 1) & (calls_room - 1);
  return i;
}

static call *find_call(const key *k) {
  return calls_room == 0 ? NULL
                         : calls[call_place(hash_of(k->bytes, k->size), k->bytes, k->size)];
}

/* Makes room for another call; what has become too much is forgotten. */
static bool calls_make_room(void) {
  call **before = calls;
  const size_t room = calls_room;
  size_t i;
  if (calls_count >= MOST_CALLS) {
    for (i = 0; i < room; ++i) {
      if (before[i] == NULL) continue;
      /* not the last reference: specs are interned for ever */
      Py_DECREF(before[i]->spec);
      free(before[i]);
      before[i] = NULL;
    }
    calls_count = 0;
  }
  if (2 * (calls_count + 1) <= room) return true;
  calls = (call **)calloc(room ? 2 * room : 256, sizeof *calls);
  if (calls == NULL) {
    calls = before;
    return false;
  }
  calls_room = room ? 2 * room : 256;
  for (i = 0; i < room; ++i)
    if (before[i] != NULL)
      calls[call_place(before[i]->hash, before[i]->key, before[i]->size)] = before[i];
  free(before);
  return true;
}

/* Keeps what apply() said of a call: (spec, arity, shares, positions, single). */
static void keep_call(const key *k, PyObject *said) {
  const uint64_t hash = hash_of(k->bytes, k->size);
  call *c;
  size_t i;
  if (!PyTuple_Check(said) || PyTuple_GET_SIZE(said) != 5 || !calls_make_room()) return;
  i = call_place(hash, k->bytes, k->size);
  if (calls[i] != NULL) return;
  c = (call *)malloc(sizeof *c + k->size);
  if (c == NULL) return;
  c->hash = hash;
  c->arity = PyLong_AsSize_t(PyTuple_GET_ITEM(said, 1));
  c->shares = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(said, 2));
  c->positions = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(said, 3));
  c->single = PyObject_IsTrue(PyTuple_GET_ITEM(said, 4)) == 1;
  c->size = k->size;
  memcpy(c->key, k->bytes, k->size);
  if (PyErr_Occurred() != NULL) {
    PyErr_Clear();
    free(c);
    return;
  }
  c->spec = PyTuple_GET_ITEM(said, 0);
  Py_INCREF(c->spec);
  calls[i] = c;
  ++calls_count;
}

/* ---- the caller's place ---------------------------------------------------------------- */

/* A place is known by its pointer: what it points to is unchanged until the process ends. */
static struct {
  const char *file;
  int line;
  PyObject *site;
} sites[256];

/* The Site of the calling thread's source location, a new reference. Without a file it is
   None in a process of Python's, where the innermost line of Python counts. */
INLINED PyObject *site_here(void) {
  const char *file = source_file;
  const int line = source_line;
  size_t i;
  PyObject *site = opened_here ? core.unknown : Py_None;
  PyObject *before = NULL;
  if (file != NULL) {
    i = ((size_t)(uintptr_t)file * 31 + (size_t)line) % (sizeof sites / sizeof sites[0]);
    site = sites[i].site;
    if (sites[i].file != file || sites[i].line != line) {
      PyObject *name = PyUnicode_DecodeUTF8(file, (Py_ssize_t)strlen(file), "replace");
      if (name == NULL) return NULL;
      site = PyObject_CallFunction(core.site, "OiNi", Py_None, 0, name, line);
      if (site == NULL) return NULL;
      before = sites[i].site;
      sites[i].file = file;
      sites[i].line = line;
      sites[i].site = site;
    }
  }
  Py_INCREF(site);
  Py_XDECREF(before);
  return site;
}

/* ---- operands --------------------------------------------------------------------------- */

/* The kind of a dtype as a letter: bool, int, unsigned, float, complex. */
static char dtype_kind(int dtype) { return "?biiiiuuuuffffcc"[dtype]; }

/* Whether a number of that dtype can be made of it; what cannot is an error to be explained. */
static bool number_fits(const loom_operand *o, int dtype) {
  const char kind = dtype_kind(dtype);
  switch (o->kind) {
    case LOOM_OPERAND_BOOL: return true;
    case LOOM_OPERAND_INTEGER:
      if (kind == 'i' && dtype < LOOM_INT64) {
        const int64_t most = ((int64_t)1 << (8 * dtypes[dtype].size - 1)) - 1;
        return -most - 1 <= o->integer && o->integer <= most;
      }
      if (kind == 'u')
        return o->integer >= 0 &&
               (dtype == LOOM_UINT64 || o->integer < (int64_t)1 << (8 * dtypes[dtype].size));
      return kind != 'b';
    case LOOM_OPERAND_REAL: return kind == 'f' || kind == 'c';
    case LOOM_OPERAND_COMPLEX: return kind == 'c';
    default: return false;
  }
}

/* The dtype of a value, or 0. */
static int dtype_of(PyObject *value) {
  PyObject *found = PyObject_GetAttr(value, core.dtype_name);
  int i;
  if (found == NULL) {
    PyErr_Clear();
    return 0;
  }
  Py_DECREF(found);
  for (i = LOOM_BOOL; i <= LOOM_COMPLEX128; ++i)
    if (core.dtypes[i] == found) return i;
  return 0;
}

/* A Scalar of a number, or NULL with no exception. */
static PyObject *scalar_of(const loom_operand *o, int dtype, bool bake) {
  PyObject *args[3], *made;
  if (dtype < LOOM_BOOL || dtype > LOOM_COMPLEX128 || !number_fits(o, dtype)) return NULL;
  switch (o->kind) {
    case LOOM_OPERAND_BOOL: args[0] = PyBool_FromLong(o->integer != 0); break;
    case LOOM_OPERAND_INTEGER: args[0] = PyLong_FromLongLong(o->integer); break;
    case LOOM_OPERAND_REAL: args[0] = PyFloat_FromDouble(o->real); break;
    default: args[0] = PyComplex_FromDoubles(o->real, o->imaginary); break;
  }
  if (args[0] == NULL) {
    PyErr_Clear();
    return NULL;
  }
  args[1] = core.dtypes[dtype];
  args[2] = Py_False;
  made = PyObject_Vectorcall(core.scalar, args, 2, bake ? NULL : core.bake);
  Py_DECREF(args[0]);
  if (made == NULL) PyErr_Clear();
  return made;
}

/* The value of a tensor, a new reference, or NULL with no exception. */
INLINED PyObject *value_of(uint64_t bits) {
  PyObject *found = object_of(LOOMP_TENSOR, bits), *value;
  if (found == NULL) return NULL;
  Py_INCREF(found);
  if (Py_TYPE(found) == (PyTypeObject *)core.value) return found;
  /* one that was written or collects a gradient: a Tensor of serving.py */
  value = PyObject_GetAttr(found, core.value_name);
  Py_DECREF(found);
  if (value == NULL) PyErr_Clear();
  return value;
}

/* The dtype that a number without one takes, or 0: that of what it must share one with, if
   anything has one yet, and else its own kind's. */
static int shared_dtype(const call *c, size_t position, const loom_operand *operands, size_t count,
                        PyObject *const *values, const int *typed) {
  size_t i;
#define BIT(mask, i) ((mask) >> ((i) < 63 ? (i) : 63) & 1)
  if (BIT(c->shares, position)) {
    for (i = 0; i < count; ++i) {
      if (values[i] == NULL || values[i] == Py_None || !BIT(c->shares, i)) continue;
      return typed[i] != 0 ? typed[i] : dtype_of(values[i]);
    }
  }
  switch (operands[position].kind) {
    case LOOM_OPERAND_BOOL: return LOOM_BOOL;
    case LOOM_OPERAND_INTEGER: return LOOM_INT64;
    case LOOM_OPERAND_REAL: return LOOM_FLOAT64;
    default: return LOOM_COMPLEX128;
  }
}

/* The operands as the core takes them, new references; false, with none held and no exception,
   if any of them is not as it should be. */
static bool values_of(const call *c, const loom_operand *operands, size_t count, PyObject **values,
                      int *typed) {
  size_t i, left = 0;
  bool right = true;
  memset(values, 0, count * sizeof *values);
  for (i = 0; right && i < count; ++i) {
    typed[i] = 0;
    if (operands[i].kind == LOOM_OPERAND_TENSOR) {
      values[i] = value_of(operands[i].tensor);
      right = values[i] != NULL;
    } else if (operands[i].kind == LOOM_OPERAND_NONE) {
      Py_INCREF(Py_None);
      values[i] = Py_None;
    } else if (operands[i].dtype == LOOM_DTYPE_NONE) {
      ++left;
    } else {
      typed[i] = (int)operands[i].dtype;
      values[i] = scalar_of(&operands[i], typed[i], !BIT(c->positions, i));
      right = values[i] != NULL;
    }
  }
  for (i = 0; right && left != 0 && i < count; ++i) {
    if (values[i] != NULL) continue;
    typed[i] = shared_dtype(c, i, operands, count, values, typed);
    values[i] = scalar_of(&operands[i], typed[i], !BIT(c->positions, i));
    right = values[i] != NULL;
    --left;
  }
  if (!right)
    for (i = 0; i < count; ++i) Py_CLEAR(values[i]);
  return right;
}

/* ---- the call ----------------------------------------------------------------------------- */

/* Records the Python exception that is set as the error of this thread, which is ``here``, at the
   thread's source location, or where it says. */
static loom_status python_error(bool here) {
  PyObject *kind = NULL, *value = NULL, *trace = NULL, *answer;
  loom_status status = LOOM_ERROR_INTERNAL;
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  answer = PyObject_CallFunctionObjArgs(core.failed, kind, value, trace != NULL ? trace : Py_None,
                                        NULL);
  if (answer != NULL) status = (loom_status)-PyLong_AsLong(answer);
  if (answer == NULL || PyErr_Occurred() != NULL) {
    PyErr_Clear();
    status = finish(0);
  } else if (here && source_file != NULL) {
    error_at_source();
  }
  Py_XDECREF(answer);
  Py_XDECREF(kind);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return status;
}

/* Records a call met before; a Value or a tuple of them, or NULL with an exception. */
static PyObject *record_known(const call *c, PyObject **values, bool source, PyObject *site) {
  PyObject *args[5], *result;
  const bool plain = c->single && !source;
#define IS(thing, type) (Py_TYPE(thing) == (PyTypeObject *)core.type)
  args[0] = c->spec;
  if (plain && c->arity == 2 && IS(values[0], value) && IS(values[1], value)) {
    args[1] = values[0];
    args[2] = values[1];
    args[3] = site;
    return PyObject_Vectorcall(core.record_two, args, 4, NULL);
  }
  if (plain && c->arity == 1 && IS(values[0], value)) {
    args[1] = values[0];
    args[2] = site;
    return PyObject_Vectorcall(core.record_one, args, 3, NULL);
  }
  if (plain && c->arity == 2 && ((IS(values[0], value) && IS(values[1], scalar)) ||
                                 (IS(values[0], scalar) && IS(values[1], value)))) {
    const bool reverse = IS(values[0], scalar);
    args[1] = values[reverse ? 1 : 0];
    args[2] = values[reverse ? 0 : 1];
    args[3] = reverse ? Py_True : Py_False;
    args[4] = site;
    return PyObject_Vectorcall(core.record_number, args, 5, NULL);
  }
  args[1] = PyTuple_New((Py_ssize_t)c->arity);
  if (args[1] == NULL) return NULL;
  for (size_t i = 0; i < c->arity; ++i) {
    Py_INCREF(values[i]);
    PyTuple_SET_ITEM(args[1], (Py_ssize_t)i, values[i]);
  }
  args[2] = source ? Py_True : Py_False;
  args[3] = site;
  result = PyObject_Vectorcall(core.record_spec, args, 4, NULL);
  Py_DECREF(args[1]);
  return result;
}

/* Any call, by apply() of entries.py. */
static PyObject *record_any(const key *k, bool source, const char *op, const loom_operand *operands,
                            size_t operand_count, const loom_attr *attributes,
                            size_t attribute_count) {
  PyObject *result = NULL;
  PyObject *said = PyObject_CallFunction(
      core.apply, "iKKnKnKi", (int)source, (unsigned long long)(uintptr_t)op,
      (unsigned long long)(uintptr_t)operands, (Py_ssize_t)operand_count,
      (unsigned long long)(uintptr_t)attributes, (Py_ssize_t)attribute_count,
      (unsigned long long)(uintptr_t)source_file, source_line);
  if (said == NULL) return NULL;
  if (PyTuple_Check(said) && PyTuple_GET_SIZE(said) == 2) {
    if (k != NULL) keep_call(k, PyTuple_GET_ITEM(said, 1));
    result = PyTuple_GET_ITEM(said, 0);
    Py_INCREF(result);
  } else {
    PyErr_SetString(PyExc_TypeError, "apply() gave something else than a pair");
  }
  Py_DECREF(said);
  return result;
}

/* Gives the results away as handles; the error is recorded. */
static loom_status give_results(const char *op, PyObject *recorded, loom_tensor *results,
                                size_t capacity, size_t *result_count) {
  const bool one = !PyTuple_Check(recorded);
  const size_t count = one ? 1 : (size_t)PyTuple_GET_SIZE(recorded);
  size_t i;
  *result_count = count;
  if (capacity < count) {
    char text[200];
    snprintf(text, sizeof text, "%.80s: capacity is %zu, expected %zu for its result%s", op,
             capacity, count, one ? "" : "s");
    loomp_set_error(LOOM_ERROR_ARGUMENT, text, op, "");
    return LOOM_ERROR_ARGUMENT;
  }
  for (i = 0; i < count; ++i) {
    results[i].bits = give(LOOMP_TENSOR, one ? recorded : PyTuple_GET_ITEM(recorded, (Py_ssize_t)i),
                           true);
    if (results[i].bits != 0) continue;
    while (i != 0) {
      (void)release(LOOMP_TENSOR, results[--i].bits);
      results[i].bits = 0;
    }
    return fail(LOOM_ERROR_INTERNAL, "there is no memory for another handle");
  }
  return LOOM_OK;
}

static loom_status record(bool source, const char *op, const loom_operand *operands,
                          size_t operand_count, const loom_attr *attributes,
                          size_t attribute_count, loom_tensor *results, size_t capacity,
                          size_t *result_count) {
  entered here;
  PyObject *few[16], **values = few, *recorded = NULL;
  int few_typed[16], *typed = few_typed;
  key k;
  bool keyed;
  call *found, c;
  size_t i;
  loom_status status = enter(&here);
  if (status != LOOM_OK) return status;
  k.bytes = k.few;
  k.size = 0;
  k.room = sizeof k.few;
  keyed = key_of(&k, op, operands, operand_count, attributes, attribute_count);
  found = keyed ? find_call(&k) : NULL;
  /* a copy, because another thread may forget the call while the core is at work */
  if (found != NULL) c = *found;
  if (found != NULL && operand_count > sizeof few / sizeof few[0]) {
    values = (PyObject **)malloc(operand_count * (sizeof *values + sizeof *typed));
    typed = (int *)(values + operand_count);
  }
  if (found != NULL && values != NULL &&
      values_of(&c, operands, operand_count, values, typed)) {
    PyObject *site = site_here();
    if (site != NULL) recorded = record_known(&c, values, source, site);
    Py_XDECREF(site);
    for (i = 0; i < operand_count; ++i) Py_DECREF(values[i]);
  } else {
    recorded = record_any(keyed ? &k : NULL, source, op, operands, operand_count, attributes,
                          attribute_count);
  }
  /* an error of a call that records is at the caller's line */
  status = recorded == NULL ? python_error(true)
                            : give_results(op, recorded, results, capacity, result_count);
  Py_XDECREF(recorded);
  if (values != few) free(values);
  key_free(&k);
  leave(&here);
  return status;
}

/* Takes what is to be called from a dict of entries.py. */
static PyObject *recording_setup(PyObject *self, PyObject *given) {
  static const struct {
    const char *name;
    PyObject **place;
  } wanted[] = {
      {"Value", &core.value},           {"Scalar", &core.scalar},
      {"Site", &core.site},             {"unknown", &core.unknown},
      {"record_one", &core.record_one}, {"record_two", &core.record_two},
      {"record_number", &core.record_number}, {"record_spec", &core.record_spec},
      {"apply", &core.apply},
      {"failed", &core.failed},         {"HandleError", &handle_error},
  };
  /* what a package has that is not older than direct.c */
  static const struct {
    const char *name;
    PyObject **place;
  } welcome[] = {
      {"Tensor", &core.tensor},
      {"name_site", &core.name_site},
      {"gradients", &core.gradients},
      {"set_grad_enabled", &core.set_grad_enabled},
      {"write_all", &core.write_all},
      {"look", &core.look},
      {"from_memory", &core.from_memory},
  };
  static const struct {
    PyObject **place;
    const char *text;
  } names[] = {
      {&core.dtype_name, "dtype"},   {&core.value_name, "value"},   {&core.type_name, "type"},
      {&core.nbytes_name, "nbytes"}, {&core.leaf_name, "leaf"},     {&core.detach_name, "detach"},
      {&core.run_expected, "run_expected"},
  };
  PyObject *dtypes_given, *found;
  size_t i;
  (void)self;
  if (!PyDict_Check(given)) return PyErr_Format(PyExc_TypeError, "a dict is expected");
  for (i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
    found = PyDict_GetItemString(given, wanted[i].name);
    if (found == NULL) return PyErr_Format(PyExc_KeyError, "%s is missing", wanted[i].name);
    Py_INCREF(found);
    Py_XDECREF(*wanted[i].place);
    *wanted[i].place = found;
  }
  dtypes_given = PyDict_GetItemString(given, "dtypes");
  found = PyDict_GetItemString(given, "opened");
  if (found == NULL || dtypes_given == NULL || !PyTuple_Check(dtypes_given) ||
      PyTuple_GET_SIZE(dtypes_given) != LOOM_COMPLEX128)
    return PyErr_Format(PyExc_TypeError, "the dtypes are expected in the order of loom_dtype");
  opened_here = PyObject_IsTrue(found) == 1;
  for (i = 1; i <= LOOM_COMPLEX128; ++i) {
    core.dtypes[i] = PyTuple_GET_ITEM(dtypes_given, (Py_ssize_t)i - 1);
    Py_INCREF(core.dtypes[i]);
  }
  core.direct = true;
  for (i = 0; i < sizeof welcome / sizeof welcome[0]; ++i) {
    found = PyDict_GetItemString(given, welcome[i].name);
    core.direct = core.direct && found != NULL;
    Py_XINCREF(found);
    Py_XDECREF(*welcome[i].place);
    *welcome[i].place = found;
  }
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (*names[i].place == NULL) *names[i].place = PyUnicode_InternFromString(names[i].text);
    if (*names[i].place == NULL) return NULL;
  }
  if (core.bake == NULL) core.bake = Py_BuildValue("(s)", "bake");
  if (core.create_graph == NULL) core.create_graph = Py_BuildValue("(s)", "create_graph");
  if (core.bake == NULL || core.create_graph == NULL) return NULL;
  Py_RETURN_NONE;
}
