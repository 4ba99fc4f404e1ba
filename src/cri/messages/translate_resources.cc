#include "cri/messages/translate_resources.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/messages/validate.h"
#include "google/protobuf/util/message_differencer.h"
#include "resources/cpu_set.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

absl::Status CheckRange(absl::string_view field, absl::string_view member, int64_t value,
                        int64_t lowest, int64_t highest, absl::string_view rule) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return Invalid(absl::StrCat(field, ".", member), value, rule);
}

// kernel/sched/sched.h, MAX_BW: 44 bits of microseconds.
constexpr int64_t kMostQuotaUs = (int64_t{1} << 44) - 1;
// The kernel's limit for a list of CPUs depends on its build: a longer list is written in its
// shortest form.
constexpr size_t kLongList = 256;

absl::Status AddCpu(const v1::LinuxContainerResources& resources, absl::string_view field,
                    linux::CgroupSettings* settings) {
  if (const int64_t shares = resources.cpu_shares(); shares != 0) {
    PLIMSOLL_RETURN_IF_ERROR(CheckRange(field, "cpu_shares", shares, 2, 262144,
                                        "must be from 2 to 262144, or 0 for unspecified"));
    settings->cpu_shares = static_cast<uint64_t>(shares);
  }
  if (const int64_t quota = resources.cpu_quota(); quota != 0) {
    if (quota != -1) {
      PLIMSOLL_RETURN_IF_ERROR(CheckRange(
          field, "cpu_quota", quota, 1000, kMostQuotaUs,
          quota > kMostQuotaUs ? "must be at most 17592186044415 microseconds; -1 is for no limit"
                               : "must be at least 1000 microseconds, -1 for no limit, or 0 for "
                                 "unspecified"));
    }
    settings->cpu_quota_us = quota;
  }
  if (const int64_t period = resources.cpu_period(); period != 0) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRange(field, "cpu_period", period, 1000, 1000000,
                   "must be from 1000 to 1000000 microseconds, or 0 for unspecified"));
    settings->cpu_period_us = static_cast<uint64_t>(period);
  }
  return absl::OkStatus();
}

absl::Status AddList(absl::string_view field, absl::string_view member, const std::string& text,
                     std::optional<std::string>* out) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<resources::CpuSet> set = resources::CpuSet::Parse(text);
  if (!set.ok() || set->Empty()) {
    return Invalid(absl::StrCat(field, ".", member), text, "must be a list such as \"0-3,8\"");
  }
  *out = text.size() <= kLongList ? text : set->ToString();
  return absl::OkStatus();
}

absl::Status AddMemory(const v1::LinuxContainerResources& resources, absl::string_view field,
                       linux::CgroupSettings* settings) {
  constexpr absl::string_view kRule = "must be a number of bytes, -1 for no limit, or 0";
  if (const int64_t limit = resources.memory_limit_in_bytes(); limit != 0) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRange(field, "memory_limit_in_bytes", limit, -1, INT64_MAX, kRule));
    settings->memory_limit_bytes = limit;
  }
  if (const int64_t swap = resources.memory_swap_limit_in_bytes(); swap != 0) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRange(field, "memory_swap_limit_in_bytes", swap, -1, INT64_MAX, kRule));
    if (swap > 0 &&
        (resources.memory_limit_in_bytes() < 0 || swap < resources.memory_limit_in_bytes())) {
      return Invalid(
          absl::StrCat(field, ".memory_swap_limit_in_bytes"), swap,
          absl::StrCat(
              "counts memory and swap together, so it must be at least memory_limit_in_bytes, ",
              resources.memory_limit_in_bytes()));
    }
    settings->memory_swap_limit_bytes = swap;
  }
  return absl::OkStatus();
}

// "2MB", "1GB", "64KB": digits and a unit, as in the kernel's file names.
bool IsPageSize(absl::string_view text) {
  if (text.size() < 3 || text.size() > 16 || text[0] == '0') return false;
  const absl::string_view unit = text.substr(text.size() - 2);
  const absl::string_view digits = text.substr(0, text.size() - 2);
  return (unit == "KB" || unit == "MB" || unit == "GB") &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
}

absl::Status AddHugepages(const v1::LinuxContainerResources& resources, absl::string_view field,
                          linux::CgroupSettings* settings) {
  for (const v1::HugepageLimit& limit : resources.hugepage_limits()) {
    const std::string name = absl::StrCat(field, ".hugepage_limits.page_size");
    if (!IsPageSize(limit.page_size())) {
      return Invalid(name, limit.page_size(), "must be a size such as \"2MB\" or \"1GB\"");
    }
    if (!settings->hugetlb_limits.emplace(limit.page_size(), limit.limit()).second) {
      return Invalid(name, limit.page_size(), "must not be given twice");
    }
  }
  return absl::OkStatus();
}

absl::Status AddUnified(const v1::LinuxContainerResources& resources, absl::string_view field,
                        linux::CgroupSettings* settings) {
  for (const auto& [file, value] : resources.unified()) {
    const std::string name = absl::StrCat(field, ".unified");
    PLIMSOLL_RETURN_IF_ERROR(CheckName(name, file));
    // Everything under "cgroup." moves processes or changes the tree itself.
    if (!absl::StrContains(file, ".") || absl::StartsWith(file, "cgroup.") ||
        absl::StartsWith(file, ".")) {
      return Invalid(name, file, "must be a controller's file such as \"memory.high\"");
    }
    settings->unified[file] = value;
  }
  return absl::OkStatus();
}

using google::protobuf::util::MessageDifferencer;

// Keeps the name of the first member that differs.
class FirstDifference : public MessageDifferencer::Reporter {
 public:
  using Path = std::vector<MessageDifferencer::SpecificField>;
  void ReportAdded(const google::protobuf::Message&, const google::protobuf::Message&,
                   const Path& path) override {
    Note(path);
  }
  void ReportDeleted(const google::protobuf::Message&, const google::protobuf::Message&,
                     const Path& path) override {
    Note(path);
  }
  void ReportModified(const google::protobuf::Message&, const google::protobuf::Message&,
                      const Path& path) override {
    Note(path);
  }
  const std::string& member() const { return member_; }

 private:
  void Note(const Path& path) {
    if (!member_.empty() || path.empty()) return;
    const google::protobuf::FieldDescriptor* field = path.front().field;
    member_ = field != nullptr ? field->name() : "(a field that is not known here)";
  }
  std::string member_;
};

absl::Status CheckSame(const v1::LinuxContainerResources& linux,
                       const v1::LinuxContainerResources& resources_linux) {
  MessageDifferencer differencer;
  differencer.set_repeated_field_comparison(MessageDifferencer::AS_SET);  // page sizes
  FirstDifference difference;
  differencer.ReportDifferencesTo(&difference);
  if (differencer.Compare(linux, resources_linux)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("linux.", difference.member(), " and resources.linux.", difference.member(),
                   " differ: fill both alike, or one of the two messages"));
}

}  // namespace

absl::StatusOr<linux::CgroupSettings> CgroupSettingsFrom(
    const v1::LinuxContainerResources& resources, absl::string_view field) {
  linux::CgroupSettings settings;
  PLIMSOLL_RETURN_IF_ERROR(AddCpu(resources, field, &settings));
  PLIMSOLL_RETURN_IF_ERROR(
      AddList(field, "cpuset_cpus", resources.cpuset_cpus(), &settings.cpuset_cpus));
  PLIMSOLL_RETURN_IF_ERROR(
      AddList(field, "cpuset_mems", resources.cpuset_mems(), &settings.cpuset_mems));
  PLIMSOLL_RETURN_IF_ERROR(AddMemory(resources, field, &settings));
  PLIMSOLL_RETURN_IF_ERROR(AddHugepages(resources, field, &settings));
  PLIMSOLL_RETURN_IF_ERROR(AddUnified(resources, field, &settings));
  PLIMSOLL_RETURN_IF_ERROR(CheckRange(field, "oom_score_adj", resources.oom_score_adj(), -1000,
                                      1000, "must be from -1000 to 1000"));
  return settings;
}

absl::StatusOr<runtime::ResourceUpdate> ResourceUpdateFrom(
    const v1::UpdateContainerResourcesRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNoWindows("windows", request.has_windows(), "linux"));
  PLIMSOLL_RETURN_IF_ERROR(
      CheckNoWindows("resources.windows", request.resources().has_windows(), "resources.linux"));
  if (request.has_linux() && request.resources().has_linux()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSame(request.linux(), request.resources().linux()));
  }
  const bool old_place = request.has_linux();
  const v1::LinuxContainerResources& wanted =
      old_place ? request.linux() : request.resources().linux();
  runtime::ResourceUpdate update;
  PLIMSOLL_ASSIGN_OR_RETURN(update.cgroup,
                            CgroupSettingsFrom(wanted, old_place ? "linux" : "resources.linux"));
  if (wanted.oom_score_adj() != 0) {
    update.oom_score_adj = static_cast<int>(wanted.oom_score_adj());
  }
  return update;
}

absl::StatusOr<bool> AsksToShrink(const CriAnnotations& update, const CriAnnotations& pod) {
  constexpr char kName[] = "plimsoll.dev/memory-shrink";
  constexpr char kBestEffort[] = "best-effort";
  for (const auto& [annotations, whose] :
       {std::pair(&update, "annotations"), {&pod, "the pod's annotations"}}) {
    const auto found = annotations->find(kName);
    if (found == annotations->end()) continue;
    if (found->second == kBestEffort) return true;
    return Invalid(absl::StrCat(whose, "[", kName, "]"), found->second, "must be best-effort");
  }
  return false;
}

void FillLinuxResources(const runtime::EffectiveResources& effective,
                        v1::LinuxContainerResources* out) {
  const linux::CgroupSettings& cgroup = effective.cgroup;
  out->set_cpu_shares(static_cast<int64_t>(cgroup.cpu_shares.value_or(0)));
  out->set_cpu_quota(cgroup.cpu_quota_us.value_or(0));
  out->set_cpu_period(static_cast<int64_t>(cgroup.cpu_period_us.value_or(0)));
  out->set_cpuset_cpus(cgroup.cpuset_cpus.value_or(""));
  out->set_cpuset_mems(cgroup.cpuset_mems.value_or(""));
  out->set_memory_limit_in_bytes(cgroup.memory_limit_bytes.value_or(0));
  out->set_memory_swap_limit_in_bytes(cgroup.memory_swap_limit_bytes.value_or(0));
  for (const auto& [size, bytes] : cgroup.hugetlb_limits) {
    v1::HugepageLimit* limit = out->add_hugepage_limits();
    limit->set_page_size(size);
    limit->set_limit(bytes);
  }
  for (const auto& [file, value] : cgroup.unified) (*out->mutable_unified())[file] = value;
  out->set_oom_score_adj(effective.oom_score_adj);
}

}  // namespace plimsoll::cri
