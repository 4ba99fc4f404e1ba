#include "daemon/classes.h"

#include <unistd.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "linux/capabilities.h"
#include "linux/process.h"
#include "linux/resctrl.h"
#include "qos/blockio.h"
#include "qos/cgroup_class.h"
#include "qos/class_file.h"
#include "qos/oom.h"
#include "qos/pod_qos.h"
#include "qos/rdt/compile.h"
#include "qos/rdt/config.h"
#include "qos/rdt/rdt.h"

namespace plimsoll::daemon {
namespace {

using Types = std::vector<std::unique_ptr<qos::ClassType>>;

// Usable types, and unusable ones.
struct Found {
  Types types;
  std::vector<qos::UnavailableType> unavailable;

  // Sorts a type by its own word on whether this machine can have it.
  template <typename Type>
  void Add(std::unique_ptr<Type> type) {
    if (std::string reason = type->unavailable(); !reason.empty()) {
      unavailable.push_back({type->level(), type->name(), std::move(reason)});
    } else {
      types.push_back(std::move(type));
    }
  }
};

absl::StatusOr<FsRoot> ResctrlRoot(const qos::RdtTypeConfig& config, const FsRoot& host) {
  if (config.resctrl_root == "/") return host;
  return FsRoot::Open(config.resctrl_root);
}

// The node also serves without the hardware, or with resctrl not mounted.
absl::Status AddRdt(const qos::RdtTypeConfig& config, const ClassEnvironment& environment,
                    Found* found) {
  qos::RdtOptions options{.config_file = config.config_file,
                          .group_prefix = config.group_prefix,
                          .adopt = config.adopt,
                          .capacity = config.common.capacity};
  if (!config.common.default_class.empty()) options.default_class = config.common.default_class;
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot resctrl, ResctrlRoot(config, environment.host));
  std::function<void(const std::string&)> warn;
  if (environment.warn != nullptr) {
    warn = [tell = environment.warn](const std::string& warning) { tell(qos::kRdt, warning); };
  }
  auto type = qos::MakeRdtType(options, {.host = environment.host,
                                         .resctrl_root = std::move(resctrl),
                                         .cgroups = environment.cgroups,
                                         .owned = environment.owned,
                                         .freezer = environment.freezer,
                                         .warn = std::move(warn)});
  if (absl::IsFailedPrecondition(type.status())) {
    found->unavailable.push_back(
        {qos::Level::kContainer, qos::kRdt, std::string(type.status().message())});
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(type.status());
  found->types.push_back(*std::move(type));
  return absl::OkStatus();
}

absl::Status AddBlockio(const qos::BlockioTypeConfig& config, const ClassEnvironment& environment,
                        Found* found) {
  qos::BlockioOptions options{.level = qos::Level::kContainer,
                              .config_file = config.config_file,
                              .default_class = config.common.default_class,
                              .capacity = config.common.capacity};
  PLIMSOLL_ASSIGN_OR_RETURN(
      auto containers, qos::BlockioType::Create(environment.host, environment.cgroups, options));
  found->Add(std::move(containers));
  if (!config.pods) return absl::OkStatus();
  options = {.level = qos::Level::kPod,
             .config_file = config.config_file,
             .default_class = config.of_pods.default_class,
             .capacity = config.of_pods.capacity};
  PLIMSOLL_ASSIGN_OR_RETURN(
      auto pods, qos::BlockioType::Create(environment.host, environment.cgroups, options));
  found->Add(std::move(pods));
  return absl::OkStatus();
}

absl::Status AddOom(const qos::OomTypeConfig& config, const ClassEnvironment& environment,
                    Types* types) {
  constexpr int kSysResource = 24;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool may_lower,
                            linux::HasCapability(environment.host, kSysResource));
  const std::string& restrict = environment.restrict_oom_score_adj;
  std::optional<int> lowest;
  if (restrict == "true" || (restrict == "auto" && !may_lower)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId self,
                              linux::IdentifyProcess(environment.host, getpid()));
    PLIMSOLL_ASSIGN_OR_RETURN(lowest, linux::ReadOomScoreAdj(environment.host, self));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(auto type, qos::OomType::Create(environment.host, environment.cgroups,
                                                            environment.freezer, config, lowest));
  types->push_back(std::move(type));
  return absl::OkStatus();
}

// Making the type would make its groups, so only the file and its meaning on this machine are
// checked. If the machine can't have the type (no resctrl, or not all that the file requires), only
// the file's syntax is checked, and the reason becomes a warning.
absl::StatusOr<std::vector<std::string>> CheckRdt(const qos::RdtTypeConfig& config,
                                                  const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, qos::LoadClassFile(host, config.config_file));
  PLIMSOLL_ASSIGN_OR_RETURN(const qos::RdtConfig parsed,
                            qos::ParseRdtConfig(config.config_file, text));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, ResctrlRoot(config, host));
  std::vector<std::string> warnings = parsed.warnings;
  const auto resctrl = linux::Resctrl::Open(root);
  if (!resctrl.ok()) {
    warnings.emplace_back(resctrl.status().message());
    return warnings;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ResctrlInfo machine, (*resctrl)->ReadInfo());
  const absl::StatusOr<qos::RdtCompiled> compiled = qos::CompileRdt(parsed, machine);
  if (absl::IsFailedPrecondition(compiled.status())) {
    warnings.emplace_back(compiled.status().message());
    return warnings;
  }
  PLIMSOLL_RETURN_IF_ERROR(compiled.status());
  return compiled->warnings;
}

// Names an unreadable file by its key, which has a place in the configuration.
absl::Status CheckFiles(const qos::ClassesConfig& config, const FsRoot& host) {
  absl::Status faults;
  const auto look = [&](absl::string_view type, const std::string& file) {
    faults = AlsoTell(faults, Annotate(qos::LoadClassFile(host, file).status(),
                                       absl::StrCat("classes.", type, ".config_file")));
  };
  if (config.rdt) look(qos::kRdt, config.rdt->config_file);
  if (config.blockio) look(qos::kBlockio, config.blockio->config_file);
  return faults;
}

}  // namespace

absl::StatusOr<std::unique_ptr<qos::Registry>> MakeClasses(const qos::ClassesConfig& config,
                                                           const ClassEnvironment& environment) {
  Found found;
  if (config.rdt) PLIMSOLL_RETURN_IF_ERROR(AddRdt(*config.rdt, environment, &found));
  if (config.blockio) PLIMSOLL_RETURN_IF_ERROR(AddBlockio(*config.blockio, environment, &found));
  if (config.oom) PLIMSOLL_RETURN_IF_ERROR(AddOom(*config.oom, environment, &found.types));
  for (const qos::CgroupTypeConfig& one : config.cgroup) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto type, qos::CgroupClassType::Create(environment.cgroups, one));
    found.Add(std::move(type));
  }
  if (config.pod_qos) found.types.push_back(std::make_unique<qos::PodQosType>());
  return qos::Registry::Create(std::move(found.types), std::move(found.unavailable));
}

absl::Status CheckClasses(const qos::ClassesConfig& config, std::vector<std::string>* warnings) {
  if (config == qos::ClassesConfig()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_RETURN_IF_ERROR(CheckFiles(config, host));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto cgroups, linux::CgroupManager::Detect(host));
  qos::ContainerFreezer freezer(cgroups.get(), nullptr);
  qos::ClassesConfig others = config;
  others.rdt.reset();
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto classes,
      MakeClasses(others, {.host = host, .cgroups = cgroups.get(), .freezer = &freezer}));
  std::vector<std::string> found;
  const auto add = [&found](const std::string& type, const std::string& warning) {
    // "oom class last: ..." names its type itself.
    const bool is_named = absl::StartsWith(warning, absl::StrCat(type, " class"));
    std::string sentence = is_named ? warning : absl::StrCat("class type ", type, ": ", warning);
    if (!absl::c_linear_search(found, sentence)) found.push_back(std::move(sentence));
  };
  for (const qos::TypeReport& type : classes->Describe(/*look=*/true)) {
    for (const std::string& warning : type.warnings) add(type.name, warning);
  }
  if (config.rdt) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto of_rdt, CheckRdt(*config.rdt, host));
    for (const std::string& warning : of_rdt) add(qos::kRdt, warning);
  }
  *warnings = std::move(found);
  return absl::OkStatus();
}

qos::AnnotationPolicy AnnotationPolicyFrom(const qos::ClassesConfig& config) {
  using qos::Level;
  std::map<std::string, std::map<Level, std::set<std::string>>> lists;
  if (config.rdt) lists[qos::kRdt][Level::kContainer] = config.rdt->common.annotations;
  if (config.blockio) {
    lists[qos::kBlockio][Level::kContainer] = config.blockio->common.annotations;
    if (config.blockio->pods) {
      lists[qos::kBlockio][Level::kPod] = config.blockio->common.annotations;
    }
  }
  if (config.oom) lists["oom"][Level::kContainer] = config.oom->common.annotations;
  for (const qos::CgroupTypeConfig& type : config.cgroup) {
    lists[type.name][type.level] = type.common.annotations;
  }
  qos::AnnotationPolicy policy;
  for (const auto& [type, by_level] : lists) {
    for (const auto& [level, words] : by_level) {
      for (const std::string& word : words) {
        // Each of two types with one name takes the words of its own level.
        const bool is_of_level = (word == "sandbox") == (level == Level::kPod);
        if (by_level.size() == 1 || is_of_level) policy[type].insert(word);
      }
    }
  }
  return policy;
}

}  // namespace plimsoll::daemon
