#include "cli/agent_commands/agent_describe.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/agent_commands/agent_pod_resources.h"
#include "cli/agent_commands/agent_pod_summary.h"
#include "cli/agent_commands/agent_tables.h"
#include "cli/terminal/description.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/table.h"

namespace plimsoll::cli {
namespace {

// "a=1, b=2" of an object's fields.
std::string PairsText(const KubeObject& object) {
  if (!object.is_object()) return "";
  std::vector<std::string> pairs;
  for (const auto& [name, value] : object.items()) {
    pairs.push_back(
        absl::StrCat(name, "=", value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return absl::StrJoin(pairs, ", ");
}

std::string WordsText(const std::vector<KubeObject>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const KubeObject& word) {
    absl::StrAppend(out, word.is_string() ? word.get<std::string>() : word.dump());
  });
}

std::string WithReason(const std::string& state, const KubeObject& details) {
  std::string text = state;
  const std::string reason = TextOf(details, {"reason"});
  if (!reason.empty()) absl::StrAppend(&text, " (", reason, ")");
  if (state == "Terminated") {
    absl::StrAppend(&text, ", exit code ", NumberOf(details, {"exitCode"}));
  }
  const std::string message = TextOf(details, {"message"});
  if (!message.empty()) absl::StrAppend(&text, ": ", message);
  return text;
}

// The run in "state" or "lastState"; empty where there is none.
std::string RunText(const KubeObject& status, const char* which) {
  for (const auto& [key, word] :
       {std::pair("waiting", "Waiting"), {"running", "Running"}, {"terminated", "Terminated"}}) {
    const KubeObject& details = FieldOf(status, {which, key});
    if (!details.is_null()) return WithReason(word, details);
  }
  return "";
}

void AddEnvironment(const KubeObject& container, Description& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const KubeObject& variable : ItemsOf(container, {"env"})) {
    const KubeObject& from = FieldOf(variable, {"valueFrom"});
    pairs.emplace_back(
        TextOf(variable, {"name"}),
        from.is_null() ? TextOf(variable, {"value"})
                       : absl::StrCat("from ", from.dump(-1, ' ', false,
                                                         KubeObject::error_handler_t::replace)));
  }
  if (pairs.empty()) return;
  out.Section("Environment");
  out.Indent();
  out.Add(pairs);
  out.Outdent();
}

// ", path d"; of a subPathExpr, whose value the status doesn't tell, the expression.
std::string SubPathText(const KubeObject& mount) {
  std::string path = TextOf(mount, {"subPath"});
  if (path.empty()) path = TextOf(mount, {"subPathExpr"});
  return path.empty() ? "" : absl::StrCat(", path ", path);
}

void AddMounts(const KubeObject& container, Description& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const KubeObject& mount : ItemsOf(container, {"volumeMounts"})) {
    pairs.emplace_back(TextOf(mount, {"mountPath"}),
                       absl::StrCat("volume ", TextOf(mount, {"name"}), SubPathText(mount),
                                    FlagOf(mount, {"readOnly"}) ? ", read-only" : ""));
  }
  if (pairs.empty()) return;
  out.Section("Mounts");
  out.Indent();
  out.Add(pairs);
  out.Outdent();
}

// Devices that the container has for itself, by the extended resource that it requests.
void AddDevices(const KubeObject& status, Description& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const KubeObject& resource : ItemsOf(status, {"allocatedResourcesStatus"})) {
    std::vector<std::string> ids;
    for (const KubeObject& device : ItemsOf(resource, {"resources"})) {
      ids.push_back(TextOf(device, {"resourceID"}));
    }
    pairs.emplace_back(TextOf(resource, {"name"}), absl::StrJoin(ids, ", "));
  }
  if (pairs.empty()) return;
  out.Section("Devices");
  out.Indent();
  out.Add(pairs);
  out.Outdent();
}

// Resources that were asked for, and the ones that the runtime reports.
void AddResources(const KubeObject& container, const KubeObject& status, Description& out) {
  out.Add({{"Requests", PairsText(FieldOf(container, {"resources", "requests"}))},
           {"Limits", PairsText(FieldOf(container, {"resources", "limits"}))},
           {"Classes", PairsText(FieldOf(container, {"resources", "classes"}))},
           {"Requests held", PairsText(FieldOf(status, {"resources", "requests"}))},
           {"Limits held", PairsText(FieldOf(status, {"resources", "limits"}))},
           {"Classes held", PairsText(FieldOf(status, {"resources", "classes"}))}});
}

void AddContainers(const KubeObject& pod, const char* title, const char* list, const char* statuses,
                   Description& out) {
  const std::vector<KubeObject> containers = ItemsOf(pod, {"spec", list});
  if (containers.empty()) return;
  out.Section(title);
  for (const KubeObject& container : containers) {
    const std::string name = TextOf(container, {"name"});
    const KubeObject status = ContainerStatusOf(pod, statuses, name);
    out.Indent();
    out.Section(name);
    out.Indent();
    out.Add({{"Image", TextOf(container, {"image"})},
             {"Image ID", TextOf(status, {"imageID"})},
             {"Container ID", TextOf(status, {"containerID"})},
             {"Command", WordsText(ItemsOf(container, {"command"}))},
             {"Args", WordsText(ItemsOf(container, {"args"}))},
             {"State", RunText(status, "state")},
             {"Last state", RunText(status, "lastState")},
             {"Ready", FlagOf(status, {"ready"}) ? "true" : "false"},
             {"Restarts", absl::StrCat(NumberOf(status, {"restartCount"}))}});
    AddResources(container, status, out);
    AddEnvironment(container, out);
    AddMounts(container, out);
    AddDevices(status, out);
    out.Outdent();
    out.Outdent();
  }
}

void AddConditions(const KubeObject& object, Description& out) {
  Table table({"TYPE", "STATUS", "REASON", "MESSAGE"});
  for (const KubeObject& condition : ItemsOf(object, {"status", "conditions"})) {
    table.AddRow({TextOf(condition, {"type"}), TextOf(condition, {"status"}),
                  TextOf(condition, {"reason"}), TextOf(condition, {"message"})});
  }
  if (table.empty()) return;
  out.Section("Conditions");
  out.Indent();
  out.AddLines(table.ToString());
  out.Outdent();
}

// The type of a volume: its only field beside the name.
std::string VolumeText(const KubeObject& volume) {
  if (!volume.is_object()) return "";
  for (const auto& [key, value] : volume.items()) {
    if (key != "name") {
      return absl::StrCat(key, " ",
                          value.dump(-1, ' ', false, KubeObject::error_handler_t::replace));
    }
  }
  return "emptyDir";
}

void AddVolumes(const KubeObject& pod, Description& out) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const KubeObject& volume : ItemsOf(pod, {"spec", "volumes"})) {
    pairs.emplace_back(TextOf(volume, {"name"}), VolumeText(volume));
  }
  if (pairs.empty()) return;
  out.Section("Volumes");
  out.Indent();
  out.Add(pairs);
  out.Outdent();
}

void AddEvents(const std::vector<KubeObject>& events, absl::Time now, Description& out) {
  if (events.empty()) {
    out.Add({{"Events", "none"}});
    return;
  }
  out.Section("Events");
  out.Indent();
  out.AddLines(AgentEventTable(events, {}, now));
  out.Outdent();
}

Amounts NodeAmounts(const KubeObject& node, const char* field) {
  return AmountsOf({{"limits", FieldOf(node, {"status", field})}}, AmountKind::kLimits);
}

// "1500m (37%)"; without the share where nothing is allocatable.
std::string WithPercent(const Amounts& amounts, const std::string& resource,
                        const Amounts& allocatable) {
  const std::string text = AmountText(amounts, resource);
  const auto part = amounts.find(resource);
  const auto whole = allocatable.find(resource);
  if (whole == allocatable.end() || whole->second.Sign() <= 0) return text;
  const double share = part == amounts.end() ? 0
                                             : static_cast<double>(part->second.MilliValue()) /
                                                   static_cast<double>(whole->second.MilliValue());
  return absl::StrCat(text, " (", std::lround(share * 100), "%)");
}

void AddNodeResources(const KubeObject& node, const std::vector<KubeObject>& pods,
                      Description& out) {
  const Amounts capacity = NodeAmounts(node, "capacity");
  const Amounts allocatable = NodeAmounts(node, "allocatable");
  Amounts requests = SumOfPods(pods, AmountKind::kRequests);
  requests["pods"] = resources::Quantity::FromInt(static_cast<int64_t>(pods.size()));
  const Amounts limits = SumOfPods(pods, AmountKind::kLimits);
  Table table({"RESOURCE", "CAPACITY", "ALLOCATABLE", "REQUESTED", "LIMITS"});
  for (const auto& [name, amount] : capacity) {
    table.AddRow({name, AmountText(name, amount), AmountText(allocatable, name),
                  WithPercent(requests, name, allocatable),
                  name == "pods" ? "" : WithPercent(limits, name, allocatable)});
  }
  if (table.empty()) return;
  out.Section("Resources");
  out.Indent();
  out.AddLines(table.ToString());
  out.Outdent();
}

// "gold (2), silver (default)": classes with the places of those that have a number of them.
std::string ClassesText(const KubeObject& type) {
  const std::string standard = TextOf(type, {"default"});
  std::vector<std::string> words;
  for (const KubeObject& each : ItemsOf(type, {"classes"})) {
    std::string word = each.is_string() ? each.get<std::string>() : each.dump();
    std::vector<std::string> notes;
    const KubeObject& capacity = FieldOf(type, {"capacity", word.c_str()});
    if (capacity.is_number()) notes.push_back(capacity.dump());
    if (word == standard) notes.emplace_back("default");
    if (!notes.empty()) absl::StrAppend(&word, " (", absl::StrJoin(notes, ", "), ")");
    words.push_back(std::move(word));
  }
  return absl::StrJoin(words, ", ");
}

void AddNodeClasses(const KubeObject& node, Description& out) {
  Table table({"TYPE", "OF", "CHANGES", "CLASSES"});
  for (const auto& [field, of] : {std::pair("containerClassResources", "containers"),
                                  std::pair("podClassResources", "pods")}) {
    for (const KubeObject& type : ItemsOf(node, {"status", field})) {
      table.AddRow({TextOf(type, {"name"}), of, FlagOf(type, {"immutable"}) ? "never" : "in place",
                    ClassesText(type)});
    }
  }
  if (table.empty()) return;
  out.Section("QoS classes");
  out.Indent();
  out.AddLines(table.ToString());
  out.Outdent();
}

void AddNodePods(const std::vector<KubeObject>& pods, absl::Time now, Description& out) {
  out.Section(absl::StrCat("Pods (", pods.size(), ")"));
  Table table({"NAMESPACE", "NAME", "STATUS", "CPU REQUEST", "CPU LIMIT", "MEMORY REQUEST",
               "MEMORY LIMIT", "AGE"});
  for (const KubeObject& pod : pods) {
    const Amounts requests = PodAmounts(pod, AmountKind::kRequests);
    const Amounts limits = PodAmounts(pod, AmountKind::kLimits);
    table.AddRow({TextOf(pod, {"metadata", "namespace"}), TextOf(pod, {"metadata", "name"}),
                  Summarize(pod).status, AmountText(requests, "cpu"), AmountText(limits, "cpu"),
                  AmountText(requests, "memory"), AmountText(limits, "memory"),
                  AgeOf(TimeOf(pod, {"metadata", "creationTimestamp"}), now)});
  }
  out.Indent();
  if (!table.empty()) out.AddLines(table.ToString());
  out.Outdent();
}

}  // namespace

std::string DescribeAgentPod(const KubeObject& pod, const std::vector<KubeObject>& events,
                             absl::Time now) {
  Description out;
  out.Add({{"Name", TextOf(pod, {"metadata", "name"})},
           {"Namespace", TextOf(pod, {"metadata", "namespace"})},
           {"UID", TextOf(pod, {"metadata", "uid"})},
           {"Labels", PairsText(FieldOf(pod, {"metadata", "labels"}))},
           {"Annotations", PairsText(FieldOf(pod, {"metadata", "annotations"}))},
           {"Node", TextOf(pod, {"spec", "nodeName"})},
           {"Start time", TextOf(pod, {"status", "startTime"})},
           {"Deleted at", TextOf(pod, {"metadata", "deletionTimestamp"})},
           {"Status", Summarize(pod).status},
           {"Reason", TextOf(pod, {"status", "reason"})},
           {"Message", TextOf(pod, {"status", "message"})},
           {"IP", TextOf(pod, {"status", "podIP"})},
           {"QoS class", TextOf(pod, {"status", "qosClass"})},
           {"Restart policy", TextOf(pod, {"spec", "restartPolicy"})},
           {"Requests", PairsText(FieldOf(pod, {"spec", "resources", "requests"}))},
           {"Limits", PairsText(FieldOf(pod, {"spec", "resources", "limits"}))},
           {"Classes", PairsText(FieldOf(pod, {"spec", "resources", "classes"}))},
           {"Classes held", PairsText(FieldOf(pod, {"status", "resources", "classes"}))}});
  AddContainers(pod, "Init containers", "initContainers", "initContainerStatuses", out);
  AddContainers(pod, "Containers", "containers", "containerStatuses", out);
  AddConditions(pod, out);
  AddVolumes(pod, out);
  AddEvents(events, now, out);
  return out.text();
}

std::string DescribeAgentNode(const KubeObject& node, const std::vector<KubeObject>& pods,
                              const std::vector<KubeObject>& events, absl::Time now) {
  Description out;
  const auto info = [&node](const char* field) {
    return TextOf(node, {"status", "nodeInfo", field});
  };
  out.Add({{"Name", TextOf(node, {"metadata", "name"})},
           {"Labels", PairsText(FieldOf(node, {"metadata", "labels"}))},
           {"Annotations", PairsText(FieldOf(node, {"metadata", "annotations"}))},
           {"Started", TextOf(node, {"metadata", "creationTimestamp"})},
           {"Machine ID", info("machineID")},
           {"System UUID", info("systemUUID")},
           {"Boot ID", info("bootID")},
           {"Kernel", info("kernelVersion")},
           {"OS image", info("osImage")},
           {"Architecture", info("architecture")},
           {"Runtime", info("containerRuntimeVersion")},
           {"Agent", info("kubeletVersion")}});
  std::vector<std::pair<std::string, std::string>> addresses;
  for (const KubeObject& address : ItemsOf(node, {"status", "addresses"})) {
    addresses.emplace_back(TextOf(address, {"type"}), TextOf(address, {"address"}));
  }
  out.Add(addresses);
  AddConditions(node, out);
  AddNodeResources(node, pods, out);
  AddNodeClasses(node, out);
  AddNodePods(pods, now, out);
  AddEvents(events, now, out);
  return out.text();
}

}  // namespace plimsoll::cli
