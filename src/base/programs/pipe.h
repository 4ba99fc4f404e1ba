// Pipes between this process and a program that it starts.
#ifndef PLIMSOLL_BASE_PROGRAMS_PIPE_H_
#define PLIMSOLL_BASE_PROGRAMS_PIPE_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

// Both ends block, and close when this process executes a program.
absl::StatusOr<Pipe> MakePipe();

// For the end that this process keeps. The other end of a pipe is a file of its own and goes on
// blocking.
absl::Status SetNonBlocking(const UniqueFd& fd);

// Reads once from `reader`, which doesn't block, and gives `take` what came. Returns the number of
// bytes; 0 when there is nothing now or ever. Closes `reader` at the end of the stream, and at an
// error, which no further read would mend.
size_t ReadSome(UniqueFd* reader, absl::FunctionRef<void(absl::string_view)> take);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_PIPE_H_
