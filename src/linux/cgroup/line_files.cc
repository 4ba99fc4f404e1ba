#include "linux/cgroup/line_files.h"

#include <utility>

namespace plimsoll::linux {
namespace {

// Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files", "RDMA" and "Misc". The kernel
// keeps a line of io.* as long as it says anything; those of rdma.max and misc.max always stand.
constexpr std::pair<absl::string_view, absl::string_view> kLineFiles[] = {
    {"io.max", "rbps=max wbps=max riops=max wiops=max"},
    {"io.weight", "default"},
    {"io.bfq.weight", "default"},
    {"io.latency", "target=0"},
    {"rdma.max", "hca_handle=max hca_object=max"},
    {"misc.max", "max"},
};

}  // namespace

std::optional<absl::string_view> LineReset(absl::string_view file) {
  for (const auto& [name, reset] : kLineFiles) {
    if (name == file) return reset;
  }
  return std::nullopt;
}

}  // namespace plimsoll::linux
