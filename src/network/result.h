// What plugins answer: results of ADD and errors, of every version in one type. They are programs
// of others: everything is checked and bounded. Source: the CNI specification 0.3.1 to 1.1.0,
// "Result" and "Error".
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
  std::string sandbox;         // the pod's namespace; empty: it is the host's
  std::optional<int64_t> mtu;  // from 1.1.0 on, as the two below
  std::string socket_path;
  std::string pci_id;
  bool operator==(const Interface&) const = default;
};

struct IpConfig {
  std::string address;              // with its prefix: "10.1.0.5/16", "2001:db8::5/64"
  std::string gateway;              // empty: none
  std::optional<size_t> interface;  // its place in Result::interfaces
  bool operator==(const IpConfig&) const = default;
};

struct Route {
  std::string dst;  // with its prefix
  std::string gw;   // empty: the plugin's choice
  // From 1.1.0 on.
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

// Of whichever version: what one has and another hasn't, stands under names of its own.
// INVALID_ARGUMENT: it is no result, or of a version that isn't known; an address is none, or an
// index leads nowhere.
absl::StatusOr<Result> ParseResult(absl::string_view text);

// As prevResult is written in that version.
std::string ToJson(const Result& result, Version version);

// The error object that a plugin printed before it failed, as "<msg>; <details> (code <n>)".
// UNAVAILABLE for what may pass by itself (11, 50, 51), FAILED_PRECONDITION for what the
// configuration makes impossible (1, 2, 6, 7), else INTERNAL. INVALID_ARGUMENT: it is no error
// object.
absl::Status ParseError(absl::string_view text);

// The addresses, without prefix, of the interfaces in the pod, in the result's order and each once.
// `names`: only of interfaces that are named so; empty: of all. An address without an interface is
// the pod's first interface's, `first`.
std::vector<std::string> PodAddresses(const Result& result, const std::vector<std::string>& names,
                                      const std::string& first);

// Whether it is an address with a prefix length of its family; one without.
bool IsCidr(absl::string_view text);
bool IsAddress(absl::string_view text);
bool IsIpv6(absl::string_view text);  // of an address or prefix

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_RESULT_H_
