/* lazyloom_safetensors.h: files of named tensors, read and written in plain C.

   The format is that of https://huggingface.co/docs/safetensors: eight bytes that are the length
   of a JSON header, the header, which says dtype, shape and place of each tensor, and the data.
   No code is run that a file holds. Header-only, C99 and C++11, of functions of lazyloom.h alone;
   lazyloom_nn.h includes it. Little-endian processors, as lazyloom's.

   Words of ownership are those of lazyloom.h. Every function that can fail returns a loom_status
   and sets the thread's last failure, which names the file and the tensor. A file that is read is
   not to be used by two threads at the same time. */
#ifndef LAZYLOOM_SAFETENSORS_H
#define LAZYLOOM_SAFETENSORS_H

#include "lazyloom_support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One tensor of a file. */
typedef struct loom_safetensors_entry {
  const char *name;     /* UTF-8; owned by the file, as shape */
  loom_dtype dtype;
  size_t ndim;
  const int64_t *shape; /* ndim entries */
  uint64_t begin, end;  /* its bytes, counted from the end of the header */
  size_t shape_at_;
} loom_safetensors_entry;

/* A file that is open. Fill with zeros, or open, before it is used; what ends in an underscore
   is not for users. */
typedef struct loom_safetensors {
  size_t count;
  loom_safetensors_entry *entries; /* count, in the order of their names' bytes */
  size_t metadata_count;
  const char **metadata; /* metadata_count keys, in order, each followed by its text */
  FILE *stream_;
  char *path_, *header_;
  int64_t *extents_;
  uint64_t data_at_;
} loom_safetensors;

/* ---- private: the header of a file ------------------------------------------- */

static inline const char *loom_safetensors_code_(loom_dtype dtype) {
  static const char *const codes[] = {NULL,  "BOOL", "I8",  "I16", "I32", "I64", "U8", "U16",
                                      "U32", "U64",  "F16", "BF16", "F32", "F64", "C64"};
  const size_t at = (size_t)dtype;
  return at < sizeof codes / sizeof codes[0] ? codes[at] : NULL;
}

static inline loom_dtype loom_safetensors_dtype_(const char *code) {
  int at;
  for (at = LOOM_BOOL; at <= LOOM_COMPLEX64; ++at)
    if (strcmp(loom_safetensors_code_((loom_dtype)at), code) == 0) return (loom_dtype)at;
  return LOOM_DTYPE_NONE;
}

static inline int loom_safetensors_by_name_(const void *a, const void *b) {
  return strcmp(((const loom_safetensors_entry *)a)->name,
                ((const loom_safetensors_entry *)b)->name);
}

static inline int loom_safetensors_by_place_(const void *a, const void *b) {
  const loom_safetensors_entry *x = (const loom_safetensors_entry *)a;
  const loom_safetensors_entry *y = (const loom_safetensors_entry *)b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* What one tensor is; *used counts the extents of all. */
static inline bool loom_safetensors_fields_(loom_json_ *json, loom_safetensors *file,
                                            loom_safetensors_entry *entry, size_t *used,
                                            size_t *capacity) {
  unsigned seen = 0, kind;
  const char *key, *code = NULL;
  uint64_t number;
  entry->shape_at_ = *used;
  if (!loom_json_has_(json, '{')) return loom_json_wrong_(json, "an object of JSON");
  do {
    if (!loom_json_text_(json, &key)) return false;
    kind = !strcmp(key, "dtype") ? 1 : !strcmp(key, "shape") ? 2 :
        !strcmp(key, "data_offsets") ? 4 : 0;
    if (kind == 0 || seen & kind)
      return loom_json_wrong_(json, "\"dtype\", \"shape\" and \"data_offsets\", once each");
    seen |= kind;
    if (!loom_json_has_(json, ':')) return loom_json_wrong_(json, "a colon");
    if (kind == 1) {
      if (!loom_json_text_(json, &code)) return false;
      entry->dtype = loom_safetensors_dtype_(code);
      if (entry->dtype == LOOM_DTYPE_NONE)
        return loom_json_wrong_(json, "as dtype one of BOOL, I8, I16, I32, I64, U8, U16, U32, U64, "
                                "F16, BF16, F32, F64, C64");
      continue;
    }
    if (!loom_json_has_(json, '[')) return loom_json_wrong_(json, "a list");
    if (kind == 4) {
      if (!loom_json_number_(json, &entry->begin)) return false;
      if (!loom_json_has_(json, ',')) return loom_json_wrong_(json, "two offsets");
      if (!loom_json_number_(json, &entry->end)) return false;
      if (!loom_json_has_(json, ']')) return loom_json_wrong_(json, "two offsets");
      continue;
    }
    if (loom_json_has_(json, ']')) continue;
    do {
      void *extents = file->extents_;
      if (!loom_json_number_(json, &number)) return false;
      if (!loom_grow_(&extents, sizeof *file->extents_, *used, capacity))
        return loom_json_wrong_(json, NULL);
      file->extents_ = (int64_t *)extents;
      file->extents_[(*used)++] = (int64_t)number;
      ++entry->ndim;
    } while (loom_json_has_(json, ','));
    if (!loom_json_has_(json, ']')) return loom_json_wrong_(json, "the end of a list");
  } while (loom_json_has_(json, ','));
  if (seen != 7) return loom_json_wrong_(json, "\"dtype\", \"shape\" and \"data_offsets\"");
  return loom_json_has_(json, '}') || loom_json_wrong_(json, "the end of an object");
}

static inline int loom_safetensors_by_key_(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline bool loom_safetensors_metadata_(loom_json_ *json, loom_safetensors *file) {
  size_t capacity = 0, used = 0, i;
  if (!loom_json_has_(json, '{')) return loom_json_wrong_(json, "an object as metadata");
  if (loom_json_has_(json, '}')) return true;
  do {
    void *texts = (void *)file->metadata;
    const char *key, *text;
    if (!loom_json_text_(json, &key)) return false;
    if (!loom_json_has_(json, ':')) return loom_json_wrong_(json, "a colon");
    if (!loom_json_text_(json, &text)) return false;
    /* a capacity is even, so there is room for two */
    if (!loom_grow_(&texts, sizeof *file->metadata, used, &capacity)) return false;
    file->metadata = (const char **)texts;
    file->metadata[used++] = key;
    file->metadata[used++] = text;
    file->metadata_count = used / 2;
  } while (loom_json_has_(json, ','));
  qsort((void *)file->metadata, used / 2, 2 * sizeof *file->metadata, loom_safetensors_by_key_);
  for (i = 2; i < used; i += 2)
    if (!strcmp(file->metadata[i - 2], file->metadata[i]))
      return loom_json_wrong_(json, "each name of the metadata once");
  return loom_json_has_(json, '}') || loom_json_wrong_(json, "the end of the metadata");
}

/* The entries as they stand in the header; *name is that which is being read. */
static inline bool loom_safetensors_entries_(loom_json_ *json, loom_safetensors *file,
                                             const char **name) {
  size_t capacity = 0, used = 0, extents = 0;
  bool metadata = false;
  if (!loom_json_has_(json, '{')) return loom_json_wrong_(json, "an object of JSON");
  if (!loom_json_has_(json, '}')) {
    do {
      void *entries = file->entries;
      *name = NULL;
      if (!loom_json_text_(json, name)) return false;
      if (!loom_json_has_(json, ':')) return loom_json_wrong_(json, "a colon");
      if (!strcmp(*name, "__metadata__")) {
        if (metadata) return loom_json_wrong_(json, "metadata once");
        metadata = true;
        if (!loom_safetensors_metadata_(json, file)) return false;
        continue;
      }
      if (!loom_grow_(&entries, sizeof *file->entries, file->count, &capacity)) return false;
      file->entries = (loom_safetensors_entry *)entries;
      memset(&file->entries[file->count], 0, sizeof *file->entries);
      file->entries[file->count].name = *name;
      if (!loom_safetensors_fields_(json, file, &file->entries[file->count], &used, &extents))
        return false;
      ++file->count;
    } while (loom_json_has_(json, ','));
    if (!loom_json_has_(json, '}')) return loom_json_wrong_(json, "the end of the header");
  }
  *name = NULL;
  loom_json_space_(json);
  return json->at == json->end || loom_json_wrong_(json, "nothing after the header's object");
}

/* Names once, sizes that fit their shapes, and data without gap or overlap up to the end. */
static inline loom_status loom_safetensors_check_(loom_safetensors *file, uint64_t available) {
  const char *const path = file->path_;
  size_t i, k;
  uint64_t at = 0;
  for (i = 0; i < file->count; ++i) {
    loom_safetensors_entry *e = &file->entries[i];
    uint64_t bytes = loom_dtype_size(e->dtype);
    bool empty = false, huge = false;
    e->shape = e->ndim ? file->extents_ + e->shape_at_ : NULL;
    for (k = 0; k < e->ndim; ++k) empty = empty || e->shape[k] == 0;
    for (k = 0; k < e->ndim && !empty; ++k) {
      huge = huge || bytes > (uint64_t)INT64_MAX / (uint64_t)e->shape[k];
      bytes = huge ? 0 : bytes * (uint64_t)e->shape[k];
    }
    if (empty) bytes = 0;
    if (huge || e->end < e->begin || e->end - e->begin != bytes || e->end > available)
      return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is damaged: tensor '%s' of shape %s, %s, has the "
                        "bytes from %llu to %llu of %llu", path, e->name,
                        loom_say_shape_(e->shape, e->ndim).text, loom_dtype_name(e->dtype),
                        (unsigned long long)e->begin, (unsigned long long)e->end,
                        (unsigned long long)available);
  }
  if (file->count)
    qsort(file->entries, file->count, sizeof *file->entries, loom_safetensors_by_place_);
  for (i = 0; i < file->count; at = file->entries[i++].end)
    if (file->entries[i].begin != at)
      return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is damaged: tensor '%s' begins at byte %llu of "
                        "the data, expected %llu, where the one before it ends", path,
                        file->entries[i].name, (unsigned long long)file->entries[i].begin,
                        (unsigned long long)at);
  if (at != available)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is damaged: it has %llu bytes of data, expected "
                      "%llu", path, (unsigned long long)available, (unsigned long long)at);
  if (file->count)
    qsort(file->entries, file->count, sizeof *file->entries, loom_safetensors_by_name_);
  for (i = 1; i < file->count; ++i)
    if (!strcmp(file->entries[i - 1].name, file->entries[i].name))
      return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is damaged: the name '%s' stands in its header "
                        "twice", path, file->entries[i].name);
  return LOOM_OK;
}

static inline loom_status loom_safetensors_header_(loom_safetensors *file) {
  const char *const path = file->path_, *name = NULL;
  unsigned char first[8];
  uint64_t length = 0, size;
  loom_json_ json;
  long end;
  int i;
  /* a folder opens, too: it fails at its first byte, and has no end that could be meant */
  if (fread(first, 1, 1, file->stream_) != 1 && ferror(file->stream_))
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s cannot be read: %s", path, strerror(errno));
  if (fseek(file->stream_, 0, SEEK_END) != 0 || (end = ftell(file->stream_)) < 0 ||
      fseek(file->stream_, 0, SEEK_SET) != 0)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s cannot be read: %s", path, strerror(errno));
  size = (uint64_t)end;
  if (size < 8 || fread(first, 1, 8, file->stream_) != 8)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is no safetensors file: it has %llu bytes, expected "
                      "8 or more", path, (unsigned long long)size);
  for (i = 7; i >= 0; --i) length = length << 8 | first[i];
  if (length > size - 8 || length > 100000000)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is no safetensors file, or damaged: a header of "
                      "%llu bytes in a file of %llu", path, (unsigned long long)length,
                      (unsigned long long)size);
  file->header_ = (char *)malloc((size_t)length + 1);
  if (file->header_ == NULL) return loom_no_memory_("loom_safetensors_open");
  if (fread(file->header_, 1, (size_t)length, file->stream_) != length)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s cannot be read: its header is cut short", path);
  file->data_at_ = 8 + length;
  json.start = json.at = file->header_;
  json.end = file->header_ + length;
  json.problem = NULL;
  if (length == 0 || file->header_[0] != '{')
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is no safetensors file, or damaged: its header does "
                      "not begin with a brace", path);
  if (!loom_safetensors_entries_(&json, file, &name)) {
    if (json.problem == NULL) return loom_no_memory_("loom_safetensors_open");
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s is damaged: at byte %llu of its header%s%s%s: "
                      "expected %s", path, (unsigned long long)(json.at - json.start),
                      name ? ", tensor '" : "", name ? name : "", name ? "'" : "", json.problem);
  }
  return loom_safetensors_check_(file, size - file->data_at_);
}

/* ---- reading ----------------------------------------------------------------- */

/* Closes a file and frees what it owns; all zeros, or closed before, does nothing. */
static inline void loom_safetensors_close(loom_safetensors *file) {
  if (file->stream_ != NULL) (void)fclose(file->stream_);
  free(file->entries);
  free((void *)file->metadata);
  free(file->path_);
  free(file->header_);
  free(file->extents_);
  memset(file, 0, sizeof *file);
}

/* Opens a file and reads its header, all of which is checked: dtypes, shapes, that the data has
   neither gaps nor overlaps and ends where the file does, that no name stands in it twice.
   path: in. file: out; closed by loom_safetensors_close(), which a failure has done already.
   Errors: LOOM_ERROR_ARGUMENT for a file that cannot be opened or is damaged. */
static inline LOOM_CHECK loom_status loom_safetensors_open(const char *path,
                                                           loom_safetensors *file) {
  loom_status status;
  memset(file, 0, sizeof *file);
  file->path_ = loom_copy_text_(path);
  if (file->path_ == NULL) return loom_no_memory_("loom_safetensors_open");
  file->stream_ = fopen(path, "rb");
  status = file->stream_ != NULL ? loom_safetensors_header_(file) :
      loom_fail_(LOOM_ERROR_ARGUMENT, "%s cannot be opened: %s", path, strerror(errno));
  if (status != LOOM_OK) loom_safetensors_close(file);
  return status;
}

/* The entry of a name; NULL if the file has none. Owned by the file. */
static inline const loom_safetensors_entry *loom_safetensors_find(const loom_safetensors *file,
                                                                  const char *name) {
  loom_safetensors_entry wanted;
  if (file->count == 0) return NULL;
  memset(&wanted, 0, sizeof wanted);
  wanted.name = name;
  return (const loom_safetensors_entry *)bsearch(
      &wanted, file->entries, file->count, sizeof wanted, loom_safetensors_by_name_);
}

/* The text of the metadata by a key; NULL if there is none. Owned by the file. */
static inline const char *loom_safetensors_metadata(const loom_safetensors *file,
                                                    const char *key) {
  size_t i;
  for (i = 0; i < file->metadata_count; ++i)
    if (!strcmp(file->metadata[2 * i], key)) return file->metadata[2 * i + 1];
  return NULL;
}

/* A tensor of the file. name: in. result: new.
   Errors: LOOM_ERROR_ARGUMENT if there is none of that name, or the file can no longer be read;
   those of loom_tensor_from_host(). */
static inline LOOM_CHECK loom_status loom_safetensors_read(loom_safetensors *file,
                                                           const char *name,
                                                           loom_tensor *result) {
  const loom_safetensors_entry *e = loom_safetensors_find(file, name);
  size_t nbytes;
  void *data;
  loom_status status;
  *result = loom_null();
  if (e == NULL)
    return loom_fail_(LOOM_ERROR_ARGUMENT, "%s has no tensor '%s' among its %llu",
                      file->path_ ? file->path_ : "a closed file", name,
                      (unsigned long long)file->count);
  nbytes = (size_t)(e->end - e->begin);
  data = malloc(nbytes ? nbytes : 1);
  if (data == NULL) return loom_no_memory_("loom_safetensors_read");
  if (file->data_at_ + e->begin > LONG_MAX ||
      fseek(file->stream_, (long)(file->data_at_ + e->begin), SEEK_SET) != 0 ||
      fread(data, 1, nbytes, file->stream_) != nbytes) {
    status = loom_fail_(LOOM_ERROR_ARGUMENT, "%s cannot be read: tensor '%s' is cut short",
                        file->path_, name);
  } else {
    status = (loom_tensor_from_host)(data, nbytes, e->dtype, e->shape, e->ndim, result);
  }
  free(data);
  return status;
}

/* ---- writing ----------------------------------------------------------------- */

typedef struct loom_written_ {
  const char *name;
  loom_tensor tensor;
  loom_dtype dtype;
  size_t ndim;
  int64_t *shape;
  size_t nbytes;
} loom_written_;

static inline int loom_written_by_name_(const void *a, const void *b) {
  return strcmp(((const loom_written_ *)a)->name, ((const loom_written_ *)b)->name);
}

/* Largest elements first, so that each tensor is aligned to its elements. */
static inline int loom_written_by_place_(const void *a, const void *b) {
  const size_t x = loom_dtype_size(((const loom_written_ *)a)->dtype);
  const size_t y = loom_dtype_size(((const loom_written_ *)b)->dtype);
  return x != y ? (x > y ? -1 : 1) : loom_written_by_name_(a, b);
}

/* A text that grows; after a failure of memory it stays as it is. */
typedef struct loom_growing_ {
  char *text;
  size_t length, capacity;
  bool failed;
} loom_growing_;

static inline void loom_growing_add_(loom_growing_ *out, const char *text, size_t length) {
  void *moved = out->text;
  while (!out->failed && out->capacity - out->length < length)
    out->failed = !loom_grow_(&moved, 1, out->capacity, &out->capacity);
  out->text = (char *)moved;
  if (out->failed) return;
  memcpy(out->text + out->length, text, length);
  out->length += length;
}

static inline void loom_growing_quote_(loom_growing_ *out, const char *text) {
  static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  char escape[8];
  loom_growing_add_(out, "\"", 1);
  for (; *text; ++text) {
    const char *place = strchr(named, *text);
    if (place == NULL && (unsigned char)*text >= 0x20) {
      loom_growing_add_(out, text, 1);
      continue;
    }
    if (place != NULL)
      (void)snprintf(escape, sizeof escape, "\\%c", letters[place - named]);
    else
      (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*text);
    loom_growing_add_(out, escape, strlen(escape));
  }
  loom_growing_add_(out, "\"", 1);
}

static inline void loom_growing_number_(loom_growing_ *out, uint64_t number) {
  char text[24];
  (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
  loom_growing_add_(out, text, strlen(text));
}

static inline loom_status loom_safetensors_describe_(const char *path, loom_written_ *all,
                                                     const char *const *names,
                                                     const loom_tensor *tensors, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    loom_written_ *w = &all[i];
    loom_status status;
    w->name = names[i];
    w->tensor = tensors[i];
    if (!strcmp(w->name, "__metadata__") || !loom_is_utf8_(w->name, strlen(w->name)))
      return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_safetensors_save: %s: '%s' cannot be the name "
                        "of a tensor, expected UTF-8 other than __metadata__", path, w->name);
    status = (loom_tensor_dtype)(w->tensor, &w->dtype);
    if (status == LOOM_OK) status = (loom_tensor_nbytes)(w->tensor, &w->nbytes);
    if (status == LOOM_OK) status = (loom_tensor_ndim)(w->tensor, &w->ndim);
    if (status != LOOM_OK)
      return loom_fail_(status, "loom_safetensors_save: %s: tensor '%s': %s", path, w->name,
                        loom_error_message());
    if (loom_safetensors_code_(w->dtype) == NULL)
      return loom_fail_(LOOM_ERROR_DTYPE, "loom_safetensors_save: %s: tensor '%s' is %s, which the "
                        "format lacks", path, w->name, loom_dtype_name(w->dtype));
    w->shape = (int64_t *)malloc((w->ndim + 1) * sizeof *w->shape);
    if (w->shape == NULL) return loom_no_memory_("loom_safetensors_save");
    status = (loom_tensor_shape)(w->tensor, w->shape, w->ndim, NULL);
    if (status != LOOM_OK) return status;
  }
  if (count) qsort(all, count, sizeof *all, loom_written_by_name_);
  for (i = 1; i < count; ++i)
    if (!strcmp(all[i - 1].name, all[i].name))
      return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_safetensors_save: %s: the name '%s' is given "
                        "twice", path, all[i].name);
  if (count) qsort(all, count, sizeof *all, loom_written_by_place_);
  return LOOM_OK;
}

static inline void loom_safetensors_said_(loom_growing_ *out, const loom_written_ *all,
                                          size_t count, const char *const *metadata,
                                          size_t metadata_count) {
  uint64_t at = 0;
  size_t i, k;
  loom_growing_add_(out, "{", 1);
  if (metadata != NULL) {
    loom_growing_add_(out, "\"__metadata__\":{", 16);
    for (i = 0; i < 2 * metadata_count; ++i) {
      if (i) loom_growing_add_(out, i % 2 ? ":" : ",", 1);
      loom_growing_quote_(out, metadata[i]);
    }
    loom_growing_add_(out, "}", 1);
  }
  for (i = 0; i < count; ++i) {
    if (i || metadata != NULL) loom_growing_add_(out, ",", 1);
    loom_growing_quote_(out, all[i].name);
    loom_growing_add_(out, ":{\"dtype\":", 10);
    loom_growing_quote_(out, loom_safetensors_code_(all[i].dtype));
    loom_growing_add_(out, ",\"shape\":[", 10);
    for (k = 0; k < all[i].ndim; ++k) {
      if (k) loom_growing_add_(out, ",", 1);
      loom_growing_number_(out, (uint64_t)all[i].shape[k]);
    }
    loom_growing_add_(out, "],\"data_offsets\":[", 18);
    loom_growing_number_(out, at);
    loom_growing_add_(out, ",", 1);
    loom_growing_number_(out, at += all[i].nbytes);
    loom_growing_add_(out, "]}", 2);
  }
  loom_growing_add_(out, "}", 1);
  while (!out->failed && out->length % 8) loom_growing_add_(out, " ", 1);
}

static inline loom_status loom_safetensors_write_(const char *path, FILE *stream,
                                                  const loom_growing_ *header,
                                                  const loom_written_ *all, size_t count) {
  unsigned char first[8];
  size_t i;
  bool written;
  for (i = 0; i < 8; ++i) first[i] = (unsigned char)((uint64_t)header->length >> 8 * i);
  written = fwrite(first, 1, 8, stream) == 8 &&
      fwrite(header->text, 1, header->length, stream) == header->length;
  for (i = 0; written && i < count; ++i) {
    loom_buffer buffer;
    const void *data;
    size_t nbytes;
    loom_status status = (loom_tensor_map)(all[i].tensor, &buffer, &data, &nbytes);
    if (status != LOOM_OK)
      return loom_fail_(status, "loom_safetensors_save: %s: tensor '%s': %s", path, all[i].name,
                        loom_error_message());
    written = nbytes == 0 || fwrite(data, 1, nbytes, stream) == nbytes;
    status = (loom_buffer_release)(buffer);
    if (status != LOOM_OK) return status;
  }
  if (written && fflush(stream) == 0) return LOOM_OK;
  return loom_fail_(LOOM_ERROR_ARGUMENT, "loom_safetensors_save: %s cannot be written: %s", path,
                    strerror(errno));
}

/* Writes a file, which takes the place of path when all is written: a reader never sees half of
   one, and a failure leaves the old one. Meanwhile it is called path with ".part" after it.
   names, tensors: in, count; the tensors are computed if they are pending. metadata: in,
   metadata_count keys, each followed by its text, or NULL for none. The bytes equal those that
   the torch-like frontend writes.
   Errors: LOOM_ERROR_ARGUMENT for a name that is given twice, or cannot be one, and where the file
   cannot be written; LOOM_ERROR_DTYPE for complex128; those of loom_tensor_map(). */
static inline LOOM_CHECK loom_status loom_safetensors_save(const char *path,
                                                           const char *const *names,
                                                           const loom_tensor *tensors,
                                                           size_t count,
                                                           const char *const *metadata,
                                                           size_t metadata_count) {
  loom_growing_ header = {NULL, 0, 0, false};
  loom_written_ *all = (loom_written_ *)calloc(count + 1, sizeof *all);
  char *part = (char *)malloc(strlen(path) + 6);
  FILE *stream = NULL;
  loom_status status = LOOM_OK;
  size_t i;
  if (all == NULL || part == NULL) {
    status = loom_no_memory_("loom_safetensors_save");
  } else {
    (void)snprintf(part, strlen(path) + 6, "%s.part", path);
    status = loom_safetensors_describe_(path, all, names, tensors, count);
  }
  if (status == LOOM_OK) {
    loom_safetensors_said_(&header, all, count, metadata, metadata_count);
    if (header.failed) status = loom_no_memory_("loom_safetensors_save");
  }
  if (status == LOOM_OK && (stream = fopen(part, "wb")) == NULL)
    status = loom_fail_(LOOM_ERROR_ARGUMENT, "loom_safetensors_save: %s cannot be written: %s",
                        part, strerror(errno));
  if (status == LOOM_OK) status = loom_safetensors_write_(path, stream, &header, all, count);
  if (stream != NULL) {
    const bool closed = fclose(stream) == 0;
    if (status == LOOM_OK && (!closed || rename(part, path) != 0))
      status = loom_fail_(LOOM_ERROR_ARGUMENT, "loom_safetensors_save: %s cannot be written: %s",
                          path, strerror(errno));
    if (status != LOOM_OK) (void)remove(part);
  }
  for (i = 0; all != NULL && i < count; ++i) free(all[i].shape);
  free(all);
  free(part);
  free(header.text);
  return status;
}

#ifndef LOOM_NO_SOURCE_LOCATIONS
#define loom_safetensors_open(...) (LOOM_HERE, loom_safetensors_open(__VA_ARGS__))
#define loom_safetensors_read(...) (LOOM_HERE, loom_safetensors_read(__VA_ARGS__))
#define loom_safetensors_save(...) (LOOM_HERE, loom_safetensors_save(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_SAFETENSORS_H */
