#include "cli/formats/svg.h"

#include "cli/escape.h"
#include "cli/formats/ink.h"

namespace hitproof::cli {
namespace {

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + coordinate(value) + "\"";
}

// The end of a shape: nothing more, or what is shown when it is pointed at.
std::string closed(const Shape& s, const char* element) {
  if (s.words.empty()) return "/>\n";
  return "><title>" + xml_text(s.words) + "</title></" + element + ">\n";
}

std::string element_of(const Shape& s) {
  const std::string classes = " class=\"" + s.classes + "\"";
  switch (s.kind) {
  case Shape::text:
    return "<text" + attribute("x", s.a) + attribute("y", s.b) + classes +
           (s.anchor == "start" ? "" : " text-anchor=\"" + s.anchor + "\"") + ">" +
           xml_text(s.words) + "</text>\n";
  case Shape::line:
    return "<line" + attribute("x1", s.a) + attribute("y1", s.b) + attribute("x2", s.c) +
           attribute("y2", s.d) + classes + "/>\n";
  case Shape::rect:
    return "<rect" + attribute("x", s.a) + attribute("y", s.b) + attribute("width", s.c) +
           attribute("height", s.d) + classes + closed(s, "rect");
  case Shape::circle:
    return "<circle" + attribute("cx", s.a) + attribute("cy", s.b) + attribute("r", s.c) + classes +
           closed(s, "circle");
  }
  return "";
}

// A title must come first to be found, so a style follows title and description.
std::string written(const Picture& picture, const std::string& style) {
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " +
                    coordinate(picture.width()) + " " + coordinate(picture.height()) +
                    "\"><title>" + xml_text(picture.title()) + "</title><desc>" +
                    xml_text(picture.description()) + "</desc>\n" + style;
  for (const Shape& s : picture.shapes())
    out += element_of(s);
  return out + "</svg>\n";
}

} // namespace

std::string svg_of(const Picture& picture) { return picture.empty() ? "" : written(picture, ""); }

std::string svg_file_of(const Picture& picture) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
         written(picture, "<style>" + svg_style() + "svg{background:var(--paper)}</style>\n");
}

} // namespace hitproof::cli
