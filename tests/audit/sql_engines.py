#!/usr/bin/env python3
"""Runs the rules' queries, unchanged, in other SQL engines and demands the same rows.

    sql_engines.py [--worlds AUDIT_SMALL_WORLD] [--golden TAR] [--archive DIRECTORY]... [--engines NAMES]

Engines: the sqlite3 shell, DuckDB with the archive attached, Spark SQL over the exported tables. Worlds: the
good small study, the auditor's mutations of it (piled up as far as each still shows; harmless ones must not),
the golden archive, a mutation of that, and any archive named. A mutation's violation must be among the rows of
every engine. Exit code 0 all engines agree, 1 they do not or a control is missing, 77 an engine is missing.
"""
import argparse
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time

import sql_engine_kinds as kinds

RULES = pathlib.Path(__file__).resolve().parents[2] / "audit" / "rules"
GOLDEN_CONTROL = ("pages", "page_not_copied",
                  "DELETE FROM copy WHERE entry = 3 AND transfer = "
                  "(SELECT MIN(transfer) FROM transfer WHERE direction = 1)")
# The auditor first sets aside transfers of engines that were not recorded, which no query does.
AUDITOR_ONLY = {"waits_harmless_save_of_an_engine_that_is_not_recorded"}


def queries_of(rule):
    return [f.stem for f in sorted(RULES.glob("*.sql")) if f.stem.split("_")[0] == rule]


def text_of(query):
    return (RULES / f"{query}.sql").read_text()


def change(world, sql, arm="candidate"):
    file = kinds.control(world) if arm == "control" else kinds.recording(world)
    connection = sqlite3.connect(file)
    try:
        connection.executescript(sql)
    finally:
        connection.close()


def violations(world, rule):
    """What SQLite finds, in this process: decides which mutations may be piled up."""
    connection = sqlite3.connect(kinds.recording(world))
    connection.execute("ATTACH ? AS reference", (str(kinds.control(world)),))
    found = {row[0] for query in queries_of(rule) if query != "pages_moved"
             for row in connection.execute(text_of(query))}
    connection.close()
    return found


def piles(good, mutations, folder):
    """Worlds per rule in which every piled violation shows: (name, folder, rule, violations)."""
    for rule in sorted({m[1] for m in mutations}):
        left = [m for m in mutations if m[1] == rule]
        number = 0
        while left:
            pile, shown, later = folder / f"{rule}-{number}", set(), []
            shutil.copytree(good, pile)
            for mutation in left:
                _, _, violation, arm, sql = mutation
                trial = folder / "trial"
                shutil.copytree(pile, trial)
                try:
                    change(trial, sql, arm)
                except sqlite3.IntegrityError:  # it takes rows for granted that an earlier one deleted
                    violation = "nothing applied"
                expected = shown | ({violation} - {"-"})
                found = violations(trial, rule)
                if found >= expected and (violation != "-" or found == violations(pile, rule)):
                    shutil.rmtree(pile)
                    trial.rename(pile)
                    shown = expected
                else:
                    shutil.rmtree(trial)
                    later.append(mutation)
            if len(later) == len(left):
                texts = "".join(map(text_of, queries_of(rule)))
                for name, _, violation, _, _ in later:
                    # What the auditor finds outside its queries (plans, missing inputs) is no matter of SQL.
                    if violation == "-" or f"'{violation}'" in texts:
                        raise SystemExit(f"{name}: SQLite does not answer '{violation}'")
                shutil.rmtree(pile)
                break
            yield pile.name, pile, rule, shown
            left, number = later, number + 1


def first_difference(expected, found):
    """None, or the first row that one side has and the other has not."""
    for side, here, there in (("lacks", expected, found), ("adds", found, expected)):
        rest = list(there)
        for row in here:
            if row in rest:
                rest.remove(row)
            else:
                return f"{side} {row}"
    return None


def written(row):
    """A row as text: 1, 1.0 and '1' differ. The sqlite3 shell prints a float's first 15 digits."""
    return repr(tuple(float(f"{value:.14g}") if isinstance(value, float) else value for value in row))


class Comparison:
    def __init__(self, engines):
        self.engines, self.failures, self.compared, self.rows = engines, 0, 0, 0

    def complain(self, words):
        print("DIFFERENT:", words, flush=True)
        self.failures += 1

    def run(self, name, world, queries, shown=()):
        """Every query in every engine; `shown` are violations that each engine must list."""
        has_control = kinds.control(world).exists()
        queries = [q for q in queries if has_control or not q.endswith("_arms")]
        answers, seconds = {}, []
        for engine in self.engines:
            began = time.monotonic()
            engine.open(world)
            answers[engine.name] = {}
            for query in queries:
                try:
                    rows = sorted(map(written, engine.rows(text_of(query))))
                except Exception as error:  # an engine that cannot run a query is the finding
                    rows = None
                    reason = " ".join(str(error).split())[:600]
                    self.complain(f"{engine.name} cannot run {query}.sql over {name}: {reason}")
                answers[engine.name][query] = rows
            engine.close()
            seconds.append(f"{time.monotonic() - began:.0f} s")
        first = self.engines[0].name
        for query in queries:
            expected = answers[first][query]
            self.rows += len(expected or [])
            for engine in self.engines[1:]:
                found = answers[engine.name][query]
                self.compared += 1
                if expected is None or found is None or expected == found:
                    continue
                self.complain(f"{query}.sql over {name}: {engine.name} has {len(found)} rows, {first} "
                              f"{len(expected)}; {engine.name} {first_difference(expected, found)}")
        for engine in self.engines:
            listed = " ".join(row for rows in answers[engine.name].values() for row in rows or [])
            for violation in sorted(v for v in shown if f"('{v}'," not in listed):
                self.complain(f"control over {name}: {engine.name} does not list '{violation}'")
        counts = ", ".join(f"{q} {len(answers[first][q] or [])}" for q in queries)
        print(f"{name}: {counts} ({', '.join(seconds)})", flush=True)


def unpack(golden, folder):
    # Filters came to Python with security releases: 3.11.4, for one, but not 3.11.2.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(golden) as tar:
        tar.extractall(folder, **safely)
    found = next(folder.rglob("data/recording.sqlite"))
    return found.parents[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", help="the program audit_small_world of this build")
    parser.add_argument("--golden", help="a packed archive")
    parser.add_argument("--archive", action="append", default=[], help="an archive's directory")
    parser.add_argument("--engines", default="sqlite,duckdb,spark", help="those to compare")
    arguments = parser.parse_args()
    every_query = sorted(f.stem for f in RULES.glob("*.sql"))
    assert first_difference(["a", "a"], ["a"]) and not first_difference(["a"], ["a"])

    engines, missing = [], []
    for name in arguments.engines.split(","):
        try:
            engines.append(kinds.KINDS[name]())
        except kinds.Missing as reason:
            missing.append(f"{name} is missing: {reason}")
    print("engines:", ", ".join(f"{e.name} {e.version}" for e in engines), flush=True)
    for line in missing:
        print(line)
    if len(engines) < 2:
        print("fewer than two engines: nothing to compare")
        return 77

    comparison = Comparison(engines)
    with tempfile.TemporaryDirectory(prefix="hitproof-sql-") as scratch:
        scratch = pathlib.Path(scratch)
        for archive in arguments.archive:
            comparison.run(archive, pathlib.Path(archive), every_query)
        if arguments.worlds:
            good = scratch / "good"
            good.mkdir()
            subprocess.run([arguments.worlds, str(good)], check=True)
            listing = subprocess.run([arguments.worlds, "--mutations"], check=True,
                                     capture_output=True, text=True).stdout
            mutations = [line.split("\t") for line in listing.splitlines()]
            mutations = [m for m in mutations if m[0] not in AUDITOR_ONLY]
            comparison.run("good small study", good, every_query)
            for name, world, rule, shown in piles(good, mutations, scratch):
                comparison.run(name, world, queries_of(rule), shown)
                shutil.rmtree(world)
        if arguments.golden:
            golden = unpack(arguments.golden, scratch / "golden")
            comparison.run("golden archive", golden, every_query)
            rule, violation, sql = GOLDEN_CONTROL
            change(golden, sql)
            comparison.run("golden archive without a copy", golden, queries_of(rule), {violation})
        for engine in engines:
            engine.stop()
    print(f"{comparison.compared} comparisons, {comparison.rows} rows of {engines[0].name}, "
          f"{comparison.failures} differences")
    if comparison.failures:
        return 1
    return 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
