#include "topology/source_provider.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"

namespace plimsoll::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology PushedZone(const std::string& name, const std::string& cpus = "0") {
  return {{Zone{.name = name, .type = kCore, .attributes = {{kCpuIds, cpus}}}}};
}

class SourceProviderTest : public ::testing::Test {
 protected:
  void Make(absl::Duration hold) { source_ = *ProviderSource::Make(hold); }
  // Makes the source as a daemon does at its start; the one before has ended or was killed.
  void MakeAnew(absl::Duration hold, const std::string& boot_id = "b") {
    source_ = *ProviderSource::Make(hold, TopologyKeeper(dir_.root(), boot_id));
  }
  // The first zone; "kernel" without a topology.
  std::string Seen() {
    const SourceView view = source_->Look(machine_);
    if (!view.status.ok()) return std::string(view.status.message());
    return view.topology ? view.topology->zones.at(0).name : "kernel";
  }
  Machine machine_ = *ReadHwlocSynthetic("core:2 pu:1");
  TestDir dir_;
  std::shared_ptr<ProviderSource> source_;
};

TEST_F(SourceProviderTest, TheKernelsIsUsedUntilOneIsPushed) {
  Make(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
  EXPECT_FALSE(source_->Heard());
  auto session = source_->Connect("p");
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(Seen(), "kernel");
  ASSERT_TRUE((*session)->Push(PushedZone("a")).ok());
  EXPECT_TRUE(source_->Heard());
  EXPECT_FALSE(source_->Heard());
  EXPECT_EQ(Seen(), "a");
}

TEST_F(SourceProviderTest, ABadOneIsRefusedAndTheLastStays) {
  Make(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
  const auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  static_cast<void>(source_->Heard());
  const absl::Status foreign = session->Push(PushedZone("b", "7"));
  EXPECT_TRUE(absl::IsFailedPrecondition(foreign));
  EXPECT_THAT(foreign.message(), HasSubstr("zone \"b\" has CPUs 7"));
  EXPECT_TRUE(absl::IsInvalidArgument(session->Push({})));
  EXPECT_FALSE(source_->Heard());
  EXPECT_EQ(Seen(), "a");
}

// With a look at the machine and before the first.
TEST_F(SourceProviderTest, OneThatNoClientCouldReadIsRefused) {
  const Topology unnumbered = {{Zone{.name = "east", .type = kNumaNode}}};
  for (const bool has_looked : {false, true}) {
    Make(absl::Hours(1));
    if (has_looked) {
      EXPECT_EQ(Seen(), "kernel");
    }
    const auto session = *source_->Connect("p");
    ASSERT_TRUE(session->Push(PushedZone("a")).ok());
    const absl::Status refused = session->Push(unnumbered);
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_THAT(refused.message(), HasSubstr("zone \"east\" is a NUMA node"));
    EXPECT_EQ(Seen(), "a");
  }
}

// By a daemon whose build took it.
TEST_F(SourceProviderTest, WhatWasKeptAndNoClientCouldReadIsForgotten) {
  ASSERT_TRUE(TopologyKeeper(dir_.root(), "b")
                  .Store({.author = "p", .topology = {{Zone{.name = "e", .type = kNumaNode}}}})
                  .ok());
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
}

TEST_F(SourceProviderTest, OneAtATime) {
  Make(absl::Hours(1));
  auto first = *source_->Connect("first");
  const auto second = source_->Connect("second");
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(second.status().message(),
              HasSubstr("provider \"second\": there is one already, \"first\""));
  first.reset();
  EXPECT_TRUE(source_->Connect("second").ok());
}

TEST_F(SourceProviderTest, WhatProvidersDoIsTold) {
  std::vector<std::string> told;
  source_ = *ProviderSource::Make(absl::ZeroDuration(), std::nullopt,
                                  [&](const std::string& what) { told.push_back(what); });
  EXPECT_EQ(Seen(), "kernel");
  auto session = *source_->Connect("p");
  EXPECT_THAT(told, ElementsAre("topology provider \"p\" has come"));
  EXPECT_FALSE(source_->Connect("q").ok());
  EXPECT_EQ(told.back(), "topology provider \"q\" is refused: there is one already, \"p\"");
  EXPECT_FALSE(session->Push(PushedZone("a", "7")).ok());
  EXPECT_THAT(told.back(),
              HasSubstr("topology provider \"p\" has its topology refused: zone \"a\" has CPUs 7"));
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  EXPECT_EQ(told.size(), 3u) << "a topology that is taken is told as what is pods'";
  session.reset();
  EXPECT_EQ(told.back(), "topology provider \"p\" has ended");
  EXPECT_EQ(Seen(), "kernel");
  EXPECT_EQ(told.back(),
            "topology provider \"p\" has been gone for 0: the kernel's topology is used again");
  EXPECT_EQ(Seen(), "kernel");
  EXPECT_EQ(told.size(), 5u);
}

TEST_F(SourceProviderTest, ATopologyOutlivesItsAuthorForAWhile) {
  Make(absl::Hours(1));
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  session.reset();
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "a");
  const SourceView view = source_->Look(machine_);
  EXPECT_THAT(view.trouble, HasSubstr("topology provider \"p\" is gone"));
  EXPECT_LT(view.again, absl::InfiniteFuture());
  // Only a push of the next provider ends the wait, not its presence.
  session = *source_->Connect("q");
  EXPECT_LT(source_->Look(machine_).again, absl::InfiniteFuture());
  ASSERT_TRUE(session->Push(PushedZone("b")).ok());
  EXPECT_EQ(source_->Look(machine_).again, absl::InfiniteFuture());
  EXPECT_EQ(source_->Look(machine_).trouble, "");
  EXPECT_EQ(Seen(), "b");
}

TEST_F(SourceProviderTest, ThenTheKernelsIsBack) {
  Make(absl::ZeroDuration());
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  EXPECT_EQ(Seen(), "a");
  session.reset();
  EXPECT_EQ(Seen(), "kernel");
}

TEST_F(SourceProviderTest, ItIsHeldAgainstTheMachineAtEachLook) {
  Make(absl::Hours(1));
  const auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a", "1")).ok());
  EXPECT_EQ(Seen(), "a");
  machine_ = *ReadHwlocSynthetic("core:1 pu:1");
  EXPECT_THAT(Seen(), HasSubstr("topology provider \"p\": zone \"a\" has CPUs 1"));
}

TEST_F(SourceProviderTest, ATopologyOutlivesTheDaemon) {
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  // The daemon was killed: nobody has seen the provider go.
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "a");
  const absl::Time until = source_->Look(machine_).again;
  EXPECT_GT(until, absl::Now() + absl::Minutes(50));
  EXPECT_THAT(source_->Look(machine_).trouble, HasSubstr("topology provider \"p\" is gone"));
  // The provider is back with another one; then both end, the provider first.
  session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("b")).ok());
  EXPECT_FALSE(source_->ForgetKept()) << "it is this daemon's";
  session.reset();
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "b");
  EXPECT_GE(source_->Look(machine_).again, until);
  // Under another boot.
  MakeAnew(absl::Hours(1), "c");
  EXPECT_EQ(Seen(), "kernel");
}

TEST_F(SourceProviderTest, ARestartDoesNotMakeItsTimeLonger) {
  MakeAnew(absl::Hours(1));
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  session.reset();
  const absl::Time until = source_->Look(machine_).again;
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(source_->Look(machine_).again, until);
  MakeAnew(absl::ZeroDuration());
  EXPECT_EQ(Seen(), "kernel");
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel") << "forgotten";
}

TEST_F(SourceProviderTest, WhatWasKeptAndDoesNotFitIsForgotten) {
  MakeAnew(absl::Hours(1));
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a", "1")).ok());
  const Machine larger = machine_;
  machine_ = *ReadHwlocSynthetic("core:1 pu:1");
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
  machine_ = larger;
  MakeAnew(absl::Hours(1));
  EXPECT_EQ(Seen(), "kernel");
}

TEST_F(SourceProviderTest, WhatWasKeptMayBeUnwanted) {
  MakeAnew(absl::Hours(1));
  auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  MakeAnew(absl::Hours(1));
  EXPECT_TRUE(source_->ForgetKept());
  EXPECT_FALSE(source_->ForgetKept());
  EXPECT_EQ(Seen(), "kernel");
}

TEST_F(SourceProviderTest, WhatCannotBeKeptIsTold) {
  MakeAnew(absl::Hours(1));
  ASSERT_TRUE(dir_.root().MakeDirs("provider-topology/full").ok());
  const auto session = *source_->Connect("p");
  ASSERT_TRUE(session->Push(PushedZone("a")).ok());
  EXPECT_EQ(Seen(), "a");
  EXPECT_THAT(source_->Look(machine_).trouble, HasSubstr("will not outlive the daemon"));
}

}  // namespace
}  // namespace plimsoll::topology
