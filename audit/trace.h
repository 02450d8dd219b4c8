// Where a number comes from: the file that says what is counted, and a statement that gives the
// number again in the sqlite3 shell. Every figure of a report carries one, and is made by running
// it where that is cheap, so that figure and statement cannot part.
#pragma once

#include "audit/report.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hitproof::audit {

class Context;
struct Rule;

// The statement on one line: comments and the closing semicolon are left out, quoted text is kept.
std::string one_line(std::string_view sql);
// As a string of SQL, in single quotes.
std::string sql_quoted(const std::string& text);

// `statement` as a reviewer must run it on data/recording.sqlite: with the control arm attached
// where it is named, and without the transfers of engines that are not recorded.
Trace traced(const Context& context, std::string source, std::string_view statement);

// One cell that shows the numbers of both, in this order.
Trace joined(const Trace& first, const Trace& second);

// A figure of one number: what `sql` selects, 0 where it selects nothing. Figures that the look at
// all records has counted (screen/screen.h) are taken from there; a test holds the two together.
Figure counted(Context& context, const char* source, std::string name, const std::string& sql);

// Figures that one pass over the records gives: the columns as (name, expression), and the text
// from FROM on.
std::vector<Figure>
counted_together(Context& context, const char* source,
                 const std::vector<std::pair<std::string, std::string>>& columns,
                 const std::string& from);

// The violations of an embedded query as a table expression, for statements that count them.
std::string violations_of(const char* query);

// The common table expressions of an embedded query, from its WITH up to the first SELECT that
// begins a line: what a statement needs in front of it to count their rows. So a figure counts what
// the query looks at, and not what another text says about it.
std::string tables_of(const char* query);

// A condition on the rows of violations_of: those that count as fail, given what is missing in this
// recording (a violation that rests on absence does not where records are missing).
std::string counts_as_fail(const Context& context, const Rule& rule);

// "'a', 'b'": names for an IN list.
std::string name_list(const std::vector<std::string>& names);

// The statement as a command for a shell, with the path of the archive's recording.
std::string shell_command(const std::string& dir, const std::string& statement);

} // namespace hitproof::audit
