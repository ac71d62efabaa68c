/* lazyloom_support.h: what the header-only layers over lazyloom.h share: errors, memory, text and
   the JSON of a file's header. All of it is private to them; include lazyloom_nn.h or
   lazyloom_safetensors.h. */
#ifndef LAZYLOOM_SUPPORT_H
#define LAZYLOOM_SUPPORT_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom.h"

#if LOOM_TARGET_VERSION < LOOM_VERSION(1, 8)
#error lazyloom_safetensors.h and lazyloom_nn.h use loom_set_error(), of version 1.8 of the ABI
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors, memory, text ---------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline loom_status loom_fail_(loom_status status, const char *format, ...) {
  char text[1024];
  va_list given;
  va_start(given, format);
  if (vsnprintf(text, sizeof text, format, given) >= (int)sizeof text) {
    /* cut short, but not within a character */
    size_t end = sizeof text - 1;
    while (end && ((unsigned char)text[end - 1] & 0xC0) == 0x80) --end;
    if (end && (unsigned char)text[end - 1] >= 0xC0) --end;
    text[end] = 0;
  }
  va_end(given);
  return loom_set_error(status, text);
}

static inline loom_status loom_no_memory_(const char *function) {
  return loom_fail_(LOOM_ERROR_OUT_OF_MEMORY, "%s: there is no memory for its lists", function);
}

/* Room for one more entry of that size in *array, whose entries have no owner but it. */
static inline bool loom_grow_(void **array, size_t size, size_t count, size_t *capacity) {
  size_t wanted;
  void *moved;
  if (count < *capacity) return true;
  if (*capacity > SIZE_MAX / 2 / size) return false;
  wanted = *capacity ? *capacity * 2 : 8;
  moved = realloc(*array, wanted * size);
  if (moved == NULL) return false;
  *array = moved;
  *capacity = wanted;
  return true;
}

static inline char *loom_copy_text_(const char *text) {
  const size_t length = strlen(text) + 1;
  char *copy = (char *)malloc(length);
  if (copy != NULL) memcpy(copy, text, length);
  return copy;
}

/* A shape as people write it, such as "(2, 3)"; what does not fit ends in dots. */
typedef struct loom_shape_text_ {
  char text[160];
} loom_shape_text_;

static inline loom_shape_text_ loom_say_shape_(const int64_t *shape, size_t ndim) {
  loom_shape_text_ said;
  size_t i, used = 1;
  memcpy(said.text, "(", 2);
  for (i = 0; i < ndim; ++i) {
    if (used > sizeof said.text - 32) {
      used += (size_t)snprintf(said.text + used, sizeof said.text - used, "...");
      break;
    }
    used += (size_t)snprintf(said.text + used, sizeof said.text - used, "%lld%s",
                             (long long)shape[i], i + 1 < ndim ? ", " : ndim == 1 ? "," : "");
  }
  (void)snprintf(said.text + used, sizeof said.text - used, ")");
  return said;
}

/* Whether these bytes are UTF-8: no overlong form, no surrogate, nothing above U+10FFFF. */
static inline bool loom_is_utf8_(const char *text, size_t length) {
  const unsigned char *at = (const unsigned char *)text, *end = at + length;
  while (at < end) {
    const unsigned char first = *at++;
    unsigned low = 0x80, high = 0xBF, more;
    if (first < 0x80) continue;
    if (first < 0xC2 || first > 0xF4) return false;
    more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    for (; more; --more, low = 0x80, high = 0xBF) {
      if (at == end || *at < low || *at > high) return false;
      ++at;
    }
  }
  return true;
}

/* ---- the JSON of a file's header ---------------------------------------------- */

typedef struct loom_json_ {
  char *start, *at, *end;
  const char *problem; /* what was expected where at stands; NULL while all is well */
} loom_json_;

static inline bool loom_json_wrong_(loom_json_ *json, const char *problem) {
  if (json->problem == NULL) json->problem = problem;
  return false;
}

static inline void loom_json_space_(loom_json_ *json) {
  while (json->at < json->end && (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' ||
                                  *json->at == '\r'))
    ++json->at;
}

/* Takes a character, after spaces; whether it was there. */
static inline bool loom_json_has_(loom_json_ *json, char wanted) {
  loom_json_space_(json);
  if (json->at == json->end || *json->at != wanted) return false;
  ++json->at;
  return true;
}

static inline bool loom_json_hex_(loom_json_ *json, uint32_t *found) {
  int i;
  *found = 0;
  for (i = 0; i < 4; ++i) {
    const char c = json->at < json->end ? *json->at : 0;
    if (c >= '0' && c <= '9') *found = *found << 4 | (uint32_t)(c - '0');
    else if (c >= 'a' && c <= 'f') *found = *found << 4 | (uint32_t)(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F') *found = *found << 4 | (uint32_t)(c - 'A' + 10);
    else return loom_json_wrong_(json, "four hexadecimal digits after \\u");
    ++json->at;
  }
  return true;
}

/* The character of an escape whose backslash was taken, as UTF-8 to *to, which moves on. */
static inline bool loom_json_escape_(loom_json_ *json, char **to) {
  static const char named[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char c = json->at < json->end ? *json->at++ : 0;
  const char *place = c ? strchr(named, c) : NULL;
  uint32_t code, low;
  if (place != NULL) {
    *(*to)++ = meant[place - named];
    return true;
  }
  if (c != 'u') return loom_json_wrong_(json, "an escape of JSON");
  if (!loom_json_hex_(json, &code)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
      return loom_json_wrong_(json, "the second half of a surrogate pair");
    json->at += 2;
    if (!loom_json_hex_(json, &low)) return false;
    if (low < 0xDC00 || low > 0xDFFF)
      return loom_json_wrong_(json, "the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return loom_json_wrong_(json, "the first half of a surrogate pair");
  }
  if (code == 0) return loom_json_wrong_(json, "a text without a zero byte");
  if (code < 0x80) {
    *(*to)++ = (char)code;
  } else if (code < 0x800) {
    *(*to)++ = (char)(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    *(*to)++ = (char)(0xE0 | code >> 12);
    *(*to)++ = (char)(0x80 | (code >> 6 & 63));
  } else {
    *(*to)++ = (char)(0xF0 | code >> 18);
    *(*to)++ = (char)(0x80 | (code >> 12 & 63));
    *(*to)++ = (char)(0x80 | (code >> 6 & 63));
  }
  if (code >= 0x80) *(*to)++ = (char)(0x80 | (code & 63));
  return true;
}

/* A string, decoded where it stands, which an escape is never shorter than, with a zero byte. */
static inline bool loom_json_text_(loom_json_ *json, const char **found) {
  char *first, *to;
  if (!loom_json_has_(json, '"')) return loom_json_wrong_(json, "a string");
  first = to = json->at;
  for (;;) {
    if (json->at == json->end) return loom_json_wrong_(json, "the end of a string");
    if (*json->at == '"') break;
    if ((unsigned char)*json->at < 0x20)
      return loom_json_wrong_(json, "no control character in a string");
    if (*json->at == '\\') {
      ++json->at;
      if (!loom_json_escape_(json, &to)) return false;
    } else {
      *to++ = *json->at++;
    }
  }
  if (!loom_is_utf8_(first, (size_t)(to - first))) return loom_json_wrong_(json, "UTF-8");
  ++json->at;
  *to = 0;
  *found = first;
  return true;
}

/* An integer from 0 to 2^63 - 1. */
static inline bool loom_json_number_(loom_json_ *json, uint64_t *found) {
  const char *first;
  loom_json_space_(json);
  first = json->at;
  *found = 0;
  for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; ++json->at) {
    const uint64_t digit = (uint64_t)(*json->at - '0');
    if (*found > ((uint64_t)INT64_MAX - digit) / 10)
      return loom_json_wrong_(json, "an integer below 2^63");
    *found = *found * 10 + digit;
  }
  if (json->at == first || (*first == '0' && json->at - first > 1))
    return loom_json_wrong_(json, "an integer, 0 or more");
  return true;
}

#ifdef __cplusplus
}
#endif

#endif /* LAZYLOOM_SUPPORT_H */
