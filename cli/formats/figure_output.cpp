// The figures as files of their own: SVG for screens, PDF for papers.
#include "cli/formats/figures.h"
#include "cli/formats/formats.h"
#include "cli/formats/pdf.h"
#include "cli/formats/svg.h"

namespace hitproof::cli {
namespace {

class FigureOutput : public Document {
 public:
  using Writer = std::string (*)(const Picture&);
  FigureOutput(std::ostream& stream, const char* suffix, Writer writer)
      : out_(stream), suffix_(suffix), writer_(writer) {}

  void archive(const audit::Dossier& dossier) override {
    for (const auto& [name, picture] : figures_of(dossier))
      out_ << writer_(picture);
  }
  std::vector<std::string> parts(const audit::Dossier& dossier) const override {
    std::vector<std::string> names;
    for (const auto& [name, picture] : figures_of(dossier))
      names.push_back(name);
    return names;
  }
  void part(const audit::Dossier& dossier, const std::string& wanted) override {
    for (const auto& [name, picture] : figures_of(dossier)) {
      if (name == wanted) out_ << writer_(picture);
    }
  }
  std::string suffix() const override { return suffix_; }

 private:
  std::ostream& out_;
  const char* suffix_;
  Writer writer_;
};

} // namespace

std::vector<std::pair<std::string, Picture>> figures_of(const audit::Dossier& dossier) {
  std::vector<std::pair<std::string, Picture>> out;
  if (!dossier.report.reloads.empty()) out.emplace_back("boundary", boundary_figure(dossier));
  if (!dossier.coverage.cells.empty()) out.emplace_back("coverage", coverage_figure(dossier));
  if (!dossier.timings.groups.empty()) out.emplace_back("timings", timings_figure(dossier));
  if (!dossier.timeline.slices.empty()) out.emplace_back("timeline", timeline_figure(dossier));
  return out;
}

std::unique_ptr<Output> make_svg_output(std::ostream& stream) {
  return std::make_unique<FigureOutput>(stream, "svg", svg_file_of);
}

std::unique_ptr<Output> make_pdf_output(std::ostream& stream) {
  return std::make_unique<FigureOutput>(stream, "pdf", pdf_of);
}

} // namespace hitproof::cli
