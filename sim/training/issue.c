/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/issue.h"
#include "sim/training/exchange.h"
#include "sim/training/gradients.h"

struct item *issue_item(struct issuer *issuer, enum item_kind kind)
{
	struct item *item = VEC_PUSH(issuer->arena, &issuer->items);
	*item = (struct item){.kind = kind};
	return item;
}

struct cuda_call *issue_call(struct issuer *issuer, enum call_kind kind, uint16_t stream)
{
	struct cuda_call *call = &issue_item(issuer, ITEM_CALL)->call;
	call->kind = kind;
	call->stream = stream;
	call->arguments_B = (float)issuer->stack->arguments_B;
	return call;
}

/* Adds `rate` to *due, then appends one library call for each whole unit and keeps the
 * fraction. */
static void issue_library(struct issuer *issuer, double *due, double rate, const char *label)
{
	for (*due += rate; *due >= 1; *due -= 1) {
		struct cuda_call *call = issue_call(issuer, CALL_LIBRARY, 0);
		call->arguments_B = (float)issuer->stack->library_arguments_B;
		call->label = label;
	}
}

/* Largest number of further times in one item (struct cuda_call). */
enum { REPEATS_MAX = 63 };

/* Returns true for FlashAttention, whose kernels are the framework's own. */
static bool is_flash(const struct op *op)
{
	return op->work.form == KERNEL_ATTENTION;
}

/* Returns the number of calls that eager PyTorch makes to a library for the op, besides its
 * launches; 0: the stack does not state it. A product asks for the handle of cuBLAS once, and
 * cuBLASLt twice, for its handle and its workspace. A product of cuBLAS in 16 bits also sets the
 * math mode and resets it (ATen, CublasHandlePool.cpp and CUDABlas.cpp). */
static double library_calls(const struct stack_params *stack, const struct op *op)
{
	if (stack->handle_calls_count <= 0)
		return 0;
	if (op->work.form != KERNEL_PRODUCT)
		return stack->cudnn_calls_count;
	if (op->epilogue)
		return stack->epilogue_calls_count + 2 * stack->handle_calls_count;
	return stack->handle_calls_count + (stack->precision == PRECISION_FP32 ? 0 : 2);
}

/* Appends the calls to a library around the launches of an op. The first ones cost time of their
 * own, the others are a part of the op's dispatch. FlashAttention sets one attribute of its
 * kernel instead. */
static void issue_library_op(struct issuer *issuer, const struct op *op)
{
	const struct stack_params *stack = issuer->stack;
	bool flash = is_flash(op) && stack->handle_calls_count > 0;
	double own = stack->calls_per_library_op_count;
	if (!flash)
		issue_library(issuer, &issuer->library_due, own, op->name);
	issuer->hidden_due += flash ? 1 : fmax(0, library_calls(stack, op) - own);
	if (issuer->hidden_due < 1)
		return;
	struct cuda_call *call = issue_call(issuer, flash ? CALL_GET_ATTRIBUTE : CALL_LIBRARY, 0);
	unsigned count = (unsigned)fmin(issuer->hidden_due, REPEATS_MAX + 1);
	call->in_dispatch = true;
	call->repeats = (count - 1) & REPEATS_MAX;
	call->label = op->name;
	issuer->hidden_due -= count;
}

/* Before it draws random numbers, PyTorch asks whether the stream records a graph (ATen,
 * CUDAGeneratorImpl.cpp, philox_cuda_state). */
static void issue_random(struct issuer *issuer, const struct op *op)
{
	if (op->random && issuer->stack->handle_calls_count > 0)
		issue_call(issuer, CALL_IS_CAPTURING, 0)->in_dispatch = true;
}

/* Appends the calls that the framework makes around a launch (stack_calls.def). It neither asks for
 * errors nor clears semaphores for a launch that a library makes. */
static void issue_around_launch(struct issuer *issuer, uint16_t stream, bool by_library)
{
	static const enum call_kind kinds[] = {
#define STACK_CALL(field, kind, help, source) CALL_##kind,
#include "sim/training/stack_calls.def"
#undef STACK_CALL
	};
	const double rates[] = {
#define STACK_CALL(field, kind, help, source) issuer->stack->field,
#include "sim/training/stack_calls.def"
#undef STACK_CALL
	};
	for (size_t i = 0; i < STACK_CALL_COUNT; i++) {
		double *due = &issuer->calls_due[i];
		bool own = kinds[i] == CALL_GET_LAST_ERROR || kinds[i] == CALL_MEMSET_ASYNC;
		if (own && by_library)
			continue;
		*due += rates[i];
		if (*due < 1)
			continue;
		unsigned count = (unsigned)fmin(*due, REPEATS_MAX + 1);
		struct cuda_call *call = issue_call(issuer, kinds[i], stream);
		call->event = issuer->calls_event;
		call->in_dispatch = true;
		call->repeats = (count - 1) & REPEATS_MAX;
		*due -= count;
	}
}

/* Adds kernels to the CUDA graph that an earlier call has launched. Behind a mark of the step they
 * are a call of their own, which costs the host nothing. */
static void extend_graph(struct issuer *issuer, double duration_s, uint32_t kernels,
			 const char *label)
{
	issuer->items.items[issuer->graph_item].call.nodes += kernels;
	struct item *last = &issuer->items.items[issuer->items.count - 1];
	if (last->kind == ITEM_CALL && last->call.kind == CALL_LAUNCH) {
		last->call.duration_s += duration_s;
		return;
	}
	struct cuda_call *launch = issue_call(issuer, CALL_LAUNCH, 0);
	launch->duration_s = duration_s;
	launch->label = label;
	launch->in_graph = true;
}

void issue_begin(struct issuer *issuer, const struct network *network)
{
	size_t count = 0;
	for (size_t i = 0; i < network->layer_count; i++)
		count += network->layers[i].tensor_count + network->layers[i].state_tensor_count;
	issue_item(issuer, ITEM_THINK)->work_s =
		issuer->stack->session_s + (double)count * issuer->stack->variable_s;
}

/* Returns the host work of the operator itself, without its calls. */
static double operator_s(const struct stack_params *stack, const struct op *op)
{
	if (op->inner || (op->of_variables && framework_at((size_t)stack->framework)->pool))
		return 0;
	if (op->update_of != NO_TENSOR)
		return stack->dispatch_s * stack->update_ratio;
	return stack->dispatch_s * (op->pass == PASS_BACKWARD ? stack->autograd_ratio : 1);
}

/* Appends what follows an op. Only a graph of the whole step needs no result on the host. */
static void end_op(struct issuer *issuer, const struct op *op, bool whole)
{
	if (op->result_B > 0 && !whole) {
		issue_waiting_copy(issuer, CALL_MEMCPY_D2H_ASYNC, op->result_B, op->name);
		issuer->graph_begun = false;
	}
	gradients_behind(issuer, op);
}

void issue_op(struct issuer *issuer, const struct op *op, uint16_t stream)
{
	if (!gradients_before(issuer, op))
		return;
	const struct stack_params *stack = issuer->stack;
	double duration_s = kernel_duration_s(issuer->gpu, issuer->efficiency, &op->work) +
			    op->wait_s / fmax(1, op->kernels);
	bool whole = stack->cuda_graph && !issuer->spreads && op->pass != PASS_UPDATE;
	bool graph = whole || (op->captured && !issuer->spreads);
	if (graph && issuer->graph_begun) {
		extend_graph(issuer, op->kernels * (issuer->gpu->kernel_gap_s + duration_s),
			     op->kernels, op->name);
		end_op(issuer, op, whole);
		return;
	}
	issuer->graph_begun = graph ? op->kernels > 0 : stack->cuda_graph && issuer->graph_begun;
	double work_s = operator_s(stack, op) + (op->captured ? 0 : op->host_s);
	if (work_s > 0)
		issue_item(issuer, ITEM_THINK)->work_s = work_s;
	if (op->kernels == 0 && op->update_of != NO_TENSOR)
		return; /* the kernels of another update have its work */
	issue_random(issuer, op);
	if (op->library)
		issue_library_op(issuer, op);
	uint32_t launches = graph && op->kernels > 1 ? 1 : op->kernels;
	for (uint32_t i = 0; i < launches; i++) {
		issue_library(issuer, &issuer->launch_due, stack->calls_per_launch_count - 1,
			      op->name);
		bool by_library = op->library && !is_flash(op);
		issue_around_launch(issuer, stream, by_library);
		struct cuda_call *launch = issue_call(issuer, CALL_LAUNCH, stream);
		launch->duration_s = duration_s;
		launch->label = op->name;
		launch->by_library = by_library;
		launch->product = by_library && op->work.form == KERNEL_PRODUCT;
		launch->norm = by_library && op->work.form == KERNEL_PASS;
		if (graph) {
			issuer->graph_item = issuer->items.count - 1;
			launch->nodes = 1;
			launch->by_library = launch->product = launch->norm = false;
		}
	}
	if (launches < op->kernels)
		extend_graph(issuer, (op->kernels - 1) * (issuer->gpu->kernel_gap_s + duration_s),
			     op->kernels - 1, op->name);
	end_op(issuer, op, whole);
}

void issue_bundle_copy(struct issuer *issuer, const struct exchange_params *exchange, double size_B,
		       uint16_t stream)
{
	const struct gpu_params *gpu = issuer->gpu;
	double copy_s = exchange->fusion_copy_ratio * size_B /
			(gpu->memory_bandwidth_Bps * gpu->memory_efficiency_ratio);
	if (copy_s <= 0)
		return;
	struct cuda_call *copy = issue_call(issuer, CALL_LAUNCH, stream);
	copy->duration_s = copy_s;
	copy->label = "fusion buffer";
}

void issue_copy_and_watch(struct issuer *issuer, enum call_kind kind, double size_B, bool pageable,
			  uint16_t compute, uint16_t copies, uint16_t event, uint16_t signal)
{
	issue_call(issuer, CALL_EVENT_RECORD, compute)->event = event;
	issue_call(issuer, CALL_STREAM_WAIT_EVENT, copies)->event = event;
	if (size_B > 0) {
		struct cuda_call *copy = issue_call(issuer, kind, copies);
		copy->payload_B = size_B;
		copy->pageable = pageable;
		copy->label = kind == CALL_MEMCPY_D2H_ASYNC ? "loss to host" : "input to device";
	}
	issue_call(issuer, CALL_EVENT_RECORD, copies)->event = (uint16_t)(event + 1);
	issue_watch(issuer, (uint16_t)(event + 1), signal)->count = 1;
}

void issue_waiting_copy(struct issuer *issuer, enum call_kind kind, double size_B,
			const char *label)
{
	struct cuda_call *copy = issue_call(issuer, kind, 0);
	copy->payload_B = size_B;
	copy->pageable = true;
	copy->label = label;
	issue_call(issuer, CALL_STREAM_SYNCHRONIZE, 0);
}

struct item *issue_watch(struct issuer *issuer, uint16_t event, uint32_t signal)
{
	struct item *watch = issue_item(issuer, ITEM_WATCH);
	watch->call.event = event;
	watch->signal = signal;
	return watch;
}

void issue_await(struct issuer *issuer, uint32_t signal, uint32_t count)
{
	struct item *item = issue_item(issuer, ITEM_AWAIT);
	item->signal = signal;
	item->count = count;
}

double input_B(const struct network *network, size_t batch)
{
	const struct layer *input = &network->layers[0];
	double element_B = network->sequence > 0 ? 8 : 4; /* numbers of tokens are int64 */
	return input->output_count * element_B * (double)batch;
}

struct issuer issuer_new(struct arena *arena, const struct step_spec *spec, uint16_t calls_event)
{
	const struct gradients_params spreads = {.spread = spec->spread};
	return (struct issuer){.arena = arena,
			       .gradients = spec->spread ? gradient_writer_new(arena, &spreads)
							 : spec->gradients,
			       .spreads = spec->spread != NULL,
			       .stack = spec->stack,
			       .gpu = spec->gpu,
			       .efficiency = spec->efficiency,
			       .calls_event = calls_event};
}

const struct program *issue_program(const struct issuer *main, const struct step_spec *spec,
				    const struct call_thread threads[2], struct program program)
{
	struct program *step = ARENA_NEW(main->arena, struct program);
	struct call_thread *own = ARENA_ARRAY(main->arena, 2, struct call_thread);
	own[0] = threads[0];
	own[1] = threads[1];
	program.threads = own;
	program.thread_count = threads[1].count > 0 ? 2 : 1;
	program.poller.enabled = spec->stack->poller;
	program.poller.sleep_s = spec->stack->poll_sleep_s;
	program.memory_B = stack_memory_B(spec->network, spec->batch, spec->stack);
	program.images_count = (double)spec->batch;
	*step = program;
	return gradients_program(main, step);
}
