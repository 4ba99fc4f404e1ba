#include "cli/agent_commands/agent_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/agent_commands/agent_pod_lookup.h"
#include "cli/agent_commands/agent_tables.h"

namespace plimsoll::cli {
namespace {

constexpr absl::Duration kAskInterval = absl::Seconds(1);

absl::Status PrintChange(const char* type, const KubeObject& object,
                         const CommandContext& context) {
  if (context.format() == OutputFormat::kYaml) Print("---\n");
  const KubeObject change = {{"type", type}, {"object", object}};
  return PrintJson(change.dump(-1, ' ', false, KubeObject::error_handler_t::replace),
                   context.format());
}

class PodWatch {
 public:
  PodWatch(const CommandContext& context, const ObjectSelection& selection)
      : context_(context),
        selection_(selection),
        table_({context.format() == OutputFormat::kWide, selection.pod_namespace.empty()}) {}

  absl::Status Run(const agent::AgentClient& client) {
    if (!context_.for_programs()) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<KubeObject> pods, ReadPods(client, selection_));
      Print(table_.Whole(pods, absl::Now()));
      shown_.insert(pods.begin(), pods.end());
    }
    const bool one = selection_.names.size() == 1;
    const absl::Status status =
        client.Watch(selection_.pod_namespace, one ? selection_.names.front() : "",
                     [this](const std::string& type, const KubeObject& pod) {
                       return !IsWanted(pod) || Take(type, pod);
                     });
    return failure_.ok() ? status : failure_;
  }

 private:
  bool IsWanted(const KubeObject& pod) const {
    const std::vector<std::string>& names = selection_.names;
    return names.empty() ||
           std::find(names.begin(), names.end(), TextOf(pod, {"metadata", "name"})) != names.end();
  }
  bool Take(const std::string& type, const KubeObject& pod) {
    if (context_.for_programs()) {
      failure_ = PrintChange(type.c_str(), pod, context_);
      return failure_.ok();
    }
    // The watch begins with the pods that the table has already.
    if (type != "ADDED" || shown_.erase(pod) == 0) Print(table_.Row(pod, absl::Now()));
    return true;
  }

  const CommandContext& context_;
  const ObjectSelection& selection_;
  AgentPodTable table_;
  std::set<KubeObject> shown_;  // by the table, and not told by the watch yet
  absl::Status failure_;
};

// Prints events that are not in `seen`, which then holds all of them.
absl::Status PrintNewEvents(const std::vector<KubeObject>& events, TableShape shape,
                            const CommandContext& context, std::set<KubeObject>* seen,
                            bool header) {
  const std::vector<std::string> lines =
      absl::StrSplit(AgentEventTable(events, shape, absl::Now()), '\n');
  if (header && !context.for_programs()) Print(absl::StrCat(lines.front(), "\n"));
  std::set<KubeObject> now;
  for (size_t i = 0; i < events.size(); ++i) {
    now.insert(events[i]);
    if (seen->contains(events[i])) continue;
    if (context.for_programs()) {
      PLIMSOLL_RETURN_IF_ERROR(PrintChange("ADDED", events[i], context));
    } else {
      Print(absl::StrCat(lines[i + 1], "\n"));
    }
  }
  *seen = std::move(now);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<KubeObject>> ReadPods(const agent::AgentClient& client,
                                                 const ObjectSelection& selection) {
  if (selection.names.empty()) return client.List(selection.pod_namespace);
  std::vector<KubeObject> pods;
  for (const std::string& name : selection.names) {
    PLIMSOLL_ASSIGN_OR_RETURN(KubeObject pod, GetAgentPod(client, selection.pod_namespace, name));
    pods.push_back(std::move(pod));
  }
  return pods;
}

absl::Status WatchAgentPods(const agent::AgentClient& client, const ObjectSelection& selection,
                            const CommandContext& context) {
  return PodWatch(context, selection).Run(client);
}

absl::Status WatchAgentEvents(const agent::AgentClient& client, const ObjectSelection& selection,
                              const CommandContext& context) {
  const TableShape shape = {.namespaces = selection.pod_namespace.empty()};
  std::set<KubeObject> seen;
  for (bool first = true;; first = false) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<KubeObject> events,
                              client.Events(selection.pod_namespace, ""));
    PLIMSOLL_RETURN_IF_ERROR(PrintNewEvents(events, shape, context, &seen, first));
    PLIMSOLL_RETURN_IF_ERROR(client.Rest(kAskInterval));
  }
}

absl::Status WatchAgentNode(const agent::AgentClient& client, const CommandContext& context) {
  KubeObject before;
  std::string shown;
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject node, client.Node());
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<KubeObject> pods, client.List(""));
    if (context.for_programs()) {
      if (node != before) {
        PLIMSOLL_RETURN_IF_ERROR(
            PrintChange(before.is_null() ? "ADDED" : "MODIFIED", node, context));
      }
    } else {
      // The age is no change.
      const bool wide = context.format() == OutputFormat::kWide;
      const std::string table = AgentNodeTable(node, pods, wide, absl::InfinitePast());
      if (table != shown) {
        const std::string text = AgentNodeTable(node, pods, wide, absl::Now());
        Print(shown.empty() ? text : text.substr(text.find('\n') + 1));
      }
      shown = table;
    }
    before = node;
    PLIMSOLL_RETURN_IF_ERROR(client.Rest(kAskInterval));
  }
}

}  // namespace plimsoll::cli
