#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/runtime_client/labels.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "pod_runner/cri_requests/to_cri_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(PodToCri, APodWeighsAsItsContainersTogether) {
  const auto shares = [](const std::string& containers) {
    const auto pods = ParseManifests(
        absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n", containers), "f");
    EXPECT_TRUE(pods.ok()) << pods.status();
    const auto configs = ToCri(pods->front(), {});
    EXPECT_TRUE(configs.ok()) << configs.status();
    return configs->sandbox.linux().resources().cpu_shares();
  };
  EXPECT_EQ(shares("  initContainers: [{name: i, image: x, resources: {requests: {cpu: 500m}}}]\n"
                   "  containers: [{name: a, image: x, resources: {requests: {cpu: 250m}}}, "
                   "{name: b, image: x, resources: {limits: {cpu: 750m}}}]\n"),
            1024);
  EXPECT_EQ(shares("  containers: [{name: a, image: x}]\n"), 2) << "as kubelet's BestEffort";
}

TEST(PodToCri, PortsOfTheHostAreThePods) {
  const Manifest pod = ParsePod(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: a, image: i, ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81}]}
    - name: b
      image: i
      ports: [{name: dns, protocol: UDP, containerPort: 53, hostPort: 5353, hostIP: 127.0.0.1}]
)yaml");
  const auto configs = ToCri(pod, UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  const auto& ports = configs->sandbox.port_mappings();
  ASSERT_EQ(ports.size(), 2);
  EXPECT_EQ(ports[0].protocol(), cri::TCP);
  EXPECT_EQ(ports[0].container_port(), 80);
  EXPECT_EQ(ports[0].host_port(), 8080);
  EXPECT_EQ(ports[1].protocol(), cri::UDP);
  EXPECT_EQ(ports[1].host_ip(), "127.0.0.1");
}

TEST(PodToCri, ThePodsQosClassIsSaidWhereTheDaemonHasTheType) {
  PodContext context = UsualContext();
  EXPECT_FALSE(ToCri(ParsePod(kUsualPod), context)->sandbox.has_class_resources());
  context.pod_class_types = {"blockio", "pod-qos"};
  const auto configs = ToCri(ParsePod(kUsualPod), context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_THAT(configs->sandbox.class_resources().class_(),
              ElementsAre(Pair("pod-qos", "Burstable")));
  EXPECT_FALSE(configs->containers[0].has_class_resources()) << "annotations are theirs";
  // With the message no annotation is read, so it carries their classes.
  Manifest annotated = ParsePod(kUsualPod);
  annotated.annotations["blockio.class.plimsoll.dev/sandbox"] = "slow";
  EXPECT_THAT(ToCri(annotated, context)->sandbox.class_resources().class_(),
              UnorderedElementsAre(Pair("pod-qos", "Burstable"), Pair("blockio", "slow")));
}

TEST(PodToCri, CdiDevicesAreThoseOfTheAnnotation) {
  Manifest pod = ParsePod(kUsualPod);
  EXPECT_EQ(ToCri(pod, UsualContext())->containers[1].cdi_devices_size(), 0);
  pod.annotations["plimsoll.dev/cdi"] = "vendor.com/gpu=0, vendor.com/gpu=1";
  pod.annotations["plimsoll.dev/cdi.app"] = "vendor.com/net=a";
  const auto configs = ToCri(pod, UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  ASSERT_EQ(configs->containers[0].cdi_devices_size(), 2);
  EXPECT_EQ(configs->containers[0].cdi_devices(0).name(), "vendor.com/gpu=0");
  EXPECT_EQ(configs->containers[0].cdi_devices(1).name(), "vendor.com/gpu=1");
  ASSERT_EQ(configs->containers[1].cdi_devices_size(), 1);
  EXPECT_EQ(configs->containers[1].cdi_devices(0).name(), "vendor.com/net=a");
  // pod_resources names the CDI devices too.
  EXPECT_EQ(configs->sandbox.pod_resources().containers(0).cdi_devices_size(), 2);
}

TEST(PodToCri, GivenDevicesAreAnnouncedAndMade) {
  Manifest pod = ParsePod(kUsualPod);
  pod.annotations["plimsoll.dev/cdi"] = "vendor.com/net=a";
  PodContext context = UsualContext();
  context.devices["app"] = {.cdi_names = {"vendor.com/gpu=0"},
                            .nodes = {{"/dev/ttyS0", "/dev/serial", "rw"}}};
  const auto configs = ToCri(pod, context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  const auto& made = configs->containers[1];
  const auto& announced = configs->sandbox.pod_resources().containers(1);
  for (const auto& devices : {made.devices(), announced.devices()}) {
    ASSERT_EQ(devices.size(), 1);
    EXPECT_EQ(devices[0].host_path(), "/dev/ttyS0");
    EXPECT_EQ(devices[0].container_path(), "/dev/serial");
    EXPECT_EQ(devices[0].permissions(), "rw");
  }
  for (const auto& names : {made.cdi_devices(), announced.cdi_devices()}) {
    ASSERT_EQ(names.size(), 2);
    EXPECT_EQ(names[0].name(), "vendor.com/gpu=0");
    EXPECT_EQ(names[1].name(), "vendor.com/net=a");
  }
  EXPECT_EQ(configs->containers[0].devices_size(), 0);
}

TEST(PodToCri, WhatBelongsToDevicesComesWithThem) {
  const Manifest pod = ParsePod(R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: v, hostPath: {path: /data}}]
  containers:
  - name: app
    image: i
    command: [run, $(GPU), $(MINE)]
    env: [{name: MINE, value: manifest}, {name: SEES, value: $(GPU)}]
    volumeMounts: [{name: v, mountPath: /taken}]
)");
  PodContext context = UsualContext();
  context.volumes["v"] = "/data";
  context.devices["app"] = {
      .mounts = {{"/usr/lib/gpu", "/gpu", true}, {"/run/gpu", "/taken/", false}},
      .env = {{"GPU", "0"}, {"MINE", "plugin"}},
      .annotations = {{"vendor.com/gpu", "yes"}}};
  const auto configs = ToCri(pod, context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  const cri::ContainerConfig& made = configs->containers[0];
  std::vector<std::string> variables;
  for (const auto& each : made.envs()) variables.push_back(each.key() + "=" + each.value());
  EXPECT_THAT(variables, ::testing::ElementsAre("GPU=0", "MINE=manifest", "SEES=$(GPU)"));
  EXPECT_THAT(made.command(), ::testing::ElementsAre("run", "0", "manifest"));
  EXPECT_EQ(made.annotations().at("vendor.com/gpu"), "yes");
  const cri::ContainerResourceConfig& announced = configs->sandbox.pod_resources().containers(0);
  for (const auto& mounts : {made.mounts(), announced.mounts()}) {
    ASSERT_EQ(mounts.size(), 2);
    EXPECT_EQ(mounts[0].host_path(), "/data") << "the manifest's, before the device's at its path";
    EXPECT_EQ(mounts[1].host_path(), "/usr/lib/gpu");
    EXPECT_EQ(mounts[1].container_path(), "/gpu");
    EXPECT_TRUE(mounts[1].readonly());
    EXPECT_FALSE(mounts[1].selinux_relabel()) << "the host's";
  }
  EXPECT_EQ(configs->sub_paths[0].size(), 1u) << "those of volumes alone";
}

TEST(PodToCri, TranslatesAsKubeletDoes) {
  const auto configs = ToCri(ParsePod(kUsualPod), UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->sandbox.metadata().name(), "web");
  EXPECT_EQ(configs->sandbox.hostname(), "web");
  EXPECT_EQ(configs->sandbox.linux().security_context().namespace_options().network(), cri::POD);
  EXPECT_FALSE(configs->sandbox.has_dns_config() &&
               configs->sandbox.dns_config().servers_size() > 0);
  EXPECT_EQ(configs->sandbox.annotations().at(kGraceAnnotation), "30");
  EXPECT_EQ(configs->sandbox.annotations().at(kQosAnnotation), "Burstable");
  ASSERT_EQ(configs->containers.size(), 2);

  const cri::ContainerConfig& app = configs->containers[1];
  EXPECT_THAT(app.command(), ElementsAre("sh", "-c", "echo me"));
  EXPECT_EQ(app.log_path(), "app.0.log");
  EXPECT_EQ(app.mounts(0).host_path(), "/host/data/x");
  EXPECT_TRUE(app.mounts(0).readonly());
  const auto& resources = app.linux().resources();
  EXPECT_EQ(resources.cpu_shares(), 102);
  EXPECT_EQ(resources.cpu_quota(), 50000);
  EXPECT_EQ(resources.cpu_period(), 100000);
  EXPECT_EQ(resources.memory_limit_in_bytes(), int64_t{1536} << 20);
  EXPECT_EQ(resources.oom_score_adj(), 750);
  EXPECT_EQ(resources.cpuset_cpus(), "1");
  const auto& security = app.linux().security_context();
  EXPECT_EQ(security.run_as_user().value(), 0);
  EXPECT_EQ(security.run_as_group().value(), 5);
  EXPECT_TRUE(security.no_new_privs());
  EXPECT_THAT(security.readonly_paths(), ::testing::Contains("/proc/sys"));
  // Byte for byte as in the manifest.
  EXPECT_EQ(app.kubernetes_resources().limits().at("memory").string(), "1536Mi");

  const cri::ContainerConfig& init = configs->containers[0];
  EXPECT_EQ(init.linux().resources().cpuset_cpus(), "0-1");
  EXPECT_EQ(init.linux().resources().cpu_shares(), 2);
  EXPECT_EQ(init.linux().resources().oom_score_adj(), 999);
  EXPECT_EQ(init.linux().security_context().run_as_user().value(), 1000);
  EXPECT_EQ(configs->sandbox.pod_resources().containers(0).type(),
            cri::ContainerResourceConfig::INIT_CONTAINER);
}

TEST(PodToCri, WithoutTheHostsUsersAPodAndItsVolumesHaveARangeOfIds) {
  PodContext context = UsualContext();
  context.first_id = 700000;
  const auto configs =
      ToCri(ParsePod(Replaced(kUsualPod, "spec:\n", "spec:\n  hostUsers: false\n")), context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  cri::IDMapping expected;
  expected.set_host_id(700000);
  expected.set_length(65536);
  const auto is_range = [&](const auto& mappings) {
    return mappings.size() == 1 &&
           mappings.Get(0).SerializeAsString() == expected.SerializeAsString();
  };
  const cri::ContainerConfig& app = configs->containers[1];
  for (const auto* options : {&configs->sandbox.linux().security_context().namespace_options(),
                              &app.linux().security_context().namespace_options()}) {
    EXPECT_EQ(options->userns_options().mode(), cri::POD);
    EXPECT_TRUE(is_range(options->userns_options().uids()));
    EXPECT_TRUE(is_range(options->userns_options().gids()));
  }
  EXPECT_TRUE(is_range(app.mounts(0).uidmappings()));
  EXPECT_TRUE(is_range(app.mounts(0).gidmappings()));
  const auto without = ToCri(ParsePod(kUsualPod), context);
  EXPECT_FALSE(
      without->sandbox.linux().security_context().namespace_options().has_userns_options());
  EXPECT_EQ(without->containers[1].mounts(0).uidmappings_size(), 0);
}

TEST(PodToCri, OnePidNamespaceForAllOrOneForEach) {
  const auto pid = [](const std::string& text) {
    return ToCri(ParsePod(text), UsualContext())
        ->containers[1]
        .linux()
        .security_context()
        .namespace_options()
        .pid();
  };
  EXPECT_EQ(pid(kUsualPod), cri::CONTAINER);
  EXPECT_EQ(pid(Replaced(kUsualPod, "spec:\n", "spec:\n  shareProcessNamespace: true\n")),
            cri::POD);
}

TEST(PodToCri, DnsOnTopOfTheHosts) {
  const auto with = [](const std::string& dns) {
    return ToCri(ParsePod(Replaced(kUsualPod, "spec:\n", "spec:\n" + dns)), UsualContext())
        ->sandbox.dns_config();
  };
  const auto added = with("  dnsConfig: {nameservers: [1.1.1.1], searches: [local, x]}\n");
  EXPECT_THAT(added.servers(), ElementsAre("10.0.0.1", "1.1.1.1"));
  EXPECT_THAT(added.searches(), ElementsAre("local", "x"));
  const auto alone = with("  dnsPolicy: None\n  dnsConfig: {nameservers: [1.1.1.1]}\n");
  EXPECT_THAT(alone.servers(), ElementsAre("1.1.1.1"));
  EXPECT_THAT(alone.searches(), ElementsAre());
  PodContext context = UsualContext();
  context.host_dns.options = {"ndots:5", "edns0", "timeout:2"};
  const auto options =
      ToCri(ParsePod(Replaced(kUsualPod, "spec:\n",
                              "spec:\n  dnsConfig: {options: [{name: ndots, value: \"1\"}, {name: "
                              "edns0}, {name: rotate}]}\n")),
            context)
          ->sandbox.dns_config()
          .options();
  EXPECT_THAT(options, ElementsAre("timeout:2", "ndots:1", "edns0", "rotate"));
}

TEST(PodToCri, ContradictionsNameTheContainer) {
  const auto root =
      ToCri(ParsePod(Replaced(kUsualPod, "{runAsUser: 0,", "{runAsNonRoot: true, runAsUser: 0,")),
            UsualContext());
  EXPECT_THAT(std::string(root.status().message()),
              HasSubstr("container app: runAsNonRoot contradicts runAsUser: 0"));
}

TEST(PodToCri, LongNamesBecomeValidHostnames) {
  const std::string name(80, 'a');
  const auto configs =
      ToCri(ParsePod(Replaced(kUsualPod, "name: web", "name: " + name)), UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->sandbox.hostname().size(), 63);
}

TEST(PodToCri, VolumesOfImagesAndOfFilesAreReadOnly) {
  const Manifest pod = ParsePod(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  runtimeClassName: kata
  volumes:
    - {name: tools, image: {reference: "tools:1"}}
    - {name: conf, configMap: {name: settings, optional: true}}
    - {name: data, emptyDir: {}}
  containers:
    - name: a
      image: i
      env: [{name: PART, value: x/y}]
      lifecycle: {stopSignal: SIGUSR1}
      securityContext: {appArmorProfile: {type: Localhost, localhostProfile: mine}}
      volumeMounts:
        - {name: tools, mountPath: /tools, subPath: bin}
        - {name: conf, mountPath: /conf}
        - {name: data, mountPath: /data, subPathExpr: $(PART)/z}
)yaml");
  PodContext context = UsualContext();
  context.volumes = {{"conf", "/host/conf"}, {"data", "/host/data"}};
  context.image_ids = {{"tools:1", "sha256:7"}};
  context.hosts_file = "/host/hosts";
  context.termination_logs = {{"a", "/host/log"}};
  const auto configs = ToCri(pod, context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->runtime_handler, "kata");
  EXPECT_THAT(configs->sub_paths[0], ElementsAre("", "", "x/y/z"));
  const cri::ContainerConfig& config = configs->containers[0];
  EXPECT_EQ(config.stop_signal(), cri::SIGNAL_SIGUSR1);
  EXPECT_EQ(config.linux().security_context().apparmor().localhost_ref(), "mine");
  ASSERT_EQ(config.mounts().size(), 5);
  EXPECT_EQ(config.mounts(0).image().image(), "sha256:7");
  EXPECT_EQ(config.mounts(0).image().user_specified_image(), "tools:1");
  EXPECT_EQ(config.mounts(0).image_sub_path(), "bin");
  EXPECT_TRUE(config.mounts(0).readonly() && config.mounts(0).host_path().empty());
  EXPECT_TRUE(config.mounts(1).readonly());
  EXPECT_EQ(config.mounts(2).host_path(), "/host/data/x/y/z");
  EXPECT_EQ(config.mounts(3).container_path(), "/etc/hosts");
  EXPECT_EQ(config.mounts(4).container_path(), "/dev/termination-log");
}

TEST(PodToCri, AnImageTakesNoPlaceOfAFile) {
  const auto refused = [](const std::string& path) {
    const Manifest pod = ParsePod(absl::StrCat(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: tools, image: {reference: "tools:1"}}]
  containers:
    - {name: a, image: i, terminationMessagePath: /log/end,
       volumeMounts: [{name: tools, mountPath: )yaml",
                                               path, "}]}\n"));
    PodContext context = UsualContext();
    context.termination_logs = {{"a", "/host/log"}};
    return std::string(ToCri(pod, context).status().message());
  };
  EXPECT_THAT(
      refused("/etc/hosts/"),
      HasSubstr("container a: volume \"tools\" is an image, and so a directory: it can't be "
                "at /etc/hosts, the place of a file"));
  EXPECT_THAT(refused("/etc/hostname"), HasSubstr("at /etc/hostname"));
  EXPECT_THAT(refused("/etc/resolv.conf"), HasSubstr("at /etc/resolv.conf"));
  EXPECT_THAT(refused("/log/./end"), HasSubstr("at /log/end, the place of the termination log"));
  EXPECT_EQ(refused("/dev/termination-log"), "");
}

// The CRI has bytes for variables alone.
TEST(PodToCri, BytesAreForVariables) {
  ConfigObjects objects;
  ASSERT_TRUE(
      objects.Add("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: aHVzaP8=}\n", "o")
          .ok());
  PodContext context = UsualContext();
  context.objects = &objects;
  const auto with = [&](const std::string& fields) {
    return ToCri(ParsePod(absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
                                       "  containers:\n    - name: a\n      image: i\n"
                                       "      envFrom: [{secretRef: {name: s}}]\n",
                                       fields)),
                 context);
  };
  const auto configs = with("");
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(configs->containers[0].envs(0).value(), "hush\xff");
  const std::string refused(with("      args: [a, $(k)]\n").status().message());
  EXPECT_THAT(refused, HasSubstr("container a: args[1]: becomes bytes that are no UTF-8"));
  EXPECT_EQ(refused.find("hush"), std::string::npos);
}

TEST(PodToCri, ASubPathOfAMissingVariableIsRefused) {
  Manifest pod = ParsePod(kUsualPod);
  pod.containers[1].mounts[0].sub_path.clear();
  for (const auto& [expression, message] :
       {std::pair("$(NONE)/x", "there is no variable NONE"),
        std::pair("$(UP)", "must become a relative path without")}) {
    pod.containers[1].mounts[0].sub_path_expr = expression;
    pod.containers[1].env = {{.name = "UP", .value = "../etc"}};
    EXPECT_THAT(std::string(ToCri(pod, UsualContext()).status().message()), HasSubstr(message));
  }
}

// kubelet does so since 1.28, on cgroup v2.
TEST(PodToCri, TheKernelKillsWholeContainersIfAsked) {
  PodContext context = UsualContext();
  const auto limits = LimitsToCri(ParsePod(kUsualPod), 0, context);
  EXPECT_TRUE(limits->unified().empty());
  context.kills_whole_containers = true;
  const auto configs = ToCri(ParsePod(kUsualPod), context);
  for (const cri::ContainerConfig& each : configs->containers) {
    EXPECT_EQ(each.linux().resources().unified().at("memory.oom.group"), "1");
  }
  EXPECT_TRUE(configs->sandbox.linux().resources().unified().empty());
}

TEST(PodToCri, AProgramAndItsSubPathsHaveBoundedStrings) {
  Manifest pod = ParsePod(kUsualPod);
  ContainerManifest& app = pod.containers[1];
  app.env = {{.name = "K", .value = std::string(1000, 'x')}};
  std::string many;
  for (int i = 0; i < 132; ++i) many += "$(K)";
  const auto message = [&] { return std::string(ToCri(pod, UsualContext()).status().message()); };
  ASSERT_TRUE(ToCri(pod, UsualContext()).ok());
  app.args = {"a", many};
  EXPECT_THAT(message(), HasSubstr("pod.yaml: container app: args[1]: becomes longer than 131071"));
  app.args.clear();
  app.command = {many};
  EXPECT_THAT(message(), HasSubstr("container app: command[0]: becomes longer than 131071"));
  app.command.clear();
  app.mounts[0].sub_path.clear();
  app.mounts[0].sub_path_expr = many;
  EXPECT_THAT(message(), HasSubstr("becomes longer than 131071"));
}

// 33 bytes of manifest for each 100,000 of a container's message.
TEST(PodToCri, AllStringsTogetherAreBounded) {
  const size_t room = ProgramRoom::OfProcess();
  Manifest pod = ParsePod(kUsualPod);
  const std::string large(100'000, 'x');
  for (ContainerManifest& each : pod.containers) each.env = {{.name = "L", .value = large}};
  const std::string all = absl::StrCat("have more than ", room, " bytes together");
  const auto message = [&] { return std::string(ToCri(pod, UsualContext()).status().message()); };
  pod.containers[1].args.assign(room / large.size() - 2, "$(L)");
  EXPECT_EQ(message(), "");
  pod.containers[1].args.assign(room / large.size(), "$(L)");
  EXPECT_THAT(message(), HasSubstr("container app: args["));
  EXPECT_THAT(message(), HasSubstr(all));
  pod.containers[1].args.clear();
  pod.containers[1].mounts.assign(room / large.size(), pod.containers[1].mounts[0]);
  for (VolumeMount& each : pod.containers[1].mounts) {
    each.sub_path.clear();
    each.sub_path_expr = "$(L)";
  }
  EXPECT_THAT(message(), HasSubstr(all));
  // Each container for itself has room.
  pod.containers[1].mounts.clear();
  pod.containers[0].args.assign(room / large.size() - 2, "$(L)");
  pod.containers.assign(1000, pod.containers[0]);
  EXPECT_THAT(message(), HasSubstr("the containers of a pod together 32 MiB"));
}

// KEP-2837.
TEST(PodToCri, ThePodsOwnResourcesSizeItsGroup) {
  const Manifest pod = ParsePod(R"yaml(apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  resources: {requests: {memory: 2Gi}, limits: {cpu: 500m, memory: 3Gi}}
  containers:
    - {name: a, image: i, resources: {requests: {memory: 1Gi}}}
    - {name: b, image: i}
)yaml");
  const auto configs = ToCri(pod, UsualContext());
  ASSERT_TRUE(configs.ok()) << configs.status();
  const auto& group = configs->sandbox.linux().resources();
  EXPECT_EQ(group.cpu_shares(), 512);
  EXPECT_EQ(group.cpu_quota(), 50000);
  EXPECT_EQ(group.memory_limit_in_bytes(), int64_t{3} << 30);
  EXPECT_EQ(QosClassOf(pod), resources::QosClass::kBurstable);
  // A container without a limit has the pod's, in its own group as well.
  const auto& own = configs->containers[1].linux().resources();
  EXPECT_EQ(own.cpu_shares(), 512);
  EXPECT_EQ(own.cpu_quota(), 50000);
  EXPECT_EQ(own.memory_limit_in_bytes(), int64_t{3} << 30);
  EXPECT_TRUE(configs->containers[1].kubernetes_resources().limits().empty());
  // Half of the gigabyte that the pod has left is each container's, of four on the machine.
  EXPECT_EQ(configs->containers[0].linux().resources().oom_score_adj(), 625);
  EXPECT_EQ(configs->containers[1].linux().resources().oom_score_adj(), 875);
  const auto& asked = configs->sandbox.pod_resources().kubernetes_resources();
  EXPECT_EQ(asked.requests().at("cpu").string(), "500m");
  EXPECT_EQ(asked.limits().at("memory").string(), "3Gi");
}

}  // namespace
}  // namespace plimsoll::pod
