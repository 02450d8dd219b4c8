"""One archive of a fleet, opened in an embedded SQL engine under the names that the rules' queries use.

The partitions are those of `hitproof export --format parquet`. Files are read through pyarrow, so that a folder may
lie on this machine's disk, on one that a cluster's nodes share, or behind any address that pyarrow knows (hdfs://,
s3://, gs://). The control arm's tables are in the schema `reference`.
"""
import sqlite3

import pyarrow.fs
import pyarrow.parquet

SQLITE_TYPES = {"int64": "INTEGER", "double": "REAL", "string": "TEXT", "binary": "BLOB"}


class Partitions:
    """The folder of an export, with its manifest."""

    def __init__(self, root, manifest):
        self.files, self.root = pyarrow.fs.FileSystem.from_uri(root) if "://" in root else (
            pyarrow.fs.LocalFileSystem(), root)
        self.manifest = manifest

    def table(self, name, archive):
        """The rows of an archive in one table; None where it has none."""
        path = f"{self.root}/{name}/archive={archive}/part.parquet"
        try:
            with self.files.open_input_file(path) as file:
                return pyarrow.parquet.ParquetFile(file).read()
        except FileNotFoundError:
            return None

    def facts(self, name, archive):
        found = self.table(name, archive)
        return found.to_pylist() if found is not None else []


class World:
    """Common to the engines: what an archive has, loaded table by table."""

    def __init__(self, partitions, archive):
        rows = partitions.facts("fleet_archive", archive)
        if not rows:
            raise LookupError(f"archive {archive} is not whole: run the export again")
        self.archive = rows[0]
        self.problems = partitions.facts("fleet_problem", archive)
        self.without_path = [row["transfer"] for row in partitions.facts("fleet_path", archive)]
        self.carried = {row["rule"]: row for row in partitions.facts("fleet_verdict", archive)}
        self.carried_findings = partitions.facts("fleet_finding", archive)
        for entry in partitions.facts("fleet_table", archive):
            name, control = entry["name"], bool(entry["control"])
            rows = partitions.table(("reference_" if control else "") + name, archive) if entry["rows"] else None
            if entry["rows"] and (rows is None or rows.num_rows != entry["rows"]):
                raise LookupError(f"archive {archive}: {entry['rows']} rows of table {name} were exported, "
                                  f"{0 if rows is None else rows.num_rows} are there")
            if rows is None:
                rows = empty_table(entry["columns"].split(), partitions.manifest["tables"].get(name, []))
            self.hold(name, control, rows)

    def set_aside(self, table, condition):
        """Only rows that fulfil the condition are seen from now on."""
        self.execute(f"ALTER TABLE {table} RENAME TO {table}_of_everyone")
        self.execute(f"CREATE VIEW {table} AS SELECT * FROM {table}_of_everyone WHERE {condition}")

    def bring_back(self, table):
        self.execute(f"DROP VIEW {table}")
        self.execute(f"ALTER TABLE {table}_of_everyone RENAME TO {table}")


def empty_table(names, described):
    """A table without rows has no file, but queries name its columns."""
    kinds = {"INTEGER": pyarrow.int64(), "REAL": pyarrow.float64(), "BLOB": pyarrow.binary()}
    types = {column["name"]: kinds.get(column["type"], pyarrow.string()) for column in described}
    return pyarrow.table({name: pyarrow.array([], types.get(name, pyarrow.string())) for name in names})


class SqliteWorld(World):
    """The engine of the auditor itself; part of every Python."""

    def __init__(self, partitions, archive):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.execute("ATTACH ':memory:' AS reference")
        super().__init__(partitions, archive)

    def hold(self, name, control, table):
        place = f'{"reference" if control else "main"}."{name}"'
        columns = ", ".join(f'"{field.name}" {SQLITE_TYPES[str(field.type)]}' for field in table.schema)
        self.connection.execute(f"CREATE TABLE {place} ({columns})")
        if table.num_rows:
            marks = ", ".join("?" for _ in table.column_names)
            rows = zip(*(column.to_pylist() for column in table.columns))
            self.connection.executemany(f"INSERT INTO {place} VALUES ({marks})", rows)

    def execute(self, sql):
        self.connection.execute(sql)

    def rows(self, sql):
        return self.connection.execute(sql).fetchall()

    def close(self):
        self.connection.close()


class DuckDbWorld(World):
    """DuckDB, for archives of many records."""

    def __init__(self, partitions, archive):
        import duckdb
        self.connection = duckdb.connect()
        # An archive is a task; the machine's cores are shared out among tasks.
        self.connection.execute("SET threads = 1; ATTACH ':memory:' AS reference")
        super().__init__(partitions, archive)

    def hold(self, name, control, table):
        self.connection.register("held", table)
        place = f'{"reference.main." if control else ""}"{name}"'
        self.connection.execute(f"CREATE TABLE {place} AS SELECT * FROM held")
        self.connection.unregister("held")

    def execute(self, sql):
        self.connection.execute(sql)

    def rows(self, sql):
        return self.connection.execute(sql).fetchall()

    def close(self):
        self.connection.close()


ENGINES = {"sqlite": SqliteWorld, "duckdb": DuckDbWorld}
