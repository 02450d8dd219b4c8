#include "cli/recovery.h"

#include "cli/command.h"
#include "schema/drain.h"

#include <cstdio>

namespace hitproof::cli {

void recover_leftovers(const std::string& dir, bool quiet) {
  if (!schema::has_leftovers(dir)) return;
  const auto recovered = schema::open_recovered(dir);
  if (quiet) return;
  if (recovered.ok())
    std::fprintf(stderr, "hitproof: %s was never closed; its journals were recovered\n",
                 dir.c_str());
  else
    complain("the journals of " + dir + " could not be recovered: " + recovered.status().message(),
             "hitproof inspect " + dir + " shows what the recording holds without them");
}

} // namespace hitproof::cli
