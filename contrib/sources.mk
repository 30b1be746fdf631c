EXTRA_DIST += contrib/HACKING.md
