// Requests to the kernel about network interfaces: rtnetlink(7).
#ifndef PLIMSOLL_LINUX_ROUTE_SOCKET_H_
#define PLIMSOLL_LINUX_ROUTE_SOCKET_H_

#include <linux/netlink.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// A request: a header of the type's own, then attributes.
class RouteMessage {
 public:
  template <typename Header>
  RouteMessage(uint16_t type, uint16_t flags, const Header& header) : type_(type), flags_(flags) {
    Append(&header, sizeof(header));
  }
  void Add(uint16_t attribute, absl::string_view bytes);
  // With the NUL that the kernel expects behind a name.
  void AddName(uint16_t attribute, const std::string& name);
  void AddNumber(uint16_t attribute, uint32_t number);
  // An attribute that holds those of `inner`, whose own header is left out.
  void AddNamesWithin(uint16_t attribute, uint16_t inner, const std::string& name);
  // The message with this number, as the kernel takes it.
  std::string Finish(uint32_t sequence) const;

 private:
  void Append(const void* bytes, size_t size);

  uint16_t type_;
  uint16_t flags_;
  std::string payload_;
};

// A message of the kernel's answer.
struct RouteAnswer {
  uint16_t type = 0;
  std::string payload;  // from the type's own header on

  // The payload's beginning; zeros beyond its end.
  template <typename Header>
  Header As() const {
    Header header = {};
    memcpy(&header, payload.data(),
           payload.size() < sizeof(header) ? payload.size() : sizeof(header));
    return header;
  }
};

// Attributes behind a header of this size, by type; of several the last.
std::map<uint16_t, std::string> RouteAttributes(absl::string_view payload, size_t header_size);

// The texts of all attributes of a type in a list of attributes, without their NUL.
std::vector<std::string> RouteNames(absl::string_view list, uint16_t type);

// A socket in one network namespace. Not thread-safe.
class RouteSocket {
 public:
  // `network_namespace`: path of its file; empty: the calling thread's.
  static absl::StatusOr<RouteSocket> Open(const std::string& network_namespace);

  // Sends it and returns the answer: that of NLM_F_ACK has no messages. The kernel's error is
  // ErrnoStatus with `what`.
  absl::StatusOr<std::vector<RouteAnswer>> Ask(const RouteMessage& message, absl::string_view what);

 private:
  explicit RouteSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  absl::StatusOr<std::string> Receive(absl::string_view what);

  UniqueFd socket_;
  uint32_t sequence_ = 0;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_ROUTE_SOCKET_H_
