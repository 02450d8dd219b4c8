#!/usr/bin/env python3
"""Audits thousands of archives with the auditor's own rule files, on a Spark cluster or on one machine.

    spark-submit audit/fleet/audit_fleet.py FLEET             # the cluster that spark-submit is set up for
    python3 audit/fleet/audit_fleet.py FLEET                  # Spark on this machine
    python3 audit/fleet/audit_fleet.py FLEET --local 8        # no Spark: eight processes
    python3 audit/fleet/audit_fleet.py FLEET --compare        # beside the local auditor's answers

FLEET is the folder that `hitproof export --format parquet` wrote: a path that every node of the cluster sees, or an
address that pyarrow knows (hdfs://, s3://, gs://). Each archive is a task of its own: a worker opens its tables in an
embedded engine and runs audit/rules/*.sql there, unchanged. Exit codes: 0 every archive passes (with --compare: every
answer is the local auditor's), 1 a finding (or a difference), 2 usage, environment or an archive that cannot be read,
3 inconclusive.
"""
import argparse
import collections
import functools
import hashlib
import json
import multiprocessing
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
MOST_SHOWN = 20
MOST_TASKS_A_CORE = 8


class Refused(Exception):
    """The text says what is wrong and what to do."""


def opened(root):
    import pyarrow.fs
    return pyarrow.fs.FileSystem.from_uri(root) if "://" in root else (pyarrow.fs.LocalFileSystem(), root)


def whole_archives(arguments):
    """Ids, in order; one listing, whatever the file system."""
    import pyarrow.fs
    files, path = opened(arguments.fleet)
    found = files.get_file_info(pyarrow.fs.FileSelector(f"{path}/fleet_archive", recursive=True))
    ids = sorted(f.path.split("/")[-2].partition("=")[2] for f in found if f.path.endswith("/part.parquet"))
    return [i for i in ids if i in arguments.archive] if arguments.archive else ids


def read_manifest(root):
    files, path = opened(root)
    try:
        with files.open_input_file(f"{path}/_hitproof.json") as file:
            manifest = json.loads(file.read().decode())
    except (OSError, ValueError) as error:
        raise Refused(f"{root}: no fleet there ({error}); make one: hitproof export ... --format parquet --out "
                      f"{root}") from error
    if manifest["format"] > 1:
        raise Refused(f"{root}: format {manifest['format']} is newer than this program; use a newer one")
    return manifest


def read_queries(folder, manifest):
    """The texts of the rule files. Those of another version than the exporting program's would answer for
    verdicts that it did not give."""
    queries = {}
    for rule in manifest["rules"]:
        for query, digest in rule["queries"].items():
            path = folder / f"{query}.sql"
            try:
                text = path.read_bytes()
            except OSError as error:
                raise Refused(f"{path}: {error.strerror}; name the folder of the rule files with --rules") from error
            if hashlib.sha256(text).hexdigest() != digest:
                raise Refused(f"{path} is not the file that the exporting program was built with; use the rule files "
                              "of its version (--rules), or export again")
            queries[query] = text.decode()
    return queries


def audit_ids(root, manifest, queries, engine, archives):
    """Runs on the workers: ids in, answers as JSON out."""
    from answer import audit_archive
    from world import Partitions
    partitions = Partitions(root, manifest)
    for archive in archives:
        yield json.dumps(audit_archive(partitions, queries, engine, archive))


def with_spark(arguments, manifest, queries):
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as error:
        raise Refused("PySpark is not here: run this with spark-submit, or pip install pyspark (and a Java runtime of "
                      "at least 17), or audit on this machine alone with --local") from error
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # not by spark-submit: the workers are on this machine
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        context = SparkContext.getOrCreate(SparkConf().setAppName("hitproof fleet"))
    except Exception as error:  # no Java, a wrong one, a cluster that cannot be reached
        raise Refused(f"Spark does not start ({' '.join(str(error).split())[:200]}): it needs a Java runtime of at "
                      "least 17, for example apt install default-jre-headless; or use --local") from error
    for module in ("judge", "world", "answer"):
        context.addPyFile(str(HERE / f"{module}.py"))
    ids = whole_archives(arguments)
    tasks = arguments.tasks or min(len(ids), context.defaultParallelism * MOST_TASKS_A_CORE)
    work = functools.partial(audit_ids, arguments.fleet, manifest, queries, arguments.engine)
    # Not a data frame: mapInArrow and its like want pandas on every node, and nothing here needs it.
    answers = context.parallelize(ids, max(1, tasks)).mapPartitions(work)
    if arguments.out:  # answers of any number of archives, written where they are made
        answers.saveAsTextFile(arguments.out)
        answers = context.textFile(arguments.out).toLocalIterator()
    else:
        answers = answers.collect()
    for answer in answers:
        yield json.loads(answer)
    context.stop()


def in_processes(arguments, manifest, queries):
    from answer import audit_archive
    from world import Partitions
    partitions = Partitions(arguments.fleet, manifest)
    archives = whole_archives(arguments)
    work = functools.partial(audit_archive, partitions, queries, arguments.engine)
    # Not fork: pyarrow and DuckDB have threads of their own.
    with multiprocessing.get_context("spawn").Pool(arguments.local) as pool:
        yield from pool.imap_unordered(work, archives, chunksize=4)


class Summary:
    """What is said of a fleet, kept small whatever its size."""

    def __init__(self):
        self.verdicts, self.rules = collections.Counter(), collections.defaultdict(collections.Counter)
        self.archives = self.rows = self.errors = self.different = self.compared = 0
        self.seconds, self.processor_seconds, self.wall, self.shown = 0.0, 0.0, 0.0, []

    def add(self, answer):
        self.archives += 1
        self.seconds += answer["seconds"]
        self.processor_seconds += answer["processor_seconds"]
        if "error" in answer:
            self.errors += 1
            self.show(f"{answer['archive']}: {answer['error']}")
            return
        self.rows += answer["rows"]
        self.verdicts[answer["verdict"]] += 1
        for rule in answer["rules"]:
            self.rules[rule["name"]][rule["verdict"]] += 1
        if answer["verdict"] == "fail":
            kinds = [f"{r['name']}/{v}" for r in answer["rules"] for v, effect, _ in r["findings"] if effect == "fail"]
            self.show(f"{answer['archive']} ({answer['path']}) fails: {', '.join(sorted(set(kinds)))}")
        if answer["local"] is not None:
            self.compared += 1
            self.different += bool(answer["differences"])
            for line in answer["differences"]:
                self.show(f"DIFFERENT {answer['archive']} ({answer['path']}): {line}")

    def show(self, line):
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(line)

    def exit_code(self, compare):
        if self.errors or self.archives == 0 or (compare and self.compared < self.archives):
            return 2
        if compare:
            return 1 if self.different else 0
        return 1 if self.verdicts["fail"] else 3 if self.verdicts["inconclusive"] else 0

    def document(self):
        return {"archives": self.archives, "rows": self.rows, "verdicts": dict(self.verdicts),
                "rules": {name: dict(counts) for name, counts in self.rules.items()},
                "cannot_be_read": self.errors, "compared": self.compared, "different": self.different,
                "seconds_in_workers": round(self.seconds, 2),
                "processor_seconds_in_workers": round(self.processor_seconds, 2), "seconds": round(self.wall, 2), "shown": self.shown}

    def text(self, compare):
        lines = [f"{self.archives} archives, {self.rows} rows, {self.wall:.1f} s: "
                 + (", ".join(f"{v} {n}" for v, n in sorted(self.verdicts.items())) or "no verdict")]
        for name, counts in self.rules.items():
            lines.append(f"  {name:12s} " + ", ".join(f"{v} {n}" for v, n in sorted(counts.items())))
        lines += self.shown
        if self.errors:
            lines.append(f"{self.errors} archives cannot be read: run the export again")
        if compare and self.compared < self.archives:
            lines.append(f"{self.archives - self.compared} archives carry no local verdict: export them with --audit")
        if compare:
            lines.append(f"{'PASS' if self.exit_code(True) == 0 else 'FAIL'}: compared with the local auditor: "
                         f"{self.compared - self.different} equal, {self.different} different")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fleet", help="folder of an export with --format parquet")
    parser.add_argument("--rules", type=pathlib.Path, default=HERE.parent / "rules", help="folder of the rule files")
    parser.add_argument("--engine", choices=("sqlite", "duckdb"), default="sqlite",
                        help="what runs the queries in a worker: sqlite is in every Python, duckdb is a package")
    parser.add_argument("--local", type=int, metavar="N", help="no Spark: N processes on this machine")
    parser.add_argument("--tasks", type=int, help="tasks that the archives are shared out among")
    parser.add_argument("--archive", action="append", metavar="ID", help="this archive alone; may be repeated")
    parser.add_argument("--compare", action="store_true",
                        help="hold every answer against the local auditor's, which hitproof export --audit carries along")
    parser.add_argument("--out", help="with Spark: write each archive's answer to this new folder, one JSON document a line")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--answers", help="write each archive's answer to this file, one JSON document a line")
    arguments = parser.parse_args()
    began = time.monotonic()
    summary = Summary()
    try:
        manifest = read_manifest(arguments.fleet)
        queries = read_queries(arguments.rules, manifest)
        run = in_processes if arguments.local else with_spark
        lines = open(arguments.answers, "w") if arguments.answers else None
        for answer in run(arguments, manifest, queries):
            summary.add(answer)
            if lines:
                print(json.dumps(answer), file=lines)
        if lines:
            lines.close()
    except (Refused, ImportError) as error:
        print(f"audit_fleet: {error}", file=sys.stderr)
        return 2
    summary.wall = time.monotonic() - began
    print(json.dumps(summary.document(), indent=2) if arguments.json else summary.text(arguments.compare))
    return summary.exit_code(arguments.compare)


if __name__ == "__main__":
    sys.exit(main())
