/*
 * textproto.c - the reader of textproto.h: a scanner over the bytes, and what
 * it finds put into a message as its protobuf-c descriptor says. It recurses
 * no deeper than the message type nests.
 */
#include "meta/textproto.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64 /* a field's or an enum value's name, or a number */
#define FIELDS_MAX 32

struct scan {
	const uint8_t *p;
	const uint8_t *end;
	struct bk_buf literal; /* the string being read */
	enum bk_status status;
	const char *why;
};

static bool parse_fields(struct scan *s, ProtobufCMessage *m, char closer);

static bool
fail(struct scan *s, const char *why)
{
	s->status = BK_EBADMETA;
	s->why = why;
	return (false);
}

static bool
fail_memory(struct scan *s)
{
	s->status = BK_ENOMEM;
	s->why = "out of memory";
	return (false);
}

/* The next byte, or -1 at the end. */
static int
peek(const struct scan *s)
{
	return (s->p < s->end ? *s->p : -1);
}

static bool
is_space(int c)
{
	return (c == ' ' || (c >= '\t' && c <= '\r'));
}

static bool
is_digit(int c)
{
	return (c >= '0' && c <= '9');
}

static bool
is_word(int c)
{
	return (is_digit(c) || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_');
}

static void
skip_space(struct scan *s)
{
	while (s->p < s->end) {
		if (*s->p == '#') {
			while (s->p < s->end && *s->p != '\n')
				s->p++;
		} else if (is_space(*s->p)) {
			s->p++;
		} else {
			break;
		}
	}
}

/* Take c if it is next. */
static bool
take(struct scan *s, char c)
{
	skip_space(s);
	if (peek(s) != c)
		return (false);
	s->p++;
	return (true);
}

static bool
read_name(struct scan *s, char name[WORD_MAX])
{
	size_t n = 0;

	skip_space(s);
	if (is_digit(peek(s)))
		return (fail(s, "a name is missing"));
	for (; is_word(peek(s)); s->p++) {
		if (n + 1 == WORD_MAX)
			return (fail(s, "a name is too long"));
		name[n++] = (char)*s->p;
	}
	name[n] = '\0';
	return (n > 0 || fail(s, "a name is missing"));
}

static bool
read_integer(struct scan *s, int64_t min, int64_t max, int64_t *value)
{
	char text[WORD_MAX];
	char *rest;
	long long v;
	size_t n = 0;

	skip_space(s);
	for (; is_word(peek(s)) || peek(s) == '-'; s->p++) {
		if (n + 1 == WORD_MAX)
			return (fail(s, "a number is too long"));
		text[n++] = (char)*s->p;
	}
	text[n] = '\0';
	errno = 0;
	v = strtoll(text, &rest, 0);
	if (n == 0 || *rest != '\0')
		return (fail(s, "a number is missing"));
	if (errno != 0 || v < min || v > max)
		return (fail(s, "a number is out of range"));
	*value = v;
	return (true);
}

static int
digit_value(int c)
{
	if (is_digit(c))
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (c - 'A' + 10);
	return (UINT8_MAX);
}

/* Up to max digits of a base; at least one. */
static bool
read_byte(struct scan *s, int base, int max, uint8_t *byte)
{
	int n, v = 0;

	for (n = 0; n < max && digit_value(peek(s)) < base; n++)
		v = v * base + digit_value(*s->p++);
	*byte = (uint8_t)v;
	return (n > 0 || fail(s, "an escape has no digits"));
}

/* What follows a backslash. */
static bool
read_escape(struct scan *s, uint8_t *byte)
{
	static const char names[] = "abfnrtv\\'\"?";
	static const char values[] = "\a\b\f\n\r\t\v\\'\"?";
	int c = peek(s);
	const char *at;

	if (c >= '0' && c <= '7')
		return (read_byte(s, 8, 3, byte));
	if (c <= 0 || (at = strchr(names, c)) == NULL) {
		if (c != 'x' && c != 'X')
			return (fail(s, "an escape is unknown"));
		s->p++;
		return (read_byte(s, 16, 2, byte));
	}
	s->p++;
	*byte = (uint8_t)values[at - names];
	return (true);
}

static bool
read_literal(struct scan *s)
{
	int quote = *s->p++;
	uint8_t byte;

	while (peek(s) != quote) {
		if (peek(s) < 0 || peek(s) == '\n')
			return (fail(s, "a string does not end"));
		byte = *s->p++;
		if (byte == '\\' && !read_escape(s, &byte))
			return (false);
		if (bk_buf_put_u8(&s->literal, byte) != 0)
			return (fail_memory(s));
	}
	s->p++;
	return (true);
}

/* Adjacent literals are one string. */
static bool
read_string(struct scan *s)
{
	bk_buf_consume(&s->literal, bk_buf_len(&s->literal));
	skip_space(s);
	if (peek(s) != '"' && peek(s) != '\'')
		return (fail(s, "a string is missing"));
	while (peek(s) == '"' || peek(s) == '\'') {
		if (!read_literal(s))
			return (false);
		skip_space(s);
	}
	return (true);
}

static bool
parse_bytes(struct scan *s, ProtobufCBinaryData *bytes)
{
	size_t len;
	uint8_t *copy = NULL;

	if (!read_string(s))
		return (false);
	len = bk_buf_len(&s->literal);
	if (len > 0) {
		if ((copy = malloc(len)) == NULL)
			return (fail_memory(s));
		memcpy(copy, bk_buf_head(&s->literal), len);
	}
	free(bytes->data);
	bytes->data = copy;
	bytes->len = len;
	return (true);
}

static bool
parse_enum(struct scan *s, const ProtobufCEnumDescriptor *type, int *slot)
{
	const ProtobufCEnumValue *value;
	char name[WORD_MAX];
	int64_t number;

	skip_space(s);
	if (is_digit(peek(s)) || peek(s) == '-') {
		if (!read_integer(s, INT32_MIN, INT32_MAX, &number))
			return (false);
		value = protobuf_c_enum_descriptor_get_value(type, (int)number);
	} else {
		if (!read_name(s, name))
			return (false);
		value =
		    protobuf_c_enum_descriptor_get_value_by_name(type, name);
	}
	if (value == NULL)
		return (fail(s, "a value is unknown"));
	*slot = value->value;
	return (true);
}

static bool
parse_message(struct scan *s, const ProtobufCMessageDescriptor *type,
    ProtobufCMessage **slot)
{
	char closer = '}';

	if (!take(s, '{')) {
		if (!take(s, '<'))
			return (fail(s, "a brace is missing"));
		closer = '>';
	}
	if ((*slot = malloc(type->sizeof_message)) == NULL)
		return (fail_memory(s));
	protobuf_c_message_init(type, *slot);
	return (parse_fields(s, *slot, closer));
}

static bool
parse_value(struct scan *s, const ProtobufCFieldDescriptor *field, void *slot)
{
	int64_t number;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
		if (!read_integer(s, INT32_MIN, INT32_MAX, &number))
			return (false);
		*(int32_t *)slot = (int32_t)number;
		return (true);
	case PROTOBUF_C_TYPE_INT64:
		return (read_integer(s, INT64_MIN, INT64_MAX, slot));
	case PROTOBUF_C_TYPE_ENUM:
		return (parse_enum(s, field->descriptor, slot));
	case PROTOBUF_C_TYPE_BYTES:
		return (parse_bytes(s, slot));
	case PROTOBUF_C_TYPE_MESSAGE:
		assert(field->label == PROTOBUF_C_LABEL_REPEATED);
		return (parse_message(s, field->descriptor, slot));
	default:
		assert(0 && "a type that textproto.h does not list");
		return (false);
	}
}

static size_t
value_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
		return (sizeof(int32_t));
	case PROTOBUF_C_TYPE_INT64:
		return (sizeof(int64_t));
	case PROTOBUF_C_TYPE_ENUM:
		return (sizeof(int));
	case PROTOBUF_C_TYPE_BYTES:
		return (sizeof(ProtobufCBinaryData));
	default:
		return (sizeof(ProtobufCMessage *));
	}
}

/* One more value of a repeated field; its array doubles when it is full. */
static bool
parse_element(struct scan *s, ProtobufCMessage *m,
    const ProtobufCFieldDescriptor *field)
{
	size_t *count = (size_t *)((char *)m + field->quantifier_offset);
	char **array = (char **)((char *)m + field->offset);
	size_t size = value_size(field);
	char *grown, *slot;

	if ((*count & (*count - 1)) == 0) {
		grown =
		    reallocarray(*array, *count == 0 ? 1 : *count * 2, size);
		if (grown == NULL)
			return (fail_memory(s));
		*array = grown;
	}
	slot = *array + *count * size;
	memset(slot, 0, size);
	(*count)++;
	return (parse_value(s, field, slot));
}

/* A list in brackets; the opening one is read. */
static bool
parse_list(struct scan *s, ProtobufCMessage *m,
    const ProtobufCFieldDescriptor *field)
{
	if (take(s, ']'))
		return (true);
	do {
		if (!parse_element(s, m, field))
			return (false);
	} while (take(s, ','));
	return (take(s, ']') || fail(s, "a list does not end"));
}

static bool
parse_field(struct scan *s, ProtobufCMessage *m,
    const ProtobufCFieldDescriptor *field)
{
	bool colon = take(s, ':');

	if (!colon && field->type != PROTOBUF_C_TYPE_MESSAGE)
		return (fail(s, "a colon is missing"));
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return (take(s, '[') ? parse_list(s, m, field) :
				       parse_element(s, m, field));
	if (field->label == PROTOBUF_C_LABEL_OPTIONAL)
		*(protobuf_c_boolean *)((char *)m + field->quantifier_offset) =
		    true;
	return (parse_value(s, field, (char *)m + field->offset));
}

static bool
nothing_missing(struct scan *s, const ProtobufCMessageDescriptor *type,
    uint32_t seen)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED &&
		    (seen & UINT32_C(1) << i) == 0)
			return (fail(s, "a required field is missing"));
	return (true);
}

/* Fields up to the closer, or to the end if that is 0. */
static bool
parse_fields(struct scan *s, ProtobufCMessage *m, char closer)
{
	const ProtobufCFieldDescriptor *field;
	char name[WORD_MAX];
	uint32_t seen = 0;

	assert(m->descriptor->n_fields <= FIELDS_MAX);
	for (;;) {
		skip_space(s);
		if (closer != 0 ? take(s, closer) : peek(s) < 0)
			return (nothing_missing(s, m->descriptor, seen));
		if (!read_name(s, name))
			return (false);
		field = protobuf_c_message_descriptor_get_field_by_name(
		    m->descriptor, name);
		if (field == NULL)
			return (fail(s, "a field is unknown"));
		seen |= UINT32_C(1) << (field - m->descriptor->fields);
		if (!parse_field(s, m, field))
			return (false);
		if (!take(s, ';'))
			(void)take(s, ',');
	}
}

enum bk_status
bk_text_decode(struct bk_bytes text, const ProtobufCMessageDescriptor *type,
    ProtobufCMessage **m, const char **why)
{
	struct scan s = {.p = text.data, .status = BK_OK};

	s.end = text.len > 0 ? text.data + text.len : text.data;
	if ((*m = malloc(type->sizeof_message)) == NULL)
		return (BK_ENOMEM);
	protobuf_c_message_init(type, *m);
	bk_buf_init(&s.literal);
	if (!parse_fields(&s, *m, 0)) {
		protobuf_c_message_free_unpacked(*m, NULL);
		*m = NULL;
		if (why != NULL)
			*why = s.why;
	}
	bk_buf_fini(&s.literal);
	return (s.status);
}
