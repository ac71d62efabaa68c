/* Calls of engines of plug-ins (capi/include/lazyloom_codegen.h) as functions that engines have:
   what a plug-in takes is filled in with the addresses of a call.

   codegen/plugin.py lays out a PluginCall, whose arrays are complete but for their data. */
#include <stdio.h>
#include "../../../capi/include/lazyloom_codegen.h"

typedef struct {
    loom_codegen_status (*run)(void *, const loom_codegen_array *const *, size_t,
                               const loom_codegen_array *const *, size_t, loom_codegen_error *);
    void *engine;
    const loom_codegen_array *arrays;
    uint64_t operands, results;
} PluginCall;

static const char *call_plugin(void *state, void *const *buffers)
{
    /* read on this thread, before anything else runs on it */
    static _Thread_local char message[1024];
    const PluginCall *call = state;
    size_t count = (size_t)(call->operands + call->results);
    loom_codegen_array arrays[count + 1];
    const loom_codegen_array *given[count + 1];
    for (size_t k = 0; k < count; k++) {
        arrays[k] = call->arrays[k];
        arrays[k].data = buffers[k];
        given[k] = &arrays[k];
    }
    message[0] = 0;
    loom_codegen_error error = {sizeof error, message, sizeof message};
    loom_codegen_status status = call->run(call->engine, given, (size_t)call->operands,
                                           given + call->operands, (size_t)call->results, &error);
    if (status == LOOM_CODEGEN_OK) return NULL;
    message[sizeof message - 1] = 0;
    if (!message[0]) snprintf(message, sizeof message, "its run gave status %d", (int)status);
    return message;
}
