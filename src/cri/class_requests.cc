#include "cri/class_requests.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cri/messages/validate.h"
#include "qos/class_devices.h"
#include "qos/pod_qos.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

// A type may have a prefix ("vendor.io/type"), and rdt's root class is "system/default".
constexpr size_t kMaxName = 317;
// kubelet sets it on every pod: "api", or "file" and "http" for static pods.
constexpr char kConfigSource[] = "kubernetes.io/config.source";

absl::Status CheckClassWord(const std::string& field, const std::string& word) {
  if (word.size() > kMaxName) {
    return Invalid(field, word, absl::StrCat("must have at most ", kMaxName, " characters"));
  }
  for (const char c : word) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./", c))
      continue;
    return Invalid(field, word, "may hold letters, digits, \"-\", \"_\", \".\" and \"/\" only");
  }
  return absl::OkStatus();
}

qos::Annotations ToMap(const google::protobuf::Map<std::string, std::string>& map) {
  return qos::Annotations(map.begin(), map.end());
}

// The container or pod whose request is read.
struct Asker {
  qos::Level level = qos::Level::kContainer;
  std::string subject;        // "container web"
  bool is_static = false;     // of a static pod
  bool needs_claims = false;  // its annotations count only beside a claim
  const ClassSupport& support;
};

// Classes asked for, one of a type.
struct AskedClasses {
  qos::ClassNames names;  // an empty name: the type's default
  // By type, for messages: "annotation rdt.class.plimsoll.dev/default".
  std::map<std::string, std::string> sources;
};

std::string DefaultOf(qos::Level level, const std::string& type, const ClassSupport& support) {
  for (const qos::TypeReport& report : support.registry->Describe()) {
    if (report.level == level && report.name == type) return report.default_class;
  }
  return "";
}

// Adds the class `name` to `all`, which has one class of a type.
absl::Status Add(const Asker& asker, const std::string& type, const std::string& name,
                 const std::string& source, AskedClasses* all) {
  const auto [at, is_new] = all->names.insert({type, name});
  std::string& first_source = all->sources[type];
  if (is_new) first_source = source;
  const std::string& first = at->second;
  if (first == name) return absl::OkStatus();
  if (name.empty() && first == DefaultOf(asker.level, type, asker.support)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(asker.subject, ": ", first_source, " asks for class \"", first, "\" of type \"",
                   type, "\", but ", source, " for ",
                   name.empty() ? "the default class" : absl::StrCat("class \"", name, "\""),
                   "; a ", asker.level == qos::Level::kPod ? "pod" : "container",
                   " has one class of a type: name the same class in both, or leave one out"));
}

// --- granted by claims

absl::StatusOr<qos::ClassId> ClassOfDevice(const std::string& device, qos::Registry* registry) {
  if (std::optional<qos::ClassId> plain = qos::ClassOfPlainCdiName(device)) return *plain;
  std::vector<qos::ClassId> known;
  for (const qos::TypeReport& type : registry->Describe()) {
    for (const qos::ClassUse& use : type.classes) {
      known.push_back({type.level, type.name, use.info.name});
    }
  }
  absl::StatusOr<qos::ClassId> found = qos::FindClass(device, known, qos::CdiName);
  if (found.ok() || registry->unavailable().empty()) return found;
  const auto lack = [](std::string* out, const qos::UnavailableType& type) {
    absl::StrAppend(out, type.name, " (", type.reason, ")");
  };
  return AlsoSay(found.status(), absl::StrCat("this machine has no classes of the types ",
                                              absl::StrJoin(registry->unavailable(), ", ", lack)));
}

absl::StatusOr<AskedClasses> GrantedByDevices(const Asker& asker,
                                              const std::vector<std::string>& cdi_devices) {
  constexpr char kLost[] = "if the scheduler gave the class out, this node has lost it since";
  AskedClasses granted;
  for (const std::string& device : cdi_devices) {
    if (!qos::IsClassDevice(device)) continue;
    const std::string source = absl::StrCat("CDI device ", device);
    const std::string subject = absl::StrCat(asker.subject, ": ", source);
    const absl::StatusOr<qos::ClassId> id = ClassOfDevice(device, asker.support.registry);
    if (!id.ok()) return AlsoSay(Annotate(id.status(), subject), kLost);
    if (id->level == qos::Level::kPod) {
      return absl::InvalidArgumentError(absl::StrCat(
          subject,
          ": is a class of pods, which a container can't have; plimsoll-kube sets it before ",
          "the pod's sandbox is made, other clients name it in the sandbox's class_resources or ",
          "its annotation ", id->type, ".class.plimsoll.dev/sandbox"));
    }
    PLIMSOLL_RETURN_IF_ERROR(AlsoSay(
        asker.support.registry->CheckKnown(asker.level, subject, id->type, id->name), kLost));
    PLIMSOLL_RETURN_IF_ERROR(Add(asker, id->type, id->name, source, &granted));
  }
  return granted;
}

absl::StatusOr<AskedClasses> GrantedByWord(const Asker& asker, const std::string& pod_uid) {
  constexpr char kSource[] = "the pod's claim (as plimsoll-kube told it)";
  AskedClasses granted;
  if (!asker.support.told_pod_classes || pod_uid.empty()) return granted;
  const absl::StatusOr<qos::ClassNames> told = asker.support.told_pod_classes(pod_uid);
  if (!told.ok()) return Annotate(told.status(), asker.subject);
  const std::string subject = absl::StrCat(asker.subject, ": ", kSource);
  for (const auto& [type, name] : *told) {
    PLIMSOLL_RETURN_IF_ERROR(asker.support.registry->CheckKnown(asker.level, subject, type, name));
    granted.names[type] = name;
    granted.sources[type] = kSource;
  }
  return granted;
}

// --- annotations

// Whether annotations don't count by themselves: nobody shall go round the scheduler.
bool NeedsClaims(bool from_scheduler, bool is_static, const ClassSupport& support) {
  return from_scheduler && !(is_static && support.static_pods);
}

// The check of an annotation whose type no claim grants.
absl::Status CheckUngranted(const Asker& asker, const std::string& type,
                            const qos::AnnotatedClass& one) {
  const ClassSupport& support = asker.support;
  if (!asker.needs_claims) {
    return Annotate(support.registry->CheckSource(asker.level, type, one.name, one.source),
                    absl::StrCat(asker.subject, ": annotation ", one.key));
  }
  // Every holder that names none has it.
  if (one.name == DefaultOf(asker.level, type, asker.support)) return absl::OkStatus();
  const bool is_pod = asker.level == qos::Level::kPod;
  const std::string resource = qos::ExtendedResourceName({asker.level, type, one.name});
  return support.registry->RefuseAnnotation(
      asker.level, type,
      absl::FailedPreconditionError(absl::StrCat(
          asker.subject, ": annotation ", one.key, " asks for class \"", one.name, "\" of type \"",
          type, "\", which no claim of the ", is_pod ? "pod" : "container",
          " grants; on this node the cluster's scheduler gives out classes (classes.from): ask for "
          "the extended resource ",
          resource, " in the limits of ", is_pod ? "a container" : "the container",
          ", and leave the node to the scheduler: with spec.nodeName no claim is made",
          asker.is_static ? "; annotations of static pods need classes.staticPods: true" : "")));
}

// A granted type's annotations need no permission: they add nothing. Where annotations need claims
// the permission is no matter: CheckUngranted says what to ask for instead.
qos::AnnotationPolicy PolicyWith(const AskedClasses& granted, const Asker& asker) {
  const std::set<std::string> all = {"container", "default", "sandbox"};
  qos::AnnotationPolicy policy = asker.support.annotations;
  for (const auto& [type, unused] : granted.names) policy[type] = all;
  if (!asker.needs_claims) return policy;
  for (const qos::TypeReport& type : asker.support.registry->Describe()) {
    if (type.level == asker.level) policy[type.name] = all;
  }
  return policy;
}

// Adds the annotations' classes to the granted ones. `found`: those classes, or their error;
// `refused`: the type of the annotation at fault.
absl::StatusOr<qos::ClassNames> WithAnnotated(const Asker& asker,
                                              const absl::StatusOr<qos::AnnotatedClasses>& found,
                                              const std::string& refused, AskedClasses granted) {
  if (!found.ok()) {
    return asker.support.registry->RefuseAnnotation(asker.level, refused,
                                                    Annotate(found.status(), asker.subject));
  }
  for (const auto& [type, one] : *found) {
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(one.key, one.name));
    if (!granted.names.contains(type)) {
      PLIMSOLL_RETURN_IF_ERROR(CheckUngranted(asker, type, one));
    }
    PLIMSOLL_RETURN_IF_ERROR(
        Add(asker, type, one.name, absl::StrCat("annotation ", one.key), &granted));
  }
  return granted.names;
}

// --- the message

using MessageClasses = google::protobuf::Map<std::string, std::string>;

absl::Status CheckWords(const MessageClasses& message, const std::string& field) {
  for (const auto& [type, name] : message) {
    if (type.empty()) return Invalid(field, type, "must name a class type");
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(field, type));
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(absl::StrCat(field, "[", type, "]"), name));
  }
  return absl::OkStatus();
}

absl::StatusOr<qos::ClassNames> WithMessage(const Asker& asker, const MessageClasses& message,
                                            const std::string& field, AskedClasses granted) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWords(message, field));
  for (const auto& [type, name] : ToMap(message)) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(
        asker.support.registry->CheckSource(asker.level, type, name, qos::ClassSource::kMessage),
        asker.subject));
    PLIMSOLL_RETURN_IF_ERROR(Add(asker, type, name, field, &granted));
  }
  return granted.names;
}

// --- ephemeral containers, as of kubectl debug

bool HasClaimFor(const runtime::ContainerRecord& container, const qos::ClassId& id,
                 const ClassSupport& support) {
  return absl::c_any_of(container.spec.cdi_devices, [&](const std::string& device) {
    if (!qos::IsClassDevice(device)) return false;
    const absl::StatusOr<qos::ClassId> granted = ClassOfDevice(device, support.registry);
    return granted.ok() && *granted == id;
  });
}

// Whether a container without a claim is an ephemeral one: Kubernetes gives these no resources, so
// no claims. The CRI doesn't tell. Kubelet's spec of the pod does; without it, another container's
// claim for the class shows that the pod asked for it in the scheduler's way.
bool IsEphemeral(const std::string& name, const qos::ClassId& id, const PodOfContainer& pod,
                 const ClassSupport& support) {
  if (pod.spec.facts.has_value() && pod.spec.facts->has_spec) {
    const auto is_it = [&name](const runtime::AnnouncedContainer& one) { return one.name == name; };
    return absl::c_linear_search(pod.spec.facts->ephemeral, name) ||
           absl::c_none_of(pod.spec.facts->resources.containers, is_it);
  }
  return absl::c_any_of(pod.containers(), [&](const runtime::ContainerRecord& other) {
    return other.spec.name != name && HasClaimFor(other, id, support);
  });
}

// Takes from the annotations' classes those for all containers that an ephemeral one can't have.
void DropUnclaimable(const Asker& asker, const std::string& name, const PodOfContainer& pod,
                     const AskedClasses& granted, qos::AnnotatedClasses* found,
                     std::vector<std::string>* warnings) {
  if (!asker.needs_claims) return;
  std::erase_if(*found, [&](const auto& entry) {
    const auto& [type, one] = entry;
    const qos::ClassId id{asker.level, type, one.name};
    if (!one.for_all || granted.names.contains(type)) return false;
    if (!CheckClassWord(one.key, one.name).ok()) return false;  // is refused as such
    if (one.name == DefaultOf(asker.level, type, asker.support)) return false;
    if (!IsEphemeral(name, id, pod, asker.support)) return false;
    warnings->push_back(absl::StrCat(asker.subject, " has not the class \"", one.name,
                                     "\" of type \"", type, "\" that annotation ", one.key,
                                     " gives to all containers: an ephemeral container can have no "
                                     "claim for it"));
    return true;
  });
}

bool IsStatic(const v1::PodSandboxConfig& config) {
  const auto source = config.annotations().find(kConfigSource);
  return source != config.annotations().end() && source->second != "api";
}

absl::StatusOr<qos::ClassNames> NamedPodClasses(const v1::PodSandboxConfig& config,
                                                const runtime::SandboxSpec& spec,
                                                const ClassSupport& support) {
  const bool is_static = IsStatic(config);
  const Asker asker{
      qos::Level::kPod,
      absl::StrCat("pod ", config.metadata().namespace_(), "/", config.metadata().name()),
      is_static, NeedsClaims(spec.classes_from_scheduler, is_static, support), support};
  PLIMSOLL_ASSIGN_OR_RETURN(AskedClasses granted, GrantedByWord(asker, config.metadata().uid()));
  if (config.has_class_resources()) {
    return WithMessage(asker, config.class_resources().class_(), "config.class_resources.class",
                       std::move(granted));
  }
  std::string refused;
  const auto found =
      qos::AnnotatedPodClasses(ToMap(config.annotations()), PolicyWith(granted, asker), &refused);
  return WithAnnotated(asker, found, refused, std::move(granted));
}

}  // namespace

bool SchedulerGivesOut(const ClassSupport& support) {
  if (support.from == qos::ClassesFrom::kAuto) return support.scheduled && support.scheduled();
  return support.from == qos::ClassesFrom::kScheduler;
}

absl::StatusOr<qos::ClassNames> ClassNamesFrom(
    const google::protobuf::Map<std::string, std::string>& classes, const std::string& field) {
  PLIMSOLL_RETURN_IF_ERROR(CheckWords(classes, field));
  return ToMap(classes);
}

absl::StatusOr<qos::ClassNames> ContainerClassesFrom(const v1::ContainerConfig& config,
                                                     const std::vector<std::string>& cdi_devices,
                                                     const PodOfContainer& pod,
                                                     const ClassSupport& support,
                                                     std::vector<std::string>* warnings) {
  if (support.registry == nullptr) return qos::ClassNames();
  const std::string& name = config.metadata().name();
  const bool is_static = IsStatic(pod.config);
  // A pod from before the scheduler's time keeps its right.
  const bool from_scheduler = pod.spec.classes_from_scheduler && SchedulerGivesOut(support);
  const Asker asker{qos::Level::kContainer, absl::StrCat("container ", name), is_static,
                    NeedsClaims(from_scheduler, is_static, support), support};
  PLIMSOLL_ASSIGN_OR_RETURN(AskedClasses granted, GrantedByDevices(asker, cdi_devices));
  if (config.has_class_resources()) {
    return WithMessage(asker, config.class_resources().classes(), "config.class_resources.classes",
                       std::move(granted));
  }
  std::string refused;
  auto found =
      qos::AnnotatedContainerClasses(ToMap(config.annotations()), ToMap(pod.config.annotations()),
                                     name, PolicyWith(granted, asker), &refused);
  if (found.ok()) DropUnclaimable(asker, name, pod, granted, &*found, warnings);
  return WithAnnotated(asker, found, refused, std::move(granted));
}

absl::StatusOr<qos::ClassNames> PodClassesFrom(const v1::PodSandboxConfig& config,
                                               const runtime::SandboxSpec& spec,
                                               const ClassSupport& support) {
  if (support.registry == nullptr) return qos::ClassNames();
  PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassNames classes, NamedPodClasses(config, spec, support));
  if (support.registry->Has(qos::Level::kPod, qos::kPodQos)) {
    classes.insert({qos::kPodQos, qos::DerivePodQos(spec.cgroup_parent, spec.resources)});
  }
  return classes;
}

std::vector<std::string> ClassesBesideGrants(const std::vector<std::string>& cdi_devices,
                                             const qos::ClassNames& classes,
                                             const ClassSupport& support) {
  std::vector<std::string> warnings;
  if (support.registry == nullptr) return warnings;
  for (const std::string& device : cdi_devices) {
    if (classes.empty() || !qos::IsClassDevice(device)) continue;
    const absl::StatusOr<qos::ClassId> id = ClassOfDevice(device, support.registry);
    const auto asked = id.ok() ? classes.find(id->type) : classes.end();
    if (asked == classes.end()) continue;
    const std::string name = asked->second.empty()
                                 ? DefaultOf(qos::Level::kContainer, id->type, support)
                                 : asked->second;
    if (name == id->name) continue;
    warnings.push_back(absl::StrCat("class \"", name, "\" of type \"", id->type,
                                    "\" is not the one that CDI device ", device,
                                    " grants: the scheduler goes on counting that"));
  }
  return warnings;
}

}  // namespace plimsoll::cri
