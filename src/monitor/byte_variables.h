// Variables of a container's process whose values are no UTF-8.
//
// An OCI runtime has the process's variables from config.json, and JSON is UTF-8: crun's parser
// refuses other bytes, runc's puts U+FFFD in their place, and both clear their own environment. So
// such a process begins as plimsoll-exec (container_entry/variables.h), and nothing of the
// variables is in the container's files:
// - config.json has U+FFFD in the values, and "kVariablesPath kVariablesWord" before the words of
//   the program;
// - plimsoll-launch gives the OCI runtime two descriptors that it passes on (--preserve-fds):
//   a sealed copy of plimsoll-exec, and a file with each variable as "NAME=bytes" and a NUL;
// - plimsoll-exec replaces the variables, closes both and executes the program.
#ifndef PLIMSOLL_MONITOR_BYTE_VARIABLES_H_
#define PLIMSOLL_MONITOR_BYTE_VARIABLES_H_

namespace plimsoll::monitor {

constexpr char kVariablesPath[] = "/proc/self/fd/3";
constexpr char kVariablesWord[] = "--variables";
constexpr int kVariablesProgramDescriptor = 3;  // the first that --preserve-fds counts
constexpr int kVariablesDescriptor = 4;
constexpr char kPreserveVariables[] = "--preserve-fds=2";

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_BYTE_VARIABLES_H_
