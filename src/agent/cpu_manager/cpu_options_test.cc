#include "agent/cpu_manager/cpu_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string WhyNoCpuOptions(const std::map<std::string, std::string>& options) {
  const auto parsed = ParseCpuOptions(options);
  EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << parsed.status();
  return std::string(parsed.status().message());
}

TEST(CpuOptionsTest, NoneIsTheDefault) {
  EXPECT_EQ(*ParseCpuOptions({}), CpuOptions());
}

TEST(CpuOptionsTest, EachOptionHasItsMember) {
  EXPECT_EQ(*ParseCpuOptions({{"full-pcpus-only", "true"}}), CpuOptions{.full_pcpus_only = true});
  EXPECT_EQ(*ParseCpuOptions({{"distribute-cpus-across-numa", "true"}}),
            CpuOptions{.distribute_cpus_across_numa = true});
  EXPECT_EQ(*ParseCpuOptions({{"align-by-socket", "true"}}), CpuOptions{.align_by_socket = true});
  EXPECT_EQ(*ParseCpuOptions({{"distribute-cpus-across-cores", "true"}}),
            CpuOptions{.distribute_cpus_across_cores = true});
  EXPECT_EQ(*ParseCpuOptions({{"strict-cpu-reservation", "true"}}),
            CpuOptions{.strict_cpu_reservation = true});
  EXPECT_EQ(*ParseCpuOptions({{"prefer-align-cpus-by-uncorecache", "true"}}),
            CpuOptions{.prefer_align_cpus_by_uncorecache = true});
}

TEST(CpuOptionsTest, BooleansAreGos) {
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_TRUE(ParseCpuOptions({{"full-pcpus-only", yes}})->full_pcpus_only) << yes;
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_FALSE(ParseCpuOptions({{"full-pcpus-only", no}})->full_pcpus_only) << no;
  }
  for (const char* neither : {"", "yes", "on", "tRUE", " true", "2"}) {
    EXPECT_THAT(WhyNoCpuOptions({{"full-pcpus-only", neither}}),
                HasSubstr("option \"full-pcpus-only\" is \"" + std::string(neither) +
                          "\"; expected true or false"));
  }
}

TEST(CpuOptionsTest, UnknownOptionsAreNamedWithTheClosestOrAll) {
  EXPECT_THAT(WhyNoCpuOptions({{"full-pcpu-only", "true"}}),
              AllOf(HasSubstr("\"full-pcpu-only\""), HasSubstr("mean \"full-pcpus-only\"?")));
  EXPECT_THAT(WhyNoCpuOptions({{"fast", "true"}}),
              AllOf(HasSubstr("\"fast\""), HasSubstr("full-pcpus-only, distribute-cpus-across-"),
                    HasSubstr("prefer-align-cpus-by-uncorecache")));
  const std::string hostile = WhyNoCpuOptions({{std::string(1000, '\x01'), "true"}});
  EXPECT_LT(hostile.size(), 700u);
  EXPECT_THAT(hostile, HasSubstr("\\x01"));
}

TEST(CpuOptionsTest, SomeExcludeEachOther) {
  const std::string cores = "distribute-cpus-across-cores";
  const std::string numa = "distribute-cpus-across-numa";
  const std::string caches = "prefer-align-cpus-by-uncorecache";
  for (const auto& [first, second] :
       {std::pair(std::string("full-pcpus-only"), cores), std::pair(numa, cores),
        std::pair(caches, cores), std::pair(caches, numa)}) {
    EXPECT_THAT(WhyNoCpuOptions({{first, "true"}, {second, "true"}}),
                HasSubstr("options \"" + first + "\" and \"" + second + "\" exclude each other"));
    EXPECT_TRUE(ParseCpuOptions({{first, "true"}, {second, "false"}}).ok());
  }
}

TEST(CpuOptionsTest, TheOthersGoTogether) {
  EXPECT_TRUE(ParseCpuOptions({{"full-pcpus-only", "true"},
                               {"distribute-cpus-across-numa", "true"},
                               {"align-by-socket", "true"},
                               {"strict-cpu-reservation", "true"}})
                  .ok());
  EXPECT_TRUE(
      ParseCpuOptions({{"full-pcpus-only", "true"}, {"prefer-align-cpus-by-uncorecache", "true"}})
          .ok());
}

}  // namespace
}  // namespace plimsoll::agent
