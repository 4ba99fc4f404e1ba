// For tests: a process in namespaces of its own, and network devices that tests make.
#ifndef PLIMSOLL_LINUX_NAMESPACES_OTHER_NAMESPACES_FOR_TEST_H_
#define PLIMSOLL_LINUX_NAMESPACES_OTHER_NAMESPACES_FOR_TEST_H_

#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "linux/route_socket.h"

namespace plimsoll::linux {

// Sleeps in new namespaces (CLONE_NEWNET ...) until this object ends.
class OtherNamespaces {
 public:
  explicit OtherNamespaces(int flags) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    process_ = fork();
    if (process_ == 0) {
      const char made = unshare(flags) == 0 ? 'y' : 'n';
      if (write(ready[1], &made, 1) == 1) pause();
      _exit(0);
    }
    char made = 'n';
    EXPECT_EQ(read(ready[0], &made, 1), 1);
    EXPECT_EQ(made, 'y');
    close(ready[0]);
    close(ready[1]);
  }
  OtherNamespaces(const OtherNamespaces&) = delete;
  OtherNamespaces& operator=(const OtherNamespaces&) = delete;
  ~OtherNamespaces() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::string file(const char* name) const {
    return absl::StrCat("/proc/", process_, "/ns/", name);
  }

 private:
  pid_t process_ = 0;
};

// Pins a new mount namespace at the file, on a private mount, as `unshare --mount=FILE` does. Null:
// all that were tried count as older than the caller's, which the kernel refuses (Linux 6.18
// numbers them by processor).
inline std::unique_ptr<OtherNamespaces> PinMountNamespaceForTest(const std::string& file) {
  for (int tries = 0; tries < 64; ++tries) {
    auto other = std::make_unique<OtherNamespaces>(CLONE_NEWNS);
    if (mount(other->file("mnt").c_str(), file.c_str(), nullptr, MS_BIND, nullptr) == 0) {
      return other;
    }
    EXPECT_EQ(errno, EINVAL);
  }
  return nullptr;
}

// The calling thread is in a new network namespace while this lives.
class OwnNetworkForTest {
 public:
  OwnNetworkForTest() : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    EXPECT_TRUE(before_.valid());
    EXPECT_EQ(unshare(CLONE_NEWNET), 0);
  }
  OwnNetworkForTest(const OwnNetworkForTest&) = delete;
  OwnNetworkForTest& operator=(const OwnNetworkForTest&) = delete;
  ~OwnNetworkForTest() { EXPECT_EQ(setns(before_.get(), CLONE_NEWNET), 0); }

 private:
  const UniqueFd before_;
};

// Makes a device of the kind ("veth": with a peer "veth0", "veth1") in the namespace; empty: the
// calling thread's.
inline absl::Status MakeDeviceForTest(const std::string& network, const std::string& name,
                                      const std::string& kind = "veth") {
  auto socket = RouteSocket::Open(network);
  if (!socket.ok()) return socket.status();
  RouteMessage message(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
  message.AddName(IFLA_IFNAME, name);
  message.AddNamesWithin(IFLA_LINKINFO, IFLA_INFO_KIND, kind);
  return socket->Ask(message, absl::StrCat("make device ", name)).status();
}

// A device, by either kind of name, as the kernel shows it; nothing is there if `index` is 0.
struct DeviceForTest {
  int index = 0;
  bool up = false;
  std::vector<std::string> addresses;  // as bytes, of any scope
};

inline DeviceForTest LookAtDevice(const std::string& network, const std::string& name) {
  DeviceForTest device;
  auto socket = RouteSocket::Open(network);
  EXPECT_TRUE(socket.ok()) << socket.status();
  if (!socket.ok()) return device;
  RouteMessage message(RTM_GETLINK, 0, ifinfomsg{});
  message.AddName(name.size() < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
  const auto link = socket->Ask(message, "look");
  if (!link.ok() || link->empty()) return device;
  const auto header = link->front().As<ifinfomsg>();
  device.index = header.ifi_index;
  device.up = (header.ifi_flags & 1) != 0;  // IFF_UP
  const auto answers = socket->Ask(RouteMessage(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{}), "addresses");
  EXPECT_TRUE(answers.ok()) << answers.status();
  for (const RouteAnswer& answer : *answers) {
    if (static_cast<int>(answer.As<ifaddrmsg>().ifa_index) != device.index) continue;
    device.addresses.push_back(RouteAttributes(answer.payload, sizeof(ifaddrmsg))[IFA_ADDRESS]);
  }
  return device;
}

// Gives it an IPv4 or IPv6 address, as bytes.
inline absl::Status AddAddressForTest(const std::string& network, const std::string& device,
                                      const std::string& address) {
  auto socket = RouteSocket::Open(network);
  if (!socket.ok()) return socket.status();
  ifaddrmsg header = {};
  header.ifa_family = address.size() == 4 ? AF_INET : AF_INET6;
  header.ifa_prefixlen = address.size() == 4 ? 24 : 64;
  header.ifa_index = static_cast<uint32_t>(LookAtDevice(network, device).index);
  RouteMessage message(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, header);
  message.Add(IFA_LOCAL, address);
  message.Add(IFA_ADDRESS, address);
  return socket->Ask(message, "add an address").status();
}

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_OTHER_NAMESPACES_FOR_TEST_H_
