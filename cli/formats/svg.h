// The figures of an archive as SVG. Each has a title and a description for whoever cannot see it,
// says in words what its colours say, and takes its colours from CSS classes (svg_style), so that
// it can be read on light and dark ground and in print.
#pragma once

#include "audit/dossier.h"

#include <string>

namespace hitproof::cli {

// Style rules of all figures; the variables they use are defined for light and dark.
extern const char* const svg_style;

// B and p of each reload by prompt length: the form of the paper's Figure 2.
std::string boundary_svg(const audit::Dossier& dossier);
// Pages saved and loaded by rank and entry, as a heat map.
std::string coverage_svg(const audit::Dossier& dossier);
// Time to first token: points, medians and ranges by length and condition, the form of the paper's
// Figure 3. The title names the device and says "simulated" where it is.
std::string timings_svg(const audit::Dossier& dossier);
// What happened when, one lane a process and kind.
std::string timeline_svg(const audit::Dossier& dossier);
// The records that prove a finding, in their time.
std::string witness_svg(const audit::Finding& finding);

// Those of an archive that have something to show: name and picture.
std::vector<std::pair<std::string, std::string>> figures_of(const audit::Dossier& dossier);

// One picture in the making: coordinates in user units of the view box, text escaped.
class Svg {
 public:
  Svg(double width, double height, const std::string& title, const std::string& description);
  void text(double x, double y, const std::string& classes, const std::string& words,
            const char* anchor = "start");
  void line(double x1, double y1, double x2, double y2, const std::string& classes);
  void rect(double x, double y, double width, double height, const std::string& classes,
            const std::string& tip = "");
  void circle(double x, double y, double r, const std::string& classes,
              const std::string& tip = "");
  // An open square around a point.
  void square(double x, double y, double half, const std::string& classes);
  std::string done() &&;

 private:
  std::string out_;
};

// Evenly spaced round numbers that cover 0..most, about `count` of them.
std::vector<double> ticks(double most, int count);
// 1792 as "1792", 0.5 as "0.5".
std::string short_number(double value);
// The same with two digits: 0.00014.
std::string rough_number(double value);

} // namespace hitproof::cli
