// A tracker that hears the kernel's events, and one that can't.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <thread>

#include "base/no_descriptors_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/tracker_fixture_for_test.h"

namespace plimsoll::topology {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// From now on this thread, and those that it makes, get EPROTONOSUPPORT for netlink sockets. False:
// the kernel has no seccomp filters.
bool RefuseNetlink() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = std::size(program), .filter = program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// A socket in the kernel's place.
class InjectedTrackerTest : public TrackerTest {
 protected:
  InjectedTrackerTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    kernel_ = UniqueFd(ends[0]);
    options_.events = std::make_shared<linux::UeventSocket>(
        linux::UeventSocket::Adopt(UniqueFd(ends[1]), {.subsystems = {"cpu", "memory"}}));
    options_.poll_interval = absl::Hours(1);
  }
  void AwaitHeard() {
    int unread = 1;
    for (const absl::Time end = absl::Now() + absl::Seconds(30); unread > 0 && absl::Now() < end;) {
      absl::SleepFor(absl::Milliseconds(5));
      ASSERT_EQ(ioctl(kernel_.get(), SIOCOUTQ, &unread), 0);
    }
    EXPECT_EQ(unread, 0);
  }
  // The kernel's format (lib/kobject_uevent.c).
  void Send(absl::string_view action, uint32_t number, absl::string_view subsystem = "cpu") {
    const std::string path = absl::StrCat("/devices/system/", subsystem, "/", subsystem, number);
    std::string event = absl::StrCat(action, "@", path);
    for (const std::string& property :
         {absl::StrCat("ACTION=", action), absl::StrCat("DEVPATH=", path),
          absl::StrCat("SUBSYSTEM=", subsystem), absl::StrCat("SEQNUM=", ++sequence_)}) {
      event.push_back('\0');
      event += property;
    }
    event.push_back('\0');
    while (send(kernel_.get(), event.data(), event.size(), 0) < 0) {  // full: wait until it is read
      ASSERT_EQ(errno, EAGAIN);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  UniqueFd kernel_;
  int sequence_ = 0;
};

// Each CPU of a hot-add sends two events, and the machine changes after each.
TEST_F(InjectedTrackerTest, AHotAddOf64CpusIsOneMessage) {
  AddCpus(files_, 1, 68, 1);
  files_.Cpus("0-3", "0-67");
  options_.quiet = absl::Milliseconds(500);
  options_.at_most = absl::Hours(1);
  Start();
  ASSERT_EQ(Newest("cpu"), "4");
  absl::Duration longest_gap;
  absl::Time last = absl::Now();
  for (uint32_t cpu = 4; cpu < 68; ++cpu) {
    Send("add", cpu);
    absl::SleepFor(absl::Milliseconds(1));
    files_.Put("sys/devices/system/cpu/online", absl::StrCat("0-", cpu, "\n"));
    Send("online", cpu);
    longest_gap = std::max(longest_gap, absl::Now() - last);
    last = absl::Now();
  }
  for (int i = 0; i < 6000 && Newest("cpu") != "68"; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(Newest("cpu"), "68");
  // Events so far apart are no burst.
  const bool was_a_burst = longest_gap < options_.quiet;
  EXPECT_TRUE(!was_a_burst || publisher_.Newest().number == 2) << publisher_.Newest().number;
}

TEST_F(InjectedTrackerTest, AnEventIsEnough) {
  options_.quiet = absl::Milliseconds(1);
  Start();
  TakeCpuOffline(3, "0-2");
  Send("offline", 3);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("cpu"), "3");
}

// cgroup v1 has taken it from every group by then.
TEST_F(InjectedTrackerTest, ACpuThatIsBackBeforeTheLookIsNews) {
  options_.quiet = absl::Milliseconds(1);
  Start();
  ASSERT_EQ(news().size(), 1u);
  const uint64_t number = publisher_.Newest().number;
  Send("offline", 3);
  Send("online", 3);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_FALSE(news()[1].changed);
  EXPECT_EQ(news()[1].partition.cpus.ToString(), "0-3");
  EXPECT_EQ(publisher_.Newest().number, number) << "for clients nothing has changed";
  // A change of memory loses nothing.
  Send("change", 0, "memory");
  AwaitHeard();
  Send("offline", 3);
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(news().size(), 3u);
}

// A memory module of two blocks, 1 and 2, of a gibibyte each; block 0 is always there.
class MemoryModuleTest : public InjectedTrackerTest {
 protected:
  MemoryModuleTest() {
    options_.quiet = absl::Milliseconds(1);
    options_.at_most = absl::Milliseconds(1);
    options_.module_at_most = absl::Hours(1);
    SetPolicy("online_movable");
    PutMemory(8);
  }
  void SetPolicy(absl::string_view policy) {
    files_.Put("sys/devices/system/memory/auto_online_blocks", absl::StrCat(policy, "\n"));
  }
  void PutState(uint32_t block, absl::string_view state) {
    files_.Put(absl::StrCat("sys/devices/system/memory/memory", block, "/state"),
               absl::StrCat(state, "\n"));
  }
  void PutMemory(uint32_t gib) {
    files_.Put("sys/devices/system/node/node0/meminfo",
               absl::StrCat("Node 0 MemTotal:       ", gib << 20, " kB\n"));
    files_.PutMemTotal(gib << 20);
  }
  // Changes and reports in the kernel's order.
  void Move(const char* event, uint32_t block, const char* state, uint32_t gib) {
    PutMemory(gib);
    PutState(block, state);
    Send(event, block, "memory");
  }
  // Time in which to report too early. A correct wait never ends.
  static void GiveItTime() { absl::SleepFor(absl::Milliseconds(50)); }
};

TEST_F(MemoryModuleTest, OneThatIsPluggedInIsOneMessage) {
  // Both events are waiting when the tracker begins to listen.
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  Start();
  GiveItTime();
  Move("online", 1, "online", 9);
  GiveItTime();
  Move("online", 2, "online", 10);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "10Gi");
  EXPECT_EQ(publisher_.Newest().number, 2u);
}

TEST_F(MemoryModuleTest, OneThatIsTakenOutIsOneMessage) {
  PutMemory(10);
  Start();
  PutState(2, "going-offline");
  Move("offline", 1, "offline", 9);
  GiveItTime();
  Move("offline", 2, "offline", 8);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "8Gi");
  EXPECT_EQ(publisher_.Newest().number, 2u);
}

// Somebody else may put blocks online, or not: the tracker doesn't wait for them.
TEST_F(MemoryModuleTest, BlocksThatTheKernelLeavesOfflineAreNotWaitedFor) {
  SetPolicy("offline");
  Start();
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  Move("online", 1, "online", 9);
  EXPECT_TRUE(WaitUntil([&] { return Newest("memory") == "9Gi"; }));
}

TEST_F(MemoryModuleTest, ABlockThatFailsToComeIsNotWaitedForForEver) {
  options_.module_at_most = absl::Milliseconds(20);
  Start();
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  Move("online", 1, "online", 9);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "9Gi");
}

// Neither an event nor a poll helps.
TEST_F(InjectedTrackerTest, ALookThatFailedIsMadeAgain) {
  options_.quiet = absl::Milliseconds(1);
  Start();
  // This event changes nothing. The undefined behaviour sanitizer looks at an object through a pipe
  // at the first call on it, and takes a failure of pipe(2) for a finding.
  Send("online", 3);
  AwaitHeard();
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Enough for poll(2) to receive the event.
  const struct rlimit three = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &three), 0);
  Send("offline", 3);
  const std::string trouble = AwaitTrouble("stays in force");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(trouble, HasSubstr("Too many open files"));
  TakeCpuOffline(3, "0-2");
  EXPECT_TRUE(WaitUntil([this] { return Newest("cpu") == "3"; }));
}

// Like a sandbox without netlink. Runs in a thread of its own, since a filter is for good.
TEST_F(TrackerTest, WhereTheKernelCannotBeHeardThePollFindsWhatChanges) {
  bool is_filtered = false;
  std::thread([&] {
    is_filtered = RefuseNetlink();
    if (is_filtered) Start();
  }).join();
  if (!is_filtered) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_EQ(Newest("cpu"), "4");
  EXPECT_THAT(AwaitTrouble("events can't be received"),
              AllOf(HasSubstr("every 10ms"), HasSubstr("Protocol not supported")));
  EXPECT_THAT(tracker_->Misfits(), IsEmpty()) << "what is told is what there is";
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("cpu"), "3");
}

// Nothing can be opened at the daemon's start.
TEST_F(TrackerTest, WhereNothingCanBeWatchedAReloadTriesAgain) {
  {
    NoDescriptors none;
    Start();
  }
  EXPECT_FALSE(tracker_->IsTold());
  EXPECT_NE(AwaitTrouble("the machine can't be watched"), "");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(Newest("cpu"), "4");
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("cpu"), "3");
}

}  // namespace
}  // namespace plimsoll::topology
