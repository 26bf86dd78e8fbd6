/* textproto_print.c - the writer of textproto.h. */
#include "meta/textproto.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static int print_message(const ProtobufCMessage *m, int indent,
    struct bk_buf *out);

static int
print_byte(uint8_t c, struct bk_buf *out)
{
	static const char named[] = "\a\b\f\n\r\t\v\\'\"";
	static const char names[] = "abfnrtv\\'\"";
	const char *at = c == 0 ? NULL : strchr(named, c);

	if (at != NULL)
		return (bk_buf_printf(out, "\\%c", names[at - named]));
	if (c < ' ' || c > '~')
		return (bk_buf_printf(out, "\\%03o", c));
	return (bk_buf_put_u8(out, c));
}

static int
print_bytes(const ProtobufCBinaryData *bytes, struct bk_buf *out)
{
	if (bk_buf_put_u8(out, '"') != 0)
		return (-1);
	for (size_t i = 0; i < bytes->len; i++)
		if (print_byte(bytes->data[i], out) != 0)
			return (-1);
	return (bk_buf_put(out, "\"\n", 2));
}

static int
print_enum(const ProtobufCEnumDescriptor *type, int v, struct bk_buf *out)
{
	const ProtobufCEnumValue *value =
	    protobuf_c_enum_descriptor_get_value(type, v);

	if (value == NULL)
		return (bk_buf_printf(out, "%d\n", v));
	return (bk_buf_printf(out, "%s\n", value->name));
}

static int
print_nested(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *m,
    int indent, struct bk_buf *out)
{
	if (bk_buf_printf(out, "%*s%s {\n", indent, "", field->name) != 0 ||
	    print_message(m, indent + 2, out) != 0)
		return (-1);
	return (bk_buf_printf(out, "%*s}\n", indent, ""));
}

static int
print_value(const ProtobufCFieldDescriptor *field, const void *slot, int indent,
    struct bk_buf *out)
{
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return (print_nested(field, *(ProtobufCMessage *const *)slot,
		    indent, out));
	if (bk_buf_printf(out, "%*s%s: ", indent, "", field->name) != 0)
		return (-1);
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
		return (bk_buf_printf(out, "%" PRId32 "\n",
		    *(const int32_t *)slot));
	case PROTOBUF_C_TYPE_INT64:
		return (bk_buf_printf(out, "%" PRId64 "\n",
		    *(const int64_t *)slot));
	case PROTOBUF_C_TYPE_ENUM:
		return (print_enum(field->descriptor, *(const int *)slot, out));
	case PROTOBUF_C_TYPE_BYTES:
		return (print_bytes(slot, out));
	default:
		assert(0 && "a type that textproto.h does not list");
		return (-1);
	}
}

/* The elements of a repeated field: bytes or messages. */
static int
print_repeated(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *m,
    int indent, struct bk_buf *out)
{
	const char *base = (const char *)m;
	size_t count = *(const size_t *)(base + field->quantifier_offset);
	const char *array = *(const char *const *)(base + field->offset);
	size_t size = field->type == PROTOBUF_C_TYPE_MESSAGE ?
	    sizeof(ProtobufCMessage *) :
	    sizeof(ProtobufCBinaryData);

	assert(field->type == PROTOBUF_C_TYPE_MESSAGE ||
	    field->type == PROTOBUF_C_TYPE_BYTES);
	for (size_t i = 0; i < count; i++)
		if (print_value(field, array + i * size, indent, out) != 0)
			return (-1);
	return (0);
}

static bool
is_set(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *m)
{
	const char *has = (const char *)m + field->quantifier_offset;

	return (field->label == PROTOBUF_C_LABEL_REQUIRED ||
	    *(const protobuf_c_boolean *)has);
}

static int
print_message(const ProtobufCMessage *m, int indent, struct bk_buf *out)
{
	const ProtobufCFieldDescriptor *field = m->descriptor->fields;
	const ProtobufCFieldDescriptor *end = field + m->descriptor->n_fields;
	int rc = 0;

	for (; field < end && rc == 0; field++) {
		if (field->label == PROTOBUF_C_LABEL_REPEATED)
			rc = print_repeated(field, m, indent, out);
		else if (is_set(field, m))
			rc = print_value(field, (const char *)m + field->offset,
			    indent, out);
	}
	return (rc);
}

int
bk_text_encode(const ProtobufCMessage *m, struct bk_buf *out)
{
	size_t before = bk_buf_len(out);

	if (print_message(m, 0, out) == 0)
		return (0);
	out->end = out->start + before;
	return (-1);
}
