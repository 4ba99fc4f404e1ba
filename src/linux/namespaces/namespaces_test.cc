#include "linux/namespaces/namespaces.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/sysctl_name.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseSysctlName, TakesBothSpellings) {
  EXPECT_EQ(ParseSysctlName("net.ipv4.ip_forward")->path, "net/ipv4/ip_forward");
  EXPECT_EQ(ParseSysctlName("net/ipv4/ip_forward")->path, "net/ipv4/ip_forward");
  EXPECT_EQ(ParseSysctlName("net.ipv4.conf.eth0/1.forwarding")->path,
            "net/ipv4/conf/eth0.1/forwarding");
  EXPECT_EQ(ParseSysctlName("net/ipv4/conf/eth0.1/forwarding")->path,
            "net/ipv4/conf/eth0.1/forwarding");
}

TEST(ParseSysctlName, KnowsTheNamespace) {
  EXPECT_EQ(ParseSysctlName("net.core.somaxconn")->belongs_to, SysctlNamespace::kNetwork);
  EXPECT_EQ(ParseSysctlName("kernel.shmmax")->belongs_to, SysctlNamespace::kIpc);
  EXPECT_EQ(ParseSysctlName("kernel.sem")->belongs_to, SysctlNamespace::kIpc);
  EXPECT_EQ(ParseSysctlName("fs.mqueue.msg_max")->belongs_to, SysctlNamespace::kIpc);
  EXPECT_EQ(ParseSysctlName("kernel.domainname")->belongs_to, SysctlNamespace::kUts);
}

TEST(ParseSysctlName, RefusesTheHostsOwn) {
  for (const char* name : {"kernel.panic", "vm.swappiness", "kernel.semaphore", "net", "", "kernel",
                           "kernel.hostname.x", "fs.mqueue", "net..core", "net/../kernel/panic",
                           "net.//.kernel.panic", "/net/core", "kernel.domainname/"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseSysctlName(name).status())) << name;
  }
}

class NamespacesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakePrivateMountPoint(real_, dir_.path()).ok()); }
  void TearDown() override {
    EXPECT_TRUE(UnpinNamespaces(directory()).ok());
    EXPECT_TRUE(UnmountBelow(real_, dir_.path()).ok());
  }
  // Opened again: dir_'s own root lies under the private mount.
  FsRoot directory() { return *FsRoot::Open(dir_.path()); }

  // Runs in a thread that has entered a pinned namespace.
  void Inside(const char* name, const std::function<void()>& what) {
    std::thread([&] {
      const UniqueFd fd = *directory().OpenFile(name, O_RDONLY);
      ASSERT_EQ(setns(fd.get(), 0), 0);
      what();
    }).join();
  }
  std::string Sysctl(absl::string_view path) { return *FsRoot::Open("/proc/sys")->Read(path); }

  TestDir dir_;
  FsRoot real_ = *FsRoot::Open("/");
};

TEST_F(NamespacesTest, PinsWhatIsAskedFor) {
  ASSERT_TRUE(PinNamespaces(directory(), {.network = true, .ipc = true, .uts = true}).ok());
  EXPECT_THAT(*directory().List("."), ElementsAre("ipc", "net", "uts"));
  for (const char* name : {"net", "ipc", "uts"}) {
    struct stat host = {};
    ASSERT_EQ(stat(absl::StrCat("/proc/self/ns/", name).c_str(), &host), 0);
    const auto pinned = directory().Stat(name);
    ASSERT_TRUE(pinned.ok());
    EXPECT_EQ(pinned->st_dev, host.st_dev) << "is a namespace";
    EXPECT_NE(pinned->st_ino, host.st_ino) << "is not the host's";
  }
  ASSERT_TRUE(UnpinNamespaces(directory()).ok());
  EXPECT_THAT(*directory().List("."), IsEmpty());
  EXPECT_TRUE(UnpinNamespaces(directory()).ok()) << "again is fine";
}

TEST_F(NamespacesTest, LeavesTheHostAlone) {
  char before[256] = "";
  char after[256] = "";
  ASSERT_EQ(gethostname(before, sizeof(before)), 0);
  const std::string shmmni = Sysctl("kernel/shmmni");
  const std::string forward = Sysctl("net/ipv4/ip_forward");
  ASSERT_TRUE(PinNamespaces(directory(), {.network = true,
                                          .ipc = true,
                                          .uts = true,
                                          .hostname = "plimsoll-test-host",
                                          .sysctls = {{"kernel.shmmni", "123"},
                                                      {"kernel.domainname", "example.org"},
                                                      {"fs/mqueue/msg_max", "17"},
                                                      {"net.ipv4.ip_forward", "1"}}})
                  .ok());
  ASSERT_EQ(gethostname(after, sizeof(after)), 0);
  EXPECT_STREQ(before, after);
  EXPECT_EQ(Sysctl("kernel/shmmni"), shmmni);
  EXPECT_EQ(Sysctl("net/ipv4/ip_forward"), forward);

  Inside("uts", [&] {
    char inside[256] = "";
    ASSERT_EQ(gethostname(inside, sizeof(inside)), 0);
    EXPECT_STREQ(inside, "plimsoll-test-host");
    EXPECT_EQ(Sysctl("kernel/domainname"), "example.org\n");
  });
  Inside("ipc", [&] {
    EXPECT_EQ(Sysctl("kernel/shmmni"), "123\n");
    EXPECT_EQ(Sysctl("fs/mqueue/msg_max"), "17\n");
  });
  Inside("net", [&] { EXPECT_EQ(Sysctl("net/ipv4/ip_forward"), "1\n"); });
}

TEST_F(NamespacesTest, LoopbackIsUp) {
  ASSERT_TRUE(PinNamespaces(directory(), {.network = true}).ok());
  EXPECT_THAT(*directory().List("."), ElementsAre("net"));
  Inside("net", [] {
    const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    struct ifreq request = {.ifr_ifrn = {"lo"}};
    ASSERT_EQ(ioctl(handle.get(), SIOCGIFFLAGS, &request), 0);
    EXPECT_TRUE(request.ifr_flags & IFF_UP);
  });
}

TEST_F(NamespacesTest, AreMadeInAUserNamespace) {
  const std::string shmmni = Sysctl("kernel/shmmni");
  const std::string forward = Sysctl("net/ipv4/ip_forward");
  const absl::Status made = PinNamespaces(
      directory(), {.network = true,
                    .ipc = true,
                    .uts = true,
                    .hostname = "plimsoll-test-user",
                    .sysctls = {{"kernel.shmmni", "123"},
                                {"fs.mqueue.msg_max", "17"},
                                {"net.ipv4.ip_forward", "1"}},
                    .uids = {{.host_id = 300000, .container_id = 0, .length = 65536}},
                    .gids = {{.host_id = 300000, .container_id = 0, .length = 65536}}});
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_THAT(*directory().List("."), ElementsAre("ipc", "net", "user", "uts"));
  EXPECT_TRUE(*IsPinned(directory(), "user"));
  struct stat user = {};
  ASSERT_EQ(stat("/proc/self/ns/user", &user), 0);
  EXPECT_NE(directory().Stat("user")->st_ino, user.st_ino);
  for (const char* name : {"net", "ipc", "uts"}) {
    const UniqueFd space = *directory().OpenFile(name, O_RDONLY);
    const UniqueFd owner(ioctl(space.get(), NS_GET_USERNS));
    struct stat info = {};
    ASSERT_EQ(fstat(owner.get(), &info), 0);
    EXPECT_EQ(info.st_ino, directory().Stat("user")->st_ino) << name << " belongs to it";
  }
  Inside("uts", [] {
    char inside[256] = "";
    ASSERT_EQ(gethostname(inside, sizeof(inside)), 0);
    EXPECT_STREQ(inside, "plimsoll-test-user");
  });
  Inside("ipc", [&] {
    EXPECT_EQ(Sysctl("kernel/shmmni"), "123\n");
    EXPECT_EQ(Sysctl("fs/mqueue/msg_max"), "17\n");
  });
  Inside("net", [&] { EXPECT_EQ(Sysctl("net/ipv4/ip_forward"), "1\n"); });
  EXPECT_EQ(Sysctl("kernel/shmmni"), shmmni);
  EXPECT_EQ(Sysctl("net/ipv4/ip_forward"), forward);
  ASSERT_TRUE(UnpinNamespaces(directory()).ok());
  EXPECT_THAT(*directory().List("."), IsEmpty());
}

TEST_F(NamespacesTest, MappingsAreBothOrNone) {
  const absl::Status status =
      PinNamespaces(directory(), {.ipc = true, .uids = {{300000, 0, 65536}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("gids"));
  EXPECT_THAT(*directory().List("."), IsEmpty());
}

TEST_F(NamespacesTest, RefusesWhatWouldReachTheHost) {
  const auto refused = [this](const NamespaceRequest& request, const char* why) {
    const absl::Status status = PinNamespaces(directory(), request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_THAT(*directory().List("."), IsEmpty());
  };
  refused({.network = true, .hostname = "x"}, "hostname");
  refused({.uts = true, .hostname = std::string(65, 'x')}, "64");
  refused({.ipc = true, .sysctls = {{"net.ipv4.ip_forward", "1"}}}, "net.ipv4.ip_forward");
  refused({.network = true, .sysctls = {{"kernel.shmmax", "1"}}}, "kernel.shmmax");
  refused({.network = true, .sysctls = {{"vm.swappiness", "1"}}}, "whole machine");
}

TEST_F(NamespacesTest, NothingIsLeftWhenAStepFails) {
  const absl::Status unknown =
      PinNamespaces(directory(), {.network = true, .sysctls = {{"net.no.such", "1"}}});
  EXPECT_TRUE(absl::IsInvalidArgument(unknown)) << unknown;
  EXPECT_THAT(unknown.message(), HasSubstr("net.no.such"));
  const absl::Status value =
      PinNamespaces(directory(), {.ipc = true, .sysctls = {{"kernel.shmmni", "many"}}});
  EXPECT_TRUE(absl::IsInvalidArgument(value)) << value;
  EXPECT_THAT(value.message(), HasSubstr("many"));
  const absl::Status part =
      PinNamespaces(directory(), {.ipc = true, .sysctls = {{"kernel.shm_rmid_forced", "1\n0"}}});
  EXPECT_TRUE(absl::IsInvalidArgument(part)) << part;
  EXPECT_THAT(part.message(), HasSubstr("of the value \"1\\n0\" the kernel takes a part only"));
  EXPECT_THAT(*directory().List("."), IsEmpty());

  // The last of the three can't be pinned: the others are removed again, the file stays.
  ASSERT_TRUE(directory().ReplaceFile("uts", "mine").ok());
  const absl::Status taken =
      PinNamespaces(directory(), {.network = true, .ipc = true, .uts = true});
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
  EXPECT_THAT(*directory().List("."), ElementsAre("uts"));
  EXPECT_EQ(*directory().Read("uts"), "mine");
}

TEST_F(NamespacesTest, WhatCannotBeLookedAtIsNotUnpinned) {
  const FsRoot place = directory();
  ASSERT_TRUE(PinNamespaces(place, {.uts = true}).ok());
  absl::StatusOr<bool> is_pinned = true;
  absl::Status unpinned;
  {
    const NoDescriptors none;
    is_pinned = IsPinned(place, "uts");
    unpinned = UnpinNamespaces(place);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(is_pinned.status())) << is_pinned.status();
  EXPECT_TRUE(absl::IsResourceExhausted(unpinned)) << unpinned;
  EXPECT_TRUE(*IsPinned(place, "uts"));
  EXPECT_FALSE(*IsPinned(place, "net"));
}

TEST_F(NamespacesTest, NothingToMakeIsFine) {
  EXPECT_TRUE(PinNamespaces(directory(), {}).ok());
  EXPECT_THAT(*directory().List("."), IsEmpty());
}

TEST_F(NamespacesTest, ManyAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("sandbox", i);
    ASSERT_TRUE(directory().MakeDirs(name).ok());
    threads.emplace_back([this, name] {
      EXPECT_TRUE(
          PinNamespaces(*directory().Sub(name), {.ipc = true, .uts = true, .hostname = name}).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("sandbox", i);
    Inside((name + "/uts").c_str(), [&] {
      char inside[256] = "";
      ASSERT_EQ(gethostname(inside, sizeof(inside)), 0);
      EXPECT_EQ(inside, name);
    });
    EXPECT_TRUE(UnpinNamespaces(*directory().Sub(name)).ok());
  }
}

}  // namespace
}  // namespace plimsoll::linux
