/* service_info.c - what a registration says: bytes, and which endpoint to
 * connect to (spec/metadata.md 5.2). */
#include "meta/ledger.pb-c.h"
#include "meta/registry.h"
#include "meta/tree_call.h"

#include <bsd/string.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PID_KEY "pid"
#define RACK_KEY "rack"
#define PROPERTIES 2
#define NUMBER_ROOM 24
#define PORT_MAX 65535

static ProtobufCBinaryData
borrow_text(const char *text)
{
	return ((ProtobufCBinaryData){strlen(text), (uint8_t *)text});
}

static void
lend_endpoint(const struct bk_endpoint *from,
    Bk__BookieServiceInfoFormat__Endpoint *to)
{
	bk__bookie_service_info_format__endpoint__init(to);
	to->id = borrow_text(from->id);
	to->port = from->port;
	to->host = borrow_text(from->host);
	to->protocol = borrow_text(from->protocol);
}

static void
lend_property(Bk__BookieServiceInfoFormat__Property *p, const char *key,
    const char *value)
{
	bk__bookie_service_info_format__property__init(p);
	p->has_key = p->has_value = true;
	p->key = borrow_text(key);
	p->value = borrow_text(value);
}

/* What is known; number has room for the pid. Returns how many. */
static size_t
lend_properties(const struct bk_service_info *info,
    Bk__BookieServiceInfoFormat__Property *p, char number[NUMBER_ROOM])
{
	size_t n = 0;

	(void)snprintf(number, NUMBER_ROOM, "%" PRId64, info->pid);
	if (info->pid != 0)
		lend_property(&p[n++], PID_KEY, number);
	if (info->rack[0] != '\0')
		lend_property(&p[n++], RACK_KEY, info->rack);
	return (n);
}

int
bk_service_info_encode(const struct bk_service_info *info, struct bk_buf *out)
{
	Bk__BookieServiceInfoFormat__Endpoint endpoints[BK_ENDPOINTS_MAX];
	Bk__BookieServiceInfoFormat__Endpoint *endpoint_list[BK_ENDPOINTS_MAX];
	Bk__BookieServiceInfoFormat__Property properties[PROPERTIES];
	Bk__BookieServiceInfoFormat__Property *property_list[PROPERTIES] =
	    {&properties[0], &properties[1]};
	Bk__BookieServiceInfoFormat message =
	    BK__BOOKIE_SERVICE_INFO_FORMAT__INIT;
	char number[NUMBER_ROOM];
	uint8_t *room;
	size_t len;

	for (size_t i = 0; i < info->nendpoints; i++) {
		lend_endpoint(&info->endpoints[i], &endpoints[i]);
		endpoint_list[i] = &endpoints[i];
	}
	message.endpoints = endpoint_list;
	message.n_endpoints = info->nendpoints;
	message.properties = property_list;
	message.n_properties = lend_properties(info, properties, number);
	len = bk__bookie_service_info_format__get_packed_size(&message);
	if (len == 0)
		return (0);
	if ((room = bk_buf_reserve(out, len)) == NULL)
		return (-1);
	bk_buf_commit(out,
	    bk__bookie_service_info_format__pack(&message, room));
	return (0);
}

/* A text into a field of a fixed size; false when it does not fit. */
static bool
take_text(const ProtobufCBinaryData *text, char *field, size_t size)
{
	if (text->len >= size)
		return (false);
	if (text->len > 0)
		memcpy(field, text->data, text->len);
	field[text->len] = '\0';
	return (strlen(field) == text->len);
}

static bool
take_endpoint(const Bk__BookieServiceInfoFormat__Endpoint *from,
    struct bk_endpoint *to)
{
	if (from->port < 0 || from->port > PORT_MAX)
		return (false);
	to->port = (uint16_t)from->port;
	return (take_text(&from->id, to->id, sizeof(to->id)) &&
	    take_text(&from->protocol, to->protocol, sizeof(to->protocol)) &&
	    take_text(&from->host, to->host, sizeof(to->host)));
}

static void
take_property(const Bk__BookieServiceInfoFormat__Property *from,
    struct bk_service_info *info)
{
	char key[NUMBER_ROOM], value[sizeof(info->rack)];
	int64_t pid;

	if (!take_text(&from->key, key, sizeof(key)) ||
	    !take_text(&from->value, value, sizeof(value)))
		return;
	if (strcmp(key, RACK_KEY) == 0)
		(void)strlcpy(info->rack, value, sizeof(info->rack));
	if (strcmp(key, PID_KEY) != 0)
		return;
	pid = bk_digits_value(value);
	info->pid = pid > 0 ? pid : 0;
}

/* Endpoints that we have no room for, or that cannot be meant for us, are left
 * out: Java takes the registration all the same. */
static void
take_info(const Bk__BookieServiceInfoFormat *from, struct bk_service_info *info)
{
	for (size_t i = 0; i < from->n_endpoints; i++)
		if (info->nendpoints < BK_ENDPOINTS_MAX &&
		    take_endpoint(from->endpoints[i],
			&info->endpoints[info->nendpoints]))
			info->nendpoints++;
	for (size_t i = 0; i < from->n_properties; i++)
		take_property(from->properties[i], info);
}

/* A bookie from before 4.11 says nothing; its id is host:port. Java takes the
 * first two parts of any number. */
static enum bk_status
take_id(const char *id, struct bk_service_info *info)
{
	struct bk_endpoint *e = &info->endpoints[0];
	const char *colon = strchr(id, ':');
	char port[NUMBER_ROOM];
	int64_t number;
	size_t len;

	if (colon == NULL || colon == id ||
	    (size_t)(colon - id) >= sizeof(e->host))
		return (BK_EBADMETA);
	len = strcspn(colon + 1, ":");
	if (len >= sizeof(port))
		return (BK_EBADMETA);
	(void)strlcpy(port, colon + 1, len + 1);
	number = bk_digits_value(port);
	if (number < 0 || number > PORT_MAX)
		return (BK_EBADMETA);
	(void)strlcpy(e->host, id, (size_t)(colon - id) + 1);
	(void)strlcpy(e->id, "bookie", sizeof(e->id));
	(void)strlcpy(e->protocol, "bookie-rpc", sizeof(e->protocol));
	e->port = (uint16_t)number;
	info->nendpoints = 1;
	return (BK_OK);
}

enum bk_status
bk_service_info_decode(struct bk_bytes data, const char *bookie_id,
    struct bk_service_info *info)
{
	Bk__BookieServiceInfoFormat *message;

	memset(info, 0, sizeof(*info));
	if (data.len == 0)
		return (take_id(bookie_id, info));
	message =
	    bk__bookie_service_info_format__unpack(NULL, data.len, data.data);
	if (message == NULL)
		return (BK_EBADMETA);
	take_info(message, info);
	bk__bookie_service_info_format__free_unpacked(message, NULL);
	return (BK_OK);
}

static bool
is_socket(const char *path)
{
	struct stat st;

	return (stat(path, &st) == 0 && S_ISSOCK(st.st_mode));
}

const struct bk_endpoint *
bk_service_endpoint(const struct bk_service_info *info)
{
	const struct bk_endpoint *rpc = NULL;

	for (size_t i = 0; i < info->nendpoints; i++) {
		const struct bk_endpoint *e = &info->endpoints[i];

		if (strcmp(e->protocol, "bookie-unix") == 0 &&
		    is_socket(e->host))
			return (e);
		if (rpc == NULL && strcmp(e->protocol, "bookie-rpc") == 0)
			rpc = e;
	}
	return (rpc);
}
