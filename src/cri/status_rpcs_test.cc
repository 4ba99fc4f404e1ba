// Status: its report of the node, through a real socket.
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cri/services_fixture_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ServicesTest, StatusNamesBothConditions) {
  v1::StatusRequest request;
  request.set_verbose(true);
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, request, &response).ok());
  ASSERT_EQ(response.status().conditions_size(), 2);
  EXPECT_EQ(response.status().conditions(0).type(), "RuntimeReady");
  EXPECT_TRUE(response.status().conditions(0).status());
  EXPECT_EQ(response.status().conditions(1).type(), "NetworkReady");
  EXPECT_FALSE(response.status().conditions(1).status());
  EXPECT_EQ(response.status().conditions(1).reason(), "NetworkPluginNotReady");
  EXPECT_THAT(response.status().conditions(1).message(), HasSubstr("CNI"));
  ASSERT_EQ(response.runtime_handlers_size(), 1);
  EXPECT_EQ(response.runtime_handlers(0).name(), "");
  EXPECT_FALSE(response.runtime_handlers(0).features().user_namespaces());
  EXPECT_TRUE(response.features().supplemental_groups_policy());
  EXPECT_TRUE(response.features().mount_options());
  EXPECT_THAT(response.info().at("config"), HasSubstr("\"version\":\"1.2.3\""));
  EXPECT_THAT(response.info().at("config"), HasSubstr("\"selinux\":false"));
  EXPECT_EQ(response.info().at("limitations"), "[]");
  EXPECT_FALSE(response.info().contains("nri"));
}

class PluggedTest : public ServicesTest {
 protected:
  PluggedTest() {
    options_.info.nri = [] { return R"({"enabled":true})"; };
  }
};

TEST_F(PluggedTest, VerboseStatusHasTheStateOfPlugins) {
  v1::StatusRequest request;
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, request, &response).ok());
  EXPECT_TRUE(response.info().empty());
  request.set_verbose(true);
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, request, &response).ok());
  EXPECT_EQ(response.info().at("nri"), R"({"enabled":true})");
}

class HandlersTest : public ServicesTest {
 protected:
  HandlersTest() {
    options_.info.runtime_handlers = {"machine", "plain"};
    options_.info.recursive_read_only_mounts = false;
    options_.info.handlers_with_recursive_read_only_mounts = {"plain"};
    options_.info.user_namespaces = true;
    options_.info.handlers_without_user_namespaces = {"machine"};
  }
};

TEST_F(HandlersTest, HaveFeaturesOfTheirOwn) {
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, v1::StatusRequest(), &response).ok());
  std::vector<std::string> seen;
  for (const v1::RuntimeHandler& handler : response.runtime_handlers()) {
    seen.push_back(absl::StrCat(handler.name(), " ",
                                handler.features().recursive_read_only_mounts(), " ",
                                handler.features().user_namespaces()));
  }
  EXPECT_THAT(seen, ElementsAre(" 0 1", "machine 0 0", "plain 1 1"));
}

class NetworkedTest : public ServicesTest {
 protected:
  NetworkedTest() {
    options_.info.network_ready = [] { return absl::OkStatus(); };
    options_.info.set_pod_cidr = [this](const std::string& cidr) {
      cidr_ = cidr;
      return cidr == "bad" ? absl::InvalidArgumentError("no prefix") : absl::OkStatus();
    };
  }
  std::string cidr_ = "unset";
};

TEST_F(NetworkedTest, TheNetworkIsReadyAndIsToldOfPrefixes) {
  v1::StatusResponse status;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &status).ok());
  EXPECT_EQ(status.status().conditions(1).type(), "NetworkReady");
  EXPECT_TRUE(status.status().conditions(1).status());
  v1::UpdateRuntimeConfigRequest request;
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request), absl::StatusCode::kOk);
  EXPECT_EQ(cidr_, "unset");
  auto* config = request.mutable_runtime_config()->mutable_network_config();
  config->set_pod_cidr("10.1.0.0/24,fd00::/64");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request), absl::StatusCode::kOk);
  EXPECT_EQ(cidr_, "10.1.0.0/24,fd00::/64");
  config->set_pod_cidr("bad");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request),
            absl::StatusCode::kInvalidArgument);
}

class UnreadyTest : public ServicesTest {
 protected:
  UnreadyTest() {
    options_.info.ready = [] {
      return absl::FailedPreconditionError("RuntimeProgramMissing: execute /x/monitor: gone");
    };
  }
};

TEST_F(UnreadyTest, StatusSaysWhatIsMissing) {
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &response).ok());
  EXPECT_FALSE(response.status().conditions(0).status());
  EXPECT_EQ(response.status().conditions(0).reason(), "RuntimeProgramMissing");
  EXPECT_EQ(response.status().conditions(0).message(), "execute /x/monitor: gone");
}

class MisfitTest : public ServicesTest {
 protected:
  MisfitTest() {
    options_.info.node_resources = [this] {
      return fits_ ? absl::OkStatus()
                   : absl::FailedPreconditionError("LastGoodStays: cpus.list: CPUs 3: no");
    };
  }
  v1::RuntimeCondition Condition() {
    v1::StatusResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &response).ok());
    EXPECT_EQ(response.status().conditions_size(), 3);
    return response.status().conditions(response.status().conditions_size() - 1);
  }
  std::atomic<bool> fits_ = true;
};

TEST_F(MisfitTest, StatusSaysWhyOlderResourcesAreInForce) {
  EXPECT_EQ(Condition().type(), "NodeResourcesReady");
  EXPECT_TRUE(Condition().status());
  fits_ = false;
  EXPECT_FALSE(Condition().status());
  EXPECT_EQ(Condition().reason(), "LastGoodStays");
  EXPECT_EQ(Condition().message(), "cpus.list: CPUs 3: no");
}

}  // namespace
}  // namespace plimsoll::cri
