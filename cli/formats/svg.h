// A picture as SVG: title and description first, the looks as classes, so that it can be read on
// light and dark ground and in print.
#pragma once

#include "cli/formats/picture.h"

namespace hitproof::cli {

// For a page that has svg_style (ink.h) already; empty where there is nothing to show.
std::string svg_of(const Picture& picture);
// A file of its own.
std::string svg_file_of(const Picture& picture);

} // namespace hitproof::cli
