#!/usr/bin/env python3
"""offer_ptx_cli_test.py WARPWAY DEVICE WARPWAYD COMPLETION MODULE - `warpway offer` of kernels in PTX

With the helpers of broker_cli_test.py, and a broker of its own. DEVICE is a GPU. A real driver runs the PTX; the fake
one calls the functions of MODULE, offer_cli_module.c, which have the same names. Speaks TAP.
"""
import re
import sys

sys.dont_write_bytecode = True  # the sources may be another user's

from broker_cli_test import (  # noqa: E402
    done, end, expect, line_of, main, path_of, refused, spoken, start, until, write)

DEVICE = sys.argv[2]
NAME = "lab/kernels"
COUNT = 80
PTX = f"""\
.version 6.0
.target sm_50
.address_size 64
// fakecuda: {sys.argv[5]}
.visible .entry scale(.param .u8 factor, .param .u64 x, .param .u64 y, .param .u64 n)
{{
	.reg .pred %p;
	.reg .u16 %h<3>;
	.reg .u32 %r<3>;
	.reg .u64 %d<6>;
	ld.param.u8 %h0, [factor];
	ld.param.u64 %d0, [x];
	ld.param.u64 %d1, [y];
	ld.param.u64 %d2, [n];
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	cvt.u64.u32 %d4, %r2;
	mad.wide.u32 %d3, %r0, %r1, %d4;
	setp.ge.u64 %p, %d3, %d2;
	@%p bra END;
	add.u64 %d4, %d0, %d3;
	add.u64 %d5, %d1, %d3;
	ld.global.u8 %h1, [%d4];
	mul.lo.u16 %h2, %h0, %h1;
	st.global.u8 [%d5], %h2;
END:
	ret;
}}
// The address is no one's: the driver ends the context.
.visible .entry crash()
{{
	.reg .u64 %d;
	mov.u64 %d, 16;
	st.global.u64 [%d], %d;
	ret;
}}
""".encode()
SIGNATURES = b"""scale: u8 factor = 2, u8[n] x read, u8[n] y write, u64 n; grid n / 256; block 256
crash: ; grid 1; block 1
"""


def ready(command):
    told = re.fullmatch(rf"(?:warpway offer: )?{NAME} is ready, 2 functions, process (\d+)\n", line_of(command))
    expect(told, "it is not ready")
    return int(told[1])


def offered():
    command = start("offer", "--device", DEVICE, "--signature", write("kernels.txt", SIGNATURES), NAME,
                    write("kernels.ptx", PTX))
    return command, ready(command)


def scale(factor):
    """Of memory of the GPU and of host memory, as both are given to kernels."""
    for device in (DEVICE, "host"):
        done("put", "--device", device, "lab/x", "-", data=bytes(range(COUNT)))
        done("put", "--device", device, "--shared", "lab/y", "-", data=bytes(COUNT))
        done("call", NAME, "scale", f"factor={factor}", "x=@lab/x", "y=@lab/y")
        expect(done("get", "lab/y") == bytes(factor * i for i in range(COUNT)), f"what the kernel wrote to {device}")
        done("rm", "lab/x", "lab/y")


def kernels_run():
    command, _ = offered()
    scale(3)
    end(command)


def a_fault_starts_the_server_again():
    command, first = offered()
    scale(2)
    refused(1, "", "call", NAME, "crash")
    expect(ready(command) != first, "it is the same process")
    done("functions", "--wait-ready", NAME)
    scale(3)
    code, _, errors = end(command)
    expect(code == 0 and b"started again" in errors, f"{code} {errors}")


def wrong_ptx_is_refused():
    refused(2, "wrong.ptx", "offer", "--device", DEVICE, "--signature", path_of("kernels.txt"), NAME,
            write("wrong.ptx", b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry scale(\n"))
    refused(2, "argument 4", "offer", "--device", DEVICE, "--signature",
            write("wrong.txt", SIGNATURES.replace(b"u64 n", b"u32 n")), NAME, path_of("kernels.ptx"))
    until(lambda: spoken("ls") == [], "something is left")


sys.exit(main([kernels_run, a_fault_starts_the_server_again, wrong_ptx_is_refused]))
