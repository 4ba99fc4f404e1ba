// Text for the width of a terminal.
#ifndef PLIMSOLL_CLI_WRAP_H_
#define PLIMSOLL_CLI_WRAP_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// `text` with lines broken at spaces so that none is wider than `width`, as far as words let it.
// What goes on of a line that is indented begins in column `indent`, of others in column 0. A width
// that leaves no room behind the indent changes nothing.
std::string Wrap(absl::string_view text, size_t width, size_t indent);

// Columns of the terminal that standard output is; 0: it is none.
size_t OutputWidth();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_WRAP_H_
