// The figures as files of their own, each with the style it needs.
#include "cli/formats/formats.h"
#include "cli/formats/svg.h"

namespace hitproof::cli {
namespace {

class SvgOutput : public Document {
 public:
  explicit SvgOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& dossier) override {
    for (const auto& [name, picture] : figures_of(dossier))
      write(picture);
  }
  std::vector<std::string> parts(const audit::Dossier& dossier) const override {
    std::vector<std::string> names;
    for (const auto& [name, picture] : figures_of(dossier))
      names.push_back(name);
    return names;
  }
  void part(const audit::Dossier& dossier, const std::string& wanted) override {
    for (const auto& [name, picture] : figures_of(dossier)) {
      if (name == wanted) write(picture);
    }
  }
  std::string suffix() const override { return "svg"; }

 private:
  // A title must come first to be found, so the style follows title and description.
  void write(std::string picture) {
    const std::string mark = "</desc>";
    picture.insert(picture.find(mark) + mark.size(),
                   std::string("\n<style>") + svg_style + "svg{background:var(--paper)}</style>");
    out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" << picture;
  }
  std::ostream& out_;
};

} // namespace

std::vector<std::pair<std::string, std::string>> figures_of(const audit::Dossier& dossier) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!dossier.report.reloads.empty()) out.emplace_back("boundary", boundary_svg(dossier));
  if (!dossier.coverage.cells.empty()) out.emplace_back("coverage", coverage_svg(dossier));
  if (!dossier.timings.groups.empty()) out.emplace_back("timings", timings_svg(dossier));
  if (!dossier.timeline.slices.empty()) out.emplace_back("timeline", timeline_svg(dossier));
  return out;
}

std::unique_ptr<Output> make_svg_output(std::ostream& stream) {
  return std::make_unique<SvgOutput>(stream);
}

} // namespace hitproof::cli
