/* opt.c - options from the line, the environment and files, and what a program
 * says about itself. */
#include "tap.h"
#include "tool/common.h"
#include "tool/config.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

static bool null;
static int64_t number, size, wait_time;
static const char *raw, *password;
static struct bk_opt_list peers;

static struct bk_opt opts[] = {
    {'0', "null", BK_OPT_FLAG, .value = &null, .help = "end in NUL"},
    {'n', "number", BK_OPT_INT, .value = &number, .arg = "N", .help = "count",
	.min = -5, .max = 5},
    {0, "window", BK_OPT_SIZE, BK_OPT_CONFIG, .value = &size, .arg = "BYTES",
	.help = "in flight"},
    {'w', "wait", BK_OPT_TIME, .value = &wait_time, .arg = "TIME",
	.help = "so long"},
    {0, "raw", BK_OPT_OPTTEXT, .value = &raw, .arg = "SIZE", .help = "chunks"},
    {0, "password-file", BK_OPT_TEXT, BK_OPT_CONFIG, .value = &password,
	.arg = "FILE", .help = "secret", .env = "BK_PASSWORD_FILE"},
    {'p', "peer", BK_OPT_LIST, .value = &peers, .arg = "X", .help = "who"},
    BK_COMMON_OPTS,
    BK_OPT_END,
};

static const char *const examples[] = {"one", "two", "three", NULL};

static struct bk_program program = {
    .name = "prog",
    .usage = "[-0] NAME",
    .purpose = "Does it.",
    .examples = examples,
    .opts = opts,
};

static char *line[32]; /* as permuted */

/* Parses a line in this process. */
static int
parse(const char *const *argv)
{
	int argc = 0;

	for (; argv[argc] != NULL; argc++)
		line[argc] = (char *)(uintptr_t)argv[argc];
	line[argc] = NULL;
	for (struct bk_opt *o = opts; o->name != NULL; o++)
		o->origin = BK_FROM_DEFAULT;
	return (bk_opt_parse(&program, argc, line));
}

#define PARSE(...) parse((const char *[]){"prog", __VA_ARGS__, NULL})

static char said[4096];

/* Parses a line in a child, whose exit status is returned, and its output in
 * said. */
static int
child(int fd, const char *const *argv)
{
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	fflush(stdout);
	if (pipe(ends) == -1 || (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		dup2(ends[1], fd);
		close(ends[0]);
		close(ends[1]);
		parse(argv);
		_exit(99);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(ends[0]);
	waitpid(pid, &status, 0);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

#define CHILD(fd, ...) child(fd, (const char *[]){"prog", __VA_ARGS__, NULL})

static void
test_line(void)
{
	const char *argv[] = {"prog", "a", "-0n", "-3", "b", "--window=64k",
	    "-w5m", "--raw", "-p", "x", "-p", "y", "-vv", "--", "-c", NULL};
	int i = parse(argv);

	is_int(i, 12, "operands are at the end");
	is_str(line[i], "a", "the first");
	is_str(line[i + 1], "b", "the second");
	is_str(line[i + 2], "-c", "the one behind --");
	ok(null && number == -3, "letters may be joined");
	is_int(size, 65536, "sizes have units");
	is_int(wait_time, INT64_C(300000000000), "and so have times");
	is_str(raw, "", "a value may be left out");
	ok(peers.n == 2 && strcmp(peers.values[1], "y") == 0, "lists grow");
	is_int(bk_common.verbose, 2, "-v counts");
	is_int(bk_opt_find(&program, "window")->origin, BK_FROM_LINE,
	    "the origin is known");
	PARSE("-n1", "-n2", "--raw=5");
	is_int(number, 2, "the last one counts");
	is_str(raw, "5", "the value of --raw");
	peers.values = NULL;
	peers.n = 0;
}

static void
test_order(void)
{
	char file[] = "/tmp/bk-opt.XXXXXX";
	const char text[] = "window 7\njournal /x\npassword-file f\n";
	int fd = mkstemp(file);

	if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	PARSE("-C", file);
	is_int(size, 7, "a file sets");
	is_str(password, "f", "two of them");
	setenv("BK_PASSWORD_FILE", "e", 1);
	PARSE("-C", file, "--window", "8");
	is_str(password, "e", "the environment is stronger");
	is_int(size, 8, "and so is the line");
	PARSE("-C", file, "--password-file", "l");
	is_str(password, "l", "strongest of all");
	unsetenv("BK_PASSWORD_FILE");
	if (ftruncate(fd, 0) == -1 || pwrite(fd, "# x\nwidnow 7\n", 13, 0) < 0)
		abort();
	is_int(CHILD(2, "-C", file), EX_CONFIG, "an unknown name is 78");
	ok(strstr(said, ":2: widnow: unknown setting\n") != NULL, "%s", said);
	if (ftruncate(fd, 0) == -1 || pwrite(fd, "window x\n", 9, 0) < 0)
		abort();
	is_int(CHILD(2, "-C", file), EX_CONFIG, "and so is a bad value");
	ok(strstr(said, ":1: window: is not a size") != NULL, "%s", said);
	if (ftruncate(fd, 0) == -1 || pwrite(fd, "null\n", 5, 0) < 0)
		abort();
	is_int(CHILD(2, "-C", file), EX_CONFIG, "and what is for lines only");
	close(fd);
	unlink(file);
	is_int(CHILD(2, "-C", file), EX_CONFIG, "and a missing file");
}

static void
refuses(const char *want, const char *const *argv)
{
	is_int(child(2, argv), EX_USAGE, "64");
	is_str(said, want, "in two lines");
}

#define REFUSES(want, ...) \
	refuses("prog: " want "\ntry 'prog --help'\n", \
	    (const char *[]){"prog", __VA_ARGS__, NULL})

static void
test_usage(void)
{
	REFUSES("unknown option --widnow; did you mean --window?",
	    "--widnow=3");
	REFUSES("unknown option --xyzzy", "--xyzzy");
	REFUSES("unknown option -x", "-0x");
	REFUSES("option --null takes no value", "--null=1");
	REFUSES("option -n needs a value: N", "-n");
	REFUSES("option --window needs a value: BYTES", "--window");
	REFUSES("option --number: 'x' is not a number", "-nx");
	REFUSES("option --number: '6' is more than 5", "-n6");
	REFUSES("option --number: '-6' is less than -5", "-n-6");
	REFUSES("option --wait: '3 s' is not a time like 100ms, 5s, 10m, 30d",
	    "-w3 s");
}

static void
test_answers(void)
{
	is_int(CHILD(1, "--help"), 0, "--help is fine");
	ok(strncmp(said, "usage: prog [-0] NAME\nDoes it.\n", 31) == 0 &&
		strstr(said, "--window BYTES") != NULL &&
		strstr(said, "  three\n") != NULL,
	    "and helps");
	is_int(CHILD(1, "-V"), 0, "--version is fine");
	ok(strncmp(said, "prog ", 5) == 0, "and names it");
	is_int(CHILD(1, "--complete"), 0, "words for completion");
	ok(strstr(said, "--window\tBYTES\n") != NULL, "with their values");
	is_int(CHILD(2, "-h"), 0, "nothing of it");
	is_str(said, "", "on standard error");
}

static void
test_numbers(void)
{
	int64_t n = -1;

	ok(bk_parse_size("0", &n) == 0 && n == 0, "0");
	ok(bk_parse_size("3G", &n) == 0 && n == 3LL << 30, "3G");
	ok(bk_parse_size("8388607T", &n) == 0 && n == 8388607LL << 40,
	    "8388607T");
	is_int(bk_parse_size("8388608T", &n), -1, "not 8388608T");
	is_int(bk_parse_size("", &n), -1, "not nothing");
	is_int(bk_parse_size("-1", &n), -1, "not -1");
	is_int(bk_parse_size("1 k", &n), -1, "not with a blank");
	is_int(bk_parse_size("1kk", &n), -1, "not two units");
	ok(bk_parse_time("2", &n) == 0 && n == 2000000000, "2 seconds");
	ok(bk_parse_time("7us", &n) == 0 && n == 7000, "7us");
	ok(bk_parse_time("1w", &n) == 0 && n == 604800000000000, "a week");
	is_int(bk_parse_time("1y", &n), -1, "not a year");
	ok(bk_parse_int("9223372036854775807", 0, INT64_MAX, &n) == 0 &&
		n == INT64_MAX,
	    "the largest number");
	is_int(bk_parse_int("9223372036854775808", 0, INT64_MAX, &n), -1,
	    "not one more");
	ok(bk_parse_int("-0x10", -20, 0, &n) == 0 && n == -16, "-0x10");
	ok(bk_parse_int("010", 0, 20, &n) == 0 && n == 10, "010 is ten");
	is_int(bk_parse_int("0x", 0, 20, &n), -1, "not 0x");
	is_int(bk_parse_int("+1", 0, 20, &n), -1, "not +1");
	is_int(bk_parse_int(" 1", 0, 20, &n), -1, "not with a blank");
}

int
main(void)
{
	unsetenv("BK_CONFIG");
	unsetenv("BK_PASSWORD_FILE");
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	test_line();
	test_order();
	test_usage();
	test_answers();
	test_numbers();
	return (tap_done());
}
