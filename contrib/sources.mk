EXTRA_DIST += contrib/HACKING.md contrib/quickstart.sh
