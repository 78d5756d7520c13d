/* SPDX-License-Identifier: Apache-2.0 */
/* Loads CUPTI at run time. A machine may have several versions, and the program may have loaded its
 * own, which must then be used. */
#pragma once

#include <cupti.h>

/* CUPTI_FUNCTION(name, parameters): the functions that the recorder calls. */
#define CUPTI_FUNCTIONS(CUPTI_FUNCTION)                                                            \
	CUPTI_FUNCTION(cuptiSubscribe, (CUpti_SubscriberHandle * subscriber,                       \
					CUpti_CallbackFunc callback, void *userdata))              \
	CUPTI_FUNCTION(cuptiEnableDomain, (uint32_t enable, CUpti_SubscriberHandle subscriber,     \
					   CUpti_CallbackDomain domain))                           \
	CUPTI_FUNCTION(cuptiActivityRegisterCallbacks,                                             \
		       (CUpti_BuffersCallbackRequestFunc request,                                  \
			CUpti_BuffersCallbackCompleteFunc complete))                               \
	CUPTI_FUNCTION(cuptiActivityEnable, (CUpti_ActivityKind kind))                             \
	CUPTI_FUNCTION(cuptiActivityFlushAll, (uint32_t flag))                                     \
	CUPTI_FUNCTION(cuptiActivityGetNextRecord,                                                 \
		       (uint8_t * buffer, size_t size_B, CUpti_Activity * *record))                \
	CUPTI_FUNCTION(cuptiActivityGetNumDroppedRecords,                                          \
		       (CUcontext context, uint32_t stream, size_t * dropped))                     \
	CUPTI_FUNCTION(cuptiGetVersion, (uint32_t * version))                                      \
	CUPTI_FUNCTION(cuptiGetTimestamp, (uint64_t * timestamp))                                  \
	CUPTI_FUNCTION(cuptiGetStreamIdEx, (CUcontext context, CUstream stream,                    \
					    uint8_t per_thread, uint32_t * stream_id))

struct cupti {
#define CUPTI_FUNCTION(name, parameters) CUptiResult(CUPTIAPI *name) parameters;
	CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

/* Opens the library FARWIRE_CUPTI or, if that is not set, one of the usual names. Returns NULL or
 * an error message. */
const char *cupti_open(struct cupti *cupti);
