// Plugins' output: results of ADD and errors, of every version in one type. It is foreign:
// everything is checked and bounded. Source: the CNI specification 0.3.1 to 1.1.0, "Result" and
// "Error".
#ifndef PLIMSOLL_NETWORK_RESULT_H_
#define PLIMSOLL_NETWORK_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "network/config.h"

namespace plimsoll::network {

inline constexpr size_t kMaxResultBytes = 1024 * 1024;

struct Interface {
  std::string name;
  std::string mac;
  std::string sandbox;         // the pod's namespace; empty: the interface is the host's
  std::optional<int64_t> mtu;  // since 1.1.0, as the two below
  std::string socket_path;
  std::string pci_id;
  bool operator==(const Interface&) const = default;
};

struct IpConfig {
  std::string address;              // with its prefix: "10.1.0.5/16", "2001:db8::5/64"
  std::string gateway;              // empty: none
  std::optional<size_t> interface;  // index into Result::interfaces
  bool operator==(const IpConfig&) const = default;
};

struct Route {
  std::string dst;  // with its prefix
  std::string gw;   // empty: the plugin's choice
  // Since 1.1.0.
  std::optional<int64_t> mtu;
  std::optional<int64_t> advmss;
  std::optional<int64_t> priority;
  std::optional<int64_t> table;
  std::optional<int64_t> scope;
  bool operator==(const Route&) const = default;
};

struct Dns {
  std::vector<std::string> nameservers;
  std::string domain;
  std::vector<std::string> search;
  std::vector<std::string> options;
  bool operator==(const Dns&) const = default;
};

struct Result {
  std::vector<Interface> interfaces;
  std::vector<IpConfig> ips;
  std::vector<Route> routes;
  Dns dns;
  bool operator==(const Result&) const = default;
};

// Parses any version; members of different versions have different names here. INVALID_ARGUMENT:
// not a result, an unknown version, a wrong address, or an index that leads nowhere.
absl::StatusOr<Result> ParseResult(absl::string_view text);

// The result as that version's prevResult.
std::string ToJson(const Result& result, Version version);

// Parses the error object of a failed plugin: "<msg>; <details> (code <n>)". UNAVAILABLE for
// passing failures (11, 50, 51), FAILED_PRECONDITION for those due to the configuration (1, 2, 6,
// 7), else INTERNAL. INVALID_ARGUMENT: not an error object.
absl::Status ParseError(absl::string_view text);

// The addresses, without prefix, of the interfaces in the pod, in the result's order and each once.
// `names`: the interfaces to include; empty: all. An address without an interface belongs to the
// pod's first interface, `first`.
std::vector<std::string> PodAddresses(const Result& result, const std::vector<std::string>& names,
                                      const std::string& first);

// True for an address with a prefix length valid for its family; for one without.
bool IsCidr(absl::string_view text);
bool IsAddress(absl::string_view text);
bool IsIpv6(absl::string_view text);  // of an address or prefix

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_RESULT_H_
