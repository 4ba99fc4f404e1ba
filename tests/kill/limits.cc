#include "kill/limits.h"

#include <nlohmann/json.hpp>

#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "kill/actor.h"
#include "runtime/spec/json.h"

namespace plimsoll::testing {
std::optional<Limits> LimitsOf(Node& node, const std::string& container_id) {
  cri::ContainerStatusRequest request;
  request.set_container_id(container_id);
  request.set_verbose(true);
  cri::ContainerStatusResponse response;
  if (!node.runtime().ContainerStatus(Context().get(), request, &response).ok()) {
    return std::nullopt;
  }
  const auto info = nlohmann::json::parse(response.info().at("info"), nullptr, false);
  Limits limits;
  const auto resources = info.at("spec").find("resources");  // omitted if empty
  if (resources != info.at("spec").end()) {
    limits.row = runtime::CgroupSettingsFromJson(resources->dump()).value();
  }
  limits.row.cpuset_cpus.reset();
  limits.row.cpuset_mems.reset();
  const std::string group = info.at("cgroupPath");
  for (const char* file : {"cpu.max", "memory.high", "memory.swap.max"}) {
    if (!IsV2()) continue;
    const auto text = Cgroups().ReadFile(group, "", file);
    if (!text.ok()) return std::nullopt;
    limits.held.unified[file] = *text;
  }
  auto held = Cgroups().Read(group);
  if (!held.ok() || !Cgroups().Exists(group).value_or(false)) return std::nullopt;
  held->unified = limits.held.unified;
  limits.held = *held;
  limits.held.cpuset_cpus.reset();
  limits.held.cpuset_mems.reset();
  return limits;
}

linux::CgroupSettings RandomUpdate(const std::function<uint64_t(uint64_t)>& random, bool memory) {
  const auto some_memory = [&] { return static_cast<int64_t>(2 + random(7)) * 16 * kMiB; };
  switch (random(memory ? 8 : 4)) {
    case 0:
      return {.cpu_shares = 512 + random(4) * 256};
    case 1:
      return {.cpu_quota_us = static_cast<int64_t>(1 + random(9)) * 10000};
    case 2:
      return {.cpu_period_us = (5 + random(5)) * 10000};
    case 3:
      return {.unified = {{"cpu.max", random(2) == 0 ? "max 90000" : "70000 80000"}}};
    case 4:
      return {.unified = {{"memory.high", random(2) == 0 ? "max" : "268435456"}}};
    case 5: {
      const int64_t both = some_memory();
      return {.memory_limit_bytes = both, .memory_swap_limit_bytes = both};
    }
    case 6: {
      const int64_t alone = some_memory();
      return {.memory_limit_bytes = alone, .memory_swap_limit_bytes = alone + 16 * kMiB};
    }
    default:
      return {.memory_limit_bytes = random(8) == 0 ? -1 : some_memory()};
  }
}

cri::LinuxContainerResources MessageOf(const linux::CgroupSettings& settings) {
  cri::LinuxContainerResources message;
  message.set_cpu_shares(static_cast<int64_t>(settings.cpu_shares.value_or(0)));
  message.set_cpu_quota(settings.cpu_quota_us.value_or(0));
  message.set_cpu_period(static_cast<int64_t>(settings.cpu_period_us.value_or(0)));
  message.set_memory_limit_in_bytes(settings.memory_limit_bytes.value_or(0));
  message.set_memory_swap_limit_in_bytes(settings.memory_swap_limit_bytes.value_or(0));
  for (const auto& [file, value] : settings.unified) (*message.mutable_unified())[file] = value;
  return message;
}

bool Holds(const linux::CgroupSettings& held, const linux::CgroupSettings& asked) {
  linux::CgroupSettings both = held;
  linux::MergeInto(asked, &both);
  if (!IsV2()) both.unified = held.unified;  // raw files are written on v2 only
  if (both.cpu_shares && held.cpu_shares && HoldsShares(*held.cpu_shares, *both.cpu_shares)) {
    both.cpu_shares = held.cpu_shares;
  }
  return both == held;
}

}  // namespace plimsoll::testing
