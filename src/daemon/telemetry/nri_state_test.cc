#include "daemon/telemetry/nri_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nri::PluginReport Pinner() {
  nri::PluginReport plugin{.name = "10-pinner", .state = nri::PluginState::kReady};
  plugin.pre_installed = true;
  plugin.pid = 7;
  plugin.nri_version = "v0.12.0";
  plugin.events = {"RunPodSandbox", "CreateContainer"};
  plugin.strikes = 1;
  plugin.restarts = 2;
  plugin.connected_unix_nanos = 1'000'000'000;
  plugin.last_error = "slow";
  plugin.requests["CreateContainer"] = {.count = 4,
                                        .errors = 1,
                                        .strikes = 2,
                                        .total = absl::Milliseconds(10),
                                        .longest = absl::Milliseconds(6)};
  plugin.adjusted_containers = 3;
  plugin.updated_containers = 5;
  plugin.evicted_containers = 1;
  return plugin;
}

TEST(NriState, ClientsAreToldEverything) {
  const auto told = nlohmann::json::parse(
      ToJson({.is_enabled = true, .socket = "/run/n.sock", .plugins = {Pinner()}}));
  const nlohmann::json expected = {
      {"enabled", true},
      {"socket", "/run/n.sock"},
      {"trouble", ""},
      {"plugins",
       {{{"name", "10-pinner"},
         {"state", "ready"},
         {"required", false},
         {"preInstalled", true},
         {"pid", 7},
         {"nriVersion", "v0.12.0"},
         {"events", {"RunPodSandbox", "CreateContainer"}},
         {"strikes", 1},
         {"restarts", 2},
         {"connectedAt", "1970-01-01T00:00:01+00:00"},
         {"lastError", "slow"},
         {"requests",
          {{"CreateContainer",
            {{"count", 4}, {"errors", 1}, {"strikes", 2}, {"meanMs", 2.5}, {"longestMs", 6.0}}}}},
         {"adjustedContainers", 3},
         {"updatedContainers", 5},
         {"evictedContainers", 1}}}}};
  EXPECT_EQ(told, expected) << told.dump(1);
}

// A plugin's name and error are its own words.
TEST(NriState, WordsThatAreNoUtf8AreStillToldAsJson) {
  NriState state{.is_enabled = true, .plugins = {Pinner()}};
  state.plugins[0].last_error = "\xff\n";
  EXPECT_TRUE(nlohmann::json::accept(ToJson(state)));
}

TEST(NriState, ARequiredPluginThatIsNotThereIsATrouble) {
  NriState state{.is_enabled = true, .plugins = {Pinner()}};
  state.plugins[0].state = nri::PluginState::kAbsent;
  EXPECT_THAT(TroublesOf(state), IsEmpty());
  state.plugins[0].required = true;
  EXPECT_THAT(TroublesOf(state),
              ElementsAre("NRI plugin 10-pinner is required and not there, so pods and containers "
                          "can't be made: slow"));
  state.plugins[0].state = nri::PluginState::kConnecting;
  EXPECT_THAT(TroublesOf(state), ElementsAre(HasSubstr("is required and not ready yet")));
  state.plugins[0].state = nri::PluginState::kReady;
  EXPECT_THAT(TroublesOf(state), IsEmpty());
  state.trouble = "no socket";
  EXPECT_THAT(TroublesOf(state), ElementsAre("no socket"));
}

TEST(NriState, MetricsAreByPluginAndRequest) {
  const std::string text = prometheus::TextSerializer().Serialize(
      NriMetrics({.is_enabled = true, .plugins = {Pinner()}}));
  EXPECT_THAT(text,
              AllOf(HasSubstr("plimsoll_nri_plugin_ready{plugin=\"10-pinner\"} 1"),
                    HasSubstr("plimsoll_nri_requests_total{plugin=\"10-pinner\",request="
                              "\"CreateContainer\"} 4"),
                    HasSubstr("plimsoll_nri_request_errors_total{plugin=\"10-pinner\",request="
                              "\"CreateContainer\"} 1"),
                    HasSubstr("plimsoll_nri_strikes_total{plugin=\"10-pinner\",request="
                              "\"CreateContainer\"} 2"),
                    HasSubstr("plimsoll_nri_request_seconds_total{plugin=\"10-pinner\",request="
                              "\"CreateContainer\"} 0.01"),
                    HasSubstr("plimsoll_nri_longest_request_seconds{plugin=\"10-pinner\",request="
                              "\"CreateContainer\"} 0.006"),
                    HasSubstr("plimsoll_nri_plugin_restarts_total{plugin=\"10-pinner\"} 2"),
                    HasSubstr("plimsoll_nri_adjusted_containers_total{plugin=\"10-pinner\"} 3"),
                    HasSubstr("plimsoll_nri_updated_containers_total{plugin=\"10-pinner\"} 5"),
                    HasSubstr("plimsoll_nri_evicted_containers_total{plugin=\"10-pinner\"} 1")));
  EXPECT_THAT(NriMetrics({}), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::daemon
