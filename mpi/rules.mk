# SPDX-License-Identifier: GPL-3.0-or-later
# libfarwire-mpi.so, by which `mpirun farwire sweep` finds its other ranks: built
# where MPI's compiler is, left out elsewhere. farwire opens it only when it was
# started as one of several. Looked for when it is built, since `make test` may
# have installed it just before.
MPICC ?= mpicc
MPI := $(BUILD)/libfarwire-mpi.so

.PHONY: mpi
mpi: | $(BUILD)/config.mk
	@if ! command -v $(MPICC) >/dev/null; then \
		echo 'skipped libfarwire-mpi.so: there is no $(MPICC)'; \
	elif [ -z "$$(find $(MPI) -newer mpi/ranks_mpi.c -newer mpi/rules.mk -newer sim/analysis/ranks.h 2>/dev/null)" ]; then \
		echo '  MPI ' $(MPI); \
		$(MPICC) -std=c17 -O2 -g -I. -Wall -Wextra $(WERROR) -fPIC -fvisibility=hidden -shared \
			-o $(MPI) mpi/ranks_mpi.c -Wl,--no-as-needed -lc; \
	fi

all: mpi

install: install-mpi
.PHONY: install-mpi
install-mpi: mpi
	if [ -f $(MPI) ]; then \
		install -D -m 755 $(MPI) $(DESTDIR)$(PREFIX)/lib/farwire/libfarwire-mpi.so; fi
