/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h - the verbs of `warpway`
 *
 * Each is a main() of its own: argv[0] is the verb, the result is the exit code. The ones for
 * children are what a verb starts itself again as; they find their socket at LINK_FD.
 */
#ifndef TOOLS_WARPWAY_VERBS_H
#define TOOLS_WARPWAY_VERBS_H

int verb_demo(int argc, char *argv[]);
int verb_demo_child(int argc, char *argv[]);
int verb_bench(int argc, char *argv[]);
int verb_serve(int argc, char *argv[]);
int verb_ls(int argc, char *argv[]);
int verb_stat(int argc, char *argv[]);
int verb_who(int argc, char *argv[]);
int verb_put(int argc, char *argv[]);
int verb_get(int argc, char *argv[]);
int verb_export(int argc, char *argv[]);
int verb_rm(int argc, char *argv[]);
int verb_watch(int argc, char *argv[]);

#endif
