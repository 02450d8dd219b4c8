#include "cli/formats/ink.h"

#include "cli/formats/picture.h"

#include <string_view>

namespace hitproof::cli {
namespace {

constexpr Ink ink_list[] = {
    {"ink", "#1b1f24", "#e6edf3", "#000000"},   {"soft", "#57606a", "#9aa4af", "#333333"},
    {"rule", "#d0d7de", "#3a424c", "#bbbbbb"},  {"paper", "#ffffff", "#0f1318", "#ffffff"},
    {"b", "#0b5cad", "#6cb6ff", "#0b5cad"},     {"p", "#b34700", "#ffa657", "#b34700"},
    {"good", "#1a7f37", "#56d364", "#1a7f37"},  {"bad", "#c21d2b", "#ff7b80", "#c21d2b"},
    {"open", "#8a5a00", "#e3b341", "#8a5a00"},  {"blank", "#e6e9ed", "#262c34", "#e6e9ed"},
    {"save", "#0b5cad", "#6cb6ff", "#0b5cad"},  {"load", "#1a7f37", "#56d364", "#1a7f37"},
    {"delay", "#c99a2e", "#8f6b12", "#c99a2e"}, {"wait", "#7a3fb0", "#c297ff", "#7a3fb0"},
    {"step", "#8c959f", "#6e7681", "#8c959f"},  {"op", "#57606a", "#9aa4af", "#57606a"},
    {"tail", "#b34700", "#ffa657", "#b34700"}};

constexpr Look look_list[] = {
    // Text.
    {"soft", "soft", nullptr, 0, 0, 0, false},
    {"small", nullptr, nullptr, 0, 0, 8.5, false},
    {"strong", nullptr, nullptr, 0, 0, 0, true},
    {"badtext", "bad", nullptr, 0, 0, 0, true},
    // Lines and marks.
    {"rule", nullptr, "rule", 1, 0, 0, false},
    {"axis", nullptr, "soft", 1, 0, 0, false},
    {"b", "b", "b", 0, 0, 0, false},
    {"p", "none", "p", 1.6, 0, 0, false},
    {"apart", nullptr, "bad", 2, 0, 0, false},
    // Squares of the coverage map.
    {"blank", "blank", nullptr, 0, 0, 0, false},
    {"hole", "paper", "bad", 1.2, 0, 0, false},
    {"bad", "bad", nullptr, 0, 0, 0, false},
    {"m1", "save", nullptr, 0, .35, 0, false},
    {"m2", "save", nullptr, 0, .6, 0, false},
    {"m3", "save", nullptr, 0, .9, 0, false},
    // Slices of the timeline.
    {"operation", "op", nullptr, 0, .55, 0, false},
    {"step", "step", nullptr, 0, 0, 0, false},
    {"save", "save", nullptr, 0, 0, 0, false},
    {"load", "load", nullptr, 0, 0, 0, false},
    {"delay", "delay", nullptr, 0, 0, 0, false},
    {"copies", "b", nullptr, 0, .6, 0, false},
    {"poison", "tail", nullptr, 0, 0, 0, false},
    {"tail", "tail", nullptr, 0, 0, 0, false},
    {"wait", "wait", nullptr, 0, 0, 0, false},
    // Conditions of the times, then what is drawn of each: bar, median, points by repetition.
    {"c0", "op", "op", 0, 0, 0, false},
    {"c1", "b", "b", 0, 0, 0, false},
    {"c2", "load", "load", 0, 0, 0, false},
    {"c3", "wait", "wait", 0, 0, 0, false},
    {"range", "none", nullptr, 1.4, 0, 0, false},
    {"median", nullptr, nullptr, 3, 0, 0, false},
    {"point", nullptr, "none", 0, .45, 0, false},
    {"open", "none", nullptr, 1, 0, 0, false},
};

std::string variables(const char* Ink::*ground) {
  std::string out = ":root{";
  for (const Ink& ink : ink_list)
    out += std::string("--") + ink.name + ":" + ink.*ground + ";";
  out.back() = '}';
  return out;
}

std::string color(const char* property, const char* name) {
  if (!name) return "";
  const bool nothing = std::string_view(name) == "none";
  return std::string(property) + ":" + (nothing ? "none" : "var(--" + std::string(name) + ")") +
         ";";
}

std::string number(const char* property, double value, const char* unit = "") {
  return value == 0 ? "" : std::string(property) + ":" + coordinate(value) + unit + ";";
}

// Empty for "none" and for a name that is no colour.
std::string on_paper(std::string_view name) {
  for (const Ink& ink : ink_list) {
    if (name == ink.name) return ink.print;
  }
  return "";
}

} // namespace

std::span<const Look> looks() { return look_list; }

const std::string& svg_style() {
  static const std::string style = [] {
    std::string out = variables(&Ink::light) + "\n@media (prefers-color-scheme:dark){" +
                      variables(&Ink::dark) + "}\n@media print{" + variables(&Ink::print) +
                      "}\nsvg{font-family:system-ui,sans-serif;color:var(--ink);" +
                      number("font-size", figure_font_size, "px") +
                      "}\nsvg text{fill:var(--ink)}\n";
    for (const Look& look : look_list) {
      std::string rules =
          color("fill", look.fill) + color("stroke", look.stroke) +
          number("stroke-width", look.stroke_width) + number("fill-opacity", look.fill_opacity) +
          number("font-size", look.font_size, "px") + (look.bold ? "font-weight:600;" : "");
      rules.pop_back();
      out += std::string("svg .") + look.name + "{" + rules + "}\n";
    }
    return out;
  }();
  return style;
}

Paint paint_of(const std::string& classes, bool is_text) {
  Paint paint;
  if (is_text) paint.fill = on_paper("ink");
  const std::string list = " " + classes + " ";
  for (const Look& look : look_list) {
    if (list.find(" " + std::string(look.name) + " ") == std::string::npos) continue;
    if (look.fill) paint.fill = on_paper(look.fill);
    if (look.stroke) paint.stroke = on_paper(look.stroke);
    if (look.stroke_width != 0) paint.stroke_width = look.stroke_width;
    if (look.fill_opacity != 0) paint.fill_opacity = look.fill_opacity;
    if (look.font_size != 0) paint.font_size = look.font_size;
    paint.bold |= look.bold;
  }
  return paint;
}

} // namespace hitproof::cli
