/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file_test.c - first lines: whole, cut, missing
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/proc_file.h"

UNIT_TEST(first_lines)
{
	char path[] = "/tmp/warpway-file-test-XXXXXX";
	int fd = mkstemp(path);
	char line[8];

	assert_true(fd >= 0);
	assert_false(ww_proc_file_read_line(path, line, sizeof(line)));
	assert_int_equal(write(fd, "one\ntwo\n", 8), 8);
	assert_true(ww_proc_file_read_line(path, line, sizeof(line)));
	assert_string_equal(line, "one");
	assert_true(ww_proc_file_read_line(path, line, 3));
	assert_string_equal(line, "on");
	close(fd);
	unlink(path);
	assert_false(ww_proc_file_read_line(path, line, sizeof(line)));
}

UNIT_MAIN("file")
