// A block I/O class's throttle, measured inside its container.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "classes_fixture.h"

namespace plimsoll::testing {
namespace {

class FeltBlockioTest : public ClassesTest {
 protected:
  // A container that can read the disk bypassing every cache.
  cri::ContainerConfig Reader(const std::string& name) {
    cri::ContainerConfig config = InClass(name);
    if (IsEmulated()) {
      cri::Device* device = config.add_devices();
      device->set_host_path("/dev/vdb");
      device->set_container_path("/disk");
      device->set_permissions("r");
      return config;
    }
    std::ofstream file(files_.path() + "/disk", std::ios::binary);
    file << std::string(64 * kMiB, 'x');
    file.close();
    sync();
    cri::Mount* mount = config.add_mounts();
    mount->set_host_path(files_.path() + "/disk");
    mount->set_container_path("/disk");
    mount->set_readonly(true);
    return config;
  }
  // MiB per second, by the container's own clock.
  double ReadRate(const std::string& container, int64_t mebibytes) {
    const std::string out = ExecOutput(
        container,
        absl::StrCat(
            "read a b < /proc/uptime; dd if=/disk of=/dev/null bs=256k count=", mebibytes * 4,
            " iflag=direct 2>/dev/null; read c d < /proc/uptime; ", "echo $a $c"));
    const std::vector<std::string> times = absl::StrSplit(out, ' ');
    double begin = 0;
    double end = 0;
    EXPECT_TRUE(times.size() == 2 && absl::SimpleAtod(times[0], &begin) &&
                absl::SimpleAtod(times[1], &end))
        << out;
    return static_cast<double>(mebibytes) / std::max(end - begin, 0.01);
  }
  // The fastest of some reads, up to the first one above `enough` MiB per second. A machine whose
  // processors are busy with others' work reads slower than its disk, never faster.
  double FastestRate(const std::string& container, int64_t mebibytes, double enough) {
    double fastest = 0;
    for (int i = 0; i < 5 && fastest <= enough; ++i) {
      fastest = std::max(fastest, ReadRate(container, mebibytes));
    }
    return fastest;
  }
};

TEST_F(FeltBlockioTest, ThrottlesAreFeltChangedAndTakenAway) {
  const std::string id = Start(RunPod(), Reader("slow"));
  ReadRate(id, 1);  // loads the program first
  const double slow = FastestRate(id, 4, 1 * 0.85);
  EXPECT_GT(slow, 1 * 0.85);
  EXPECT_LT(slow, 1 * 1.15);
  ASSERT_TRUE(Assign(id, "medium").ok());
  const double medium = FastestRate(id, 16, 4 * 0.85);
  EXPECT_GT(medium, 4 * 0.85);
  EXPECT_LT(medium, 4 * 1.15);
  ASSERT_TRUE(Assign(id, "free").ok());
  EXPECT_GT(FastestRate(id, 48, 4 * 1.3), 4 * 1.3);
}

}  // namespace
}  // namespace plimsoll::testing
