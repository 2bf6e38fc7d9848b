/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.c - the table of the checks, see advice.h
 *
 * Nothing else knows these texts: a check names itself and a cause, and the text and the JSON take
 * the rest from here.
 */
#include "doctor/advice.h"

#include <string.h>

/* clang-format off */
#define NO_GPU_OF_THIS "this GPU cannot be used; the host device and other GPUs work without it"
#define BY_DRIVER      "sudo apt install nvidia-driver (525 or newer), then reboot"
#define IN_CONTAINER   "docker run --gpus all ..., with the nvidia-container-toolkit installed on the host"

const struct check checks[] = {
	{"system", "machine", "the kernel", NULL, NULL},
	{"container", "machine", "whether this runs in a container",
		"a process outside this container shares nothing with those inside until both reach one broker",
		"mount the broker's folder into each container: docker run -v /run/warpway:/run/warpway"},
	{"wsl", "machine", "whether this is Windows Subsystem for Linux",
		"the driver supports less there than on Linux itself: see the lines of each GPU",
		"run on Linux where a line of a GPU fails that you need"},
	{"pid-namespace", "machine", "whether processes are numbered as on the whole machine",
		"legacy handles cannot be opened by a process in another PID namespace that has the same number",
		"share through a broker, which passes descriptors; or docker run --pid=host"},
	{"user-namespace", "machine", "whether users are numbered as on the whole machine",
		"events of processes in other user namespaces cannot be opened; modes of objects show other users",
		"share timelines instead of events; or run without a user namespace (podman run --userns=host)"},
	{"ipc-namespace", "machine", "whether shared memory of the system is that of the whole machine",
		"events of processes in other containers cannot be opened",
		"share timelines instead of events; or docker run --ipc=host"},
	{"net-namespace", "machine", "whether the network is that of the whole machine",
		"ranks of MPI outside this network cannot be reached; sharing by Warpway needs no network",
		"docker run --network=host, if an MPI job spans it"},
	{"ptrace", "machine", "whether a process reads another one's memory",
		"MPI copies large host buffers twice, and debuggers attach to their own children only",
		"sudo sysctl kernel.yama.ptrace_scope=0"},
	{"open-files", "machine", "how many descriptors a process may have open",
		"each shared object costs a descriptor while it is passed on: many objects will not fit",
		"ulimit -n 65536; for a service LimitNOFILE=65536 in its unit"},
	{"locked-memory", "machine", "how much memory a process may lock",
		"MPI and UCX cannot register large buffers with a network adapter; sharing does not need it",
		"ulimit -l unlimited; for users a line in /etc/security/limits.conf: * - memlock unlimited"},
	{"address-space", "machine", "whether a process gets the addresses that a GPU's driver reserves",
		"CUDA does not start, and large memory cannot be mapped",
		"ulimit -v unlimited"},
	{"shm", "machine", "/dev/shm",
		"events between processes and the shared memory of MPI need it",
		"sudo mount -o remount,size=1G /dev/shm; docker run --shm-size=1g"},
	{"memfd", "machine", "memory files that can be sealed",
		"nothing can be shared: host memory, signal pages and channels are such files",
		"run on Linux 5.4 or newer, with a seccomp profile that allows memfd_create"},
	{"sockets", "machine", "passing descriptors, and knowing who sends them",
		"nothing can be shared: what crosses between processes is a descriptor",
		"allow Unix sockets with SCM_RIGHTS in the sandbox that this runs in"},
	{"pidfd", "machine", "noticing the end of a process by its pidfd",
		"a broker cannot tell that a process has ended, and so does not start",
		"run on Linux 5.4 or newer, with a seccomp profile that allows pidfd_open"},

	{"broker-program", "broker", "the broker's program, " "warpwayd" ", of this version",
		"no broker can be started, so there are no names, timelines, channels and services",
		"install warpwayd beside warpway, or name it: export WARPWAYD=/path/to/warpwayd"},
	{"broker-trial", "broker", "a broker of one's own in a temporary folder",
		"no broker can be started, so there are no names, timelines, channels and services",
		"warpwayd --socket /tmp/warpway-try.sock says why not"},
	{"broker", "broker", "the running broker: version, and rights on its socket",
		"programs do not reach the broker that they would use",
		"warpway serve --status"},

	{"library", "programs", "the shared library, of this version",
		"programs that are linked with the library are not of the version of this tool",
		"install the library and the tool of one version, then sudo ldconfig"},
	{"python", "programs", "the Python package, of this version",
		"Python programs cannot share",
		"install the package python3-warpway or the wheel; or pip install . in the folder of Warpway's sources"},
	{"mpi", "programs", "MPI launchers, and Warpway's library for each",
		"MPI calls with device pointers fail, unless the MPI itself takes them",
		"sudo apt install libopenmpi-dev libmpich-dev, and build Warpway again"},

	{"driver", "driver", "the NVIDIA driver",
		"no GPU can be used; everything works on the host device",
		"nvidia-smi should list a GPU"},

	{"context", "device", "a context of CUDA", NO_GPU_OF_THIS, "nvidia-smi -i {gpu} -q"},
	{"mig", "device", "whether it is a part of a GPU (MIG)",
		"it reaches no other GPU's memory, and legacy handles open on the same instance only",
		"sudo nvidia-smi -i INDEX -mig 0, if the whole GPU is to be used"},
	{"mps", "device", "whether processes share the GPU by MPS",
		"if a client's kernel faults, all other clients of the MPS server end too",
		"echo quit | nvidia-cuda-mps-control, if processes must be protected from each other"},
	{"compute-mode", "device", "whether several processes may use it",
		"a second process cannot use this GPU, so nothing in its memory can be shared",
		"sudo nvidia-smi -i {gpu} -c DEFAULT"},
	{"memory", "device", "free memory of the GPU",
		"a process needs about 525 MiB for its context, and then room for its data",
		"nvidia-smi -i {gpu} shows which processes hold memory"},
	{"vmm", "device", "virtual memory management (cuMemCreate)",
		NO_GPU_OF_THIS, "use a GPU of compute capability 6.0 or newer with driver 525 or newer"},
	{"descriptors", "device", "memory that another process gets by descriptor",
		"memory of this GPU cannot be shared",
		"use driver 525 or newer on Linux itself; share host memory meanwhile (WW_MEMORY_HOST)"},
	{"read-only", "device", "mappings that refuse to be written",
		"a process that gets memory for reading can write it",
		"update the driver; until then give memory only to processes that you trust"},
	{"legacy", "device", "memory of cuMemAlloc that another process gets by handle (cuIpc)",
		"memory that other libraries allocated (cudaMalloc, PyTorch) cannot be shared without a copy",
		"copy it into memory of Warpway: ww_memory_copy_in()"},
	{"pools", "device", "memory of cuMemAllocAsync that another process gets",
		"memory that was allocated from CUDA's pools cannot be shared without a copy",
		"allocate from a pool of Warpway instead: ww_pool_alloc()"},
	{"events", "device", "events that another process waits for",
		"events cannot be shared",
		"use timelines, which also end a wait when a process dies"},
	{"stream-values", "device", "streams that wait for a value in memory",
		"streams cannot wait for timelines: the CPU has to wait, and then enqueue",
		"update the driver to 525 or newer; until then ww_timeline_wait() on the CPU"},
	{"host-memory", "device", "host memory that the GPU reads and writes in place",
		"memory of kind host and timelines cannot be used on this GPU",
		"use memory of the GPU (WW_MEMORY_VMM), and copy what the CPU has"},
	{"host-read-only", "device", "the same for reading only",
		"host memory that was given for reading, and timelines of others, cannot be used on this GPU",
		"give host memory for writing, and wait for timelines on the CPU"},
	{"fabric", "device", "handles for other machines (fabric)",
		"memory cannot be shared with GPUs of other machines; inside this machine nothing is lost",
		"on machines of one NVLink domain: sudo systemctl start nvidia-imex, and make an IMEX channel "
		"(NVreg_CreateImexChannel0=1)"},
	{"share", "device", "memory that two processes share by name, through a broker",
		"memory of this device cannot be shared",
		"see the first line of this device, or of the machine, that fails"},
	{"timeline", "device", "a stream that waits for another process",
		"streams cannot wait for other processes",
		"wait on the CPU: ww_timeline_wait()"},
	{"slice", "device", "a slice of a pool that another process gets by token",
		"slices of pools cannot be shared",
		"share whole memories (ww_memory_create), if the line of share says that it works"},

	{"route", "routes", "how one device reaches the memory of another one",
		"memory of one GPU cannot be used in place on the other one",
		"nvidia-smi topo -p2p r says why; on PCIe disable ACS in the firmware"},
	{NULL, NULL, NULL, NULL, NULL}
};

/* What a cause changes; NULL: as the check's row says. */
static const struct {
	const char *check;
	const char *cause;
	const char *lost;
	const char *remedy;
} advices[] = {
	{"ptrace", "denied", NULL, "docker run --cap-add SYS_PTRACE"},
	{"shm", "missing", NULL, "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm"},
	{"shm", "read-only", NULL, "sudo mount -o remount,rw /dev/shm"},
	{"shm", "mode", NULL, "sudo chmod 1777 /dev/shm"},
	{"broker-program", "version", "another version of the broker would be started than this program is of",
		"install warpway and warpwayd of one version, or unset WARPWAYD"},
	{"broker", "named", NULL, "warpway serve --foreground --socket {broker}, or unset WARPWAY_BROKER"},
	{"broker", "left", NULL, "sudo systemctl start warpwayd, or sudo rm " MACHINE_SOCKET},
	{"broker", "access", NULL, "join the group that the socket's mode lets in: sudo usermod -aG GROUP $USER, "
		"then log in again"},
	{"broker", "protocol", NULL, "install warpway and warpwayd of one version, then warpway serve --stop"},
	{"broker", "version", "what is newer than the broker is refused by it", "warpway serve --stop, when nothing is kept"},
	{"python", "version", "the package of Python and the tool are of two versions",
		"pip install . in the folder of the sources that the tool was built from"},
	{"library", "broken", "programs that are linked with the library do not start",
		"install the library again, of the version of this tool, then sudo ldconfig"},
	{"python", "broken", NULL, "python3 -c 'import warpway' says why it cannot be imported"},
	{"driver", "missing", NULL, BY_DRIVER},
	{"driver", "container", NULL, IN_CONTAINER},
	{"driver", "old", NULL, BY_DRIVER},
	{"driver", "no-device", NULL, "ls -l /dev/nvidia*; sudo nvidia-modprobe -u -c=0; nvidia-smi should list a GPU"},
	{"driver", "mismatch", NULL, "reboot: the kernel's module and libcuda.so.1 are of two versions "
		"(cat /proc/driver/nvidia/version)"},
	{"driver", "fabric-manager", NULL, "sudo systemctl start nvidia-fabricmanager"},
	{"driver", "proc", NULL, "mount the namespace's own /proc: unshare --mount-proc"},
	{"driver", "uvm", NULL, "sudo nvidia-modprobe -u -c=0"},
	{"driver", "mps", NULL, "start the MPS server: nvidia-cuda-mps-control -d; or unset CUDA_MPS_PIPE_DIRECTORY"},
	{"driver", "crash", NULL, "reboot, and install the driver again if it happens again"},
	{"driver", "late", NULL, "warpway doctor --time-limit 60; if that does not help: sudo dmesg | grep -i nvrm"},

	{"context", "compute-mode", NULL, "sudo nvidia-smi -i {gpu} -c DEFAULT"},
	{"context", "memory", NULL, "nvidia-smi -i {gpu} shows which processes hold memory: end one"},
	{"context", "mps", NULL, "start the MPS server: nvidia-cuda-mps-control -d; or unset CUDA_MPS_PIPE_DIRECTORY"},
	{"compute-mode", "exclusive-mps", "programs that look for a GPU that several processes may use leave it out", NULL},
	{"compute-mode", "second", NULL, "nvidia-smi -i {gpu} shows which processes hold memory: end one"},
	{"mps", "unknown", NULL, "update the driver, if it matters"},
	{"pools", "function", NULL, "update the driver: sudo apt install nvidia-driver (525 or newer)"},
	{"events", "shm", NULL, "make /dev/shm usable, see the line of shm; or use timelines"},
	{"share", "broker", NULL, "see the line of broker-trial"},
	{"timeline", "broker", NULL, "see the line of broker-trial"},
	{"slice", "broker", NULL, "see the line of broker-trial"},
	{"route", "copy", "work on one GPU cannot read and write the other one's memory in place: "
		"the driver copies by way of the CPU", NULL},

	/* Of every check of a device. */
	{NULL, "crash", "a program that does the same ends, too", "sudo dmesg | grep -i -e nvrm -e xid; update the driver"},
	{NULL, "late", "a program that does the same waits for ever",
		"warpway doctor --time-limit 60; if that does not help: sudo dmesg | grep -i -e nvrm -e xid"},
};
/* clang-format on */

const struct check *check_find(const char *id)
{
	for (const struct check *check = checks; check->id; check++) {
		if (!strcmp(check->id, id))
			return check;
	}
	return NULL;
}

static bool is_said(const struct result *result)
{
	return result->state == STATE_LIMITED || result->state == STATE_FAILS;
}

const char *advice_lost(const struct result *result)
{
	const struct check *check = check_find(result->check);

	if (!check || !is_said(result))
		return NULL;
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (!strcmp(advices[i].cause, result->cause) &&
			(!advices[i].check || !strcmp(advices[i].check, result->check)) &&
			advices[i].lost)
			return advices[i].lost;
	}
	return check->lost;
}

const char *advice_remedy(const struct result *result)
{
	const struct check *check = check_find(result->check);

	if (!check || !is_said(result))
		return NULL;
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		if (!strcmp(advices[i].cause, result->cause) &&
			(!advices[i].check || !strcmp(advices[i].check, result->check)) &&
			advices[i].remedy)
			return advices[i].remedy;
	}
	return check->remedy;
}
