#include "cli/formats/svg.h"

#include "cli/escape.h"

#include <cmath>
#include <cstdio>

namespace hitproof::cli {
namespace {

std::string num(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + num(value) + "\"";
}

} // namespace

const char* const svg_style = R"css(
:root{--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--paper:#ffffff;--b:#0b5cad;--p:#b34700;
--good:#1a7f37;--bad:#c21d2b;--open:#8a5a00;--none:#e6e9ed;--save:#0b5cad;--load:#1a7f37;
--delay:#c99a2e;--wait:#7a3fb0;--step:#8c959f;--op:#57606a;--tail:#b34700}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4af;--rule:#3a424c;--paper:#0f1318;
--b:#6cb6ff;--p:#ffa657;--good:#56d364;--bad:#ff7b80;--open:#e3b341;--none:#262c34;--save:#6cb6ff;
--load:#56d364;--delay:#8f6b12;--wait:#c297ff;--step:#6e7681;--op:#9aa4af;--tail:#ffa657}}
@media print{:root{--ink:#000;--soft:#333;--rule:#bbb;--paper:#fff;--b:#0b5cad;--p:#b34700;--good:#1a7f37;
--bad:#c21d2b;--open:#8a5a00;--none:#e6e9ed;--save:#0b5cad;--load:#1a7f37;--delay:#c99a2e;--wait:#7a3fb0;
--step:#8c959f;--op:#57606a;--tail:#b34700}}
svg{font-family:system-ui,sans-serif;font-size:10px;color:var(--ink)}
svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}svg .small{font-size:8.5px}svg .strong{font-weight:600}
svg .badtext{fill:var(--bad);font-weight:600}
svg .rule{stroke:var(--rule);stroke-width:1}svg .axis{stroke:var(--soft);stroke-width:1}
svg .b{fill:var(--b);stroke:var(--b)}svg .p{fill:none;stroke:var(--p);stroke-width:1.6}
svg .apart{stroke:var(--bad);stroke-width:2}svg .none{fill:var(--none)}
svg .hole{fill:var(--paper);stroke:var(--bad);stroke-width:1.2}svg .bad{fill:var(--bad)}
svg .m1{fill:var(--save);fill-opacity:.35}svg .m2{fill:var(--save);fill-opacity:.6}svg .m3{fill:var(--save);fill-opacity:.9}
svg .operation{fill:var(--op);fill-opacity:.55}svg .step{fill:var(--step)}svg .save{fill:var(--save)}
svg .load{fill:var(--load)}svg .delay{fill:var(--delay)}svg .copies{fill:var(--b);fill-opacity:.6}
svg .poison,svg .tail{fill:var(--tail)}svg .wait{fill:var(--wait)}
svg .c0{fill:var(--op);stroke:var(--op)}svg .c1{fill:var(--b);stroke:var(--b)}svg .c2{fill:var(--load);stroke:var(--load)}
svg .c3{fill:var(--wait);stroke:var(--wait)}svg .range{stroke-width:1.4;fill:none}svg .median{stroke-width:3}
svg .point{fill-opacity:.45;stroke:none}
)css";

Svg::Svg(double width, double height, const std::string& title, const std::string& description) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + num(width) +
         " " + num(height) + "\"><title>" + xml_text(title) + "</title><desc>" +
         xml_text(description) + "</desc>\n";
}

void Svg::text(double x, double y, const std::string& classes, const std::string& words,
               const char* anchor) {
  out_ += "<text" + attribute("x", x) + attribute("y", y) + " class=\"" + classes + "\"" +
          (std::string(anchor) == "start" ? "" : std::string(" text-anchor=\"") + anchor + "\"") +
          ">" + xml_text(words) + "</text>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& classes) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
          attribute("y2", y2) + " class=\"" + classes + "\"/>\n";
}

void Svg::rect(double x, double y, double width, double height, const std::string& classes,
               const std::string& tip) {
  out_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
          attribute("height", height) + " class=\"" + classes + "\"";
  out_ += tip.empty() ? "/>\n" : "><title>" + xml_text(tip) + "</title></rect>\n";
}

void Svg::circle(double x, double y, double r, const std::string& classes, const std::string& tip) {
  out_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", r) + " class=\"" +
          classes + "\"";
  out_ += tip.empty() ? "/>\n" : "><title>" + xml_text(tip) + "</title></circle>\n";
}

void Svg::square(double x, double y, double half, const std::string& classes) {
  rect(x - half, y - half, 2 * half, 2 * half, classes);
}

std::string Svg::done() && { return std::move(out_) + "</svg>\n"; }

std::vector<double> ticks(double most, int count) {
  if (!(most > 0)) return {0};
  const double rough = most / count, power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power < rough) continue;
    step = factor * power;
    break;
  }
  std::vector<double> out;
  for (double at = 0; at <= most * 1.0001; at += step)
    out.push_back(at);
  return out;
}

std::string rough_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

} // namespace hitproof::cli
