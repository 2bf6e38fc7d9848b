#!/usr/bin/env python3
"""fortran_lines_test.py MODULES PAGE -- COMPILER... - that the lines of Fortran on a page compile

A block with a "use" is a whole program. Of the others, subroutines become those of a module, and
the rest the body of a program: what these do not declare themselves is declared below, as the page
calls it. A line "..." stands for declarations, and "..." at the end of a line for a statement.
MODULES is where the modules of warpway are. A block for nvfortran is skipped. Speaks TAP.
"""
import os
import re
import subprocess
import sys
import tempfile

AT = sys.argv.index("--")
MODULES, PAGE = sys.argv[1:AT]
COMPILER = sys.argv[AT + 1:]

USED = "use, intrinsic :: iso_c_binding\nuse warpway\n"
VALUES = """
type(ww_device) :: device
type(ww_memory) :: memory
type(ww_array) :: array
integer :: stat, i
character(240) :: message
"""
IN_A_FUNCTION = VALUES.replace("integer :: stat, i", "integer :: stat") + """
type(ww_value) :: values(2)
real(c_double), pointer :: x(:)
real(c_double) :: by
"""
IN_A_PROGRAM = VALUES + """
type(ww_timeline) :: mine, theirs
type(ww_channel) :: camera
type(ww_channel_params) :: params
type(ww_frame) :: frame
type(ww_ticket) :: ticket
type(ww_value) :: value
COMPUTE
real(c_double), pointer :: matrix(:, :)
real(c_float), pointer :: field(:, :)
real(c_double) :: total
integer(c_int64_t), parameter :: patience_ns = 60000000000_c_int64_t
"""
SUBROUTINE = re.compile(r"(?ms)^subroutine .*?^end subroutine$")


def blocks(page):
    """Its blocks of Fortran: where each begins, and its lines."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```fortran\n(.*?)^```$", text, re.S | re.M):
        yield text.count("\n", 0, found.start(1)) + 1, found.group(1)


def program(code):
    """A program with the lines of a block."""
    code = re.sub(r"(?m)^\s*\.\.\.$", lambda _: IN_A_FUNCTION, code)
    code = re.sub(r"\.\.\.$", "continue", code, flags=re.M)
    if re.search(r"(?m)^use ", code):
        return code + "end\n"
    inside = SUBROUTINE.findall(code)
    rest = SUBROUTINE.sub("", code)
    serves = re.search(r"compute%(create|serve)", rest)
    kind = "ww_service" if serves else "ww_client"
    declared = IN_A_PROGRAM.replace("COMPUTE", f"type({kind}) :: compute")
    if "exit" in rest:
        rest = f"do\n{rest}end do\n"
    module = "".join(part + "\n" for part in inside)
    return (f"module of_the_page\n{USED}implicit none\ncontains\n{module}end module\n"
            f"program page\n{USED}use of_the_page\nimplicit none\n{declared}\n{rest}end program\n")


def complaint(code):
    """What the compiler says of it; "" if it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.f90")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program(code))
        result = subprocess.run([*COMPILER, "-std=f2018", "-fsyntax-only", f"-I{MODULES}",
                                 f"-J{folder}", path],
                                capture_output=True, text=True, check=False)
    return result.stdout + result.stderr if result.returncode else ""


def main():
    found = list(blocks(PAGE))
    failed = not found
    print(f"1..{len(found)}")
    for number, (line, code) in enumerate(found, 1):
        name = f"{os.path.basename(PAGE)}, line {line}"
        if "cudafor" in code:
            print(f"ok {number} - {name} # SKIP it is for nvfortran")
            continue
        said = complaint(code)
        failed = failed or said
        print("# " + said.strip().replace("\n", "\n# ") if said else "", end="\n" if said else "")
        print(f"{'not ok' if said else 'ok'} {number} - {name}")
    return 1 if failed else 0


sys.exit(main())
