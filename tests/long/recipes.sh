#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in docs/recipes.md must be what its commands print.
exec "$(dirname "$0")/../recorded/questions.sh" docs/recipes.md
