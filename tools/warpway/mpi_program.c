/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_program.c - see mpi_program.h
 *
 * An ELF file names the libraries that it needs. A script, or a program that loads its MPI later
 * (Python), does not; then the launcher is asked, which marks its processes by variables.
 */
#include "warpway/mpi_program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {NULL, "openmpi", "mpich"};

const char *mpi_abi_name(enum mpi_abi abi)
{
	return names[abi];
}

enum mpi_abi mpi_abi_find(const char *name)
{
	for (enum mpi_abi abi = MPI_ABI_OPENMPI; abi <= MPI_ABI_MPICH; abi++) {
		if (!strcmp(name, names[abi]))
			return abi;
	}
	return MPI_ABI_UNKNOWN;
}

/* --- what the program needs --- */

/* A file in memory; what it says of itself is checked before it is followed. */
struct image {
	const char *at;
	size_t bytes;
};

static const void *image_part(const struct image *image, uint64_t offset, uint64_t bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return NULL;
	return image->at + offset;
}

static const Elf64_Phdr *find_header(const struct image *image, uint32_t type, uint64_t address)
{
	const Elf64_Ehdr *elf = image_part(image, 0, sizeof(*elf));
	const Elf64_Phdr *headers = elf
		? image_part(image, elf->e_phoff, (uint64_t)elf->e_phnum * sizeof(*headers))
		: NULL;

	for (int i = 0; headers && i < elf->e_phnum; i++) {
		if (headers[i].p_type == type &&
			(type != PT_LOAD ||
				(address >= headers[i].p_vaddr &&
					address - headers[i].p_vaddr < headers[i].p_filesz)))
			return &headers[i];
	}
	return NULL;
}

static enum mpi_abi abi_of_library(const char *name)
{
	if (!strncmp(name, "libmpich", 8) || !strcmp(name, "libmpi.so.12"))
		return MPI_ABI_MPICH;
	if (!strncmp(name, "libmpi.so", 9) || !strncmp(name, "libmpi_", 7))
		return MPI_ABI_OPENMPI;
	return MPI_ABI_UNKNOWN;
}

static enum mpi_abi abi_of_needed(const struct image *image, const Elf64_Dyn *entries, size_t count,
	uint64_t strings)
{
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		const char *name;
		enum mpi_abi abi;

		if (entries[i].d_tag != DT_NEEDED)
			continue;
		name = image_part(image, strings + entries[i].d_un.d_val, 1);
		if (!name || !memchr(name, 0, image->bytes - (size_t)(name - image->at)))
			return MPI_ABI_UNKNOWN;
		abi = abi_of_library(name);
		if (abi)
			return abi;
	}
	return MPI_ABI_UNKNOWN;
}

static enum mpi_abi abi_of_image(const struct image *image)
{
	const Elf64_Phdr *dynamic, *strings;
	const Elf64_Dyn *entries;
	uint64_t address = 0;
	size_t count;

	if (image->bytes < sizeof(Elf64_Ehdr) || memcmp(image->at, ELFMAG, SELFMAG) != 0 ||
		image->at[EI_CLASS] != ELFCLASS64)
		return MPI_ABI_UNKNOWN;
	dynamic = find_header(image, PT_DYNAMIC, 0);
	if (!dynamic)
		return MPI_ABI_UNKNOWN;
	count = dynamic->p_filesz / sizeof(*entries);
	entries = image_part(image, dynamic->p_offset, dynamic->p_filesz);
	for (size_t i = 0; entries && i < count && entries[i].d_tag != DT_NULL; i++)
		address = entries[i].d_tag == DT_STRTAB ? entries[i].d_un.d_ptr : address;
	strings = address ? find_header(image, PT_LOAD, address) : NULL;
	return strings ? abi_of_needed(image, entries, count,
				 strings->p_offset + (address - strings->p_vaddr))
		       : MPI_ABI_UNKNOWN;
}

static enum mpi_abi abi_of_file(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	enum mpi_abi abi = MPI_ABI_UNKNOWN;
	struct image image;
	struct stat status;
	void *at;

	if (file < 0)
		return abi;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
		at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		if (at != MAP_FAILED) {
			image = (struct image){at, (size_t)status.st_size};
			abi = abi_of_image(&image);
			munmap(at, image.bytes);
		}
	}
	close(file);
	return abi;
}

/* As execvp() finds it. */
static bool find_in_path(const char *program, char *out_path, size_t room)
{
	const char *folders = getenv("PATH");

	if (strchr(program, '/'))
		return snprintf(out_path, room, "%s", program) < (int)room;
	while (folders && *folders) {
		int length = (int)strcspn(folders, ":");

		if (snprintf(out_path, room, "%.*s/%s", length, folders, program) < (int)room &&
			!access(out_path, X_OK))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

bool mpi_program_is_there(const char *program)
{
	char path[4096];

	return find_in_path(program, path, sizeof(path)) && !access(path, F_OK);
}

enum mpi_abi mpi_abi_linked(const char *program)
{
	char path[4096];

	return find_in_path(program, path, sizeof(path)) ? abi_of_file(path) : MPI_ABI_UNKNOWN;
}

enum mpi_abi mpi_abi_of(const char *program)
{
	enum mpi_abi abi = mpi_abi_linked(program);

	if (abi)
		return abi;
	if (getenv("OMPI_COMM_WORLD_SIZE"))
		return MPI_ABI_OPENMPI;
	/* PMI alone may also be Slurm's, under either MPI. */
	if (getenv("PMI_SIZE") && !getenv("SLURM_PROCID"))
		return MPI_ABI_MPICH;
	return MPI_ABI_UNKNOWN;
}

/* --- the library --- */

bool mpi_library_find(enum mpi_abi abi, char *out_path, size_t room)
{
	/* As installed, and as built; seen from the folder of this program. */
	static const char *const folders[] = {"../lib", "../lib/x86_64-linux-gnu",
		"../lib/aarch64-linux-gnu", "../lib64", "../src/mpi"};
	const char *named = getenv("WARPWAY_MPI_LIBRARY");
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (named && *named)
		return snprintf(out_path, room, "%s", named) < (int)room && !access(named, R_OK);
	if (length <= 0)
		return false;
	own[length] = 0;
	slash = strrchr(own, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (snprintf(out_path, room, "%s/%s/libwarpway_mpi_%s.so.0", own, folders[i],
			    names[abi]) < (int)room &&
			!access(out_path, R_OK))
			return true;
	}
	return false;
}
