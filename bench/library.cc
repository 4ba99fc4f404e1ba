// bench_library: the hot parts of the libraries below the daemon.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/test_dir.h"
#include "image/reference.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"
#include "runtime/store/store.h"

namespace plimsoll {
namespace {

void ParseQuantity(benchmark::State& state) {
  for (auto _ : state) {
    for (const char* text : {"100m", "1.5Gi", "250M", "3e3", "0.125"}) {
      benchmark::DoNotOptimize(resources::Quantity::Parse(text));
    }
  }
  state.SetItemsProcessed(state.iterations() * 5);
}
BENCHMARK(ParseQuantity);

void FormatQuantity(benchmark::State& state) {
  const auto quantity = resources::Quantity::Parse("1536Mi");
  for (auto _ : state) benchmark::DoNotOptimize(quantity->Canonical());
}
BENCHMARK(FormatQuantity);

// A machine's list: every other CPU, so that no range helps.
void ParseAndFormatCpuSet(benchmark::State& state) {
  std::string list;
  for (int cpu = 0; cpu < state.range(0); cpu += 2) {
    absl::StrAppend(&list, list.empty() ? "" : ",", cpu);
  }
  for (auto _ : state) {
    const auto set = resources::CpuSet::Parse(list);
    benchmark::DoNotOptimize(set->ToString());
  }
}
BENCHMARK(ParseAndFormatCpuSet)->Arg(16)->Arg(512);

void ParseReference(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(image::ParseReference("registry.example:5000/team/app:v1.2.3"));
  }
}
BENCHMARK(ParseReference);

// One row of a container, committed as the daemon does it.
void PutContainer(benchmark::State& state) {
  const TestDir directory;
  const auto store = runtime::Store::Open(directory.root());
  runtime::SandboxRecord sandbox;
  sandbox.id = "sandbox";
  if (!store.ok() || !(*store)->PutSandbox(sandbox).ok()) std::abort();
  runtime::ContainerRecord record;
  record.id = "container";
  record.sandbox_id = sandbox.id;
  record.client_config = std::string(1024, 'x');
  for (auto _ : state) {
    if (!(*store)->PutContainer(record).ok()) std::abort();
  }
}
BENCHMARK(PutContainer)->Unit(benchmark::kMicrosecond);

// What a restart reads.
void LoadContainers(benchmark::State& state) {
  const TestDir directory;
  const auto store = runtime::Store::Open(directory.root());
  runtime::SandboxRecord sandbox;
  sandbox.id = "sandbox";
  if (!store.ok() || !(*store)->PutSandbox(sandbox).ok()) std::abort();
  for (int i = 0; i < state.range(0); ++i) {
    runtime::ContainerRecord record;
    record.id = absl::StrCat("container-", i);
    record.sandbox_id = sandbox.id;
    record.client_config = std::string(1024, 'x');
    if (!(*store)->PutContainer(record).ok()) std::abort();
  }
  for (auto _ : state) benchmark::DoNotOptimize((*store)->LoadContainers());
}
BENCHMARK(LoadContainers)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
