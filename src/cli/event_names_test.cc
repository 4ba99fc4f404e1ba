#include "cli/event_names.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

node::Event Of(const std::string& type, const std::string& sandbox, const std::string& container,
               const std::string& message) {
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
  names.Learn(Of("SandboxRemoved", "q", "", "shop/old"));
  names.Learn(Of("ContainerCreated", "q", "d", "log"));
  names.Learn(Of("ContainerStopped", "q", "e", "exit code 1"));
  EXPECT_EQ(names.PodOf(Of("", "p", "c", "")), "shop/web");
  EXPECT_EQ(names.ContainerOf(Of("", "p", "c", "")), "app");
  EXPECT_EQ(names.PodOf(Of("", "q", "d", "")), "shop/old");
  EXPECT_EQ(names.ContainerOf(Of("", "q", "d", "")), "log");
  EXPECT_EQ(names.ContainerOf(Of("", "q", "e", "")), "");
}

TEST(EventNames, WhatIsRemovedIsForgotten) {
  EventNames names;
  names.Learn(Of("SandboxStarted", "p", "", "shop/web"));
  names.Learn(Of("ContainerCreated", "p", "c", "app"));
  names.Forget(Of("ContainerStopped", "p", "c", ""));
  EXPECT_EQ(names.ContainerOf(Of("", "p", "c", "")), "app");
  names.Forget(Of("ContainerRemoved", "p", "c", "app"));
  EXPECT_EQ(names.ContainerOf(Of("", "p", "c", "")), "");
  EXPECT_EQ(names.PodOf(Of("", "p", "c", "")), "shop/web");
  names.Forget(Of("SandboxRemoved", "p", "", "shop/web"));
  EXPECT_EQ(names.PodOf(Of("", "p", "c", "")), "");
}

}  // namespace
}  // namespace plimsoll::cli
