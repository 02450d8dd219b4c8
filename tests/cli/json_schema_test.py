"""What the program prints with --json against docs/json, by an independent validator of JSON Schema (jsonschema, PyPI).

Usage: json_schema_test.py --hitproof PROGRAM --worlds audit_small_world --schemas docs/json
Exit status 77: jsonschema is not on this machine (pip install jsonschema).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource
except ImportError as error:
    print(f"skipped: {error.name} is not here; pip install jsonschema (4.18 or later)")
    sys.exit(77)


def documents(hitproof, folder):
    good, other = f"{folder}/good", f"{folder}/other"
    key = f"{folder}/lab.key"
    yield "keygen", ["keygen", "--out", key]
    yield "audit", ["audit", good]
    yield "audit", ["audit", "--sql", "waits"]
    yield "verify", ["verify", good]
    yield "inspect", ["inspect", good]
    yield "sign", ["sign", good, "--key", key]
    yield "diff", ["diff", good, other]
    yield "export", ["export", good, other]
    yield "export", ["export", good, "--format", "csv", "--out", f"{folder}/tables"]
    yield "merge", ["merge", good, other, "--audit", "--out", f"{folder}/fleet.sqlite"]
    yield "selftest", ["selftest", "--only", "keys"]
    yield "selftest", ["selftest", "--list"]
    yield "completion", ["completion", "fish"]
    yield "help", ["help"]
    yield "run", ["run", "--out", f"{folder}/recorded", "--", "true"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("hitproof", "worlds", "schemas"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    schemas = {}
    for path in sorted(pathlib.Path(arguments.schemas).glob("*.schema.json")):
        schema = json.loads(path.read_text())
        Draft202012Validator.check_schema(schema)
        schemas[schema["$id"]] = schema
    registry = Registry().with_resources((name, Resource.from_contents(s)) for name, s in schemas.items())
    seen = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("good", "other"):
            subprocess.run([arguments.worlds, f"{folder}/{name}"], check=True, stdout=subprocess.DEVNULL)
        for name, words in documents(arguments.hitproof, folder):
            done = subprocess.run([arguments.hitproof, words[0], "--json", *words[1:]], stdout=subprocess.PIPE, check=False)
            document = json.loads(done.stdout)
            validator = Draft202012Validator(schemas[f"urn:hitproof:json:{name}"], registry=registry)
            for error in validator.iter_errors(document):
                print(f"{' '.join(words)}: {error.json_path}: {error.message[:200]}")
                wrong += 1
            # The control: a document without one of its keys must be refused.
            document.pop(next(iter(document)))
            if validator.is_valid(document):
                print(f"{' '.join(words)}: a key that is lacking was not seen")
                wrong += 1
            seen += 1
    print(f"{len(schemas)} schemas are JSON Schema 2020-12; {seen} documents, {wrong} complaints")
    return 1 if wrong or seen < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
