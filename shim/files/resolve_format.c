#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/files/resolve_int.h"

#define HEAD_MAX 256             /* the kernel's BINPRM_BUF_SIZE: all that decides the format */
#define HEADERS_MAX (64 << 10)   /* of program headers: fs/binfmt_elf.c load_elf_phdrs */

#ifndef BINFMTFS_MAGIC
#define BINFMTFS_MAGIC 0x42494e4d
#endif

static ssize_t pread_all(int fd, void *data, size_t len, uint64_t offset)
{
	size_t done = 0;

	if (offset > INT64_MAX - len)
		return 0;
	while (done < len) {
		ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* --- #! ------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The first line as fs/binfmt_script.c reads it. head has HEAD_MAX bytes, zeros behind a short file. */
static enum cs__format read_script(const char *head, char interpreter[static PATH_MAX])
{
	const char *end = memchr(head, '\n', HEAD_MAX), *name = head + 2;
	size_t len = 0;

	if (!end) {
		const char *p = name;

		/* a line longer than the head must at least hold the whole name */
		while (p < head + HEAD_MAX && is_blank(*p))
			p++;
		while (p < head + HEAD_MAX && *p != '\0' && !is_blank(*p))
			p++;
		if (p == head + HEAD_MAX)
			return CS__FORMAT_NONE;
		end = head + HEAD_MAX;
	}
	while (name < end && is_blank(*name))
		name++;
	if (name == end)
		return CS__FORMAT_NONE;
	while (name + len < end && name[len] != '\0' && !is_blank(name[len]))
		len++;
	memcpy(interpreter, name, len);
	interpreter[len] = '\0';
	return CS__FORMAT_SCRIPT;
}

/* --- ELF -------------------------------------------------------------------- */

/* What this kernel runs by itself; without a row for the architecture everything is taken. */
static const struct {
	unsigned char class;
	unsigned machine;
} native[] = {
#if defined(__x86_64__)
	{ ELFCLASS64, EM_X86_64 }, { ELFCLASS32, EM_386 }, { ELFCLASS32, EM_X86_64 },
#elif defined(__i386__)
	{ ELFCLASS32, EM_386 },
#elif defined(__aarch64__)
	{ ELFCLASS64, EM_AARCH64 }, { ELFCLASS32, EM_ARM },
#elif defined(__arm__)
	{ ELFCLASS32, EM_ARM },
#elif defined(__riscv)
	{ ELFCLASS64, EM_RISCV }, { ELFCLASS32, EM_RISCV },
#elif defined(__powerpc64__)
	{ ELFCLASS64, EM_PPC64 }, { ELFCLASS32, EM_PPC },
#elif defined(__s390x__)
	{ ELFCLASS64, EM_S390 }, { ELFCLASS32, EM_S390 },
#else
	{ ELFCLASSNONE, EM_NONE },
#endif
};

static bool is_native(unsigned char class, unsigned machine)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(native); i++)
		if (native[i].class == ELFCLASSNONE ||
		    (native[i].class == class && native[i].machine == machine))
			return true;
	return false;
}

/* The fields of both classes that count here. */
struct elf_facts {
	unsigned type, machine, entry_size, entries;
	uint64_t offset;
};

static struct elf_facts elf_facts(const char *head)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (head[EI_CLASS] == ELFCLASS64) {
		memcpy(&wide, head, sizeof(wide));
		return (struct elf_facts){ wide.e_type, wide.e_machine, wide.e_phentsize, wide.e_phnum,
					   wide.e_phoff };
	}
	memcpy(&narrow, head, sizeof(narrow));
	return (struct elf_facts){ narrow.e_type, narrow.e_machine, narrow.e_phentsize, narrow.e_phnum,
				   narrow.e_phoff };
}

/* Where PT_INTERP's text is, when entry is that header. */
static bool is_interp(const char *entry, bool wide, uint64_t *ret_offset, uint64_t *ret_size)
{
	Elf64_Phdr w;
	Elf32_Phdr n;

	if (wide) {
		memcpy(&w, entry, sizeof(w));
		*ret_offset = w.p_offset;
		*ret_size = w.p_filesz;
		return w.p_type == PT_INTERP;
	}
	memcpy(&n, entry, sizeof(n));
	*ret_offset = n.p_offset;
	*ret_size = n.p_filesz;
	return n.p_type == PT_INTERP;
}

/* As fs/binfmt_elf.c load_elf_binary checks, up to the interpreter. */
static int read_elf(int fd, const char *head, enum cs__format *ret,
		    char interpreter[static PATH_MAX])
{
	bool wide = head[EI_CLASS] == ELFCLASS64;
	struct elf_facts facts = elf_facts(head);
	size_t size = (size_t)facts.entries * facts.entry_size;
	cs_autofree char *entries = NULL;
	uint64_t offset, length;
	ssize_t n;

	*ret = CS__FORMAT_FOREIGN;
	if (!is_native((unsigned char)head[EI_CLASS], facts.machine))
		return 0;
	*ret = CS__FORMAT_DAMAGED;
	if ((facts.type != ET_EXEC && facts.type != ET_DYN) || facts.entries == 0 ||
	    facts.entry_size != (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
	    size > HEADERS_MAX)
		return 0;
	entries = malloc(size);
	if (!entries)
		return -ENOMEM;
	n = pread_all(fd, entries, size, facts.offset);
	if (n < 0 || (size_t)n < size)
		return n < 0 ? (int)n : 0;

	for (size_t i = 0; i < facts.entries; i++) {
		if (!is_interp(entries + i * facts.entry_size, wide, &offset, &length))
			continue;
		if (length < 2 || length > PATH_MAX)
			return 0;
		n = pread_all(fd, interpreter, (size_t)length, offset);
		if (n < 0 || (uint64_t)n < length || interpreter[length - 1] != '\0')
			return n < 0 ? (int)n : 0;
		*ret = CS__FORMAT_ELF;
		return 0;
	}
	*ret = CS__FORMAT_STATIC;
	return 0;
}

int cs__format_read(int fd, enum cs__format *ret, char interpreter[static PATH_MAX])
{
	char head[HEAD_MAX] = { 0 };
	ssize_t n = pread_all(fd, head, sizeof(head), 0);

	if (n < 0)
		return (int)n;
	*ret = CS__FORMAT_NONE;
	if (n >= 2 && head[0] == '#' && head[1] == '!')
		*ret = read_script(head, interpreter);
	else if (memcmp(head, ELFMAG, SELFMAG) == 0)
		return read_elf(fd, head, ret, interpreter);
	return 0;
}

/* --- binfmt_misc ------------------------------------------------------------- */

/* One handler as its file tells it (Documentation/admin-guide/binfmt-misc.rst). */
struct handler {
	bool enabled;
	char extension[NAME_MAX];
	uint64_t offset;
	unsigned char magic[HEAD_MAX], mask[HEAD_MAX];
	size_t n_magic, n_mask;
};

static size_t read_hex(const char *text, unsigned char bytes[static HEAD_MAX])
{
	size_t n = 0;

	for (; n < HEAD_MAX && isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]);
	     text += 2) {
		char pair[3] = { text[0], text[1], '\0' };

		bytes[n++] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return n;
}

static void read_line(struct handler *h, const char *line)
{
	if (strcmp(line, "enabled") == 0)
		h->enabled = true;
	else if (strncmp(line, "extension .", 11) == 0)
		snprintf(h->extension, sizeof(h->extension), "%s", line + 11);
	else if (strncmp(line, "offset ", 7) == 0 && cs_parse_u64(line + 7, &h->offset) < 0)
		h->offset = HEAD_MAX;
	else if (strncmp(line, "magic ", 6) == 0)
		h->n_magic = read_hex(line + 6, h->magic);
	else if (strncmp(line, "mask ", 5) == 0)
		h->n_mask = read_hex(line + 5, h->mask);
}

static bool handler_takes(const struct handler *h, const char *name, const unsigned char *head)
{
	const char *dot = strrchr(name, '.');

	if (!h->enabled)
		return false;
	if (h->extension[0])
		return dot && strcmp(dot + 1, h->extension) == 0;
	if (h->n_magic == 0 || h->offset + h->n_magic > HEAD_MAX)
		return false;
	for (size_t i = 0; i < h->n_magic; i++) {
		unsigned char mask = i < h->n_mask ? h->mask[i] : 0xff;

		if ((head[h->offset + i] ^ h->magic[i]) & mask)
			return false;
	}
	return true;
}

static bool file_takes(int dirfd, const char *rule, const char *name, const unsigned char *head)
{
	cs_auto(buf) text = CS_BUF_INIT(8 << 10);
	struct handler h = { 0 };
	char *line, *next;

	if (cs_file_read(dirfd, rule, &text) < 0)
		return true;
	for (line = text.data; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		read_line(&h, line);
	}
	return handler_takes(&h, name, head);
}

bool cs__binfmt_takes(const char *dir, const char *name, int fd)
{
	cs_autofd int dirfd = open(dir, O_PATH | O_CLOEXEC);
	cs_autofd int list_fd = -1;
	unsigned char head[HEAD_MAX] = { 0 };
	struct dirent *entry;
	bool takes = false;
	struct statfs fs;
	DIR *list;

	/* an automount that nobody has woken up holds no handler */
	if (dirfd < 0 || fstatfs(dirfd, &fs) < 0 || fs.f_type == AUTOFS_SUPER_MAGIC)
		return false;
	list_fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = list_fd < 0 ? NULL : fdopendir(list_fd);
	if (!list)
		return false;
	cs_take_fd(&list_fd);
	if (pread_all(fd, head, sizeof(head), 0) < 0)
		takes = true;
	while (!takes && (entry = readdir(list)))
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "register") != 0 &&
		    strcmp(entry->d_name, "status") != 0)
			takes = file_takes(dirfd, entry->d_name, name, head);
	closedir(list);
	return takes;
}
