# make demo   sets everything up, reproduces the migration study at reduced size, shows its scoreboard
# make test   sets everything up and runs every test; CI runs .ci/run, which also builds the kernel's image
# make build  only sets up: .venv with the locked Python packages and Daybreak itself, built optimised
# make wheel  puts a wheel with both engines into dist/
# make docs   builds the site into docs/_build, running every command and snippet of its pages

PYTHON ?= python3
BIN := .venv/bin
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml -not -path '*/target/*')

.PHONY: demo test build wheel docs test-rust test-python lint lock clean

demo: build
	$(BIN)/daybreak reproduce migration --quick

test: lint test-rust test-python

build: .venv/built

wheel: .venv/packages
	@$(BIN)/python tools/wheel.py

docs: build
	@$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet --jobs 2 docs docs/_build/html
	@echo "the site is docs/_build/html/index.html"

test-rust: .venv/packages
	cargo test --workspace --quiet

test-python: build
	$(BIN)/pytest --numprocesses 2 --dist loadfile

lint: .venv/packages
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests tools docs/extensions docs/conf.py
	$(BIN)/ruff format --check python tests tools docs/extensions docs/conf.py
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports
	$(BIN)/python tools/rust-modules.py

# The sentence that a user sees when something is missing comes from this script.
.venv/packages: requirements.lock tools/check-requirements.sh
	@sh tools/check-requirements.sh "$(PYTHON)"
	@echo "installing the locked Python packages into .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@touch $@

.venv/built: .venv/packages pyproject.toml $(RUST_SOURCES)
	@echo "building Daybreak (a minute or two)"
	@. $(BIN)/activate && maturin develop --release > .venv/build.log 2>&1 || { cat .venv/build.log; exit 1; }
	@cargo build --release --quiet --package daybreak-guest --package daybreak-guest-switch
	@touch $@

# Regenerates the lock file after a change of the dependencies in pyproject.toml.
lock: .venv/packages
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --all-extras \
	  --no-emit-index-url --no-emit-find-links pyproject.toml --output-file requirements.lock

clean:
	rm -rf .venv target docs/_build docs/_made python/daybreak/_native*.so
