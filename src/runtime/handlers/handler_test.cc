#include "runtime/handlers/handler.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

HandlerMap Read(const std::string& text, absl::Status* status) {
  YamlReader reader("f");
  HandlerMap handlers;
  ReadHandlers(reader, YAML::Load(text), "runtime_handlers", &handlers);
  *status = reader.status();
  return handlers;
}

TEST(HandlerTest, EveryKeyIsRead) {
  absl::Status status;
  const HandlerMap handlers = Read(R"(
kata:
  program: /opt/krun
  kind: vm
  resources: fixed
  plug: cold
  ports: {default: switch-port, "0x0302": root-port, "0x01": no-port}
  annotations: {default_vcpus: krun.cpus, default_memory: ""}
  resource_annotations: {example.com/gpu-memory: example.com/vm-gpu-memory}
  update_command: [/opt/resize, --now]
  update_timeout: 3
wrapped: {program: /opt/wrapper}
)",
                                   &status);
  ASSERT_TRUE(status.ok()) << status;
  const Handler& kata = handlers.at("kata");
  EXPECT_EQ(kata.program, "/opt/krun");
  EXPECT_TRUE(kata.is_vm);
  EXPECT_TRUE(kata.is_fixed);
  EXPECT_EQ(kata.plug, Plug::kCold);
  EXPECT_THAT(kata.ports, ElementsAre(Pair("", PortKind::kSwitch), Pair("01", PortKind::kNone),
                                      Pair("0302", PortKind::kRoot)));
  EXPECT_EQ(kata.AnnotationFor("default_vcpus"), "krun.cpus");
  EXPECT_EQ(kata.AnnotationFor("default_memory"), "");
  EXPECT_EQ(kata.AnnotationFor("memory"), "io.kubernetes.cri.sandbox-memory");
  EXPECT_THAT(kata.resource_annotations,
              ElementsAre(Pair("example.com/gpu-memory", "example.com/vm-gpu-memory"),
                          Pair("sgx.intel.com/epc", "sgx.intel.com/epc")));
  EXPECT_THAT(kata.update_command, ElementsAre("/opt/resize", "--now"));
  EXPECT_EQ(kata.update_timeout_seconds, 3);
  const Handler& wrapped = handlers.at("wrapped");
  EXPECT_FALSE(wrapped.is_vm || wrapped.is_fixed);
  EXPECT_THAT(wrapped.resource_annotations, IsEmpty());
}

TEST(HandlerTest, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"a: {program: crun}", "runtime_handlers.a.program: expected the absolute path"},
      {"a: {kind: box}", "runtime_handlers.a.kind"},
      {"a: {resources: none}", "runtime_handlers.a.resources"},
      {"a: {kind: vm, ports: {gpu: root-port}}", "expected \"default\" or the beginning of a PCI"},
      {"a: {kind: vm, ports: {default: usb}}", "expected root-port, switch-port or no-port"},
      {"a: {kind: vm, annotations: {cpus: x}}", "unknown key cpus, valid here: cold_plug_vfio"},
      {"a: {kind: vm, annotations: {size: run.oci.handler}}", "run.oci.handler can't be set"},
      {"a: {kind: vm, annotations: {memory: x, default_memory: x}}",
       "annotations.default_memory and annotations.memory both name the annotation x"},
      {"a: {kind: vm, annotations: {memory: io.kubernetes.cri.sandbox-cpu-quota}}",
       "annotations.cpu_quota and annotations.memory both name the annotation"},
      {"a: {kind: vm, resource_annotations: {e.com/x: plimsoll.dev/sandbox-size}}",
       "annotations.size and resource_annotations.e.com/x both name the annotation"},
      {"a: {kind: vm, resource_annotations: {e.com/x: y, e.com/z: y}}",
       "resource_annotations.e.com/x and resource_annotations.e.com/z both name the annotation y"},
      {"a: {kind: vm, update_command: [resize]}", "expected the absolute path of a program"},
      {"a: {kind: vm, update_timeout: 0}", "update_timeout"},
      {"a: {update_command: [/bin/true]}", "runtime_handlers.a.update_command: needs kind: vm"},
      {"a: {ports: {default: no-port}}", "runtime_handlers.a.ports: needs kind: vm"},
      {"a: {plug: cold}", "runtime_handlers.a.plug: needs kind: vm"},
      {"a: {vm: true}", "vm"},
      {"a/b: {}", "expected a name of letters"}};
  for (const auto& [text, message] : kWrong) {
    absl::Status status;
    Read(text, &status);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  }
}

// A handler plugs hot or cold: the annotation that isn't written can't collide.
TEST(HandlerTest, AnnotationsThatAreNeverToldTogetherMayBeOne) {
  for (const char* plug : {"hot", "cold"}) {
    absl::Status status;
    Read(absl::StrCat("a: {kind: vm, plug: ", plug,
                      ", annotations: {hot_plug_vfio: vm.plug, cold_plug_vfio: vm.plug, "
                      "memory: \"\", default_memory: \"\"}}"),
         &status);
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace plimsoll::runtime
