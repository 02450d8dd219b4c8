#!/usr/bin/env python3
"""The before-matrix: an audit of a study with full lookup against the figures of docs/studies.md.

    full_lookup.py AUDIT_JSON DESCRIBE_JSON

AUDIT_JSON: of `hitproof study boundary --lookup full --json` over the nine lengths. DESCRIBE_JSON: of
`hitproof-engine describe` for the same preset. Exit code 0: 19 chunks loaded, by rows and bytes, and B = p
refuted at the exact multiples of C and nowhere else; 1: not so, with what was found.
"""
import json
import pathlib
import sys

CHUNKS, RELOADS = 19, 9
ROWS = 3480
PAPER_BYTES = 2565795840  # the paper's own total


def figures(audit, described):
    """(what, wanted, found) of each figure."""
    ranks, interval = described["tp"], described["checkpoint"]
    matrix = audit["boundary_matrix"]
    wanted_bytes = ranks * (CHUNKS * described["attention_bytes_per_chunk"] +
                            RELOADS * described["state_and_tail_bytes"])
    yield "reloads", RELOADS, len(matrix)
    yield "chunks", CHUNKS, sum(row["chunks"] for row in matrix)
    yield "rows loaded", ROWS, sum(sum(row["h2d_rows"]) for row in matrix)
    yield "bytes loaded, by length", wanted_bytes, sum(sum(row["h2d_bytes"]) for row in matrix)
    yield "bytes loaded", wanted_bytes, audit["bytes"]["h2d"]
    if described["preset"] == "paper":
        yield "bytes loaded, paper", PAPER_BYTES, audit["bytes"]["h2d"]
    for row in matrix:
        n = row["prompt_tokens"]
        state = interval * (n // interval)
        yield f"B at {n}", state, row["label"]
        yield f"p at {n}", min(state, n - 1), row["computed"]
        yield f"B = p at {n}", n % interval != 0, row["aligned"]
        if n % interval != 0:
            yield f"first wrong token at {n}", None, row["first_difference"]
    yield "page mismatches", 0, audit["pages"]["mismatches"]
    for rule, verdict in {"boundary": "fail", "pages": "pass", "evidence": "pass"}.items():
        yield f"rule {rule}", verdict, audit[rule]["verdict"]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    audit, described = (json.loads(pathlib.Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    wrong = 0
    for what, wanted, found in figures(audit, described):
        agrees = wanted == found
        wrong += not agrees
        print(f"{what:24} {found}{'' if agrees else f', wanted {wanted}'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
