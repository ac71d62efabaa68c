/* Waits, options, counters, records of what ran, and files. */
#include "bridge.h"

#include "lazyloom_safetensors.h"

SEXP lr_stat(SEXP name) {
  int64_t value;
  loom_status status = loom_stat(CHAR(STRING_ELT(name, 0)), &value);
  return status == LOOM_OK ? Rf_ScalarReal((double)value) : lr_failure(status);
}

SEXP lr_live_handles(void) {
  size_t count;
  loom_status status = loom_live_handles(&count);
  return status == LOOM_OK ? Rf_ScalarReal((double)count) : lr_failure(status);
}

static loom_status text_into(int which, size_t argument, char *buffer, size_t capacity,
                             size_t *needed) {
  switch (which) {
    case 0: return loom_options_json(buffer, capacity, needed);
    case 1: return loom_stats_json(buffer, capacity, needed);
    case 2: return loom_evaluations_json(argument, buffer, capacity, needed);
    case 3: return loom_last_evaluation(buffer, capacity, needed);
    case 4: return loom_platform(buffer, capacity, needed);
    case 5: return loom_cache_dir(buffer, capacity, needed);
    default: return loom_profile_json(buffer, capacity, needed);
  }
}

static SEXP utf8(const char *text) {
  return Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8));
}

SEXP lr_text(SEXP which, SEXP argument) {
  const int kind = Rf_asInteger(which);
  const size_t number = (size_t)Rf_asInteger(argument);
  size_t needed = 0;
  loom_status status = text_into(kind, number, NULL, 0, &needed);
  char *text = R_alloc(needed + 1, 1);
  if (status == LOOM_OK) status = text_into(kind, number, text, needed + 1, &needed);
  return status == LOOM_OK ? utf8(text) : lr_failure(status);
}

/* Sets an option if value is not NULL; gives what it was. */
SEXP lr_option(SEXP name, SEXP value) {
  double found = 0;
  const char *text = CHAR(STRING_ELT(name, 0));
  const loom_status status = Rf_isNull(value) ? loom_option_get(text, &found)
                                              : loom_option_set(text, Rf_asReal(value), &found);
  return status == LOOM_OK ? Rf_ScalarReal(found) : lr_failure(status);
}

SEXP lr_memory(void) {
  loom_memory_figures figures = {sizeof figures, 0, 0, 0, 0, 0};
  const loom_status status = loom_memory(&figures);
  SEXP found;
  if (status != LOOM_OK) return lr_failure(status);
  found = PROTECT(Rf_allocVector(REALSXP, 5));
  REAL(found)[0] = (double)figures.tensors;
  REAL(found)[1] = (double)figures.tensor_bytes;
  REAL(found)[2] = (double)figures.pending;
  REAL(found)[3] = (double)figures.resident;
  REAL(found)[4] = (double)figures.peak;
  UNPROTECT(1);
  return found;
}

SEXP lr_profile_begin(SEXP path, SEXP sources) {
  return lr_done(loom_profile_begin(Rf_isNull(path) ? NULL : CHAR(STRING_ELT(path, 0)),
                                    Rf_asLogical(sources) != 0));
}

SEXP lr_profile_end(void) { return lr_done(loom_profile_end()); }

SEXP lr_stats_reset(void) { return lr_done(loom_stats_reset()); }

SEXP lr_program_text(SEXP tensors) {
  loom_program program = {0};
  size_t needed = 0;
  char *text = NULL;
  loom_status status = loom_program_of(lr_handles(tensors), (size_t)Rf_xlength(tensors), &program);
  if (status == LOOM_OK) status = loom_program_text(program, NULL, 0, &needed);
  if (status == LOOM_OK) {
    text = R_alloc(needed + 1, 1);
    status = loom_program_text(program, text, needed + 1, &needed);
  }
  if (program.bits) (void)loom_program_release(program);
  return status == LOOM_OK ? utf8(text) : lr_failure(status);
}

/* Whether the tensors are computed in time. */
SEXP lr_wait(SEXP tensors, SEXP seconds) {
  const loom_status status = loom_wait(lr_handles(tensors), (size_t)Rf_xlength(tensors),
                                       Rf_asReal(seconds));
  if (status == LOOM_OK || status == LOOM_ERROR_TIMEOUT)
    return Rf_ScalarLogical(status == LOOM_OK);
  return lr_failure(status);
}

SEXP lr_is_ready(SEXP pointer) {
  bool found = false;
  const loom_status status = loom_tensor_is_ready(lr_handle(pointer), &found);
  return status == LOOM_OK ? Rf_ScalarLogical(found) : lr_failure(status);
}

SEXP lr_random_key(SEXP high, SEXP low) {
  loom_tensor found;
  const uint64_t seed = (uint64_t)Rf_asReal(high) << 32 | (uint64_t)Rf_asReal(low);
  const loom_status status = loom_random_key(seed, &found);
  return status == LOOM_OK ? lr_owned(found) : lr_failure(status);
}

/* ---- safetensors ---------------------------------------------------------------------------- */

static const char **texts_of(SEXP texts) {
  const size_t count = (size_t)Rf_xlength(texts);
  const char **found = (const char **)R_alloc(count + 1, sizeof *found);
  size_t i;
  for (i = 0; i < count; ++i)
    found[i] = Rf_translateCharUTF8(STRING_ELT(texts, (R_xlen_t)i));
  return found;
}

/* metadata: keys, each followed by its text. */
SEXP lr_save(SEXP path, SEXP tensors, SEXP names, SEXP metadata) {
  const char *file = R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
  return lr_done(loom_safetensors_save(file, texts_of(names), lr_handles(tensors),
                                       (size_t)Rf_xlength(tensors), texts_of(metadata),
                                       (size_t)Rf_xlength(metadata) / 2));
}

/* A list of two: the tensors by name, the metadata by key. */
SEXP lr_load(SEXP path) {
  loom_safetensors file;
  loom_status status =
      loom_safetensors_open(R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0))), &file);
  SEXP found, tensors, names, said, keys;
  size_t i, count, pairs;
  loom_tensor *read;
  if (status != LOOM_OK) return lr_failure(status);
  count = file.count;
  pairs = file.metadata_count;
  /* the tensors first, since nothing of R's that can fail may be between open and close */
  read = (loom_tensor *)calloc(count + 1, sizeof *read);
  if (read == NULL) status = loom_set_error(LOOM_ERROR_OUT_OF_MEMORY, "loom_load: no memory");
  for (i = 0; status == LOOM_OK && i < count; ++i)
    status = loom_safetensors_read(&file, file.entries[i].name, &read[i]);
  if (status != LOOM_OK) {
    if (read != NULL) (void)loom_tensors_release(read, count);
    free(read);
    loom_safetensors_close(&file);
    return lr_failure(status);
  }
  found = PROTECT(Rf_allocVector(VECSXP, 2));
  tensors = PROTECT(lr_owned_list(read, count));
  free(read);
  names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (i = 0; i < count; ++i)
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(file.entries[i].name, CE_UTF8));
  said = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)pairs));
  keys = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)pairs));
  for (i = 0; i < pairs; ++i) {
    SET_STRING_ELT(keys, (R_xlen_t)i, Rf_mkCharCE(file.metadata[2 * i], CE_UTF8));
    SET_STRING_ELT(said, (R_xlen_t)i, Rf_mkCharCE(file.metadata[2 * i + 1], CE_UTF8));
  }
  loom_safetensors_close(&file);
  Rf_setAttrib(tensors, R_NamesSymbol, names);
  Rf_setAttrib(said, R_NamesSymbol, keys);
  SET_VECTOR_ELT(found, 0, tensors);
  SET_VECTOR_ELT(found, 1, said);
  UNPROTECT(5);
  return found;
}
