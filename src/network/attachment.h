// What is asked for a pod's network, and what is on record of it.
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
  std::string protocol = "tcp";  // tcp, udp, sctp
  int32_t container_port = 0;
  int32_t host_port = 0;
  std::string host_ip;  // empty: every address of the host
  bool operator==(const PortMapping&) const = default;
};

// What plugins that declare the capability are given (CNI "CONVENTIONS", runtimeConfig).
struct Capabilities {
  std::vector<PortMapping> port_mappings;
  std::optional<int64_t> ingress_bits_per_second;  // to the pod; absent: no limit
  std::optional<int64_t> egress_bits_per_second;
  bool operator==(const Capabilities&) const = default;
};

struct Attachment {
  std::string id;     // of the sandbox
  std::string netns;  // path of its pin
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  Capabilities capabilities;
  Dns dns;  // of the pod, for the capability dns
};

// Enough to undo an attachment without knowing anything else.
struct Record {
  std::string id;
  std::string netns;
  std::string boot_id;  // of the kernel it was begun under; empty: on record from before that was
  std::string ifname;
  std::string args;  // CNI_ARGS
  // Capability -> its value, JSON.
  std::map<std::string, std::string> capabilities;
  NetworkConfig config;
  std::optional<Result> result;  // absent: ADD was begun and nobody has seen its end
};

// CNI_ARGS as Kubernetes' plugins expect it. INVALID_ARGUMENT: a name that would be more than one
// argument.
absl::StatusOr<std::string> ArgsOf(const Attachment& attachment);

// The pod's "namespace/name", from those.
std::string PodOf(const Record& record);

// `ip_ranges`: prefixes, for the capability ipRanges; empty: none.
std::map<std::string, std::string> CapabilitiesOf(const Attachment& attachment,
                                                  const std::vector<std::string>& ip_ranges);

// Whether its network namespace is there: of a pin that is gone the file stays, or nothing.
bool HasNamespace(const Record& record);

// Without the result.
std::string ToJson(const Record& record);
absl::StatusOr<Record> RecordFromJson(absl::string_view text);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_ATTACHMENT_H_
