EXTRA_DIST += contrib/HACKING.md contrib/quickstart.sh
dist_man_MANS += contrib/man/caisson-result.5
dist_doc_DATA += contrib/result.schema.json
EXTRA_DIST += contrib/man/caisson.json.5.in
