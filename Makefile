# The project's commands. Each one sets up what it needs: only Python 3.11 or newer has to be there.
#
#   make course   run every lesson, headless, and write runs/latest/index.html
#   make lab      open the lessons in JupyterLab
#   make test     check everything: style, unit tests, every stored output of every lesson
#   make test-slow  the tests that take longest: hostile submissions, nbgrader, kills and interrupts
#   make bench    measure again what benchmarks/ records
#   make build    rebuild the notebooks whose source has changed
#   make colab    run every notebook alone, with the versions that Colab has (a download of 3 GB)
#   make site     make the course a web site, build/site/index.html, and check its links
#   make pins     choose the pinned versions anew from the ranges in pyproject.toml

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready

# Threads of OpenMP that wait for one another spin, by default for milliseconds, and on a machine busy
# with other work the one they wait for is not running: the classic loop of lesson 04 was seen at a
# hundredth of its speed. So many turns cost nothing on a quiet machine and 2 to 3 times less on a busy one.
export GOMP_SPINCOUNT ?= 10000

.PHONY: course lab test test-slow bench build colab site pins clean
.DEFAULT_GOAL := course

course: $(READY)
	$(BIN)/course run

lab: $(READY)
	$(BIN)/jupyter lab --config=docs/jupyterlab/config.json

# Two workers of one thread each: those of two threads would stand in each other's way. In this order,
# since the notebooks take longest and small tests fill the end.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST) -m "not slow" --nbval notebooks labs/solutions tests

test-slow: $(READY)
	$(PYTEST) -m slow tests

bench: $(READY)
	$(BIN)/python -m benchmarks

build: $(READY)
	$(BIN)/course build
	$(BIN)/python -m course.authoring.start_page

# Every warning counts, a link inside the course that leads nowhere above all.
site: $(READY)
	$(BIN)/sphinx-build -c docs/site -b html -W --keep-going -n -q -d build/doctrees . build/site

# uv installs in half of pip's time; pip steps in where only pip knows the way to an index.
# The stamp is written last, so an interrupted installation is finished by the next make.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "The course needs Python 3.11 or newer; this is " + sys.version.split()[0] + \
	    ". Name another one: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) uv==0.13.8
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.txt || \
	    $(PIP) -r requirements.txt
	$(PIP) --no-deps -e .
	touch $@

# Colab's Python is 3.13: uv fetches one where there is none, or name yours with COLAB_PYTHON=PATH.
COLAB_PYTHON ?= 3.13
COLAB := .venv-colab

colab: $(READY) $(COLAB)/.ready
	$(BIN)/python -m tools.check_with_colab $(COLAB)/bin/python

$(COLAB)/.ready: tools/colab_versions.txt
	$(BIN)/uv venv --quiet --clear --python $(COLAB_PYTHON) $(COLAB)
	$(BIN)/uv pip install --quiet --python $(COLAB)/bin/python -r tools/colab_versions.txt
	touch $@

# torch and torchvision are held where the lessons were built; everything else moves.
pins: $(READY)
	printf 'torch==2.14.1\ntorchvision==0.29.1\n' > $(VENV)/held.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade \
	    --no-emit-index-url --no-annotate --no-header --constraints $(VENV)/held.txt \
	    pyproject.toml --output-file requirements.txt
	$(MAKE) environment.yml

# conda's list is pip's list: tests/rules/test_pins.py compares the two.
environment.yml: requirements.txt
	{ printf 'name: gpu-course-kit\nchannels:\n  - conda-forge\ndependencies:\n'; \
	  printf '  - python=3.12\n  - pip\n  - pip:\n'; \
	  sed 's/^/      - /' requirements.txt; \
	  printf '      - --editable .\n'; } > $@

clean:
	rm -rf $(VENV) $(COLAB) runs output build *.egg-info
