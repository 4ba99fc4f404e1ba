#include "cli/command/standalone.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/random_id.h"
#include "base/unique_fd.h"
#include "cli/command/connect.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Standalone, TheDaemonsOwnWordsAreShown) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho 'plimsolld: no crun found' >&2\nexit 1\n", 0755)
          .ok());
  const auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  EXPECT_THAT(std::string(joined.status().message()),
              AllOf(HasSubstr("plimsolld did not start (exit code 1)"),
                    HasSubstr("plimsolld: no crun found")));
}

TEST(Standalone, AFullDiskThatHasNoRoomForTheLogIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("daemon", "#!/bin/sh\necho words >&2\nexit 1\n", 0755).ok());
  ASSERT_TRUE(dir.root().MakeDirs("run", 0755).ok());
  const std::string run = dir.path() + "/run";
  ASSERT_EQ(mount("full", run.c_str(), "tmpfs", 0, "size=4096"), 0);
  EXPECT_TRUE(dir.root().ReplaceFile("run/other", std::string(4096, 'x')).ok());
  const auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  EXPECT_THAT(std::string(joined.status().message()), HasSubstr("plimsolld did not start"));
  EXPECT_THAT(HintOf(joined.status()), HasSubstr("The disk is full"));
  EXPECT_EQ(umount2(run.c_str(), MNT_DETACH), 0);
}

TEST(Standalone, WaitsForReadinessAndHoldsTheLock) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho \"$@\" > \"$7/arguments\"\nprintf R >&3\n", 0755)
          .ok());
  auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE(joined->started());
  EXPECT_THAT(*dir.root().Read("run/arguments"), HasSubstr("--standalone"));
  Command try_lock;
  try_lock.argv = {*FindProgram("flock"), "-xn", dir.path() + "/run/clients.lock", "true"};
  EXPECT_FALSE(RunProgram(try_lock)->exit.success());
  joined->Leave(absl::Milliseconds(100));
  EXPECT_TRUE(RunProgram(try_lock)->exit.success());
}

// A socket file without a listener, as a kill leaves it.
void LeaveSocket(const std::string& path) {
  const UniqueFd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
      << path;
}

TEST(Standalone, IsNotStartedWhereTheMachineHasADaemon) {
  if (geteuid() != 0) GTEST_SKIP() << "a daemon of one's own needs root";
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("daemon", "#!/bin/sh\nexit 1\n", 0755).ok());
  ASSERT_TRUE(dir.root().MakeDirs("service").ok());
  ConnectOptions options;
  options.daemon = dir.path() + "/daemon";
  options.service = absl::StrCat("unix://", dir.path(), "/service/plimsoll.sock");
  LeaveSocket(dir.path() + "/service/plimsoll.sock");
  const absl::Status killed = Connect(options).status();
  EXPECT_TRUE(absl::IsUnavailable(killed)) << killed;
  EXPECT_THAT(std::string(killed.message()),
              AllOf(HasSubstr(absl::StrCat("no daemon answers at ", options.service)),
                    HasSubstr("left by a plimsolld that was killed")));
  EXPECT_THAT(HintOf(killed), HasSubstr("remove the socket"));
  EXPECT_EQ(SocketFor(options), dir.path() + "/service/plimsoll.sock");
  // One that starts has no socket yet, and holds the lock.
  ASSERT_TRUE(dir.root().RemoveFile("service/plimsoll.sock").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("service/lock", absl::StrCat(getpid(), "\n")).ok());
  {
    const UniqueFd lock = *dir.root().OpenFile("service/lock", O_RDWR);
    ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const absl::Status starting = Connect(options).status();
    EXPECT_TRUE(absl::IsUnavailable(starting)) << starting;
    EXPECT_THAT(std::string(starting.message()), HasSubstr("is starting or ending"));
  }
  EXPECT_EQ(SocketFor(options), StandaloneDirs().socket());
}

TEST(Standalone, TheCommandThatStartsAServiceIsSystemds) {
  const TestDir host;
  EXPECT_EQ(StartCommand("plimsolld", host.path()), "");
  EXPECT_EQ(HowToStart("plimsolld", host.path()), "Start plimsolld");
  ASSERT_TRUE(host.root().MakeDirs("run/systemd/system").ok());
  EXPECT_EQ(HowToStart("plimsolld", host.path()), "Start plimsolld (`systemctl start plimsolld`)");
}

TEST(Standalone, PodsOfTheOtherKindAreNoted) {
  const TestDir dir;
  const std::string service = dir.path() + "/service";
  const std::string own = dir.path() + "/own";
  const auto note = [&](const std::string& run) {
    return NoteOfHiddenPods(run + "/plimsoll.sock", service, own);
  };
  EXPECT_EQ(note(service), "");
  ASSERT_TRUE(dir.root().MakeDirs("service/sandboxes").ok());
  ASSERT_TRUE(dir.root().MakeDirs("own/sandboxes/" + RandomId()).ok());
  EXPECT_THAT(note(service), HasSubstr("not shown: 1 pod started without plimsolld"));
  EXPECT_EQ(note(own), "");
  EXPECT_EQ(note(dir.path() + "/third"), "");
  ASSERT_TRUE(dir.root().MakeDirs("service/sandboxes/" + RandomId()).ok());
  ASSERT_TRUE(dir.root().MakeDirs("service/sandboxes/" + RandomId()).ok());
  EXPECT_THAT(note(own), HasSubstr("not shown: 2 pods of plimsolld, which doesn't run"));
}

TEST(Standalone, IsNotStartedInTheDirectoriesOfAKilledDaemon) {
  if (geteuid() != 0) GTEST_SKIP() << "a daemon of one's own needs root";
  TestDir dir;
  ASSERT_TRUE(
      dir.root().ReplaceFile("daemon", "#!/bin/sh\ntouch \"$7/../ran\"\nexit 1\n", 0755).ok());
  ASSERT_TRUE(dir.root().MakeDirs("run").ok());
  LeaveSocket(dir.path() + "/run/plimsoll.sock");
  ConnectOptions options;
  options.root = dir.path();
  options.daemon = dir.path() + "/daemon";
  const absl::Status killed = Connect(options).status();
  EXPECT_TRUE(absl::IsUnavailable(killed)) << killed;
  EXPECT_THAT(std::string(killed.message()), HasSubstr("left by a plimsolld that was killed"));
  EXPECT_THAT(HintOf(killed), HasSubstr("remove the socket"));
  EXPECT_FALSE(dir.root().Exists("ran"));
  // A killed daemon of a command's own left its log too, and is started again.
  ASSERT_TRUE(dir.root().ReplaceFile("run/plimsolld.log", "").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Connect(options).status()));
  EXPECT_TRUE(dir.root().Exists("ran"));
}

TEST(Standalone, HindrancesOfAStartAreFoundWithoutOne) {
  const TestDir dir;
  const StandaloneDirs dirs = StandaloneDirs::Below(dir.path());
  const auto found = [&dirs] {
    std::vector<std::string> messages;
    for (const absl::Status& each : StartHindrances(dirs)) messages.emplace_back(each.message());
    return messages;
  };
  EXPECT_THAT(found(), IsEmpty());
  ASSERT_TRUE(dir.root().MakeDirs("run").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("run/clients.lock", "").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("run/start.lock", "").ok());
  LeaveSocket(dirs.socket());
  EXPECT_THAT(found(), ElementsAre(HasSubstr("left by a plimsolld that was killed")));
  ASSERT_TRUE(dir.root().ReplaceFile("run/plimsolld.log", "").ok());
  EXPECT_THAT(found(), IsEmpty()) << "a command's own daemon, killed, is started again";
  const UniqueFd clients = *dir.root().OpenFile("run/clients.lock", O_RDWR);
  ASSERT_EQ(flock(clients.get(), LOCK_SH | LOCK_NB), 0);
  EXPECT_THAT(found(), IsEmpty()) << "another command's";
  ASSERT_EQ(flock(clients.get(), LOCK_EX | LOCK_NB), 0);
  const UniqueFd start = *dir.root().OpenFile("run/start.lock", O_RDWR);
  ASSERT_EQ(flock(start.get(), LOCK_EX | LOCK_NB), 0);
  const std::string holder = absl::StrCat(" is locked by process ", getpid());
  EXPECT_THAT(found(), ElementsAre(HasSubstr("/run/clients.lock" + holder),
                                   HasSubstr("/run/start.lock" + holder)));
  ASSERT_TRUE(dir.root().RemoveFile("run/plimsoll.sock").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("run/plimsoll.sock", "").ok());
  EXPECT_THAT(found(), Contains(HasSubstr("plimsoll.sock is no socket")));
}

TEST(Standalone, AFullDiskIsAHindrance) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("run", 0755).ok());
  const std::string run = dir.path() + "/run";
  ASSERT_EQ(mount("full", run.c_str(), "tmpfs", 0, "size=4096"), 0);
  EXPECT_TRUE(dir.root().ReplaceFile("run/other", std::string(4096, 'x')).ok());
  const std::vector<absl::Status> found = StartHindrances(StandaloneDirs::Below(dir.path()));
  EXPECT_EQ(umount2(run.c_str(), MNT_DETACH), 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(std::string(found[0].message()), HasSubstr("no space left on device for " + run));
}

TEST(Standalone, RootsAndDefaults) {
  EXPECT_EQ(StandaloneDirs::Below("/x/").state, "/x/state");
  EXPECT_EQ(StandaloneDirs::Below("/x").socket(), "/x/run/plimsoll.sock");
  EXPECT_EQ(StandaloneDirs::Below("").run, "/run/plimsoll-standalone");
}

TEST(Standalone, RootsAreMadeAbsolute) {
  TestDir dir;
  char here[PATH_MAX];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  EXPECT_EQ(StandaloneDirs::Below("not-there/a").run, absl::StrCat(here, "/not-there/a/run"));
  EXPECT_EQ(StandaloneDirs::Below("/").state, "/state");
  EXPECT_EQ(StandaloneDirs::Below(".").state, absl::StrCat(here, "/state"));
  const std::string crooked =
      absl::StrCat(dir.path(), "/../", dir.path().substr(dir.path().rfind('/') + 1), "/b");
  EXPECT_EQ(StandaloneDirs::Below(crooked).run, dir.path() + "/b/run");
}

}  // namespace
}  // namespace plimsoll::cli
