/* lazyloom_codegen_json.h: reads the JSON that lazyloom_codegen.h hands to plug-ins.

   A value is a pointer to its first character in the text; nothing is copied or allocated. The text
   has to be JSON, as what Lazyloom gives is: of another one the results are undefined. Each
   function takes NULL for a value, and then finds nothing, so that calls can be nested:

     loom_codegen_integer(loom_codegen_item(loom_codegen_member(array, "shape"), 0), -1) */
#ifndef LAZYLOOM_CODEGEN_JSON_H
#define LAZYLOOM_CODEGEN_JSON_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline const char *loom_codegen_blank_(const char *text) {
  while (*text == ' ' || *text == '\n' || *text == '\t' || *text == '\r') ++text;
  return text;
}

/* Behind a value. */
static inline const char *loom_codegen_behind_(const char *value) {
  size_t depth = 0;
  bool quoted = false;
  for (; *value; ++value) {
    if (quoted) {
      if (*value == '\\' && value[1]) ++value;
      else if (*value == '"') quoted = false;
    } else if (*value == '"') {
      quoted = true;
    } else if (*value == '{' || *value == '[') {
      ++depth;
    } else if (*value == '}' || *value == ']') {
      if (depth == 0) return value;
      if (--depth == 0) return value + 1;
      continue;
    } else if (depth == 0 && (*value == ',' || *value == ':')) {
      return value;
    }
    if (depth == 0 && !quoted && *value == '"') return value + 1;
  }
  return value;
}

/* The next value of an array or object, behind one of its values; NULL at its end. */
static inline const char *loom_codegen_next_(const char *value) {
  value = loom_codegen_blank_(loom_codegen_behind_(value));
  return *value == ',' || *value == ':' ? loom_codegen_blank_(value + 1) : NULL;
}

/* The first value of an array, or the first name of an object; NULL if there is none. */
static inline const char *loom_codegen_first_(const char *value, char bracket) {
  if (value == NULL || *value != bracket) return NULL;
  value = loom_codegen_blank_(value + 1);
  return *value == ']' || *value == '}' || *value == 0 ? NULL : value;
}

/* Whether a value is this text; escapes are compared as they are written. */
static inline bool loom_codegen_is(const char *value, const char *text) {
  const size_t length = strlen(text);
  return value != NULL && *value == '"' && strncmp(value + 1, text, length) == 0 &&
         value[length + 1] == '"';
}

/* The member of an object of a name; NULL if there is none. */
static inline const char *loom_codegen_member(const char *object, const char *name) {
  const char *here = loom_codegen_first_(object, '{');
  while (here != NULL) {
    const char *value = loom_codegen_next_(here);
    if (value == NULL || loom_codegen_is(here, name)) return value;
    here = loom_codegen_next_(value);
  }
  return NULL;
}

/* The item of an array of a number, from 0 on; NULL if there is none. */
static inline const char *loom_codegen_item(const char *array, size_t number) {
  const char *here = loom_codegen_first_(array, '[');
  while (here != NULL && number-- > 0) here = loom_codegen_next_(here);
  return here;
}

/* How many items an array has; 0 for what is none. */
static inline size_t loom_codegen_count(const char *array) {
  const char *here = loom_codegen_first_(array, '[');
  size_t count = 0;
  for (; here != NULL; here = loom_codegen_next_(here)) ++count;
  return count;
}

/* A number as an integer, or what else is given where it is none. */
static inline int64_t loom_codegen_integer(const char *value, int64_t otherwise) {
  if (value == NULL || (*value != '-' && (*value < '0' || *value > '9'))) return otherwise;
  return strtoll(value, NULL, 10);
}

/* A number, or what else is given where it is none; "inf", "-inf" and "nan" are numbers. */
static inline double loom_codegen_number(const char *value, double otherwise) {
  char copy[64];
  size_t size = 0;
  if (loom_codegen_is(value, "inf") || loom_codegen_is(value, "-inf") ||
      loom_codegen_is(value, "nan"))
    return strtod(value + 1, NULL);
  if (value == NULL || (*value != '-' && (*value < '0' || *value > '9'))) return otherwise;
  /* with the point that strtod() expects, which is the locale's */
  for (; *value != 0 && strchr("+-.0123456789Ee", *value) != NULL; ++value) {
    const char *point = *value == '.' ? localeconv()->decimal_point : value;
    const size_t length = *value == '.' ? strlen(point) : 1;
    if (size + length >= sizeof copy) return otherwise;
    memcpy(copy + size, point, length);
    size += length;
  }
  copy[size] = 0;
  return strtod(copy, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
