/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small web server for pages on this machine.
 *
 * It listens on 127.0.0.1 only. Each connection is answered by a process of its own, with limits of
 * time and memory, so that a request that fails or takes too long ends only itself. At most
 * HTTP_PROCESSES run at once, and further connections wait.
 *
 * A request must be a short GET whose header Host names this server. Otherwise a page of another
 * site could make a browser ask here under the name of that site (DNS rebinding). Requests that
 * scripts or forms of another site send are refused, too. */
#pragma once

#include "sim/base/base.h"

enum {
	HTTP_PROCESSES = 8,
	HTTP_ARGUMENTS = 64,    /* of a request */
	HTTP_REQUEST_B = 16384, /* of the request line and the headers together */
	HTTP_IDLE_S = 5,        /* without a byte of the request */
	HTTP_REQUEST_S = 10,    /* until the request is complete */
	HTTP_ANSWER_S = 60,     /* from then on */
};

struct http_request {
	const char *path; /* "/answer", without what follows "?" */
	const char *names[HTTP_ARGUMENTS], *values[HTTP_ARGUMENTS]; /* decoded; "" without "=" */
	size_t count;
	int socket;
};

struct http_server {
	/* Writes the body of the answer to out, sets *type ("text/html"), and returns the HTTP
	 * status, for example 200. */
	unsigned (*answer)(void *ctx, const struct http_request *request, FILE *out,
			   const char **type);
	void *ctx;
	unsigned port; /* 0: a free one */
};

/* Serves until an interrupt (SIGINT, SIGTERM), after it has printed the address of the page.
 * Returns false after it has printed an error. It returns true in the processes that have
 * answered a request, too. */
bool http_serve(const struct http_server *server);

/* Ends this process if the client has closed the connection, because a newer request replaces this
 * one. Long work calls it often. */
void http_still_wanted(const struct http_request *request);
