/*
 * disk_fault.h - make the n-th disk call fail.
 */
#ifndef T_DISK_FAULT_H
#define T_DISK_FAULT_H

#include "bk-bookied/disk.h"

/* Watch all disk calls from now on; before any thread is started. */
void disk_fault_watch(void);
/* Calls of this kind fail with error: after the next skip of them, times in
 * all (-1: from then on). One kind at a time. */
void disk_fault_arm(enum disk_op op, int skip, int times, int error);
void disk_fault_disarm(void);
/* Calls of this kind so far, the failed ones too. */
int disk_fault_count(enum disk_op op);

#endif
