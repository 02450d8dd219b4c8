#!/usr/bin/env python3
"""What the probe costs a serving run: first token and decode rate with each probe mode, in alternation.

    serving_cost.py HITPROOF [--rounds N] [--modes off,metadata,digests] [--preset P] [--device D] [--length N]

Each round runs the candidate arm once per mode, in an order that turns with the round, so that a
drift of the machine falls on all of them. From the client's own times: time to first token of the cold
and of the reloaded prompt, and the time between decoded tokens. Ratios are per round against `off` of
the same round; the table gives their median and range.
"""
import argparse
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

TIMES = ("cold first token", "reload first token", "decode step")


def times_of(database):
    """Milliseconds by name of TIMES, from one recording."""
    first = {"cold": [], "reload": []}
    steps = []
    # The first case makes what is made once: kernels are loaded, staging memory is taken.
    for op, kind, begin in database.execute(
            "SELECT op, kind, begin_ns FROM study_operation WHERE status = 'ok' AND kind <> 'reset' "
            "AND (case_index > 0 OR (SELECT MAX(case_index) FROM study_operation) = 0)"):
        tokens = [t for t, in database.execute(
            "SELECT t_ns FROM study_token WHERE op = ? ORDER BY position", (op,))]
        if kind in first:
            first[kind].append((tokens[0] - begin) / 1e6)
        # Tokens of one accepted draft arrive together: the whole span, not single gaps.
        steps.append((tokens[-1] - tokens[0]) / 1e6 / (len(tokens) - 1))
    return dict(zip(TIMES, (statistics.median(first["cold"]), statistics.median(first["reload"]),
                            statistics.median(steps))))


def run(arguments, mode, folder):
    command = [arguments.hitproof, "study", "boundary", "--preset", arguments.preset, "--device",
               arguments.device, "--lengths", arguments.length, "--arms", "candidate", "--probes", mode,
               "--save-delay-ms", "0", "--out", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = list(folder.rglob("recording.sqlite"))
    if not found:
        sys.exit(f"no recording ({mode}), exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return times_of(sqlite3.connect(found[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hitproof")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default="off,metadata,digests")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--length", default="1793,1795,1797", help="prompt tokens, a comma list")
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    if modes[0] != "off":
        parser.error("--modes begins with off: the others are compared with it")
    measured = {mode: [] for mode in modes}
    for round_number in range(arguments.rounds):
        turn = round_number % len(modes)
        for mode in modes[turn:] + modes[:turn]:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="serving-cost-"))
            try:
                measured[mode].append(run(arguments, mode, folder / "r"))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print(f"# round {round_number + 1} {mode}: " + ", ".join(
                f"{name} {measured[mode][-1][name]:.2f} ms" for name in TIMES), file=sys.stderr, flush=True)
    print(f"{'mode':<10} {'time':<20} {'median ms':>10} {'against off':>12} {'range':>18}")
    for mode in modes:
        for name in TIMES:
            ratios = [m[name] / off[name] - 1 for m, off in zip(measured[mode], measured["off"])]
            print(f"{mode:<10} {name:<20} {statistics.median(m[name] for m in measured[mode]):10.2f} "
                  f"{100 * statistics.median(ratios):+11.1f} % {100 * min(ratios):+7.1f} .. {100 * max(ratios):+5.1f} %")


if __name__ == "__main__":
    main()
