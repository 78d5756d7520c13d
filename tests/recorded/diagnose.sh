#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in docs/diagnose.md must be what its commands print.
exec "$(dirname "$0")/questions.sh" docs/diagnose.md
