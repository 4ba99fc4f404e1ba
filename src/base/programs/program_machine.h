// Which machine a program is for.
#ifndef PLIMSOLL_BASE_PROGRAMS_PROGRAM_MACHINE_H_
#define PLIMSOLL_BASE_PROGRAMS_PROGRAM_MACHINE_H_

#include <string>

namespace plimsoll {

// Explains why execve(2) refuses the file at `path` with ENOEXEC, whose text "Exec format error"
// says nothing of architectures: "it is for aarch64, and this machine is x86_64", "it is empty".
// Names are those of uname -m.
std::string WhyNoProgram(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_PROGRAM_MACHINE_H_
