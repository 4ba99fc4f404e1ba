// The two ends of `plimsoll cp`, parsed.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_COPY_END_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_COPY_END_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

struct CopyEnd {
  std::string container;  // as typed; empty: this machine
  std::string path;       // "-": a tar stream
  bool is_stream() const { return container.empty() && path == "-"; }
};

// "web/app:/etc/hosts" is in a container; "/a:b", "./a:b" and "plain" are on this machine.
CopyEnd ParseCopyEnd(absl::string_view text);

struct CopyEnds {
  CopyEnd from;
  CopyEnd to;
  bool from_container() const { return !from.container.empty(); }
  const CopyEnd& inside() const { return from_container() ? from : to; }
};

// A usage error unless exactly one end is in a container, and has a path.
absl::StatusOr<CopyEnds> ParseCopyEnds(absl::string_view from, absl::string_view to);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_COPY_END_H_
