/* Packets of a trace session: a header of ours to check, and a small reader of protobuf's wire format. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "shim/base/attr.h"
#include "shim/base/parse.h"
#include "shim/engine/trace.h"

#define HEADER_BYTES 8

/* What is left of a message. */
struct reader {
	const unsigned char *at;
	size_t left;
};

/* One field: a number, or bytes. */
struct field {
	uint32_t number;
	bool is_bytes;
	uint64_t value;
	struct reader bytes;
};

static uint16_t get_u16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get_u32(const unsigned char *p)
{
	return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

/* Seven bits a byte, low ones first; at most 64 bits in 10 bytes. */
static int get_varint(struct reader *reader, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && reader->left > 0; shift += 7) {
		unsigned char byte = *reader->at;

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		reader->at++;
		reader->left--;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int get_bytes(struct reader *reader, uint64_t len, struct reader *ret)
{
	if (len > reader->left)
		return -EBADMSG;
	*ret = (struct reader){ reader->at, (size_t)len };
	reader->at += len;
	reader->left -= (size_t)len;
	return 0;
}

enum wire { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_BYTES = 2, WIRE_I32 = 5 };

static int get_field(struct reader *reader, struct field *ret)
{
	uint64_t tag, len;

	*ret = (struct field){ 0 };
	if (get_varint(reader, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > (UINT32_C(1) << 29) - 1)
		return -EBADMSG;
	ret->number = (uint32_t)(tag >> 3);
	switch (tag & 7) {
	case WIRE_VARINT:
		return get_varint(reader, &ret->value);
	case WIRE_BYTES:
		ret->is_bytes = true;
		return get_varint(reader, &len) < 0 ? -EBADMSG : get_bytes(reader, len, &ret->bytes);
	case WIRE_I64:
		ret->is_bytes = true;
		return get_bytes(reader, 8, &ret->bytes);
	case WIRE_I32:
		ret->is_bytes = true;
		return get_bytes(reader, 4, &ret->bytes);
	default:
		return -EBADMSG; /* groups, which nobody writes any more */
	}
}

/* int32: negative numbers come as 64 bits with the sign carried on. */
static int get_int32(const struct field *field, int32_t *ret)
{
	int64_t value = (int64_t)field->value;

	if (field->is_bytes || value < INT32_MIN || value > INT32_MAX)
		return -EBADMSG;
	*ret = (int32_t)value;
	return 0;
}

/* Thread numbers: positive int32. */
static int get_thread(const struct field *field, uint64_t *ret)
{
	int32_t number;

	if (get_int32(field, &number) < 0 || number < 0)
		return -EBADMSG;
	*ret = (uint64_t)number;
	return 0;
}

static int get_container(const struct field *field, char *ret, size_t size)
{
	char id[CS_ID_MAX + 1];

	if (!field->is_bytes || field->bytes.left >= CS_MIN(sizeof(id), size))
		return -EBADMSG;
	memcpy(id, field->bytes.at, field->bytes.left);
	id[field->bytes.left] = '\0';
	if (strlen(id) != field->bytes.left || !cs_id_valid(id))
		return -EBADMSG;
	memcpy(ret, id, field->bytes.left + 1);
	return 0;
}

/* What waitpid(2) gives of a dead process: an exit code, or a signal with or without a core. */
static bool is_end(int32_t status)
{
	if (status < 0 || status > 0xffff)
		return false;
	if (WIFEXITED(status))
		return true;
	return WIFSIGNALED(status) && (status & ~0xff) == 0 && WTERMSIG(status) < NSIG;
}

/* --- messages ---------------------------------------------------------------- */

static int read_context(const struct field *outer, struct cs_trace_packet *packet)
{
	struct reader reader = outer->bytes;
	int r = outer->is_bytes ? 0 : -EBADMSG;

	while (r == 0 && reader.left > 0) {
		struct field field;

		r = get_field(&reader, &field);
		if (r == 0 && field.number == 2)
			r = get_thread(&field, &packet->thread);
		else if (r == 0 && field.number == 4)
			r = get_thread(&field, &packet->group);
		else if (r == 0 && field.number == 6)
			r = get_container(&field, packet->container, sizeof(packet->container));
	}
	return r;
}

static int read_exit(const struct field *field, struct cs_trace_packet *packet)
{
	int r;

	if (field->number != 2)
		return 0;
	r = get_int32(field, &packet->status);
	return r == 0 && !is_end(packet->status) ? -EBADMSG : r;
}

static int read_clone(const struct field *field, struct cs_trace_packet *packet)
{
	if (field->number == 3)
		return get_thread(field, &packet->new_thread);
	return field->number == 4 ? get_thread(field, &packet->new_group) : 0;
}

/* Message types of the remote sink. In all of them field 1 is the context but in container/start. */
static const struct kind_row {
	uint16_t type;
	enum cs_trace_kind kind;
	int (*read)(const struct field *field, struct cs_trace_packet *packet);
} kinds[] = {
	{ 1, CS_TRACE_START, NULL },
	{ 2, CS_TRACE_CLONE, read_clone },
	{ 5, CS_TRACE_EXIT, read_exit },
};

static const struct kind_row *row_of(uint16_t type)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

int cs_trace_parse(const void *data, size_t len, struct cs_trace_packet *ret)
{
	const unsigned char *header = data;
	struct cs_trace_packet packet = { .kind = CS_TRACE_OTHER };
	const struct kind_row *row;
	struct reader reader;
	size_t skip;
	int r = 0;

	if (len < HEADER_BYTES)
		return -EBADMSG;
	skip = get_u16(header);
	if (skip < HEADER_BYTES || skip > len) /* later versions may have a longer one */
		return -EBADMSG;
	packet.dropped = get_u32(header + 4);
	row = row_of(get_u16(header + 2));
	reader = (struct reader){ header + skip, len - skip };
	while (r == 0 && row && reader.left > 0) {
		struct field field;

		r = get_field(&reader, &field);
		if (r == 0 && field.number == 1)
			r = read_context(&field, &packet);
		else if (r == 0 && row->read)
			r = row->read(&field, &packet);
	}
	if (r < 0)
		return r;
	if (row)
		packet.kind = row->kind;
	*ret = packet;
	return 0;
}
