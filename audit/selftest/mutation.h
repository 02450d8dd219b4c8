// The auditor's own controls as data: how to change a good archive, and what must then be said.
//
// Three kinds. A must-fail control breaks one thing, and the rule must answer by name. A note is
// something that must be said and must decide nothing. A harmless change alters what no rule may
// rest on, and the whole report must stay the same.
#pragma once

#include "schema/status.h"

#include <ostream>
#include <string>
#include <vector>

namespace hitproof::audit::selftest {

enum class Arm { candidate, control, both }; // whose recording is changed

enum class Answer { fail, inconclusive, note, silence };

// "fail", "inconclusive", "note", "silence".
const char* answer_name(Answer answer) noexcept;
// "candidate", "control", "both".
const char* arm_name(Arm arm) noexcept;

// What an archive must have for a change to mean anything there.
struct Need {
  const char* words; // what is missing where the query says 0: "two ranks"
  const char* sql;   // one number, of the candidate's recording
};

// A part of the report that a harmless change may alter, as a path in its JSON ("*" is any name or
// index), and why.
struct MayChange {
  const char* path;
  const char* why;
};

// A change that is not one of a recording's rows; `dir` is the archive.
using FileChange = schema::Status (*)(const std::string& dir);

struct Further {
  Arm arm = Arm::candidate;
  const Need* needs = nullptr;
  FileChange files = nullptr;
  bool manifests_follow = true; // false: the archive is left as damaged as the change made it
  std::vector<MayChange> may_change = {};
};

struct Mutation {
  std::string name;      // never changes
  std::string rule;      // the family that must answer; "all" for a harmless change to all of them
  std::string violation; // what it must say; empty for a harmless change
  Answer answer = Answer::fail;
  std::string words; // what is done, as a clause: "one page of a load is never copied"
  std::string sql;   // run on the recording; empty where only files change
  Further further = {};

  bool harmless() const noexcept { return answer == Answer::silence; }
};

inline void PrintTo(const Mutation& m, std::ostream* out) { *out << m.name; }

// All of them, in the order of the rules, the harmless changes to every rule last.
const std::vector<Mutation>& mutations();

} // namespace hitproof::audit::selftest
