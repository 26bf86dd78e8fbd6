/* main.c - bk-add: store entries, tell the truth about it. */
#include "bk-add/add.h"

int
main(int argc, char **argv)
{
	struct options o;
	int status;

	options_parse(&o, argc, argv);
	status = o.dry_run ? dry_run(&o) : add_run(&o);
	options_fini(&o);
	return (status);
}
