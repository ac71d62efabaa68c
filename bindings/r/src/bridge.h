/* The C ABI for R: values of R become operands and attributes, and tensors external pointers. A
   call that fails gives a list of the class loom_failure, of which R makes a condition. */
#ifndef LAZYLOOM_R_BRIDGE_H
#define LAZYLOOM_R_BRIDGE_H

#define LOOM_NO_SOURCE_LOCATIONS
#include <R.h>
#include <Rinternals.h>
#include <stdlib.h>
#include <string.h>

#include "lazyloom.h"

/* What the thread's last failure was, for R. */
SEXP lr_failure(loom_status status);
SEXP lr_done(loom_status status);

/* The text of a call's error is formatted as printf's. */
SEXP lr_fail(loom_status status, const char *format, ...);

/* ---- handles: an external pointer holds the 64 bits of one, and is not followed ------------- */

typedef enum lr_kind { LR_TENSOR, LR_CAPTURE, LR_MAP } lr_kind;

/* The bits of a pointer of that kind; 0 for any other value, and for what was released. */
uint64_t lr_bits(SEXP pointer, lr_kind kind);
SEXP lr_owned_bits(uint64_t bits, lr_kind kind);
loom_tensor lr_handle(SEXP pointer);
SEXP lr_owned(loom_tensor tensor);

/* Releases what a pointer of any kind holds. */
void lr_forget(SEXP pointer);

/* The handles of a list of tensors, in memory that R frees after the call, with room for one more;
   NULL is the null handle. */
loom_tensor *lr_handles(SEXP list);
SEXP lr_owned_list(const loom_tensor *tensors, size_t count);
loom_tensor *lr_room(size_t count);

/* ---- entries, by the file that they are in -------------------------------------------------- */

/* elements.c */
SEXP lr_tensor(SEXP values, SEXP dtype, SEXP shape);
SEXP lr_read(SEXP pointer);
/* functions.c */
SEXP lr_scan(SEXP step, SEXP init, SEXP xs, SEXP ys_count, SEXP length, SEXP reverse);
SEXP lr_while(SEXP condition, SEXP body, SEXP init, SEXP max_steps);
SEXP lr_cond(SEXP which, SEXP if_true, SEXP if_false, SEXP operands, SEXP count);
SEXP lr_capture(SEXP inputs, SEXP step);
SEXP lr_capture_run(SEXP capture, SEXP inputs, SEXP count);
SEXP lr_linear(SEXP function, SEXP inputs, SEXP count, SEXP forward);
SEXP lr_linear_apply(SEXP map, SEXP given, SEXP count);
SEXP lr_jvp(SEXP function, SEXP inputs, SEXP tangents, SEXP count);
SEXP lr_value_and_grad(SEXP function, SEXP inputs, SEXP positions, SEXP count);
SEXP lr_jacobian(SEXP function, SEXP inputs, SEXP positions, SEXP count, SEXP direction);
SEXP lr_vmap(SEXP function, SEXP inputs, SEXP in_axes, SEXP out_axes, SEXP size, SEXP count);
/* reports.c */
SEXP lr_stat(SEXP name);
SEXP lr_live_handles(void);
SEXP lr_text(SEXP which, SEXP argument);
SEXP lr_option(SEXP name, SEXP value);
SEXP lr_memory(void);
SEXP lr_stats_reset(void);
SEXP lr_profile_begin(SEXP path, SEXP sources);
SEXP lr_profile_end(void);
SEXP lr_program_text(SEXP tensors);
SEXP lr_wait(SEXP tensors, SEXP seconds);
SEXP lr_is_ready(SEXP pointer);
SEXP lr_random_key(SEXP high, SEXP low);
SEXP lr_save(SEXP path, SEXP tensors, SEXP names, SEXP metadata);
SEXP lr_load(SEXP path);

#endif
