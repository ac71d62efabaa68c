/* The start of the library and its end: an interpreter is opened, or the one that runs is joined. */

/* In the child of a fork. Before a start another thread may have been about to take the lock. */
static void forked(void) {
  pthread_mutex_init(&names_lock, NULL);
  pthread_mutex_init(&log_lock, NULL);
  if (state != COLD) state = FORKED;
  else pthread_mutex_init(&start_lock, NULL);
}

/* From the first moment on, because a thread may fork while another is at the start. */
__attribute__((constructor)) static void watch_forks(void) {
  (void)pthread_atfork(NULL, NULL, forked);
}

static void end(void) {
  if (state != FORKED) state = ENDED;
}

static void end_with_python(void) {
  python_ended = true;
  end();
}

/* Records the Python exception that is set as the reason why nothing could be started. */
static loom_status python_failed(const char *doing, const char *executable) {
  PyObject *kind = NULL, *value = NULL, *trace = NULL, *text = NULL;
  const char *reason = NULL;
  char message[1000];
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  if (value != NULL) text = PyObject_Str(value);
  if (text != NULL) reason = PyUnicode_AsUTF8(text);
  snprintf(message, sizeof message, "%s: %s (Python is %s)", doing,
           reason != NULL ? reason : "no reason is known", executable);
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(kind);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return fail(LOOM_ERROR_START, message);
}

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

/* Python's module ``signal`` puts a handler of Python's in the place of SIGINT's default action
   when it is first imported, whatever the configuration says. Where it finds another handler it
   leaves that: so there is one while it is imported, which passes on what came meanwhile. */
static int import_signal(void) {
  struct sigaction before, during;
  PyObject *module;
  const bool replaced = sigaction(SIGINT, NULL, &before) == 0 &&
                        !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
  if (replaced) {
    interrupted = 0;
    memset(&during, 0, sizeof during);
    during.sa_handler = note_interrupt;
    during.sa_flags = SA_RESTART;
    sigemptyset(&during.sa_mask);
    (void)sigaction(SIGINT, &during, NULL);
  }
  module = PyImport_ImportModule("signal");
  if (replaced) {
    (void)sigaction(SIGINT, &before, NULL);
    if (interrupted) (void)raise(SIGINT);
  }
  Py_XDECREF(module);
  return module != NULL;
}

static loom_status open_interpreter(const char *executable) {
  PyStatus status;
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  /* the executable's place is what leads Python to its virtual environment */
  status = PyConfig_SetBytesString(&config, &config.executable, executable);
  if (!PyStatus_Exception(status))
    status = PyConfig_SetBytesString(&config, &config.program_name, executable);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    char message[PATH_ROOM + 600];
    snprintf(message, sizeof message, "Python could not be started: %s (its executable is %s)",
             status.err_msg != NULL ? status.err_msg : "no reason is known", executable);
    return fail(LOOM_ERROR_START, message);
  }
  if (!import_signal()) {
    loom_status failed = python_failed(
        "Python's module signal could not be imported", executable);
    PyEval_SaveThread();
    return failed;
  }
  /* Python is not ended with the process: by the time exit() could do it, the C++
     objects of the libraries that Python has loaded are gone. */
  PyEval_SaveThread();
  return LOOM_OK;
}

static int import_cffi(void) {
  PyObject *module = PyImport_ImportModule("_cffi_backend");
  Py_XDECREF(module);
  return module != NULL;
}

static loom_status start_at(python_place *p) {
  loom_status status;
  static bool opened = false, watched = false;
  const char *executable = "that of this process";
  memset(p, 0, sizeof *p);
  status = load_python(p);
  if (status != LOOM_OK) return status;
  if (!Py_IsInitialized()) {
    if (getauxval(AT_SECURE) != 0) return other_rights();
    if (p->executable[0] == 0) status = find_environment(p);
    if (status == LOOM_OK) status = open_interpreter(p->executable);
    if (status != LOOM_OK) return status;
    executable = p->executable;
    opened = true;
  } else if (p->own[0] == 0) {
    /* only for where to import from, if that Python does not know */
    if (own_folder(p->own) && !place_recorded(p)) (void)place_by_path(p);
  }
  {
    char message[1200];
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!import_cffi()) status = python_failed("the Python package cffi could not be imported",
                                              executable);
    else if (other_library(message, sizeof message)) status = fail(LOOM_ERROR_START, message);
    else if (!offer_module()) status = python_failed("the library could not be set up", executable);
    else if (!watched) watched = Py_AtExit(end_with_python) == 0 && atexit(end) == 0;
#if PY_VERSION_HEX < 0x030C0000
    /* Before Python 3.12 cffi's start uses this type's version tag as a lock and takes it to be
       0, which it no longer is once anything (PyTorch does) looked up an attribute of a capsule.
       Forgetting the tag is harmless: it is given again at the next look-up. */
    PyType_Modified(&PyCapsule_Type);
#endif
    PyGILState_Release(gil);
  }
  if (status != LOOM_OK) return status;
  if (cffi_start_python() != 0)
    return fail(LOOM_ERROR_START, "cffi could not set up the library; it said why on stderr");
  return finish(loomp_start(p->packages, LOOM_BUILT_WORDS, opened));
}

static loom_status start(void) {
  /* four paths are more than a thread with a small stack has room for */
  python_place *place = (python_place *)malloc(sizeof *place);
  loom_status status;
  if (place == NULL) return fail(LOOM_ERROR_OUT_OF_MEMORY, "there is no memory for the start");
  status = start_at(place);
  free(place);
  return status;
}

loom_status loom_initialize(void) {
  loom_status status = LOOM_OK;
  int before;
  environment floats;
  if (state == RUNNING && ready()) return LOOM_OK;
  if (calls_back) return refused_to_callback(__func__);
  if (state == RUNNING || state == FORKED || state == ENDED) return not_ready();
  watch_thread();
  environment_set(&floats);
  pthread_mutex_lock(&start_lock);
  before = state;
  if (before != RUNNING && before != ENDED) {
    state = STARTING;
    status = stack_left() < STACK_NEEDED ? small_stack() : start();
    state = status == LOOM_OK ? RUNNING : before == STOPPED ? STOPPED : FAILED;
  }
  pthread_mutex_unlock(&start_lock);
  environment_restore(&floats);
  watch_thread();
  return status;
}

loom_status loom_shutdown(void) {
  loom_status status = LOOM_OK;
  if (state == FORKED) return not_ready();
  if (state == ENDED || thread_ended || !python_runs()) return LOOM_OK;
  if (calls_back) return refused_to_callback(__func__);
  if (function_left()) return not_ready();
  /* the call around the function has handles, and records what it gives */
  if (function_called != NULL) return refused_to_function(__func__);
  if (state == RUNNING && !ready()) return not_ready();
  pthread_mutex_lock(&start_lock);
  if (state == RUNNING) {
    state = STOPPED;
    status = CALL(loomp_shutdown());
  }
  pthread_mutex_unlock(&start_lock);
  return status;
}

bool loom_is_initialized(void) { return state == RUNNING && !thread_ended && Py_IsInitialized(); }

uint32_t loom_abi_version(void) {
  return (uint32_t)LOOM_ABI_MAJOR << 16 | (uint32_t)LOOM_ABI_MINOR;
}

const char *loom_version(void) { return LOOM_BUILT_VERSION; }

loom_status loom_set_option(loom_option option, int64_t value) {
  READY();
  return CALL(loomp_set_option((int)option, value));
}

loom_status loom_get_option(loom_option option, int64_t *value) {
  READY();
  NEED(value);
  return CALL(loomp_get_option((int)option, value));
}
