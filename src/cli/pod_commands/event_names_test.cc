#include "cli/pod_commands/event_names.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

node::Event EventOf(const std::string& type, const std::string& sandbox,
                    const std::string& container, const std::string& message) {
  node::Event event;
  event.set_type(type);
  event.set_sandbox_id(sandbox);
  event.set_container_id(container);
  event.set_message(message);
  return event;
}

TEST(EventNames, AreOfListsAndOfMakingAndRemoval) {
  cri::PodSandbox pod;
  pod.set_id("p");
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("shop");
  cri::Container container;
  container.set_id("c");
  container.mutable_metadata()->set_name("app");
  EventNames names;
  names.Add({pod}, {container});
  names.Learn(EventOf("SandboxRemoved", "q", "", "shop/old"));
  names.Learn(EventOf("ContainerCreated", "q", "d", "log"));
  names.Learn(EventOf("ContainerStopped", "q", "e", "exit code 1"));
  EXPECT_EQ(names.PodOf(EventOf("", "p", "c", "")), "shop/web");
  EXPECT_EQ(names.ContainerOf(EventOf("", "p", "c", "")), "app");
  EXPECT_EQ(names.PodOf(EventOf("", "q", "d", "")), "shop/old");
  EXPECT_EQ(names.ContainerOf(EventOf("", "q", "d", "")), "log");
  EXPECT_EQ(names.ContainerOf(EventOf("", "q", "e", "")), "");
}

TEST(EventNames, WhatIsRemovedIsForgotten) {
  EventNames names;
  names.Learn(EventOf("SandboxStarted", "p", "", "shop/web"));
  names.Learn(EventOf("ContainerCreated", "p", "c", "app"));
  names.Forget(EventOf("ContainerStopped", "p", "c", ""));
  EXPECT_EQ(names.ContainerOf(EventOf("", "p", "c", "")), "app");
  names.Forget(EventOf("ContainerRemoved", "p", "c", "app"));
  EXPECT_EQ(names.ContainerOf(EventOf("", "p", "c", "")), "");
  EXPECT_EQ(names.PodOf(EventOf("", "p", "c", "")), "shop/web");
  names.Forget(EventOf("SandboxRemoved", "p", "", "shop/web"));
  EXPECT_EQ(names.PodOf(EventOf("", "p", "c", "")), "");
}

}  // namespace
}  // namespace plimsoll::cli
