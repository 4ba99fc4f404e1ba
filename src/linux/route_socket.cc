#include "linux/route_socket.h"

#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/network_socket.h"

namespace plimsoll::linux {
namespace {

// The kernel answers at once, but holds a lock that others may have.
constexpr int kAnswerTimeoutMs = 10'000;
// A datagram of the kernel's; it never makes larger ones for a reader with less room.
constexpr size_t kMaxDatagram = 256 * 1024;
// An answer that changes while it is read is asked for again.
constexpr size_t kMaxMessages = 65'536;

size_t Aligned(size_t size) {
  return (size + NLMSG_ALIGNTO - 1) & ~size_t{NLMSG_ALIGNTO - 1};
}

std::string Attribute(uint16_t type, absl::string_view bytes) {
  const rtattr header = {static_cast<uint16_t>(sizeof(rtattr) + bytes.size()), type};
  std::string text(reinterpret_cast<const char*>(&header), sizeof(header));
  text.append(bytes.data(), bytes.size());
  text.resize(Aligned(text.size()), '\0');
  return text;
}

// Ends at the first one that doesn't fit.
void ForEachAttribute(absl::string_view list,
                      absl::FunctionRef<void(uint16_t type, absl::string_view bytes)> take) {
  while (list.size() >= sizeof(rtattr)) {
    rtattr header = {};
    memcpy(&header, list.data(), sizeof(header));
    if (header.rta_len < sizeof(header) || header.rta_len > list.size()) return;
    take(header.rta_type & NLA_TYPE_MASK,
         list.substr(sizeof(header), header.rta_len - sizeof(header)));
    list.remove_prefix(std::min(Aligned(header.rta_len), list.size()));
  }
}

enum class Next { kMore, kDone };

// Takes one message of this answer.
absl::StatusOr<Next> Take(const nlmsghdr& header, absl::string_view payload, absl::string_view what,
                          std::vector<RouteAnswer>* answers) {
  if (header.nlmsg_type == NLMSG_DONE) return Next::kDone;
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error = {};
    if (payload.size() < sizeof(error)) {
      return absl::InternalError(absl::StrCat(what, ": the kernel's answer is too short"));
    }
    memcpy(&error, payload.data(), sizeof(error));
    if (error.error != 0) return ErrnoStatus(-error.error, what);
    return Next::kDone;
  }
  if (answers->size() >= kMaxMessages) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": the kernel's answer has more than ", kMaxMessages, " messages"));
  }
  answers->push_back({header.nlmsg_type, std::string(payload)});
  return (header.nlmsg_flags & NLM_F_MULTI) != 0 ? Next::kMore : Next::kDone;
}

}  // namespace

void RouteMessage::Append(const void* bytes, size_t size) {
  payload_.append(static_cast<const char*>(bytes), size);
  payload_.resize(Aligned(payload_.size()), '\0');
}

void RouteMessage::Add(uint16_t attribute, absl::string_view bytes) {
  payload_ += Attribute(attribute, bytes);
}

void RouteMessage::AddName(uint16_t attribute, const std::string& name) {
  Add(attribute, absl::string_view(name.c_str(), name.size() + 1));
}

void RouteMessage::AddNumber(uint16_t attribute, uint32_t number) {
  Add(attribute, absl::string_view(reinterpret_cast<const char*>(&number), sizeof(number)));
}

void RouteMessage::AddNamesWithin(uint16_t attribute, uint16_t inner, const std::string& name) {
  Add(static_cast<uint16_t>(attribute | NLA_F_NESTED),
      Attribute(inner, absl::string_view(name.c_str(), name.size() + 1)));
}

std::string RouteMessage::Finish(uint32_t sequence) const {
  nlmsghdr header = {};
  header.nlmsg_len = static_cast<uint32_t>(sizeof(header) + payload_.size());
  header.nlmsg_type = type_;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags_);
  header.nlmsg_seq = sequence;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + payload_;
}

std::map<uint16_t, std::string> RouteAttributes(absl::string_view payload, size_t header_size) {
  std::map<uint16_t, std::string> attributes;
  if (payload.size() < Aligned(header_size)) return attributes;
  ForEachAttribute(
      payload.substr(Aligned(header_size)),
      [&](uint16_t type, absl::string_view bytes) { attributes[type] = std::string(bytes); });
  return attributes;
}

std::vector<std::string> RouteNames(absl::string_view list, uint16_t type) {
  std::vector<std::string> names;
  ForEachAttribute(list, [&](uint16_t each, absl::string_view bytes) {
    if (each == type) names.emplace_back(bytes.substr(0, bytes.find('\0')));
  });
  return names;
}

absl::StatusOr<RouteSocket> RouteSocket::Open(const std::string& network_namespace) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd socket,
                            MakeNetworkSocket(network_namespace, AF_NETLINK, SOCK_RAW));
  return RouteSocket(std::move(socket));
}

absl::StatusOr<std::string> RouteSocket::Receive(absl::string_view what) {
  std::string datagram(kMaxDatagram, '\0');
  while (true) {
    pollfd poller = {socket_.get(), POLLIN, 0};
    const int ready = poll(&poller, 1, kAnswerTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return absl::DeadlineExceededError(absl::StrCat(what, ": no answer"));
    const ssize_t n = recv(socket_.get(), datagram.data(), datagram.size(), MSG_TRUNC);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return ErrnoStatus(errno, what);
    if (static_cast<size_t>(n) > datagram.size()) {
      return absl::ResourceExhaustedError(absl::StrCat(what, ": the kernel's answer is too long"));
    }
    datagram.resize(static_cast<size_t>(n));
    return datagram;
  }
}

absl::StatusOr<std::vector<RouteAnswer>> RouteSocket::Ask(const RouteMessage& message,
                                                          absl::string_view what) {
  const std::string text = message.Finish(++sequence_);
  if (send(socket_.get(), text.data(), text.size(), 0) < 0) return ErrnoStatus(errno, what);
  std::vector<RouteAnswer> answers;
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string datagram, Receive(what));
    absl::string_view rest = datagram;
    while (rest.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header = {};
      memcpy(&header, rest.data(), sizeof(header));
      if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > rest.size()) {
        return absl::InternalError(absl::StrCat(what, ": the kernel's answer is cut off"));
      }
      const absl::string_view payload = rest.substr(0, header.nlmsg_len).substr(sizeof(header));
      rest.remove_prefix(std::min(Aligned(header.nlmsg_len), rest.size()));
      if (header.nlmsg_seq != sequence_) continue;
      PLIMSOLL_ASSIGN_OR_RETURN(const Next next, Take(header, payload, what, &answers));
      if (next == Next::kDone) return answers;
    }
  }
}

}  // namespace plimsoll::linux
