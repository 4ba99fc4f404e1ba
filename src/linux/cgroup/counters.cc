#include "linux/cgroup/counters.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/files.h"

namespace plimsoll::linux {
namespace {

using ByDevice = std::map<DeviceNumber, DeviceIo>;

std::vector<DeviceIo> Sorted(ByDevice devices) {
  std::vector<DeviceIo> sorted;
  for (auto& [number, io] : devices) {
    io.device = number;
    sorted.push_back(io);
  }
  return sorted;
}

// Reads the files of one group; a missing file is empty.
class Reader {
 public:
  Reader(const CgroupManager& cgroups, absl::string_view path) : cgroups_(cgroups), path_(path) {}

  absl::StatusOr<std::string> Text(const char* controller, absl::string_view file) const {
    absl::StatusOr<std::string> text = cgroups_.ReadFile(path_, controller, file);
    if (absl::IsNotFound(text.status())) return std::string();
    return text;
  }
  // Absent too where the text is no number: "max".
  absl::StatusOr<std::optional<uint64_t>> Number(const char* controller,
                                                 absl::string_view file) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(controller, file));
    uint64_t value = 0;
    if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
    return value;
  }
  absl::StatusOr<std::optional<int64_t>> Limit(const char* controller,
                                               absl::string_view file) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, Text(controller, file));
    const absl::StatusOr<int64_t> limit = ParseLimit(text);
    return limit.ok() ? std::optional(*limit) : std::nullopt;
  }

 private:
  const CgroupManager& cgroups_;
  const absl::string_view path_;
};

std::optional<uint64_t> Times(std::optional<uint64_t> value, uint64_t factor) {
  return value.has_value() ? std::optional(*value * factor) : std::nullopt;
}

absl::Status ReadCpuV1(const Reader& reader, CgroupCounters* counters) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, reader.Text("cpuacct", "cpuacct.stat"));
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  counters->cpu_user_ns = Times(FindKey(text, "user"), tick_ns);
  counters->cpu_system_ns = Times(FindKey(text, "system"), tick_ns);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string quota, reader.Text("cpu", "cpu.stat"));
  counters->cpu_burst_periods = FindKey(quota, "nr_bursts");
  counters->cpu_burst_ns = FindKey(quota, "burst_time");
  return absl::OkStatus();
}

// Keys with "total_" count the groups below too (Documentation/admin-guide/cgroup-v1/memory.rst).
absl::Status ReadMemoryV1(const Reader& reader, CgroupCounters* counters) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, reader.Text("memory", "memory.stat"));
  counters->cache_bytes = FindKey(text, "total_cache");
  counters->mapped_file_bytes = FindKey(text, "total_mapped_file");
  counters->active_file_bytes = FindKey(text, "total_active_file");
  counters->inactive_file_bytes = FindKey(text, "total_inactive_file");
  counters->own_page_faults = FindKey(text, "pgfault");
  counters->own_major_page_faults = FindKey(text, "pgmajfault");
  PLIMSOLL_ASSIGN_OR_RETURN(counters->kernel_bytes,
                            reader.Number("memory", "memory.kmem.usage_in_bytes"));
  PLIMSOLL_ASSIGN_OR_RETURN(counters->max_usage_bytes,
                            reader.Number("memory", "memory.max_usage_in_bytes"));
  PLIMSOLL_ASSIGN_OR_RETURN(counters->limit_hits, reader.Number("memory", "memory.failcnt"));
  PLIMSOLL_ASSIGN_OR_RETURN(counters->reservation_bytes,
                            reader.Limit("memory", "memory.soft_limit_in_bytes"));
  PLIMSOLL_ASSIGN_OR_RETURN(counters->swap_limit_bytes,
                            reader.Limit("memory", "memory.memsw.limit_in_bytes"));
  return absl::OkStatus();
}

absl::Status ReadIoV1(const Reader& reader, CgroupCounters* counters) {
  BlkioFiles files;
  for (const auto& [file, text] : {
           std::pair("blkio.throttle.io_service_bytes_recursive", &files.bytes),
           {"blkio.throttle.io_serviced_recursive", &files.operations},
           {"blkio.bfq.io_merged_recursive", &files.merged},
           {"blkio.bfq.io_service_time_recursive", &files.service_time},
           {"blkio.bfq.io_queued_recursive", &files.queued},
       }) {
    PLIMSOLL_ASSIGN_OR_RETURN(*text, reader.Text("blkio", file));
  }
  counters->io = ParseBlkio(files);
  return absl::OkStatus();
}

absl::Status ReadCpuV2(const Reader& reader, CgroupCounters* counters) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, reader.Text("cpu", "cpu.stat"));
  counters->cpu_user_ns = Times(FindKey(text, "user_usec"), 1000);
  counters->cpu_system_ns = Times(FindKey(text, "system_usec"), 1000);
  counters->cpu_burst_periods = FindKey(text, "nr_bursts");
  counters->cpu_burst_ns = Times(FindKey(text, "burst_usec"), 1000);
  return absl::OkStatus();
}

absl::Status ReadMemoryV2(const Reader& reader, CgroupCounters* counters) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, reader.Text("memory", "memory.stat"));
  counters->cache_bytes = FindKey(text, "file");
  counters->mapped_file_bytes = FindKey(text, "file_mapped");
  counters->active_file_bytes = FindKey(text, "active_file");
  counters->inactive_file_bytes = FindKey(text, "inactive_file");
  counters->own_page_faults = FindKey(text, "pgfault");
  counters->own_major_page_faults = FindKey(text, "pgmajfault");
  counters->kernel_bytes = FindKey(text, "kernel");
  PLIMSOLL_ASSIGN_OR_RETURN(counters->max_usage_bytes, reader.Number("memory", "memory.peak"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string events, reader.Text("memory", "memory.events"));
  counters->limit_hits = FindKey(events, "max");
  PLIMSOLL_ASSIGN_OR_RETURN(counters->reservation_bytes, reader.Limit("memory", "memory.min"));
  PLIMSOLL_ASSIGN_OR_RETURN(counters->swap_limit_bytes, reader.Limit("memory", "memory.swap.max"));
  return absl::OkStatus();
}

absl::Status ReadHugetlb(const Reader& reader, bool is_v2,
                         const std::vector<std::string>& page_sizes, CgroupCounters* counters) {
  for (const std::string& size : page_sizes) {
    const std::string file = absl::StrCat("hugetlb.", size, is_v2 ? ".current" : ".usage_in_bytes");
    PLIMSOLL_ASSIGN_OR_RETURN(const auto bytes, reader.Number("hugetlb", file));
    if (!bytes.has_value()) continue;
    HugetlbUse& use = counters->hugetlb[size];
    use.bytes = *bytes;
    if (is_v2) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(
        use.max_bytes,
        reader.Number("hugetlb", absl::StrCat("hugetlb.", size, ".max_usage_in_bytes")));
  }
  return absl::OkStatus();
}

// Calls `add` with each line's count in a v1 file and its kind: "Read".
template <typename Add>
void AddBlkio(absl::string_view text, ByDevice* devices, const Add& add) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    uint64_t value = 0;
    if (words.size() != 3 || !absl::SimpleAtoi(words[2], &value)) continue;
    const absl::StatusOr<DeviceNumber> number = ParseDeviceNumber(words[0]);
    if (number.ok()) add(words[1], value, &(*devices)[*number]);
  }
}

// One word of a line of io.stat.
void AddIoStat(absl::string_view key, uint64_t value, DeviceIo* io) {
  if (key == "rbytes") io->read_bytes = value;
  if (key == "wbytes") io->write_bytes = value;
  if (key == "rios") io->reads = value;
  if (key == "wios") io->writes = value;
  if (key == "cost.usage") io->cost.usage_us = value;
  if (key == "cost.wait") io->cost.wait_us = value;
  if (key == "cost.indebt") io->cost.indebt_us = value;
  if (key == "cost.indelay") io->cost.indelay_us = value;
}

}  // namespace

std::vector<DeviceIo> ParseIoStat(absl::string_view text) {
  ByDevice devices;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    const absl::StatusOr<DeviceNumber> number = ParseDeviceNumber(words[0]);
    if (!number.ok() || words.size() < 2) continue;
    DeviceIo& io = devices[*number];
    for (size_t i = 1; i < words.size(); ++i) {
      const std::pair<absl::string_view, absl::string_view> word =
          absl::StrSplit(words[i], absl::MaxSplits('=', 1));
      uint64_t value = 0;
      if (absl::SimpleAtoi(word.second, &value)) AddIoStat(word.first, value, &io);
    }
  }
  return Sorted(std::move(devices));
}

std::vector<DeviceIo> ParseBlkio(const BlkioFiles& files) {
  ByDevice devices;
  AddBlkio(files.bytes, &devices, [](absl::string_view of, uint64_t value, DeviceIo* io) {
    if (of == "Read") io->read_bytes = value;
    if (of == "Write") io->write_bytes = value;
  });
  AddBlkio(files.operations, &devices, [](absl::string_view of, uint64_t value, DeviceIo* io) {
    if (of == "Read") io->reads = value;
    if (of == "Write") io->writes = value;
  });
  AddBlkio(files.merged, &devices, [](absl::string_view of, uint64_t value, DeviceIo* io) {
    if (of == "Read") io->scheduler.reads_merged = value;
    if (of == "Write") io->scheduler.writes_merged = value;
  });
  AddBlkio(files.service_time, &devices, [](absl::string_view of, uint64_t value, DeviceIo* io) {
    if (of == "Read") io->scheduler.read_ns = value;
    if (of == "Write") io->scheduler.write_ns = value;
    if (of == "Total") io->scheduler.all_ns = value;
  });
  AddBlkio(files.queued, &devices, [](absl::string_view of, uint64_t value, DeviceIo* io) {
    if (of == "Total") io->scheduler.queued = value;
  });
  return Sorted(std::move(devices));
}

absl::StatusOr<CgroupCounters> ReadCgroupCounters(const CgroupManager& cgroups,
                                                  absl::string_view path,
                                                  const std::vector<std::string>& page_sizes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, cgroups.Exists(path));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", path));
  const bool is_v2 = cgroups.layout() == CgroupLayout::kV2;
  const Reader reader(cgroups, path);
  CgroupCounters counters;
  if (is_v2) {
    PLIMSOLL_RETURN_IF_ERROR(ReadCpuV2(reader, &counters));
    PLIMSOLL_RETURN_IF_ERROR(ReadMemoryV2(reader, &counters));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string io, reader.Text("io", "io.stat"));
    counters.io = ParseIoStat(io);
  } else {
    PLIMSOLL_RETURN_IF_ERROR(ReadCpuV1(reader, &counters));
    PLIMSOLL_RETURN_IF_ERROR(ReadMemoryV1(reader, &counters));
    PLIMSOLL_RETURN_IF_ERROR(ReadIoV1(reader, &counters));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(counters.threads, reader.Number("pids", "pids.current"));
  PLIMSOLL_RETURN_IF_ERROR(ReadHugetlb(reader, is_v2, page_sizes, &counters));
  return counters;
}

}  // namespace plimsoll::linux
