#include "network/network.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/network_fixture_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(NetworkTest, AHostPortIsOnePodsUntilItIsDeleted) {
  WriteChain();
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(pod).ok());
  Attachment other = pod;
  other.id = RandomId();
  other.pod_name = "other";
  const auto refuse = [&] {
    scripts_.ForgetCalls();
    const absl::Status refused = network_->Add(other).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                StartsWith(absl::StrCat("host port 8080/tcp is held by pod default/web (sandbox ",
                                        id_, ")")));
    EXPECT_THAT(scripts_.calls(), IsEmpty());
    EXPECT_THAT(network_->Attached(), ElementsAre(id_));
    EXPECT_FALSE(scripts_.root().Exists(absl::StrCat("state/network/", other.id, ".json")));
    EXPECT_TRUE(network_->Delete(other.id).ok());
    EXPECT_THAT(scripts_.calls(), IsEmpty());
  };
  refuse();
  ASSERT_TRUE(scripts_.root().ReplaceFile("seen/calls", "").ok());
  Open();  // the daemon knows it after a restart, too
  refuse();
  // The same port of another protocol is free.
  Attachment third = other;
  third.id = RandomId();
  third.capabilities.port_mappings[0].protocol = "udp";
  EXPECT_TRUE(network_->Add(third).ok());
  ASSERT_TRUE(network_->Delete(id_).ok());
  const auto added = network_->Add(other);
  EXPECT_TRUE(added.ok()) << added.status();
}

TEST_F(NetworkTest, OfManyAtOnceOneGetsTheHostPort) {
  constexpr int kPods = 8;
  WriteChain();
  std::vector<absl::Status> came(kPods);
  std::atomic<int> ready = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < kPods; ++i) {
    clients.emplace_back([&, i] {
      Attachment pod = Pod();
      pod.id = RandomId();
      pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
      ++ready;
      while (ready < kPods) std::this_thread::yield();
      came[static_cast<size_t>(i)] = network_->Add(pod).status();
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(absl::c_count_if(came, [](const absl::Status& status) { return status.ok(); }), 1);
  EXPECT_EQ(absl::c_count_if(came, absl::IsFailedPrecondition), kPods - 1);
  EXPECT_EQ(network_->Attached().size(), 1u);
}

// The port's rules still exist.
TEST_F(NetworkTest, AHostPortIsHeldUntilDelHasSucceededAlsoWithoutTheNamespace) {
  WriteChain();
  Attachment gone = Pod();
  gone.netns = scripts_.path() + "/nothing";
  gone.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(gone).ok());
  Attachment pod = gone;
  pod.id = RandomId();
  pod.netns = Pod().netns;
  const auto refuse = [&] {
    const absl::Status refused = network_->Add(pod).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(id_));
    EXPECT_THAT(network_->Attached(), ElementsAre(id_));
  };
  refuse();
  Open();
  refuse();
  scripts_.Write("second", "exit 1");
  EXPECT_FALSE(network_->Delete(id_).ok());
  scripts_.WriteGood("second", kResult);
  refuse();
  ASSERT_TRUE(network_->Delete(id_).ok());
  const auto added = network_->Add(pod);
  EXPECT_TRUE(added.ok()) << added.status();
}

TEST_F(NetworkTest, ARebootFreesAHostPort) {
  WriteChain();
  struct Case {
    const char* boot_id;  // null: none, as in records of older daemons
    bool has_netns;
    bool is_held;
  };
  for (const Case& each : {Case{"another", false, false},
                           {"another", true, false},
                           {nullptr, false, false},
                           {nullptr, true, true}}) {
    SCOPED_TRACE(absl::StrCat(each.boot_id == nullptr ? "none" : each.boot_id, each.has_netns));
    Attachment holder = Pod();
    if (!each.has_netns) holder.netns = scripts_.path() + "/nothing";
    holder.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
    ASSERT_TRUE(network_->Add(holder).ok());
    SetBootOnRecord(each.boot_id);
    Open();
    Attachment pod = Pod();
    pod.id = RandomId();
    pod.capabilities = holder.capabilities;
    const absl::Status added = network_->Add(pod).status();
    EXPECT_EQ(added.ok(), !each.is_held) << added;
    EXPECT_TRUE(network_->Delete(pod.id).ok());
    EXPECT_TRUE(network_->Delete(id_).ok());
  }
}

TEST_F(NetworkTest, APortThatIsNotServedIsHeldByNobody) {
  WriteChain();
  Attachment pod = Pod();
  pod.capabilities.port_mappings = {{.container_port = 80, .host_port = 8080}};
  ASSERT_TRUE(network_->Add(pod).ok());
  // A network without the capability serves none of them.
  scripts_.WriteConfig("05.conf", R"({"cniVersion": "1.0.0", "name": "n", "type": "first"})");
  Open();
  for (int i = 0; i < 2; ++i) {
    pod.id = RandomId();
    const auto added = network_->Add(pod);
    ASSERT_TRUE(added.ok()) << added.status();
    EXPECT_THAT(added->warnings, ElementsAre(HasSubstr("host ports are not served")));
  }
}

}  // namespace
}  // namespace plimsoll::network
