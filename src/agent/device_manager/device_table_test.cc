#include "agent/device_manager/device_table.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

constexpr char kTpu[] = "example.com/tpu";

class SilentPlugin final : public Plugin {
 public:
  explicit SilentPlugin(bool has_preference = false, bool wants_pre_start = false)
      : has_preference_(has_preference), wants_pre_start_(wants_pre_start) {}
  bool has_preference() const override { return has_preference_; }
  bool wants_pre_start() const override { return wants_pre_start_; }
  absl::StatusOr<std::vector<std::string>> Prefer(const std::vector<std::string>&,
                                                  const std::vector<std::string>&,
                                                  int64_t) override {
    return std::vector<std::string>{};
  }
  absl::StatusOr<pod::GivenDevices> Allocate(const std::vector<std::string>&) override {
    return pod::GivenDevices{};
  }
  absl::Status PreStart(const std::vector<std::string>&) override { return absl::OkStatus(); }
  void Close() override {}
  bool has_ended() const override { return false; }

 private:
  const bool has_preference_;
  const bool wants_pre_start_;
};

Device Named(const std::string& id, bool healthy = true) {
  return {.id = id, .healthy = healthy, .nodes = std::nullopt};
}

class DeviceTableTest : public ::testing::Test {
 protected:
  std::shared_ptr<Plugin> Put(const std::string& resource) {
    auto plugin = std::make_shared<SilentPlugin>();
    EXPECT_TRUE(table_.Put(resource, plugin).ok());
    return plugin;
  }
  std::string Counts() const {
    std::string text;
    const resources::ResourceList allocatable = table_.Allocatable();
    for (const auto& [name, count] : table_.Capacity()) {
      absl::StrAppend(&text, name, " ", allocatable.at(name).Value(), "/", count.Value(), ";");
    }
    return text;
  }

  SteadyTime now_ = SteadyNow();
  DeviceTable table_{{{"example.com/serial", {.devices = {Named("a"), Named("b")}}}},
                     {"example.com/expected", "example.com/serial"},
                     [this] { return now_; }};
};

TEST_F(DeviceTableTest, AResourceIsThereFromItsFirstList) {
  EXPECT_EQ(Counts(), "example.com/expected 0/0;example.com/serial 2/2;");
  const auto plugin = Put(kTpu);
  EXPECT_EQ(Counts(), "example.com/expected 0/0;example.com/serial 2/2;");
  EXPECT_FALSE(table_.Stock().contains(kTpu));
  EXPECT_TRUE(table_.SetDevices(kTpu, plugin.get(), {}));
  EXPECT_EQ(table_.Capacity().at(kTpu).Value(), 0);
  EXPECT_TRUE(table_.SetDevices(kTpu, plugin.get(), {Named("0"), Named("1", false)}));
  EXPECT_FALSE(table_.SetDevices(kTpu, plugin.get(), {Named("0"), Named("1", false)}))
      << "nothing new";
  EXPECT_EQ(Counts(), "example.com/expected 0/0;example.com/serial 2/2;example.com/tpu 1/2;");
  EXPECT_EQ(table_.Stock().at(kTpu).devices.size(), 2u);
  EXPECT_TRUE(table_.Stock().at(kTpu).is_served);
}

TEST_F(DeviceTableTest, APluginThatGoesLeavesItsDevicesUnhealthyFor5Minutes) {
  const auto plugin = Put(kTpu);
  table_.SetDevices(kTpu, plugin.get(), {Named("0")});
  now_ += std::chrono::minutes(1);
  EXPECT_TRUE(table_.SetGone(kTpu, plugin.get()));
  EXPECT_FALSE(table_.SetGone(kTpu, plugin.get())) << "it has gone already";
  EXPECT_FALSE(table_.SetDevices(kTpu, plugin.get(), {Named("0")})) << "too late";
  EXPECT_EQ(table_.Allocatable().at(kTpu).Value(), 0);
  EXPECT_EQ(table_.Capacity().at(kTpu).Value(), 1);
  EXPECT_FALSE(table_.Stock().at(kTpu).is_served);
  EXPECT_EQ(table_.Find(kTpu).status().code(), absl::StatusCode::kUnavailable);
  now_ += std::chrono::minutes(4);  // the expected one's time ends here
  EXPECT_TRUE(table_.DropExpired());
  EXPECT_TRUE(table_.Capacity().contains(kTpu));
  EXPECT_EQ(table_.NextExpiry(), now_ + std::chrono::minutes(1));
  now_ += std::chrono::minutes(1);
  EXPECT_TRUE(table_.DropExpired());
  EXPECT_FALSE(table_.DropExpired());
  EXPECT_EQ(Counts(), "example.com/serial 2/2;") << "the configuration's stay";
  EXPECT_EQ(table_.NextExpiry(), kNever);
  EXPECT_EQ(table_.Find(kTpu).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceTableTest, APlaceIsFreeOnceItsPluginHasGone) {
  std::vector<std::shared_ptr<Plugin>> plugins;
  for (size_t i = 1; i < DeviceTable::kMaxPlugins; ++i) {
    plugins.push_back(Put(absl::StrCat("example.com/r", i)));
    table_.SetDevices(absl::StrCat("example.com/r", i), plugins.back().get(), {Named("0")});
  }
  EXPECT_EQ(table_.CheckPut(kTpu).code(), absl::StatusCode::kResourceExhausted);
  table_.SetGone("example.com/r7", plugins[6].get());
  now_ += std::chrono::minutes(1);
  table_.SetGone("example.com/r3", plugins[2].get());
  EXPECT_TRUE(table_.CheckPut(kTpu).ok());
  Put(kTpu);
  EXPECT_FALSE(table_.Capacity().contains("example.com/r7")) << "the first that went";
  EXPECT_TRUE(table_.Capacity().contains("example.com/r3"));
  Put("example.com/npu");
  EXPECT_TRUE(table_.Capacity().contains("example.com/expected")) << "its plugin is to come";
  EXPECT_EQ(table_.Put("example.com/more", plugins[0]).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(DeviceTableTest, APluginThatComesBackTakesItsResource) {
  const auto first = Put(kTpu);
  table_.SetDevices(kTpu, first.get(), {Named("0")});
  table_.SetGone(kTpu, first.get());
  const auto second = std::make_shared<SilentPlugin>(/*has_preference=*/true);
  EXPECT_EQ(*table_.Put(kTpu, second), first);
  EXPECT_TRUE(table_.Stock().at(kTpu).has_preference);
  EXPECT_EQ(table_.Allocatable().at(kTpu).Value(), 0) << "as they were, until it says more";
  EXPECT_FALSE(table_.SetDevices(kTpu, first.get(), {})) << "it is another's";
  EXPECT_FALSE(table_.SetGone(kTpu, first.get()));
  EXPECT_TRUE(table_.SetDevices(kTpu, second.get(), {Named("0")}));
  now_ += std::chrono::hours(1);
  table_.DropExpired();
  EXPECT_EQ(table_.Allocatable().at(kTpu).Value(), 1);
}

TEST_F(DeviceTableTest, AnExpectedResourceWaitsForItsPlugin) {
  EXPECT_EQ(*table_.Find("example.com/expected"), nullptr);
  EXPECT_FALSE(*table_.WantsPreStart("example.com/expected"));
  EXPECT_FALSE(table_.Stock().at("example.com/expected").is_served);
  const auto plugin = Put("example.com/expected");
  EXPECT_EQ(*table_.Find("example.com/expected"), plugin);
  now_ += std::chrono::hours(1);
  EXPECT_FALSE(table_.DropExpired());
}

TEST_F(DeviceTableTest, APluginThatHasGoneStillWantsItsCall) {
  const auto plugin = std::make_shared<SilentPlugin>(false, /*wants_pre_start=*/true);
  ASSERT_TRUE(table_.Put(kTpu, plugin).ok());
  table_.SetGone(kTpu, plugin.get());
  EXPECT_TRUE(*table_.WantsPreStart(kTpu));
  EXPECT_EQ(table_.WantsPreStart("example.com/none").status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(DeviceTableTest, AConfiguredResourceTakesNoPlugin) {
  const absl::Status status = table_.CheckPut("example.com/serial");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(table_.Put("example.com/serial", std::make_shared<SilentPlugin>()).status(), status);
  EXPECT_TRUE(table_.IsConfigured("example.com/serial"));
  EXPECT_FALSE(table_.IsConfigured(kTpu));
}

TEST_F(DeviceTableTest, ThereIsALimit) {
  for (size_t i = 1; i < DeviceTable::kMaxPlugins; ++i) Put(absl::StrCat("example.com/r", i));
  EXPECT_EQ(table_.CheckPut(kTpu).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table_.Put(kTpu, std::make_shared<SilentPlugin>()).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(table_.Put("example.com/r1", std::make_shared<SilentPlugin>()).ok())
      << "it has its place";
}

}  // namespace
}  // namespace plimsoll::agent
