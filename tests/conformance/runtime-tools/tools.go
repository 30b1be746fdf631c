//go:build tools

// Package conformance names what runtime-tools' validation suite is built
// from, so that `go mod tidy` keeps it in go.mod: its last release has no
// module file of its own, and needs an old runtime-spec and selinux.
package conformance

import (
	_ "github.com/opencontainers/runtime-tools/cmd/runtimetest"
	_ "github.com/opencontainers/runtime-tools/validation/util"
)
