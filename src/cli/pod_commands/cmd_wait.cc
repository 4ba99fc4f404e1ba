// plimsoll wait
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/command/seconds.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/terminal/message_json.h"
#include "pod_runner/lifecycle.h"
#include "pod_runner/runtime_client/event_watch.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

struct WaitArguments {
  std::vector<std::string> names;
  int64_t timeout_s = 0;
};

struct Awaited {
  cri::Container container;
  std::string name;  // "pod/container"
};

// Each container once, in the order of the names; those of a pod in the order of their creation.
absl::StatusOr<std::vector<Awaited>> FindAwaited(const pod::Inventory& inventory,
                                                 const std::vector<std::string>& names) {
  std::vector<Awaited> awaited;
  const auto add = [&](const cri::Container& container) {
    const bool known = std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& one) {
      return one.container.id() == container.id();
    });
    if (known) return;
    awaited.push_back({container, absl::StrCat(PodNameOf(container, inventory.pods), "/",
                                               container.metadata().name())});
  };
  for (const std::string& name : names) {
    PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found,
                              FindPodOrContainer(inventory.pods, inventory.containers, name));
    if (const auto* container = std::get_if<cri::Container>(&found)) {
      add(*container);
      continue;
    }
    auto containers = pod::ContainersOf(inventory, std::get<cri::PodSandbox>(found));
    std::sort(containers.begin(), containers.end(),
              [](const auto* a, const auto* b) { return a->created_at() < b->created_at(); });
    for (const cri::Container* container : containers) add(*container);
  }
  return awaited;
}

absl::StatusOr<cri::ContainerStatus> AwaitEnd(pod::Client& client, const pod::EventWatch& events,
                                              const Awaited& awaited, absl::Time deadline) {
  for (;;) {
    const uint64_t seen = events.news();
    const auto response = client.ContainerStatus(awaited.container.id());
    if (absl::IsNotFound(response.status())) {
      return absl::NotFoundError(
          absl::StrCat("container ", awaited.name, " was removed before its end was seen"));
    }
    PLIMSOLL_RETURN_IF_ERROR(response.status());
    if (response->status().state() == cri::CONTAINER_EXITED) return response->status();
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return WithHint(absl::DeadlineExceededError(
                          absl::StrCat("container ", awaited.name, " has not ended in time")),
                      "It goes on. A longer --timeout, or none, waits for it.");
    }
    events.Await(seen, std::min(left, pod::kLookAnyway));
  }
}

absl::StatusOr<int> Wait(const CommandContext& context, const WaitArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  client->SetPatience(
      {.wait = absl::Minutes(1),
       .lost = [] { PrintNote("plimsoll: the daemon has ended; waiting for the next...\n"); },
       .back = nullptr});
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::Inventory inventory, pod::TakeInventory(*client));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Awaited> awaited,
                            FindAwaited(inventory, arguments.names));
  const absl::Time deadline = arguments.timeout_s > 0
                                  ? MonotonicNow() + absl::Seconds(arguments.timeout_s)
                                  : absl::InfiniteFuture();
  PLIMSOLL_ASSIGN_OR_RETURN(auto own_client, context.Connect());
  const pod::EventWatch events(std::move(own_client), [&awaited](const node::Event& event) {
    return std::any_of(awaited.begin(), awaited.end(), [&event](const Awaited& one) {
      return one.container.id() == event.container_id();
    });
  });
  Json document = {{"containers", Json::array()}};
  for (const Awaited& one : awaited) {
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::ContainerStatus status,
                              AwaitEnd(*client, events, one, deadline));
    if (!context.for_programs()) {
      Print(awaited.size() == 1 ? absl::StrCat(status.exit_code(), "\n")
                                : absl::StrCat(status.exit_code(), "  ", one.name, "\n"));
    }
    document["containers"].push_back({{"name", one.name},
                                      {"id", status.id()},
                                      {"exitCode", status.exit_code()},
                                      {"reason", status.reason()},
                                      {"finishedAt", TimeJson(status.finished_at())}});
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(
        PrintJson(document.dump(1, ' ', false, Json::error_handler_t::replace), context.format()));
  }
  return kExitOk;
}

}  // namespace

void AddWaitCommand(CLI::App& app, CommandContext& context) {
  CLI::App* wait = app.add_subcommand(
      "wait",
      "Wait until containers have ended, and print their exit codes.\n\n"
      "A pod stands for all its containers. For one container only its exit code is printed, for "
      "several each exit code with the container's name after it. The exit code of `plimsoll "
      "wait` does not depend on theirs: it is 0, or 1 if waiting for one failed.");
  auto arguments = std::make_shared<WaitArguments>();
  wait->add_option("name", arguments->names, "Names or ids of pods or containers")
      ->type_name("POD|CONTAINER")
      ->required();
  wait->add_option("--timeout", arguments->timeout_s,
                   "Give up after this time, as in 5 (seconds) or 1m30s; 0: never")
      ->type_name("TIME")
      ->transform(Seconds());
  context.Act(wait, [&context, arguments] { return Wait(context, *arguments); });
}

}  // namespace plimsoll::cli
