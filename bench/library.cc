// bench_library: the hot parts of the libraries below the daemon.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "cri/messages/container_configs.h"
#include "cri/messages/translate_container.h"
#include "image/names/reference.h"
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

// The read of a restart.
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

// --- ListContainers' answer, without the engine's and gRPC's share

// With labels and annotations as kubelet gives them.
std::vector<runtime::ContainerRecord> ContainersOfKubelet(int64_t count) {
  ::runtime::v1::ContainerConfig config;
  config.mutable_metadata()->set_name("main");
  config.mutable_image()->set_image("registry.example/team/app@sha256:" + std::string(64, 'a'));
  for (const char* key : {"io.kubernetes.container.name", "io.kubernetes.pod.name",
                          "io.kubernetes.pod.namespace", "io.kubernetes.pod.uid"}) {
    (*config.mutable_labels())[key] = "5f2c6ad1-7ac2-4ee2-8c8a-0f8f37a3e6a1";
  }
  for (const char* key :
       {"io.kubernetes.container.hash", "io.kubernetes.container.ports",
        "io.kubernetes.container.restartCount", "io.kubernetes.container.terminationMessagePath",
        "io.kubernetes.container.terminationMessagePolicy",
        "io.kubernetes.pod.terminationGracePeriod"}) {
    (*config.mutable_annotations())[key] = "/dev/termination-log";
  }
  std::vector<runtime::ContainerRecord> records;
  for (int64_t i = 0; i < count; ++i) {
    runtime::ContainerRecord record;
    record.id = absl::StrCat(std::string(58, 'c'), 100000 + i);
    record.sandbox_id = std::string(64, 'd');
    record.image_ref = config.image().image();
    record.image_id = "sha256:" + std::string(64, 'e');
    record.state = runtime::ContainerState::kRunning;
    record.created_unix_nanos = 1'700'000'000'000'000'000 + i;
    record.client_config = config.SerializeAsString();
    records.push_back(record);
  }
  return records;
}

void ListAsMessages(benchmark::State& state) {
  const auto records = ContainersOfKubelet(state.range(0));
  cri::ContainerConfigs configs;
  for (auto _ : state) {
    ::runtime::v1::ListContainersResponse response;
    for (const runtime::ContainerRecord& record : records) {
      cri::FillContainer(record, *configs.Get(record.id, record.client_config),
                         response.add_containers());
    }
    benchmark::DoNotOptimize(response.SerializeAsString());
  }
}
BENCHMARK(ListAsMessages)->Arg(1000)->Unit(benchmark::kMicrosecond);

void ListAsBytes(benchmark::State& state) {
  const auto records = ContainersOfKubelet(state.range(0));
  cri::ContainerConfigs configs;
  for (auto _ : state) {
    std::string response;
    for (const runtime::ContainerRecord& record : records) {
      cri::AddListed(*configs.GetListed(record), cri::ToCri(record.state), &response);
    }
    benchmark::DoNotOptimize(response);
  }
}
BENCHMARK(ListAsBytes)->Arg(1000)->Unit(benchmark::kMicrosecond);

// The cost of reading the answer, for a client written in C++.
void ReadList(benchmark::State& state) {
  cri::ContainerConfigs configs;
  std::string bytes;
  for (const runtime::ContainerRecord& record : ContainersOfKubelet(state.range(0))) {
    cri::AddListed(*configs.GetListed(record), cri::ToCri(record.state), &bytes);
  }
  for (auto _ : state) {
    ::runtime::v1::ListContainersResponse response;
    benchmark::DoNotOptimize(response.ParseFromString(bytes));
  }
}
BENCHMARK(ReadList)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
