// hitproof completion: what makes the tab key know the commands.
#include "cli/command.h"
#include "cli/manual/manual.h"
#include "cli/plain_json.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace hitproof::cli {
namespace {

struct CompletionCommand : Command {
  const CLI::App* program = nullptr;
  std::string shell;

  const char* name() const override { return "completion"; }
  const char* summary() const override {
    return "Print what completes this command line in bash, zsh or fish";
  }
  const char* examples() const override {
    return "  source <(hitproof completion bash)\n"
           "  hitproof completion zsh > ~/.zfunc/_hitproof\n"
           "  hitproof completion fish > ~/.config/fish/completions/hitproof.fish\n";
  }
  void add(CLI::App& app) override {
    program = app.get_parent();
    app.add_option("SHELL", shell, "The shell")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->required();
  }

  int run() override {
    const manual::CommandText all = manual::read_command(*program);
    const std::string script = shell == "bash"  ? manual::bash_completion(all)
                               : shell == "zsh" ? manual::zsh_completion(all)
                                                : manual::fish_completion(all);
    if (common.json)
      std::cout << plain_json({{"shell", shell}, {"script", script}});
    else
      std::cout << script;
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }

} // namespace hitproof::cli
