#include "cli/formats/html_parts.h"

#include "audit/device.h"
#include "audit/shown_paths.h"
#include "audit/tables.h"
#include "audit/trace.h"
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <cstdio>

namespace hitproof::cli {
namespace {

std::string value_of(const audit::Figure& figure) {
  if (const auto* n = std::get_if<std::int64_t>(&figure.value)) return audit::grouped(*n);
  std::string out;
  for (const std::int64_t n : std::get<std::vector<std::int64_t>>(figure.value))
    out += (out.empty() ? "" : ", ") + audit::grouped(n);
  return out;
}

std::string spaced(std::string name) {
  for (char& c : name)
    c = c == '_' ? ' ' : c;
  return name;
}

std::string record_words(const audit::WitnessRecord& w) {
  char moment[48];
  std::snprintf(moment, sizeof moment, "%+.3f ms", w.at_ms);
  return xml_text(w.words) + " <span class=\"soft\">" + moment + ", " + xml_text(w.table) + " " +
         std::to_string(w.process) + "." + std::to_string(w.thread) + "." + std::to_string(w.seq) +
         "</span>";
}

} // namespace

std::string conditions_of(const audit::Dossier& dossier) {
  const audit::Report& r = dossier.report;
  std::string out = "Arm " + (r.arm.empty() ? std::string("unknown") : r.arm);
  if (!r.lookup.empty()) out += ", " + r.lookup + " lookup";
  out += ", device " + (r.device.empty() ? std::string("unknown") : r.device);
  if (audit::is_simulated(r.device)) out += " (simulated)";
  if (!r.preset.empty()) out += ", preset " + r.preset;
  out += r.has_reference ? "; with its control arm." : "; no control arm inside.";
  for (const std::string& e : r.exclusions)
    out += " Excluded: " + e + ".";
  return out;
}

std::string command(const std::string& line) {
  return "<code class=\"command\">" + xml_text(line) + "</code>";
}

std::string query_box(const std::string& dir, const audit::Trace& trace) {
  if (trace.source.empty()) return "";
  const std::string line =
      trace.statement.empty() ? trace.source : audit::shell_command(dir, trace.script());
  return "<details><summary>" + xml_text(trace.source) + "</summary>" + command(line) +
         "</details>";
}

std::string figures_of_rule(const audit::Report& report, const audit::RuleReport& rule) {
  if (rule.figures.empty()) return "";
  std::string out = "<details><summary>" + std::to_string(rule.figures.size()) +
                    " figures and their queries</summary><dl>";
  for (const audit::Figure& f : rule.figures) {
    out += "<dt>" + xml_text(spaced(f.name)) + "</dt><dd>" + xml_text(value_of(f)) +
           query_box(report.path, f.trace) + "</dd>";
  }
  return out + "</dl></details>";
}

std::string timing_boxes(const audit::Dossier& dossier) {
  std::string out = "<details><summary>Medians and their queries</summary><dl>";
  for (const audit::TimingGroup& g : dossier.timings.groups) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%.1f ms (%.1f to %.1f), n = %lld", g.median, g.least,
                  g.most, static_cast<long long>(g.points));
    out += "<dt>" + xml_text(g.condition + ", N = " + std::to_string(g.prompt_tokens)) +
           "</dt><dd>" + numbers + query_box(dossier.report.path, g.trace) + "</dd>";
  }
  return out + "</dl></details>";
}

std::string finding_part(const audit::Report& report, const audit::Finding& f,
                         const std::string& picture) {
  const char* classes = f.effect == audit::Verdict::fail           ? "fail"
                        : f.effect == audit::Verdict::inconclusive ? "inconclusive"
                                                                   : "note";
  std::string out = std::string("<section class=\"finding ") + classes + "\"><h3>" +
                    xml_text(f.rule + " / " + spaced(f.violation)) + " <span class=\"mark " +
                    classes + "\">" + effect_name(f.effect) + "</span></h3><p>" +
                    xml_text(f.words) + "</p><p class=\"soft\">" + audit::grouped(f.count) +
                    (f.count == 1 ? " time" : " times, shown is the earliest") + "</p>";
  if (!f.witness.empty()) {
    if (!picture.empty()) out += "<figure class=\"plain\">" + picture + "</figure>";
    out += "<ol class=\"witness\">";
    for (const audit::WitnessRecord& w : f.witness)
      out += "<li>" + record_words(w) + "</li>";
    out += "</ol>";
  }
  if (!f.query.empty()) {
    out += "<p>These records:</p>" + command(audit::shell_command(report.path, f.query));
  }
  if (!f.counted.source.empty()) {
    out += "<p>All of them, counted:</p>" + query_box(report.path, f.counted);
  }
  return out + "</section>\n";
}

std::string path_part(const audit::OrderPath& path, const std::string& picture) {
  const std::string classes = path.proved ? "pass" : "inconclusive";
  std::string out = "<section class=\"finding " + classes + "\"><h3>" +
                    (path.load ? "load " : "save ") + std::to_string(path.transfer) +
                    " <span class=\"mark " + classes + "\">" +
                    (path.proved ? "proved" : "not proved") + "</span></h3><p>" +
                    xml_text(audit::sentence_of(path)) + "</p>";
  if (!picture.empty()) out += "<figure class=\"plain\">" + picture + "</figure>";
  out += "<ol class=\"witness\">";
  for (const std::size_t i : audit::shown_of(path))
    out += "<li value=\"" + std::to_string(i + 1) + "\">" + record_words(path.records[i]) + "</li>";
  return out + "</ol></section>\n";
}

std::string table_part(const std::string& dir, const audit::Table& table) {
  std::string out = "<figure class=\"table\" tabindex=\"0\"><table><caption>" +
                    xml_text(table.title) + "</caption><thead><tr>";
  for (const audit::Column& c : table.columns) {
    out += std::string("<th scope=\"col\"") + (c.number ? " class=\"number\"" : "") + ">" +
           xml_text(head_of(c, " [", "]")) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = i < table.columns.size() && table.columns[i].number;
      out += std::string(number ? "<td class=\"number\">" : "<td>") + xml_text(row[i]) + "</td>";
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></figure>\n";
  for (const std::string& note : table.notes)
    out += "<p class=\"soft\">" + xml_text(note) + "</p>\n";
  std::string queries;
  for (std::size_t r = 0; r < table.traces.size(); ++r) {
    for (std::size_t i = 0; i < table.traces[r].size() && i < table.rows[r].size(); ++i) {
      const audit::Trace& trace = table.traces[r][i];
      if (trace.source.empty()) continue;
      queries += "<dt>" +
                 xml_text(table.columns[0].name + " " + table.rows[r][0] + ": " +
                          table.columns[i].name + " = " + table.rows[r][i]) +
                 "</dt><dd>" + query_box(dir, trace) + "</dd>";
    }
  }
  if (!queries.empty())
    out += "<details class=\"queries\"><summary>The query of each number of this "
           "table</summary><dl>" +
           queries + "</dl></details>\n";
  return out;
}

} // namespace hitproof::cli
