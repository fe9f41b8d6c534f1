# Forge needs Python >= 3.11, make and git. Everything else is installed into .venv by these targets.
PYTHON ?= python3
VENV   ?= .venv
ENGINE ?= quickjs-ng
BIN     = $(VENV)/bin
CHAOS_BAR ?= 15
CHAOS_SECONDS ?= 300
SCHEMATHESIS = tests/db/contract/test_schemathesis.py
PYTEST = $(BIN)/python -m pytest -q -n 3 --dist worksteal --ignore $(SCHEMATHESIS)

.PHONY: setup setup-dev demo serve test test-quickjs check bench chaos clean

# ENGINE=quickjs: the original engine takes the place of its drop-in.
define engine
@if [ "$(ENGINE)" = quickjs ]; then \
	$(BIN)/python -m pip uninstall -q -y quickjs-ng quickjs 2>/dev/null; \
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-quickjs.txt; fi
endef

setup: $(VENV)/.installed
$(VENV)/.installed: requirements.txt requirements-quickjs.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "forge: Python 3.11 or newer is needed (PYTHON=...)"; exit 2; }
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "forge: installing into $(VENV)"
	@$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	$(engine)
	@touch $@

setup-dev: $(VENV)/.installed-dev
$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-dev.txt
	$(engine)
	@touch $@

demo: setup
	@$(BIN)/python manage.py demo

serve: setup
	@$(BIN)/python manage.py serve

# All but what `make check` runs. SQLite always; PostgreSQL and a broker only where FORGE_TEST_DATABASE_URL / FORGE_TEST_BROKER_URL name them.
test: setup-dev
	env -u FORGE_TEST_DATABASE_URL -u FORGE_TEST_BROKER_URL $(PYTEST)
	@if [ -n "$$FORGE_TEST_DATABASE_URL" ]; then \
		echo "forge: again on $$FORGE_TEST_DATABASE_URL"; $(PYTEST) -n 2 tests/db tests/process tests/browser; \
	else echo "forge: SQLite only; name FORGE_TEST_DATABASE_URL (and FORGE_TEST_BROKER_URL) to run on PostgreSQL too"; fi

# The sandbox on the other engine, in a virtual environment of its own.
test-quickjs:
	@$(MAKE) --no-print-directory setup-dev VENV=.venv-quickjs ENGINE=quickjs
	.venv-quickjs/bin/python -m pytest -n 2 -q tests/unit/sandbox tests/hostile

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	$(BIN)/python -m pytest -q tests/architecture
	env -u FORGE_TEST_DATABASE_URL $(BIN)/python -m pytest -n 2 -q $(SCHEMATHESIS)
	$(BIN)/python -m pip check
	@out=$$($(BIN)/pip-audit -r requirements.txt --progress-spinner off 2>&1) || true; \
	case "$$out" in *"known vulnerabilit"*) case "$$out" in *"No known"*) echo "forge: pip-audit: nothing known";; \
		*) echo "$$out"; exit 1;; esac;; *) echo "forge: pip-audit could not ask from here";; esac

# One JSON line a figure; the ledger on PostgreSQL too where FORGE_TEST_DATABASE_URL names it.
bench: setup-dev
	@$(BIN)/python -m tests.bench.guest
	@env -u FORGE_TEST_DATABASE_URL $(BIN)/python -m tests.bench.ledger
	@if [ -n "$$FORGE_TEST_DATABASE_URL" ]; then $(BIN)/python -m tests.bench.ledger; fi
	@$(BIN)/python -m tests.bench.executions

# Kill -9 everywhere: in the middle of 200 executions; the crash matrix; at random under mixed load, as many times as fit
# into CHAOS_SECONDS (all of it took so long on two quiet cores; 200 kills by themselves want 600); races, 200 rounds.
chaos: setup-dev
	$(BIN)/python -m tests.chaos.kill9 --executions 200 --steps 5 --json --bar $(CHAOS_BAR)
	$(BIN)/python -m tests.chaos.matrix --json --seconds $$(($(CHAOS_SECONDS) / 4))
	$(BIN)/python -m tests.chaos.storm --executions 1000 --kills 200 --seconds $$(($(CHAOS_SECONDS) / 3)) --json
	FORGE_TEST_ROUNDS=$$(($(CHAOS_SECONDS) >= 600 ? 200 : 20)) $(BIN)/python -m pytest -q -n 2 -k "race or against or reconcilers or at_once" \
		tests/db/executions/test_races.py tests/db/executions/test_races_ends.py tests/db/approvals/test_races.py \
		tests/db/approvals/test_grants.py tests/db/approvals/test_quorum.py tests/db/approvals/test_passwords.py

clean:
	rm -rf $(VENV) .venv-quickjs .venv-node var screenshots .pytest_cache .mypy_cache .ruff_cache
