// Pieces of the page: each takes plain data and answers HTML with every text escaped.
#pragma once

#include "audit/dossier.h"

#include <string>

namespace hitproof::cli {

// Everything before the first archive, style included.
std::string html_head();

// Arm, lookup, device and the like as one sentence.
std::string conditions_of(const audit::Dossier& dossier);

// A command that a reader can copy.
std::string command(const std::string& line);

// "Check this number": a closed box with the statement, or the command where no query gives it.
std::string query_box(const std::string& dir, const audit::Trace& trace);

// A rule's figures with their queries, closed until asked for.
std::string figures_of_rule(const audit::Report& report, const audit::RuleReport& rule);
std::string timing_boxes(const audit::Dossier& dossier);

std::string finding_part(const audit::Report& report, const audit::Finding& finding,
                         const std::string& picture);
// A path that proves an order, or how far one leads: its records in words, and their picture.
std::string path_part(const audit::OrderPath& path, const std::string& picture);
std::string table_part(const std::string& dir, const audit::Table& table);

} // namespace hitproof::cli
