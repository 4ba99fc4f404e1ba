// The two ends of `plimsoll cp` as they are typed.
#ifndef PLIMSOLL_CLI_COPY_END_H_
#define PLIMSOLL_CLI_COPY_END_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cli {

struct CopyEnd {
  std::string container;  // as the user names it; empty: this machine's
  std::string path;       // "-": a tar stream
  bool is_stream() const { return container.empty() && path == "-"; }
};

// "web/app:/etc/hosts" is a container's, "/a:b", "./a:b" and "plain" are this machine's.
CopyEnd ParseCopyEnd(absl::string_view text);

struct CopyEnds {
  CopyEnd from;
  CopyEnd to;
  bool from_container() const { return !from.container.empty(); }
  const CopyEnd& inside() const { return from_container() ? from : to; }
};

// A usage error unless exactly one of them is a container's, with a path.
absl::StatusOr<CopyEnds> ParseCopyEnds(absl::string_view from, absl::string_view to);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COPY_END_H_
