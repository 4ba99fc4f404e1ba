#include "kube/flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::kube {
namespace {

void AddConfigFlags(CLI::App& app, KubeFlags& flags) {
  app.add_option(
      "--config", flags.config.config,
      std::string("Configuration file (default ") + kDefaultConfigPath + ", if it exists)");
  app.add_flag("--check-config", flags.check_config, "Check the configuration and exit");
  app.add_option("--node-name", flags.config.node_name, "Name of the Node");
  app.add_option("--kubeconfig", flags.config.kubeconfig,
                 "Access to the API server; without it a pod's service account");
  app.add_option("--socket", flags.config.runtime_socket, "plimsolld's cluster socket");
  app.add_option("--kubelet-root", flags.config.kubelet_root, "kubelet's directory");
  app.add_option("--state-directory", flags.config.state_directory,
                 "Directory of the prepared claims");
  app.add_option("--metrics-address", flags.config.metrics_address,
                 "HOST:PORT of the metrics; none by default");
  app.add_option("--log-level", flags.config.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_option("--ready-fd", flags.ready_fd,
                 "Descriptor to write a byte to once kubelet can call")
      ->group("");
}

void AddCommands(CLI::App& app, KubeFlags& flags) {
  // Flags of the configuration may stand behind a command, too.
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.add_subcommand("run", "Serve kubelet and publish the node (the default)");
  CLI::App* const remove = app.add_subcommand(
      "remove", "Take back what this node has published, before plimsoll-kube goes for good");
  remove->add_flag("--force", flags.force, "Also while pods use prepared claims");
  CLI::App* const manifests = app.add_subcommand(
      "manifests", "Print a cluster's DeviceClasses, policies, roles and DaemonSet");
  ManifestFlags& of = flags.manifests;
  manifests->add_option("--class", of.classes,
                        "TYPE=CLASS of a container, for each; without any, those of this node");
  manifests->add_option("--pod-class", of.pod_classes, "TYPE=CLASS of a pod, for each");
  manifests->add_option("--part", of.parts,
                        "classes, policies, rbac, daemonset, quota; all but quota by default");
  manifests->add_option("--namespace", of.name_space, "Namespace of plimsoll-kube");
  manifests->add_option("--image", of.image, "Image of the DaemonSet");
  manifests->add_option("--socket-directory", of.socket_directory,
                        "Directory of plimsolld's cluster socket on the nodes");
  manifests->add_option("--node-label", of.node_label, "KEY=VALUE of the nodes with plimsolld");
  manifests->add_flag("--closed", of.closed, "Namespaces without a list of classes may use none");
}

absl::Status ReadClasses(qos::Level level, const std::vector<std::string>& texts,
                         ManifestOptions& options) {
  for (const std::string& each : texts) {
    PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassId id, ParseClass(level, each));
    options.classes.push_back(std::move(id));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    KubeFlags& flags) {
  CLI::App app(
      "Beside a stock kubelet: gives out QoS classes by the cluster's scheduler (a DRA driver), "
      "and "
      "publishes the node's classes and topology.",
      "plimsoll-kube");
  app.set_version_flag("--version", "plimsoll-kube " + version, "Print the version");
  AddConfigFlags(app, flags);
  AddCommands(app, flags);
  if (auto exit = ParseCommandLine(app, argc, argv); exit.has_value()) return exit;
  if (app.got_subcommand("manifests")) flags.command = KubeFlags::Command::kManifests;
  if (app.got_subcommand("remove")) flags.command = KubeFlags::Command::kRemove;
  return std::nullopt;
}

absl::StatusOr<ManifestOptions> ManifestOptionsOf(const KubeFlags& flags) {
  const ManifestFlags& of = flags.manifests;
  ManifestOptions options;
  options.name_space = of.name_space.value_or(options.name_space);
  options.image = of.image.value_or(options.image);
  options.socket_dir = of.socket_directory.value_or(options.socket_dir);
  options.node_label = of.node_label.value_or(options.node_label);
  options.kubelet_root = flags.config.kubelet_root.value_or(options.kubelet_root);
  options.closed = of.closed;
  for (const std::string& each : of.parts) {
    PLIMSOLL_ASSIGN_OR_RETURN(const ManifestPart part, ParseManifestPart(each));
    options.parts.insert(part);
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadClasses(qos::Level::kContainer, of.classes, options));
  PLIMSOLL_RETURN_IF_ERROR(ReadClasses(qos::Level::kPod, of.pod_classes, options));
  return options;
}

}  // namespace plimsoll::kube
