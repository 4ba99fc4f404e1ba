#include "topology/tracker_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TrackerReportTest, MisfitsSayWhatIsInForce) {
  TrackerReport report;
  report.SetMisfit(absl::InvalidArgumentError("CPU 9 is not there"));
  EXPECT_THAT(
      report.Misfits(/*is_told=*/false),
      ElementsAre("CPU 9 is not there; nothing is reported to clients yet, and no pod is confined "
                  "to its part of the node"));
  Partition partition;
  partition.cpus = *resources::CpuSet::Parse("0-1");
  report.SetInForce(partition, InForce::kPart);
  EXPECT_THAT(report.Misfits(/*is_told=*/false),
              ElementsAre("CPU 9 is not there; nothing is reported to clients yet; pods have the "
                          "remaining CPUs 0-1"));
  EXPECT_THAT(report.Misfits(/*is_told=*/true),
              ElementsAre("CPU 9 is not there; pods have the remaining CPUs 0-1"));
  report.SetInForce(partition, InForce::kAll);
  EXPECT_THAT(report.Misfits(/*is_told=*/true),
              ElementsAre("CPU 9 is not there; the previous configuration stays in force"));
  report.SetMisfit(absl::OkStatus());
  EXPECT_THAT(report.Misfits(/*is_told=*/true), IsEmpty());
}

TEST(TrackerReportTest, TroublesAreMisfitsAndThoseThatChangeNothing) {
  TrackerReport report;
  report.SetInForce({}, InForce::kAll);
  report.SetMissing({"no caches are told"});
  report.SetSource(absl::UnavailableError("the provider has ended"), "an unknown zone type");
  report.SetUnfit(absl::InvalidArgumentError("no memory"));
  report.SetDeaf(absl::PermissionDeniedError("no events"));
  EXPECT_THAT(report.Troubles(/*is_told=*/true),
              ElementsAre("no caches are told",
                          "the provider has ended; the previous configuration stays in force",
                          "an unknown zone type",
                          "clients are told a topology of which kubelet and its like make no node: "
                          "no memory",
                          "no events"));
}

}  // namespace
}  // namespace plimsoll::topology
