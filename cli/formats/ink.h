// Colours and looks of all figures: one list, from which the style sheet of SVG and HTML is made
// and which PDF paints by.
#pragma once

#include <span>
#include <string>

namespace hitproof::cli {

// A colour by its name, as "#rrggbb", for light and dark ground and for paper.
struct Ink {
  const char* name;
  const char* light;
  const char* dark;
  const char* print;
};

// What a class does to a shape; later ones of the list prevail. Null and 0 leave as it is, the
// colour "none" paints nothing.
struct Look {
  const char* name;
  const char* fill;
  const char* stroke;
  double stroke_width;
  double fill_opacity;
  double font_size;
  bool bold;
};

inline constexpr double figure_font_size = 10;

std::span<const Look> looks();

// The style sheet: variables of the colours, rules of the classes.
const std::string& svg_style();

// How a shape of these classes looks on paper. Text has the colour "ink" unless a class says
// otherwise, other shapes are filled black.
struct Paint {
  std::string fill = "#000000", stroke; // empty: not painted
  double stroke_width = 1, fill_opacity = 1, font_size = figure_font_size;
  bool bold = false;
};
Paint paint_of(const std::string& classes, bool is_text);

} // namespace hitproof::cli
