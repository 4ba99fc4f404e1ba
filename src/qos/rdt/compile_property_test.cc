// Properties that hold for every machine and every set of partitions.
#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/mask.h"

namespace plimsoll::qos {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint64_t From(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(engine_);
  }
  bool OneIn(uint64_t n) { return From(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

linux::ResctrlInfo RandomMachine(Random& random) {
  linux::ResctrlInfo info;
  const auto cache = [&] {
    linux::ResctrlCacheInfo one;
    one.cdp = random.OneIn(3);
    for (uint64_t id = random.From(0, 2), n = random.From(1, 4); n > 0; --n) {
      one.ids.push_back(id);
      id += random.From(1, 3);
    }
    one.cbm_mask = MaskOf(0, random.From(4, 32));
    one.min_cbm_bits = random.From(1, 2);
    one.num_closids = random.From(4, 16);
    one.shareable_bits = random.OneIn(2) ? one.cbm_mask & ~(one.cbm_mask >> 2) : 0;
    return one;
  };
  info.l3 = cache();
  if (random.OneIn(2)) info.l2 = cache();
  info.mb = linux::ResctrlBandwidthInfo{.ids = info.l3->ids,
                                        .min_bandwidth = random.From(1, 10),
                                        .bandwidth_gran = random.From(1, 10),
                                        .num_closids = random.From(4, 16),
                                        .mbps = random.OneIn(3)};
  return info;
}

std::string RandomShare(Random& random) {
  if (random.OneIn(3)) return absl::StrCat(random.From(1, 100), "%");
  const uint64_t low = random.From(0, 100);
  return absl::StrCat(low, "-", random.From(std::max<uint64_t>(low, 1), 100), "%");
}

// Percentages of partitions leave at least something for the following ones.
std::string RandomFile(Random& random) {
  std::string text = "options: {l2: {optional: true}}\npartitions:\n";
  uint64_t left = 100;
  const uint64_t partitions = random.From(1, 4);
  for (uint64_t p = 0; p < partitions; ++p) {
    const uint64_t percent = random.From(1, left - (partitions - p - 1));
    left -= percent;
    absl::StrAppend(&text, "  p", random.From(0, 9), p, ":\n");
    absl::StrAppend(&text, "    l2Allocation: ", percent, "%\n");
    absl::StrAppend(&text, "    l3Allocation: {all: {unified: ", percent, "%, code: ", percent,
                    "%, data: ", percent, "%}}\n");
    absl::StrAppend(&text, "    mbAllocation: [", random.From(0, 100), "%, ",
                    random.From(0, 100'000), "MBps]\n    classes:\n");
    for (uint64_t c = random.From(1, 3); c > 0; --c) {
      absl::StrAppend(&text, "      c", p, c,
                      ": {l3Allocation: {all: {unified: ", RandomShare(random),
                      ", code: ", RandomShare(random), ", data: ", RandomShare(random),
                      "}}, l2Allocation: ", RandomShare(random), ", mbAllocation: [",
                      random.From(0, 100), "%, ", random.From(0, 100'000), "MBps]}\n");
    }
  }
  return text;
}

const linux::ResctrlCacheInfo& CacheOf(const linux::ResctrlInfo& machine, const std::string& line) {
  return line[1] == '2' ? *machine.l2 : *machine.l3;
}

void CheckMasks(const RdtCompiled& compiled, const linux::ResctrlInfo& machine) {
  std::map<std::pair<std::string, uint64_t>, uint64_t> taken;
  for (const RdtCompiledPartition& partition : compiled.partitions) {
    for (const auto& [resource, values] : partition.schemata) {
      if (resource == "MB") continue;
      const linux::ResctrlCacheInfo& cache = CacheOf(machine, resource);
      ASSERT_EQ(values.size(), cache.ids.size());
      for (const auto& [id, mask] : values) {
        ASSERT_EQ(WhyNoCacheMask(mask, cache.cbm_mask, cache.min_cbm_bits, false), "");
        uint64_t& others = taken[{resource, id}];
        ASSERT_EQ(others & mask, 0u);
        others |= mask;
      }
    }
  }
}

void CheckClasses(const RdtCompiled& compiled, const linux::ResctrlInfo& machine) {
  for (const auto& [name, one] : compiled.classes) {
    const std::string& wanted = one.partition;  // clang 14 captures no structured bindings
    const auto partition = std::find_if(compiled.partitions.begin(), compiled.partitions.end(),
                                        [&wanted](const auto& p) { return p.name == wanted; });
    ASSERT_NE(partition, compiled.partitions.end());
    ASSERT_EQ(one.schemata.size(), partition->schemata.size());
    for (const auto& [resource, values] : one.schemata) {
      for (const auto& [id, value] : values) {
        const uint64_t bound = partition->schemata.at(resource).at(id);
        if (resource != "MB") {
          const linux::ResctrlCacheInfo& cache = CacheOf(machine, resource);
          ASSERT_EQ(WhyNoCacheMask(value, bound, cache.min_cbm_bits, false), "");
        } else if (machine.mb->mbps) {
          ASSERT_LE(value, bound);
        } else {
          ASSERT_GE(value, machine.mb->min_bandwidth);
          ASSERT_LE(value, 100u);
          ASSERT_TRUE(value % machine.mb->bandwidth_gran == 0 || value == 100);
        }
      }
    }
  }
}

TEST(RdtCompilePropertyTest, MasksAreContiguousDisjointAndInside) {
  int compiled_ok = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const linux::ResctrlInfo machine = RandomMachine(random);
    const std::string text = RandomFile(random);
    const auto config = ParseRdtConfig("random.yaml", text);
    ASSERT_TRUE(config.ok()) << config.status() << "\n" << text;
    const auto compiled = CompileRdt(*config, machine);
    if (!compiled.ok()) {  // these files can only fail by too few ways or CLOSIDs
      ASSERT_EQ(compiled.status().code(), absl::StatusCode::kResourceExhausted)
          << compiled.status() << "\n"
          << text;
      continue;
    }
    ++compiled_ok;
    CheckMasks(*compiled, machine);
    CheckClasses(*compiled, machine);
    if (HasFatalFailure()) FAIL() << text;
  }
  EXPECT_GT(compiled_ok, 100);
}

}  // namespace
}  // namespace plimsoll::qos
