/*
 * command.h - the subcommands: one function and one file each. A command gets
 * argv from its own name on and returns the exit status.
 */
#ifndef LEDGER_COMMAND_H
#define LEDGER_COMMAND_H

int command_bookie(int argc, char **argv);
int command_bookies(int argc, char **argv);
int command_check(int argc, char **argv);
int command_close(int argc, char **argv);
int command_cluster(int argc, char **argv);
int command_config(int argc, char **argv);
int command_create(int argc, char **argv);
int command_delete(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_list(int argc, char **argv);
int command_load(int argc, char **argv);
int command_metrics(int argc, char **argv);
int command_recover(int argc, char **argv);
int command_show(int argc, char **argv);
int command_truncate(int argc, char **argv);

#endif
