#include "base/programs/null_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

struct stat InfoOf(int fd) {
  struct stat info = {};
  EXPECT_EQ(fstat(fd, &info), 0);
  return info;
}

// Whether it is /dev/null, the substitute where no device can be made.
bool IsMachines(int fd) {
  struct stat machines = {};
  EXPECT_EQ(stat("/dev/null", &machines), 0);
  return InfoOf(fd).st_dev == machines.st_dev && InfoOf(fd).st_ino == machines.st_ino;
}

TEST(NullDeviceTest, IsOneToReadAndWrite) {
  const mode_t before = umask(077);
  const absl::StatusOr<UniqueFd> device = OpenNullDevice();
  umask(before);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(InfoOf(device->get()).st_rdev, makedev(1, 3));
  if (!IsMachines(device->get())) {
    EXPECT_EQ(InfoOf(device->get()).st_mode, S_IFCHR | 0666);
  }
  char byte = 0;
  EXPECT_EQ(write(device->get(), "x", 1), 1);
  EXPECT_EQ(read(device->get(), &byte, 1), 0);
  // Opens it again, like a shell that opens /dev/stdin.
  const UniqueFd again(open(absl::StrCat("/proc/self/fd/", device->get()).c_str(), O_RDWR));
  EXPECT_TRUE(again.valid());
  EXPECT_NE(fcntl(device->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(NullDeviceTest, IsNobodyElses) {
  std::vector<UniqueFd> devices(20);
  std::vector<std::thread> threads;
  for (UniqueFd& device : devices) {
    threads.emplace_back([&device] {
      absl::StatusOr<UniqueFd> made = OpenNullDevice();
      ASSERT_TRUE(made.ok()) << made.status();
      device = *std::move(made);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (IsMachines(devices[0].get())) {
    // Without its mode nobody on the machine could open it.
    const TestDir dir;
    ASSERT_NE(mknod((dir.path() + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
    GTEST_SKIP() << "making a device needs CAP_MKNOD in the machine's own user namespace";
  }
  ASSERT_EQ(fchmod(devices[0].get(), 0), 0);
  for (size_t i = 1; i < devices.size(); ++i) {
    EXPECT_EQ(InfoOf(devices[i].get()).st_mode, S_IFCHR | 0666);
  }
}

}  // namespace
}  // namespace plimsoll
