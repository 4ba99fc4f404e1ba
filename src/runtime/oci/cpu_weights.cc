#include "runtime/oci/cpu_weights.h"

#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/programs/subprocess.h"
#include "base/random_id.h"
#include "base/status.h"
#include "runtime/oci/program_features.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;
using linux::CpuWeightFormula;

constexpr char kPlace[] = "oci/probe";
constexpr char kGroupFile[] = "oci/probe/group";
constexpr char kId[] = "plimsoll-probe";
constexpr char kInit[] = "/init";
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr absl::Duration kPause = absl::Minutes(1);  // after a probe that failed

// Not 1024, whose weight by the quadratic formula is the value of a new group.
constexpr uint64_t kShares = 2000;

// The smallest specification that crun and runc take.
std::string Specification(const std::string& init, const std::string& group) {
  const auto mount = [](const char* destination, const char* type, const std::string& source,
                        Json options) {
    return Json{{"destination", destination},
                {"type", type},
                {"source", source},
                {"options", std::move(options)}};
  };
  const Json spec = {
      {"ociVersion", "1.0.2"},
      {"root", {{"path", "rootfs"}}},
      {"process",
       {{"user", {{"uid", 0}, {"gid", 0}}}, {"args", Json::array({kInit})}, {"cwd", "/"}}},
      {"mounts",
       Json::array({mount("/proc", "proc", "proc", Json::array({"nosuid", "nodev", "noexec"})),
                    mount("/dev", "tmpfs", "tmpfs", Json::array({"nosuid", "mode=755"})),
                    mount(kInit, "bind", init, Json::array({"bind", "ro"}))})},
      {"linux",
       {{"cgroupsPath", group},
        {"namespaces", Json::array({{{"type", "mount"}}, {{"type", "pid"}}})},
        {"resources", {{"cpu", {{"shares", kShares}}}}}}}};
  return spec.dump();
}

}  // namespace

CpuWeights::CpuWeights(linux::CgroupManager* cgroups, FsRoot run, std::string init)
    : cgroups_(cgroups), run_(std::move(run)), init_(std::move(init)) {}

CpuWeightFormula CpuWeights::Of(const std::string& program) {
  if (cgroups_->layout() != linux::CgroupLayout::kV2) return CpuWeightFormula::kLinear;
  struct stat file = {};
  stat(program.c_str(), &file);  // if it fails, so does the probe
  const Identity identity = {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec,
                             file.st_mtim.tv_nsec};
  absl::MutexLock lock(&mutex_);
  const auto known = found_.find(program);
  if (known != found_.end() && known->second.identity == identity &&
      MonotonicNow() < known->second.again) {
    return known->second.formula;
  }
  const absl::StatusOr<CpuWeightFormula> probed = Look(program);
  Found found{.identity = identity};
  if (probed.ok()) {
    found.formula = *probed;
  } else {
    found.fault = std::string(probed.status().message());
    found.again = MonotonicNow() + kPause;
  }
  return found_.insert_or_assign(program, std::move(found)).first->second.formula;
}

std::vector<std::string> CpuWeights::Faults() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> faults;
  for (const auto& [program, found] : found_) {
    if (found.fault.empty()) continue;
    faults.push_back(absl::StrCat("the formula by which ", program,
                                  " makes cpu.weight could not be read back (", found.fault,
                                  "): the linear one (crun 1.22) is used, and updates may change "
                                  "containers' weights"));
  }
  return faults;
}

absl::StatusOr<CpuWeightFormula> CpuWeights::Look(const std::string& program) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string version, VersionOf(program));
  const bool is_known = absl::StartsWith(version, "crun ") || absl::StartsWith(version, "runc ");
  return is_known ? Probe(program) : CpuWeightFormula::kLinear;
}

absl::StatusOr<CpuWeightFormula> CpuWeights::Probe(const std::string& program) {
  PLIMSOLL_RETURN_IF_ERROR(Sweep());
  const std::string group = absl::StrCat("/plimsoll-probe-", RandomId().substr(0, 12));
  PLIMSOLL_RETURN_IF_ERROR(run_.MakeDirs(absl::StrCat(kPlace, "/rootfs")));
  PLIMSOLL_RETURN_IF_ERROR(run_.ReplaceFile(kGroupFile, group));
  absl::StatusOr<std::string> text;
  // Made here, so that the group has the controller.
  absl::Status done = cgroups_->Create(group).status();
  if (done.ok()) done = CreateContainer(program, group);
  if (done.ok()) text = cgroups_->ReadFile(group, "cpu", "cpu.weight");
  const absl::Status swept = Sweep();
  PLIMSOLL_RETURN_IF_ERROR(done);
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  PLIMSOLL_RETURN_IF_ERROR(swept);
  uint64_t weight = 0;
  if (absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &weight)) {
    for (const auto formula : {CpuWeightFormula::kLinear, CpuWeightFormula::kQuadratic}) {
      if (weight == linux::CpuSharesToWeight(kShares, formula)) return formula;
    }
  }
  return absl::UnknownError(absl::StrCat("it makes cpu.weight ", absl::StripAsciiWhitespace(*text),
                                         " of ", kShares, " shares"));
}

absl::Status CpuWeights::CreateContainer(const std::string& program,
                                         const std::string& group) const {
  PLIMSOLL_RETURN_IF_ERROR(
      run_.ReplaceFile(absl::StrCat(kPlace, "/config.json"), Specification(init_, group)));
  const std::string place = run_.PathOf(kPlace);
  // The container has the program's streams, so that a pipe would never end.
  PLIMSOLL_ASSIGN_OR_RETURN(Child child,
                            Spawn({.argv = {program, absl::StrCat("--root=", place, "/state"),
                                            absl::StrCat("--log=", place, "/log"), "create",
                                            absl::StrCat("--bundle=", place), kId},
                                   .new_session = true}));
  const absl::StatusOr<ExitStatus> exit = child.Wait(MonotonicNow() + kPatience);
  if (!exit.ok()) {
    return FirstError(child.KillGroup(MonotonicNow() + kHelperKillTimeout), exit.status());
  }
  if (exit->success()) return absl::OkStatus();
  const std::string log = run_.Read(absl::StrCat(kPlace, "/log")).value_or("");
  return absl::UnknownError(
      absl::StrCat(program, " create: ", exit->ToString(), ": ", absl::StripAsciiWhitespace(log)));
}

absl::Status CpuWeights::Sweep() const {
  const absl::StatusOr<std::string> group = run_.Read(kGroupFile);
  if (!group.ok() && !absl::IsNotFound(group.status())) return group.status();
  if (group.ok() && !group->empty()) {
    PLIMSOLL_RETURN_IF_ERROR(cgroups_->KillAll(*group, MonotonicNow() + kKillTimeout));
    PLIMSOLL_RETURN_IF_ERROR(cgroups_->Remove(*group));
  }
  return run_.RemoveTree(kPlace);
}

}  // namespace plimsoll::runtime
