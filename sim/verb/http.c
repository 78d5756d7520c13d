/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/verb/verb.h"

/* Browsers then load only files of this server into its pages, and run no script inside of them. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
			     "connect-src 'self'; img-src data:; form-action 'self'; "
			     "base-uri 'none'; frame-ancestors 'none'";

struct child {
	pid_t pid;
	int socket; /* of its client, for the message if it fails */
	int ended;  /* a pipe that closes when the process has ended */
};
struct web_server {
	const struct http_server *server;
	struct http_request request;
	unsigned port;
	struct child children[HTTP_PROCESSES];
	size_t count;
	int listening;
};

/* ---- one request, in its process ---- */

void http_still_wanted(const struct http_request *request)
{
	char byte;
	if (recv(request->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		kill(getpid(), SIGKILL);
}

static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct http_request *request = ctx;
	if (request->count == HTTP_ARGUMENTS)
		return MHD_NO;
	request->names[request->count] = name;
	request->values[request->count++] = value ? value : "";
	return MHD_YES;
}

/* Returns whether the text is `before`, then the name or number of this machine and the port.
 * Browsers leave out port 80. */
static bool is_here(const struct web_server *s, const char *before, const char *text)
{
	char wanted[64];
	for (int i = 0; i < 4 && text; i++) {
		const char *name = i % 2 ? "localhost" : "127.0.0.1";
		snprintf(wanted, sizeof wanted, "%s%s:%u", before, name, s->port);
		if (i / 2 && s->port == 80)
			*strrchr(wanted, ':') = '\0';
		if (strcmp(wanted, text) == 0)
			return true;
	}
	return false;
}

/* Returns the status with which the request is refused, and sets *why; 0: it is allowed. */
static unsigned refused(const struct web_server *s, struct MHD_Connection *connection,
			const char *method, const char **why)
{
	const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
	const char *site =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
	*why = "This server answers only GET.\n";
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	*why = "This server answers only under the address that it has printed.\n";
	if (!is_here(s, "", MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
		return MHD_HTTP_FORBIDDEN;
	*why = "This server answers only its own page.\n";
	bool page = strcmp(s->request.path, "/") == 0; /* a link to it may be anywhere */
	if ((origin && !is_here(s, "http://", origin)) ||
	    (!page && site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0))
		return MHD_HTTP_FORBIDDEN;
	return 0;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
				 const char *type, char *text, size_t size_B)
{
	const char *const headers[][2] = {{"Content-Type", type},
					  {"Content-Security-Policy", policy},
					  {"X-Content-Type-Options", "nosniff"},
					  {"Cross-Origin-Resource-Policy", "same-origin"},
					  {"Referrer-Policy", "no-referrer"},
					  {"Cache-Control", "no-store"},
					  {"Allow", "GET"},
					  {"Connection", "close"}};
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size_B, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	enum MHD_Result good = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return good;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *body,
			      size_t *body_B, void **state)
{
	struct web_server *s = ctx;
	const char *why, *type = "text/plain";
	char *text = NULL;
	size_t size_B = 0;
	s->request.path = path;
	unsigned status = refused(s, connection, method, &why);
	if (!status && !*state) { /* the headers are read, and a body may follow */
		*state = s;
		return MHD_YES;
	}
	if (*body_B > 0)
		return MHD_NO;
	alarm(HTTP_ANSWER_S);
	FILE *out = open_memstream(&text, &size_B);
	if (!out)
		return MHD_NO;
	s->request.count = 0;
	int given = MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, NULL, NULL);
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, &s->request);
	if (!status && given > HTTP_ARGUMENTS) {
		status = MHD_HTTP_BAD_REQUEST;
		why = "The address has too many settings.\n";
	}
	if (status)
		fputs(why, out);
	else
		status = s->server->answer(s->server->ctx, &s->request, out, &type);
	if (fclose(out) != 0)
		return MHD_NO;
	return send_text(connection, status, type, text, size_B);
}

/* Sets the limits of a process that answers one request. */
static void limit(void)
{
#ifndef FARWIRE_SANITIZED /* sanitizers reserve more addresses than any limit allows */
	const rlim_t memory_B = (rlim_t)4 << 30; /* enough for the largest shipped cases */
	const struct rlimit memory = {memory_B, memory_B};
	setrlimit(RLIMIT_AS, &memory);
#endif
	const struct rlimit core = {0, 0};
	setrlimit(RLIMIT_CORE, &core);
	alarm(HTTP_REQUEST_S); /* until the request is complete */
}

/* Answers the request of this connection and closes it. */
static bool answer_one(struct web_server *s, int client, const struct sockaddr_in *address)
{
	limit();
	s->request = (struct http_request){.socket = client};
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, s,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_B,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S, MHD_OPTION_END);
	bool good = daemon && MHD_add_connection(daemon, client, (const struct sockaddr *)address,
						 sizeof *address) == MHD_YES;
	while (good) {
		const union MHD_DaemonInfo *info =
			MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
		if (!info || info->num_connections == 0)
			break;
		good = MHD_run_wait(daemon, 1000 * HTTP_IDLE_S) == MHD_YES;
	}
	if (daemon)
		MHD_stop_daemon(daemon);
	return good;
}

/* ---- the server, which starts a process for each connection ---- */

/* Tells the client of a process that has failed why there is no answer. */
static void send_failure(int client)
{
	static const char text[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
		"Connection: close\r\n\r\nThere is no answer, because the simulation failed or "
		"exceeded its limits of time and memory, or the request was too slow.\n";
	send(client, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void remove_child(struct web_server *s, size_t index)
{
	struct child *child = &s->children[index];
	int status = 0;
	if (waitpid(child->pid, &status, 0) == child->pid && status != 0)
		send_failure(child->socket);
	close(child->socket);
	close(child->ended);
	*child = s->children[--s->count];
}

/* Returns true in the new process. */
static bool start_child(struct web_server *s, int client)
{
	int ended[2] = {-1, -1};
	fflush(stdout);
	pid_t pid = pipe(ended) == 0 ? fork() : -1;
	if (pid == 0) {
		for (size_t i = 0; i < s->count; i++) {
			close(s->children[i].socket);
			close(s->children[i].ended);
		}
		close(ended[0]); /* ended[1] stays open until the process ends */
		close(s->listening);
		return true;
	}
	close(ended[1]);
	if (pid > 0) {
		s->children[s->count++] = (struct child){pid, client, ended[0]};
		return false;
	}
	send_failure(client);
	close(client);
	close(ended[0]);
	return false;
}

/* Waits for connections and for the end of processes. Returns false after an interrupt. */
static bool wait_for_work(const struct web_server *s, const sigset_t *signals, fd_set *ready)
{
	int most = s->listening;
	FD_ZERO(ready);
	if (s->count < HTTP_PROCESSES)
		FD_SET(s->listening, ready);
	for (size_t i = 0; i < s->count; i++) {
		FD_SET(s->children[i].ended, ready);
		most = s->children[i].ended > most ? s->children[i].ended : most;
	}
	return pselect(most + 1, ready, NULL, NULL, NULL, signals) >= 0;
}

/* Serves until an interrupt. Returns true in a process that has to answer *client. */
static bool serve(struct web_server *s, const sigset_t *signals, int *client,
		  struct sockaddr_in *address)
{
	fd_set ready;
	while (wait_for_work(s, signals, &ready)) {
		socklen_t size = sizeof *address;
		*client = -1;
		if (FD_ISSET(s->listening, &ready))
			*client = accept(s->listening, (struct sockaddr *)address, &size);
		for (size_t i = s->count; i-- > 0;)
			if (FD_ISSET(s->children[i].ended, &ready))
				remove_child(s, i);
		if (*client >= 0 && start_child(s, *client))
			return true;
	}
	for (size_t i = 0; i < s->count; i++)
		kill(s->children[i].pid, SIGKILL);
	while (s->count)
		remove_child(s, s->count - 1);
	return false;
}

/* Opens the port. Returns false after an error. */
static bool listen_here(struct web_server *s)
{
	const int on = 1;
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)s->server->port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof here;
	s->listening = socket(AF_INET, SOCK_STREAM, 0);
	if (s->listening < 0 ||
	    setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(s->listening, (struct sockaddr *)&here, size) != 0 ||
	    listen(s->listening, 2 * HTTP_PROCESSES) != 0 ||
	    fcntl(s->listening, F_SETFL, O_NONBLOCK) != 0 ||
	    getsockname(s->listening, (struct sockaddr *)&here, &size) != 0) {
		command_stop(EXIT_FAILED, "cannot serve on port %u of 127.0.0.1: %s%s",
			     s->server->port, strerror(errno),
			     errno == EADDRINUSE ? " (write another --port, or leave it out)" : "");
		return false;
	}
	s->port = ntohs(here.sin_port);
	return true;
}

static void interrupt(int number)
{
	(void)number; /* pselect ends */
}

bool http_serve(const struct http_server *server)
{
	static const int numbers[] = {SIGINT, SIGTERM};
	struct web_server s = {.server = server};
	struct sockaddr_in address = {0};
	sigset_t blocked, before;
	struct sigaction action = {.sa_handler = interrupt}, actions[2];
	int client;
	if (!listen_here(&s))
		return false;
	sigemptyset(&blocked);
	for (size_t i = 0; i < 2; i++) {
		sigaddset(&blocked, numbers[i]);
		sigaction(numbers[i], &action, &actions[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &before);
	printf("http://127.0.0.1:%u/\n", s.port);
	fflush(stdout);
	bool child = serve(&s, &before, &client, &address);
	action.sa_handler = SIG_DFL;
	for (size_t i = 0; i < 2; i++)
		sigaction(numbers[i], child ? &action : &actions[i], NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child)
		return answer_one(&s, client, &address);
	close(s.listening);
	return true;
}
