// A command's end, in the forms that Kubernetes' clients read.
#ifndef PLIMSOLL_STREAMING_COMMAND_END_H_
#define PLIMSOLL_STREAMING_COMMAND_END_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::streaming {

// A metav1.Status: Success for exit code 0, Failure with reason NonZeroExitCode and the code for
// any other, Failure with reason InternalError or the like if there is no exit code.
std::string EndAsJson(const absl::StatusOr<int>& exit_code);
// For protocols before v4: nothing on success, else a sentence.
std::string EndAsText(const absl::StatusOr<int>& exit_code);

struct TerminalSize {
  uint16_t columns = 0;
  uint16_t rows = 0;
};

// Extracts JSON objects {"Width":80,"Height":24} from the bytes of a resize stream, which may
// arrive in any pieces. Used by one thread.
class TerminalSizes {
 public:
  // The last complete size so far; nullopt: none is complete yet. Skips anything that is no size.
  std::optional<TerminalSize> Read(absl::string_view bytes);

 private:
  std::string pending_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_COMMAND_END_H_
