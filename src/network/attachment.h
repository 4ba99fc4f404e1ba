// The request for a pod's network attachment, and the record of one.
#ifndef PLIMSOLL_NETWORK_ATTACHMENT_H_
#define PLIMSOLL_NETWORK_ATTACHMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "network/config.h"
#include "network/result.h"

namespace plimsoll::network {

struct PortMapping {
  std::string protocol = "tcp";  // tcp, udp or sctp
  int32_t container_port = 0;
  int32_t host_port = 0;
  std::string host_ip;  // empty: every address of the host
  bool operator==(const PortMapping&) const = default;
};

// Values for plugins that declare the capability (CNI "CONVENTIONS", runtimeConfig).
struct CapabilityArgs {
  std::vector<PortMapping> port_mappings;
  std::optional<int64_t> ingress_bits_per_second;  // to the pod; absent: no limit
  std::optional<int64_t> egress_bits_per_second;
  bool operator==(const CapabilityArgs&) const = default;
};

struct Attachment {
  std::string id;     // of the sandbox
  std::string netns;  // path of its pin
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  CapabilityArgs capabilities;
  Dns dns;  // of the pod, for the capability dns
  // Older sandboxes of the same pod, which are to give back theirs: their host ports are free for
  // this one.
  std::vector<std::string> remains;
};

// All that is needed to undo an attachment.
struct Record {
  std::string id;
  std::string netns;
  std::string boot_id;  // of the kernel at its ADD; empty in records of older daemons
  std::string ifname;
  std::string args;  // CNI_ARGS
  // Capability -> its value as JSON.
  std::map<std::string, std::string> capabilities;
  NetworkConfig config;
  std::optional<Result> result;  // absent: ADD was begun, but its end is unknown
};

// CNI_ARGS as Kubernetes' plugins expect it. INVALID_ARGUMENT: a name that would form more than one
// argument.
absl::StatusOr<std::string> ArgsOf(const Attachment& attachment);

// The pod's "namespace/name", from CNI_ARGS.
std::string PodOf(const Record& record);

// The values of the capabilities. `ip_ranges`: prefixes, for the capability ipRanges; empty: none.
std::map<std::string, std::string> CapabilitiesOf(const Attachment& attachment,
                                                  const std::vector<std::string>& ip_ranges);

// True while its network namespace exists. Of a lost pin the file may stay, without a namespace.
bool HasNamespace(const Record& record);

// The record without its result.
std::string ToJson(const Record& record);
absl::StatusOr<Record> RecordFromJson(absl::string_view text);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_ATTACHMENT_H_
