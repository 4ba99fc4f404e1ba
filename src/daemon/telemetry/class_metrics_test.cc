#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/telemetry/metrics.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;

class MeasuringType : public qos::FakeType {
 public:
  using qos::FakeType::FakeType;
  std::map<std::string, uint64_t> Measure(absl::string_view id,
                                          absl::string_view name) const override {
    if (name != "silver") return {};
    return {{"llc_occupancy_bytes", id.empty() ? 100 : 40}};
  }
};

TEST(ClassMetrics, ShowHoldersCapacityRefusalsAndWhatIsMeasured) {
  qos::FakeKernel kernel;
  std::vector<std::unique_ptr<qos::ClassType>> types;
  types.push_back(std::make_unique<MeasuringType>(&kernel, qos::FakeType::Options{}));
  const auto registry = *qos::Registry::Create(std::move(types));
  ASSERT_TRUE(
      registry->Reserve(qos::Level::kContainer, "c1", "container a", {{"rdt", "silver"}}).ok());
  EXPECT_FALSE(registry->Reserve(qos::Level::kContainer, "c2", "b", {{"rdt", "tin"}}).ok());
  Metrics metrics("1", [] { return StateCounts(); });
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("plimsoll_class_")));
  metrics.SetClasses(registry.get());
  const std::string text = metrics.Text();
  for (const char* line :
       {R"(plimsoll_class_holders{level="container",type="rdt",class="silver"} 1)",
        R"(plimsoll_class_holders{level="container",type="rdt",class="gold"} 0)",
        R"(plimsoll_class_capacity{level="container",type="rdt",class="silver"} 2)",
        R"(plimsoll_class_drift{level="container",type="rdt",class="silver"} 0)",
        R"(plimsoll_class_refusals_total{type="rdt",reason="unknown_class"} 1)",
        R"(plimsoll_class_llc_occupancy_bytes{type="rdt",class="silver"} 100)",
        R"(plimsoll_class_llc_occupancy_bytes{type="rdt",class="silver",id="c1"} 40)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(
      text, Not(HasSubstr(R"(plimsoll_class_capacity{level="container",type="rdt",class="gold")")));
  // Drift counts once seen twice in a row.
  qos::Target target;
  target.id = "c1";
  ASSERT_TRUE(registry->Enforce(target).ok());
  kernel.drift = "thread 5 is elsewhere";
  metrics.Text();
  EXPECT_THAT(metrics.Text(),
              HasSubstr(R"(plimsoll_class_drift{level="container",type="rdt",class="silver"} 1)"));
}

}  // namespace
}  // namespace plimsoll::daemon
