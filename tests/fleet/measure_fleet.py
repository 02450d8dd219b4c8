#!/usr/bin/env python3
"""Measures what a fleet costs: export, merge and audit of 20, 200 and 2,000 archives, one JSON document on stdout.

    measure_fleet.py --hitproof build/default/bin/hitproof --list ARCHIVES --work FOLDER [--sizes 20,200,2000]

ARCHIVES is a list of folders, made by make_fleet.py. For each size the first archives of the list are taken into a
new merged file and into new partitions, both with --audit; then audit_fleet.py compares every verdict, on Spark
over this machine's cores and in two processes without it. Nothing is measured twice; what is wanted is the growth.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

FLEET = pathlib.Path(__file__).resolve().parents[2] / "audit" / "fleet"


def timed(command, text=None, environment=None):
    """Wall seconds, processor seconds, the most memory of one process below; output and complaints."""
    with tempfile.TemporaryFile() as fed, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        fed.write((text or "").encode())
        fed.seek(0)
        began = time.monotonic()
        process = subprocess.Popen([*map(str, command)], stdin=fed, stdout=said, stderr=errors, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        entry = {"seconds": round(time.monotonic() - began, 2),
                 "processor_seconds": round(used.ru_utime + used.ru_stime, 2),
                 "largest_process_mib": used.ru_maxrss // 1024, "exit_code": os.waitstatus_to_exitcode(status)}
        said.seek(0)
        errors.seek(0)
        return entry, said.read().decode(), errors.read().decode()


def bytes_below(path):
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hitproof", required=True)
    parser.add_argument("--list", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--sizes", default="20,200,2000")
    arguments = parser.parse_args()
    dirs = arguments.list.read_text().splitlines()
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "HITPROOF_DUCKDB": os.environ.get(
        "HITPROOF_DUCKDB", sys.executable)}
    document = {"machine": platform.platform(), "cores": os.cpu_count(), "sizes": []}
    for size in map(int, arguments.sizes.split(",")):
        taken = "".join(f"{d}\n" for d in dirs[:size])
        entry = {"archives": size, "archive_bytes": sum(bytes_below(pathlib.Path(d)) for d in dirs[:size])}
        merged, partitions = arguments.work / f"fleet-{size}.sqlite", arguments.work / f"fleet-{size}"
        for name, command in (
                ("merge", [arguments.hitproof, "merge", "--out", merged, "--from", "-", "--json", "--quiet"]),
                ("export", [arguments.hitproof, "export", "--format", "parquet", "--audit", "--out", partitions,
                            "--from", "-", "--json", "--quiet"])):
            entry[name], said, errors = timed(command, text=taken, environment=environment)
            entry[name].update({k: json.loads(said)[k] for k in ("added", "rows", "verdicts")})
            print(name, size, entry[name], errors[-300:], file=sys.stderr, flush=True)
        entry["merge"]["bytes"] = merged.stat().st_size
        entry["export"]["bytes"] = bytes_below(partitions)
        merged.unlink()
        for name, words in (("spark_this_machine", []), ("two_processes", ["--local", "2"])):
            entry[name], said, errors = timed([sys.executable, FLEET / "audit_fleet.py", partitions, "--compare", "--json",
                                               *words], environment=environment)
            try:
                entry[name].update(json.loads(said))
            except ValueError:
                entry[name]["error"] = errors[-2000:]
            print(name, size, entry[name], file=sys.stderr, flush=True)
        for name in ("merge", "export", "spark_this_machine", "two_processes"):
            entry[name]["ms_an_archive"] = round(1000 * entry[name]["seconds"] / size, 1)
        shutil.rmtree(partitions)
        document["sizes"].append(entry)
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
