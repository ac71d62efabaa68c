/* Where Python is: the interpreter whose environment is opened, and libpython. The library is not
   linked with libpython, so that it loads in any process and holds no path of the machine that it
   was built on; the addresses of what it calls are looked up once, at the start, in
   python_symbols, which python_symbols.py makes. */

#define PATH_ROOM 4096
#define RECORD "liblazyloom.python"

/* Each is "" if it is not known. */
typedef struct python_place {
  char executable[PATH_ROOM];
  char library[PATH_ROOM];  /* libpython's file */
  char packages[PATH_ROOM]; /* folders to import lazyloom from, with colons between */
  char own[PATH_ROOM];      /* the folder of this library */
} python_place;

/* All of what the library calls in Python has been found. */
static bool python_found = false;

static bool python_runs(void) { return python_found && Py_IsInitialized(); }


/* Cuts the last part of a path off, and gives it; NULL where there is none. */
static char *cut_last(char *path) {
  char *slash = strrchr(path, '/');
  if (slash == NULL) return NULL;
  *slash = 0;
  return slash + 1;
}

static bool joined(char *to, const char *folder, const char *name) {
  const int n = snprintf(to, PATH_ROOM, "%s/%s", folder, name);
  if (n > 0 && n < PATH_ROOM) return true;
  to[0] = 0;
  return false;
}

static char loaded_from[PATH_ROOM];

/* From the first moment on: the path may be relative to a folder that the process leaves. */
__attribute__((constructor)) static void note_place(void) {
  Dl_info found;
  if (dladdr((void *)(uintptr_t)&note_place, &found) == 0 || found.dli_fname == NULL ||
      realpath(found.dli_fname, loaded_from) == NULL || cut_last(loaded_from) == NULL)
    loaded_from[0] = 0;
}

/* The folder that this library's file is in, with symbolic links resolved. */
static bool own_folder(char *to) {
  memcpy(to, loaded_from, sizeof loaded_from);
  return to[0] != 0;
}

/* What `python -m lazyloom_capi` wrote beside a library that cannot tell by its own place: the
   executable, libpython's file and the folders of the packages, a line each. */
static bool place_recorded(python_place *p) {
  char name[PATH_ROOM];
  char *const lines[] = {p->executable, p->library, p->packages};
  FILE *file;
  size_t i;
  if (!joined(name, p->own, RECORD)) return false;
  file = fopen(name, "re");
  if (file == NULL) return false;
  for (i = 0; i < sizeof lines / sizeof *lines; ++i) {
    if (fgets(lines[i], PATH_ROOM, file) == NULL) lines[i][0] = 0;
    lines[i][strcspn(lines[i], "\n")] = 0;
  }
  fclose(file);
  return p->executable[0] != 0;
}

/* The environment that the package lies in: PREFIX/lib/python3.N/site-packages/lazyloom_capi/lib
   belongs to PREFIX/bin/python3.N. build.py has the same rule. */
static bool place_by_path(python_place *p) {
  static const char *const names[] = {"bin/python" LOOM_BUILT_PYTHON, "bin/python3", "bin/python"};
  char path[PATH_ROOM];
  const char *part;
  size_t i;
  memcpy(path, p->own, sizeof path);
  part = cut_last(path);
  if (part == NULL || strcmp(part, "lib") != 0) return false;
  part = cut_last(path);
  if (part == NULL || strcmp(part, "lazyloom_capi") != 0) return false;
  memcpy(p->packages, path, sizeof path);
  part = cut_last(path);
  if (part == NULL || (strcmp(part, "site-packages") != 0 && strcmp(part, "dist-packages") != 0))
    return false;
  part = cut_last(path);
  if (part == NULL || (strcmp(part, "python" LOOM_BUILT_PYTHON) != 0 &&
                       strcmp(part, "python" LOOM_BUILT_PYTHON "t") != 0 &&
                       strcmp(part, "python3") != 0))
    return false;
  part = cut_last(path);
  if (part == NULL || (strcmp(part, "lib") != 0 && strcmp(part, "lib64") != 0)) return false;
  for (i = 0; i < sizeof names / sizeof *names; ++i)
    if (joined(p->executable, path, names[i]) && access(p->executable, F_OK) == 0) return true;
  /* for the message */
  (void)joined(p->executable, path, names[0]);
  return false;
}

/* libpython in the folders beside a folder with an interpreter. */
static bool library_beside(python_place *p, const char *folder_of_executable) {
  static const char *const folders[] = {"lib", "lib64", "lib/" LOOM_BUILT_MULTIARCH};
  char prefix[PATH_ROOM], name[PATH_ROOM];
  size_t i;
  if (!joined(prefix, folder_of_executable, "..")) return false;
  for (i = 0; i < sizeof folders / sizeof *folders; ++i) {
    if (snprintf(name, sizeof name, "%s/" LOOM_BUILT_LIBRARY, folders[i]) >= (int)sizeof name)
      continue;
    if (joined(p->library, prefix, name) && access(p->library, R_OK) == 0) return true;
  }
  p->library[0] = 0;
  return false;
}

/* libpython of the interpreter that an environment was made from. */
static void find_library(python_place *p) {
  char path[PATH_ROOM], line[PATH_ROOM];
  FILE *file;
  if (p->library[0] != 0 && access(p->library, R_OK) == 0) return;
  if (realpath(p->executable, path) != NULL && cut_last(path) != NULL && library_beside(p, path))
    return;
  /* an environment that has a copy of the interpreter says where it is from */
  memcpy(path, p->executable, sizeof path);
  if (cut_last(path) == NULL || cut_last(path) == NULL) return;
  if (strlen(path) + sizeof "/pyvenv.cfg" > sizeof path) return;
  strcat(path, "/pyvenv.cfg");
  file = fopen(path, "re");
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL) {
    char *value = strchr(line, '=');
    if (strncmp(line, "home", 4) != 0 || value == NULL) continue;
    for (++value; *value == ' '; ++value) continue;
    value[strcspn(value, "\r\n")] = 0;
    if (library_beside(p, value)) break;
  }
  fclose(file);
}

static loom_status other_rights(void) {
  return fail(LOOM_ERROR_START,
              "this program runs with other rights than those of who started it (set-user-ID, "
              "set-group-ID or capabilities), and environment variables say what code lazyloom "
              "and XLA load; expected a program without them, which such a one may start");
}

/* Fills in what is known; fails with what is missing. */
static loom_status find_environment(python_place *p) {
  char message[2 * PATH_ROOM];
  char gone[PATH_ROOM] = "";
  if (!own_folder(p->own)) {
    (void)snprintf(message, sizeof message,
                   "the place of the library's own file is not known, expected one on disk");
    return fail(LOOM_ERROR_START, message);
  }
  if (place_recorded(p)) {
    if (access(p->executable, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
      goto found;
    memcpy(gone, p->executable, sizeof gone);
  }
  memset(p->executable, 0, sizeof p->executable);
  p->library[0] = p->packages[0] = 0;
  if (!place_by_path(p)) {
    if (gone[0] == 0) memcpy(gone, p->executable, sizeof gone);
    if (gone[0] != 0)
      snprintf(message, sizeof message,
               "the Python environment that the library belongs to is gone: %s; build it again: "
               "python -m lazyloom_capi --build", gone);
    else
      snprintf(message, sizeof message,
               "the library in %s belongs to no Python environment: expected it in the package "
               "lazyloom_capi, where it was installed or built, or " RECORD " beside it, which "
               "is written where it is built; link with what `python -m lazyloom_capi --libs` "
               "prints", p->own);
    return fail(LOOM_ERROR_START, message);
  }
found:
  if (access(p->executable, X_OK) != 0) {
    snprintf(message, sizeof message,
             "the Python environment that the library belongs to cannot be used by this user: %s: "
             "%s; give it the rights, or build the library in another one",
             p->executable, strerror(errno));
    return fail(LOOM_ERROR_START, message);
  }
  find_library(p);
  return LOOM_OK;
}

/* Looks up all that is called, in the libraries of a handle. */
static loom_status find_symbols(void *handle) {
  size_t i;
  for (i = 0; i < sizeof python_symbols / sizeof *python_symbols; ++i) {
    void *found = dlsym(handle, python_symbols[i].name);
    if (found == NULL) {
      char message[300];
      snprintf(message, sizeof message,
               "the Python in this process has no %s: expected Python " LOOM_BUILT_PYTHON
               ", which the library was built for; build it again with that Python: "
               "python -m lazyloom_capi --build", python_symbols[i].name);
      return fail(LOOM_ERROR_START, message);
    }
    memcpy(python_symbols[i].at, &found, sizeof found);
  }
  python_found = true;
  return LOOM_OK;
}

/* The version of the Python that is found by a handle: LOOM_ERROR_START if it is another one. */
static loom_status check_version(void *handle) {
  const char *(*version)(void);
  void *found = dlsym(handle, "Py_GetVersion");
  const char *running;
  const size_t n = strlen(LOOM_BUILT_PYTHON);
  memcpy(&version, &found, sizeof version);
  running = found != NULL ? version() : "?";
  if (strncmp(running, LOOM_BUILT_PYTHON, n) == 0 && !(running[n] >= '0' && running[n] <= '9'))
    return LOOM_OK;
  {
    char message[300];
    snprintf(message, sizeof message,
             "the library was built for Python %s and this process has Python %.20s; build it "
             "again with that Python: python -m lazyloom_capi --build",
             LOOM_BUILT_PYTHON, running);
    return fail(LOOM_ERROR_START, message);
  }
}

/* Python that is in this process already, or libpython of the environment, opened so that Python's
   extension modules, which are not linked with it, find its symbols: those of one that a host
   opened with RTLD_LOCAL are made everybody's, too. */
static loom_status load_python(python_place *p) {
  void *handle = RTLD_DEFAULT; /* which is NULL */
  loom_status status;
  if (python_found) return LOOM_OK;
  if (dlsym(RTLD_DEFAULT, "Py_GetVersion") == NULL &&
      (handle = dlopen(LOOM_BUILT_LIBRARY, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL)) == NULL) {
    const char *name;
    if (getauxval(AT_SECURE) != 0) return other_rights();
    status = find_environment(p);
    if (status != LOOM_OK) return status;
    name = p->library[0] != 0 ? p->library : LOOM_BUILT_LIBRARY;
    handle = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
    if (handle == NULL) {
      char message[2 * PATH_ROOM];
      const char *reason = dlerror();
      snprintf(message, sizeof message,
               "libpython of the environment of %s cannot be loaded: %s; expected "
               LOOM_BUILT_LIBRARY " beside that Python, or where the system has its libraries: "
               "install it (on Debian and Ubuntu the package libpython" LOOM_BUILT_PYTHON "), or "
               "use a Python that has it, as those of conda and uv",
               p->executable, reason != NULL ? reason : "no reason is known");
      return fail(LOOM_ERROR_START, message);
    }
  }
  status = check_version(handle);
  return status == LOOM_OK ? find_symbols(handle) : status;
}
