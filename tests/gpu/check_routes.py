#!/usr/bin/env python3
"""Runs routes by which bytes move between host and device, and holds recordings against what they did.

    check_routes.py [--only ROUTE,...] [--no-cross-check] [--jobs N] [--json] HITPROOF PROGRAM...

PROGRAM: gpu_routes or a program like it, which lists its routes when it is started alone, or a Python
script of tests/gpu/routes, which is one route. Each route runs three times:

  bare         without the probe
  recorded     by `hitproof run`: the same exit code, the same line; the recording says exactly what the
               route did, in its order; the audit names the blind paths that were used and no other
  cross-check  by `hitproof run --cross-check --probes metadata`: the same again, and rule crosscheck
               passes with CUPTI's bytes per direction equal to the route's own

N routes at a time. One line a route; --json prints a summary in place of it. Exit code 0 all routes agree, 1 one does not,
2 wrong use, 3 one could not be decided, 77 no route could run on this machine.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import route_evidence as evidence

SKIPPED, NO_LOADER = 77, 127
LIMIT_S = 180


def run(command):
    try:
        return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
    except subprocess.TimeoutExpired as stopped:
        return subprocess.CompletedProcess(command, -1, str(stopped.stdout or ""),
                                           f"it did not end in {LIMIT_S} s")


def last_words(outcome):
    lines = [line for line in outcome.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else ""


class Route:
    def __init__(self, hitproof, program, name, folder):
        script = program.suffix == ".py"
        self.name = name
        self.command = [sys.executable, program] if script else [program, name]
        self.label = name if script else f"{program.name} {name}"
        self.hitproof, self.folder = hitproof, folder
        self.problems, self.undecided, self.skipped = [], [], None
        self.lines, self.cross_check = [], None

    def status(self):
        if self.skipped is not None:
            return "skipped"
        if self.problems:
            return "differs"
        return "undecided" if self.undecided else "agrees"

    def record(self, name, options):
        """A recorded run: its lines, its database, the audit's exit code and report."""
        out = self.folder / name
        outcome = run([self.hitproof, "run", "--out", out, *options, "--", *self.command])
        found = list(out.rglob("recording.sqlite"))
        if not found:
            self.problems.append(f"{name}: no recording: {last_words(outcome)}")
            return None
        audit = run([self.hitproof, "audit", "--json", out])
        try:
            report = json.loads(audit.stdout)
        except json.JSONDecodeError:
            self.problems.append(f"{name}: no audit: {last_words(audit)}")
            return None
        lines = evidence.read_lines(outcome.stdout)
        if outcome.returncode != self.bare.returncode:
            self.problems.append(f"{name}: exit code {outcome.returncode}, without the probe "
                                 f"{self.bare.returncode}: {last_words(outcome)}")
        if [evidence.comparable(l) for l in lines] != [evidence.comparable(l) for l in self.lines]:
            self.problems.append(f"{name}: another line than without the probe: {outcome.stdout.strip()}")
        return lines, sqlite3.connect(found[0]), audit.returncode, report

    def check(self, cross_check):
        self.bare = run(self.command)
        self.lines = evidence.read_lines(self.bare.stdout)
        if self.bare.returncode == SKIPPED:
            self.skipped = last_words(self.bare).removeprefix("skipped: ")
            return
        if self.bare.returncode != 0 or not self.lines:
            self.problems.append(f"without the probe: exit code {self.bare.returncode}, {len(self.lines)} "
                                 f"ledgers: {last_words(self.bare)}")
            return
        recorded = self.record("recorded", [])
        if recorded:
            lines, database, code, report = recorded
            self.problems += evidence.differences(lines, database)
            self.problems += evidence.blind_differences(lines, report, code, database)
        if not cross_check:
            return
        recorded = self.record("cross-check", ["--cross-check", "--probes", "metadata"])
        if recorded:
            lines, database, _, report = recorded
            self.problems += evidence.differences(lines, database)
            self.cross_check = report.get("crosscheck")
            refused = evidence.sessions_refused(lines, database)
            if refused:
                self.undecided.append(refused)
            else:
                self.problems += evidence.cross_check_differences(lines, report, database)

    def sentence(self):
        moved = sum(sum(evidence.bytes_moved(line).values()) for line in self.lines)
        copies = sum(evidence.copies_made(line) for line in self.lines)
        if self.skipped is not None:
            return f"{self.label:34} skipped: {self.skipped}"
        second = "" if self.cross_check is None else f", crosscheck {self.cross_check['verdict']}"
        return (f"{self.label:34} {len(self.lines)} processes {copies:3} copies {moved:8} bytes: "
                f"{self.status()}{second}")

    def summary(self):
        ways = {way: sum(evidence.bytes_moved(line)[way] for line in self.lines)
                for way in ("h2d", "d2h", "d2d")}
        figures = self.cross_check and {key: value for key, value in self.cross_check.items()
                                        if key == "verdict" or key.startswith(("cupti_", "ledger_"))}
        return {"route": self.name, "command": [str(c) for c in self.command], "status": self.status(),
                "processes": len(self.lines), "copies": sum(map(evidence.copies_made, self.lines)),
                "bytes": ways, "crosscheck": figures, "problems": self.problems + self.undecided,
                "skipped": self.skipped}


def routes_of(program):
    """Names of a program's routes; none where it cannot even start here."""
    if program.suffix == ".py":
        return [program.stem]
    listed = run([program.resolve()])
    if listed.returncode == NO_LOADER:
        print(f"skipped: {program} does not start on this machine: {last_words(listed)}", file=sys.stderr)
        return []
    if listed.returncode != 0 or not listed.stdout.split():
        raise SystemExit(f"{program} does not list its routes: exit code {listed.returncode}, {last_words(listed)}")
    return listed.stdout.split()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--only", default="")
    parser.add_argument("--no-cross-check", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("hitproof", type=pathlib.Path)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for program in [options.hitproof, *options.programs]:
        if not program.is_file():
            parser.error(f"{program} is not there; build it, or name where it is")
    only = [name for name in options.only.split(",") if name]
    everything = [(program.resolve(), name) for program in options.programs for name in routes_of(program)]
    unknown = set(only) - {name for _, name in everything}
    if unknown and everything:
        parser.error(f"no route {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(name for _, name in everything)}")

    def checked(program_and_name):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="routes-"))
        try:
            route = Route(options.hitproof.resolve(), *program_and_name, folder)
            route.check(not options.no_cross_check)
            return route
        finally:
            shutil.rmtree(folder)

    done = []
    with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as at_a_time:
        chosen = [pair for pair in everything if not only or pair[1] in only]
        for route in at_a_time.map(checked, chosen):
            done.append(route)
            if not options.json:
                print(route.sentence(), flush=True)
                for problem in route.problems + route.undecided:
                    print(f"  {problem}", flush=True)
    if not done:
        print("skipped: no program starts on this machine, for want of a driver", file=sys.stderr)
    if options.json:
        print(json.dumps({"routes": [route.summary() for route in done]}, indent=2))
    statuses = {route.status() for route in done}
    if "differs" in statuses:
        return 1
    if "undecided" in statuses:
        return 3
    return 0 if "agrees" in statuses else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
