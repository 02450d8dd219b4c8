// A figure as the list of its shapes, apart from any file format: coordinates in user units from
// the upper left corner, looks by the names of ink.h. svg.h and pdf.h write it to a file.
#pragma once

#include <string>
#include <vector>

namespace hitproof::cli {

struct Shape {
  enum Kind { text, line, rect, circle };
  Kind kind = line;
  // text: x, y of its base line. line: both ends. rect: corner, width, height. circle: centre,
  // radius.
  double a = 0, b = 0, c = 0, d = 0;
  std::string classes; // names of looks, separated by blanks
  std::string words;   // the text; of a rect or circle what is shown when it is pointed at
  std::string anchor;  // of a text: start, middle, end
};

class Picture {
 public:
  // Nothing to show.
  Picture() = default;
  // Title and description are for whoever cannot see the picture.
  Picture(double width, double height, std::string title, std::string description);

  void text(double x, double y, const std::string& classes, const std::string& words,
            const char* anchor = "start");
  void line(double x1, double y1, double x2, double y2, const std::string& classes);
  void rect(double x, double y, double width, double height, const std::string& classes,
            const std::string& tip = "");
  void circle(double x, double y, double r, const std::string& classes,
              const std::string& tip = "");
  // An open square around a point.
  void square(double x, double y, double half, const std::string& classes,
              const std::string& tip = "");

  bool empty() const noexcept { return shapes_.empty(); }
  double width() const noexcept { return width_; }
  double height() const noexcept { return height_; }
  const std::string& title() const noexcept { return title_; }
  const std::string& description() const noexcept { return description_; }
  const std::vector<Shape>& shapes() const noexcept { return shapes_; }

 private:
  double width_ = 0, height_ = 0;
  std::string title_, description_;
  std::vector<Shape> shapes_;
};

// A length as text: at most two digits behind the point, none that are zero.
std::string coordinate(double value);

// Evenly spaced round numbers that cover 0..most, about `count` of them.
std::vector<double> ticks(double most, int count);
// 1792 as "1792", 0.5 as "0.5".
std::string short_number(double value);
// The same with two digits: 0.00014.
std::string rough_number(double value);

} // namespace hitproof::cli
