#include "agent/node/node_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "agent/node/capacity.h"
#include "agent/node/read_topology.h"
#include "agent/node/zone_labels.h"
#include "base/status.h"
#include "base/text/label_text.h"

namespace plimsoll::agent {
namespace {

constexpr absl::Duration kStopInterval = absl::Milliseconds(50);

const char* Whose(TopologySource source) {
  return source == TopologySource::kLocal ? "the machine's own topology" : "the runtime's topology";
}

std::string AmountsText(const ResourceList& list) {
  std::vector<std::string> amounts;
  for (const auto& [resource, amount] : list) {
    amounts.push_back(absl::StrCat(resource, " ", amount.Canonical()));
  }
  return absl::StrJoin(amounts, ", ");
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeView>> NodeView::Start(NodeOptions options, Parts parts) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNodeOptions(options));
  PLIMSOLL_ASSIGN_OR_RETURN(MachineFacts facts, ReadMachineFacts(parts.host));
  if (const std::string name = NodeName(options, facts); !IsDnsName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the machine's host name \"", name, "\" can't be a node's name; configure nodeName"));
  }
  std::unique_ptr<NodeView> view(
      new NodeView(std::move(options), std::move(facts), std::move(parts.hooks), parts.clock));
  if (!parts.local.read) {
    parts.local.read = [host = parts.host] { return ReadLocalTopology(host); };
  }
  if (!parts.local.watch) {
    parts.local.watch = [host = parts.host](std::function<void()> changed) {
      return WatchLocalTopology(host, std::move(changed));
    };
  }
  DiscoveryResults* const results = view.get();  // make_unique sees no private base
  view->discovery_ =
      std::make_unique<Discovery>(view->options_, std::move(parts.back_off),
                                  std::move(parts.runtime), std::move(parts.local), results);
  return view;
}

NodeView::NodeView(NodeOptions options, MachineFacts facts, NodeHooks hooks, Clock* clock)
    : options_(std::move(options)),
      facts_(std::move(facts)),
      name_(NodeName(options_, facts_)),
      hooks_(std::move(hooks)),
      clock_(clock),
      created_(clock->Now()) {
  absl::MutexLock lock(&mutex_);
  shown_.of_topology = {.reason = kTopologyPending, .message = "waiting for the first topology"};
  shown_.conditions.Set(kReady, false, kTopologyPending, shown_.of_topology.message, created_);
}

NodeView::~NodeView() = default;

bool NodeView::AwaitFirst(const std::function<bool()>& is_to_stop) {
  const absl::Time end = absl::Now() + options_.first_topology_limit;
  bool has_logged = false;
  while (!IsDecidedBy(std::min(end, absl::Now() + kStopInterval)) && absl::Now() < end) {
    if (is_to_stop()) return false;
    if (std::exchange(has_logged, true)) continue;
    Log(absl::StrCat("waiting up to ", absl::FormatDuration(options_.first_topology_limit),
                     " for the first topology"));
  }
  std::string why;
  {
    absl::MutexLock lock(&mutex_);
    if (shown_.is_decided) return shown_.conditions.Find(kReady)->is_true;
    shown_.is_limit_over = true;
    why = shown_.stream_error;
  }
  SetPending(why);
  return State().ready;  // it may have come just now
}

bool NodeView::IsDecidedBy(absl::Time end) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(absl::Condition(this, &NodeView::IsDecided), end);
}

NodeState NodeView::State() const {
  absl::MutexLock lock(&mutex_);
  const Condition* ready = shown_.conditions.Find(kReady);
  NodePicture picture = Picture();
  return {.ready = ready->is_true,
          .reason = ready->reason,
          .message = ready->message,
          .capacity = std::move(picture.capacity),
          .allocatable = std::move(picture.allocatable),
          .maps = shown_.maps,
          .source = shown_.source,
          .stream_error = shown_.stream_error};
}

nlohmann::json NodeView::Object() const {
  absl::MutexLock lock(&mutex_);
  return NodeObject(options_, facts_, Picture(), shown_.conditions, created_, clock_->Now());
}

// Without a topology the node has nothing, not even devices.
NodePicture NodeView::Picture() const {
  NodePicture picture = shown_.picture;
  if (picture.capacity.empty()) return picture;
  for (const auto& [resource, amount] : shown_.extended_capacity) {
    picture.capacity.emplace(resource, amount);
  }
  for (const auto& [resource, amount] : shown_.extended_allocatable) {
    picture.allocatable.emplace(resource, amount);
  }
  return picture;
}

void NodeView::SetExtended(const ResourceList& capacity, const ResourceList& allocatable) {
  {
    absl::MutexLock lock(&mutex_);
    ResourceList all = capacity;
    for (const auto& [resource, before] : shown_.extended_capacity) {
      all.emplace(resource, resources::Quantity::FromInt(0));
    }
    ResourceList usable = allocatable;
    for (const auto& [resource, amount] : all) {
      usable.emplace(resource, resources::Quantity::FromInt(0));
    }
    if (all == shown_.extended_capacity && usable == shown_.extended_allocatable) return;
    shown_.extended_capacity = std::move(all);
    shown_.extended_allocatable = std::move(usable);
  }
  if (hooks_.on_change) hooks_.on_change();
}

void NodeView::OnRuntime(const std::string& version) {
  {
    absl::MutexLock lock(&mutex_);
    if (shown_.picture.runtime_version == version) return;
    shown_.picture.runtime_version = version;
  }
  if (hooks_.on_change) hooks_.on_change();
}

TopologyUse NodeView::OnTopology(TopologySource source,
                                 absl::StatusOr<topology::Topology> topology) {
  if (source == TopologySource::kRuntime) {
    ++responses_;
    OnStreamBack();
  }
  const absl::Status used = Use(source, std::move(topology));
  if (used.ok()) {
    Judge({.ready = true, .reason = kNodeReadyReason, .message = "the node's resources are known"});
  } else {
    Judge({.reason = kTopologyUnusable,
           .message = absl::StrCat(Whose(source), " can't be used: ", used.message())});
  }
  if (used.ok()) return TopologyUse::kUsed;
  const bool is_its_fault = absl::IsFailedPrecondition(used) || absl::IsInvalidArgument(used);
  return is_its_fault ? TopologyUse::kUnusable : TopologyUse::kFailed;
}

absl::Status NodeView::Use(TopologySource source, absl::StatusOr<topology::Topology> topology) {
  PLIMSOLL_RETURN_IF_ERROR(topology.status());
  PLIMSOLL_ASSIGN_OR_RETURN(topology::MachineMaps maps,
                            ReadTopology(*topology, options_.cpu_ids_required));
  Seen now = {.topology = *std::move(topology), .maps = std::move(maps)};
  if (!seen_ || (options_.hot_plug && seen_->topology != now.topology)) {
    PLIMSOLL_RETURN_IF_ERROR(Adopt(source, now));
  } else if (seen_->topology != now.topology) {
    Log(absl::StrCat(Whose(source), " has changed: ", DifferenceOf(seen_->maps, now.maps),
                     "; the node keeps the numbers that it began with"));
  }
  seen_ = std::move(now);
  return absl::OkStatus();
}

absl::Status NodeView::Adopt(TopologySource source, const Seen& seen) {
  PLIMSOLL_ASSIGN_OR_RETURN(const NodeNumbers numbers, NumbersOf(seen.maps));
  if (hooks_.adopt) PLIMSOLL_RETURN_IF_ERROR(hooks_.adopt(numbers, /*is_first=*/!seen_));
  const std::string amounts = absl::StrCat(AmountsText(numbers.capacity), "; allocatable are ",
                                           AmountsText(numbers.allocatable));
  Show(source, seen, numbers);
  if (!seen_) {
    Log(absl::StrCat(Whose(source), " makes the node: ", amounts));
    return absl::OkStatus();
  }
  const std::string change =
      absl::StrCat(Whose(source), " has changed: ", DifferenceOf(seen_->maps, seen.maps));
  Log(absl::StrCat(change, "; the node has ", amounts));
  if (hooks_.on_event) hooks_.on_event({.reason = kCapacityChanged, .message = change});
  if (hooks_.on_change) hooks_.on_change();
  return absl::OkStatus();
}

absl::StatusOr<NodeNumbers> NodeView::NumbersOf(const topology::MachineMaps& maps) const {
  NodeNumbers numbers;
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t storage, FilesystemBytes(options_.state_directory));
  numbers.capacity = CapacityOf(maps, storage, options_.max_pods);
  NodeOptions options = options_;
  // The other reserved CPUs are in no capacity. Without numbers nothing says which they are.
  if (options.reserved_cpus && !maps.zone_without_cpu_ids) {
    int64_t count = 0;
    for (const auto& [cpu, place] : maps.cpus)
      count += options.reserved_cpus->Contains(cpu) ? 1 : 0;
    options.system_reserved[topology::kCpu] = resources::Quantity::FromInt(count);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(numbers.allocatable, AllocatableOf(numbers.capacity, options));
  numbers.maps = std::make_shared<const topology::MachineMaps>(maps);
  return numbers;
}

void NodeView::Show(TopologySource source, const Seen& seen, const NodeNumbers& numbers) {
  absl::MutexLock lock(&mutex_);
  shown_.picture.capacity = numbers.capacity;
  shown_.picture.allocatable = numbers.allocatable;
  shown_.picture.zone_labels = LabelsOf(seen.topology);
  shown_.picture.machine_id = seen.maps.machine_id;
  shown_.picture.boot_id = seen.maps.boot_id;
  shown_.picture.system_uuid = seen.maps.system_uuid;
  shown_.picture.swap_bytes = seen.maps.swap_bytes;
  shown_.maps = numbers.maps;
  shown_.source = source;
}

void NodeView::OnLost(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (shown_.stream_error == why.message()) return;
    shown_.stream_error = std::string(why.message());
  }
  SetPending(why.message());
  Log(absl::StrCat("no topology from the runtime: ", why.message(),
                   seen_ ? "; the node keeps its numbers" : "", "; it is asked again"));
}

void NodeView::SetPending(absl::string_view why) {
  const std::string reason = why.empty() ? "" : absl::StrCat(": ", why);
  {
    absl::MutexLock lock(&mutex_);
    if (shown_.is_decided) return;
    if (!shown_.is_limit_over) {  // nobody need be told yet
      shown_.of_topology.message = absl::StrCat("waiting for the runtime's first topology", reason);
      shown_.conditions.Set(kReady, false, kTopologyPending, shown_.of_topology.message,
                            clock_->Now());
      return;
    }
  }
  Judge({.reason = kTopologyPending,
         .message = absl::StrCat("no topology from the runtime within ",
                                 absl::FormatDuration(options_.first_topology_limit), reason)});
}

void NodeView::OnStreamBack() {
  {
    absl::MutexLock lock(&mutex_);
    if (shown_.stream_error.empty()) return;
    shown_.stream_error.clear();
  }
  Log("the runtime reports its topology again");
}

void NodeView::OnUnsupported(const absl::Status& why) {
  Judge({.reason = kTopologyUnsupported,
         .message = absl::StrCat("the runtime has no GetDynamicRuntimeConfig, which "
                                 "resourceDiscovery: cri needs: ",
                                 why.message())});
}

void NodeView::OnFallBack(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    shown_.stream_error.clear();
  }
  Log(absl::StrCat("the runtime has no GetDynamicRuntimeConfig (", why.message(),
                   "): the machine's own topology is used"));
}

void NodeView::SetRuntimeTrouble(const std::string& why) {
  Change change;
  {
    absl::MutexLock lock(&mutex_);
    shown_.runtime_trouble = why;
    change = Combine();
  }
  Tell(change);
}

void NodeView::Judge(Verdict of_topology) {
  Change change;
  {
    absl::MutexLock lock(&mutex_);
    if (of_topology.reason != kTopologyPending) {
      shown_.is_decided = true;
    } else if (shown_.is_decided) {
      return;  // it came at the last moment
    }
    shown_.of_topology = std::move(of_topology);
    change = Combine();
  }
  Tell(change);
}

NodeView::Change NodeView::Combine() {
  Verdict now = shown_.of_topology;
  if (now.ready && !shown_.runtime_trouble.empty()) {
    now = {.reason = kNodeNotReadyReason, .message = shown_.runtime_trouble};
  }
  const bool turned = shown_.conditions.Find(kReady)->is_true != now.ready;
  const bool is_new =
      shown_.conditions.Set(kReady, now.ready, now.reason, now.message, clock_->Now());
  return {.now = std::move(now), .is_new = is_new, .turned = turned};
}

void NodeView::Tell(const Change& change) const {
  if (!change.is_new) return;
  const auto& [ready, reason, message] = change.now;
  Log(absl::StrCat("node ", name_, ready ? " is ready: " : " is not ready: ", message));
  if (hooks_.on_event && !ready) {
    hooks_.on_event({.is_warning = true, .reason = reason, .message = message});
  }
  if (hooks_.on_event && change.turned) {
    const char* state = ready ? "NodeReady" : "NodeNotReady";
    hooks_.on_event(
        {.reason = state, .message = absl::StrCat("Node ", name_, " status is now: ", state)});
  }
  if (hooks_.on_change) hooks_.on_change();
}

void NodeView::Log(const std::string& line) const {
  if (hooks_.on_log) hooks_.on_log(line);
}

}  // namespace plimsoll::agent
