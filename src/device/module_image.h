/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_image.h - the bytes of a module, and of what kind they are
 *
 * The driver is given an image without its size, so an image that is cut short is found here: the
 * driver would read behind its end.
 */
#ifndef WW_DEVICE_MODULE_IMAGE_H
#define WW_DEVICE_MODULE_IMAGE_H

#include <stdint.h>

#include <warpway/base.h>

#include "base/cleanup.h"

enum ww_image_kind {
	WW_IMAGE_PTX,
	WW_IMAGE_CUBIN,
	WW_IMAGE_FATBIN,
	WW_IMAGE_SHARED_OBJECT
};

#define WW_IMAGE_NAME_BYTES 96

struct ww_module_image {
	enum ww_image_kind kind;
	char name[WW_IMAGE_NAME_BYTES]; /* for messages */
	const char *path;               /* of the file, borrowed; NULL: from memory */
	char *bytes;                    /* owned; with a zero behind the last */
	uint64_t count;
};

/*
 * Both fill @image, which ww_module_image_fini() frees; after a failure there is nothing to free.
 * Return: WW_OK; as ww_module_load().
 */
ww_status ww_module_image_read(struct ww_module_image *image, const char *path);
ww_status ww_module_image_copy(struct ww_module_image *image, const void *bytes, uint64_t count);

void ww_module_image_fini(struct ww_module_image *image);

#define WW_AUTO_MODULE_IMAGE WW_CLEANUP(ww_module_image_fini)

/* For messages: "PTX". */
const char *ww_image_kind_name(enum ww_image_kind kind);

#endif
