// A finished recording's directory as an evidence archive: a BagIt bag (RFC 8493) whose payload is
// everything under `data/`. Standard tools verify it too.
//
// verify_archive reads only; it needs neither GPU nor engine nor network, and takes bounded memory
// whatever lies in the folder.
#pragma once

#include "schema/status.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::schema {

// The one file that may lie beside the bag without being named by it: a signed statement about it.
inline constexpr const char* attestation_file = "attestation.dsse.json";

enum class ArchiveProblemKind {
  not_closed,   // no bag files, or not all of them yet: the run never reached the end of its close
  missing_file, // named by a manifest or needed by the bag, not there
  added_file,   // named by no manifest
  changed_file, // there, but its SHA-256 is another one
  bad_manifest, // a line or file of the bag that cannot be read as RFC 8493 says
  bad_count,    // Payload-Oxum disagrees with the payload
  newer_format, // bag or recording of a version this program does not read
  unreadable,   // the operating system refused
  leftover,     // journals that were never drained into the recording
  bad_attestation, // the signed statement is not one about this archive, or not by that key
};

const char* archive_problem_name(ArchiveProblemKind kind) noexcept; // "missing_file"
// False where the archive is merely not finished (not_closed, leftover).
bool is_damage(ArchiveProblemKind kind) noexcept;

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
// invalid_argument (in the payload: a link, a special file, a name that not every tool reads alike,
// two names that differ in case alone), incomplete (undrained journals), unsupported (too many
// files), no_space, io_error. Closing twice rewrites the bag files.
Result<ArchiveInfo>
close_archive(const std::string& dir,
              const std::vector<std::pair<std::string, std::string>>& facts = {});

// Every problem found, in order of file name, at most 1,000 of them and a count of the others;
// empty: the files are those that were written, and there are no further ones. The Status is not ok
// only where `dir` itself cannot be read (not_found, io_error), or where the machine refused what
// reading its files takes (refused): then nothing is known of them.
Result<std::vector<ArchiveProblem>> verify_archive(const std::string& dir);

// True where bagit.txt is there: the archive was closed once.
bool is_archive(const std::string& dir);

} // namespace hitproof::schema
