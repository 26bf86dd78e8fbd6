/*
 * password.h - the password of a ledger: from a file, never from an argument
 * (cli.md 3.1).
 */
#ifndef BK_PASSWORD_H
#define BK_PASSWORD_H

#include "client/client.h"

/* A line of an option table; path is a const char * that holds NULL. */
/* clang-format off */
#define BK_PASSWORD_OPT(path) \
	{0, "password-file", BK_OPT_TEXT, BK_OPT_CONFIG, .value = &(path), \
	    .arg = "FILE", .help = "the ledger's password is in FILE", \
	    .env = "BK_PASSWORD_FILE"}
/* clang-format on */

/*
 * Read the file, without a newline at its end. With path NULL the file
 * "bk.password" in $CREDENTIALS_DIRECTORY counts, if there is one; else *got
 * is false and the password is empty. The bytes live until the program ends.
 * BK_OK; BK_ESYS with errno; BK_ETOOBIG over BK_PASSWORD_MAX bytes; failed
 * names the file then.
 */
enum bk_status bk_password_read(const char *path, struct bk_password *password,
    bool *got, char failed[512]);

#endif
