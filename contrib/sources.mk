EXTRA_DIST += contrib/HACKING.md contrib/quickstart.sh
dist_man_MANS += contrib/man/caisson-result.5
dist_doc_DATA += contrib/result.schema.json

# Flags and keys stand in tables of the program: the pages are made from what it says.
GENERATED_PAGES = contrib/man/caisson.1 contrib/man/caisson.json.5
nodist_man_MANS += $(GENERATED_PAGES)
CLEANFILES += $(GENERATED_PAGES)
EXTRA_DIST += contrib/man/generate.sh contrib/man/caisson.1.in contrib/man/caisson.json.5.in

contrib/man/caisson.1: contrib/man/caisson.1.in contrib/man/generate.sh caisson$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/man && sh $(srcdir)/contrib/man/generate.sh ./caisson$(EXEEXT) \
		$(srcdir)/contrib/man/caisson.1.in >$@.tmp && mv $@.tmp $@
contrib/man/caisson.json.5: contrib/man/caisson.json.5.in contrib/man/generate.sh caisson$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/man && sh $(srcdir)/contrib/man/generate.sh ./caisson$(EXEEXT) \
		$(srcdir)/contrib/man/caisson.json.5.in >$@.tmp && mv $@.tmp $@
check_PROGRAMS += contrib/bench/drain_driver
contrib_bench_drain_driver_LDADD = $(LIBS_STDIO)
EXTRA_DIST += contrib/bench/README.md contrib/bench/bench-drain contrib/bench/bench-run
