#include "nri/adjust/creation.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "nri/adjust/overlay.h"
#include "nri/adjust/spec_parts.h"
#include "nri/adjust/to_spec.h"
#include "runtime/spec/paths.h"

namespace plimsoll::nri {
namespace {

// One place has one spelling, so that it has one owner. A mark of removal stays.
api::ContainerAdjustment WithCleanPaths(const api::ContainerAdjustment& adjustment) {
  api::ContainerAdjustment clean = adjustment;
  for (api::Mount& mount : *clean.mutable_mounts()) {
    mount.set_destination(runtime::CleanPath(mount.destination()));
  }
  if (!clean.has_linux()) return clean;
  for (api::LinuxDevice& device : *clean.mutable_linux()->mutable_devices()) {
    device.set_path(runtime::CleanPath(device.path()));
  }
  return clean;
}

// The change without the marks that Claim has read: an element is removed or set, and not both.
api::ContainerAdjustment WithoutTakenMarks(const api::ContainerAdjustment& change) {
  api::ContainerAdjustment plain;
  Overlay({change, ""}, /*keep_removals=*/true, &plain);
  if (change.linux().rdt().remove()) plain.mutable_linux()->mutable_rdt()->set_remove(true);
  return plain;
}

// "NAME=value" where an adjustment has name and value apart.
void OverlayEnvironment(const api::ContainerAdjustment& change, api::Container* container) {
  std::set<std::string> named;
  for (const api::KeyValue& variable : change.env()) {
    named.insert(absl::StartsWith(variable.key(), "-") ? variable.key().substr(1) : variable.key());
  }
  api::Container rest;
  for (std::string& variable : *container->mutable_env()) {
    if (named.count(variable.substr(0, variable.find('='))) > 0) continue;
    rest.add_env(std::move(variable));
  }
  for (const api::KeyValue& variable : change.env()) {
    if (absl::StartsWith(variable.key(), "-")) continue;
    rest.add_env(absl::StrCat(variable.key(), "=", variable.value()));
  }
  container->mutable_env()->Swap(rest.mutable_env());
}

// The class goes before anything else of the change is set.
void RemoveRdt(const api::ContainerAdjustment& change, api::ContainerAdjustment* merged,
               api::Container* container) {
  if (!change.linux().rdt().remove()) return;
  merged->mutable_linux()->clear_rdt();
  merged->mutable_linux()->mutable_resources()->clear_rdt_class();
  merged->mutable_linux()->mutable_rdt()->set_remove(true);
  container->mutable_linux()->clear_rdt();
  container->mutable_linux()->mutable_resources()->clear_rdt_class();
}

// rdt_class and clos_id name the same class, so later plugins find it at both places.
void ShowRdtClass(const api::ContainerAdjustment& change, api::Container* container) {
  const bool by_clos = change.linux().rdt().has_clos_id();
  if (!by_clos && !change.linux().resources().has_rdt_class()) return;
  const std::string& name = by_clos ? change.linux().rdt().clos_id().value()
                                    : change.linux().resources().rdt_class().value();
  container->mutable_linux()->mutable_rdt()->mutable_clos_id()->set_value(name);
  container->mutable_linux()->mutable_rdt()->mutable_enable_monitoring()->set_value(true);
  container->mutable_linux()->mutable_resources()->mutable_rdt_class()->set_value(name);
}

// To validators, `remove` beside a class would contradict it.
void ForgetRdtRemoval(const api::ContainerAdjustment& change, api::ContainerAdjustment* merged) {
  const api::LinuxRdt& rdt = change.linux().rdt();
  if (rdt.has_clos_id() || rdt.has_schemata() || rdt.has_enable_monitoring()) {
    merged->mutable_linux()->mutable_rdt()->set_remove(false);
  }
}

// Whether some container could have the change together with those before it.
absl::Status CheckTogether(const api::ContainerAdjustment& change,
                           const api::ContainerAdjustment& merged, const Owners& owners) {
  runtime::ContainerSpec any;
  const SpecTarget target(&owners, &any);
  for (const api::LinuxDeviceCgroup& rule : change.linux().resources().devices()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckDeviceRule(rule, merged.linux(), target));
  }
  return ApplyToSpec(merged, owners, &any);
}

void CopyNames(const std::string& plugin, api::PluginInstance* instance) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(plugin, absl::MaxSplits('-', 1));
  instance->set_index(parts.first);
  instance->set_name(parts.second);
}

}  // namespace

Creation::Creation(const api::PodSandbox& pod, const api::Container& container)
    : original_([&] {
        api::CreateContainerRequest request;
        *request.mutable_pod() = pod;
        *request.mutable_container() = container;
        return request;
      }()),
      request_(original_) {}

absl::Status Creation::TakeOthers(const std::string& plugin,
                                  const api::CreateContainerResponse& answer) {
  const std::string& id = original_.container().id();
  for (const api::ContainerUpdate& update : answer.update()) {
    if (update.container_id() != id) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", plugin,
                     ": its update is of the container that is being made; "
                     "changes of that one belong in adjust"));
  }
  for (const api::ContainerEviction& eviction : answer.evict()) {
    if (eviction.container_id() != id) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", plugin,
                     ": its eviction is of the container that is being made; "
                     "an error instead of an answer refuses that one"));
  }
  return updates_.Take(plugin, answer.update(), answer.evict());
}

absl::Status Creation::Take(const std::string& plugin, const api::CreateContainerResponse& answer) {
  const std::string who = absl::StrCat("plugin ", plugin);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckShape({answer.adjust(), ""}), who));
  api::ContainerAdjustment change = WithCleanPaths(answer.adjust());
  Owners owners = owners_;
  PLIMSOLL_RETURN_IF_ERROR(Claim(plugin, {change, ""}, &owners));
  change = WithoutTakenMarks(change);
  api::ContainerAdjustment merged = adjustment_;
  api::Container container = request_.container();
  RemoveRdt(change, &merged, &container);
  Overlay({change, ""}, /*keep_removals=*/true, &merged);
  ForgetRdtRemoval(change, &merged);
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(CheckShape({merged, ""}), absl::StrCat(who, ", with the plugins before it")));
  PLIMSOLL_RETURN_IF_ERROR(CheckTogether(change, merged, owners));
  Overlay({change, ""}, /*keep_removals=*/false, &container);
  OverlayEnvironment(change, &container);
  ShowRdtClass(change, &container);

  PLIMSOLL_RETURN_IF_ERROR(TakeOthers(plugin, answer));
  adjustment_ = std::move(merged);
  *request_.mutable_container() = std::move(container);
  owners_ = std::move(owners);
  return absl::OkStatus();
}

api::ValidateContainerAdjustmentRequest Creation::ForValidators(
    const std::vector<std::string>& plugins) const {
  api::ValidateContainerAdjustmentRequest request;
  *request.mutable_pod() = original_.pod();
  *request.mutable_container() = original_.container();
  *request.mutable_adjust() = adjustment_;
  for (const AskedUpdate& asked : updates()) *request.add_update() = asked.update;
  auto& owners = *request.mutable_owners()->mutable_owners();
  owners[original_.container().id()] = owners_.ToMessage();
  for (const auto& [container, of_it] : updates_.owners()) owners[container] = of_it.ToMessage();
  for (const std::string& plugin : plugins) CopyNames(plugin, request.add_plugins());
  return request;
}

absl::StatusOr<runtime::ContainerSpec> Creation::Adjusted(
    const runtime::ContainerSpec& asked) const {
  runtime::ContainerSpec spec = asked;
  PLIMSOLL_RETURN_IF_ERROR(ApplyToSpec(adjustment_, owners_, &spec));
  spec.changed_by = owners_.Changes();
  return spec;
}

}  // namespace plimsoll::nri
