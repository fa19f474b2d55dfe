# SPDX-License-Identifier: Apache-2.0
"""What the compilers of several vendors have in common."""
import os
import re
import shutil
import subprocess

CLANGS = ("clang-15", "clang-19")  # of Debian 12 and 13, with libclc of the same version
LIBCLC = "/usr/lib/clc"


def said_by(*command, **where):
    """What a command prints; an exception where it fails."""
    done = subprocess.run(command, check=True, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **where)
    return done.stdout + done.stderr


def clang():
    """The first that is installed; None where none is."""
    return next(filter(shutil.which, CLANGS), None)


def clang_release():
    return "clang " + re.search(r"version (\d+)", said_by(clang(), "--version")).group(1)


def clang_missing(library):
    """Why clang cannot compile for that library of built-in functions; None where it can."""
    if not clang():
        return (f"there is no {' and no '.join(CLANGS)}: install one of them, and libclc of the "
                "same version (Debian 12: clang-15 libclc-15)")
    if not os.path.exists(os.path.join(LIBCLC, library)):
        return (f"there is no {library} in {LIBCLC}: install libclc of clang's version (Debian 12: "
                "libclc-15)")
    return None


def source_file(job, folder):
    """The program's device code, written there."""
    path = os.path.join(folder, "program.cl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(job.source)
    return path


def assembly(job, folder, library, *arguments):
    """What clang makes of a program: assembly of the target that the arguments name."""
    out = os.path.join(folder, "program.s")
    said_by(clang(), "-x", "cl", "-nogpulib", "-w", "-O3", "-S", *arguments, *job.options.split(),
            "-Xclang", "-finclude-default-header", "-Xclang", "-mlink-builtin-bitcode", "-Xclang",
            os.path.join(LIBCLC, library), source_file(job, folder), "-o", out)
    with open(out, encoding="utf-8") as file:
        return file.read()
