/* Handles: 64-bit values that stand for Python objects, found without looking anything up.

   A handle is kind << 56 | generation << 26 | index of a slot. A slot's generation grows each
   time it is used again, and a slot whose generations are spent is never used again, so that
   a value is given out once. Owners are counted in the slot's word, beside the generation, by
   compare and swap: to retain and to release needs no lock. The object of a released handle
   stays in its slot until a call that holds the interpreter's lock takes it out: every call
   that takes the lock does so first. */

#define INDEX_BITS 26
#ifndef GENERATION_BITS
#define GENERATION_BITS 30 /* a test has fewer */
#endif
#define KIND_SHIFT (INDEX_BITS + GENERATION_BITS)
#define CHUNK_BITS 12
#define CHUNK ((uint32_t)1 << CHUNK_BITS)
#define NO_SLOT 0xffffffffu
/* how many released handles may keep their objects until the next call */
#define MOST_WAITING 64

typedef struct slot {
  uint64_t word;    /* generation << 32 | owners; nobody owns what is free or released */
  PyObject *object; /* changed under the interpreter's lock only */
  uint32_t next;    /* in the list of free slots, or of released ones */
  uint32_t epoch;   /* the epoch at the giving of what was pending then */
  int kind;
} slot;

static slot *chunks[1 << (INDEX_BITS - CHUNK_BITS)];
static uint32_t slots_made = 0;          /* written under the interpreter's lock */
static uint32_t free_slots = NO_SLOT;    /* under the interpreter's lock */
static uint32_t released = NO_SLOT;      /* a list that anybody pushes to, taken as a whole */
static uint32_t waiting = 0;             /* about how long that list is */
static uint64_t live = 0;
/* Counts the calls that may have computed something: what was given out as pending in an
   older epoch may hold memory by now. 0 is the epoch of what was not pending. */
static uint32_t epoch = 1;
static bool opened_here = false;         /* the library opened the interpreter itself */
static PyObject *handle_error = NULL;    /* lazyloom.errors.HandleError */

/* what recording an op consists of stays a part of it, from wherever else it is called */
#define INLINED static inline __attribute__((always_inline))
#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

static slot *slot_at(uint32_t index) {
  return &chunks[index >> CHUNK_BITS][index & (CHUNK - 1)];
}

/* The slot of a handle, if it was ever given out; whether it is alive its word says. */
static slot *slot_of(int kind, uint64_t bits) {
  const uint32_t index = (uint32_t)bits & (((uint32_t)1 << INDEX_BITS) - 1);
  slot *s;
  if (bits >> KIND_SHIFT != (uint64_t)kind) return NULL;
  if (index >= __atomic_load_n(&slots_made, __ATOMIC_ACQUIRE)) return NULL;
  s = slot_at(index);
  return s;
}

static uint32_t generation_of(uint64_t bits) {
  return (uint32_t)(bits >> INDEX_BITS) & (((uint32_t)1 << GENERATION_BITS) - 1);
}

/* Whether a handle of that word's slot and that generation is alive. */
static bool alive(uint64_t word, uint64_t bits) {
  return word >> 32 == generation_of(bits) && (uint32_t)word != 0;
}

/* The slot of a live handle of that kind, or NULL. */
static slot *live_slot(int kind, uint64_t bits) {
  slot *s = slot_of(kind, bits);
  if (s == NULL || !alive(__atomic_load_n(&s->word, __ATOMIC_ACQUIRE), bits) || LOAD(s->kind) != kind)
    return NULL;
  return s;
}

/* ---- with the interpreter's lock --------------------------------------------------- */

/* Takes the objects of released handles out of their slots and lets go of them. */
static void drain(void) {
  uint32_t index = __atomic_exchange_n(&released, NO_SLOT, __ATOMIC_ACQUIRE);
  __atomic_store_n(&waiting, 0, __ATOMIC_RELAXED);
  while (index != NO_SLOT) {
    slot *s = slot_at(index);
    PyObject *object = s->object;
    const uint32_t next = s->next, generation = (uint32_t)(s->word >> 32) + 1;
    s->object = NULL;
    if (generation >> GENERATION_BITS == 0) {
      __atomic_store_n(&s->word, (uint64_t)generation << 32, __ATOMIC_RELEASE);
      s->next = free_slots;
      free_slots = index;
    }
    /* last, because it may call back */
    Py_DECREF(object);
    index = next;
  }
}

/* A free slot, or NO_SLOT where there is no memory for more or no number left. */
static uint32_t new_slots(void) {
  const uint32_t first = slots_made;
  uint32_t i;
  slot *chunk;
  if (first >> INDEX_BITS != 0) return NO_SLOT;
  chunk = (slot *)calloc(CHUNK, sizeof *chunk);
  if (chunk == NULL) return NO_SLOT;
  for (i = 0; i < CHUNK; ++i) {
    chunk[i].word = (uint64_t)1 << 32;
    chunk[i].next = i + 1 < CHUNK ? first + i + 1 : free_slots;
  }
  chunks[first >> CHUNK_BITS] = chunk;
  __atomic_store_n(&slots_made, first + CHUNK, __ATOMIC_RELEASE);
  free_slots = first;
  return first;
}

/* A new handle for an object, of which it keeps a reference; 0 where there is no room. */
INLINED uint64_t give(int kind, PyObject *object, bool pending) {
  uint32_t index = free_slots;
  uint32_t generation;
  slot *s;
  if (index == NO_SLOT) index = new_slots();
  if (index == NO_SLOT) return 0;
  s = slot_at(index);
  free_slots = s->next;
  generation = (uint32_t)(s->word >> 32);
  __atomic_store_n(&s->kind, kind, __ATOMIC_RELAXED);
  __atomic_store_n(&s->epoch, pending ? LOAD(epoch) : 0, __ATOMIC_RELAXED);
  Py_INCREF(object);
  s->object = object;
  __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&s->word, (uint64_t)generation << 32 | 1, __ATOMIC_RELEASE);
  return (uint64_t)kind << KIND_SHIFT | (uint64_t)generation << INDEX_BITS | index;
}

/* The object of a live handle, borrowed, or NULL. */
static PyObject *object_of(int kind, uint64_t bits) {
  slot *s = live_slot(kind, bits);
  return s == NULL ? NULL : s->object;
}

typedef struct entered {
  PyGILState_STATE gil;
  environment floats;
} entered;

/* Takes the interpreter's lock, for a thread of any origin that is ready(); leave() gives it
   back. */
INLINED loom_status enter(entered *e) {
  environment_set(&e->floats);
  if (PyGILState_GetThisThreadState() == NULL) {
    /* what cffi makes for a thread lasts as long as the thread; PyGILState_Ensure() alone would
       make a new one for each call */
    loom_status status = finish(loomp_enter());
    if (status != LOOM_OK) {
      environment_restore(&e->floats);
      return status;
    }
  }
  e->gil = PyGILState_Ensure();
  if (LOAD(released) != NO_SLOT) drain();
  return LOOM_OK;
}

INLINED void leave(entered *e) {
  PyGILState_Release(e->gil);
  environment_restore(&e->floats);
}

/* Before a call that may compute, or look at what is alive. */
static void flush(void) {
  __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
  if (LOAD(released) != NO_SLOT) {
    entered here;
    if (enter(&here) == LOOM_OK) leave(&here);
  }
}

/* ---- from any thread, without any lock ---------------------------------------------- */

static const char *kind_name(int kind) {
  static const char *const names[] = {"", "loom_tensor", "loom_buffer", "loom_program",
                                      "loom_capture", "loom_linear_map", "DLPack tensor",
                                      "loom_quantized", "loom_exported"};
  return names[kind >= LOOMP_TENSOR && kind <= LOOMP_EXPORTED ? kind : 0];
}

/* Says why these bits are no live handle of that kind. */
static void explain(int kind, uint64_t bits, char *text, size_t size) {
  const char *expected = kind_name(kind);
  const int given = (int)(bits >> KIND_SHIFT);
  const unsigned long long shown = bits;
  const slot *s = kind_name(given)[0] ? slot_of(given, bits) : NULL;
  if (bits == 0) {
    snprintf(text, size, "the null handle was given, expected a %s", expected);
  } else if (given != kind && live_slot(given, bits) != NULL) {
    snprintf(text, size, "a %s was given (%#018llx), expected a %s", kind_name(given), shown,
             expected);
  } else if (s == NULL || LOAD(s->word) >> 32 < generation_of(bits)) {
    snprintf(text, size,
             "%#018llx was never given out as a handle, expected a %s; was the variable set?",
             shown, expected);
  } else {
    snprintf(text, size,
             "the %s %#018llx is stale: it was released, or lazyloom was shut down since; expected "
             "a live %s", kind_name(given), shown, expected);
  }
}

static loom_status no_handle(int kind, uint64_t bits) {
  char text[200];
  explain(kind, bits, text, sizeof text);
  return fail(LOOM_ERROR_HANDLE, text);
}

static loom_status retain(int kind, uint64_t bits) {
  slot *s = slot_of(kind, bits);
  uint64_t word = s == NULL ? 0 : __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
  do {
    if (s == NULL || !alive(word, bits) || LOAD(s->kind) != kind) return no_handle(kind, bits);
    if ((uint32_t)word == 0xffffffffu)
      return fail(LOOM_ERROR_ARGUMENT, "the handle has as many owners as can be counted");
  } while (!__atomic_compare_exchange_n(&s->word, &word, word + 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
  return LOOM_OK;
}

/* Gives up one ownership. What holds no memory but the record of an operation may be let go of by
   the next call, which costs less; where not, ``at_once`` says so. */
static loom_status give_up(int kind, uint64_t bits, bool *at_once) {
  slot *s = slot_of(kind, bits);
  uint64_t word = s == NULL ? 0 : __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
  const uint32_t index = (uint32_t)bits & (((uint32_t)1 << INDEX_BITS) - 1);
  uint32_t first;
  bool may_wait = false;
  do {
    if (s == NULL || !alive(word, bits) || LOAD(s->kind) != kind) return no_handle(kind, bits);
    may_wait = opened_here && LOAD(s->epoch) == LOAD(epoch);
  } while (!__atomic_compare_exchange_n(&s->word, &word, word - 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
  if ((uint32_t)word != 1) return LOOM_OK;
  first = LOAD(released);
  do {
    s->next = first;
  } while (!__atomic_compare_exchange_n(&released, &first, index, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
  if (__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED) == 0) may_wait = false;
  if (!may_wait || __atomic_add_fetch(&waiting, 1, __ATOMIC_RELAXED) > MOST_WAITING)
    *at_once = true;
  return LOOM_OK;
}

/* Lets go of what was given up. */
static loom_status let_go_now(void) {
  entered here;
  loom_status status;
  /* on a thread that ends, or has no stack left, it is left to the next call elsewhere; after
     loom_shutdown() there may be none */
  if ((state != RUNNING && state != STOPPED) || !can_enter()) return LOOM_OK;
  status = enter(&here);
  if (status == LOOM_OK) leave(&here);
  return status;
}

static loom_status release(int kind, uint64_t bits) {
  bool at_once = false;
  const loom_status status = give_up(kind, bits, &at_once);
  return at_once ? let_go_now() : status;
}

/* release() of a parameter of a function; the null handle is skipped. */
static loom_status release_named(int kind, uint64_t bits, const char *function,
                                 const char *parameter) {
  return bits ? about_handle(release(kind, bits), function, parameter) : LOOM_OK;
}

/* ---- for the entries in Python -------------------------------------------------------- */

static bool two_numbers(PyObject *const *args, Py_ssize_t count, int *kind, uint64_t *bits) {
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError, "a kind and a handle are expected");
    return false;
  }
  *kind = (int)PyLong_AsLong(args[0]);
  *bits = PyLong_AsUnsignedLongLong(args[1]);
  return PyErr_Occurred() == NULL;
}

static PyObject *handles_give(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  uint64_t bits;
  (void)self;
  if (count != 2) return PyErr_Format(PyExc_TypeError, "a kind and an object are expected");
  bits = give((int)PyLong_AsLong(args[0]), args[1], false);
  if (PyErr_Occurred() != NULL) return NULL;
  return bits != 0 ? PyLong_FromUnsignedLongLong(bits) : PyErr_NoMemory();
}

static PyObject *handles_find(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  int kind;
  uint64_t bits;
  PyObject *object;
  (void)self;
  if (!two_numbers(args, count, &kind, &bits)) return NULL;
  object = object_of(kind, bits);
  if (object == NULL) {
    char text[200];
    explain(kind, bits, text, sizeof text);
    PyErr_SetString(handle_error, text);
    return NULL;
  }
  Py_INCREF(object);
  return object;
}

static PyObject *handles_replace(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  int kind;
  uint64_t bits;
  slot *s;
  (void)self;
  if (!two_numbers(args, count, &kind, &bits)) return NULL;
  s = live_slot(kind, bits);
  if (s != NULL && count == 3) {
    PyObject *before = s->object;
    Py_INCREF(args[2]);
    s->object = args[2];
    /* it can be written from now on, and what is written may hold memory */
    __atomic_store_n(&s->epoch, 0, __ATOMIC_RELAXED);
    Py_DECREF(before);
  }
  Py_RETURN_NONE;
}

/* Makes every handle stale, but leaves memory that another library has; gives the objects of the
   tensors among them. */
static PyObject *handles_release_all(PyObject *self, PyObject *ignored) {
  PyObject *tensors = PyList_New(0), *others = PyList_New(0);
  uint32_t i;
  (void)self;
  (void)ignored;
  for (i = 0; tensors != NULL && others != NULL && i < slots_made; ++i) {
    slot *s = slot_at(i);
    const uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
    uint32_t first;
    if ((uint32_t)word == 0 || s->kind == LOOMP_EXPORT) continue;
    if (PyList_Append(s->kind == LOOMP_TENSOR ? tensors : others, s->object) != 0) break;
    __atomic_store_n(&s->word, word >> 32 << 32, __ATOMIC_RELEASE);
    first = LOAD(released);
    do {
      s->next = first;
    } while (!__atomic_compare_exchange_n(&released, &first, i, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  }
  if (PyErr_Occurred() == NULL) drain();
  Py_XDECREF(others);
  if (PyErr_Occurred() != NULL) Py_CLEAR(tensors);
  return tensors;
}

/* The objects of the live handles of tensors. */
static PyObject *handles_tensors(PyObject *self, PyObject *ignored) {
  PyObject *tensors = PyList_New(0);
  uint32_t i;
  (void)self;
  (void)ignored;
  for (i = 0; tensors != NULL && i < slots_made; ++i) {
    const slot *s = slot_at(i);
    if ((uint32_t)LOAD(s->word) == 0 || s->kind != LOOMP_TENSOR || s->object == NULL) continue;
    if (PyList_Append(tensors, s->object) != 0) Py_CLEAR(tensors);
  }
  return tensors;
}

static PyObject *recording_setup(PyObject *self, PyObject *given);
static PyObject *handles_apart(PyObject *self, PyObject *by);

static PyMethodDef handles_methods[] = {
    {"give", (PyCFunction)(void (*)(void))handles_give, METH_FASTCALL, NULL},
    {"find", (PyCFunction)(void (*)(void))handles_find, METH_FASTCALL, NULL},
    {"replace", (PyCFunction)(void (*)(void))handles_replace, METH_FASTCALL, NULL},
    {"release_all", handles_release_all, METH_NOARGS, NULL},
    {"tensors", handles_tensors, METH_NOARGS, NULL},
    {"setup", recording_setup, METH_O, NULL},
    {"apart", handles_apart, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef handles_module = {
    PyModuleDef_HEAD_INIT, "_lazyloom_shims", NULL, -1, handles_methods, NULL, NULL, NULL, NULL,
};

/* Makes this side known to the entries, as the module _lazyloom_shims. */
/* The file that this library was loaded from. */
static const char *own_file(void) {
  Dl_info found;
  const bool known = dladdr((void *)(uintptr_t)&own_file, &found) != 0;
  return known && found.dli_fname != NULL ? found.dli_fname : "a file that is not known";
}

/* Whether another copy of this library has been started in this process, and what to say. Both
   would give the interpreter modules of one name. */
static bool other_library(char *message, size_t room) {
  PyObject *found = PyDict_GetItemString(PyImport_GetModuleDict(), "_lazyloom_shims");
  PyObject *place, *file;
  const char *path = NULL;
  if (found == NULL) return false;
  place = PyObject_GetAttrString(found, "library");
  if (place != NULL && PyLong_AsVoidPtr(place) == (void *)&handles_module) {
    Py_DECREF(place);
    return false;
  }
  PyErr_Clear();
  file = PyObject_GetAttrString(found, "file");
  if (file != NULL) path = PyUnicode_AsUTF8(file);
  PyErr_Clear();
  snprintf(message, room,
           "this process has started another copy of the library, %s, and tries to start %s; load "
           "one of them, by one path", path != NULL ? path : "a file that is not known", own_file());
  Py_XDECREF(place);
  Py_XDECREF(file);
  return true;
}

static bool offer_module(void) {
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *module;
  if (PyDict_GetItemString(modules, "_lazyloom_shims") != NULL) return true;
  module = PyModule_Create(&handles_module);
  if (module == NULL) return false;
  if (PyModule_AddObject(module, "library", PyLong_FromVoidPtr((void *)&handles_module)) != 0 ||
      PyModule_AddObject(module, "file", PyUnicode_DecodeFSDefault(own_file())) != 0) {
    Py_DECREF(module);
    return false;
  }
  if (PyDict_SetItemString(modules, "_lazyloom_shims", module) != 0) Py_CLEAR(module);
  Py_XDECREF(module);
  return module != NULL;
}
