#include "absl/strings/str_cat.h"
#include "cri/usage/metric_groups.h"

namespace plimsoll::cri {
namespace {

void AddScheduler(const linux::SchedulerIo& io, absl::string_view device, MetricWriter* out) {
  out->Add(kFsSectorReads, 0, {device});
  out->Add(kFsSectorWrites, 0, {device});
  out->Add(kFsReadsMerged, io.reads_merged, {device});
  out->Add(kFsWritesMerged, io.writes_merged, {device});
  out->Add(kFsReadTime, Seconds(io.read_ns), {device});
  out->Add(kFsWriteTime, Seconds(io.write_ns), {device});
  out->Add(kFsIoCurrent, io.queued, {device});
  out->Add(kFsIoTime, Seconds(io.all_ns), {device});
}

void AddCost(const linux::IoCost& cost, absl::string_view device, MetricWriter* out) {
  out->Add(kFsIoCostUsage, cost.usage_us / 1'000'000, {device});
  out->Add(kFsIoCostWait, cost.wait_us / 1'000'000, {device});
  out->Add(kFsIoCostIndebt, cost.indebt_us / 1'000'000, {device});
  out->Add(kFsIoCostIndelay, cost.indelay_us / 1'000'000, {device});
}

}  // namespace

void AddDiskIoMetrics(const runtime::ContainerCounters& counters, MetricWriter* out) {
  for (const linux::DeviceIo& io : counters.more.io) {
    const auto found = counters.devices.find(io.device);
    const std::string device =
        found == counters.devices.end() ? FormatDeviceNumber(io.device) : found->second;
    const std::string major = absl::StrCat(io.device.major);
    const std::string minor = absl::StrCat(io.device.minor);
    out->Add(kFsReads, io.reads, {device});
    out->Add(kFsReadBytes, io.read_bytes, {device});
    out->Add(kFsWrites, io.writes, {device});
    out->Add(kFsWriteBytes, io.write_bytes, {device});
    AddScheduler(io.scheduler, device, out);
    AddCost(io.cost, device, out);
    out->Add(kBlkioUsage, io.read_bytes, {device, major, minor, "Read"});
    out->Add(kBlkioUsage, io.write_bytes, {device, major, minor, "Write"});
  }
}

void AddFileSystemMetrics(const runtime::FileSystem& file_system, const DiskUsage* written,
                          int64_t unix_nanos, MetricWriter* out) {
  const std::string& device = file_system.device;
  if (written != nullptr) out->Add(kFsUsage, written->bytes, {device}, unix_nanos);
  out->Add(kFsIoTimeWeighted, 0, {device});
  out->Add(kFsLimit, file_system.bytes, {device});
  out->Add(kFsInodes, file_system.inodes, {device});
  out->Add(kFsInodesFree, file_system.inodes_free, {device});
}

void AddNetworkMetrics(const std::vector<linux::LinkCounters>& links, MetricWriter* out) {
  for (const linux::LinkCounters& link : links) {
    if (link.name == "lo") continue;
    out->Add(kNetReceiveBytes, link.rx_bytes, {link.name});
    out->Add(kNetReceivePackets, link.rx_packets, {link.name});
    out->Add(kNetReceiveDropped, link.rx_dropped, {link.name});
    out->Add(kNetReceiveErrors, link.rx_errors, {link.name});
    out->Add(kNetTransmitBytes, link.tx_bytes, {link.name});
    out->Add(kNetTransmitPackets, link.tx_packets, {link.name});
    out->Add(kNetTransmitDropped, link.tx_dropped, {link.name});
    out->Add(kNetTransmitErrors, link.tx_errors, {link.name});
  }
}

}  // namespace plimsoll::cri
