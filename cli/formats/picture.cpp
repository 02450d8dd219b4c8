#include "cli/formats/picture.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace hitproof::cli {

Picture::Picture(double width, double height, std::string title, std::string description)
    : width_(width), height_(height), title_(std::move(title)),
      description_(std::move(description)) {}

void Picture::text(double x, double y, const std::string& classes, const std::string& words,
                   const char* anchor) {
  shapes_.push_back({Shape::text, x, y, 0, 0, classes, words, anchor});
}

void Picture::line(double x1, double y1, double x2, double y2, const std::string& classes) {
  shapes_.push_back({Shape::line, x1, y1, x2, y2, classes, "", ""});
}

void Picture::rect(double x, double y, double width, double height, const std::string& classes,
                   const std::string& tip) {
  shapes_.push_back({Shape::rect, x, y, width, height, classes, tip, ""});
}

void Picture::circle(double x, double y, double r, const std::string& classes,
                     const std::string& tip) {
  shapes_.push_back({Shape::circle, x, y, r, 0, classes, tip, ""});
}

void Picture::square(double x, double y, double half, const std::string& classes,
                     const std::string& tip) {
  rect(x - half, y - half, 2 * half, 2 * half, classes, tip);
}

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

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
