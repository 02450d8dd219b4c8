#!/usr/bin/env python3
"""Thins the recording of a foreign engine, so that it can be kept: same tables, fewer rows.

    thin_recording.py ARCHIVE OUT

The rule, which table `thinned` of the result states row by row:
  copy       kept where a copy has at least 4,096 bytes, or where it was made by a process that opened
             another one's memory (the cache server): elsewhere small copies are a program's inputs
  order_op   kept where the process opened another one's memory, or the event was exported or opened by
             IPC, or the call is no event call at all (host functions, stream memory operations)
  memory     kept where it was exported, opened, registered or allocated on the host, or has at least
             1 MiB
  all else   kept whole
The auditor sees the gaps in the sequence numbers and calls the recording incomplete, which it is.
"""
import hashlib
import pathlib
import shutil
import sqlite3
import sys

IMPORTERS = "(SELECT process FROM memory WHERE op = 7 AND result = 0)"
SHARED_EVENTS = "(SELECT process || ':' || event FROM order_op WHERE op IN (12, 13) AND event <> 0)"
RULES = {
    "copy": f"bytes >= 4096 OR process IN {IMPORTERS}",
    "order_op": f"process IN {IMPORTERS} OR process || ':' || event IN {SHARED_EVENTS} "
                "OR op IN (9, 10, 11, 12, 13)",
    "memory": "op IN (2, 3, 4, 5, 6, 7, 8) OR bytes >= 1048576",
}


def thin(database):
    # What is kept is decided on the whole recording, before anything goes.
    for table, rule in RULES.items():
        database.execute(f"CREATE TEMP TABLE gone_{table} AS SELECT rowid AS id FROM {table} WHERE NOT ({rule})")
    database.execute("CREATE TABLE thinned (name TEXT, rows INTEGER, kept INTEGER, rule TEXT)")
    for table, rule in RULES.items():
        rows, = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        database.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT id FROM gone_{table})")
        kept, = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        database.execute("INSERT INTO thinned VALUES (?, ?, ?, ?)", (table, rows, kept, " ".join(rule.split())))
        print(f"{table}: {kept} of {rows} rows kept")
    database.commit()
    database.execute("VACUUM")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest(root, name, files):
    lines = [f"{sha256(root / f)}  {f}\n" for f in sorted(files)]
    (root / name).write_text("".join(lines))


def close(root):
    payload = [p.relative_to(root).as_posix() for p in (root / "data").rglob("*") if p.is_file()]
    size = sum((root / f).stat().st_size for f in payload)
    info = [line for line in (root / "bag-info.txt").read_text().splitlines() if not line.startswith("Payload-Oxum")]
    (root / "bag-info.txt").write_text("\n".join([*info, f"Payload-Oxum: {size}.{len(payload)}"]) + "\n")
    manifest(root, "manifest-sha256.txt", payload)
    tags = [p.name for p in root.iterdir() if p.is_file() and p.name != "tagmanifest-sha256.txt"]
    manifest(root, "tagmanifest-sha256.txt", tags)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if target.exists():
        sys.exit(f"{target} exists already; name a folder that does not")
    shutil.copytree(source, target)
    with sqlite3.connect(target / "data/recording.sqlite") as database:
        thin(database)
    database.close()
    close(target)


if __name__ == "__main__":
    main()
