EXTRA_DIST += contrib/HACKING.md contrib/quickstart.sh
dist_man_MANS += contrib/man/caisson-result.5
dist_doc_DATA += contrib/result.schema.json

# Commands, flags and keys stand in tables of the program: pages and completions are made from what it says. A new
# subcommand has both without a line here.
MAN_TEXTS = contrib/man/caisson.1.in contrib/man/caisson.json.5.in contrib/man/caisson-run.in \
	contrib/man/caisson-exec.in contrib/man/caisson-ps.in contrib/man/caisson-gc.in contrib/man/caisson-kill.in contrib/man/caisson-logs.in \
	contrib/man/caisson-pause.in contrib/man/caisson-resume.in contrib/man/caisson-rm.in contrib/man/caisson-stats.in \
	contrib/man/caisson-stop.in contrib/man/caisson-wait.in \
	contrib/man/caisson-check.in contrib/man/caisson-configure.in contrib/man/caisson-bundle.in
COMPLETION_PARTS = contrib/completion/table.awk contrib/completion/bash.awk contrib/completion/bash.tail \
	contrib/completion/fish.awk contrib/completion/zsh.awk
COMPLETIONS = contrib/completion/caisson.bash contrib/completion/caisson.zsh contrib/completion/caisson.fish
EXTRA_DIST += contrib/man/generate.sh $(MAN_TEXTS) contrib/completion/generate.sh $(COMPLETION_PARTS)
CLEANFILES += contrib/man/pages.stamp contrib/man/caisson.1 contrib/man/caisson.json.5 $(COMPLETIONS)

contrib/man/pages.stamp: contrib/man/generate.sh $(MAN_TEXTS) caisson$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/man && sh $(srcdir)/contrib/man/generate.sh ./caisson$(EXEEXT) contrib/man && touch $@

$(COMPLETIONS): contrib/completion/generate.sh $(COMPLETION_PARTS) caisson$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) contrib/completion && sh $(srcdir)/contrib/completion/generate.sh ./caisson$(EXEEXT) \
		`echo $@ | sed 's/.*\.//'` >$@.tmp && mv $@.tmp $@

all-local: contrib/man/pages.stamp $(COMPLETIONS)

bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d

install-data-local: contrib/man/pages.stamp $(COMPLETIONS)
	$(MKDIR_P) $(DESTDIR)$(mandir)/man1 $(DESTDIR)$(mandir)/man5 $(DESTDIR)$(bashcompletiondir) \
		$(DESTDIR)$(zshcompletiondir) $(DESTDIR)$(fishcompletiondir)
	$(INSTALL_DATA) contrib/man/caisson*.1 $(DESTDIR)$(mandir)/man1
	$(INSTALL_DATA) contrib/man/caisson.json.5 $(DESTDIR)$(mandir)/man5
	$(INSTALL_DATA) contrib/completion/caisson.bash $(DESTDIR)$(bashcompletiondir)/caisson
	$(INSTALL_DATA) contrib/completion/caisson.zsh $(DESTDIR)$(zshcompletiondir)/_caisson
	$(INSTALL_DATA) contrib/completion/caisson.fish $(DESTDIR)$(fishcompletiondir)/caisson.fish

uninstall-local:
	cd $(DESTDIR)$(mandir)/man1 && rm -f caisson.1 caisson-*.1
	rm -f $(DESTDIR)$(mandir)/man5/caisson.json.5 $(DESTDIR)$(bashcompletiondir)/caisson \
		$(DESTDIR)$(zshcompletiondir)/_caisson $(DESTDIR)$(fishcompletiondir)/caisson.fish

clean-local:
	rm -f contrib/man/caisson-*.1

check_PROGRAMS += contrib/bench/drain_driver
contrib_bench_drain_driver_LDADD = $(LIBS_STDIO)
EXTRA_DIST += contrib/bench/README.md contrib/bench/bench-drain contrib/bench/bench-run
EXTRA_DIST += contrib/docker/README.md contrib/docker/daemon.json contrib/podman/README.md contrib/podman/50-caisson.conf
