// A finished recording's directory as an evidence archive: a BagIt bag (RFC 8493) whose payload is
// everything under `data/`. Standard tools verify it too.
//
// verify_archive reads only; it needs neither GPU nor engine nor network.
#pragma once

#include "schema/status.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::schema {

enum class ArchiveProblemKind {
  not_closed,   // no complete set of bag files: the run never reached its close
  missing_file, // named by a manifest, not there
  added_file,   // in the payload, named by no manifest
  changed_file, // there, but its SHA-256 is another one
  bad_manifest, // a line or file of the bag that cannot be read as RFC 8493 says
  bad_count,    // Payload-Oxum disagrees with the payload
  newer_format, // bag or recording of a version this program does not read
  unreadable,   // the operating system refused
  leftover,     // journals that were never drained into the recording
};

const char* archive_problem_name(ArchiveProblemKind kind) noexcept; // "missing_file"

struct ArchiveProblem {
  ArchiveProblemKind kind;
  std::string file;    // relative to the archive
  std::string message; // what is wrong, in words
};

struct ArchiveInfo {
  std::uint64_t files = 0; // payload
  std::uint64_t bytes = 0;
};

// Writes bagit.txt, bag-info.txt and both manifests for what lies under `<dir>/data` and removes an
// empty journal folder. `facts` are further lines of bag-info.txt ("Hitproof-Arm", "candidate").
// Precondition: the recording is closed and no process writes there. Errors: not_found,
// invalid_argument (a link or special file in the payload), incomplete (undrained journals),
// no_space, io_error. Closing twice rewrites the bag files.
Result<ArchiveInfo>
close_archive(const std::string& dir,
              const std::vector<std::pair<std::string, std::string>>& facts = {});

// Every problem found, in order of file name; empty: intact. The Status is not ok only where `dir`
// itself cannot be read (not_found, io_error).
Result<std::vector<ArchiveProblem>> verify_archive(const std::string& dir);

// True where bagit.txt is there: the archive was closed once.
bool is_archive(const std::string& dir);

} // namespace hitproof::schema
