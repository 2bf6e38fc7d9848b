/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_foreign.h - what the two processes of the group `foreign` share
 */
#ifndef TOOLS_BENCH_FOREIGN_H
#define TOOLS_BENCH_FOREIGN_H

#include "bench.h"
#include "mail.h"
#include "plain_cuda.h"

#define FOREIGN_ANSWER_NS (UINT64_C(60) * 1000000000)
#define FOREIGN_BYTES     (UINT64_C(4) << 20)
#define FOREIGN_OFFSET    (UINT64_C(1) << 20) /* of what is wrapped in its allocation */

#define FOREIGN_FOLDER_FD (LINK_FD + 1) /* in the importer */
#define FOREIGN_POOL_FD   (LINK_FD + 2) /* the driver's pool; where there is one */

/* What the importer measures; each has an import and a release, ours and the driver's. */
enum foreign_series {
	FOREIGN_FIRST, /* by descriptor, of an allocation that is not mapped */
	FOREIGN_TOKEN, /* by token, likewise */
	FOREIGN_AGAIN, /* by token, of one that is mapped */
	FOREIGN_POOL, /* by descriptor, of an allocation of a stream-ordered pool; neither is mapped */
	FOREIGN_END
};

/* What names the memory, in shared memory. The descriptor follows over the link. */
struct foreign_folder {
	struct ww_token token;
	struct ww_token pooled;
	ww_CUipcMemHandle handle;
	ww_CUmemPoolPtrExportData data;
};

#endif
