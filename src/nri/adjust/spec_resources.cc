// Resources and classes.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "nri/adjust/spec_parts.h"
#include "nri/messages/messages.h"
#include "qos/class_type.h"

namespace plimsoll::nri {
namespace {

absl::Status CheckRdt(const api::LinuxRdt& rdt, const SpecTarget& target) {
  if (rdt.has_clos_id() && rdt.clos_id().value().empty()) {
    return target.Wrong("linux.rdt.clos_id", "",
                        "is empty; the name of a class of type rdt is right, or linux.rdt.remove "
                        "for the default class");
  }
  if (rdt.has_schemata()) {
    return target.Impossible("linux.rdt.schemata", "",
                             "can't be set for one container: the administrator defines classes "
                             "with their schemata, and linux.rdt.clos_id or "
                             "linux.resources.rdt_class chooses one of them");
  }
  if (rdt.has_enable_monitoring() && !rdt.enable_monitoring().value()) {
    return target.Impossible("linux.rdt.enable_monitoring", "",
                             "can't be false: each container with a class of type rdt is "
                             "monitored");
  }
  return absl::OkStatus();
}

absl::Status ApplyRdt(const api::LinuxContainerAdjustment& linux, const SpecTarget& target) {
  const api::LinuxRdt& rdt = linux.rdt();
  PLIMSOLL_RETURN_IF_ERROR(CheckRdt(rdt, target));
  qos::ClassNames& classes = target.spec().classes;
  if (!rdt.has_clos_id()) return absl::OkStatus();
  const std::string& class_name = rdt.clos_id().value();
  if (linux.resources().has_rdt_class() && linux.resources().rdt_class().value() != class_name) {
    return absl::AlreadyExistsError(absl::StrCat(
        "plugin ", target.owners().PluginOf("linux.rdt.clos_id", ""), " sets linux.rdt.clos_id to ",
        Quoted(class_name), " and plugin ",
        target.owners().PluginOf("linux.resources.rdt_class", ""), " linux.resources.rdt_class to ",
        Quoted(linux.resources().rdt_class().value()),
        ": both name the container's class of type rdt, so only one of them may be set"));
  }
  classes[qos::kRdt] = class_name;
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyResources(const api::LinuxContainerAdjustment& linux, const SpecTarget& target) {
  // Rules of devices are with the devices.
  api::LinuxResources resources = linux.resources();
  resources.clear_devices();
  runtime::ContainerSpec& spec = target.spec();
  const ResourceTarget settings{&spec.resources, &spec.classes, &spec.extras.memory,
                                &spec.extras.realtime};
  if (linux.rdt().remove()) spec.classes.erase(qos::kRdt);
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(ReadResources(resources, settings),
               absl::StrCat("plugin ", target.owners().PluginsBelow("linux.resources"))));
  return ApplyRdt(linux, target);
}

}  // namespace plimsoll::nri
