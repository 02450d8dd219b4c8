#include "cli/manual/texts.h"

#include "cli/command.h"

namespace hitproof::cli::manual {

const std::vector<ExitText>& exit_texts() {
  static const std::vector<ExitText> list = {
      {exit_pass, "pass",
       "What was asked for holds: every rule that had a subject passed, every file is the one that "
       "was written, two archives are equal, the export is there."},
      {exit_finding, "finding",
       "At least one rule found a violation, two archives differ, or the auditor missed a change "
       "that was made on purpose."},
      {exit_usage, "usage or environment",
       "Wrong use, or the machine does not allow what was asked for: a folder that is no archive, "
       "a "
       "file that cannot be written, a device or a program that is not there."},
      {exit_inconclusive, "inconclusive",
       "Nothing wrong was seen, but not enough was seen either: no observations, a recording that "
       "was never closed, a study that did not reach its end."},
      {exit_damaged, "archive damaged",
       "The archive is not what was written; the message names the file."},
  };
  return list;
}

std::string exit_line() {
  std::string line = "Exit codes: ";
  for (const ExitText& exit : exit_texts())
    line += (exit.code == 0 ? "" : ", ") + std::to_string(exit.code) + " " + exit.name;
  return line + ".";
}

const char* exit_note() {
  return "hitproof run hands on the exit code of the program that it runs (128 and the signal's "
         "number where a signal ended it), and 2 where it could not be run or recorded. Every "
         "message about a problem goes to stderr and is followed by a line that says what to do.";
}

const std::vector<VariableText>& variables() {
  static const std::vector<VariableText> list = {
      {"HITPROOF_KEY", "Private key of hitproof sign where --key is not given."},
      {"HITPROOF_DUCKDB",
       "DuckDB's command line, or a Python with the module duckdb, for --format parquet; without "
       "it duckdb and python3 are tried."},
      {"HITPROOF_NCCL",
       "File of NCCL for --collectives nccl; without it the loader's, then the one beside torch."},
      {"HITPROOF_SIM_DIR", "Folder of the simulated CUDA libraries; without it ../lib/hitproof/sim "
                           "beside the program."},
      {"HITPROOF_SIM_MEMORY",
       "Memory of the simulated device in bytes; K, M and G may follow. 8G without it."},
      {"HITPROOF_SIM_SEED",
       "Number by which the simulated device chooses among legal orders of work; 0 keeps the order "
       "of submission. Without it, that of the study."},
      {"NO_COLOR", "Set to anything: no colours on a terminal. Elsewhere there are none."},
      {"PATH", "Where the program of hitproof run is looked for."},
      {"SQLITE_TMPDIR",
       "Folder for the temporary tables of an audit; without it TMPDIR, then /var/tmp."},
      {"TMPDIR", "Folder for temporary files where SQLITE_TMPDIR is not set."},
      {"LD_PRELOAD",
       "Kept: hitproof run puts the probe in front of what stands there for the program that it "
       "runs."},
  };
  return list;
}

const std::vector<VariableText>& inner_variables() {
  static const std::vector<VariableText> list = {
      {"HITPROOF_DIR", "Folder of the recording. Without it the probe stays out."},
      {"HITPROOF_PROBES", "What the probe does: see --probes."},
      {"HITPROOF_SAVE_DELAY_MS", "Delay put into every announced save: see --save-delay-ms."},
      {"HITPROOF_TAIL_EFFECT", "See --tail-effect."},
      {"HITPROOF_CUPTI", "1: count the bytes of copies by CUPTI as well: see --cross-check."},
      {"HITPROOF_FORCE_DROP",
       "Aid of the tests: the probe loses every n-th page record and counts it."},
      {"HITPROOF_SIM_BREAK", "Aid of the tests: the simulated device does one thing wrongly."},
      {"HITPROOF_SIM_AGAIN", "Marks a process that was started again on the simulated device."},
  };
  return list;
}

const std::vector<FileText>& files() {
  static const std::vector<FileText> list = {
      {"DIR/data/recording.sqlite", "The recording of an archive, an SQLite database."},
      {"DIR/data/plan.toml", "The plan of a study, hashed before its first operation."},
      {"DIR/data/reference/recording.sqlite",
       "The recording of the control arm, where there is one."},
      {"DIR/data/logs/", "Output of the recorded processes."},
      {"DIR/journal/", "What the probes wrote and the recorder has not taken over yet; a closed "
                       "archive has none."},
      {"DIR/manifest-sha256.txt", "Digests of all files below DIR/data, for sha256sum -c; with "
                                  "bagit.txt, bag-info.txt and tagmanifest-sha256.txt it makes DIR "
                                  "a BagIt bag."},
      {"DIR/ro-crate-metadata.json", "Description of the archive for research-data tools."},
      {"DIR/attestation.dsse.json", "The signed verdict, where hitproof sign put one."},
      {"../lib/hitproof/libhitproof.so", "The probe, seen from the folder of the program."},
      {"../lib/hitproof/sim/", "The simulated CUDA runtime and driver."},
  };
  return list;
}

const std::vector<ExampleText>& tour() {
  static const std::vector<ExampleText> list = {
      {"Record a program, audit what was recorded", "hitproof run --out out/mine -- ./my_server"},
      {"", "hitproof audit out/mine"},
      {"Run a study of the reference runtime on the simulated device",
       "hitproof study boundary --preset micro --out out/study"},
      {"See whether the files are those that were written", "hitproof verify out/study/candidate"},
      {"Sign the verdict, and check the signature", "hitproof keygen --out lab.key"},
      {"", "hitproof sign out/study/candidate --key lab.key"},
      {"", "hitproof verify out/study/candidate --key lab.key.pub"},
      {"One page for people, tables for a paper",
       "hitproof export out/study/candidate --format html --out report"},
      {"", "hitproof export out/study/candidate --format latex --out tables"},
  };
  return list;
}

const std::vector<std::string>& opening() {
  static const std::vector<std::string> list = {
      "A cache hit in LLM serving can move every byte and still resume from the wrong state. "
      "hitproof is preloaded into the serving processes, watches what moves between host and "
      "device, and writes down what it saw into an archive; its auditor, which needs no GPU, "
      "recomputes every verdict from the archive's records.",
      "Results go to stdout, talk and progress to stderr. The last line of a result is a verdict "
      "in plain words, then the next command to type. Progress is drawn as a bar on a terminal "
      "alone; elsewhere a plain line comes at most every ten seconds, and none with --quiet. With "
      "--json stdout holds one JSON document and nothing else; docs/json has the schemas.",
  };
  return list;
}

} // namespace hitproof::cli::manual
