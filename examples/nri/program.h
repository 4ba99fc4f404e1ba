// The common part of the example plugins' programs: their options, and the end.
#ifndef PLIMSOLL_EXAMPLES_NRI_PROGRAM_H_
#define PLIMSOLL_EXAMPLES_NRI_PROGRAM_H_

#include <string>

#include "nri/plugin/plugin.h"

namespace plimsoll::examples {

struct ProgramText {
  std::string name;     // of the plugin, unless told otherwise
  std::string index;    // likewise
  std::string purpose;  // the help's first part
  std::string help;     // the help's last part: configuration, an example
};

// Reads --name, --index and --socket, runs the plugin, returns the program's exit code.
int RunProgram(nri::Plugin& plugin, const ProgramText& text, int argc, char** argv);

}  // namespace plimsoll::examples

#endif  // PLIMSOLL_EXAMPLES_NRI_PROGRAM_H_
