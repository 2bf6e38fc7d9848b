/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace.h - a helper in namespaces of its own, as in a container
 *
 * Its PID, IPC and network namespaces are new, so it is process 1 and sees nobody. With a folder
 * given its mount namespace is new too: there is nothing in it but that folder, at another path,
 * and a /proc of its own.
 */
#ifndef WW_TESTS_SUPPORT_NAMESPACE_H
#define WW_TESTS_SUPPORT_NAMESPACE_H

#include <stdbool.h>

/*
 * struct namespace_plan - what the helper is to see
 * @outside:     a folder; NULL: the file system stays as it is
 * @inside:      where the folder is found then, "/" and one name
 * @other_user:  a user namespace of its own too, in which it is root
 */
struct namespace_plan {
	const char *outside;
	const char *inside;
	bool other_user;
};

/*
 * Goes on in a child; the process itself waits for the child's end and ends the same way. Called by
 * a helper before it uses the library.
 * Return: NULL; or why that cannot be had here.
 */
const char *namespace_enter(const struct namespace_plan *plan);

#endif
