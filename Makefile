# The project's commands. Each one installs what it needs; only Python 3.11 or newer is required.
#
#   make course     run every lesson, headless, and write runs/latest/index.html
#   make lab        open the lessons in JupyterLab; more options: make lab LAB_OPTIONS="--port 9000"
#   make test       check everything: style, unit tests, every stored output of every lesson
#   make test-slow  run the slowest tests: hostile submissions, nbgrader, kills and interrupts
#   make lines      print the lines of code per package, and fail if one exceeds its limit
#   make bench      repeat the measurements in benchmarks/
#   make gpu-record  record the GPU results that the lessons show, on a machine with a GPU (10 minutes)
#   make build      rebuild the notebooks whose source has changed
#   make colab      run every notebook alone, with Colab's versions (a download of 3 GB)
#   make site       build the web site, build/site/index.html, and check its links
#   make pins       choose new pinned versions from the ranges in pyproject.toml

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready

# OpenMP threads that wait for each other spin for milliseconds by default. On a busy machine the
# thread they wait for is not running: lesson 04's classic loop ran 100 times slower in a
# measurement. This limit has no cost on an idle machine.
export GOMP_SPINCOUNT ?= 10000

# If Python does not write bytecode, every process that a command starts compiles torch's modules
# again, which takes 8 s of processor time instead of 3.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: course lab test test-slow lines bench gpu-record build colab site pins clean
.DEFAULT_GOAL := course

course: $(READY)
	$(BIN)/course run

# JupyterLab prints its URL. It refuses to run as root, the usual user on a rented GPU, unless told to.
LAB_OPTIONS ?=
ROOT_OPTION := $(if $(filter 0,$(shell id -u)),--allow-root)

lab: $(READY)
	$(BIN)/jupyter lab --config=docs/jupyterlab/config.json $(ROOT_OPTION) $(LAB_OPTIONS)

# Two workers with one thread each. A third worker on 2 cores made the tests 100 s slower: lesson 05
# then measured no speed-up from resident data, and loaded images with PIL in its other measurements.
# Notebooks run first because they take longest; short tests keep all workers busy at the end.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(PYTEST) -m "not slow" --nbval notebooks labs/solutions tests simulated_cuda/tests

# Also runs all lessons in one language, a different one each day.
LANGUAGE_FOLDERS := $(wildcard notebooks/??)
test-slow: $(READY)
	$(PYTEST) -m slow tests simulated_cuda/tests
	@test -z "$(LANGUAGE_FOLDERS)" || { set -- $(LANGUAGE_FOLDERS); \
	    shift $$(( ( $$(date +%s) / 86400 ) % $$# )); echo "$$1"; $(PYTEST) --nbval "$$1"; }

lines:
	$(PYTHON) -m tools.count_lines

bench: $(READY)
	$(BIN)/python -m benchmarks

gpu-record: $(READY)
	$(BIN)/python -m tools.gpu_record

build: $(READY)
	$(BIN)/python -m tools.subset_fonts
	$(BIN)/course build

# Every warning is an error, including broken links inside the course.
SPHINX := $(BIN)/sphinx-build -c docs/site -b html -W --keep-going -n -q
site: $(READY)
	$(SPHINX) -d build/doctrees/en . build/site
	$(foreach page,$(wildcard docs/??/index.md),\
	    COURSE_SITE_LANGUAGE=$(notdir $(page:/index.md=)) $(SPHINX) \
	    -d build/doctrees/$(notdir $(page:/index.md=)) . build/site/$(notdir $(page:/index.md=)) &&) true

# uv takes half of pip's time; pip is used where uv cannot reach an index. In a terminal, uv shows
# the progress of its downloads: PyTorch's take minutes on a slow network.
# JupyterLab reads docs/jupyterlab/page_config.json itself; Notebook 7 needs it in the environment.
# The stamp is written last, so the next make completes an interrupted installation.
$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "The course needs Python 3.11 or newer; this is " + sys.version.split()[0] + \
	    ". Choose another one: make PYTHON=python3.12")'
	@echo "Installs the packages into $(VENV): the first time, this takes minutes, and 6 GB of disk."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) uv==0.13.8
	$(BIN)/uv pip install $(if $(CI),--quiet) --python $(BIN)/python -r requirements.txt || \
	    $(PIP) -r requirements.txt
	$(PIP) --no-deps -e .
	mkdir -p $(VENV)/etc/jupyter/labconfig
	cp docs/jupyterlab/page_config.json $(VENV)/etc/jupyter/labconfig/
	touch $@

# Colab's Python is 3.13: uv downloads it if it is missing; to use your own, set COLAB_PYTHON=PATH.
COLAB_PYTHON ?= 3.13
COLAB := .venv-colab

colab: $(READY) $(COLAB)/.ready
	$(BIN)/python -m tools.check_with_colab $(COLAB)/bin/python

$(COLAB)/.ready: tools/colab_versions.txt
	$(BIN)/uv venv --quiet --clear --python $(COLAB_PYTHON) $(COLAB)
	$(BIN)/uv pip install --quiet --python $(COLAB)/bin/python -r tools/colab_versions.txt
	touch $@

# torch and torchvision keep the versions that the lessons were built with; the others are upgraded.
# With jsonschema 4.25 or newer, every program that imports nbformat takes over a second longer,
# because its optional dependency rfc3987-syntax builds a grammar on import.
pins: $(READY)
	printf 'torch==2.14.1\ntorchvision==0.29.1\njsonschema<4.25\n' > $(VENV)/held.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade \
	    --no-emit-index-url --no-annotate --no-header --constraints $(VENV)/held.txt \
	    pyproject.toml --output-file requirements.txt
	$(MAKE) environment.yml

# The same pins for conda: tests/rules/test_pins.py compares the two.
environment.yml: requirements.txt
	{ printf 'name: gpu-course-kit\nchannels:\n  - conda-forge\ndependencies:\n'; \
	  printf '  - python=3.12\n  - pip\n  - pip:\n'; \
	  sed 's/^/      - /' requirements.txt; \
	  printf '      - --editable .\n'; } > $@

clean:
	rm -rf $(VENV) $(COLAB) runs output build *.egg-info
