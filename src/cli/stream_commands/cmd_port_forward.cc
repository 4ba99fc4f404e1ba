// plimsoll port-forward
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/stream_commands/port_forwarder.h"
#include "cli/stream_commands/stream_commands.h"
#include "cli/terminal/interrupts.h"

namespace plimsoll::cli {
namespace {

struct PortForwardArguments {
  std::string pod;
  std::vector<std::string> ports;
};

absl::StatusOr<int> PortForward(const CommandContext& context,
                                const PortForwardArguments& arguments) {
  std::vector<PortPair> ports;
  for (const std::string& text : arguments.ports) {
    const absl::StatusOr<PortPair> pair = ParsePortPair(text);
    if (!pair.ok()) return UsageError(pair.status());
    ports.push_back(*pair);
  }
  const UniqueFd ended(eventfd(0, EFD_CLOEXEC));
  if (!ended.valid()) return ErrnoStatus(errno, "eventfd");
  Interrupts interrupts;
  interrupts.OnInterrupt([&ended](int) { eventfd_write(ended.get(), 1); });
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const cri::PodSandbox pod, FindPod(pods, arguments.pod));
  if (pod.state() != cri::SANDBOX_READY) {
    return WithHint(absl::FailedPreconditionError(absl::StrCat("pod ", pod.metadata().name(),
                                                               " is stopped: no ports of it "
                                                               "can be forwarded")),
                    "`plimsoll pods` lists the pods that are ready.");
  }
  // Fails now where the daemon has no streams, and not at the first connection.
  PLIMSOLL_RETURN_IF_ERROR(client->PortForwardUrl(pod.id(), ports.front().pod).status());
  PLIMSOLL_RETURN_IF_ERROR(ForwardPorts(
      ports, [&client, &pod](uint16_t port) { return client->PortForwardUrl(pod.id(), port); },
      ended.get()));
  return 0;
}

}  // namespace

void AddPortForwardCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<PortForwardArguments>();
  CLI::App* forward = app.add_subcommand(
      "port-forward",
      "Forward ports of this machine to ports of a pod.\n\n"
      "Listens on 127.0.0.1 until Ctrl-C. A pair is LOCAL:POD, one number for both, or :POD for "
      "a free local port; its number is printed. If a client closes its half of a connection, "
      "the connection ends once the pod has been silent for ten seconds.");
  forward->add_option("pod", arguments->pod, "Name or id of a pod")->type_name("POD")->required();
  forward->add_option("ports", arguments->ports, "Pairs of ports, as in 8080:80")
      ->type_name("PORTS")
      ->required();
  context.Act(forward, [&context, arguments] { return PortForward(context, *arguments); });
}

}  // namespace plimsoll::cli
