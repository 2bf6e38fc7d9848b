/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - the process that shares an array by a bare handle
 */
#ifndef WW_TESTS_CONFORMANCE_ARRAY_H
#define WW_TESTS_CONFORMANCE_ARRAY_H

void role_handle_owner(int count, char **arguments);

#endif
