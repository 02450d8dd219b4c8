// A picture as a PDF of one page, for a paper: vectors, in the colours of print, one user unit a
// point. Equal pictures give equal bytes: there is no time and no name of a machine in it.
//
// Version 1.4, the first with transparency, since LaTeX includes it without a warning. Text is in
// Helvetica, one of the fonts that every reader of PDF has; it is not embedded. Letters outside
// Latin-1 become '?'.
//
// Written here and not by cairo: that would bind the build to a library and the output to the fonts
// of the machine, for five operators.
#pragma once

#include "cli/formats/picture.h"

#include <string>

namespace hitproof::cli {

std::string pdf_of(const Picture& picture);

// Width of a text in Helvetica, in points.
double text_width(const std::string& words, double font_size, bool bold);

} // namespace hitproof::cli
