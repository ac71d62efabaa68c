/* sequences.c: programs and caches in files. They lie in the working directory, one set a thread,
   and may be damaged. */
#ifndef SEQUENCES_FILES_H
#define SEQUENCES_FILES_H

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "sequences_observe.h"

/* A file's name, of one that may be there, or one that cannot be. */
static const char *some_path(worker *w, const char *kind) {
  static __thread char path[64];
  switch (below(w, 16)) {
    case 0: return one_in(w, 2) ? NULL : "";
    case 1: return "no/such/folder/file";
    case 2: return ".";
    default:
      (void)snprintf(path, sizeof path, "sequences-%u.%s", (unsigned)(w->sequence % 8), kind);
      return path;
  }
}

/* Overwrites a byte of a file, or cuts it. */
static void damage(worker *w, const char *path) {
  FILE *file;
  if (path == NULL || !one_in(w, 8)) return;
  file = fopen(path, "r+b");
  if (file == NULL) return;
  if (one_in(w, 3)) {
    if (ftruncate(fileno(file), (off_t)below(w, 600)) != 0) (void)fputc(1, file);
  } else if (fseek(file, (long)below(w, 4000), SEEK_SET) == 0) {
    (void)fputc((int)below(w, 256), file);
  }
  (void)fclose(file);
}

ACTION(loom_export) {
  static const char *const names[FEW] = {"x", "y", "x", "z"};
  loom_tensor inputs[2], results[1], parameters[1];
  loom_status status;
  const char *path = some_path(w, "loom");
  inputs[0] = some(w);
  inputs[1] = some(w);
  parameters[0] = some(w);
  status = loom_add(inputs[0], inputs[1], &results[0]);
  if (status != LOOM_OK) return status;
  keep(w, results[0]);
  if (one_in(w, 8)) results[0] = some(w);
  status = loom_export(path, inputs, one_in(w, 4) ? NULL : one_in(w, 8) ? names + 2 : names,
                       about(w, below(w, 3)), results, about(w, 1), parameters,
                       one_in(w, 2) ? NULL : names + 3, about(w, below(w, 2)));
  if (status == LOOM_OK) damage(w, path);
  return status;
}

ACTION(loom_export_with) {
  loom_export_options options = {sizeof options, 0, false};
  loom_tensor x = some(w), y;
  loom_status status = one_in(w, 2) ? loom_tensor_require_grad(x, true) : LOOM_OK;
  const char *path = some_path(w, "loom");
  if (status == LOOM_OK) status = loom_multiply(x, x, &y);
  if (status != LOOM_OK) return status;
  keep(w, y);
  options.vjp_order = one_in(w, 8) ? (int)below(w, 99) - 50 : (int)below(w, 3);
  options.engines = one_in(w, 4);
  if (one_in(w, 16)) options.size = below(w, 2000);
  status = loom_export_with(path, &x, NULL, 1, &y, 1, NULL, NULL, 0,
                            one_in(w, 8) ? NULL : &options);
  if (status == LOOM_OK) damage(w, path);
  return status;
}

ACTION(loom_save_repro) {
  loom_tensor values[2];
  loom_status status;
  values[0] = some(w);
  status = loom_add(values[0], values[0], &values[1]);
  if (status != LOOM_OK) return status;
  keep(w, values[1]);
  return loom_save_repro(some_path(w, "repro"), values, about(w, 2), one_in(w, 2));
}

static loom_exported some_exported(worker *w) {
  loom_exported found;
  found.bits = w->exporteds && !one_in(w, 4) ? w->exported[below(w, w->exporteds)].bits
                                             : no_handle(w);
  return found;
}

TEXT_OF(loom_codegen_load, some_path(w, "so"))

ACTION(loom_load_program) {
  loom_exported made;
  loom_status status = loom_load_program(some_path(w, "loom"), one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK && w->exporteds < POOL) w->exported[w->exporteds++] = made;
  else if (status == LOOM_OK) status = loom_exported_release(made);
  return status;
}

ACTION(loom_load_program_with_engines) {
  loom_exported made;
  loom_status status = loom_load_program_with_engines(some_path(w, "loom"),
                                                      one_in(w, 40) ? NULL : &made);
  if (status == LOOM_OK && w->exporteds < POOL) w->exported[w->exporteds++] = made;
  else if (status == LOOM_OK) status = loom_exported_release(made);
  return status;
}

ACTION(loom_exported_run) {
  loom_tensor inputs[FEW], made[FEW];
  const size_t count = several(w, inputs);
  loom_status status = loom_exported_run(some_exported(w), inputs, about(w, count), made, 1);
  if (status == LOOM_OK) keep_all(w, made, 1);
  return status;
}

ACTION(loom_exported_seed) { return loom_exported_seed(some_exported(w), draw(w)); }

TEXT_OF(loom_exported_json, some_exported(w))

ACTION(loom_exported_release) {
  loom_exported none;
  none.bits = no_handle(w);
  return w->exporteds ? loom_exported_release(w->exported[--w->exporteds])
                      : loom_exported_release(none);
}

/* The whole cache takes long: one call in many. */
ACTION(loom_cache_save) {
  size_t entries;
  const char *path = some_path(w, "cache");
  loom_status status;
  if (!one_in(w, 8)) path = "no/such/folder/file";
  status = loom_cache_save(path, one_in(w, 8) ? NAN : 1e-4 * (double)below(w, 20),
                           one_in(w, 3) ? NULL : &entries);
  if (status == LOOM_OK) damage(w, path);
  return status;
}

ACTION(loom_cache_load) {
  size_t usable, refused;
  return loom_cache_load(some_path(w, "cache"), one_in(w, 3) ? NULL : &usable,
                         one_in(w, 3) ? NULL : &refused);
}

TEXT(loom_cache_report_json)
TEXT(loom_profile_json)

ACTION(loom_profile_begin) {
  return loom_profile_begin(one_in(w, 2) ? NULL : some_path(w, "profile"), one_in(w, 2));
}

ACTION(loom_profile_end) {
  UNUSED;
  return loom_profile_end();
}

TEXT_OF(loom_cache_list_json, some_path(w, "cache"))

#endif
