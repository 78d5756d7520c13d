#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in docs/tutorial.md must be what its commands print.
exec "$(dirname "$0")/questions.sh" docs/tutorial.md
