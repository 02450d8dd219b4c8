#include "cli/formats/pdf.h"

#include "cli/escape.h"
#include "cli/formats/helvetica.h"
#include "cli/formats/ink.h"

#include <cstdio>
#include <map>
#include <vector>

namespace hitproof::cli {
namespace {

// UTF-8 as Latin-1, which WinAnsiEncoding agrees with from 160 on.
std::string latin1(const std::string& text) {
  const std::string shown = printable(text);
  std::string out;
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const auto byte = static_cast<unsigned char>(shown[at]);
    if (byte < 0x80) {
      out += shown[at];
      continue;
    }
    const bool two = byte == 0xc2 || byte == 0xc3;
    out += two && at + 1 < shown.size()
               ? static_cast<char>((byte == 0xc3 ? 0x40 : 0) |
                                   static_cast<unsigned char>(shown[at + 1]))
               : '?';
    while (at + 1 < shown.size() && (static_cast<unsigned char>(shown[at + 1]) & 0xc0) == 0x80)
      ++at;
  }
  return out;
}

// A string of PDF; what is no plain ASCII in octal.
std::string string_of(const std::string& text) {
  std::string out = "(";
  for (const char c : latin1(text)) {
    const auto byte = static_cast<unsigned char>(c);
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", byte);
    if (byte < 32 || byte > 126)
      out += octal;
    else
      out += c == '(' || c == ')' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out + ")";
}

// "#0b5cad" as "0.043 0.361 0.678".
std::string channels(const std::string& color) {
  std::string out;
  for (std::size_t at = 1; at + 1 < color.size(); at += 2) {
    char text[16];
    std::snprintf(text, sizeof text, "%s%.3f", at > 1 ? " " : "",
                  std::stoi(color.substr(at, 2), nullptr, 16) / 255.0);
    out += text;
  }
  return out;
}

std::string pair(double x, double y) { return coordinate(x) + " " + coordinate(y) + " "; }

// The content of the page; what needs a resource is noted down on the way.
class Content {
 public:
  explicit Content(double height) : height_(height) {}

  void add(const Shape& s) {
    const Paint paint = paint_of(s.classes, s.kind == Shape::text);
    const bool fills = !paint.fill.empty() && s.kind != Shape::line;
    const bool strokes = !paint.stroke.empty() && s.kind != Shape::text;
    if (!fills && !strokes) return;
    if (s.kind == Shape::text && s.words.empty()) return;
    out_ += "q ";
    if (fills) out_ += channels(paint.fill) + " rg ";
    if (fills && paint.fill_opacity < 1) out_ += "/" + opacity(paint.fill_opacity) + " gs ";
    if (strokes) out_ += channels(paint.stroke) + " RG " + coordinate(paint.stroke_width) + " w ";
    if (s.kind == Shape::text) {
      text(s, paint);
    } else {
      path(s);
      out_ += fills && strokes ? "B" : fills ? "f" : "S";
    }
    out_ += " Q\n";
  }

  const std::string& stream() const noexcept { return out_; }
  // Dictionary entries of the graphics states that were asked for.
  std::string states() const {
    std::string out;
    for (const auto& [value, name] : states_)
      out += "/" + name + " << /ca " + value + " >> ";
    return out;
  }

 private:
  void text(const Shape& s, const Paint& paint) {
    const double width = text_width(s.words, paint.font_size, paint.bold);
    const double x = s.a - (s.anchor == "end" ? width : s.anchor == "middle" ? width / 2 : 0);
    out_ += std::string("BT /") + (paint.bold ? "F2 " : "F1 ") + coordinate(paint.font_size) +
            " Tf " + pair(x, height_ - s.b) + "Td " + string_of(s.words) + " Tj ET";
  }
  void path(const Shape& s) {
    if (s.kind == Shape::line) {
      out_ += pair(s.a, height_ - s.b) + "m " + pair(s.c, height_ - s.d) + "l ";
      return;
    }
    if (s.kind == Shape::rect) {
      out_ += pair(s.a, height_ - s.b - s.d) + pair(s.c, s.d) + "re ";
      return;
    }
    // A circle of four cubic curves, true to 0.03 % of the radius.
    const double x = s.a, y = height_ - s.b, r = s.c, k = .5522847 * r;
    out_ += pair(x + r, y) + "m " + pair(x + r, y + k) + pair(x + k, y + r) + pair(x, y + r) +
            "c " + pair(x - k, y + r) + pair(x - r, y + k) + pair(x - r, y) + "c " +
            pair(x - r, y - k) + pair(x - k, y - r) + pair(x, y - r) + "c " + pair(x + k, y - r) +
            pair(x + r, y - k) + pair(x + r, y) + "c h ";
  }
  const std::string& opacity(double value) {
    std::string& name = states_[coordinate(value)];
    if (name.empty()) name = "G" + std::to_string(states_.size());
    return name;
  }

  double height_;
  std::string out_;
  std::map<std::string, std::string> states_;
};

std::string font(const char* name) {
  return std::string("<< /Type /Font /Subtype /Type1 /BaseFont /") + name +
         " /Encoding /WinAnsiEncoding >>";
}

} // namespace

double text_width(const std::string& words, double font_size, bool bold) {
  int thousandths = 0;
  for (const char c : latin1(words)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool listed = byte >= 32 && byte <= 126;
    // Most letters beyond ASCII are as wide as a digit.
    thousandths += !listed ? 556
                   : bold  ? helvetica_bold_widths[byte - 32]
                           : helvetica_widths[byte - 32];
  }
  return thousandths / 1000.0 * font_size;
}

std::string pdf_of(const Picture& picture) {
  Content content(picture.height());
  for (const Shape& s : picture.shapes())
    content.add(s);
  const std::string& stream = content.stream();
  const std::vector<std::string> objects = {
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 " + pair(picture.width(), picture.height()) +
          "] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> /ExtGState << " +
          content.states() + ">> >> >>",
      "<< /Length " + std::to_string(stream.size()) + " >>\nstream\n" + stream + "\nendstream",
      font("Helvetica"),
      font("Helvetica-Bold"),
      "<< /Title " + string_of(picture.title()) + " /Subject " + string_of(picture.description()) +
          " /Producer (Hitproof) >>"};
  // Four bytes beyond ASCII in the second line tell programs that the file is binary.
  std::string out = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", table;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    char entry[24];
    std::snprintf(entry, sizeof entry, "%010zu 00000 n \n", out.size());
    table += entry;
    out += std::to_string(i + 1) + " 0 obj\n" + objects[i] + "\nendobj\n";
  }
  const std::string size = std::to_string(objects.size() + 1);
  const std::size_t start = out.size();
  return out + "xref\n0 " + size + "\n0000000000 65535 f \n" + table + "trailer\n<< /Size " + size +
         " /Root 1 0 R /Info 7 0 R >>\nstartxref\n" + std::to_string(start) + "\n%%EOF\n";
}

} // namespace hitproof::cli
