// hitproof keygen: a key pair to sign archives with.
#include "cli/command.h"
#include "cli/plain_json.h"
#include "schema/signing_key.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace hitproof::cli {
namespace {

struct KeygenCommand : Command {
  std::string out;

  const char* name() const override { return "keygen"; }
  const char* summary() const override { return "Make an Ed25519 key pair to sign archives with"; }
  const char* examples() const override { return "  hitproof keygen --out lab.key\n"; }
  void add(CLI::App& app) override {
    app.add_option("--out", out, "File for the private key (mode 0600); the public one gets .pub")
        ->type_name("KEY")
        ->required();
  }

  int run() override {
    const auto key = schema::SigningKey::generate();
    const schema::Status status = key.ok() ? key->write_pair(out) : key.status();
    if (!status.ok()) {
      complain(status.message(), "name another file with --out");
      return exit_usage;
    }
    if (common.json) {
      std::cout << plain_json({{"key", key->id()}, {"private", out}, {"public", out + ".pub"}});
      return exit_pass;
    }
    std::cout << "Key " << key->id() << ": private in " << out << ", public in " << out
              << ".pub.\nnext: hitproof sign out/demo/candidate --key " << out << "\n";
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_keygen_command() { return std::make_unique<KeygenCommand>(); }

} // namespace hitproof::cli
