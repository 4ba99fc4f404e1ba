#include "linux/net_devices.h"

#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/route_socket.h"

namespace plimsoll::linux {
namespace {

constexpr char kOwnNamespace[] = "/proc/thread-self/ns/net";
constexpr size_t kMostNameBytes = IFNAMSIZ - 1;

struct Link {
  int index = 0;
  std::string name;
  bool up = false;
  std::vector<std::string> alternative_names;
};

// Names of devices have no ':'.
std::string MarkWithoutOwner(const NetDeviceMove& move) {
  return absl::StrCat("plimsoll:", move.name, ":");
}

std::string MarkOf(const NetDeviceMove& move) {
  return absl::StrCat(MarkWithoutOwner(move), move.owner);
}

std::string Shown(const std::string& network_namespace) {
  return network_namespace.empty() ? "the host's network namespace" : network_namespace;
}

// A name of either kind. NOT_FOUND.
absl::StatusOr<Link> FindLink(RouteSocket* socket, const std::string& name) {
  RouteMessage message(RTM_GETLINK, 0, ifinfomsg{});
  // Only here has the kernel room for an alternative name.
  message.AddName(name.size() > kMostNameBytes ? IFLA_ALT_IFNAME : IFLA_IFNAME, name);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<RouteAnswer> answers,
                            socket->Ask(message, absl::StrCat("look for network device ", name)));
  if (answers.empty()) return absl::NotFoundError(absl::StrCat("no network device ", name));
  const auto header = answers.front().As<ifinfomsg>();
  const auto attributes = RouteAttributes(answers.front().payload, sizeof(header));
  const auto found = attributes.find(IFLA_IFNAME);
  Link link;
  link.index = header.ifi_index;
  link.up = (header.ifi_flags & IFF_UP) != 0;
  if (found != attributes.end()) link.name = found->second.c_str();
  const auto list = attributes.find(IFLA_PROP_LIST);
  if (list != attributes.end()) {
    link.alternative_names = RouteNames(list->second, IFLA_ALT_IFNAME);
  }
  return link;
}

absl::StatusOr<bool> HasLink(RouteSocket* socket, const std::string& name) {
  const absl::StatusOr<Link> link = FindLink(socket, name);
  if (absl::IsNotFound(link.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(link.status());
  return true;
}

// A permanent address of global scope, as the kernel takes it again.
struct Address {
  ifaddrmsg header = {};
  std::map<uint16_t, std::string> attributes;
};

absl::StatusOr<std::vector<Address>> AddressesOf(RouteSocket* socket, const Link& link) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::vector<RouteAnswer> answers,
      socket->Ask(RouteMessage(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}),
                  absl::StrCat("list the addresses of network device ", link.name)));
  std::vector<Address> addresses;
  for (const RouteAnswer& answer : answers) {
    const auto header = answer.As<ifaddrmsg>();
    if (answer.type != RTM_NEWADDR || static_cast<int>(header.ifa_index) != link.index) continue;
    auto attributes = RouteAttributes(answer.payload, sizeof(header));
    uint32_t flags = header.ifa_flags;
    if (const auto found = attributes.find(IFA_FLAGS);
        found != attributes.end() && found->second.size() == sizeof(flags)) {
      memcpy(&flags, found->second.data(), sizeof(flags));
    }
    if (header.ifa_scope != RT_SCOPE_UNIVERSE || (flags & IFA_F_PERMANENT) == 0) continue;
    Address address;
    address.header = header;
    address.header.ifa_flags = 0;
    for (const uint16_t kept : {IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST, IFA_RT_PRIORITY}) {
      const auto found = attributes.find(kept);
      if (found != attributes.end()) address.attributes.insert(*found);
    }
    // It was there before: nobody has taken it in the way of one device.
    flags = (flags & IFA_F_NOPREFIXROUTE) | (header.ifa_family == AF_INET6 ? IFA_F_NODAD : 0);
    address.attributes[IFA_FLAGS] =
        std::string(reinterpret_cast<const char*>(&flags), sizeof(flags));
    addresses.push_back(std::move(address));
  }
  return addresses;
}

absl::Status SetUp(RouteSocket* socket, const Link& link) {
  ifinfomsg header = {};
  header.ifi_index = link.index;
  header.ifi_flags = IFF_UP;
  header.ifi_change = IFF_UP;
  return socket
      ->Ask(RouteMessage(RTM_NEWLINK, NLM_F_ACK, header),
            absl::StrCat("bring network device ", link.name, " up"))
      .status();
}

absl::Status AddAddresses(RouteSocket* socket, const Link& link,
                          const std::vector<Address>& addresses) {
  for (const Address& address : addresses) {
    ifaddrmsg header = address.header;
    header.ifa_index = static_cast<uint32_t>(link.index);
    RouteMessage message(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, header);
    for (const auto& [type, value] : address.attributes) message.Add(type, value);
    PLIMSOLL_RETURN_IF_ERROR(
        socket->Ask(message, absl::StrCat("give network device ", link.name, " its address"))
            .status());
  }
  return absl::OkStatus();
}

absl::Status ChangeMark(RouteSocket* socket, bool add, const Link& link, const std::string& mark) {
  ifinfomsg header = {};
  header.ifi_index = link.index;
  RouteMessage message(add ? RTM_NEWLINKPROP : RTM_DELLINKPROP,
                       add ? NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL : NLM_F_ACK, header);
  message.AddNamesWithin(IFLA_PROP_LIST, IFLA_ALT_IFNAME, mark);
  return socket
      ->Ask(message,
            absl::StrCat(add ? "add" : "remove", " alternative name ", mark, " of ", link.name))
      .status();
}

absl::StatusOr<UniqueFd> OpenNamespace(const std::string& path) {
  const char* file = path.empty() ? kOwnNamespace : path.c_str();
  UniqueFd opened(open(file, O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return ErrnoStatus(errno, absl::StrCat("open ", file));
  return opened;
}

bool IsSameFile(const UniqueFd& one, const UniqueFd& other) {
  struct stat a = {};
  struct stat b = {};
  return fstat(one.get(), &a) == 0 && fstat(other.get(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Sends a device into the namespace with a name there. The kernel takes it down on the way.
absl::Status Send(RouteSocket* socket, const Link& link, const UniqueFd& to,
                  const std::string& name) {
  ifinfomsg header = {};
  header.ifi_index = link.index;
  RouteMessage message(RTM_NEWLINK, NLM_F_ACK, header);
  message.AddNumber(IFLA_NET_NS_FD, static_cast<uint32_t>(to.get()));
  message.AddName(IFLA_IFNAME, name);
  const absl::Status sent =
      socket->Ask(message, absl::StrCat("move network device ", link.name)).status();
  if (ErrnoOf(sent) != EINVAL) return sent;
  return absl::FailedPreconditionError(absl::StrCat(
      "network device ", link.name, " can't leave its network namespace (", sent.message(), ")"));
}

// Moves the device at `mark` from one socket's namespace to the other's.
absl::Status Carry(RouteSocket* from, RouteSocket* to, const Link& link, const UniqueFd& target,
                   const std::string& mark, const std::string& name, bool up) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Address> addresses, AddressesOf(from, link));
  const absl::Status sent = Send(from, link, target, name);
  // If the kernel refuses the name alone, the device may have moved all the same.
  const absl::StatusOr<Link> there = FindLink(to, mark);
  if (!there.ok()) return sent.ok() ? there.status() : sent;
  if (up) PLIMSOLL_RETURN_IF_ERROR(SetUp(to, *there));
  return FirstError(sent, AddAddresses(to, *there, addresses));
}

// Whether an earlier move has brought the device. If so, it is this owner's from now on.
absl::StatusOr<bool> TakeOver(RouteSocket* to, const NetDeviceMove& move) {
  const absl::StatusOr<Link> there = FindLink(to, move.renamed);
  if (absl::IsNotFound(there.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(there.status());
  for (const std::string& mark : there->alternative_names) {
    if (!absl::StartsWith(mark, MarkWithoutOwner(move))) continue;
    if (mark == MarkOf(move)) return true;
    PLIMSOLL_RETURN_IF_ERROR(ChangeMark(to, /*add=*/true, *there, MarkOf(move)));
    PLIMSOLL_RETURN_IF_ERROR(ChangeMark(to, /*add=*/false, *there, mark));
    return true;
  }
  return false;
}

}  // namespace

absl::Status CheckNetDeviceName(absl::string_view name) {
  // dev_valid_name in net/core/dev.c. The kernel would put a number for a '%'.
  const bool good =
      !name.empty() && name.size() <= kMostNameBytes && name != "." && name != ".." &&
      absl::c_all_of(name, [](unsigned char c) {
        return c != '/' && c != ':' && c != '%' && c != '\0' && !absl::ascii_isspace(c);
      });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(name), "\" is no name of a network device: 1 to ",
                   kMostNameBytes, " bytes without blanks, '/', ':' and '%'"));
}

absl::StatusOr<MovedNetDevice> MoveNetDevice(const NetDeviceMove& move) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNetDeviceName(move.name));
  PLIMSOLL_RETURN_IF_ERROR(CheckNetDeviceName(move.renamed));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd source, OpenNamespace(move.from));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd target, OpenNamespace(move.to));
  if (IsSameFile(source, target)) {
    return absl::FailedPreconditionError(
        absl::StrCat("network device ", move.name,
                     " can't be given to a container in the same network namespace, the host's"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(RouteSocket from, RouteSocket::Open(move.from));
  PLIMSOLL_ASSIGN_OR_RETURN(RouteSocket to, RouteSocket::Open(move.to));
  const absl::StatusOr<Link> link = FindLink(&from, move.name);
  if (absl::IsNotFound(link.status())) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool in_place, TakeOver(&to, move));
    if (in_place) return MovedNetDevice{.name = move.name, .was_up = false, .moved = false};
    return absl::NotFoundError(
        absl::StrCat("there is no network device ", move.name, " in ", Shown(move.from)));
  }
  PLIMSOLL_RETURN_IF_ERROR(link.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const bool taken, HasLink(&to, move.renamed));
  if (taken) {
    return absl::FailedPreconditionError(absl::StrCat("network device ", move.name, " can't be ",
                                                      move.renamed, " in ", move.to,
                                                      ": another has that name there"));
  }
  const MovedNetDevice moved = {.name = link->name, .was_up = link->up, .moved = true};
  const std::string mark = MarkOf(move);
  PLIMSOLL_RETURN_IF_ERROR(ChangeMark(&from, /*add=*/true, *link, mark));
  const absl::Status carried = Carry(&from, &to, *link, target, mark, move.renamed, /*up=*/true);
  if (carried.ok()) return moved;
  absl::Status back = MoveNetDeviceBack(move, moved);
  if (const auto here = FindLink(&from, mark); here.ok()) {
    back = FirstError(back, ChangeMark(&from, /*add=*/false, *here, mark));
  }
  return AlsoNotSetBack(carried, back);
}

absl::Status MoveNetDeviceBack(const NetDeviceMove& move, const MovedNetDevice& device) {
  if (!device.moved) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd home, OpenNamespace(move.from));
  PLIMSOLL_ASSIGN_OR_RETURN(RouteSocket away, RouteSocket::Open(move.to));
  const std::string mark = MarkOf(move);
  const absl::StatusOr<Link> link = FindLink(&away, mark);
  if (absl::IsNotFound(link.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(link.status());
  PLIMSOLL_ASSIGN_OR_RETURN(RouteSocket there, RouteSocket::Open(move.from));
  PLIMSOLL_RETURN_IF_ERROR(Carry(&away, &there, *link, home, mark, device.name, device.was_up));
  PLIMSOLL_ASSIGN_OR_RETURN(const Link back, FindLink(&there, mark));
  return ChangeMark(&there, /*add=*/false, back, mark);
}

}  // namespace plimsoll::linux
