// The beginning of a container's process with variables that are no UTF-8
// (monitor/byte_variables.h).
#ifndef PLIMSOLL_CONTAINER_ENTRY_VARIABLES_H_
#define PLIMSOLL_CONTAINER_ENTRY_VARIABLES_H_

#include <cstddef>

namespace plimsoll::entry {

// Puts each "NAME=bytes" of `text`, which a NUL byte ends, in place of the variable NAME of the
// null-terminated `environment`. `text` must outlive that.
void ReplaceVariables(char* text, size_t size, char** environment);

// Replaces this process's variables by those of kVariablesDescriptor and executes `words`, which
// are null-terminated. Returns on failure: the exit code, as a shell's, after a line of standard
// error.
int ExecuteWithVariables(char** words);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_VARIABLES_H_
