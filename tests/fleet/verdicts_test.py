#!/usr/bin/env python3
"""Holds the fleet's auditor against the local one, over Parquet partitions that the program wrote.

    verdicts_test.py --hitproof PROGRAM --worlds AUDIT_SMALL_WORLD --golden FOLDER [--spark no] [--mutations REGEX]

Archives: the golden ones, the good small study and every mutation that the auditor is tested with. Demanded: the
partitions hold the recordings' rows value for value; each archive's verdict, rules, observations, missing inputs and
findings are those of `hitproof audit --json`, with SQLite and with DuckDB in the workers, with Spark and without;
and what must be noticed is noticed (the controls at the end). Exit code 0 all holds, 1 not, 77 something is missing.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FLEET = HERE.parents[1] / "audit" / "fleet"
sys.path[:0] = [str(FLEET), str(HERE)]
failures = []


def check(holds, words):
    if not holds:
        failures.append(words)
        print("FAILED:", words, flush=True)


def say(words):
    print(f"{time.strftime('%H:%M:%S')} {words}", flush=True)


def missing():
    for module, how in (("duckdb", "pip install duckdb"), ("pyarrow", "pip install pyarrow")):
        if importlib.util.find_spec(module) is None:
            return f"the Python module {module} is missing: {how}"
    return None


def worlds(arguments, folder):
    """(folder of an archive, name): goldens, the good study, every mutation of it."""
    from make_fleet import close_bag, unpack
    for packed in sorted(arguments.golden.glob("*.tar.xz")):
        yield unpack(packed, folder / packed.name.partition(".")[0])
    good = folder / "good"
    good.mkdir()
    subprocess.run([arguments.worlds, str(good)], check=True)
    listing = subprocess.run([arguments.worlds, "--mutations"], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        name, _, _, arm, sql = line.split("\t")
        if not re.search(arguments.mutations, name):
            continue
        copy = folder / name
        shutil.copytree(good, copy)
        change(copy / "data" / ("reference" if arm == "control" else "") / "recording.sqlite", sql)
        # Two mutations may leave the same bytes, which would be one archive.
        change(copy / "data" / "recording.sqlite", f"INSERT INTO recording VALUES ('world', '{name}')")
        close_bag(copy)
        yield copy
    close_bag(good)
    yield good


def change(database, sql):
    connection = sqlite3.connect(database)
    connection.executescript(sql)
    connection.close()


def hitproof(arguments, *words, **options):
    return subprocess.run([arguments.hitproof, *map(str, words)], capture_output=True, text=True, **options)


def fleet(out, *words):
    run = subprocess.run([sys.executable, FLEET / "audit_fleet.py", out, *map(str, words)], capture_output=True,
                         text=True, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"})
    return run.returncode, run.stdout, run.stderr


def same_rows(archive, identity, out):
    """Every table of a recording against its partitions, value for value."""
    from world import Partitions
    partitions = Partitions(str(out), {})
    compared = 0
    connection = sqlite3.connect(archive / "data" / "recording.sqlite")
    for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        expected = connection.execute(f'SELECT * FROM "{name}"').fetchall()
        table = partitions.table(name, identity)
        found = [tuple(row.values()) for row in table.to_pylist()] if table is not None else []
        check(sorted(map(repr, expected)) == sorted(map(repr, found)), f"{archive.name}: rows of {name} differ")
        compared += len(expected)
    connection.close()
    return compared


def units(out, identity):
    import pyarrow.parquet
    path = out / "copy" / f"archive={identity}" / "part.parquet"
    said = pyarrow.parquet.read_metadata(path).metadata
    check(json.loads(said[b"hitproof_units"])["bytes"] == "bytes", "the unit of copy.bytes is not in the metadata")
    manifest = json.loads((out / "_hitproof.json").read_text())
    column = next(c for c in manifest["tables"]["entry"] if c["name"] == "base")
    check(column["unit"] == "address" and column["meaning"], "the manifest does not describe entry.base")


def against_the_program(arguments, archives, answers):
    """The carried verdicts and the fleet's are those of `hitproof audit --json`."""
    for archive in archives:
        local = json.loads(hitproof(arguments, "audit", archive, "--json").stdout)
        answer = answers[str(archive)]
        check("error" not in answer and answer["verdict"] == local["verdict"], f"{archive.name}: verdict")
        for rule in answer.get("rules", []):
            mine = sorted(map(tuple, rule["findings"]))
            theirs = sorted((f["violation"], f["effect"], f["count"]) for f in local[rule["name"]]["findings"])
            check(mine == theirs and rule["verdict"] == local[rule["name"]]["verdict"] and
                  rule["observations"] == local[rule["name"]]["rests_on"] and
                  rule["missing"] == local[rule["name"]]["missing"], f"{archive.name}: rule {rule['name']}")


def read_answers(path):
    return {a.get("path", a["archive"]): a for a in map(json.loads, path.read_text().splitlines())}


def killed_export(arguments, listed, out):
    """Killed in the middle, then run again: the same archives, each whole."""
    run = subprocess.Popen([arguments.hitproof, "export", "--format", "parquet", "--quiet", "--from", listed, "--out",
                            out], stdout=subprocess.DEVNULL)
    while len(list(out.glob("fleet_archive/*"))) < 3 and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    there = len(list(out.glob("fleet_archive/*")))
    check(0 < there < len(listed.read_text().splitlines()), f"the export was not killed in its middle ({there})")
    code, _, errors = fleet(out, "--local", 2)
    check(code != 2, f"what a killed export left cannot be read: {errors}")
    again = hitproof(arguments, "export", "--format", "parquet", "--from", listed, "--out", out)
    check(again.returncode == 0 and f"{there} there already" in again.stdout, f"not resumed: {again.stdout}")


def controls(out, answers):
    """What must be noticed: another verdict, a lost file, other rule files, a lost row."""
    import pyarrow
    import pyarrow.parquet
    identity = next(a["archive"] for a in answers.values() if a["verdict"] == "pass")
    path = out / "fleet_archive" / f"archive={identity}" / "part.parquet"
    kept = path.read_bytes()
    table = pyarrow.parquet.ParquetFile(path).read()
    place = table.column_names.index("verdict")
    pyarrow.parquet.write_table(table.set_column(place, "verdict", pyarrow.array(["fail"])), path)
    code, said, _ = fleet(out, "--local", 1, "--compare", "--archive", identity)
    check(code == 1 and "DIFFERENT" in said, f"another verdict is not noticed: {said}")
    path.write_bytes(kept)

    path = out / "copy" / f"archive={identity}" / "part.parquet"
    kept = path.read_bytes()
    table = pyarrow.parquet.ParquetFile(path).read()
    pyarrow.parquet.write_table(table.slice(1), path)
    code, said, _ = fleet(out, "--local", 1, "--archive", identity)
    check(code == 2 and "rows of table copy" in said, f"a lost row is not noticed: {said}")
    path.unlink()
    code, said, _ = fleet(out, "--local", 1, "--archive", identity)
    check(code == 2 and "rows of table copy" in said, f"a lost file is not noticed: {said}")
    path.write_bytes(kept)

    rules = out.parent / "rules"
    shutil.copytree(FLEET.parent / "rules", rules)
    (rules / "pages.sql").write_text((rules / "pages.sql").read_text() + "\n")
    code, _, errors = fleet(out, "--local", 1, "--rules", rules)
    check(code == 2 and "pages.sql" in errors, "other rule files are not noticed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hitproof", required=True)
    parser.add_argument("--worlds", required=True)
    parser.add_argument("--golden", type=pathlib.Path, required=True)
    parser.add_argument("--spark", choices=("yes", "no"), default="yes")
    parser.add_argument("--mutations", default="", help="those whose names this regular expression finds, alone")
    arguments = parser.parse_args()
    if (lacking := missing()) is not None:
        print(f"skipped: {lacking}")
        return 77
    os.environ.setdefault("HITPROOF_DUCKDB", sys.executable)

    with tempfile.TemporaryDirectory(prefix="hitproof-fleet-") as scratch:
        scratch = pathlib.Path(scratch)
        archives = list(worlds(arguments, scratch))
        listed, out = scratch / "list", scratch / "fleet"
        listed.write_text("".join(f"{a}\n" for a in archives))
        say(f"{len(archives)} archives")
        run = hitproof(arguments, "export", "--format", "parquet", "--audit", "--from", listed, "--out", out)
        check(run.returncode == 0, f"export: {run.stdout} {run.stderr}")
        say(run.stdout.strip().splitlines()[0] if run.stdout else "no output")
        for engine, spark in (("sqlite", False), ("duckdb", False), ("sqlite", True)):
            if spark and arguments.spark == "no":
                continue
            if spark and importlib.util.find_spec("pyspark") is None:
                print("skipped: the Python module pyspark is missing: pip install pyspark, and a Java runtime")
                return 1 if failures else 77
            words, expected = [] if spark else ["--local", 2], len(archives)
            if engine == "duckdb":  # planning such queries takes it longer than running them: a sample
                sample = sorted(f.name.partition("=")[2] for f in (out / "fleet_archive").iterdir())[::6]
                words += [word for identity in sample for word in ("--archive", identity)]
                expected = len(sample)
            code, said, errors = fleet(out, "--engine", engine, "--compare", "--answers", scratch / f"answers-{engine}",
                                       *words)
            check(code == 0, f"{engine}, {'Spark' if spark else 'processes'}: {said} {errors[-2000:]}")
            check(f"{expected} equal, 0 different" in said, f"{engine}: not every archive was compared")
            say(f"{engine} {'with Spark' if spark else 'in processes'}: {said.splitlines()[-1] if said else errors}")
        answers = read_answers(scratch / "answers-sqlite")
        against_the_program(arguments, archives, answers)
        say("every verdict is that of hitproof audit --json")
        named = {"h200-vllm-lmcache", "good", archives[-2].name}
        rows = sum(same_rows(a, answers[str(a)]["archive"], out) for a in archives if a.name in named)
        say(f"{rows} rows are those of the recordings")
        units(out, answers[str(archives[-1])]["archive"])
        killed_export(arguments, listed, scratch / "killed")
        controls(out, answers)
        verdicts = sorted({a["verdict"] for a in answers.values()})
        check(verdicts == ["fail", "inconclusive", "pass"], f"the worlds have the verdicts {verdicts} alone")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
