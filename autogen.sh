#!/bin/sh
# Makes ./configure from configure.ac. Needs autoconf, automake and pkg-config.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
	command -v "$tool" >/dev/null 2>&1 || {
		echo "autogen.sh: $tool is missing: apt-get install autoconf automake pkg-config" >&2
		exit 1
	}
done
mkdir -p .build-aux
exec autoreconf --install --force --warnings=all,no-unsupported
