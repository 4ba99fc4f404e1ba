#include "cluster_socket/report.h"

#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::cluster {
namespace {

namespace wire = ::plimsoll::v1;

constexpr absl::Duration kTimeForDrift = absl::Milliseconds(20);
constexpr size_t kMostSentences = 10;
// Long texts come from configuration or the kernel; a report has a bounded size.
constexpr size_t kMostTextBytes = 1024;

// The wire takes UTF-8 alone: other bytes are escaped, and no character is cut in two.
std::string Bounded(const std::string& text) {
  std::string bounded = Printable(text);
  if (bounded.size() <= kMostTextBytes) return bounded;
  size_t end = kMostTextBytes - 3;
  // The further bytes of a character begin with the bits 10.
  while (end > 0 && (static_cast<uint8_t>(bounded[end]) & 0xc0) == 0x80) --end;
  return bounded.substr(0, end) + "...";
}

const char* LevelName(qos::Level level) {
  return level == qos::Level::kPod ? "pod" : "container";
}

void AddTrouble(const char* reason, const std::string& message, wire::NodeReport* report) {
  wire::Trouble* trouble = report->add_troubles();
  trouble->set_reason(reason);
  trouble->set_message(Bounded(message));
}

void FillDevices(const std::vector<kubelet::Grants::Devices>& devices,
                 google::protobuf::RepeatedPtrField<wire::TakenDevices>* out) {
  for (const kubelet::Grants::Devices& one : devices) {
    wire::TakenDevices* to = out->Add();
    to->set_resource(one.resource);
    to->mutable_numa_nodes()->Add(one.numa_nodes.begin(), one.numa_nodes.end());
    to->set_count(one.count);
  }
}

}  // namespace

ReportMaker::ReportMaker(ReportSources sources) : sources_(std::move(sources)) {
  if (sources_.registry != nullptr) {
    drift_watch_ = std::make_unique<qos::DriftWatch>(sources_.registry);
  }
}

wire::NodeReport ReportMaker::Make(Looks looks) {
  if (looks.drift && drift_watch_ != nullptr) {
    drift_watch_->Look(kTimeForDrift);
    drifted_ = drift_watch_->Drifted(kMostSentences);
  }
  if (looks.grants && sources_.grants) {
    absl::StatusOr<kubelet::Grants> grants = sources_.grants();
    grants_.reset();
    if (grants.ok()) grants_ = *std::move(grants);
  }
  wire::NodeReport report;
  report.set_version(sources_.version);
  AddTypes(&report);
  AddTopology(&report);
  AddExclusive(&report);
  AddTroubles(&report);
  return report;
}

void ReportMaker::AddTypes(wire::NodeReport* report) const {
  if (sources_.registry == nullptr) return;
  for (const qos::TypeReport& type : sources_.registry->Describe()) {
    if (type.is_informative) continue;
    wire::NodeClassType* to = report->add_types();
    to->set_name(type.name);
    to->set_level(LevelName(type.level));
    to->set_immutable(type.immutable);
    to->set_default_class(type.default_class);
    for (const qos::ClassUse& use : type.classes) {
      wire::NodeClass* one = to->add_classes();
      one->set_name(use.info.name);
      one->set_capacity(use.info.capacity);
      one->set_holders(use.holders.size());
      one->set_meaning(Bounded(use.info.meaning));
      const auto drift = drifted_.find({type.level, type.name, use.info.name});
      if (drift == drifted_.end()) continue;
      for (const std::string& sentence : drift->second) one->add_drift(Bounded(sentence));
    }
  }
  for (const qos::UnavailableType& type : sources_.registry->unavailable()) {
    wire::NodeClassType* to = report->add_types();
    to->set_name(type.name);
    to->set_level(LevelName(type.level));
    to->set_unavailable(Bounded(type.reason.empty() ? "it is not available" : type.reason));
  }
}

void ReportMaker::AddTopology(wire::NodeReport* report) const {
  if (sources_.topology == nullptr) return;
  const topology::Edition edition = sources_.topology->Newest();
  if (edition.number == 0) return;
  report->set_topology_edition(edition.number);
  topology::FillTopology(*edition.topology, report->mutable_topology());
}

void ReportMaker::AddExclusive(wire::NodeReport* report) const {
  if (!grants_) return;
  wire::Exclusive* to = report->mutable_exclusive();
  to->set_cpus(grants_->exclusive_cpus);
  for (const runtime::PinnedMemory& one : grants_->memory) {
    wire::PinnedMemory* memory = to->add_memory();
    memory->set_resource(one.resource);
    memory->mutable_numa_nodes()->Add(one.numa_nodes.begin(), one.numa_nodes.end());
    memory->set_bytes(one.bytes);
  }
  FillDevices(grants_->devices, to->mutable_devices());
  FillDevices(grants_->device_totals, to->mutable_device_totals());
}

void ReportMaker::AddTroubles(wire::NodeReport* report) const {
  const bool has_topology = report->topology_edition() != 0;
  const absl::Status partition = sources_.partition ? sources_.partition() : absl::OkStatus();
  if (!has_topology) {
    AddTrouble("TopologyUnknown",
               sources_.topology == nullptr
                   ? "the feature gate KubeletResourceDiscoveryFromCRI is off"
                   : absl::StrCat("the node's topology is not there yet",
                                  partition.ok() ? "" : ": ", partition.message()),
               report);
  }
  if (!partition.ok() && (has_topology || sources_.topology == nullptr)) {
    AddTrouble("PartitionLost", std::string(partition.message()), report);
  }
  for (const wire::NodeClassType& type : report->types()) {
    if (type.unavailable().empty()) continue;
    AddTrouble(
        "ClassTypeUnavailable",
        absl::StrCat("type \"", type.name(), "\" of ", type.level(), "s: ", type.unavailable()),
        report);
  }
  for (const auto& [key, sentences] : drifted_) {
    const auto& [level, type, name] = key;
    AddTrouble("ClassDrift",
               absl::StrCat("class \"", name, "\" of type \"", type, "\" for ", LevelName(level),
                            "s: ", sentences.front()),
               report);
  }
  const absl::Status told = sources_.told ? sources_.told() : absl::OkStatus();
  if (!told.ok()) AddTrouble("ToldClassesLost", std::string(told.message()), report);
}

}  // namespace plimsoll::cluster
