/* common.c - the values of the options all programs share. */
#include "tool/common.h"

struct bk_common bk_common;
