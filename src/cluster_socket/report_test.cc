#include "cluster_socket/report.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "qos/pod_qos.h"

namespace plimsoll::cluster {
namespace {

namespace wire = ::plimsoll::v1;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &rdt_, qos::FakeType::Options{.classes = {{"gold", 3, "L3 0=0xff0"}, {"bronze", 0, ""}},
                                      .default_class = "bronze",
                                      .immutable = true}));
    types.push_back(std::make_unique<qos::FakeType>(
        &lane_, qos::FakeType::Options{
                    .name = "lane", .level = qos::Level::kPod, .classes = {{"fast", 0, ""}}}));
    types.push_back(std::make_unique<qos::PodQosType>());  // only informs: in no report
    registry_ = *qos::Registry::Create(std::move(types), {{qos::Level::kPod, "moon", "no moon"}});
    sources_.version = "1.2.3";
    sources_.registry = registry_.get();
    sources_.topology = &publisher_;
    sources_.partition = [this] { return partition_; };
    sources_.told = [this] { return told_; };
    topology::Topology topology;
    topology.zones.push_back({.name = "numa-0", .type = "NUMANode"});
    publisher_.Publish(std::move(topology));
  }
  void Hold(const std::string& id, const qos::ClassNames& classes) {
    qos::Target target;
    target.id = id;
    target.name = absl::StrCat("container ", id);
    ASSERT_TRUE(registry_->Reserve(qos::Level::kContainer, id, target.name, classes).ok());
    ASSERT_TRUE(registry_->Enforce(target).ok());
  }
  // "Reason: message" of each.
  static std::vector<std::string> TroublesOf(const wire::NodeReport& report) {
    std::vector<std::string> all;
    for (const wire::Trouble& one : report.troubles()) {
      all.push_back(absl::StrCat(one.reason(), ": ", one.message()));
    }
    return all;
  }

  qos::FakeKernel rdt_;
  qos::FakeKernel lane_;
  std::unique_ptr<qos::Registry> registry_;
  topology::Publisher publisher_;
  absl::Status partition_;
  absl::Status told_;
  ReportSources sources_;
};

constexpr char kNoMoon[] = "ClassTypeUnavailable: type \"moon\" of pods: no moon";

TEST_F(ReportTest, HasClassesAndTopology) {
  Hold("a", {{"rdt", "gold"}});
  Hold("b", {{"rdt", "gold"}});
  ReportMaker maker(sources_);
  const wire::NodeReport report = maker.Make({});
  EXPECT_EQ(report.version(), "1.2.3");
  ASSERT_EQ(report.types_size(), 3);
  const wire::NodeClassType& rdt = report.types(0);
  EXPECT_EQ(rdt.name(), "rdt");
  EXPECT_EQ(rdt.level(), "container");
  EXPECT_TRUE(rdt.immutable());
  EXPECT_EQ(rdt.default_class(), "bronze");
  ASSERT_EQ(rdt.classes_size(), 2);
  EXPECT_EQ(rdt.classes(0).name(), "gold");
  EXPECT_EQ(rdt.classes(0).capacity(), 3u);
  EXPECT_EQ(rdt.classes(0).holders(), 2u);
  EXPECT_EQ(rdt.classes(0).meaning(), "L3 0=0xff0");
  EXPECT_EQ(rdt.classes(1).holders(), 0u);
  EXPECT_EQ(report.types(1).name(), "lane");
  EXPECT_EQ(report.types(1).level(), "pod");
  EXPECT_EQ(report.types(2).name(), "moon");
  EXPECT_EQ(report.types(2).unavailable(), "no moon");
  EXPECT_EQ(report.topology_edition(), 1u);
  ASSERT_EQ(report.topology().zones_size(), 1);
  EXPECT_FALSE(report.has_exclusive());
  EXPECT_THAT(TroublesOf(report), ElementsAre(kNoMoon));
}

TEST_F(ReportTest, DriftCountsOnceSeenTwiceAndOnlyWhenLookedFor) {
  Hold("a", {{"rdt", "gold"}});
  ReportMaker maker(sources_);
  rdt_.drift = "thread 5 is elsewhere";
  EXPECT_EQ(maker.Make({.drift = true}).types(0).classes(0).drift_size(), 0);
  const int looks = rdt_.looks;
  EXPECT_TRUE(maker.HasNewDrift());
  EXPECT_EQ(maker.Make({.drift = false}).types(0).classes(0).drift_size(), 0);
  EXPECT_EQ(rdt_.looks, looks);
  const wire::NodeReport report = maker.Make({.drift = true});
  EXPECT_FALSE(maker.HasNewDrift());
  EXPECT_THAT(report.types(0).classes(0).drift(),
              ElementsAre("container a: thread 5 is elsewhere"));
  EXPECT_THAT(TroublesOf(report),
              ElementsAre(kNoMoon,
                          "ClassDrift: class \"gold\" of type \"rdt\" for containers: container a: "
                          "thread 5 is elsewhere"));
  // It stays until the next look.
  EXPECT_EQ(maker.Make({.drift = false}).types(0).classes(0).drift_size(), 1);
  rdt_.drift.clear();
  EXPECT_EQ(maker.Make({.drift = true}).types(0).classes(0).drift_size(), 0);
}

TEST_F(ReportTest, AtMostTenHoldersOfAClassAreNamed) {
  for (int i = 0; i < 15; ++i) Hold(absl::StrCat("c", i), {{"rdt", "bronze"}});
  rdt_.drift = std::string(5000, 'x');
  ReportMaker maker(sources_);
  // A look has limited time.
  for (int i = 0; i < 40; ++i) maker.Make({.drift = true});
  const wire::NodeReport report = maker.Make({.drift = true});
  EXPECT_EQ(report.types(0).classes(1).drift_size(), 10);
  EXPECT_EQ(report.types(0).classes(1).drift(0).size(), 1024u);
  EXPECT_EQ(report.types(0).classes(1).holders(), 15u);
}

// A reader would refuse the whole report otherwise.
TEST_F(ReportTest, ItsTextsAreUtf8) {
  std::string message = "PartInForce: \xff ";
  while (message.size() < 2000) message += "\u00fc";
  for (const char* shift : {"", "a"}) {  // one of the two would be cut within a character
    partition_ = absl::FailedPreconditionError(
        absl::StrCat(message.substr(0, 13), shift, message.substr(13)));
    const wire::NodeReport report = ReportMaker(sources_).Make({});
    wire::NodeReport read;
    ASSERT_TRUE(read.ParseFromString(report.SerializeAsString()));
    ASSERT_EQ(read.troubles_size(), report.troubles_size());
    const std::vector<std::string> troubles = TroublesOf(read);
    EXPECT_THAT(troubles, ::testing::Contains(AllOf(HasSubstr("\\xff "), HasSubstr("\u00fc..."))));
  }
}

TEST_F(ReportTest, KubeletsGrantsAreKeptBetweenLooks) {
  int asked = 0;
  absl::StatusOr<kubelet::Grants> grants = absl::UnavailableError("no kubelet");
  sources_.grants = [&] {
    ++asked;
    return grants;
  };
  ReportMaker maker(sources_);
  EXPECT_FALSE(maker.Make({.grants = true}).has_exclusive());
  kubelet::Grants some;
  some.exclusive_cpus = "2-3";
  some.memory.push_back({.resource = "memory", .numa_nodes = {0, 1}, .bytes = 4096});
  some.devices.push_back({.resource = "vendor.com/nic", .numa_nodes = {1}, .count = 2});
  some.device_totals.push_back({.resource = "vendor.com/nic", .numa_nodes = {1}, .count = 5});
  grants = some;
  EXPECT_FALSE(maker.Make({.grants = false}).has_exclusive());
  EXPECT_EQ(asked, 1);
  wire::NodeReport report = maker.Make({.grants = true});
  ASSERT_TRUE(report.has_exclusive());
  EXPECT_EQ(report.exclusive().cpus(), "2-3");
  ASSERT_EQ(report.exclusive().memory_size(), 1);
  EXPECT_EQ(report.exclusive().memory(0).resource(), "memory");
  EXPECT_THAT(report.exclusive().memory(0).numa_nodes(), ElementsAre(0, 1));
  EXPECT_EQ(report.exclusive().memory(0).bytes(), 4096u);
  ASSERT_EQ(report.exclusive().devices_size(), 1);
  EXPECT_EQ(report.exclusive().devices(0).count(), 2u);
  ASSERT_EQ(report.exclusive().device_totals_size(), 1);
  EXPECT_EQ(report.exclusive().device_totals(0).resource(), "vendor.com/nic");
  EXPECT_THAT(report.exclusive().device_totals(0).numa_nodes(), ElementsAre(1));
  EXPECT_EQ(report.exclusive().device_totals(0).count(), 5u);
  EXPECT_TRUE(maker.Make({.grants = false}).has_exclusive());
  grants = absl::UnavailableError("gone");
  EXPECT_FALSE(maker.Make({.grants = true}).has_exclusive());
}

TEST_F(ReportTest, ALostPartitionIsATrouble) {
  partition_ = absl::FailedPreconditionError("PartInForce: NUMA node 1 is gone");
  told_ = absl::DataLossError("cluster.db is damaged");
  ReportMaker maker(sources_);
  EXPECT_THAT(TroublesOf(maker.Make({})),
              ElementsAre("PartitionLost: PartInForce: NUMA node 1 is gone", kNoMoon,
                          "ToldClassesLost: cluster.db is damaged"));
}

TEST_F(ReportTest, WithoutATopologyTheReasonIsTold) {
  topology::Publisher silent;
  sources_.topology = &silent;
  partition_ = absl::FailedPreconditionError("NotTold: the provider has not come yet");
  ReportMaker maker(sources_);
  const wire::NodeReport report = maker.Make({});
  EXPECT_FALSE(report.has_topology());
  EXPECT_EQ(report.topology_edition(), 0u);
  EXPECT_THAT(TroublesOf(report),
              ElementsAre(AllOf(HasSubstr("TopologyUnknown: "), HasSubstr("NotTold: the provider")),
                          kNoMoon));
}

TEST_F(ReportTest, GatesThatAreOffLeaveTheirPartOut) {
  sources_.registry = nullptr;
  sources_.topology = nullptr;
  ReportMaker maker(sources_);
  const wire::NodeReport report = maker.Make({});
  EXPECT_EQ(report.types_size(), 0);
  EXPECT_THAT(TroublesOf(report),
              ElementsAre("TopologyUnknown: the feature gate KubeletResourceDiscoveryFromCRI is "
                          "off"));
}

}  // namespace
}  // namespace plimsoll::cluster
