#include "tests/cli/program.h"

#include "audit/selftest/scratch.h"
#include "schema/shell_word.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

namespace hitproof::cli::testing {

std::string file_contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::string squeezed(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

Ran run_shell(const std::string& command, const std::string& folder) {
  const audit::selftest::ScratchDir streams("hitproof-run");
  const std::string script = streams.path() + "/run.sh";
  std::ofstream(script) << "PATH=\"" HITPROOF_BIN_DIR ":$PATH\"\nexport PATH\n"
                        << (folder.empty() ? ""
                                           : "cd " + schema::shell_word(folder) + " || exit 99\n")
                        << command << "\n";
  const std::string out = streams.path() + "/out", err = streams.path() + "/err";
  const int status =
      std::system(("/bin/sh " + script + " >" + out + " 2>" + err + " </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_contents(out), file_contents(err)};
}

bool has_program(const std::string& name) {
  return run_shell("command -v " + name + " >/dev/null").exit == 0;
}

} // namespace hitproof::cli::testing
