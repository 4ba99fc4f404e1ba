#include "linux/net_devices.h"

#include <sched.h>
#include <unistd.h>

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/other_namespaces_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kV4("\x0a\x01\x02\x03", 4);
const std::string kV6 = std::string("\xfd\x00", 2) + std::string(13, '\0') + "\x07";

// The test's thread stands in for the host, another process for the container.
class NetDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    host_ = std::make_unique<OwnNetworkForTest>();
    other_ = std::make_unique<OtherNamespaces>(CLONE_NEWNET);
    const absl::Status made = MakeDeviceForTest("", "card0");
    if (!made.ok()) GTEST_SKIP() << "no veth devices: " << made;
    move_ = {.from = "",
             .to = other_->file("net"),
             .name = "card0",
             .renamed = "net1",
             .owner = "first"};
  }
  void TearDown() override {
    other_.reset();
    host_.reset();
  }
  DeviceForTest Here(const std::string& name = "card0") { return LookAtDevice("", name); }
  DeviceForTest There(const std::string& name = "net1") { return LookAtDevice(move_.to, name); }

  std::unique_ptr<OwnNetworkForTest> host_;
  std::unique_ptr<OtherNamespaces> other_;
  NetDeviceMove move_;
};

TEST_F(NetDevicesTest, MovesWithAddressesAndBack) {
  ASSERT_TRUE(AddAddressForTest("", "card0", kV4).ok());
  ASSERT_TRUE(AddAddressForTest("", "card0", kV6).ok());
  const auto moved = MoveNetDevice(move_);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_TRUE(moved->moved);
  EXPECT_FALSE(moved->was_up);
  EXPECT_EQ(Here().index, 0);
  EXPECT_TRUE(There().up);
  EXPECT_EQ(There("plimsoll:card0:first").index, There().index);
  EXPECT_THAT(There().addresses, Contains(kV4));
  EXPECT_THAT(There().addresses, Contains(kV6));

  const absl::Status back = MoveNetDeviceBack(move_, *moved);
  ASSERT_TRUE(back.ok()) << back;
  EXPECT_EQ(There().index, 0);
  EXPECT_NE(Here().index, 0);
  EXPECT_FALSE(Here().up);
  EXPECT_THAT(Here().addresses, Contains(kV4));
  EXPECT_EQ(Here("plimsoll:card0:first").index, 0);
  EXPECT_TRUE(MoveNetDeviceBack(move_, *moved).ok()) << "there is nothing left to do";
  EXPECT_TRUE(MoveNetDevice(move_).ok()) << "it may move again";
}

TEST_F(NetDevicesTest, ASecondMoveFindsItInPlace) {
  ASSERT_TRUE(MoveNetDevice(move_).ok());
  const NetDeviceMove first = move_;
  move_.owner = std::string(64, 'f');
  const auto again = MoveNetDevice(move_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->moved);
  EXPECT_TRUE(MoveNetDeviceBack(first, {.name = "card0"}).ok());
  EXPECT_NE(There().index, 0) << "it is no longer the first's";
  EXPECT_TRUE(MoveNetDeviceBack(move_, *again).ok());
  EXPECT_NE(There().index, 0) << "the second didn't move it";
  EXPECT_TRUE(MoveNetDevice(move_).ok());
  move_.renamed = "net2";
  EXPECT_TRUE(absl::IsNotFound(MoveNetDevice(move_).status())) << "it is there by another name";
}

TEST_F(NetDevicesTest, ANameThatIsTakenIsRefused) {
  ASSERT_TRUE(MakeDeviceForTest(move_.to, "net1").ok());
  const int other = There().index;
  const auto taken = MoveNetDevice(move_);
  EXPECT_TRUE(absl::IsFailedPrecondition(taken.status())) << taken.status();
  EXPECT_THAT(taken.status().message(), HasSubstr("another has that name there"));
  EXPECT_NE(Here().index, 0);
  EXPECT_EQ(There().index, other);
}

TEST_F(NetDevicesTest, KeepsItsNameIfThatIsWanted) {
  move_.renamed = "card0";
  ASSERT_TRUE(MoveNetDevice(move_).ok());
  EXPECT_NE(There("card0").index, 0);
}

TEST_F(NetDevicesTest, RefusesWhatCannotMove) {
  const auto refusal = [&](const std::string& name) {
    move_.name = name;
    return MoveNetDevice(move_).status();
  };
  EXPECT_TRUE(absl::IsNotFound(refusal("card9")));
  EXPECT_TRUE(absl::IsInvalidArgument(refusal("a b")));
  EXPECT_TRUE(absl::IsInvalidArgument(refusal("net%d")));
  const absl::Status loopback = refusal("lo");
  EXPECT_TRUE(absl::IsFailedPrecondition(loopback)) << loopback;
  EXPECT_NE(Here("lo").index, 0);
  EXPECT_EQ(Here("plimsoll:lo:first").index, 0);
  move_.to = "/proc/thread-self/ns/net";
  const absl::Status same = refusal("card0");
  EXPECT_TRUE(absl::IsFailedPrecondition(same)) << same;
  EXPECT_THAT(same.message(), HasSubstr("the same network namespace"));
}

}  // namespace
}  // namespace plimsoll::linux
