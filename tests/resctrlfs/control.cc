#include "resctrlfs/control.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resctrlfs/groups.h"

namespace plimsoll::resctrlfs {
namespace {

using Json = nlohmann::json;

absl::StatusOr<const Group*> FindGroup(const Tree& tree, const Json& command) {
  const std::string path = command.at("group").get<std::string>();
  const std::shared_ptr<Node> node = tree.Find(path);
  if (node == nullptr || node->place != Place::kGroup) {
    return absl::NotFoundError(absl::StrCat("there is no group \"", path, "\""));
  }
  return node->group;
}

absl::Status SetCounter(const Json& command, const Group& group, State* state) {
  const int cache = command.at("cache").get<int>();
  const std::string event = command.at("event").get<std::string>();
  const auto& monitoring = state->layout.monitoring;
  if (!monitoring || !absl::c_linear_search(monitoring->ids, cache) ||
      !absl::c_linear_search(monitoring->events, event)) {
    return absl::NotFoundError(absl::StrCat("there is no counter ", event, " of cache ", cache));
  }
  const Json& value = command.at("value");
  Reading reading;
  if (value == "Unavailable") {
    reading.kind = Reading::Kind::kUnavailable;
  } else if (value == "Error") {
    reading.kind = Reading::Kind::kError;
  } else {
    reading.value = value.get<uint64_t>();
  }
  state->counters.Set(group.id, cache, event, reading);
  return absl::OkStatus();
}

std::vector<pid_t> TrueMembers(const Group& group, HidingMembership* hiding) {
  std::vector<pid_t> threads;
  for (GroupId id : WithMonitors(group)) {
    const std::vector<pid_t> members = hiding->TrueMembers(id);
    threads.insert(threads.end(), members.begin(), members.end());
  }
  absl::c_sort(threads);
  return threads;
}

}  // namespace

std::string Control::Receive(absl::string_view bytes) {
  pending_.append(bytes.data(), bytes.size());
  std::string answers;
  for (size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
    answers += Answer(absl::string_view(pending_).substr(0, end)) + "\n";
    pending_.erase(0, end + 1);
  }
  return answers;
}

std::string Control::Answer(absl::string_view line) {
  Json answer = {{"ok", true}};
  const auto run = [&]() -> absl::Status {
    const Json command = Json::parse(line.begin(), line.end());
    const std::string what = command.at("do").get<std::string>();
    if (what == "set_counter") {
      PLIMSOLL_ASSIGN_OR_RETURN(const Group* group, FindGroup(tree_, command));
      return SetCounter(command, *group, &state_);
    }
    if (what == "members") {
      PLIMSOLL_ASSIGN_OR_RETURN(const Group* group, FindGroup(tree_, command));
      answer["threads"] = TrueMembers(*group, &hiding_);
    } else if (what == "hide_new") {
      hiding_.HideNew();
    } else if (what == "hide_for") {
      hiding_.HideFor(absl::Milliseconds(command.at("ms").get<int64_t>()));
    } else if (what == "show_all") {
      hiding_.ShowAll();
    } else if (what == "linger") {
      state_.rmids.Linger(command.at("on").get<bool>());
    } else if (what == "refuse_next") {
      script_.RefuseNext(command.at("verb").get<std::string>(),
                         command.at("path").get<std::string>(), command.at("errno").get<int>(),
                         command.value("skip", 0));
    } else if (what == "journal") {
      answer["lines"] = script_.TakeJournal();
    } else if (what == "stop") {
      is_stopped_ = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("there is no command \"", what, "\""));
    }
    return absl::OkStatus();
  };
  absl::Status status;
  try {
    status = run();
  } catch (const Json::exception& error) {
    status = absl::InvalidArgumentError(error.what());
  }
  if (!status.ok()) answer = {{"error", std::string(status.message())}};
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::resctrlfs
