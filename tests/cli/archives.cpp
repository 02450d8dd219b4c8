#include "tests/cli/archives.h"

#include "schema/archive.h"
#include "tests/audit/fixture.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hitproof::cli::testing {

namespace fs = std::filesystem;
using namespace audit::testing;

std::map<std::string, std::string> make_archives(const std::string& root) {
  std::map<std::string, std::string> made;
  const auto folder = [&](const char* name) {
    const std::string path = root + "/" + name;
    fs::create_directories(path);
    made[name] = path;
    return path;
  };
  const auto changed = [&](const char* name, const char* sql) {
    const std::string path = folder(name);
    copy_good_study(path);
    if (*sql) change(path, sql);
    if (const auto s = schema::close_archive(path); !s.ok())
      throw std::runtime_error(s.status().to_string());
    return path;
  };
  changed("good", "");
  changed("short",
          "UPDATE copy SET bytes = bytes - 32 WHERE entry = 3 AND direction = 1; UPDATE "
          "page_poison SET "
          "residue_bytes = 32, residue_content = 32, first_residue = 57312 WHERE entry = 3");
  changed("newer", "UPDATE recording SET value = '99' WHERE key = 'format_version'");
  changed("escape",
          "UPDATE entry SET name = CAST(x'1b5b324a' AS TEXT); DELETE FROM copy WHERE entry = 3");

  write_archive(folder("again"), small_spec());
  StudySpec full = small_spec();
  full.full_lookup = true;
  write_archive(folder("full"), full);
  StudySpec metadata = small_spec();
  metadata.content_probes = metadata.delays = false;
  write_archive(folder("metadata"), metadata);

  const std::string open = folder("open");
  copy_good_study(open);
  change(open, "UPDATE recording SET value = '0' WHERE key = 'closed'");
  for (const char* file :
       {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"}) {
    fs::remove(open + "/" + file);
  }
  const std::string damaged = folder("damaged");
  copy_good_study(damaged);
  std::ofstream(damaged + "/data/plan.toml", std::ios::app) << "tokens = 65\n";
  const std::string lost = folder("lost");
  copy_good_study(lost);
  fs::remove(lost + "/data/recording.sqlite");
  const std::string garbage = folder("garbage");
  fs::create_directories(garbage + "/data");
  std::ofstream(garbage + "/data/recording.sqlite") << std::string(50000, 'x');
  return made;
}

} // namespace hitproof::cli::testing
