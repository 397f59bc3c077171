.DEFAULT_GOAL := help
GO ?= go
FUZZTIME ?= 20s
BENCH ?=

.PHONY: help build run test race fuzz bench gobench model lint

help: ## list what one can do
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/countd
	$(GO) build -o bin/countd ./cmd/countd

run: ## serve on 127.0.0.1:6379, data in ./data
	$(GO) run ./cmd/countd

# Linux uses the event loops on epoll; with GOFLAGS=-tags=gnet these run those of other systems.
test: ## run all tests
	$(GO) test ./...

race: ## run all tests under the race detector
	$(GO) test -race ./...

fuzz: ## run every fuzz target for FUZZTIME (20s) each, after an instrumented build, which takes minutes the first time
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

# Not go run, which does not pass a SIGTERM on.
bench: build ## compare countd with redis-server, with the arguments BENCH (default: about two minutes)
	$(GO) build -o bin/bench ./bench
	bin/bench compare --countd bin/countd $(BENCH)

gobench: ## run the Go benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

model: ## compute docs/many-cores.* and their table in ARCHITECTURE.md
	@mkdir -p docs
	$(GO) run ./bench model --svg docs/many-cores.svg >docs/many-cores.txt
	$(GO) test ./bench -run '^TestArchitectureHasTheBendsOfTheModel$$' -update

lint: ## gofmt, go vet, and golangci-lint where it is installed
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; fi
