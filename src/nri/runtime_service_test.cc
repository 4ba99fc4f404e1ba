#include "nri/runtime_service.h"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RuntimeServiceTest : public ::testing::Test {
 protected:
  // A connection that has got Synchronize.
  std::shared_ptr<PluginConnection> Joined(const PluginName& name) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    peers_.emplace_back(ends[1]);
    PluginSetup setup;
    setup.socket = UniqueFd(ends[0]);
    setup.calls = &service_;
    setup.news = &parts_.news;
    std::shared_ptr<PluginConnection> plugin = *PluginConnection::Start(std::move(setup));
    EXPECT_EQ(plugin->SetName(name, {}, std::make_shared<PluginCounts>(), ""), absl::OkStatus());
    EXPECT_TRUE(plugin->MoveTo(Step::kTold));
    return plugin;
  }

  std::vector<std::string> withdrawn_;
  Parts parts_{{.host = *FsRoot::Open("/"),
                .provide = [](const std::string&, const auto&) { return absl::OkStatus(); },
                .withdraw = [this](const std::string& name) { withdrawn_.push_back(name); }}};
  UpdateApplier applier_{&parts_};
  RuntimeService service_{&parts_, &applier_};
  std::vector<UniqueFd> peers_;
};

TEST_F(RuntimeServiceTest, AProviderThatComesAgainIsNotWithdrawnWithItsEarlierConnection) {
  const auto first = Joined({"10", "a"});
  const auto again = Joined({"10", "a"});
  EXPECT_EQ(service_.UpdateNodeResources(*first, {}), absl::OkStatus());
  EXPECT_EQ(service_.UpdateNodeResources(*again, {}), absl::OkStatus());
  service_.Withdraw(*first);
  EXPECT_THAT(withdrawn_, IsEmpty());
  service_.Withdraw(*again);
  service_.Withdraw(*again);
  EXPECT_THAT(withdrawn_, ElementsAre("10-a"));
}

TEST_F(RuntimeServiceTest, AConnectionThatHasEndedProvidesNothing) {
  const auto plugin = Joined({"10", "a"});
  plugin->Close(absl::CancelledError("test"));
  EXPECT_TRUE(absl::IsUnavailable(service_.UpdateNodeResources(*plugin, {})));
  service_.Withdraw(*plugin);
  EXPECT_THAT(withdrawn_, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::nri
