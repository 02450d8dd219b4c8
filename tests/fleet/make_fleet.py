#!/usr/bin/env python3
"""Makes a fleet of archives out of a few: each a copy with ids and times of its own, some broken on purpose.

    make_fleet.py --out DIR --count 2000 --golden tests/golden/h200-vllm-lmcache.tar.xz \\
        --golden tests/golden/h200-vllm-offloading.tar.xz --archive out/micro/candidate

Copy i is of the (i mod n)-th archive; every --plant-every'th one is of the last and gets one of the PLANTED changes,
which the auditor must refute. Prints the folders, one a line. The copies are bags as `hitproof` closes them.
"""
import argparse
import hashlib
import pathlib
import shutil
import sqlite3
import sys
import tarfile
import tempfile

# Rule, violation, change: each leaves a recording that opens and must not pass.
PLANTED = (
    ("pages", "page_not_copied", "DELETE FROM copy WHERE transfer = (SELECT MAX(transfer) FROM transfer WHERE "
                                 "direction = 1) AND entry = (SELECT MIN(entry) FROM entry WHERE kind = 0)"),
    ("pages", "content_differs", "UPDATE page_digest SET content = CAST(zeroblob(31) || x'01' AS BLOB) WHERE rowid = (SELECT "
                                 "MAX(rowid) FROM page_digest WHERE place = 0 AND moment = 1)"),
    ("boundary", "label_is_not_p", "UPDATE admission SET computed = computed + 1 WHERE request IN (SELECT request "
                                   "FROM transfer WHERE direction = 1)"),
    ("generations", "reload_differs_from_cold", "UPDATE study_token SET token = token + 1 WHERE op = (SELECT MAX(op) "
                                                "FROM study_operation WHERE kind = 'reload') AND position = 2"),
    ("waits", "ended_before_completion", "UPDATE wait SET end_ns = t_ns + 1 WHERE kind = 0"),
)
PID_COLUMNS = (("process", "parent"), ("process_exit", "pid"), ("journal_file", "pid"))


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def close_bag(folder):
    """Writes the bag files for what lies in the folder's data (schema/FORMAT.md)."""
    for name in ("ro-crate-metadata.json", "attestation.dsse.json"):
        (folder / name).unlink(missing_ok=True)  # they describe other bytes
    files = sorted(p for p in (folder / "data").rglob("*") if p.is_file())
    lines = sorted((str(p.relative_to(folder)), sha256(p)) for p in files)
    (folder / "manifest-sha256.txt").write_text("".join(f"{d}  {name}\n" for name, d in lines))
    (folder / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n")
    total = sum(p.stat().st_size for p in files)
    (folder / "bag-info.txt").write_text(f"Bagging-Date: 2026-11-30\nPayload-Oxum: {total}.{len(files)}\n"
                                         "Bag-Software-Agent: hitproof\nHitproof-Archive-Format: 1\n")
    tags = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
    (folder / "tagmanifest-sha256.txt").write_text("".join(f"{sha256(folder / t)}  {t}\n" for t in tags))


def renumber(database, i):
    """Process ids and the time of the start are another run's; everything else stays."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    tables = [n for n, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    changed = [(table, "process") for table in tables
               if any(c[1] == "process" for c in connection.execute(f'PRAGMA table_info("{table}")'))]
    for table, column in changed + [c for c in PID_COLUMNS if c[0] in tables]:
        connection.execute(f'UPDATE "{table}" SET "{column}" = "{column}" + ?', (100_000 * (i + 1),))
    connection.execute("UPDATE recording SET value = CAST(CAST(value AS INTEGER) + ? AS TEXT) "
                       "WHERE key = 'started_unix_ns'", (60_000_000_000 * (i + 1),))
    connection.execute("COMMIT")
    connection.close()


def thin(database, keep):
    """Small archives, of which thousands fit on a disk; their audit says that records are missing."""
    connection = sqlite3.connect(database, isolation_level=None)
    for table in ("order_op", "copy", "coverage", "meta", "hook"):
        connection.execute(f"DELETE FROM {table} WHERE rowid % ? <> 0", (keep,))
    connection.execute("VACUUM")
    connection.close()


def unpack(packed, folder):
    with tarfile.open(packed) as tar:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python before 3.11.4 has none
        tar.extractall(folder, **safe)
    return folder


def make(sources, out, count, plant_every):
    """Yields (folder, planted change or None)."""
    for i in range(count):
        planted = PLANTED[i // plant_every % len(PLANTED)] if plant_every and i % plant_every == plant_every - 1 else None
        source = sources[-1] if planted else sources[i % len(sources)]
        folder = out / f"{i:06d}-{planted[1] if planted else source.name}"
        shutil.copytree(source, folder)
        for database in folder.rglob("recording.sqlite"):
            renumber(database, i)
        if planted:
            connection = sqlite3.connect(folder / "data" / "recording.sqlite")
            connection.executescript(planted[2])
            connection.close()
        close_bag(folder)
        yield folder, planted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--golden", type=pathlib.Path, action="append", default=[], help="a packed archive")
    parser.add_argument("--archive", type=pathlib.Path, action="append", default=[], help="an archive's folder")
    parser.add_argument("--golden-times", type=int, default=1, help="so many of each golden one for one of the others")
    parser.add_argument("--thin", type=int, default=1, help="keep every so many-th call of the golden ones alone")
    parser.add_argument("--plant-every", type=int, default=50, help="0: none is broken")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hitproof-fleet-") as scratch:
        sources = [unpack(g, pathlib.Path(scratch) / g.name.partition(".")[0]) for g in arguments.golden]
        for source in sources:
            thin(source / "data" / "recording.sqlite", arguments.thin)
        sources *= arguments.golden_times
        for n, archive in enumerate(arguments.archive):
            copy = pathlib.Path(scratch) / f"study-{n}"
            shutil.copytree(archive, copy)
            sources.append(copy)
        if not sources:
            parser.error("name at least one --golden or --archive")
        arguments.out.mkdir(parents=True, exist_ok=True)
        for folder, _ in make(sources, arguments.out, arguments.count, arguments.plant_every):
            print(folder, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
