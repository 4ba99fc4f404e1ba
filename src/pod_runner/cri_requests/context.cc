#include "pod_runner/cri_requests/context.h"

#include "base/status.h"
#include "pod_runner/manifest/amount.h"
#include "resources/quantity.h"

namespace plimsoll::pod {

absl::Status DescribeNode(const FsRoot& root, PodContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(context.memory_capacity_bytes, MemoryCapacityBytes(root));
  // A machine without the file has no DNS to add to.
  context.host_dns = ParseResolvConf(root.Read("etc/resolv.conf").value_or(""));
  context.node_name = HostName();
  context.host_ips = HostIps();
  using resources::Quantity;
  context.allocatable = {
      {"cpu", Quantity::FromInt(CpusHere())},
      {"memory", Quantity::FromInt(context.memory_capacity_bytes, Quantity::Format::kBinarySi)}};
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
