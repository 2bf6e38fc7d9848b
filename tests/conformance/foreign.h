/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.h - what the cases about memory of others begin with
 */
#ifndef WW_TESTS_CONFORMANCE_FOREIGN_H
#define WW_TESTS_CONFORMANCE_FOREIGN_H

#include "support/allocation.h"
#include "support/subject.h"

#define FOREIGN_BYTES  (4 * MIB)
#define FOREIGN_OFFSET 12345
#define FOREIGN_SPAN   100000

/* What can be shared, and what kind of memory it is then. */
#define FOREIGN_KINDS 3
extern const enum allocation_kind foreign_shareable[FOREIGN_KINDS];
extern const uint32_t foreign_kinds[FOREIGN_KINDS];

/* The subject, and an allocation of the driver's own with pattern 7 in it. */
ww_device *foreign_begin(struct allocation *allocation, enum allocation_kind kind);
void foreign_end(ww_device *device, struct allocation *allocation);

/* @bytes: 0: to the end */
ww_memory *foreign_wrap(ww_device *device, const struct allocation *allocation, uint64_t offset,
	uint64_t bytes);

void foreign_must_be_same_object(ww_memory *a, ww_memory *b);

#endif
