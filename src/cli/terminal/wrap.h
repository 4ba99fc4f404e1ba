// Text for the width of a terminal.
#ifndef PLIMSOLL_CLI_TERMINAL_WRAP_H_
#define PLIMSOLL_CLI_TERMINAL_WRAP_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// Breaks the lines of `text` at spaces so that none is wider than `width`, as far as words permit.
// The rest of an indented line begins in column `indent`, of another line in column 0. A width that
// leaves no room behind the indent changes nothing.
std::string Wrap(absl::string_view text, size_t width, size_t indent);

// Columns of the terminal at standard output, those of COLUMNS in the environment before its own;
// 0: it is no terminal, or they are unknown.
size_t OutputWidth();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_WRAP_H_
