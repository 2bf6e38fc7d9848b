/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - see layout.h
 *
 * Predefined types are kept in a table that only grows; there are fewer than a hundred. Of derived
 * types that repeat one without gaps nothing has to be unpacked.
 *
 * The buffer that is unpacked into may be far larger than its data (absolute addresses span the
 * whole address space), so it is a file in memory: the kernel tells which pages were written.
 */
#include "mpi/layout.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/error.h"
#include "mpi/next.h"

#define NAMED_PLACES 512 /* a power of two, far more than there are predefined types */
#define PRESENT      0xff

struct named {
	_Atomic(struct ww_mpi_layout *) layout; /* NULL: the place is free; stored last */
	MPI_Datatype type;
};

static struct named named[NAMED_PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of writing to it, and of the keyval */
static int keyval = MPI_KEYVAL_INVALID;
static __thread MPI_Comm comm_of_call = MPI_COMM_NULL;

struct ww_mpi_layout *ww_mpi_layout_unref(struct ww_mpi_layout *layout)
{
	if (layout && atomic_fetch_sub(&layout->refs, 1) == 1)
		free(layout);
	return NULL;
}

static struct ww_mpi_layout *ref(struct ww_mpi_layout *layout)
{
	atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
	return layout;
}

void ww_mpi_layout_set_comm(MPI_Comm comm)
{
	comm_of_call = comm;
}

/* --- predefined types --- */

static size_t place_of(MPI_Datatype type)
{
	uint64_t bits = (uint64_t)(uintptr_t)type;

	return (bits ^ bits >> 6 ^ bits >> 14) & (NAMED_PLACES - 1);
}

static struct ww_mpi_layout *named_find(MPI_Datatype type)
{
	for (size_t i = place_of(type);; i = (i + 1) & (NAMED_PLACES - 1)) {
		struct ww_mpi_layout *layout = atomic_load_explicit(&named[i].layout,
			memory_order_acquire);

		if (!layout || named[i].type == type)
			return layout;
	}
}

/* Takes the reference. Return: the layout that is in the table now. */
static struct ww_mpi_layout *named_add(MPI_Datatype type, struct ww_mpi_layout *layout)
{
	struct ww_mpi_layout *found;
	size_t i = place_of(type);

	pthread_mutex_lock(&lock);
	found = named_find(type);
	if (found) {
		ww_mpi_layout_unref(layout);
	} else {
		while (atomic_load_explicit(&named[i].layout, memory_order_relaxed))
			i = (i + 1) & (NAMED_PLACES - 1);
		named[i].type = type;
		atomic_store_explicit(&named[i].layout, layout, memory_order_release);
		found = layout;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static int combiner_of(MPI_Datatype type)
{
	int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
	MPI_Count integers, addresses, counts, types;

	PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
	if (counts > 0 && combiner != MPI_COMBINER_NAMED)
		combiner = MPI_COMBINER_STRUCT; /* its contents cannot be had in small numbers */
#else
	int integers, addresses, types;

	PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
	return combiner;
}

/* Predefined are also those of MPI_Type_create_f90_real() and the like, which no program frees. */
static bool is_predefined(int combiner)
{
	return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
		combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* --- making a layout --- */

static struct ww_mpi_layout *create(size_t run_count)
{
	struct ww_mpi_layout *layout = calloc(1,
		sizeof(*layout) + run_count * sizeof(struct ww_mpi_run));

	if (layout) {
		layout->refs = 1;
		layout->run_count = run_count;
	}
	return layout;
}

static void measure(MPI_Datatype type, struct ww_mpi_layout *layout)
{
	MPI_Count lb;

	PMPI_Type_size_x(type, &layout->size);
	PMPI_Type_get_extent_x(type, &lb, &layout->extent);
	PMPI_Type_get_true_extent_x(type, &layout->true_lb, &layout->true_extent);
}

/* All bytes side by side, in their order. */
static struct ww_mpi_layout *create_plain(MPI_Datatype type)
{
	struct ww_mpi_layout *layout = create(1);

	if (!layout)
		return NULL;
	measure(type, layout);
	layout->runs[0].offset = layout->true_lb;
	layout->runs[0].bytes = layout->size;
	return layout;
}

/* What a type was unpacked into: once to see which bytes there are, and once for each digit. */
struct picture {
	int file;
	unsigned char *at;
	MPI_Count bytes;
};

static bool picture_open(struct picture *picture, MPI_Count bytes)
{
	picture->at = MAP_FAILED;
	picture->bytes = bytes;
	picture->file = memfd_create("warpway-mpi-layout", MFD_CLOEXEC);
	if (picture->file < 0 || ftruncate(picture->file, bytes) < 0)
		return false;
	picture->at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		picture->file, 0);
	return picture->at != MAP_FAILED;
}

static void picture_close(struct picture *picture)
{
	if (picture->at != MAP_FAILED)
		munmap(picture->at, (size_t)picture->bytes);
	if (picture->file >= 0)
		close(picture->file);
}

/* digit 0: every byte is PRESENT; digit n: the (n-1)th byte of its position. */
static bool picture_draw(struct picture *picture, MPI_Datatype type,
	const struct ww_mpi_layout *shape, int digit)
{
	unsigned char *message = malloc((size_t)shape->size);
	MPI_Comm comm = ww_mpi_has_world() ? MPI_COMM_SELF : comm_of_call;
	int position = 0;
	bool is_drawn;

	if (!message || !ww_mpi_is_usable(comm)) {
		free(message);
		return false;
	}
	for (MPI_Count i = 0; i < shape->size; i++)
		message[i] = digit ? (unsigned char)(i >> 8 * (digit - 1)) : PRESENT;
	is_drawn = WW_MPI_REAL(Unpack)(message, (int)shape->size, &position,
			   picture->at - shape->true_lb, 1, type, comm) == MPI_SUCCESS;
	free(message);
	return is_drawn;
}

struct run_list {
	struct ww_mpi_run *runs;
	size_t count;
	size_t room;
};

static bool run_list_add(struct run_list *list, MPI_Count offset, MPI_Count position)
{
	struct ww_mpi_run *last = list->count ? &list->runs[list->count - 1] : NULL;

	if (last && last->offset + last->bytes == offset &&
		last->position + last->bytes == position) {
		last->bytes++;
		return true;
	}
	if (!list->runs || list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct ww_mpi_run *runs = realloc(list->runs, room * sizeof(*runs));

		if (!runs)
			return false;
		list->runs = runs;
		list->room = room;
	}
	list->runs[list->count++] = (struct ww_mpi_run){offset, position, 1};
	return true;
}

/* Which bytes there are. Looks only where the kernel says that there is something. */
static bool read_ranges(const struct picture *picture, struct run_list *ranges)
{
	off_t end = 0;

	for (;;) {
		off_t start = lseek(picture->file, end, SEEK_DATA);

		if (start < 0)
			return true;
		end = lseek(picture->file, start, SEEK_HOLE);
		end = end < 0 || end > picture->bytes ? (off_t)picture->bytes : end;
		for (off_t at = start; at < end; at++) {
			if (picture->at[at] == PRESENT && !run_list_add(ranges, at, at))
				return false;
		}
		if (end >= picture->bytes)
			return true;
	}
}

static bool make_runs(const struct run_list *ranges, const uint32_t *positions,
	struct run_list *list)
{
	for (size_t i = 0; i < ranges->count; i++) {
		for (MPI_Count j = 0; j < ranges->runs[i].bytes; j++) {
			if (!run_list_add(list, ranges->runs[i].offset + j, *positions++))
				return false;
		}
	}
	return true;
}

/* One picture at a time: two might not find room in the address space. */
static bool read_picture(MPI_Datatype type, const struct ww_mpi_layout *shape, int digit,
	struct run_list *ranges, uint32_t *positions)
{
	struct picture picture;
	bool is_good = picture_open(&picture, shape->true_extent) &&
		picture_draw(&picture, type, shape, digit);

	if (is_good && digit == 0) {
		is_good = read_ranges(&picture, ranges);
	} else if (is_good) {
		/*
		 * Add a digit to the positions, which are those of all bytes of the ranges, in
		 * their order.
		 */
		for (size_t i = 0; i < ranges->count; i++) {
			const unsigned char *at = picture.at + ranges->runs[i].offset;

			for (MPI_Count j = 0; j < ranges->runs[i].bytes; j++)
				*positions++ |= (uint32_t)at[j] << 8 * (digit - 1);
		}
	}
	picture_close(&picture);
	return is_good;
}

static bool draw_all(MPI_Datatype type, const struct ww_mpi_layout *shape, struct run_list *list)
{
	uint32_t *positions = calloc((size_t)shape->size, sizeof(*positions));
	struct run_list ranges = {0};
	bool is_good = positions && read_picture(type, shape, 0, &ranges, positions);

	for (int digit = 1; is_good && (shape->size - 1) >> 8 * (digit - 1); digit++)
		is_good = read_picture(type, shape, digit, &ranges, positions);
	is_good = is_good && make_runs(&ranges, positions, list);
	free(ranges.runs);
	free(positions);
	return is_good;
}

static int compare_positions(const void *a, const void *b)
{
	const struct ww_mpi_run *left = a;
	const struct ww_mpi_run *right = b;

	return (left->position > right->position) - (left->position < right->position);
}

/* Types in types need not be committed. MPI_Type_dup() would call the program's callbacks. */
static bool draw_copy(MPI_Datatype type, const struct ww_mpi_layout *shape, struct run_list *list)
{
	MPI_Datatype copy;
	bool is_drawn;

	if (PMPI_Type_contiguous(1, type, &copy) != MPI_SUCCESS)
		return false;
	is_drawn = PMPI_Type_commit(&copy) == MPI_SUCCESS && draw_all(copy, shape, list);
	PMPI_Type_free(&copy);
	return is_drawn;
}

/* Of an element that is too large to be drawn, but has no gaps. */
static struct ww_mpi_layout *create_unordered(MPI_Datatype type)
{
	struct ww_mpi_layout *layout = create_plain(type);

	if (layout)
		layout->is_incomplete = true;
	return layout;
}

static struct ww_mpi_layout *create_drawn(MPI_Datatype type)
{
	struct ww_mpi_layout shape = {0};
	struct ww_mpi_layout *layout = NULL;
	struct run_list list = {0};

	measure(type, &shape);
	if (shape.size == 0)
		return create_plain(type);
	if (shape.size > INT_MAX)
		return shape.size == shape.true_extent ? create_unordered(type) : NULL;
	if (draw_copy(type, &shape, &list))
		layout = create(list.count);
	if (layout) {
		MPI_Count bytes = 0;

		measure(type, layout);
		/* The runs are in the order of the addresses, from the element's first byte on. */
		memcpy(layout->runs, list.runs, layout->run_count * sizeof(list.runs[0]));
		for (size_t i = 0; i < layout->run_count; i++) {
			layout->runs[i].offset += layout->true_lb;
			bytes += layout->runs[i].bytes;
		}
		layout->is_incomplete = bytes != layout->size;
		qsort(layout->runs, layout->run_count, sizeof(layout->runs[0]), compare_positions);
	}
	free(list.runs);
	return layout;
}

/* Elements that follow each other without gaps, as do their bytes. */
static bool is_dense(const struct ww_mpi_layout *layout)
{
	return layout->run_count == 1 && layout->size == layout->extent &&
		layout->size == layout->true_extent && !layout->is_incomplete;
}

/* Whether a type is one or several elements of another type that is dense. */
static bool repeats_dense(MPI_Datatype type, int combiner)
{
	int integers[1];
	MPI_Aint addresses[2];
	MPI_Datatype inner;
	struct ww_mpi_layout *layout;
	bool is_plain;

	if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP &&
		combiner != MPI_COMBINER_RESIZED)
		return false;
	if (PMPI_Type_get_contents(type, combiner == MPI_COMBINER_CONTIGUOUS,
		    combiner == MPI_COMBINER_RESIZED ? 2 : 0, 1, integers, addresses,
		    &inner) != MPI_SUCCESS)
		return false;
	layout = ww_mpi_layout_get(inner);
	is_plain = layout && is_dense(layout);
	ww_mpi_layout_unref(layout);
	if (!is_predefined(combiner_of(inner)))
		PMPI_Type_free(&inner);
	return is_plain;
}

/* --- derived types --- */

static int forget(MPI_Datatype type, int key, void *layout, void *unused)
{
	(void)type;
	(void)key;
	(void)unused;
	ww_mpi_layout_unref(layout);
	return MPI_SUCCESS;
}

static int get_keyval(void)
{
	int found;

	pthread_mutex_lock(&lock);
	if (keyval == MPI_KEYVAL_INVALID)
		PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL);
	found = keyval;
	pthread_mutex_unlock(&lock);
	return found;
}

/* Two threads may make the layout of one type: the first one's is kept. Return: the layout kept. */
static struct ww_mpi_layout *keep(MPI_Datatype type, int key, struct ww_mpi_layout *layout)
{
	struct ww_mpi_layout *found = NULL;
	int is_found = 0;

	pthread_mutex_lock(&lock);
	PMPI_Type_get_attr(type, key, &found, &is_found);
	if (is_found) {
		ww_mpi_layout_unref(layout);
		layout = ref(found);
	} else if (PMPI_Type_set_attr(type, key, ref(layout)) != MPI_SUCCESS) {
		ww_mpi_layout_unref(layout);
	}
	pthread_mutex_unlock(&lock);
	return layout;
}

/* A predefined type without gaps has its bytes in their order. */
static bool has_all_bytes(MPI_Datatype type)
{
	struct ww_mpi_layout shape = {0};

	measure(type, &shape);
	return shape.size == shape.true_extent;
}

struct ww_mpi_layout *ww_mpi_layout_get(MPI_Datatype type)
{
	struct ww_mpi_layout *layout = named_find(type);
	int combiner;

	if (layout)
		return ref(layout);
	combiner = combiner_of(type);
	if (!is_predefined(combiner)) {
		int key = get_keyval();
		int is_found = 0;

		layout = NULL;
		if (key == MPI_KEYVAL_INVALID)
			return NULL;
		PMPI_Type_get_attr(type, key, &layout, &is_found);
		if (is_found)
			return ref(layout);
		layout = repeats_dense(type, combiner) ? create_plain(type) : create_drawn(type);
		return layout ? keep(type, key, layout) : NULL;
	}
	layout = has_all_bytes(type) ? create_plain(type) : create_drawn(type);
	return layout ? ref(named_add(type, layout)) : NULL;
}

/* The types of most messages are known from the first one on. */
static void add_common(void)
{
	const MPI_Datatype types[] = {
		MPI_BYTE,
		MPI_CHAR,
		MPI_SIGNED_CHAR,
		MPI_UNSIGNED_CHAR,
		MPI_SHORT,
		MPI_UNSIGNED_SHORT,
		MPI_INT,
		MPI_UNSIGNED,
		MPI_LONG,
		MPI_UNSIGNED_LONG,
		MPI_LONG_LONG,
		MPI_UNSIGNED_LONG_LONG,
		MPI_FLOAT,
		MPI_DOUBLE,
		MPI_C_BOOL,
		MPI_INT8_T,
		MPI_INT16_T,
		MPI_INT32_T,
		MPI_INT64_T,
		MPI_UINT8_T,
		MPI_UINT16_T,
		MPI_UINT32_T,
		MPI_UINT64_T,
		MPI_C_FLOAT_COMPLEX,
		MPI_C_DOUBLE_COMPLEX,
		MPI_PACKED,
		MPI_CHARACTER,
		MPI_LOGICAL,
		MPI_INTEGER,
		MPI_REAL,
		MPI_DOUBLE_PRECISION,
		MPI_COMPLEX,
		MPI_DOUBLE_COMPLEX,
	};

	/* An MPI without Fortran lacks its types. */
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i] != MPI_DATATYPE_NULL)
			ww_mpi_layout_unref(ww_mpi_layout_get(types[i]));
	}
}

bool ww_mpi_type_is_named(MPI_Datatype type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add_common);
	return type != MPI_DATATYPE_NULL && named_find(type);
}

MPI_Aint ww_mpi_first_byte(MPI_Datatype type)
{
	MPI_Aint lb = 0;
	MPI_Aint extent;

	if (type == MPI_DATATYPE_NULL || named_find(type))
		return 0;
	if (is_predefined(combiner_of(type)))
		ww_mpi_layout_unref(ww_mpi_layout_get(type));
	else
		PMPI_Type_get_true_extent(type, &lb, &extent);
	return lb;
}
