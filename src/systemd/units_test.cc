// Tests the connection to systemd; systemd itself is tested in tests/vm.
#include "systemd/units.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/socket_probe.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::systemd {
namespace {

using ::testing::HasSubstr;

std::string AddressOf(const TestDir& dir) {
  return absl::StrCat("unix:path=", dir.path(), "/bus");
}

TEST(Units, SaysWhatIsMissing) {
  const TestDir dir;
  EXPECT_FALSE(SystemdIsThere(dir.root()));
  absl::Status status = ConnectUnits(dir.root()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 is not systemd"));

  ASSERT_TRUE(dir.root().MakeDirs("run/systemd/system").ok());
  EXPECT_FALSE(SystemdIsThere(dir.root()));
  status = ConnectUnits(dir.root()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install dbus"));
}

TEST(Units, ABusThatIsNotThereIsNotWaitedFor) {
  const TestDir dir;
  const absl::Status status = ConnectUnitsAt(AddressOf(dir), absl::Minutes(10)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir.path()));
}

TEST(Units, ABusThatNeverAnswersIsGivenUp) {
  const TestDir dir;
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const std::string path = absl::StrCat(dir.path(), "/bus");
  ASSERT_LT(path.size(), sizeof(name.sun_path));
  memcpy(name.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  const absl::Status status = ConnectUnitsAt(AddressOf(dir), absl::Milliseconds(50)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer"));
}

TEST(Units, ABusWithoutSystemdIsToldApart) {
  const auto program = FindProgram("dbus-daemon");
  if (!program.ok()) GTEST_SKIP() << "needs dbus-daemon: " << program.status();
  const TestDir dir;
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("bus.conf",
                               absl::StrCat("<busconfig><listen>unix:path=", dir.path(),
                                            "/bus</listen><policy context='default'>",
                                            "<allow send_destination='*'/>",
                                            "<allow receive_sender='*'/></policy>", "</busconfig>"))
                  .ok());
  auto bus = Spawn(
      {.argv = {*program, absl::StrCat("--config-file=", dir.path(), "/bus.conf"), "--nofork"},
       .new_session = true});
  ASSERT_TRUE(bus.ok()) << bus.status();
  const absl::Cleanup stop = [&bus] {
    EXPECT_TRUE(bus->KillGroup(absl::Now() + absl::Minutes(1)).ok());
  };
  ASSERT_TRUE(WaitUntil([&dir] { return ProbeSocket(dir.root().PathOf("bus")).ok(); }));
  const absl::Status status = ConnectUnitsAt(AddressOf(dir), absl::Minutes(1)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("org.freedesktop.DBus.Error.ServiceUnknown"));
}

}  // namespace
}  // namespace plimsoll::systemd
