#!/usr/bin/env python3
"""Runs every route of gpu_routes under the probe and holds the recording against what the route moved.

    check_routes.py HITPROOF GPU_ROUTES [ROUTE ...]

Exactly the copies that a route made must be in the recording: addresses, bytes and directions, and as many
of them. Exit code 0 all routes agree, 1 one does not, 77 no device.
"""
import collections
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

DIRECTIONS = ["D2H", "H2D", "D2D", "H2H", "unknown"]


def signed(value):
    """SQLite keeps unsigned 64-bit values as signed ones."""
    return value - 2**64 if value >= 2**63 else value


def differences(said, database):
    process = said["process"]
    expected = collections.Counter(tuple(signed(v) for v in copy) for copy in said["copies"])
    found = collections.Counter(
        database.execute(
            "SELECT dst, src, bytes, direction FROM copy "
            "WHERE process = ? AND result = 0 AND src <> 0", (process,)))
    for copy in (expected - found).elements():
        yield f"not recorded: {copy[2]} bytes {DIRECTIONS[copy[3]]} {copy[1]:#x} -> {copy[0]:#x}"
    for copy in (found - expected).elements():
        yield f"recorded, not made: {copy[2]} bytes {DIRECTIONS[copy[3]]} {copy[1]:#x} -> {copy[0]:#x}"
    for op, times in said["orders"].items():
        n, = database.execute("SELECT COUNT(*) FROM order_op WHERE process = ? AND op = ?",
                              (process, int(op))).fetchone()
        if n != times:
            yield f"order operations of kind {op}: {n} recorded, {times} made"
    if said["kernel"]:
        names = [v for v, in database.execute(
            "SELECT value FROM meta WHERE process = ? AND name = 'kernel.host_pointer'", (process,))]
        if not any(said["kernel"] in name for name in names):
            yield f"no kernel {said['kernel']} among those given host memory: {names}"


def check(hitproof, program, route):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="routes-"))
    try:
        run = subprocess.run([hitproof, "run", "--out", folder / "r", "--", program, route],
                             stdout=subprocess.PIPE, text=True, check=False)
        lines = [json.loads(l) for l in run.stdout.splitlines() if l.startswith('{"route"')]
        if run.returncode != 0 and not lines:
            return [f"exit code {run.returncode}"]
        database = sqlite3.connect(next((folder / "r").rglob("recording.sqlite")))
        problems = [p for said in lines for p in differences(said, database)]
        dropped, = database.execute("SELECT COALESCE(SUM(dropped), 0) FROM coverage").fetchone()
        if dropped:
            problems.append(f"{dropped} observations were dropped")
        copies = [c for said in lines for c in said["copies"]]
        print(f"{route:18} {len(copies):3} copies {sum(c[2] for c in copies):8} bytes "
              f"{len(lines)} processes: {'agrees' if not problems else 'DIFFERS'}")
        return problems
    finally:
        shutil.rmtree(folder)


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    hitproof, program = arguments[:2]
    routes = arguments[2:] or subprocess.run([program], stdout=subprocess.PIPE, text=True,
                                             check=True).stdout.split()
    probe = subprocess.run([program, "runtime"], stdout=subprocess.DEVNULL, check=False)
    if probe.returncode == 77:
        print("skipped: no CUDA device on this machine")
        return 77
    failed = False
    for route in routes:
        for problem in check(hitproof, program, route):
            print(f"  {route}: {problem}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
