# SCV is built with Go, git and make alone. `make` lists what it can do.

PREFIX ?= $(HOME)/.local
BINDIR ?= $(PREFIX)/bin
VERSION ?=

# A clone may belong to another user (a CI job run by root), hence safe.directory and -buildvcs=false:
# the commit is stamped here and nowhere else.
COMMIT := $(shell git -c safe.directory='*' describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
STAMP  := -X main.commit=$(COMMIT) $(if $(VERSION),-X main.version=$(VERSION))
BUILD  := go build -buildvcs=false -trimpath -ldflags "$(STAMP)"
TOOL   := go tool -modfile=tools/go.mod
DARWIN := CGO_ENABLED=0 GOOS=darwin GOARCH=arm64

# Three packages at a time, and six tests of one, of those that may: they wait for processes more than they compute.
# PACKAGES=2 takes a few minutes more, and is for a machine that others use too.
# -count=1: some tests limit what this process may write, and the log of the cache must not meet that.
PACKAGES ?= 3
TESTFLAGS ?= -p $(PACKAGES) -parallel 6 -count=1 -timeout 25m

# The tests that `make nightly` runs longer than `make check` does.
NIGHTLY := Crashes|PowerCut|Broken|Damaged|Malformed|Spoofed|Strangers|WhileARunRegisters
NIGHTLYRUNS := PidUsedAgain|EveryShape|JustAfterTheSpawn|FinishedRuns|ManyRuns|EachRunIs|WithoutEnd

.DEFAULT_GOAL := help
.PHONY: help demo demo-feishu demo-wechat bench test test-agents test-platforms nightly check build install format vet staticcheck archtest generated

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## show what SCV does, in half a minute and without touching your files
	@$(BUILD) -ldflags "$(STAMP) -X main.version=99.0.0" -o bin/scv-next ./cmd/scv
	@go run -buildvcs=false ./internal/demo -scv ./bin/scv -next ./bin/scv-next

demo-feishu: build ## the same for an account of Feishu, on a platform that the demo plays itself
	@go run -buildvcs=false ./internal/demo -scv ./bin/scv -story feishu

demo-wechat: build ## the same for an account of WeChat
	@go run -buildvcs=false ./internal/demo -scv ./bin/scv -story wechat

bench: ## the table of ratios
	@go run -buildvcs=false ./internal/bench

test: ## run every test, with the race detector where a C compiler is found
	@cc="$$(go env CC)"; \
	if command -v "$${cc%% *}" >/dev/null; then \
		CGO_ENABLED=1 go test -race $(TESTFLAGS) ./...; \
	else \
		echo "make test: no C compiler ($$cc) found, so the race detector stays off"; \
		go test $(TESTFLAGS) ./...; \
	fi

test-agents: ## the tests with the real Codex and Claude Code (needs npm; installs them into a cache folder)
	@.ci/agents

test-platforms: ## the vendors' own clients against the fake platforms (needs npm; installs into a cache folder)
	@.ci/platforms

nightly: ## the long loops: hours, not minutes; sizes by SCV_CRASH_ROUNDS and the like
	SCV_CRASH_ROUNDS=$${SCV_CRASH_ROUNDS:-10000} SCV_POWER_CUTS=$${SCV_POWER_CUTS:-2000} SCV_LONG=1 SCV_SPOOFS=1000 SCV_MALFORMED=100000 SCV_STRANGERS=10000 \
		go test -timeout 12h -v -run '$(NIGHTLY)' ./cmd/scv ./internal/powercut ./store
	go test -count=5 -timeout 2h -v -run Failpoints ./cmd/scv
	SCV_DECODES=5000000 go test -count=1 -v -run MutatedMessages ./wire
	go test -count=1 -timeout 2h -v -run Races ./daemon/confirm -rapid.checks=20000
	SCV_RESTARTS=500 go test -timeout 4h -v ./daemon/restart
	SCV_CROWD=10000 SCV_CROWD_P99_MS=250 go test -count=1 -v -run CrowdAtTheDoor ./cmd/scv
	SCV_LONG=1 SCV_BOMB_P99_MS=250 SCV_BOMB_GONE_MS=2000 go test -count=1 -v -run ForkBomb ./cmd/scv
	SCV_LONG=1 go test -count=1 -timeout 2h -v -run '$(NIGHTLYRUNS)' ./daemon/process ./daemon/delegation
	SCV_LONG=1 SCV_ACCOUNTS_P99_MS=100 go test -count=1 -timeout 1h -v -run ACrowdOfFeishuAccounts ./cmd/scv
	SCV_ACK_MS=5 go test -count=1 -v -run AcknowledgementIsQuick ./daemon
	SCV_KILLS=$${SCV_KILLS:-1000} go test -count=1 -timeout 4h -v -run SurvivesKills ./cmd/scv
	SCV_TEST_NO_CGROUPS=1 go test -count=1 ./daemon/delegation

check: format vet staticcheck archtest generated test ## everything CI checks, in the same order

build: ## build ./bin/scv (VERSION=1.2.3 stamps a release)
	$(BUILD) -o bin/scv ./cmd/scv

install: build ## put scv into BINDIR (default ~/.local/bin), safe while it runs
	mkdir -p "$(DESTDIR)$(BINDIR)"
	cp bin/scv "$(DESTDIR)$(BINDIR)/.scv.new"
	mv -f "$(DESTDIR)$(BINDIR)/.scv.new" "$(DESTDIR)$(BINDIR)/scv"

format: ## fail if a file is not formatted (gofumpt)
	@bad="$$($(TOOL) gofumpt -l .)" || exit 1; [ -z "$$bad" ] || \
		{ echo "not formatted; run '$(TOOL) gofumpt -w .':"; echo "$$bad"; exit 1; }

vet: ## vet for Linux and macOS, build for macOS
	GOOS=linux go vet ./...
	GOOS=linux go vet -tags failpoints,agents ./...
	$(DARWIN) go build -buildvcs=false ./...
	$(DARWIN) go vet ./...

staticcheck: ## static analysis
	$(TOOL) staticcheck ./...

archtest: ## hold the code to the architecture (internal/archtest)
	go test -count=1 ./internal/archtest

generated: ## fail if 'go generate' would change a file
	@.ci/generated
